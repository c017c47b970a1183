/*
 * graph/capture/iterations.c - views of captured passes that draw one iteration
 *
 * A view has cells of its own in the slot of its pass: those that the head fills
 * for the iteration, or those that a kernel fills in the view's place for the
 * iteration that it finds in a word. Guarded by the context's lock.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "graph/capture/bodies.h"
#include "graph/capture/cells.h"
#include "graph/capture/iterations.h"
#include "graph/capture/passes.h"
#include "graph/capture/slots.h"
#include "lib/device/captures.h"

static enum philox_status reserve_view(struct capture *capture)
{
	struct arena_block *views =
		realloc(capture->views,
			(capture->n_views + 1) * sizeof(*capture->views));

	if (!views)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the cells of a view");
	capture->views = views;
	return PHILOX_OK;
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
	status = capture_depend(capture, view->capture_id, view->stream);
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
 * How many iterations a ticket has that is named at launch, each launch tells in
 * a slot of its own.
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
	capture->slots++;
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
					 .work = 1,
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
