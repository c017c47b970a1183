/*
 * lib/pass/pass_view.c - views of a pass, and the states it draws from
 *
 * A pass is a value: copies and views of it may be used after it has ended. For
 * those that draw from cells this is detected here, before the cells, which
 * another pass may have by then, are read.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <philox/interop.h>
#include "lib/pass/pass.h"

/* Whether a pass can draw, and there is a place for what is asked of it. */
static enum philox_status check_asked(const struct philox_pass *pass,
				      const void *to, const char *name)
{
	enum philox_status status = pass_check_drawn(pass);

	if (status == PHILOX_OK && !to)
		status = status_set(PHILOX_ERROR_INVALID, "%s is NULL", name);
	return status == PHILOX_OK ? PHILOX_OK
				   : pass_finish_unopened(pass, status);
}

/* --- views ---------------------------------------------------------------- */

static struct philox_pass new_view(const struct philox_pass *pass)
{
	struct philox_pass view = *pass;

	view.kind |= PASS_VIEW;
	return view;
}

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
	enum philox_status status = check_asked(pass, view, "view");

	if (status != PHILOX_OK)
		return status;
	made = new_view(pass);
	made.stream = stream;
	status = join(&made);
	if (status == PHILOX_OK)
		*view = made;
	return pass_finish(pass, status);
}

/* --- what a pass is of, and the states it draws from ---------------------- */

void pass_note(const struct philox_pass *pass, const struct pass_note *note)
{
	struct philox_context *context = pass->region->context;

	context_lock(context);
	context->hooks->noted(pass, note);
	context_unlock(context);
}

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
 * unless it is of a dry run (graph/runner/state/state.h), whose body names it
 * by that.
 */
static enum philox_status get_ticket(const struct philox_pass *pass,
				     struct philox_ticket *ticket)
{
	enum philox_status status = check_live(pass);

	if (status != PHILOX_OK)
		return status;
	*ticket = !pass->run && pass->flags & (PHILOX_PASS_INFERENCE |
					       PHILOX_PASS_WARMUP)
			  ? (struct philox_ticket){0}
			  : pass->ticket;
	return PHILOX_OK;
}

enum philox_status philox_pass_ticket(const struct philox_pass *pass,
				      struct philox_ticket *ticket)
{
	enum philox_status status = check_asked(pass, ticket, "ticket");

	if (status != PHILOX_OK)
		return status;
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
				  "if it was begun with PHILOX_PASS_ON_DEVICE",
				  pass->region->name);
	*states = pass->states;
	return PHILOX_OK;
}

static enum philox_status find_states(const struct philox_pass *pass,
				      const struct philox_state **states)
{
	enum philox_status status = check_asked(pass, states, "states");

	if (status != PHILOX_OK)
		return status;
	context_lock(pass->region->context);
	status = get_states(pass, states);
	context_unlock(pass->region->context);
	return pass_finish(pass, status);
}

enum philox_status philox_pass_states(const struct philox_pass *pass,
				      const struct philox_state **states)
{
	enum philox_status status = find_states(pass, states);

	if (status == PHILOX_OK && pass->capture_id)
		pass_note(pass, &(struct pass_note){.all = 1});
	return status;
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

enum philox_status pass_find_rng(const struct philox_pass *pass, uint32_t op,
				 uint32_t call, struct philox_rng *rng)
{
	enum philox_status status = check_asked(pass, rng, "rng");

	if (status != PHILOX_OK)
		return status;
	context_lock(pass->region->context);
	status = locate(pass, op, call, rng);
	context_unlock(pass->region->context);
	return pass_finish(pass, status);
}

enum philox_status philox_pass_rng(const struct philox_pass *pass, uint32_t op,
				   uint32_t call, struct philox_rng *rng)
{
	enum philox_status status = pass_find_rng(pass, op, call, rng);

	if (status == PHILOX_OK && pass->capture_id)
		pass_note(pass, &(struct pass_note){.op = op, .call = call});
	return status;
}

/* --- pass_iteration: views of a pass that draw one of its iterations ------ */

/*
 * Iteration i of a forward is i times the region's advance after its state. An
 * eager view has that by value; one with cells gets cells of its own from the
 * context's hooks.
 */

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
	enum philox_status status = check_asked(pass, view, "view");

	if (status != PHILOX_OK)
		return status;
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
	enum philox_status status = check_asked(pass, view, "view");

	if (status != PHILOX_OK)
		return status;
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

/* --- interop: see philox/interop.h ---------------------------------------- */

/*
 * Sizes are multiplied with saturation: UINT64_MAX means too large, and no
 * operator with such an advance can be made.
 */

#define TOO_LARGE UINT64_MAX
/* The largest advance that philox_region_create() accepts. */
#define ADVANCE_MAX (1ULL << 56)
/* FlashAttention numbers 32 lanes for each head in an int. */
#define FLASH_HEADS_MAX (1ULL << 26)

static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t exact;

	return __builtin_mul_overflow(a, b, &exact) ? TOO_LARGE : exact;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t as_advance(uint64_t words)
{
	return words > ADVANCE_MAX ? TOO_LARGE : (words + 3) / 4 * 4;
}

uint64_t philox_advance_flash_attention(uint64_t batch, uint64_t heads)
{
	uint64_t all = product(batch, heads);

	return all > FLASH_HEADS_MAX ? TOO_LARGE : 32 * all;
}

uint64_t philox_advance_cudnn_sdpa(uint64_t batch, uint64_t heads,
				   uint64_t seq_q, uint64_t seq_kv)
{
	uint64_t all = product(batch, heads);
	uint64_t scores = product(seq_q, seq_kv);

	if (!all || !scores)
		return 0;
	return as_advance(product(all, larger(scores, 32)));
}

uint64_t philox_advance_transformer_engine(uint64_t batch, uint64_t heads,
					   uint64_t seq_q, uint64_t seq_kv)
{
	uint64_t cudnn = philox_advance_cudnn_sdpa(batch, heads, seq_q, seq_kv);
	uint64_t scores = product(seq_q, larger(seq_q, seq_kv));

	return cudnn ? larger(cudnn, as_advance(scores / 128 + 1)) : 0;
}

enum philox_status philox_pass_cell(const struct philox_pass *pass, uint32_t op,
				    uint32_t call,
				    const struct philox_state **cell)
{
	const struct philox_state *states;
	struct philox_rng rng;
	enum philox_status status = pass_find_rng(pass, op, call, &rng);

	if (status == PHILOX_OK && !cell)
		return pass_finish(
			pass, status_set(PHILOX_ERROR_INVALID, "cell is NULL"));
	/* says why there are none, if there are none */
	if (status == PHILOX_OK)
		status = find_states(pass, &states);
	if (status != PHILOX_OK)
		return status;
	*cell = rng.cell;
	if (pass->capture_id)
		pass_note(pass, &(struct pass_note){.op = op, .call = call});
	return PHILOX_OK;
}
