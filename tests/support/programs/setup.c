/*
 * tests/support/programs/setup.c - the functions, regions, runners and contexts
 * of a random program
 *
 * See tests/support/programs/table.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include "tests/support/beds/runner.h"
#include "tests/support/programs/table.h"

static const char *const region_names[GAME_REGIONS] = {"attention", "shared",
						       "mlp", "shared too"};

/* Series of chances: those of steps are their numbers. */
enum series { OF_PLANS = 1 << 20, OF_FUNCTIONS, OF_RUNNERS, OF_CHECKS };

/* --- functions ------------------------------------------------------------ */

static enum recipe_pattern choose_pattern(struct chance *chance)
{
	static const enum recipe_pattern more[] = {
		PASSES_FORWARD,  PASSES_FORWARD,       PASSES_FORWARD,
		PASSES_BACKWARD, PASSES_BACKWARD,      PASSES_TWO_FORWARDS,
		PASSES_LINKED,   PASSES_BACK_AND_FORTH};

	return one_in(chance, 2) ? more[pick(chance, 8)]
				 : (enum recipe_pattern)pick(chance, PATTERNS);
}

/* Bodies that update what they read must not be run twice in a call. */
static int is_updating(const struct recipe_shape *shape)
{
	for (unsigned i = 0; i < shape->n_inputs; i++)
		if (recipe_writes(shape, i))
			return 1;
	return 0;
}

static struct philox_policy choose_policy(struct chance *chance,
					  const struct recipe_shape *shape)
{
	static const uint32_t dry[] = {0, 0, 0, 1, 2};
	static const uint32_t recordings[] = {0, 0, 1, 2, 3, 8, PHILOX_NEVER};
	static const uint32_t warmups[] = {0, 1, 2, PHILOX_NEVER};
	static const uint32_t retries[] = {0, 1, 1, 2, 4, PHILOX_NEVER};

	return (struct philox_policy){
		.refused = one_in(chance, 4),
		.recordings = recordings[pick(chance, 7)],
		.warmups = warmups[pick(chance, 4)],
		.retry = retries[pick(chance, 6)],
		.dry = is_updating(shape) ? 0 : dry[pick(chance, 5)],
		.keys = one_in(chance, 6) ? 1 + pick(chance, 2) : 0,
		.bytes = one_in(chance, 8) ? 20000 + pick(chance, 50000) : 0};
}

/* Of a series of its own: programs are as they are without. */
static void choose_verification(struct game *game, struct game_function *f,
				unsigned index)
{
	static const uint32_t every[] = {1, 1, 1, 2, 3};
	struct chance chance = chance_of(
		game->program->seed,
		OF_CHECKS +
			16 * (GAME_FUNCTIONS * game->program->step + index));

	if (!game->program->verify)
		return;
	f->policy.verify = every[pick(&chance, 5)];
	f->policy.differs = pick(&chance, 2);
}

static void design_function(struct game *game, unsigned index)
{
	struct chance chance =
		chance_of(game->program->seed, OF_FUNCTIONS + 16 * index);
	struct game_function *f = &game->functions[index];

	*f = (struct game_function){.runner = index >= GAME_FUNCTIONS - 3};
	snprintf(f->name, sizeof(f->name), "function %u", index);
	f->regions[0] = pick(&chance, GAME_REGIONS);
	f->regions[1] = pick(&chance, GAME_REGIONS);
	f->flags = one_in(&chance, 10) ? PHILOX_FUNCTION_EAGER : 0;
	recipe_shape_make(&chance, &f->shape);
	f->policy = choose_policy(&chance, &f->shape);
	choose_verification(game, f, index);
	for (unsigned i = 0; i < GAME_KEYS; i++)
		recipe_make(&chance, &f->shape, choose_pattern(&chance),
			    &f->recipes[i]);
	f->run.shape = &f->shape;
}

static void make_game_function(struct game *game, struct game_function *f)
{
	static const struct philox_output_desc outputs[RECIPE_OUTPUTS] = {
		{.name = "y", .origin = PHILOX_ORIGIN},
		{.name = "z"},
		{.name = "w"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = f->name;
	options.body = recipe_body;
	options.user = &f->run;
	options.flags = f->flags;
	options.inputs = f->shape.inputs;
	options.n_inputs = f->shape.n_inputs;
	options.outputs = outputs;
	options.n_outputs = f->shape.n_outputs;
	options.params = f->shape.values;
	options.n_params = f->shape.n_values;
	options.policy = f->policy;
	f->run.device = game->ours.device;
	memset(f->known, 0, sizeof(f->known));
	GOES(game, philox_function_create(game->runners[f->runner], &options,
					  &f->function));
}

static void count_misses(struct game *game, const struct game_function *f)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);
	uint64_t *missed = game->program->counts;

	GOES(game, philox_function_get_stats(f->function, &counts));
	missed[GAME_MISSED_NEW] += counts.missed_new;
	missed[GAME_MISSED_MOVED] += counts.missed_moved;
	missed[GAME_MISSED_LIVE] += counts.missed_live;
	missed[GAME_MISSED_STALE] += counts.missed_stale;
	missed[GAME_MISSED_EVICTED] += counts.missed_evicted;
	missed[GAME_DRY] += counts.dry;
	missed[GAME_KEYS_DROPPED] += counts.keys_dropped;
	missed[GAME_MISSED_BOUND] += counts.missed_bound;
	missed[GAME_MISSED_REFUSED] += counts.missed_refused;
	missed[GAME_MISSED_EAGER] += counts.missed_eager;
	missed[GAME_COPIES] += counts.copies;
	missed[GAME_VERIFIED] += counts.verified;
	missed[GAME_UNVERIFIED] += counts.unverified;
	MUST(game, !counts.differed,
	     "%" PRIu64 " replays of '%s' differ from its body",
	     counts.differed, f->name);
}

/* Its outputs stay. */
void game_remake_function(struct game *game, struct game_function *f)
{
	count_misses(game, f);
	game_wait(game);
	GOES(game, philox_function_destroy(f->function));
	f->policy = choose_policy(&game->chance, &f->shape);
	choose_verification(game, f, (unsigned)(f - game->functions));
	make_game_function(game, f);
	game_count(game, GAME_FUNCTION_REMADE);
}

/* --- regions -------------------------------------------------------------- */

static struct philox_region *make_side(struct game *game, struct fixture *f,
				       unsigned index)
{
	const struct philox_op_desc ops[OPS] = {
		{"first", 0, 0}, {"second", 2, 0}, {"third", 1, 4}};
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_region *region;

	options.name = region_names[index];
	options.ops = ops;
	options.n_ops = OPS;
	options.flags = index % 2 ? PHILOX_REGION_SHARED : 0;
	GOES(game, philox_region_create(f->context, &options, &region));
	return region;
}

static void make_pair(struct game *game, unsigned index)
{
	game->regions[index].ours = make_side(game, &game->ours, index);
	game->regions[index].plain = make_side(game, &game->plain, index);
}

/* The tickets go with it. */
void game_remake_region(struct game *game)
{
	const unsigned index = game_pick(game, GAME_REGIONS);

	for (unsigned i = 0; i < game->n_held; i++)
		if (game->held[i].region == index)
			game_check_bound(game, game->held[i].id);
	game_wait(game); /* outputs are released on the legacy stream */
	GOES(game, philox_region_destroy(game->regions[index].ours));
	GOES(game, philox_region_destroy(game->regions[index].plain));
	for (unsigned i = game->n_held; i--;)
		if (game->held[i].region == index)
			game_drop_ticket(game, i);
	make_pair(game, index);
	game_count(game, GAME_REGION_REMADE);
}

/* --- runners -------------------------------------------------------------- */

static void make_runners(struct game *game)
{
	struct chance chance = chance_of(game->program->seed, OF_RUNNERS);
	static const uint32_t flags[] = {
		0, PHILOX_POOL_EXPANDABLE,
		PHILOX_POOL_GUARDS | PHILOX_POOL_FILL, PHILOX_POOL_FILL,
		PHILOX_POOL_EXPANDABLE | PHILOX_POOL_GUARDS | PHILOX_POOL_FILL};

	for (unsigned i = 0; i < GAME_RUNNERS; i++)
		game->runners[i] =
			make_runner_of(&game->ours, i ? "second" : "first",
				       flags[pick(&chance, 5)]);
}

static enum philox_status do_nothing(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_OK;
}

/* A function whose calls put the pool's view of its blocks right. */
static void make_island(struct game *game, unsigned runner)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = "island";
	options.body = do_nothing;
	options.flags = PHILOX_FUNCTION_EAGER;
	GOES(game, philox_function_create(game->runners[runner], &options,
					  &game->islands[runner]));
}

static void make_functions_of(struct game *game, int runner)
{
	make_island(game, (unsigned)runner);
	for (unsigned i = 0; i < GAME_FUNCTIONS; i++)
		if (game->functions[i].runner == runner)
			make_game_function(game, &game->functions[i]);
}

static void check_pool(struct game *game, unsigned runner)
{
	struct philox_pool *pool = philox_runner_pool(game->runners[runner]);
	struct philox_pool_stats figures =
		PHILOX_INIT(struct philox_pool_stats);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	uint64_t blocks = 0;

	for (unsigned i = 0; i < GAME_STORAGES; i++)
		blocks += game->storages[i].used &&
			  game->storages[i].runner == (int)runner;
	call.stream = game->ours.stream;
	if (game->disordered[runner])
		game_order_pool(game, (int)runner);
	GOES(game, philox_function_call(game->islands[runner], &call));
	MUST(game, call.kind == PHILOX_CALL_EAGER, "kind %u", call.kind);
	GOES(game, philox_pool_check(pool, game->ours.stream));
	GOES(game, philox_pool_get_stats(pool, &figures));
	MUST(game, figures.blocks == blocks,
	     "%" PRIu64 " blocks of runner %u are live, not %" PRIu64,
	     figures.blocks, runner, blocks);
	game_count(game, GAME_POOL_CHECKED);
}

void game_check_pools(struct game *game)
{
	game_wait(game);
	for (unsigned i = 0; i < GAME_RUNNERS; i++)
		check_pool(game, i);
	game_wait(game);
}

/* With its functions, when none of its outputs is left. */
void game_remake_runner(struct game *game)
{
	const int index = (int)game_pick(game, GAME_RUNNERS);

	game_release_all(game);
	game_check_pools(game);
	for (unsigned i = 0; i < GAME_FUNCTIONS; i++)
		if (game->functions[i].runner == index)
			count_misses(game, &game->functions[i]);
	GOES(game, philox_runner_destroy(game->runners[index]));
	game->freed = 1;
	game->disordered[index] = 0;
	game->over = (struct philox_output){0};
	game->runners[index] =
		make_runner_of(&game->ours, index ? "second" : "first",
			       game_pick(game, 2) ? PHILOX_POOL_FILL : 0);
	make_functions_of(game, index);
	game_count(game, GAME_RUNNER_REMADE);
}

/* --- contexts ------------------------------------------------------------- */

void game_set_up(struct game *game)
{
	fixture_open(&game->ours, game->program->device);
	fixture_open(&game->plain, "host:sync");
	game->ours.injected = game->ours.unfreed = 1;
	game->array = make_array(&game->plain);
	GOES(game, philox_event_create(game->ours.device, &game->event));
	game_open_places(game);
	for (unsigned i = 0; i < GAME_REGIONS; i++)
		make_pair(game, i);
	make_runners(game);
	for (int i = 0; i < GAME_RUNNERS; i++)
		make_functions_of(game, i);
	game->last = game->ours.stream;
	game->last_runner = 0;
	game->loose = 0;
	memset(game->disordered, 0, sizeof(game->disordered));
	game->over = (struct philox_output){0};
}

void game_put_away(struct game *game)
{
	game_release_all(game);
	game_check_pools(game);
	for (unsigned i = 0; i < GAME_FUNCTIONS; i++)
		count_misses(game, &game->functions[i]);
	for (unsigned i = 0; i < GAME_REGIONS; i++)
		MUST(game,
		     pending(game->regions[i].ours) ==
			     pending(game->regions[i].plain),
		     "other tickets are pending");
	GOES(game, philox_event_destroy(game->ours.device, game->event));
	fixture_close(&game->ours);
	fixture_close(&game->plain);
}

/* --- designs -------------------------------------------------------------- */

static void design_plan(struct chance *chance, const struct game *game,
			struct plan *plan)
{
	plan->n = 3 + pick(chance, GAME_NODES - 2);
	for (unsigned i = 0; i < plan->n; i++) {
		unsigned f = pick(chance, GAME_FUNCTIONS);

		plan->nodes[i].function = f;
		plan->nodes[i].key =
			one_in(chance, 2) ? 0 : pick(chance, GAME_KEYS);
		for (unsigned k = 0; k < RECIPE_INPUTS; k++) {
			struct source *source = &plan->nodes[i].sources[k];

			source->node = i && !one_in(chance, 3)
					       ? (int)pick(chance, i)
					       : -1;
			source->index = (f + k) % GAME_PLACES;
			if (source->node >= 0)
				source->index =
					pick(chance,
					     game->functions
						     [plan->nodes[source->node]
							      .function]
							     .shape.n_outputs);
		}
	}
}

void game_design(struct game *game)
{
	struct chance chance = chance_of(game->program->seed, OF_PLANS);

	for (unsigned i = 0; i < GAME_FUNCTIONS; i++)
		design_function(game, i);
	for (unsigned i = 0; i < GAME_PLANS; i++)
		design_plan(&chance, game, &game->plans[i]);
}
