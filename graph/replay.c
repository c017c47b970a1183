/*
 * graph/replay.c - launching a graph with tickets
 *
 * A launch goes through four steps. Claim: under the context's lock every use
 * is checked and applied in order; the first that fails has all before it
 * undone, numbers included, as nobody could take any meanwhile. Message: the
 * states go into the head's parameters. Launch: by us, or by the caller between
 * prologue and epilogue. Settle: the claims become live or used-up tickets; or,
 * if anything after the first step failed, they are taken back, and the numbers
 * of the forwards are burnt.
 */
#include <stdlib.h>
#include <string.h>
#include "graph.h"
#include "journal.h"

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
	claim->use = retain && !PHILOX_BUG(18) ? LEDGER_RETAIN : LEDGER_CLAIM;
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
		ledger_end(ledger, claim->serial, claim->use,
			   PHILOX_BUG(3) && !rewind, &claim->released);
	if (template->backward || (template->flags & PHILOX_WARMUP))
		return;
	if (claim->serial)
		ledger_abort(ledger, claim->serial);
	if (rewind && !PHILOX_BUG(16)) {
		region->serial -= claim->serial != 0;
		region_next(region)->offset -= region->advance;
	}
}

static void unclaim_all(struct philox_graph *graph, struct launch *launch,
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

static enum philox_status claim_all(struct philox_graph *graph,
				    struct launch *launch)
{
	uint32_t read = 0;
	enum philox_status status;

	for (uint32_t i = 0; i < graph->n_uses; i++) {
		read_generators(graph, i, &read);
		status = claim_use(graph, i, &launch->uses[i],
				   &launch->claims[i]);
		if (status == PHILOX_OK)
			continue;
		unclaim_all(graph, launch, i, 1);
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

static void settle_all(struct philox_graph *graph, struct launch *launch)
{
	for (uint32_t i = 0; i < graph->n_uses; i++)
		settle_use(template_of(graph, i), &launch->claims[i],
			   &launch->uses[i]);
}

/* --- the message ---------------------------------------------------------- */

static enum philox_status send_message(struct philox_graph *graph)
{
	struct kernel_call call =
		head_call(&graph->capture->head, &graph->message);
	enum philox_status status;

	graph->message.args->sequence = ++graph->sequence;
	status = device_exec_set_kernel(graph->context->device, graph->exec,
					graph->capture->node, &call);
	if (status != PHILOX_OK)
		status_prefix(status, "'%s': ", graph->name);
	return status;
}

/*
 * A message that no launch took must not be there for a launch we do not know
 * of: number 0 is never accepted. If this fails too, nothing is lost but that
 * one detection.
 */
static void withdraw_message(struct philox_graph *graph)
{
	struct kernel_call call =
		head_call(&graph->capture->head, &graph->message);
	struct status_message kept;

	graph->message.args->sequence = 0;
	status_keep(&kept);
	device_exec_set_kernel(graph->context->device, graph->exec,
			       graph->capture->node, &call);
	status_restore(&kept);
}

/* --- prologue and epilogue, with the graph's lock held -------------------- */

static enum philox_status check_use(const struct philox_graph *graph,
				    const struct philox_use *use, size_t index)
{
	if (use->reserved || (use->flags & ~(uint32_t)PHILOX_RETAIN))
		return status_set(PHILOX_ERROR_INVALID,
				  "'%s', use %zu: flags 0x%x, reserved 0x%x",
				  graph->name, index, use->flags,
				  use->reserved);
	return PHILOX_OK;
}

static enum philox_status check_uses(const struct philox_graph *graph,
				     const struct philox_use *uses, size_t n)
{
	enum philox_status status = PHILOX_OK;

	if (n != graph->n_uses)
		return status_set(PHILOX_ERROR_INVALID,
				  "'%s' has %u uses, not %zu", graph->name,
				  graph->n_uses, n);
	if (n && !uses)
		return status_set(PHILOX_ERROR_INVALID, "'%s': uses is NULL",
				  graph->name);
	for (size_t i = 0; status == PHILOX_OK && i < n; i++)
		status = check_use(graph, &uses[i], i);
	return status;
}

static enum philox_status check_stream(const struct philox_graph *graph,
				       philox_stream stream)
{
	struct capture_info info;
	enum philox_status status;

	status = device_capture_info(graph->context->device, stream, &info);
	if (status != PHILOX_OK)
		return status_prefix(status, "'%s': ", graph->name);
	if (info.status != PHILOX_CAPTURE_NONE)
		return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
				  "'%s' cannot be launched into a stream that "
				  "is capturing",
				  graph->name);
	return PHILOX_OK;
}

static struct launch *take_launch(struct philox_graph *graph)
{
	struct launch *launch = graph->spare;

	graph->spare = NULL;
	if (!launch)
		launch = malloc(sizeof(*launch) +
				graph->n_uses * sizeof(launch->claims[0]));
	if (launch)
		memset(launch->claims, 0,
		       graph->n_uses * sizeof(launch->claims[0]));
	else
		status_set(PHILOX_ERROR_MEMORY, "'%s': no memory for a launch",
			   graph->name);
	return launch;
}

static void give_launch(struct philox_graph *graph, struct launch *launch)
{
	if (graph->spare)
		free(launch);
	else
		graph->spare = launch;
}

static enum philox_status claim_and_send(struct philox_graph *graph,
					 struct launch *launch)
{
	enum philox_status status;

	if (!graph->capture)
		return PHILOX_OK;
	context_lock(graph->context);
	status = claim_all(graph, launch);
	context_unlock(graph->context);
	if (status != PHILOX_OK)
		return status;
	status = PHILOX_BUG(6) ? PHILOX_OK : send_message(graph);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	context_lock(graph->context);
	unclaim_all(graph, launch, graph->n_uses, 0);
	journal_launched(graph, status);
	context_unlock(graph->context);
	return status;
}

/* Writes the launch if it failed with saved contexts to release. */
static enum philox_status prologue(struct philox_graph *graph,
				   philox_stream stream,
				   struct philox_use *uses, size_t n,
				   struct launch **failed)
{
	struct launch *launch;
	enum philox_status status;

	graph->blame = (struct philox_log_entry){0};
	if (graph->open)
		return status_set(PHILOX_ERROR_BUSY,
				  "'%s' is between prologue and epilogue",
				  graph->name);
	status = check_uses(graph, uses, n);
	if (status == PHILOX_OK)
		status = check_stream(graph, stream);
	if (status != PHILOX_OK)
		return status;
	launch = take_launch(graph);
	if (!launch)
		return PHILOX_ERROR_MEMORY;
	launch->stream = stream;
	launch->uses = uses;
	status = claim_and_send(graph, launch);
	if (status == PHILOX_OK)
		graph->open = launch;
	else
		*failed = launch;
	return status;
}

/* Returns the launch, whose saved contexts are still to be released. */
static struct launch *epilogue(struct philox_graph *graph,
			       enum philox_status launched)
{
	struct launch *launch = graph->open;

	graph->open = NULL;
	if (!graph->capture)
		return launch;
	if (PHILOX_BUG(6))
		send_message(graph);
	context_lock(graph->context);
	if (launched == PHILOX_OK)
		settle_all(graph, launch);
	else if (!PHILOX_BUG(7))
		unclaim_all(graph, launch, graph->n_uses, 0);
	journal_launched(graph, launched);
	context_unlock(graph->context);
	if (launched != PHILOX_OK)
		withdraw_message(graph);
	return launch;
}

/* Without locks; the launch may be NULL. */
static void release_contexts(struct philox_graph *graph, struct launch *launch)
{
	if (!launch)
		return;
	for (uint32_t i = 0; i < graph->n_uses; i++)
		saved_context_release(launch->claims[i].released,
				      launch->stream);
	pthread_mutex_lock(&graph->lock);
	give_launch(graph, launch);
	pthread_mutex_unlock(&graph->lock);
}

/* --- public --------------------------------------------------------------- */

static enum philox_status null_graph(void)
{
	return status_set(PHILOX_ERROR_INVALID, "graph is NULL");
}

enum philox_status philox_graph_prologue(struct philox_graph *graph,
					 philox_stream stream,
					 struct philox_use *uses, size_t n)
{
	struct philox_log_entry subject;
	struct launch *failed = NULL;
	enum philox_status status;

	if (!graph)
		return null_graph();
	pthread_mutex_lock(&graph->lock);
	status = prologue(graph, stream, uses, n, &failed);
	subject = graph->blame;
	pthread_mutex_unlock(&graph->lock);
	release_contexts(graph, failed);
	return graph_report(graph, status, &subject);
}

enum philox_status philox_graph_epilogue(struct philox_graph *graph,
					 enum philox_status launched)
{
	struct launch *launch = NULL;
	enum philox_status status = PHILOX_OK;

	if (!graph)
		return null_graph();
	pthread_mutex_lock(&graph->lock);
	if (graph->open)
		launch = epilogue(graph, launched);
	else
		status = status_set(PHILOX_ERROR_STATE,
				    "'%s': an epilogue without a prologue",
				    graph->name);
	pthread_mutex_unlock(&graph->lock);
	release_contexts(graph, launch);
	return graph_report(graph, status, NULL);
}

enum philox_status philox_graph_launch(struct philox_graph *graph,
				       philox_stream stream,
				       struct philox_use *uses, size_t n)
{
	struct philox_log_entry subject;
	struct launch *launch = NULL;
	enum philox_status status;

	if (!graph)
		return null_graph();
	pthread_mutex_lock(&graph->lock);
	status = prologue(graph, stream, uses, n, &launch);
	if (status == PHILOX_OK) {
		status = philox_native_launch(graph->context->device,
					      graph->exec, stream);
		if (status != PHILOX_OK)
			status_prefix(status, "'%s': ", graph->name);
		launch = epilogue(graph, status);
	}
	subject = graph->blame;
	pthread_mutex_unlock(&graph->lock);
	release_contexts(graph, launch);
	return graph_report(graph, status, &subject);
}
