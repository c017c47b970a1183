/*
 * tests/support/programs/play.c - the plans of a random program, and their
 * calls
 *
 * See tests/support/programs/call.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <philox/device.h>
#include "tests/support/programs/call.h"

/* --- calls ---------------------------------------------------------------- */

/* For who looks for the reason of a failure. */
static void log_call(const struct game *game, const struct playing *p)
{
	fprintf(stderr,
		"step %u: '%s', key %u, pattern %d, on the %s stream, fault "
		"%d%s, kind %u, %s: %s\n",
		game->program->step, p->f->name, p->key,
		(int)p->recipe->pattern,
		!p->call.stream                       ? "legacy"
		: p->call.stream == game->ours.stream ? "first"
						      : "side",
		(int)p->f->run.fault, p->f->run.faulted ? " made" : "",
		p->call.kind, philox_status_name(p->status),
		p->status == PHILOX_OK ? philox_function_reason(p->f->function)
				       : philox_error_message());
	for (unsigned i = 0; i < p->f->shape.n_inputs; i++)
		fprintf(stderr, "  input %u in storage %u at %p%s\n", i,
			p->storages[i], p->inputs[i].address,
			p->inputs[i].output ? ", by handle" : "");
	for (unsigned i = 0; i < p->recipe->n_entries; i++)
		fprintf(stderr, "  use %u of region %u: ticket %" PRIu64 "%s\n",
			i, p->f->regions[recipe_entry(p->recipe, i)->region],
			p->uses[i].ticket.serial,
			p->uses[i].flags ? ", retained" : "");
}

static void set_stage(struct game *game, struct playing *p)
{
	p->f->run.recipe = p->recipe;
	for (unsigned i = 0; i < 2; i++)
		p->f->run.regions[i] = game->regions[p->f->regions[i]].ours;
}

static void make_call(struct game *game, struct playing *p)
{
	struct philox_device *device = game->ours.device;
	const uint64_t before = philox_device_call_count(device, NULL);
	struct philox_function_stats earlier =
		PHILOX_INIT(struct philox_function_stats);
	struct philox_function_stats later = earlier;

	if (p->fails_at)
		GOES(game, philox_device_fail(device, NULL, p->fails_at,
					      PHILOX_ERROR_DEVICE));
	set_stage(game, p);
	GOES(game, philox_function_get_stats(p->f->function, &earlier));
	p->status = philox_function_call(p->f->function, &p->call);
	if (getenv("PHILOX_RUNNER_LOG"))
		log_call(game, p);
	if (p->fails_at) {
		p->failed_device =
			philox_device_call_count(device, NULL) - before >=
			p->fails_at;
		game->disordered[p->f->runner] |= p->failed_device;
		GOES(game, philox_device_fail(device, NULL, 0, PHILOX_OK));
	}
	GOES(game, philox_function_get_stats(p->f->function, &later));
	p->checking = later.checking - earlier.checking;
	MUST(game, p->checking <= p->f->run.bodies,
	     "%" PRIu64 " of %u bodies were to verify", p->checking,
	     p->f->run.bodies);
	p->last_was_dry =
		later.dry > earlier.dry &&
		later.dry - earlier.dry == later.bodies - earlier.bodies;
	if (p->status == PHILOX_OK)
		call_succeeded(game, p);
	else
		call_failed(game, p);
}

static void play_node(struct game *game, const struct plan *plan, unsigned node,
		      philox_stream stream, int made[][RECIPE_OUTPUTS])
{
	struct playing p = {.f = &game->functions[plan->nodes[node].function],
			    .key = plan->nodes[node].key,
			    .made = {-1, -1, -1}};

	if (game_rarely(game, 24))
		p.key = game_pick(game, GAME_KEYS);
	if (game_rarely(game, 24))
		stream = call_choose_stream(game);
	p.recipe = &p.f->recipes[p.key];
	if (!call_choose_uses(game, &p))
		return;
	for (unsigned i = 0; i < p.f->shape.n_inputs; i++)
		call_choose_input(game, &p, i, &plan->nodes[node].sources[i],
				  made);
	call_choose(game, &p, stream);
	if (game_one_in(game, 40)) {
		p.wrong = (enum wrong)game_pick(game, WRONGS);
		if (!call_make_wrong(game, &p, p.wrong))
			return;
	}
	call_choose_fault(game, &p);
	game_order(game, stream, p.f->runner);
	make_call(game, &p);
	memcpy(made[node], p.made, sizeof(p.made));
}

/* --- plans ---------------------------------------------------------------- */

static int is_wanted(const struct plan *plan, int node, unsigned index,
		     unsigned from)
{
	for (unsigned i = from; i < plan->n; i++)
		for (unsigned k = 0; k < RECIPE_INPUTS; k++)
			if (plan->nodes[i].sources[k].node == node &&
			    plan->nodes[i].sources[k].index == index)
				return 1;
	return 0;
}

static unsigned n_kept(const struct game *game)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GAME_HANDLES; i++)
		n += game->handles[i].used && game->handles[i].kept;
	return n;
}

static unsigned n_bound(const struct game *game)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GAME_HANDLES; i++)
		n += game->handles[i].used && game->handles[i].bound;
	return n;
}

/* Outputs that no node from `from` on reads go, or stay for a long time. */
static void clear_up(struct game *game, const struct plan *plan, unsigned nodes,
		     unsigned from, int made[][RECIPE_OUTPUTS])
{
	for (unsigned i = 0; i < nodes * RECIPE_OUTPUTS; i++) {
		/* in another order each time */
		unsigned at = game_one_in(game, 3)
				      ? i
				      : nodes * RECIPE_OUTPUTS - 1 - i;
		int *handle = &made[at / RECIPE_OUTPUTS][at % RECIPE_OUTPUTS];

		if (*handle < 0 || is_wanted(plan, (int)(at / RECIPE_OUTPUTS),
					     at % RECIPE_OUTPUTS, from))
			continue;
		if (game_rarely(game, 8) && n_bound(game) < GAME_BOUND &&
		    game_bind(game, (unsigned)*handle)) {
			*handle = -1;
			continue;
		}
		if (game_rarely(game, 30) && n_kept(game) < GAME_KEPT) {
			game->handles[*handle].kept = 1;
			game_count(game, GAME_KEPT_LONG);
		} else {
			game_release(game, (unsigned)*handle);
		}
		*handle = -1;
	}
}

/* Outputs that the step leaves are kept, if they are not too many. */
static void end_by_step(struct game *game, const struct plan *plan,
			int made[][RECIPE_OUTPUTS])
{
	for (int i = 0; i < GAME_RUNNERS; i++)
		game_begin_step(game, i);
	for (unsigned i = 0; i < plan->n * RECIPE_OUTPUTS; i++) {
		int handle = made[i / RECIPE_OUTPUTS][i % RECIPE_OUTPUTS];

		if (handle < 0 || !game->handles[handle].used)
			continue;
		if (n_kept(game) < GAME_KEPT)
			game->handles[handle].kept = 1;
		else
			game_release(game, (unsigned)handle);
	}
}

/* Calls of one key that only differ in where their inputs are. */
void game_prepare(struct game *game, const struct plan *plan)
{
	enum { MOST = 3 };
	const unsigned n = 1 + game_pick(game, MOST);
	const unsigned node = game_pick(game, plan->n);
	struct playing p[MOST] = {{.f = NULL}};
	struct philox_call calls[MOST];
	int none[GAME_NODES][RECIPE_OUTPUTS];
	struct game_function *f = &game->functions[plan->nodes[node].function];
	size_t prepared = 77, recorded = 0;

	memset(none, -1, sizeof(none));
	for (unsigned i = 0; i < n; i++) {
		p[i].f = f;
		p[i].key = plan->nodes[node].key;
		p[i].recipe = &f->recipes[p[i].key];
		for (unsigned k = 0; k < f->shape.n_inputs; k++)
			call_choose_input(game, &p[i], k,
					  &plan->nodes[node].sources[k], none);
		call_choose(game, &p[i], game->ours.stream);
		call_choose_fault(game, &p[i]);
		calls[i] = p[i].call;
		calls[i].passes = NULL;
		calls[i].outputs = NULL;
		calls[i].n_outputs = 0;
	}
	set_stage(game, &p[0]);
	f->run.fault = FAULT_NONE;
	game_order(game, game->ours.stream, f->runner);
	GOES(game, philox_function_prepare(f->function, calls, n, &prepared));
	for (unsigned i = 0; i < n; i++) {
		MUST(game,
		     calls[i].kind == PHILOX_CALL_NONE ||
			     calls[i].kind == PHILOX_CALL_RECORD,
		     "kind %u", calls[i].kind);
		recorded += calls[i].kind == PHILOX_CALL_RECORD;
	}
	MUST(game,
	     (prepared >= recorded || f->policy.keys || f->policy.bytes ||
	      f->policy.recordings) &&
		     prepared <= n,
	     "%zu prepared, %zu recorded of %u", prepared, recorded, n);
	game->program->counts[GAME_PREPARED] += prepared;
	game->loose = 1;
	game_same_digest(game, "calls were prepared");
}

void game_play_plan(struct game *game, const struct plan *plan)
{
	int made[GAME_NODES][RECIPE_OUTPUTS];
	const philox_stream stream = call_choose_stream(game);
	const int tidy = game_one_in(game, 2);

	memset(made, -1, sizeof(made));
	for (unsigned i = 0; i < plan->n; i++) {
		play_node(game, plan, i, stream, made);
		if (tidy)
			clear_up(game, plan, i + 1, i + 1, made);
	}
	if (game_one_in(game, 6)) {
		end_by_step(game, plan, made);
		game_same_digest(game, "a step");
		return;
	}
	clear_up(game, plan, plan->n, plan->n, made);
	clear_up(game, plan, plan->n, plan->n, made);
	for (unsigned i = 0; i < plan->n * RECIPE_OUTPUTS; i++)
		if (made[i / RECIPE_OUTPUTS][i % RECIPE_OUTPUTS] >= 0)
			game_release(game, (unsigned)made[i / RECIPE_OUTPUTS]
							 [i % RECIPE_OUTPUTS]);
	game_same_digest(game, "a plan");
}
