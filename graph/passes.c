/*
 * graph/passes.c - recording passes in a capture
 *
 * See Note [Captured passes] in graph/capture.h. Guarded by the context's lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "graph/cells.h"
#include "graph/journal.h"
#include "graph/passes.h"
#include "graph/slots.h"

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
		    (other->region->flags & PHILOX_SHARED) &&
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
	int consuming = !(pass->flags & PHILOX_RETAIN);
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

static enum philox_status reserve_pass(struct capture *capture)
{
	uint32_t capacity = capture->capacity ? capture->capacity * 2 : 8;
	struct captured_pass *passes;

	if (capture->n_passes < capture->capacity)
		return PHILOX_OK;
	passes = realloc(capture->passes, capacity * sizeof(*passes));
	if (!passes)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for %" PRIu32 " captured passes",
				  capacity);
	capture->passes = passes;
	capture->capacity = capacity;
	return PHILOX_OK;
}

/* The pass whose ticket, cells and slot a captured pass has: itself, or not. */
static uint32_t source_of(const struct captured_pass *captured, uint32_t index)
{
	return capture_is_linked(captured) ? captured->source : index;
}

static int is_consuming(const struct captured_pass *captured)
{
	return captured->backward && !(captured->flags & PHILOX_RETAIN);
}

static void note_whole(struct capture *capture, const char *call,
		       const struct philox_region *region)
{
	snprintf(capture->last, sizeof(capture->last), "%s of region '%.60s'",
		 call, region->name);
}

/* Records a complete captured pass and points the pass at it. */
static void add(struct capture *capture, struct philox_pass *pass,
		const struct captured_pass *captured)
{
	uint32_t source = source_of(captured, capture->n_passes);

	pass->index = capture->n_passes;
	capture->passes[capture->n_passes++] = *captured;
	if (captured->cells.size) {
		head_add_region(&capture->head, pass->region,
				captured->cells.device, captured->slot);
		capture->slots++;
	}
	if (is_consuming(captured))
		capture->passes[source].consuming = 1;
	pass->states = capture->passes[source].cells.device;
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

static enum philox_status record(struct capture *capture,
				 struct philox_pass *pass)
{
	struct captured_pass captured = {.region = pass->region,
					 .life = pass->life,
					 .flags = pass->flags,
					 .backward = (uint8_t)is_backward(pass),
					 .source = CAPTURED_NO_SOURCE};
	enum philox_status status = PHILOX_OK;

	if (captured.backward && !is_zero(pass->ticket)) {
		captured.source = (uint32_t)pass->ticket.serial;
		status = check_source(pass, &capture->passes[captured.source]);
	}
	if (!captured.backward && (pass->region->flags & PHILOX_SHARED))
		status = check_shared(capture, pass->region);
	if (status == PHILOX_OK)
		status = reserve_pass(capture);
	if (status != PHILOX_OK)
		return status;
	if (!capture_is_linked(&captured))
		status = slots_take(capture, pass->region->cells,
				   &captured.cells, &captured.slot);
	if (status != PHILOX_OK)
		return status_prefix(status,
				     "region '%s': ", pass->region->name);
	status = capture_depend(capture, pass->stream);
	if (status != PHILOX_OK) {
		arena_free(&capture->graphs->cells, &captured.cells);
		return status;
	}
	add(capture, pass, &captured);
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
	capture = capture_find(graphs, info->id);
	if (is_backward(pass))
		status = check_ticket(pass, capture);
	if (status == PHILOX_OK)
		status = capture_get(graphs, info, pass->stream, &capture);
	return status == PHILOX_OK ? record(capture, pass) : status;
}

static enum philox_status find_captured(const struct philox_pass *pass,
					struct capture **capture,
					struct captured_pass **captured)
{
	struct graph_context *graphs = pass->region->context->graphs;

	*capture = capture_find(graphs, pass->capture_id);
	if (!*capture || pass->index >= (*capture)->n_passes)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': capture %" PRIu64 " is over",
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

	if (!captured->backward || (pass->flags & PHILOX_RETAIN))
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
	journal_ended(capture, captured);
	end_consuming(capture, pass, !(captured->flags & PHILOX_RETAIN));
	if (ticket && capture_is_tracked(captured))
		*ticket = pass->ticket;
	return PHILOX_OK;
}

/* A capture that is over has nothing left to abort. */
enum philox_status passes_abort(struct philox_pass *pass)
{
	struct capture *capture;
	struct captured_pass *captured;
	enum philox_status status = find_captured(pass, &capture, &captured);

	if (!capture)
		return PHILOX_OK;
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
	struct capture *capture = capture_find(graphs, view->capture_id);

	if (!capture)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': capture %" PRIu64
				  " was dropped",
				  view->region->name, view->capture_id);
	return capture_depend(capture, view->stream);
}

/* --- copies of a generator's state ---------------------------------------- */

static enum philox_status reserve_read(struct capture *capture)
{
	struct state_read *reads;

	reads = realloc(capture->reads,
			(capture->n_reads + 1) * sizeof(*capture->reads));
	if (!reads)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for captured copies of states");
	capture->reads = reads;
	return PHILOX_OK;
}

/* The copy is made last: it is a node that cannot be removed. */
static enum philox_status copy_cell(struct capture *capture,
				    const struct state_read *read,
				    philox_stream stream,
				    struct philox_state *to)
{
	enum philox_status status = capture_depend(capture, stream);

	if (status != PHILOX_OK)
		return status;
	return philox_memory_copy(capture_device(capture), to,
				  read->cell.device, sizeof(*to), stream);
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
	status =
		capture_get(generator->context->graphs, info, stream, &capture);
	if (status == PHILOX_OK)
		status = reserve_read(capture);
	if (status == PHILOX_OK)
		status = slots_take(capture, 1, &read.cell, &read.slot);
	if (status != PHILOX_OK)
		return status;
	status = copy_cell(capture, &read, stream, to);
	if (status != PHILOX_OK) {
		arena_free(&capture->graphs->cells, &read.cell);
		return status;
	}
	read.before = capture->n_passes;
	head_add_state(&capture->head, read.cell.device, read.slot);
	capture->reads[capture->n_reads++] = read;
	capture->slots++;
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
