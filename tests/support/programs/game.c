/*
 * tests/support/programs/game.c - see tests/support/programs/game.h
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/runner.h>
#include <philox/save.h>
#include "tests/support/left.h"
#include "tests/support/programs/table.h"

const char *const game_event_names[GAME_EVENTS] = {
	[GAME_EAGER] = "eager calls",
	[GAME_WARMUP] = "warm-ups",
	[GAME_RECORD] = "recordings",
	[GAME_REPLAY] = "replays",
	[GAME_INPUT_HANDLE] = "inputs told by handle",
	[GAME_INPUT_FOREIGN] = "inputs of the other runner",
	[GAME_INPUT_SAVED] = "inputs that go with the ticket",
	[GAME_INPUT_MISALIGNED] = "inputs that are not aligned",
	[GAME_INPUT_WRITTEN] = "inputs that are written to",
	[GAME_INPUT_WRITTEN_BACK] = "inputs that are written back",
	[GAME_OUTPUT_ALIAS] = "outputs that share memory",
	[GAME_OUTPUTS_DROPPED] = "calls without outputs",
	[GAME_VALUES] = "calls with values",
	[GAME_RETAINED] = "uses that are retained",
	[GAME_SIDE] = "calls on the side stream",
	[GAME_LEGACY] = "calls on the legacy stream",
	[GAME_SWITCHED] = "switches of stream",
	[GAME_SAVED_FROM_FAILURE] = "calls saved from a failure",
	[GAME_PATTERN + PASSES_NONE] = "calls without a pass",
	[GAME_PATTERN + PASSES_FORWARD] = "calls with a forward",
	[GAME_PATTERN + PASSES_BACKWARD] = "calls with a backward",
	[GAME_PATTERN + PASSES_OWN] = "calls with a forward and its backward",
	[GAME_PATTERN + PASSES_OWN_RETAINED] =
		"calls with a forward and its backward, which retains",
	[GAME_PATTERN + PASSES_TWO_FORWARDS] = "calls with two forwards",
	[GAME_PATTERN + PASSES_LINKED] = "calls with linked backwards",
	[GAME_PATTERN + PASSES_BACK_AND_FORTH] =
		"calls with a backward and a forward",
	[GAME_PATTERN + PASSES_INFERENCE] = "calls with an inference",
	[GAME_PATTERN + PASSES_TWO_BACKWARDS] = "calls with two backwards",
	[GAME_PATTERN + PASSES_FIRST_OF_TWO] =
		"calls with two forwards and a backward",
	[GAME_FAILED_BODY] = "errors of bodies",
	[GAME_FAILED_DEVICE] = "errors of the device",
	[GAME_FAILED_REFUSED] = "refusals that are errors",
	[GAME_FAILED_DIFFERENT] = "bodies that do something else",
	[GAME_FAILED_MOVED] = "inputs that must not move",
	[GAME_FAILED_ARGUMENTS] = "wrong arguments",
	[GAME_FAILED_DISORDERED] = "pools whose order is lost",
	[GAME_FAILED_FREED] = "recordings of memory that was freed",
	[GAME_BURNT] = "forwards that are burnt",
	[GAME_BROKE] = "captures that broke",
	[GAME_REFUSED] = "bodies that refuse",
	[GAME_AGAIN] = "further warm-ups",
	[GAME_KEPT_LONG] = "outputs that are kept",
	[GAME_TIED] = "outputs tied to tickets",
	[GAME_ATTACHED] = "outputs attached to tickets",
	[GAME_UNBOUND] = "outputs that went with tickets",
	[GAME_RELEASED] = "tickets that are released",
	[GAME_STEPS_BEGUN] = "steps begun",
	[GAME_STEPS_ENDED] = "steps begun, and all outputs released",
	[GAME_STEPS_OWED] = "steps that leave outputs",
	[GAME_PREPARED] = "calls prepared",
	[GAME_STALE] = "handles that are over",
	[GAME_FAILED_RELEASE] = "releases that fail",
	[GAME_RESEEDED] = "re-seeds",
	[GAME_REFILLED] = "places that are refilled",
	[GAME_LOADED] = "loads",
	[GAME_LOADED_LATE] = "loads of an older text",
	[GAME_LOADED_ANEW] = "loads into other contexts",
	[GAME_PLANNED] = "loads with the plans of runners",
	[GAME_FUNCTION_REMADE] = "functions made again",
	[GAME_REGION_REMADE] = "regions made again",
	[GAME_RUNNER_REMADE] = "runners made again",
	[GAME_POOL_CHECKED] = "checks of pools",
	[GAME_COMPARED] = "comparisons",
	[GAME_DIGESTS] = "digests",
	[GAME_MISSED_NEW] = "misses: new",
	[GAME_MISSED_MOVED] = "misses: moved",
	[GAME_MISSED_LIVE] = "misses: live",
	[GAME_MISSED_STALE] = "misses: stale",
	[GAME_MISSED_EVICTED] = "misses: evicted",
	[GAME_MISSED_BOUND] = "misses: bound",
	[GAME_MISSED_REFUSED] = "misses: refused",
	[GAME_MISSED_EAGER] = "misses: eager",
	[GAME_COPIES] = "copies",
	[GAME_DRY] = "dry warm-ups",
	[GAME_KEYS_DROPPED] = "keys dropped",
	[GAME_VERIFIED] = "replays verified",
	[GAME_UNVERIFIED] = "replays that could not be verified"};

/* --- save and load -------------------------------------------------------- */

static void save(struct game *game)
{
	struct snapshot *snapshot = &game->snapshot;
	char *plain;

	free(snapshot->text);
	GOES(game, philox_context_save_text(game->ours.context, &snapshot->text,
					    &snapshot->size));
	GOES(game, philox_context_save_text(game->plain.context, &plain, NULL));
	MUST(game, !strcmp(snapshot->text, plain), "%s\nis not\n%s",
	     snapshot->text, plain);
	free(plain);
	left_keep(snapshot->text); /* for other contexts, too */
	memcpy(snapshot->held, game->held, sizeof(game->held));
	snapshot->n_held = game->n_held;
}

static void load(struct game *game)
{
	const struct snapshot *snapshot = &game->snapshot;

	game_check_bound(game, 0);
	GOES(game, philox_context_load_text(game->ours.context, snapshot->text,
					    snapshot->size));
	GOES(game, philox_context_load_text(game->plain.context, snapshot->text,
					    snapshot->size));
	game_unbind(game, 0);
	memcpy(game->held, snapshot->held, sizeof(game->held));
	game->n_held = snapshot->n_held;
	for (unsigned i = 0; i < game->n_held; i++) {
		game->held[i].id = ++game->tickets;
		game->held[i].loaded = 1;
	}
	game_same_digest(game, "a load");
}

static void save_and_load(struct game *game)
{
	save(game);
	load(game);
	game_count(game, GAME_LOADED);
}

static void load_late(struct game *game)
{
	if (!game->snapshot.text)
		return;
	load(game);
	game_count(game, GAME_LOADED_LATE);
}

/* The plans of both runners, and what their functions know. */
struct plans_of_runners {
	char *text[GAME_RUNNERS];
	int known[GAME_FUNCTIONS][GAME_KEYS];
};

static void save_plans(struct game *game, struct plans_of_runners *plans)
{
	for (unsigned i = 0; i < GAME_RUNNERS; i++) {
		GOES(game, philox_plan_save_text(game->runners[i],
						 &plans->text[i], NULL));
		left_keep(plans->text[i]);
	}
	for (unsigned i = 0; i < GAME_FUNCTIONS; i++)
		memcpy(plans->known[i], game->functions[i].known,
		       sizeof(plans->known[i]));
}

static void load_plans(struct game *game, struct plans_of_runners *plans,
		       int wanted)
{
	for (unsigned i = 0; i < GAME_RUNNERS; i++) {
		char *again;

		if (wanted) {
			GOES(game, philox_plan_load_text(
					   game->runners[i], plans->text[i],
					   strlen(plans->text[i])));
			GOES(game, philox_plan_save_text(game->runners[i],
							 &again, NULL));
			MUST(game, !strcmp(again, plans->text[i]),
			     "%s\nis not\n%s", again, plans->text[i]);
			free(again);
		}
		free(plans->text[i]);
	}
	for (unsigned i = 0; wanted && i < GAME_FUNCTIONS; i++)
		memcpy(game->functions[i].known, plans->known[i],
		       sizeof(plans->known[i]));
	if (wanted)
		game_count(game, GAME_PLANNED);
}

static void load_anew(struct game *game)
{
	struct plans_of_runners plans;

	save(game);
	save_plans(game, &plans);
	game_put_away(game);
	game_set_up(game);
	load(game);
	load_plans(game, &plans, !game_one_in(game, 4));
	game_count(game, GAME_LOADED_ANEW);
}

/* --- steps ---------------------------------------------------------------- */

static void reseed(struct game *game)
{
	const uint64_t seed = game_pick(game, 1u << 30);

	GOES(game, philox_generator_seed(
			   philox_context_generator(game->ours.context), seed));
	GOES(game,
	     philox_generator_seed(
		     philox_context_generator(game->plain.context), seed));
	game_count(game, GAME_RESEEDED);
}

static void refill_places(struct game *game)
{
	for (unsigned i = 1 + game_pick(game, 3); i--;)
		game_refill(game, game_pick(game, GAME_PLACES));
	game_count(game, GAME_REFILLED);
}

static void release_kept(struct game *game)
{
	unsigned from = game_pick(game, GAME_HANDLES);

	for (unsigned i = 0; i < GAME_HANDLES; i++) {
		unsigned at = (from + i) % GAME_HANDLES;

		if (game->handles[at].used) {
			game_release(game, at);
			return;
		}
	}
}

static void use_stale(struct game *game)
{
	struct philox_runner *runner = game->runners[game->over_runner];

	if (!game->over.generation)
		return;
	GIVES(game, philox_output_check(runner, &game->over),
	      PHILOX_ERROR_STALE);
	GIVES(game,
	      philox_output_release(runner, game->ours.stream, &game->over),
	      PHILOX_ERROR_STALE);
	game_count(game, GAME_STALE);
}

static void play_step(struct game *game)
{
	unsigned n = game_pick(game, 128);

	switch (n) {
	case 0:
		reseed(game);
		break;
	case 1:
		if (game_one_in(game, 3))
			load_anew(game);
		else
			save_and_load(game);
		break;
	case 2:
		load_late(game);
		break;
	case 3:
		if (game_one_in(game, 3))
			game_remake_runner(game);
		else
			game_remake_region(game);
		break;
	case 4:
		game_remake_function(
			game,
			&game->functions[game_pick(game, GAME_FUNCTIONS)]);
		break;
	case 5:
		use_stale(game);
		break;
	case 6:
		game_check_pools(game);
		break;
	case 7:
	case 8:
	case 9:
		if (game->n_held)
			game_release_ticket(game,
					    game_pick(game, game->n_held));
		break;
	case 10:
		game_begin_step(game, (int)game_pick(game, GAME_RUNNERS));
		break;
	case 11:
		game_prepare(game, &game->plans[game_pick(game, GAME_PLANS)]);
		break;
	case 12:
	case 13:
	case 14:
		release_kept(game);
		break;
	case 15:
	case 16:
	case 17:
	case 18:
	case 19:
	case 20:
		refill_places(game);
		break;
	default:
		game_play_plan(game, &game->plans[n % GAME_PLANS]);
	}
}

/* --- programs ------------------------------------------------------------- */

void game_play(struct game_program *program)
{
	struct game *game = calloc(1, sizeof(*game));

	cr_assert(game, "no memory");
	game->program = program;
	program->step = 0;
	game->chance = chance_of(program->seed, program->step);
	game_design(game);
	game_set_up(game);
	for (; program->step < program->n_steps; program->step++) {
		if (program->left_out[program->step])
			continue;
		game->chance = chance_of(program->seed, program->step);
		play_step(game);
	}
	game_put_away(game);
	free(game->snapshot.text);
	free(game);
}
