/*
 * lib/pass/pass_iteration.c - views of a pass that draw one of its iterations
 *
 * Iteration i of a forward is i times the region's advance after its state. An
 * eager view has that by value; one with cells gets cells of its own from the
 * context's hooks.
 */
#include <inttypes.h>
#include "lib/pass/pass_check.h"
#include "lib/state/region.h"

enum { NO_ITERATION = UINT32_MAX }; /* only the device knows it */

static enum philox_status check_iteration(const struct philox_pass *pass,
					  uint32_t iteration)
{
	if (iteration < pass->iterations)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "region '%s': there is no iteration %" PRIu32
			  ": the forward has %" PRIu32,
			  pass->region->name, iteration, pass->iterations);
}

static struct philox_pass new_view(const struct philox_pass *pass)
{
	struct philox_pass view = *pass;

	view.kind |= PASS_VIEW;
	return view;
}

/* With the context's lock held. An eager state is that of the iteration. */
static enum philox_status view_at(const struct philox_pass *pass,
				  struct philox_pass *view)
{
	const struct philox_region *region = pass->region;
	uint64_t from = pass->iteration, to = view->iteration;
	enum philox_status status = region_check_life(region, pass->life);

	if (status != PHILOX_OK)
		return status;
	if (pass->capture_id)
		return region->context->hooks->at(pass, view);
	status = check_iteration(pass, view->iteration);
	if (status != PHILOX_OK)
		return status;
	view->state.offset += (to - from) * region->advance;
	return pass->cells ? region->context->hooks->at(pass, view) : PHILOX_OK;
}

enum philox_status philox_pass_at(const struct philox_pass *pass,
				  uint32_t iteration, struct philox_pass *view)
{
	struct philox_pass made;
	enum philox_status status = pass_check_drawn(pass);

	if (status == PHILOX_OK && !view)
		status = status_set(PHILOX_ERROR_INVALID, "view is NULL");
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	made = new_view(pass);
	made.iteration = iteration;
	status = pass_check_stream(pass, __func__);
	if (status != PHILOX_OK)
		return pass_finish(pass, status);
	context_lock(pass->region->context);
	status = view_at(pass, &made);
	context_unlock(pass->region->context);
	if (status == PHILOX_OK)
		*view = made;
	return pass_finish(pass, status);
}

static enum philox_status check_word(const struct philox_pass *pass,
				     const uint32_t *word)
{
	if (!word || (uintptr_t)word % sizeof(*word))
		return status_set(PHILOX_ERROR_INVALID, "region '%s': word %s",
				  pass->region->name,
				  word ? "is not aligned to 4 bytes"
				       : "is NULL");
	if (!pass->capture_id)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': the pass is eager: its "
				  "iteration is a number that the caller has, "
				  "see philox_pass_at()",
				  pass->region->name);
	return pass_check_stream(pass, "philox_pass_at_word");
}

enum philox_status philox_pass_at_word(const struct philox_pass *pass,
				       const uint32_t *word,
				       struct philox_pass *view)
{
	struct philox_pass made;
	enum philox_status status = pass_check_drawn(pass);

	if (status == PHILOX_OK && !view)
		status = status_set(PHILOX_ERROR_INVALID, "view is NULL");
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	status = check_word(pass, word);
	if (status != PHILOX_OK)
		return pass_finish(pass, status);
	made = new_view(pass);
	made.iteration = NO_ITERATION;
	context_lock(pass->region->context);
	status = region_check_life(pass->region, pass->life);
	if (status == PHILOX_OK)
		status = pass->region->context->hooks->at_word(pass, word,
							       &made);
	context_unlock(pass->region->context);
	if (status == PHILOX_OK)
		*view = made;
	return pass_finish(pass, status);
}
