/*
 * graph/claim.c - what a launch takes from ledgers, and gives back
 *
 * Called with the graph's and the context's lock held.
 */
#include <string.h>
#include "graph/claim.h"
#include "graph/journal.h"

static const struct template *template_of(const struct philox_graph *graph,
					  uint32_t index)
{
	return &graph->capture->templates[index];
}

/* --- claiming ------------------------------------------------------------- */

static enum philox_status claim_forward(const struct template *template,
					struct claim *claim,
					struct philox_state *state)
{
	struct philox_region *region = template->region;
	enum philox_status status = region_check_exclusive(region);

	if (status != PHILOX_OK)
		return status;
	if (template->flags & PHILOX_WARMUP) {
		*state = *region_next(region);
		return region_check_offset(region);
	}
	if (!capture_is_tracked(template))
		return region_reserve(region, state);
	return region_open(region, &claim->serial, state);
}

static enum philox_status claim_backward(const struct template *template,
					 const struct philox_use *use,
					 struct claim *claim,
					 struct philox_state *state)
{
	struct philox_region *region = template->region;
	enum philox_status status = region_check_ticket(region, use->ticket);
	int retain = (use->flags | template->flags) & PHILOX_RETAIN;

	if (status != PHILOX_OK)
		return status;
	claim->use = retain ? LEDGER_RETAIN : LEDGER_CLAIM;
	status = ledger_begin(&region->ledger, use->ticket.serial, claim->use,
			      state);
	if (status != PHILOX_OK)
		return status_prefix(status, "region '%s': ", region->name);
	claim->serial = use->ticket.serial;
	return PHILOX_OK;
}

static enum philox_status claim_use(struct philox_graph *graph, uint32_t index,
				    const struct philox_use *use,
				    struct claim *claim)
{
	const struct template *template = template_of(graph, index);
	struct philox_state *state =
		&graph->message.args->states[template->slot];
	enum philox_status status;

	memset(claim, 0, sizeof(*claim));
	status = region_check_life(template->region, template->life);
	if (status == PHILOX_OK && !template->backward)
		status = claim_forward(template, claim, state);
	else if (status == PHILOX_OK && capture_is_named(template))
		status = claim_backward(template, use, claim, state);
	return status;
}

/* Takes a claim back. `rewind`: nobody has seen it, so its numbers are free. */
static void unclaim(const struct template *template, struct claim *claim,
		    int rewind)
{
	struct philox_region *region = template->region;
	struct ledger *ledger = &region->ledger;

	if (!region_is_life(region, template->life))
		return; /* destroyed meanwhile, with its ledger */
	if (template->backward && claim->serial)
		ledger_end(ledger, claim->serial, claim->use, 0,
			   &claim->released);
	if (template->backward || (template->flags & PHILOX_WARMUP))
		return;
	if (claim->serial)
		ledger_abort(ledger, claim->serial);
	if (rewind) {
		region->serial -= claim->serial != 0;
		region_next(region)->offset -= region->advance;
	}
}

void claim_undo_all(struct philox_graph *graph, struct launch *launch,
		    uint32_t count, int rewind)
{
	while (count--)
		unclaim(template_of(graph, count), &launch->claims[count],
			rewind);
}

/* Notes the region and the ticket of a use that was refused, for the log. */
static void blame(struct philox_graph *graph, uint32_t index,
		  const struct philox_use *use)
{
	const struct template *template = template_of(graph, index);

	graph->blame.region = template->region->name;
	if (capture_is_named(template))
		graph->blame.ticket = use->ticket;
}

/* The states that generators have just before a use. */
static void read_generators(struct philox_graph *graph, uint32_t before,
			    uint32_t *read)
{
	const struct capture *capture = graph->capture;

	for (; *read < capture->n_reads; ++*read) {
		const struct state_read *of = &capture->reads[*read];

		if (of->before > before)
			break;
		graph->message.args->states[of->slot] = of->generator->state;
	}
}

enum philox_status claim_all(struct philox_graph *graph, struct launch *launch)
{
	uint32_t read = 0;
	enum philox_status status;

	for (uint32_t i = 0; i < graph->n_uses; i++) {
		read_generators(graph, i, &read);
		status = claim_use(graph, i, &launch->uses[i],
				   &launch->claims[i]);
		if (status == PHILOX_OK)
			continue;
		claim_undo_all(graph, launch, i, 1);
		blame(graph, i, &launch->uses[i]);
		journal_write(graph->context,
			      "launch-refuse graph %s use %u status %s",
			      journal_name(graph->name).text, i,
			      philox_status_name(status));
		return status_prefix(status, "'%s', use %u: ", graph->name, i);
	}
	read_generators(graph, graph->n_uses, &read);
	journal_claimed(graph, launch);
	return PHILOX_OK;
}

/* --- settling ------------------------------------------------------------- */

static void settle_forward(const struct template *template,
			   const struct claim *claim, struct philox_use *use)
{
	struct philox_region *region = template->region;

	use->ticket = (struct philox_ticket){0};
	if (!claim->serial)
		return;
	ledger_commit(&region->ledger, claim->serial);
	use->ticket.region_key = region->key;
	use->ticket.serial = claim->serial;
}

static void settle_use(const struct template *template, struct claim *claim,
		       struct philox_use *use)
{
	struct philox_region *region = template->region;

	if (!region_is_life(region, template->life))
		claim->serial = 0; /* destroyed meanwhile, with its ledger */
	if (!template->backward)
		settle_forward(template, claim, use);
	else if (claim->serial)
		ledger_end(&region->ledger, claim->serial, claim->use,
			   claim->use == LEDGER_CLAIM, &claim->released);
}

void claim_settle_all(struct philox_graph *graph, struct launch *launch)
{
	for (uint32_t i = 0; i < graph->n_uses; i++)
		settle_use(template_of(graph, i), &launch->claims[i],
			   &launch->uses[i]);
}
