/*
 * lib/pass/pass_draw.c - views of a pass, and the states it draws from
 *
 * A pass is a value: copies and views of it may be used after it has ended. For
 * those that draw from cells this is detected here, before the cells, which
 * another pass may have by then, are read.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include "lib/pass/pass_check.h"
#include "lib/state/region.h"

/* --- views ---------------------------------------------------------------- */

static enum philox_status join(struct philox_pass *view)
{
	struct philox_region *region = view->region;
	enum philox_status status = pass_check_stream(view, "philox_pass_on");

	if (status != PHILOX_OK || !view->capture_id)
		return status;
	context_lock(region->context);
	status = region->context->hooks->join(view);
	context_unlock(region->context);
	return status;
}

enum philox_status philox_pass_on(const struct philox_pass *pass,
				  philox_stream stream,
				  struct philox_pass *view)
{
	struct philox_pass made;
	enum philox_status status = pass_check_drawn(pass);

	if (status == PHILOX_OK && !view)
		status = status_set(PHILOX_ERROR_INVALID, "view is NULL");
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	made = *pass;
	made.stream = stream;
	made.kind |= PASS_VIEW;
	status = join(&made);
	if (status == PHILOX_OK)
		*view = made;
	return pass_finish(pass, status);
}

/* --- what a pass is of, and the states it draws from ---------------------- */

/* Whether a pass still has its numbers; with the context's lock held. */
static enum philox_status check_live(const struct philox_pass *pass)
{
	enum philox_status status = region_check_life(pass->region, pass->life);

	if (status != PHILOX_OK || !pass->states)
		return status;
	return pass->region->context->hooks->live(pass);
}

/*
 * A forward that owes no backward has a placeholder, but only for its cells,
 * unless it is of a dry run (graph/runner/state/runner.h), whose body names it by that.
 */
static enum philox_status get_ticket(const struct philox_pass *pass,
				     struct philox_ticket *ticket)
{
	enum philox_status status = check_live(pass);

	if (status != PHILOX_OK)
		return status;
	*ticket = !pass->run && pass->flags & (PHILOX_INFERENCE | PHILOX_WARMUP)
			  ? (struct philox_ticket){0}
			  : pass->ticket;
	return PHILOX_OK;
}

enum philox_status philox_pass_ticket(const struct philox_pass *pass,
				      struct philox_ticket *ticket)
{
	enum philox_status status = pass_check_drawn(pass);

	if (status == PHILOX_OK && !ticket)
		status = status_set(PHILOX_ERROR_INVALID, "ticket is NULL");
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	context_lock(pass->region->context);
	status = get_ticket(pass, ticket);
	context_unlock(pass->region->context);
	return pass_finish(pass, status);
}

static enum philox_status get_states(const struct philox_pass *pass,
				     const struct philox_state **states)
{
	enum philox_status status = check_live(pass);

	if (status != PHILOX_OK)
		return status;
	if (!pass->states)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': an eager pass has cells only "
				  "if it was begun with PHILOX_ON_DEVICE",
				  pass->region->name);
	*states = pass->states;
	return PHILOX_OK;
}

enum philox_status philox_pass_states(const struct philox_pass *pass,
				      const struct philox_state **states)
{
	enum philox_status status = pass_check_drawn(pass);

	if (status == PHILOX_OK && !states)
		status = status_set(PHILOX_ERROR_INVALID, "states is NULL");
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	context_lock(pass->region->context);
	status = get_states(pass, states);
	context_unlock(pass->region->context);
	return pass_finish(pass, status);
}

static enum philox_status locate(const struct philox_pass *pass, uint32_t op,
				 uint32_t call, struct philox_rng *rng)
{
	struct philox_region *region = pass->region;
	enum philox_status status = check_live(pass);
	size_t cell;

	if (status != PHILOX_OK)
		return status;
	cell = region_find_cell(region, op, call);
	if (cell == SIZE_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s' has no op %u, call %u",
				  region->name, op, call);
	memset(rng, 0, sizeof(*rng));
	if (pass->states)
		rng->cell = pass->states + cell;
	else
		rng->state = region_cell_state(region, pass->state, op, call);
	return PHILOX_OK;
}

enum philox_status philox_pass_rng(const struct philox_pass *pass, uint32_t op,
				   uint32_t call, struct philox_rng *rng)
{
	enum philox_status status = pass_check_drawn(pass);

	if (status == PHILOX_OK && !rng)
		status = status_set(PHILOX_ERROR_INVALID, "rng is NULL");
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	context_lock(pass->region->context);
	status = locate(pass, op, call, rng);
	context_unlock(pass->region->context);
	return pass_finish(pass, status);
}
