/*
 * graph/launch/launch.c - launching a graph with tickets
 *
 * A launch has four steps. Claim: under the context's lock every use is checked
 * and applied in order; if one fails, all before it are undone, numbers
 * included, since no other call could take any in between. Message: the states
 * go into the head's parameters. Launch: by us, or by the caller between
 * prologue and epilogue. Settle: the claims become live or used-up tickets; or,
 * if anything after the first step failed, they are taken back, and the numbers
 * of the forwards are burnt.
 *
 * The graph's pools have the launch take its turn before the first step, and
 * end it before the last.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/launch/launch.h"
#include "graph/pool/pool.h"

/* --- before any step: may it be launched ---------------------------------- */

static enum philox_status check_use(const struct philox_graph *graph,
				    const struct philox_launch_pass *use,
				    size_t index)
{
	if (use->reserved)
		return status_set(PHILOX_ERROR_INVALID,
				  "'%s', pass %zu: reserved is 0x%" PRIx32
				  ", not 0",
				  graph->name, index, use->reserved);
	if (use->flags & ~(uint32_t)PHILOX_PASS_RETAIN)
		return status_set(
			PHILOX_ERROR_INVALID,
			"'%s', pass %zu: flags is 0x%" PRIx32
			", but a launch pass takes PHILOX_PASS_RETAIN only: other "
			"flags are those of the captured pass",
			graph->name, index, use->flags);
	return PHILOX_OK;
}

static enum philox_status check_uses(const struct philox_graph *graph,
				     const struct philox_launch_pass *uses,
				     size_t n)
{
	enum philox_status status = PHILOX_OK;

	if (n != graph->n_uses)
		return status_set(PHILOX_ERROR_INVALID,
				  "'%s' has %" PRIu32 " pass%s, not %zu",
				  graph->name, graph->n_uses,
				  status_es(graph->n_uses), n);
	if (n && !uses)
		return status_set(PHILOX_ERROR_INVALID, "'%s': passes is NULL",
				  graph->name);
	for (size_t i = 0; status == PHILOX_OK && i < n; i++)
		status = check_use(graph, &uses[i], i);
	return status;
}

static enum philox_status check_stream(const struct philox_graph *graph,
				       philox_stream stream)
{
	enum philox_status status =
		device_refuse_capture(graph->context->device, stream);

	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status, "'%s' cannot be launched: ", graph->name);
}

/* Before the first claim, so that a launch without its arrays burns nothing. */
static enum philox_status check_arrays(const struct philox_graph *graph)
{
	enum philox_status status =
		device_exec_check(graph->context->device, graph->exec);

	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status, "'%s' cannot be launched: ", graph->name);
}

static enum philox_status check_prologue(const struct philox_graph *graph,
					 philox_stream stream,
					 const struct philox_launch_pass *uses,
					 size_t n)
{
	enum philox_status status;

	if (graph->open)
		return status_set(PHILOX_ERROR_BUSY,
				  "'%s' is between prologue and epilogue",
				  graph->name);
	status = check_uses(graph, uses, n);
	if (status == PHILOX_OK)
		status = check_stream(graph, stream);
	if (status == PHILOX_OK)
		status = check_arrays(graph);
	return status;
}

/* --- the record of a launch ----------------------------------------------- */

static struct launch *take_launch(struct philox_graph *graph,
				  philox_stream stream,
				  struct philox_launch_pass *uses)
{
	struct launch *launch = graph->spare;

	graph->spare = NULL;
	if (!launch)
		launch = malloc(sizeof(*launch) +
				graph->n_uses * sizeof(launch->claims[0]));
	if (!launch) {
		status_set(PHILOX_ERROR_MEMORY, "'%s': no memory for a launch",
			   graph->name);
		return NULL;
	}
	launch->stream = launch->release = stream;
	launch->uses = uses;
	memset(launch->claims, 0, graph->n_uses * sizeof(launch->claims[0]));
	return launch;
}

static void give_launch(struct philox_graph *graph, struct launch *launch)
{
	if (graph->spare)
		free(launch);
	else
		graph->spare = launch;
}

/* --- claim: taking what a launch needs from ledgers and generators -------- */

/*
 * A launch has a hold for each captured pass (lib/pass/pass.h). Between claim
 * and settle it holds an open forward for each forward it will make and a
 * reader of each ticket it will use. With the graph's and the context's lock
 * held.
 */

static const struct captured_pass *captured_of(const struct philox_graph *graph,
					       uint32_t index)
{
	return &graph->capture->passes[index];
}

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
			    const struct philox_launch_pass *use)
{
	int retain = (use->flags & PHILOX_PASS_RETAIN) || !captured->consumed;

	return (struct hold){.region = captured->region,
			     .life = captured->life,
			     .kind = kind_of(captured),
			     .use = retain ? LEDGER_RETAIN : LEDGER_CLAIM,
			     .iterations = captured->iterations,
			     .launch = 1};
}

static enum philox_status claim_use(struct philox_graph *graph, uint32_t index,
				    const struct philox_launch_pass *use,
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
	if (hold->kind != HOLD_BACKWARD) {
		status = hold_forward(hold, state);
		if (status == PHILOX_OK)
			hold_tell(hold);
		return status;
	}
	status = hold_backward(hold, use->ticket, state);
	if (status == PHILOX_OK && captured->known.size)
		graph->message.args->states[captured->known_slot] =
			(struct philox_state){.seed = hold->iterations};
	return status;
}

/* Notes the region and the ticket of a use that was refused, for the log. */
static void blame(struct philox_graph *graph, uint32_t index,
		  const struct philox_launch_pass *use)
{
	const struct captured_pass *captured = captured_of(graph, index);

	graph->blame.region = captured->region->name;
	if (capture_is_named(captured))
		graph->blame.ticket = use->ticket;
}

/* How far a claim has come among what is captured beside passes. */
struct beside {
	uint32_t read, set;
};

/* Writes the states that generators have just before a use. */
static void read_generators(struct philox_graph *graph, uint32_t before,
			    uint32_t end, uint32_t *read)
{
	const struct capture *capture = graph->capture;

	for (; *read < end; ++*read) {
		const struct state_read *of = &capture->reads[*read];

		if (of->before > before)
			break;
		graph->message.args->states[of->slot] = of->generator->state;
	}
}

/* Sets and reads generators as captured just before a use, in order. */
static void visit_generators(struct philox_graph *graph, uint32_t before,
			     struct beside *at)
{
	const struct capture *capture = graph->capture;

	for (; at->set < capture->n_sets; at->set++) {
		struct state_set *set = &capture->sets[at->set];

		if (set->before > before)
			break;
		read_generators(graph, before, set->reads, &at->read);
		set->was = set->generator->state.offset;
		generator_move(set->generator, set->state.offset);
	}
	read_generators(graph, before, capture->n_reads, &at->read);
}

/* Before the first claim: no set changes a seed. */
static enum philox_status check_sets(const struct philox_graph *graph)
{
	const struct capture *capture = graph->capture;

	for (uint32_t i = 0; i < capture->n_sets; i++) {
		const struct state_set *set = &capture->sets[i];

		if (set->generator->state.seed == set->state.seed)
			continue;
		return status_set(
			PHILOX_ERROR_MISMATCH,
			"'%s' sets the offset of a generator of seed "
			"%016" PRIx64 ", which has the seed %016" PRIx64
			" by now: capture it again",
			graph->name, set->state.seed,
			set->generator->state.seed);
	}
	return PHILOX_OK;
}

/*
 * Takes back the claims before a use and all that was set before it, newest
 * first.
 */
static void take_back(struct philox_graph *graph, struct launch *launch,
		      uint32_t index, uint32_t n_sets)
{
	for (;; index--) {
		while (n_sets &&
		       graph->capture->sets[n_sets - 1].before == index) {
			struct state_set *set =
				&graph->capture->sets[--n_sets];

			generator_put_back(set->generator, set->was);
		}
		if (!index)
			return;
		hold_rewind(&launch->claims[index - 1].hold);
	}
}

static enum philox_status refuse(struct philox_graph *graph,
				 struct launch *launch, uint32_t index,
				 uint32_t n_sets, enum philox_status status)
{
	take_back(graph, launch, index, n_sets);
	blame(graph, index, &launch->uses[index]);
	return status_prefix(status, "'%s', pass %u: ", graph->name, index);
}

/* Writes the use that was refused. */
static enum philox_status claim_each(struct philox_graph *graph,
				     struct launch *launch, uint32_t *refused)
{
	struct beside at = {0, 0};
	uint32_t i;
	enum philox_status status = PHILOX_OK;

	for (i = 0; i < graph->n_uses; i++) {
		visit_generators(graph, i, &at);
		status = claim_use(graph, i, &launch->uses[i],
				   &launch->claims[i].hold);
		if (status != PHILOX_OK)
			break;
	}
	*refused = i;
	if (status != PHILOX_OK)
		return refuse(graph, launch, i, at.set, status);
	visit_generators(graph, graph->n_uses, &at);
	return PHILOX_OK;
}

static enum philox_status claim(struct philox_graph *graph,
				struct launch *launch)
{
	uint32_t refused;
	enum philox_status status;

	if (!graph->capture)
		return PHILOX_OK;
	context_lock(graph->context);
	status = check_sets(graph);
	if (status == PHILOX_OK) {
		status = claim_each(graph, launch, &refused);
		if (status == PHILOX_OK)
			journal_claimed(graph, launch);
		else
			journal_refused(graph, refused, status);
	}
	context_unlock(graph->context);
	return status;
}

/* Claims and takes it back. Nothing of it is in the journal. */
static enum philox_status try_claims(struct philox_graph *graph,
				     struct launch *launch)
{
	uint32_t refused;
	enum philox_status status;

	context_lock(graph->context);
	status = check_sets(graph);
	if (status == PHILOX_OK) {
		status = claim_each(graph, launch, &refused);
		if (status == PHILOX_OK)
			take_back(graph, launch, graph->n_uses,
				  graph->capture->n_sets);
	}
	context_unlock(graph->context);
	return status;
}

/* --- message: the states, in the head's parameters ------------------------ */

static enum philox_status put_message(struct philox_graph *graph,
				      philox_stream stream)
{
	struct philox_device *device = graph->context->device;
	const struct head *head = &graph->capture->head;
	const struct kernel_call call = head_call(head, &graph->message);

	if (graph_is_ahead(graph))
		return head_launch_ahead(device, head, &graph->message, stream);
	return device_exec_set_kernel(device, graph->exec,
				      graph->capture->first.node, &call);
}

static enum philox_status send_message(struct philox_graph *graph,
				       philox_stream stream)
{
	struct philox_device *device = graph->context->device;
	struct head *head;
	enum philox_status status;

	if (!graph->capture)
		return PHILOX_OK;
	head = &graph->capture->head;
	head_message_number(&graph->message, head, ++graph->sequence);
	status = head_send(device, head, stream);
	if (status == PHILOX_OK)
		status = put_message(graph, stream);
	if (status != PHILOX_OK)
		status_prefix(status, "'%s': ", graph->name);
	return status;
}

/*
 * A message that no launch used must not remain for a launch that we do not
 * know about: number 0 is never accepted. If this fails too, only that one
 * detection is lost.
 */
static void withdraw_message(struct philox_graph *graph, philox_stream stream)
{
	const struct status_message kept = status_kept();

	head_message_number(&graph->message, &graph->capture->head, 0);
	put_message(graph, stream);
	status_restore(&kept);
}

/* --- launch --------------------------------------------------------------- */

static enum philox_status launch_exec(struct philox_graph *graph,
				      philox_stream stream)
{
	enum philox_status status = philox_native_exec_launch(
		graph->context->device, stream, graph->exec);

	if (status != PHILOX_OK)
		status_prefix(status, "'%s': ", graph->name);
	return status;
}

/* --- settle: tickets live or used up, or all taken back ------------------- */

static void settle_use(struct claim *claim, struct philox_launch_pass *use)
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

/* Leaves the saved contexts to release in the claims. */
static void settle(struct philox_graph *graph, struct launch *launch,
		   enum philox_status launched)
{
	struct capture *capture = graph->capture;

	if (!capture)
		return;
	head_sent(graph->context->device, &capture->head, launch->stream,
		  launched);
	context_lock(graph->context);
	for (uint32_t i = 0; launched == PHILOX_OK && i < graph->n_uses; i++)
		settle_use(&launch->claims[i], &launch->uses[i]);
	for (uint32_t i = graph->n_uses; launched != PHILOX_OK && i--;)
		hold_abort(&launch->claims[i].hold,
			   &launch->claims[i].released);
	if (launched == PHILOX_OK)
		head_note_taken(&capture->head, graph->sequence);
	journal_launched(graph, launched);
	context_unlock(graph->context);
}

/* Called without locks; the launch may be NULL. */
static void release_contexts(struct philox_graph *graph, struct launch *launch)
{
	if (!launch)
		return;
	for (uint32_t i = 0; i < graph->n_uses; i++)
		saved_context_release(launch->claims[i].released,
				      launch->release);
	pthread_mutex_lock(&graph->lock);
	give_launch(graph, launch);
	pthread_mutex_unlock(&graph->lock);
}

/* --- the steps of a launch, with the graph's lock held --------------------- */

/* Writes the launch if it failed with saved contexts to release. */
static enum philox_status claim_and_send(struct philox_graph *graph,
					 philox_stream stream,
					 struct philox_launch_pass *uses,
					 struct launch **failed)
{
	struct launch *launch = take_launch(graph, stream, uses);
	enum philox_status status;

	if (!launch)
		return PHILOX_ERROR_MEMORY;
	status = claim(graph, launch);
	if (status == PHILOX_OK) {
		status = send_message(graph, stream);
		if (status != PHILOX_OK)
			settle(graph, launch, status);
	}
	if (status == PHILOX_OK)
		graph->open = launch;
	else
		*failed = launch;
	return status;
}

/*
 * The turn of the graph's pools is taken before any number, and kept until the
 * launch is queued.
 */
static enum philox_status prologue(struct philox_graph *graph,
				   philox_stream stream,
				   struct philox_launch_pass *uses, size_t n,
				   enum pool_turn turn, struct launch **failed)
{
	enum philox_status status;

	graph->blame = (struct philox_log_entry){0};
	status = check_prologue(graph, stream, uses, n);
	if (status == PHILOX_OK)
		status = pools_enter(graph->pools, stream, turn);
	if (status != PHILOX_OK)
		return status;
	status = claim_and_send(graph, stream, uses, failed);
	if (status != PHILOX_OK)
		pools_leave(graph->pools, stream, status);
	return status;
}

/* Returns the launch, whose saved contexts are still to be released. */
static struct launch *epilogue(struct philox_graph *graph,
			       enum philox_status launched)
{
	struct launch *launch = graph->open;

	pools_leave(graph->pools, launch->stream, launched);
	graph->open = NULL;
	settle(graph, launch, launched);
	if (launched != PHILOX_OK && graph->capture)
		withdraw_message(graph, launch->stream);
	if (graph_is_ahead(graph))
		head_ran_ahead(graph->context->device, &graph->capture->head,
			       launch->stream);
	return launch;
}

enum philox_status graph_would_launch(struct philox_graph *graph,
				      philox_stream stream,
				      struct philox_launch_pass *uses, size_t n)
{
	struct launch *launch;
	enum philox_status status;

	pthread_mutex_lock(&graph->lock);
	status = check_prologue(graph, stream, uses, n);
	if (status == PHILOX_OK && graph->capture) {
		launch = take_launch(graph, stream, uses);
		status = launch ? try_claims(graph, launch)
				: PHILOX_ERROR_MEMORY;
		if (launch)
			give_launch(graph, launch);
	}
	pthread_mutex_unlock(&graph->lock);
	return status;
}

/* --- public --------------------------------------------------------------- */

enum philox_status philox_graph_prologue(struct philox_graph *graph,
					 philox_stream stream,
					 struct philox_launch_pass *uses,
					 size_t n)
{
	struct philox_log_entry subject;
	struct launch *failed = NULL;
	enum philox_status status;

	if (!graph)
		return context_null(NULL, "graph");
	NEED_PROCESS(graph->context);
	pthread_mutex_lock(&graph->lock);
	status = prologue(graph, stream, uses, n, TURN_PROLOGUE, &failed);
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
		return context_null(NULL, "graph");
	NEED_PROCESS(graph->context);
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
				       struct philox_launch_pass *uses,
				       size_t n)
{
	struct philox_log_entry subject;
	struct launch *launch = NULL;
	enum philox_status status;

	if (!graph)
		return context_null(NULL, "graph");
	NEED_PROCESS(graph->context);
	pthread_mutex_lock(&graph->lock);
	status = prologue(graph, stream, uses, n, TURN_LAUNCH, &launch);
	if (status == PHILOX_OK) {
		status = launch_exec(graph, stream);
		launch = epilogue(graph, status);
	}
	subject = graph->blame;
	pthread_mutex_unlock(&graph->lock);
	release_contexts(graph, launch);
	return graph_report(graph, status, &subject);
}
