/*
 * graph/launch/claim.c - taking what a launch needs from ledgers, and giving it back
 *
 * A launch has a hold for each captured pass (lib/pass/hold.h). All functions
 * are called with the graph's and the context's lock held.
 */
#include <string.h>
#include "graph/launch/claim.h"
#include "graph/launch/journal.h"

static const struct captured_pass *captured_of(const struct philox_graph *graph,
					       uint32_t index)
{
	return &graph->capture->passes[index];
}

/* --- claiming ------------------------------------------------------------- */

/* A forward used up by a backward of its own graph owes no backward. */
static enum hold_kind kind_of(const struct captured_pass *captured)
{
	enum hold_kind kind = hold_kind(captured->flags);

	if (capture_is_linked(captured))
		return HOLD_NOTHING;
	if (captured->backward)
		return HOLD_BACKWARD;
	return kind == HOLD_FORWARD && captured->consumed ? HOLD_NUMBERS : kind;
}

static struct hold new_hold(const struct captured_pass *captured,
			    const struct philox_use *use)
{
	int retain = (use->flags & PHILOX_RETAIN) || !captured->consumed;

	return (struct hold){.region = captured->region,
			     .life = captured->life,
			     .kind = kind_of(captured),
			     .use = retain ? LEDGER_RETAIN : LEDGER_CLAIM,
			     .iterations = captured->iterations,
			     .launch = 1};
}

static enum philox_status claim_use(struct philox_graph *graph, uint32_t index,
				    const struct philox_use *use,
				    struct hold *hold)
{
	const struct captured_pass *captured = captured_of(graph, index);
	struct philox_state *state =
		&graph->message.args->states[captured->slot];
	enum philox_status status;

	*hold = new_hold(captured, use);
	status = region_check_life(captured->region, captured->life);
	if (status != PHILOX_OK || hold->kind == HOLD_NOTHING)
		return status;
	if (hold->kind != HOLD_BACKWARD)
		return hold_forward(hold, state);
	status = hold_backward(hold, use->ticket, state);
	if (status == PHILOX_OK && captured->known.size)
		graph->message.args->states[captured->known_slot] =
			(struct philox_state){.seed = hold->iterations};
	return status;
}

/* Notes the region and the ticket of a use that was refused, for the log. */
static void blame(struct philox_graph *graph, uint32_t index,
		  const struct philox_use *use)
{
	const struct captured_pass *captured = captured_of(graph, index);

	graph->blame.region = captured->region->name;
	if (capture_is_named(captured))
		graph->blame.ticket = use->ticket;
}

/* Writes the states that generators have just before a use. */
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

/* Takes back the claims before the use that was refused, newest first. */
static enum philox_status refuse(struct philox_graph *graph,
				 struct launch *launch, uint32_t index,
				 enum philox_status status)
{
	for (uint32_t i = index; i--;)
		hold_rewind(&launch->claims[i].hold);
	blame(graph, index, &launch->uses[index]);
	return status_prefix(status, "'%s', use %u: ", graph->name, index);
}

/* Writes the use that was refused. */
static enum philox_status claim_each(struct philox_graph *graph,
				     struct launch *launch, uint32_t *refused)
{
	uint32_t read = 0, i;
	enum philox_status status = PHILOX_OK;

	for (i = 0; i < graph->n_uses; i++) {
		read_generators(graph, i, &read);
		status = claim_use(graph, i, &launch->uses[i],
				   &launch->claims[i].hold);
		if (status != PHILOX_OK)
			break;
	}
	*refused = i;
	if (status != PHILOX_OK)
		return refuse(graph, launch, i, status);
	read_generators(graph, graph->n_uses, &read);
	return PHILOX_OK;
}

enum philox_status claim_all(struct philox_graph *graph, struct launch *launch)
{
	uint32_t refused;
	enum philox_status status = claim_each(graph, launch, &refused);

	if (status == PHILOX_OK)
		journal_claimed(graph, launch);
	else
		journal_refused(graph, refused, status);
	return status;
}

enum philox_status claim_try(struct philox_graph *graph, struct launch *launch)
{
	uint32_t refused;
	enum philox_status status = claim_each(graph, launch, &refused);

	for (uint32_t i = graph->n_uses; status == PHILOX_OK && i--;)
		hold_rewind(&launch->claims[i].hold);
	return status;
}

/* --- the end of a launch -------------------------------------------------- */

static void settle(struct claim *claim, struct philox_use *use)
{
	struct hold *hold = &claim->hold;
	struct philox_ticket made = {0};

	if (!region_is_life(hold->region, hold->life))
		hold->serial = 0; /* destroyed since, with its ledger */
	else
		hold_commit(hold, 0, &claim->released);
	if (hold->kind == HOLD_FORWARD && hold->serial)
		made = (struct philox_ticket){hold->region->key, hold->serial};
	if (hold->kind != HOLD_BACKWARD && hold->kind != HOLD_NOTHING)
		use->ticket = made;
}

void claim_settle_all(struct philox_graph *graph, struct launch *launch)
{
	for (uint32_t i = 0; i < graph->n_uses; i++)
		settle(&launch->claims[i], &launch->uses[i]);
}

void claim_abort_all(struct philox_graph *graph, struct launch *launch)
{
	for (uint32_t i = graph->n_uses; i--;)
		hold_abort(&launch->claims[i].hold,
			   &launch->claims[i].released);
}
