/*
 * tests/support/programs/failed.c - random calls that failed, and why
 *
 * See tests/support/programs/call.h.
 */
#include "tests/support/programs/call.h"

void game_same_digest(struct game *game, const char *what)
{
	uint64_t ours, plain;

	GOES(game, philox_context_digest(game->ours.context, &ours));
	GOES(game, philox_context_digest(game->plain.context, &plain));
	MUST(game, ours == plain, "another future after %s", what);
	game_count(game, GAME_DIGESTS);
}

static enum game_event failure_by_arguments(const struct playing *p)
{
	static const enum philox_status expected[WRONGS] = {
		[WRONG_FEW_USES] = PHILOX_ERROR_INVALID,
		[WRONG_MANY_USES] = PHILOX_ERROR_INVALID,
		[WRONG_TICKET] = PHILOX_ERROR_RELEASED,
		[WRONG_HANDLE] = PHILOX_ERROR_STALE,
		[WRONG_INPUTS] = PHILOX_ERROR_INVALID,
		[WRONG_VALUE] = PHILOX_ERROR_INVALID};

	return p->wrong && p->status == expected[p->wrong]
		       ? GAME_FAILED_ARGUMENTS
		       : GAME_EVENTS;
}

static int is_of_capture(enum philox_status status)
{
	return status == PHILOX_ERROR_UNSUPPORTED ||
	       status == PHILOX_ERROR_CAPTURE_UNSUPPORTED ||
	       status == PHILOX_ERROR_CAPTURE_INVALIDATED;
}

/* A recording of memory that went with a runner, and other memory is there. */
static int is_of_freed(const struct game *game, const struct playing *p)
{
	const char *said = philox_error_message();

	return p->status == PHILOX_ERROR_INVALID && game->freed &&
	       p->f->run.bodies == p->checking &&
	       (strstr(said, "which has been freed") ||
		strstr(said, "cudaGraphLaunch: cudaErrorInvalidValue"));
}

static int has_fixed(const struct recipe_shape *shape)
{
	for (unsigned i = 0; i < shape->n_inputs; i++)
		if (shape->inputs[i].flags & PHILOX_INPUT_FIXED)
			return 1;
	return 0;
}

/* Why it failed; GAME_EVENTS: there is no reason. */
static enum game_event explain_failure(const struct game *game,
				       const struct playing *p)
{
	const struct recipe_run *run = &p->f->run;

	if (p->failed_device)
		return GAME_FAILED_DEVICE;
	if (p->status == PHILOX_ERROR_BUSY && game->disordered[p->f->runner])
		return GAME_FAILED_DISORDERED;
	if (is_of_freed(game, p))
		return GAME_FAILED_FREED;
	if (run->faulted && run->fault == FAULT_RETURN &&
	    p->status == FAULT_STATUS)
		return GAME_FAILED_BODY;
	if (run->faulted && run->fault == FAULT_DIFFER &&
	    p->status == PHILOX_ERROR_MISMATCH)
		return GAME_FAILED_DIFFERENT;
	if (run->faulted &&
	    (run->fault == FAULT_REFUSE || run->fault == FAULT_BREAK) &&
	    p->f->policy.refused == PHILOX_REFUSED_ERROR &&
	    is_of_capture(p->status))
		return GAME_FAILED_REFUSED;
	if (has_fixed(&p->f->shape) && p->status == PHILOX_ERROR_MISMATCH &&
	    !run->bodies)
		return GAME_FAILED_MOVED;
	return failure_by_arguments(p);
}

static void burn(struct game *game, const struct playing *p,
		 const struct recipe_pass *pass, int launched)
{
	struct philox_region *region =
		game->regions[p->f->regions[pass->region]].plain;
	struct philox_pass aborted;

	GOES(game, philox_forward_begin(
			   region, game->plain.stream,
			   recipe_flags(p->recipe,
					(unsigned)(pass - p->recipe->passes),
					launched),
			   &aborted));
	GOES(game, philox_pass_abort(&aborted));
	game_count(game, GAME_BURNT);
}

static int is_same_future(struct game *game)
{
	uint64_t ours, plain;

	GOES(game, philox_context_digest(game->ours.context, &ours));
	GOES(game, philox_context_digest(game->plain.context, &plain));
	return ours == plain;
}

/*
 * The numbers of forwards that a body began are burnt. Where the device failed,
 * or a body that was to verify a launch, the launch may have burnt some, in
 * order.
 */
static void burn_the_same(struct game *game, const struct playing *p,
			  int by_device)
{
	const struct recipe_run *run = &p->f->run;
	const int launched =
		run->bodies == p->checking || run->kind == PHILOX_CALL_RECORD;

	for (unsigned i = 0; !by_device && !p->last_was_dry && i < run->began;
	     i++)
		burn(game, p, run->forwards[i], 0);
	for (unsigned i = 0; by_device && i < p->recipe->n_passes; i++)
		if (!p->recipe->passes[i].backward && !is_same_future(game))
			burn(game, p, &p->recipe->passes[i], launched);
	game_same_digest(game, "a call that failed");
}

/*
 * Where a pool's last work was is one of our streams, or the one that stands in
 * for the legacy stream, of which we do not know.
 */
void game_order_pool(struct game *game, int runner)
{
	struct fixture *f = &game->ours;
	struct philox_pool *pool = philox_runner_pool(game->runners[runner]);
	struct philox_call call = PHILOX_INIT(struct philox_call);

	game_wait(game);
	GOES(game, philox_pool_join_streams(pool, f->side, f->stream));
	call.stream = f->stream;
	if (philox_function_call(game->islands[runner], &call) != PHILOX_OK) {
		call.stream = NULL;
		GOES(game, philox_function_call(game->islands[runner], &call));
	}
	game->disordered[runner] = 0;
}

/* What a program does that finds such failures. */
static void recover(struct game *game, const struct playing *p,
		    enum game_event why)
{
	if (why == GAME_FAILED_FREED)
		game_remake_function(game, p->f);
	if (why == GAME_FAILED_DISORDERED)
		game_order_pool(game, p->f->runner);
}

/* What the body did to memory of the caller stays done. */
void call_failed(struct game *game, struct playing *p)
{
	const enum game_event why = explain_failure(game, p);

	MUST(game, why != GAME_EVENTS,
	     "function '%s', key %u, fault %d%s, wrong %d: %s: %s", p->f->name,
	     p->key, (int)p->f->run.fault, p->f->run.faulted ? " made" : "",
	     (int)p->wrong, philox_status_name(p->status),
	     philox_error_message());
	MUST(game, *philox_error_message(), "no message");
	if (p->wrong != WRONG_MANY_USES && !p->failed_device)
		well_said("philox_function_call");
	game_count(game, why);
	for (unsigned i = 0; i < p->recipe->n_entries; i++)
		MUST(game,
		     recipe_entry(p->recipe, i)->backward ||
			     p->uses[i].ticket.serial == CALL_UNTOUCHED.serial,
		     "a use was written");
	burn_the_same(game, p,
		      p->failed_device || p->checking ||
			      why == GAME_FAILED_FREED);
	recover(game, p, why);
	game->loose = 1; /* what was put on which stream is not known */
	for (unsigned i = 0; i < p->f->shape.n_inputs; i++)
		if (recipe_writes(&p->f->shape, i)) {
			struct storage *storage =
				&game->storages[p->storages[i]];

			game_wait(game);
			memcpy(&storage->now, storage->address, RECIPE_BYTES);
		}
}
