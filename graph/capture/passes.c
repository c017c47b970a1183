/*
 * graph/capture/passes.c - recording passes in a capture
 *
 * See Note [Captured passes] in graph/capture/capture.h. Guarded by the
 * context's lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include "graph/capture/capture.h"
#include "lib/containers/array.h"
#include "lib/pass/pass.h"

static uint64_t placeholder(const struct capture *capture, uint32_t index)
{
	return SERIAL_PLACEHOLDER | (uint64_t)capture->serial << 32 | index;
}

static int is_zero(struct philox_ticket ticket)
{
	return !ticket.region_key && !ticket.serial;
}

static enum philox_status refuse_ticket(const struct philox_pass *pass,
					const char *why)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s', ticket {%016" PRIx64 ", %" PRIx64
			  "}: %s",
			  pass->region->name, pass->ticket.region_key,
			  pass->ticket.serial, why);
}

/* Checks a backward's ticket as far as possible without its capture. */
static enum philox_status check_ticket(const struct philox_pass *pass,
				       const struct capture *capture)
{
	uint64_t serial = pass->ticket.serial;

	if (is_zero(pass->ticket))
		return PHILOX_OK;
	if (pass->ticket.region_key != pass->region->key)
		return refuse_ticket(pass, "of another region");
	if (!(serial & SERIAL_PLACEHOLDER))
		return refuse_ticket(pass,
				     "a live ticket in a capture: begin with "
				     "the zero ticket and name it at launch");
	if (!capture || serial >> 32 != placeholder(capture, 0) >> 32 ||
	    (uint32_t)serial >= capture->n_passes)
		return refuse_ticket(pass, "a placeholder of another capture");
	return PHILOX_OK;
}

/* In a capture, too, SHARED forwards of a generator run one at a time. */
static enum philox_status check_shared(const struct capture *capture,
				       const struct philox_region *region)
{
	for (uint32_t i = 0; i < capture->n_passes; i++) {
		const struct captured_pass *other = &capture->passes[i];

		if (other->phase == CAPTURED_OPEN && !other->backward &&
		    (other->region->flags & PHILOX_REGION_SHARED) &&
		    other->region->generator == region->generator)
			return status_set(PHILOX_ERROR_BUSY,
					  "region '%s' is SHARED, and a "
					  "captured forward of region '%s' is "
					  "open on its generator",
					  region->name, other->region->name);
	}
	return PHILOX_OK;
}

/* Whether a pass of the capture has come so far that others may repeat it. */
static enum philox_status check_phase(const struct captured_pass *source)
{
	if (source->phase == CAPTURED_ABORTED)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': the captured %s was aborted",
				  source->region->name,
				  source->backward ? "backward" : "forward");
	if (source->phase == CAPTURED_OPEN && !source->backward)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': the captured forward is not "
				  "committed",
				  source->region->name);
	return PHILOX_OK;
}

/* Whether a backward may now be linked to a pass of its capture. */
static enum philox_status check_source(const struct philox_pass *pass,
				       const struct captured_pass *source)
{
	int consuming = !(pass->flags & PHILOX_PASS_RETAIN);
	const char *what = source->backward ? "ticket named at launch"
					    : "captured forward";
	enum philox_status status;

	if (capture_is_linked(source) || source->region != pass->region ||
	    source->life != pass->life)
		return refuse_ticket(pass, "it names no pass of the region");
	status = check_phase(source);
	if (status != PHILOX_OK)
		return status;
	if (source->consumed)
		return status_set(PHILOX_ERROR_RELEASED,
				  "region '%s': the %s was used up by a "
				  "backward of this capture",
				  pass->region->name, what);
	if (consuming && source->consuming)
		return status_set(PHILOX_ERROR_BUSY,
				  "region '%s': a consuming backward of the %s "
				  "is open",
				  pass->region->name, what);
	return PHILOX_OK;
}

/* Whether a linked pass reads the cells of its source, or has its own. */
static int shares_cells(const struct capture *capture,
			const struct captured_pass *captured)
{
	return capture_is_linked(captured) &&
	       !(captured->flags & PHILOX_PASS_REVERSED) &&
	       bodies_hold(capture, capture->passes[captured->source].body,
			   captured->body);
}

static enum philox_status refuse_reversed(const struct captured_pass *captured,
					  const char *why)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "region '%s': PHILOX_PASS_REVERSED does not fit this "
			  "backward: %s",
			  captured->region->name, why);
}

/* It needs a last iteration, which another body has had before. */
static enum philox_status check_reversed(const struct capture *capture,
					 const struct captured_pass *captured)
{
	const struct captured_pass *source;

	if (!(captured->flags & PHILOX_PASS_REVERSED))
		return PHILOX_OK;
	if (captured->body == CAPTURED_NO_BODY)
		return refuse_reversed(captured, "it is in no body");
	if (!capture_is_linked(captured))
		return refuse_reversed(captured,
				       "its forward is named at launch");
	source = &capture->passes[captured->source];
	if (source->body == CAPTURED_NO_BODY)
		return refuse_reversed(captured, "its forward is in no body");
	if (bodies_hold(capture, source->body, captured->body))
		return refuse_reversed(captured,
				       "its forward is in the same body, or in "
				       "one around it");
	if (bodies_hold(capture, captured->body, source->body))
		return refuse_reversed(captured,
				       "its forward's loop is in its own body");
	if (bodies_repeat(capture,
			  bodies_common(capture, source->body, captured->body)))
		return refuse_reversed(captured,
				       "its loop and its forward's are in a "
				       "body that runs again");
	return PHILOX_OK;
}

/* Whether the source has an iteration for each run of the pass's body. */
static enum philox_status check_runs(struct capture *capture,
				     const struct captured_pass *captured)
{
	struct captured_pass *source;
	uint64_t limit;

	if (!capture_is_linked(captured) || shares_cells(capture, captured) ||
	    captured->body == CAPTURED_NO_BODY ||
	    (captured->flags & PHILOX_PASS_REVERSED))
		return PHILOX_OK;
	source = &capture->passes[captured->source];
	limit = capture->bodies[captured->body].limit;
	if (limit <= source->iterations)
		return PHILOX_OK;
	if (!source->backward)
		return status_set(
			PHILOX_ERROR_MISMATCH,
			"region '%s': the body may run %" PRIu64
			" times, and the captured forward has %" PRIu32
			" iteration%s",
			captured->region->name, limit, source->iterations,
			status_s(source->iterations));
	source->iterations = (uint32_t)limit; /* each launch checks it */
	return PHILOX_OK;
}

/* A forward's offsets must have room for all that a launch reserves. */
static enum philox_status check_advance(const struct captured_pass *captured)
{
	uint64_t words;

	if (captured->backward ||
	    (!__builtin_mul_overflow(captured->region->advance,
				     captured->iterations, &words) &&
	     words <= UINT64_MAX - 3))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "region '%s': %" PRIu32 " iterations of %" PRIu64
			  " words are more than an offset can count",
			  captured->region->name, captured->iterations,
			  captured->region->advance);
}

static enum philox_status reserve_pass(struct capture *capture)
{
	uint32_t more = capture->capacity ? capture->capacity : 8;

	if (capture->n_passes < capture->capacity)
		return PHILOX_OK;
	if (!array_grow(&capture->passes, capture->capacity, more,
			sizeof(*capture->passes)))
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for %" PRIu32 " captured passes",
				  capture->capacity + more);
	capture->capacity += more;
	return PHILOX_OK;
}

/* The pass whose ticket, cells and slot a captured pass has: itself, or not. */
static uint32_t source_of(const struct captured_pass *captured, uint32_t index)
{
	return capture_is_linked(captured) ? captured->source : index;
}

static int is_consuming(const struct captured_pass *captured)
{
	return captured->backward && !(captured->flags & PHILOX_PASS_RETAIN);
}

static void note_whole(struct capture *capture, const char *call,
		       const struct philox_region *region)
{
	snprintf(capture->last, sizeof(capture->last), "%s of region '%.60s'",
		 call, region->name);
}

/* In a body the cells are there twice: Note [Bodies]. */
static int moves(const struct captured_pass *captured)
{
	return captured->body != CAPTURED_NO_BODY;
}

static void add_cells(struct capture *capture, struct captured_pass *captured)
{
	struct philox_region *region = captured->region;
	struct philox_state *first = captured->cells.device;
	uint32_t reversed = CAPTURED_NO_BODY;

	captured->states = first;
	head_add_region(&capture->head, region, first, captured->slot, 0);
	if (!moves(captured))
		return;
	if (captured->flags & PHILOX_PASS_REVERSED)
		reversed = capture->passes[captured->source].body;
	captured->states = first + region->cells;
	head_add_region(&capture->head, region, captured->states,
			captured->slot, 0);
	bodies_move(capture, captured->body, region, captured->states, first,
		    capture_is_linked(captured)
			    ? capture->passes[captured->source].iterations
			    : captured->iterations,
		    reversed);
}

/* Takes the cells, and the slot of a pass that is not linked. */
static enum philox_status take_cells(struct capture *capture,
				     struct captured_pass *captured)
{
	uint32_t n = captured->region->cells * (moves(captured) ? 2 : 1);
	enum philox_status status = PHILOX_OK;

	if (shares_cells(capture, captured))
		return PHILOX_OK;
	if (moves(captured))
		status = bodies_reserve(&capture->bodies[captured->body],
					captured->region->cells);
	if (status != PHILOX_OK)
		return status;
	if (!capture_is_linked(captured))
		return slots_take(capture, n, &captured->cells,
				  &captured->slot);
	captured->slot = capture->passes[captured->source].slot;
	return slots_take_cells(capture, n, &captured->cells);
}

/* Records a complete captured pass and points the pass at it. */
static void add(struct capture *capture, struct philox_pass *pass,
		const struct captured_pass *captured)
{
	uint32_t source = source_of(captured, capture->n_passes);

	pass->index = capture->n_passes;
	capture->passes[capture->n_passes++] = *captured;
	if (captured->cells.size)
		add_cells(capture, &capture->passes[pass->index]);
	else
		capture->passes[pass->index].states =
			capture->passes[source].states;
	if (!capture_is_linked(captured))
		capture->message_slots++;
	if (is_consuming(captured))
		capture->passes[source].consuming = 1;
	pass->states = capture->passes[pass->index].states;
	pass->iterations = capture->passes[source].iterations;
	pass->ticket.region_key = pass->region->key;
	pass->ticket.serial = placeholder(capture, source);
	note_whole(capture,
		   captured->backward ? "philox_backward_begin()"
				      : "philox_forward_begin()",
		   pass->region);
}

static int is_backward(const struct philox_pass *pass)
{
	return pass->kind == PASS_BACKWARD;
}

/* In a body, what a launch runs of a pass that is not linked to another. */
static enum philox_status count_iterations(const struct capture *capture,
					   const struct philox_pass *pass,
					   struct captured_pass *captured)
{
	captured->iterations = pass->iterations;
	if (captured->body == CAPTURED_NO_BODY)
		return PHILOX_OK;
	if (pass->iterations > 1)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': the stream captures a body, "
				  "whose limit is that of its passes",
				  pass->region->name);
	if (!capture_is_linked(captured))
		captured->iterations =
			(uint32_t)capture->bodies[captured->body].limit;
	return PHILOX_OK;
}

static enum philox_status check_pass(struct capture *capture,
				     const struct philox_pass *pass,
				     struct captured_pass *captured)
{
	enum philox_status status = PHILOX_OK;

	if (captured->backward && !is_zero(pass->ticket)) {
		captured->source = (uint32_t)pass->ticket.serial;
		status = check_source(pass, &capture->passes[captured->source]);
	}
	if (!captured->backward && (pass->region->flags & PHILOX_REGION_SHARED))
		status = check_shared(capture, pass->region);
	if (status == PHILOX_OK)
		status = check_reversed(capture, captured);
	if (status == PHILOX_OK)
		status = count_iterations(capture, pass, captured);
	if (status == PHILOX_OK)
		status = check_advance(captured);
	return status == PHILOX_OK ? reserve_pass(capture) : status;
}

static enum philox_status record(struct capture *capture,
				 struct philox_pass *pass,
				 const struct capture_tips *tips)
{
	struct captured_pass captured = {
		.region = pass->region,
		.life = pass->life,
		.flags = pass->flags,
		.backward = (uint8_t)is_backward(pass),
		.source = CAPTURED_NO_SOURCE,
		.body = bodies_find(capture, pass->capture_id)};
	enum philox_status status = check_pass(capture, pass, &captured);

	if (status != PHILOX_OK)
		return status;
	status = take_cells(capture, &captured);
	if (status != PHILOX_OK)
		return status_prefix(status,
				     "region '%s': ", pass->region->name);
	status = capture_depend(capture, pass->capture_id, pass->stream, tips);
	if (status == PHILOX_OK)
		status = check_runs(capture, &captured);
	if (status != PHILOX_OK) {
		arena_free(&capture->graphs->cells, &captured.cells);
		return status;
	}
	add(capture, pass, &captured);
	program_note(capture,
		     captured.backward ? PROGRAM_BACKWARD : PROGRAM_FORWARD,
		     pass->index, pass->flags);
	journal_captured(capture);
	return PHILOX_OK;
}

/* --- the hooks ------------------------------------------------------------ */

enum philox_status passes_begin(struct philox_pass *pass,
				const struct capture_info *info)
{
	struct graph_context *graphs = pass->region->context->graphs;
	struct capture *capture;
	enum philox_status status = PHILOX_OK;

	capture_reap(graphs);
	capture = capture_around(graphs, info->id);
	if (is_backward(pass))
		status = check_ticket(pass, capture);
	if (status == PHILOX_OK)
		status = capture_get(graphs, info, &capture);
	return status == PHILOX_OK ? record(capture, pass, &info->tips)
				   : status;
}

static enum philox_status find_captured(const struct philox_pass *pass,
					struct capture **capture,
					struct captured_pass **captured)
{
	struct graph_context *graphs = pass->region->context->graphs;

	*capture = capture_around(graphs, pass->capture_id);
	if (!*capture || pass->index >= (*capture)->n_passes)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': capture %" PRIu64 " has ended",
				  pass->region->name, pass->capture_id);
	*captured = &(*capture)->passes[pass->index];
	if ((*captured)->phase != CAPTURED_OPEN)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': the captured pass has already "
				  "ended",
				  pass->region->name);
	return PHILOX_OK;
}

/* The end of the pass that alone may use its source's ticket up. */
static void end_consuming(struct capture *capture,
			  const struct philox_pass *pass, int consume)
{
	const struct captured_pass *captured = &capture->passes[pass->index];
	struct captured_pass *source =
		&capture->passes[source_of(captured, pass->index)];

	if (!captured->backward || (pass->flags & PHILOX_PASS_RETAIN))
		return;
	source->consuming = 0;
	source->consumed = (uint8_t)consume;
}

enum philox_status passes_commit(struct philox_pass *pass, unsigned flags,
				 struct philox_ticket *ticket)
{
	struct capture *capture;
	struct captured_pass *captured;
	enum philox_status status = find_captured(pass, &capture, &captured);

	if (status != PHILOX_OK)
		return status;
	captured->flags |= flags;
	captured->phase = CAPTURED_COMMITTED;
	program_note(capture, PROGRAM_COMMIT, pass->index, flags);
	journal_ended(capture, captured);
	end_consuming(capture, pass, !(captured->flags & PHILOX_PASS_RETAIN));
	if (ticket && capture_is_tracked(captured))
		*ticket = pass->ticket;
	return PHILOX_OK;
}

/* A capture that is over has nothing left to abort. */
enum philox_status passes_abort(struct philox_pass *pass)
{
	const struct status_message kept = status_kept();
	struct capture *capture;
	struct captured_pass *captured;
	enum philox_status status = find_captured(pass, &capture, &captured);

	if (!capture) {
		status_restore(&kept);
		return PHILOX_OK;
	}
	if (status != PHILOX_OK)
		return status;
	captured->phase = CAPTURED_ABORTED;
	journal_ended(capture, captured);
	end_consuming(capture, pass, 0);
	return PHILOX_OK;
}

enum philox_status passes_join(const struct philox_pass *view)
{
	struct graph_context *graphs = view->region->context->graphs;
	struct capture *capture = capture_around(graphs, view->capture_id);

	if (!capture)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': capture %" PRIu64
				  " was dropped",
				  view->region->name, view->capture_id);
	return capture_depend(capture, view->capture_id, view->stream, NULL);
}

/* --- what passes draw, noted ---------------------------------------------- */

void passes_noted(const struct philox_pass *pass, const struct pass_note *note)
{
	struct capture *capture = capture_around(pass->region->context->graphs,
						 pass->capture_id);
	struct program_step step = {.kind = PROGRAM_CELL,
				    .pass = pass->index,
				    .op = note->op,
				    .call = note->call,
				    .iteration = pass->iteration};

	if (!capture)
		return;
	if (note->all)
		step.kind = PROGRAM_CELLS;
	if (note->fill)
		program_describe(note->fill, &step);
	program_add(&capture->program, &step);
}

/* --- copies of a generator's state ---------------------------------------- */

static enum philox_status reserve_read(struct capture *capture)
{
	if (array_grow(&capture->reads, capture->n_reads, 1,
		       sizeof(*capture->reads)))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for captured copies of states");
}

static enum philox_status check_copy(const struct capture *capture, uint64_t id)
{
	if (!bodies_repeat(capture, bodies_find(capture, id)))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "a copy of a generator's state in the body of a "
			  "WHILE, which runs again, would be the same each "
			  "time");
}

/* The copy is made last: it is a node that cannot be removed. */
static enum philox_status copy_cell(struct capture *capture,
				    const struct state_read *read,
				    const struct capture_info *info,
				    philox_stream stream,
				    struct philox_state *to)
{
	enum philox_status status =
		capture_depend(capture, info->id, stream, &info->tips);

	if (status != PHILOX_OK)
		return status;
	return philox_memory_copy(capture_device(capture), stream, to,
				  read->cell.device, sizeof(*to));
}

enum philox_status passes_read(struct philox_generator *generator,
			       philox_stream stream,
			       const struct capture_info *info,
			       struct philox_state *to)
{
	struct capture *capture;
	struct state_read read = {.generator = generator};
	enum philox_status status;

	capture_reap(generator->context->graphs);
	status = capture_get(generator->context->graphs, info, &capture);
	if (status == PHILOX_OK)
		status = check_copy(capture, info->id);
	if (status == PHILOX_OK)
		status = reserve_read(capture);
	if (status == PHILOX_OK)
		status = slots_take(capture, 1, &read.cell, &read.slot);
	if (status != PHILOX_OK)
		return status;
	status = copy_cell(capture, &read, info, stream, to);
	if (status != PHILOX_OK) {
		arena_free(&capture->graphs->cells, &read.cell);
		return status;
	}
	read.before = capture->n_passes;
	head_add_state(&capture->head, read.cell.device, read.slot);
	capture->reads[capture->n_reads++] = read;
	capture->message_slots++;
	program_note(capture, PROGRAM_STATE,
		     (uint32_t)generator_number(generator), 0);
	generator->reads++;
	return PHILOX_OK;
}

/* --- setting a generator's state -------------------------------------------- */

/* The host does it at each launch, which restarts no regions. */
static enum philox_status check_seed(const struct philox_generator *generator,
				     struct philox_state state)
{
	if (state.seed == generator->state.seed)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "generator state: seed is %016" PRIx64
			  ", and the generator has %016" PRIx64
			  ": a launch moves a generator and does not seed it",
			  state.seed, generator->state.seed);
}

static enum philox_status check_set(const struct capture *capture, uint64_t id)
{
	if (bodies_find(capture, id) == CAPTURED_NO_BODY)
		return capture_check_sealing(capture);
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "generator state: the stream captures the body of a "
			  "conditional node, and the host, which sets the "
			  "state, does not know whether that runs");
}

enum philox_status passes_set(struct philox_generator *generator,
			      const struct capture_info *info,
			      struct philox_state state)
{
	struct capture *capture;
	enum philox_status status = check_seed(generator, state);

	capture_reap(generator->context->graphs);
	if (status == PHILOX_OK)
		status =
			capture_get(generator->context->graphs, info, &capture);
	if (status == PHILOX_OK)
		status = check_set(capture, info->id);
	if (status == PHILOX_OK && !array_grow(&capture->sets, capture->n_sets,
					       1, sizeof(*capture->sets)))
		status = status_set(PHILOX_ERROR_MEMORY,
				    "no memory for a captured state");
	if (status != PHILOX_OK)
		return status;
	capture->sets[capture->n_sets++] =
		(struct state_set){.generator = generator,
				   .before = capture->n_passes,
				   .reads = capture->n_reads,
				   .state = state};
	generator->reads++;
	return PHILOX_OK;
}

enum philox_status passes_live(const struct philox_pass *pass)
{
	struct capture *capture;
	struct captured_pass *captured;

	if (!pass->capture_id)
		return pass->cells ? cells_live(pass) : PHILOX_OK;
	return find_captured(pass, &capture, &captured);
}

/* --- iterations: views of captured passes that draw one iteration --------- */

/*
 * A view has cells of its own in the slot of its pass: those that the head
 * fills for the iteration, or those that a kernel fills in the view's place for
 * the iteration that it finds in a word. Guarded by the context's lock.
 */

static enum philox_status reserve_view(struct capture *capture)
{
	if (array_grow(&capture->views, capture->n_views, 1,
		       sizeof(*capture->views)))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for the cells of a view");
}

/* A ticket that is named at launch is asked then. */
static enum philox_status check_at(const struct captured_pass *source,
				   uint32_t iteration)
{
	if (iteration < source->iterations ||
	    (source->backward && iteration < UINT32_MAX))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "region '%s': there is no iteration %" PRIu32
			  ": the captured forward has %" PRIu32,
			  source->region->name, iteration, source->iterations);
}

/* The pass of the capture that a pass has its numbers from. */
static enum philox_status find_source(const struct philox_pass *pass,
				      struct capture **capture,
				      struct captured_pass **source)
{
	enum philox_status status = passes_live(pass);
	struct captured_pass *captured;

	if (status != PHILOX_OK)
		return status;
	*capture =
		capture_around(pass->region->context->graphs, pass->capture_id);
	captured = &(*capture)->passes[pass->index];
	*source = capture_is_linked(captured)
			  ? &(*capture)->passes[captured->source]
			  : captured;
	return capture_check_sealing(*capture);
}

/* Takes cells for a view; `n` times those of its region. */
static enum philox_status take_view(struct capture *capture,
				    const struct philox_pass *view, uint32_t n,
				    struct arena_block *cells)
{
	enum philox_status status = reserve_view(capture);

	if (status == PHILOX_OK)
		status = slots_take_cells(capture, n * view->region->cells,
					  cells);
	if (status != PHILOX_OK)
		return status_prefix(status,
				     "region '%s': ", view->region->name);
	status = capture_depend(capture, view->capture_id, view->stream, NULL);
	if (status != PHILOX_OK)
		arena_free(&capture->graphs->cells, cells);
	return status;
}

enum philox_status iterations_at(const struct philox_pass *pass,
				 struct philox_pass *view)
{
	struct arena_block cells;
	struct captured_pass *source;
	struct capture *capture;
	enum philox_status status;

	if (!pass->capture_id)
		return cells_at(pass, view);
	status = find_source(pass, &capture, &source);
	if (status == PHILOX_OK)
		status = check_at(source, view->iteration);
	if (status == PHILOX_OK)
		status = take_view(capture, view, 1, &cells);
	if (status != PHILOX_OK)
		return status;
	if (source->iterations <= view->iteration)
		source->iterations = view->iteration + 1;
	head_add_region(&capture->head, view->region, cells.device,
			source->slot, view->iteration * view->region->advance);
	capture->views[capture->n_views++] = cells;
	view->states = cells.device;
	return PHILOX_OK;
}

/* --- an iteration that only the device knows ------------------------------- */

/*
 * How many iterations a ticket has that is named at launch, each launch tells
 * in a slot of its own.
 */
static enum philox_status tell_iterations(struct capture *capture,
					  struct captured_pass *source)
{
	enum philox_status status;

	if (!source->backward || source->known.size)
		return PHILOX_OK;
	status = slots_take(capture, 1, &source->known, &source->known_slot);
	if (status != PHILOX_OK)
		return status_prefix(status,
				     "region '%s': ", source->region->name);
	head_add_state(&capture->head, source->known.device,
		       source->known_slot);
	capture->message_slots++;
	return PHILOX_OK;
}

/* In the same memory: the cells as the head fills them, and those of the view. */
static enum philox_status record_at(const struct capture *capture,
				    const struct philox_pass *view,
				    const struct captured_pass *source,
				    const uint32_t *word,
				    struct philox_state *first)
{
	const struct philox_region *region = view->region;
	const struct at_args args = {.cells = first + region->cells,
				     .first = first,
				     .n = region->cells,
				     .advance = region->advance,
				     .limit = source->iterations,
				     .known = source->known.device,
				     .word = word,
				     .report = head_body_report(&capture->head),
				     .number = BODY_NUMBER_PASS | view->index};
	struct kernel_arrays arrays = {.count = 0};
	const struct kernel_call call = {.kernel = KERNEL_AT,
					 .args = &args,
					 .size = sizeof(args),
					 .work = region->cells,
					 .arrays = &arrays};

	kernel_reads(&arrays, "iteration: word", word, sizeof(*word));
	return device_launch(capture_device(capture), view->stream, &call);
}

enum philox_status iterations_at_word(const struct philox_pass *pass,
				      const uint32_t *word,
				      struct philox_pass *view)
{
	struct arena_block cells;
	struct captured_pass *source;
	struct capture *capture;
	enum philox_status status = find_source(pass, &capture, &source);

	if (status == PHILOX_OK)
		status = tell_iterations(capture, source);
	if (status == PHILOX_OK)
		status = take_view(capture, view, 2, &cells);
	if (status != PHILOX_OK)
		return status;
	status = record_at(capture, view, source, word, cells.device);
	if (status != PHILOX_OK) {
		arena_free(&capture->graphs->cells, &cells);
		return status_prefix(status,
				     "region '%s': ", view->region->name);
	}
	view->states =
		(struct philox_state *)cells.device + view->region->cells;
	head_add_region(&capture->head, view->region, cells.device,
			source->slot, 0);
	head_add_region(&capture->head, view->region, (void *)view->states,
			source->slot, 0);
	capture->views[capture->n_views++] = cells;
	return PHILOX_OK;
}
