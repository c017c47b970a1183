/*
 * tests/support/models/pool_game.c - see tests/support/models/pool_game.h
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/device.h>
#include "tests/support/models/pool_calls.h"
#include "tests/support/models/pool_game.h"

#define OWNERS 5
#define TAGS   9

#define MUST(game, holds, ...)                                                \
	do {                                                                  \
		if (!(holds)) {                                               \
			fprintf(stderr,                                       \
				"PHILOX_POOL_SEED=%" PRIu64 ", step %" PRIu64 \
				": %s: ",                                     \
				(game)->seed, (game)->steps, #holds);         \
			fprintf(stderr, __VA_ARGS__);                         \
			fprintf(stderr, " (%s)\n", philox_error_message());   \
			abort();                                              \
		}                                                             \
	} while (0)

#define GIVES(game, call, expected)                                           \
	do {                                                                  \
		enum philox_status status_ = (call), expected_ = (expected);  \
		MUST(game, status_ == expected_, "%s gave %s, not %s", #call, \
		     philox_status_name(status_),                             \
		     philox_status_name(expected_));                          \
	} while (0)

static uint32_t choose(struct pool_game *game, uint32_t n)
{
	return game->choose(game->user, n);
}

static int one_in(struct pool_game *game, uint32_t n)
{
	return !choose(game, n);
}

static const char *tag_of(uint32_t tag)
{
	static const char *const tags[TAGS] = {
		"",
		"a",
		"b",
		"weights",
		"activations",
		"gradients",
		"a tag that is longer than a pool keeps them",
		"x",
		"y"};

	return tags[tag];
}

/* --- beginning and ending ------------------------------------------------- */

static struct pool_settings choose_settings(struct pool_game *game,
					    size_t granularity)
{
	struct pool_settings settings = {0};

	settings.kind = one_in(game, 2) ? POOL_PLAIN : POOL_EXPANDABLE;
	settings.step = POOL_UNIT * (48 + choose(game, 512));
	settings.margin = one_in(game, 3) ? POOL_UNIT * choose(game, 3) : 0;
	settings.reserve = granularity * (8 + choose(game, 32));
	settings.limit = POOL_UNIT * (1024 + choose(game, 4096));
	return settings;
}

static void open_model(struct pool_game *game, size_t granularity)
{
	const struct pool_settings *settings = &game->settings;
	struct model *model = &game->model;
	int is_plain = settings->kind == POOL_PLAIN;

	model_init(model, is_plain ? MODEL_PLAIN : MODEL_EXPANDABLE);
	model->granularity = is_plain ? 1 : granularity / POOL_UNIT;
	model->step = (settings->step / POOL_UNIT + model->granularity - 1) /
		      model->granularity * model->granularity;
	model->limit = settings->limit / POOL_UNIT;
	model->range = is_plain ? 0 : settings->reserve / POOL_UNIT;
	model->margin = settings->margin / POOL_UNIT;
}

static struct pool_checkpoint *checkpoint_of_another(struct pool_game *game)
{
	struct pool_checkpoint *checkpoint;
	struct pool *other;

	GIVES(game, pool_create(game->device, &game->settings, &other),
	      PHILOX_OK);
	GIVES(game, pool_checkpoint(other, &checkpoint), PHILOX_OK);
	pool_destroy(other);
	return checkpoint;
}

void game_open(struct pool_game *game, game_chooser *chooser, void *user)
{
	const size_t granularity = (size_t)64 << 10; /* the host device's */

	*game = (struct pool_game){.choose = chooser, .user = user};
	GIVES(game, philox_device_open("host:sync", &game->device), PHILOX_OK);
	game->settings = choose_settings(game, granularity);
	GIVES(game, pool_create(game->device, &game->settings, &game->pool),
	      PHILOX_OK);
	open_model(game, granularity);
	game->foreign = checkpoint_of_another(game);
	if (game->settings.kind == POOL_EXPANDABLE)
		game->expected.reserved = game->settings.reserve;
}

static void forget_checkpoint(struct game_checkpoint *checkpoint)
{
	pool_checkpoint_free(checkpoint->made);
	free(checkpoint->blocks);
	*checkpoint = (struct game_checkpoint){0};
}

void game_close(struct pool_game *game)
{
	if (one_in(game, 2))
		pool_destroy(game->pool);
	else
		game->steps = UINT64_MAX; /* checkpoints go first */
	for (int i = 0; i < GAME_CHECKPOINTS; i++)
		forget_checkpoint(&game->checkpoints[i]);
	pool_checkpoint_free(game->foreign);
	if (game->steps == UINT64_MAX)
		pool_destroy(game->pool);
	model_finish(&game->model);
	GIVES(game, philox_device_close(game->device), PHILOX_OK);
}

/* --- comparing ------------------------------------------------------------ */

static void compare_block(struct pool_game *game, size_t number,
			  const struct pool_block *block)
{
	const struct model_block *expected = &game->model.blocks[number];
	size_t margin = game->model.margin;
	char tag[POOL_TAG_SIZE];

	MUST(game,
	     block->segment == expected->segment &&
		     block->offset == (expected->at + margin) * POOL_UNIT,
	     "at %" PRIu32 ":%zu, not %" PRIu32 ":%zu", block->segment,
	     block->offset / POOL_UNIT, expected->segment,
	     expected->at + margin);
	MUST(game,
	     block->id == expected->id && block->size == expected->size &&
		     block->bytes == expected->units * POOL_UNIT &&
		     block->session == expected->session &&
		     block->live == expected->is_live,
	     "block %" PRIu64, block->id);
	snprintf(tag, sizeof(tag), "%s", tag_of(expected->tag));
	MUST(game, !strcmp(block->tag, tag), "\"%s\", not \"%s\"", block->tag,
	     tag);
}

static void compare_walked(void *user, const struct pool_block *block)
{
	struct pool_game *game = user;
	size_t at = block->offset / POOL_UNIT;
	const struct model_cell *cells = game->model.cells[block->segment];
	size_t units = block->bytes / POOL_UNIT;

	at -= block->live ? game->model.margin : 0;
	for (size_t i = at; i < at + units; i++)
		MUST(game,
		     block->live ? cells[i].block == cells[at].block &&
					   cells[i].block > 0
				 : !cells[i].block &&
					   cells[i].owner == block->session,
		     "unit %zu of block %" PRIu64 ", owner %" PRIu32, i,
		     block->id, block->session);
	if (block->live)
		compare_block(game, (size_t)cells[at].block, block);
}

static void compare_extent(void *user, const struct pool_extent *extent)
{
	struct pool_game *game = user;
	const struct model *model = &game->model;
	size_t i = 0;

	while (i < model->n_extents &&
	       model->extents[i].number != extent->number)
		i++;
	MUST(game,
	     i < model->n_extents &&
		     model->extents[i].segment == extent->segment &&
		     model->extents[i].at * POOL_UNIT == extent->offset &&
		     model->extents[i].units * POOL_UNIT == extent->bytes &&
		     (uintptr_t)extent->address % POOL_ALIGNMENT_MAX ==
			     (extent->offset % POOL_ALIGNMENT_MAX),
	     "extent %" PRIu64, extent->number);
}

static void compare_all(struct pool_game *game)
{
	const char *wrong = pool_check(game->pool);

	MUST(game, !wrong, "%s", wrong);
	pool_walk_blocks(game->pool, compare_walked, game);
	pool_walk_extents(game->pool, compare_extent, game);
}

static void note_peaks(struct pool_figures *expected)
{
	if (expected->live > expected->live_peak)
		expected->live_peak = expected->live;
	if (expected->blocks > expected->blocks_peak)
		expected->blocks_peak = expected->blocks;
	if (expected->mapped > expected->mapped_peak)
		expected->mapped_peak = expected->mapped;
}

/* The sums that a change of the model leads to. */
static void count_again(struct pool_game *game)
{
	const struct model *model = &game->model;
	struct pool_figures *expected = &game->expected;
	const struct model_block *block;

	expected->live = expected->requested = 0;
	for (size_t i = 0; i < model->n_live; i++) {
		block = &model->blocks[model->live[i]];
		expected->live += block->units * POOL_UNIT;
		expected->requested += block->size;
	}
	expected->blocks = model->n_live;
	expected->mapped = model->mapped * POOL_UNIT;
	expected->free = expected->mapped - expected->live;
	if (game->settings.kind == POOL_PLAIN)
		expected->reserved = expected->mapped;
	note_peaks(expected);
}

static void compare_figures(struct pool_game *game)
{
	struct pool_figures figures;
	size_t owned[OWNERS], largest;

	count_again(game);
	model_sums(&game->model, owned, OWNERS, &largest);
	game->expected.largest_free = largest * POOL_UNIT;
	pool_figures(game->pool, &figures);
	MUST(game, !memcmp(&figures, &game->expected, sizeof(figures)),
	     "live %zu/%zu mapped %zu/%zu largest %zu/%zu", figures.live,
	     game->expected.live, figures.mapped, game->expected.mapped,
	     figures.largest_free, game->expected.largest_free);
	for (uint32_t i = 0; i < OWNERS; i++)
		MUST(game, pool_owns(game->pool, i) == owned[i] * POOL_UNIT,
		     "owner %" PRIu32, i);
}

/* --- memory --------------------------------------------------------------- */

static void write_ends(struct pool_game *game, size_t number, char *address)
{
	struct model_block *block = &game->model.blocks[number];

	block->is_written = block->size >= 2 * sizeof(block->id);
	if (!block->is_written)
		return;
	memcpy(address, &block->id, sizeof(block->id));
	memcpy(address + block->size - sizeof(block->id), &block->id,
	       sizeof(block->id));
}

static void read_ends(struct pool_game *game, size_t number,
		      const char *address)
{
	const struct model_block *block = &game->model.blocks[number];

	if (!block->is_written)
		return;
	MUST(game,
	     !memcmp(address, &block->id, sizeof(block->id)) &&
		     !memcmp(address + block->size - sizeof(block->id),
			     &block->id, sizeof(block->id)),
	     "block %" PRIu64 " was written over", block->id);
}

/* --- taking --------------------------------------------------------------- */

static size_t choose_size(struct pool_game *game)
{
	size_t most = one_in(game, 50) ? 700 : one_in(game, 8) ? 100 : 16;

	return 1 + (size_t)choose(game, (uint32_t)(most * POOL_UNIT));
}

static struct pool_request choose_request(struct pool_game *game, uint32_t *tag)
{
	struct pool_request request = {.size = choose_size(game)};

	*tag = choose(game, TAGS);
	request.tag = *tag || one_in(game, 2) ? tag_of(*tag) : NULL;
	if (one_in(game, 4))
		request.alignment = (size_t)1 << choose(game, 17);
	request.owner = one_in(game, 2) ? 0 : choose(game, OWNERS);
	request.shared = !one_in(game, 5);
	return request;
}

static struct model_need need_of(const struct pool_request *request)
{
	struct model_need need = {
		.units = (request->size + POOL_UNIT - 1) / POOL_UNIT,
		.alignment = request->alignment > POOL_UNIT
				     ? request->alignment / POOL_UNIT
				     : 1,
		.owners = {request->owner},
		.n_owners = 1};

	if (request->shared && request->owner)
		need.owners[need.n_owners++] = 0;
	return need;
}

static enum philox_status status_of(enum model_answer answer)
{
	static const enum philox_status statuses[] = {
		[MODEL_OK] = PHILOX_OK,
		[MODEL_LIMIT] = PHILOX_ERROR_LIMIT,
		[MODEL_NO_RANGE] = PHILOX_ERROR_MEMORY};

	return statuses[answer];
}

/* One call in some fails, and must change nothing. */
static int order_failure(struct pool_game *game)
{
	int is_plain = game->settings.kind == POOL_PLAIN;

	if (!one_in(game, 10))
		return 0;
	philox_device_fail(game->device,
			   one_in(game, 3) ? "capture_mode"
			   : is_plain      ? "mem_alloc"
					   : "space_map",
			   1, PHILOX_ERROR_MEMORY);
	return 1;
}

static enum philox_status grow_both(struct pool_game *game,
				    const struct model_need *need,
				    const struct pool_request *request,
				    size_t reserve)
{
	struct model_extent extent;
	enum model_answer answer = model_growth(&game->model, need, &extent);
	enum philox_status expected = status_of(answer), status;
	size_t mapped = 0;

	if (answer == MODEL_OK && order_failure(game))
		expected = PHILOX_ERROR_MEMORY;
	status = request ? pool_grow(game->pool, request, &mapped)
			 : pool_reserve(game->pool, reserve, &mapped);
	MUST(game, status == expected, "grown: %s, not %s",
	     philox_status_name(status), philox_status_name(expected));
	if (status != PHILOX_OK)
		return status;
	MUST(game, mapped == extent.units * POOL_UNIT, "%zu mapped, not %zu",
	     mapped / POOL_UNIT, extent.units);
	model_map(&game->model, &extent, need->owners[need->n_owners - 1]);
	game->expected.growths++;
	game->session.growths++;
	game->session.mapped += mapped;
	return PHILOX_OK;
}

static void note_take(struct pool_game *game, const struct model_block *block)
{
	struct pool_session_figures *session = &game->session;

	game->expected.allocations++;
	session->allocations++;
	session->live += block->units * POOL_UNIT;
	if (session->live > session->live_peak)
		session->live_peak = session->live;
}

static void take_both(struct pool_game *game,
		      const struct pool_request *request,
		      const struct model_need *need, uint32_t tag)
{
	struct pool_block block;
	struct model_block *expected;
	uint32_t segment;
	size_t at, number;

	MUST(game, model_fit(&game->model, need, &segment, &at),
	     "grown enough");
	GIVES(game, pool_take(game->pool, request, &block), PHILOX_OK);
	number = model_take(&game->model, need, segment, at);
	expected = &game->model.blocks[number];
	expected->id = block.id;
	expected->size = request->size;
	expected->tag = tag;
	MUST(game, number == 1 || block.id > game->model.blocks[number - 1].id,
	     "id %" PRIu64, block.id);
	compare_block(game, number, &block);
	write_ends(game, number, block.address);
	note_take(game, expected);
}

static void compare_lender(struct pool_game *game,
			   const struct pool_request *request)
{
	struct model_need need = need_of(request);
	uint32_t expected = UINT32_MAX, segment;
	size_t at;

	need.n_owners++;
	for (uint32_t i = OWNERS - 1; i > 0; i--) {
		need.owners[need.n_owners - 1] = i;
		if (i != request->owner && model_owns(&game->model, i) &&
		    model_fit(&game->model, &need, &segment, &at))
			expected = i;
	}
	MUST(game, pool_lender(game->pool, request, 0) == expected,
	     "%" PRIu32 " lends", expected);
}

/* Whether the request fits with the memory of all that lend. */
static int fits_with(const struct pool_game *game,
		     const struct pool_request *request,
		     const unsigned char *lends)
{
	struct model_need need = need_of(request);
	uint32_t segment;
	size_t at;

	for (uint32_t i = 0; i < OWNERS; i++)
		if (lends[i])
			need.owners[need.n_owners++] = i;
	return model_fit(&game->model, &need, &segment, &at);
}

static void compare_lenders(struct pool_game *game,
			    const struct pool_request *request)
{
	unsigned char lends[OWNERS], asked[OWNERS];
	int fits;

	for (uint32_t i = 0; i < OWNERS; i++)
		lends[i] = asked[i] = (unsigned char)choose(game, 2);
	fits = pool_lenders(game->pool, request, lends, OWNERS);
	MUST(game, fits == fits_with(game, request, asked), "all that lend");
	MUST(game, fits == fits_with(game, request, lends), "those it takes");
	for (uint32_t i = 0; fits && i < OWNERS; i++)
		MUST(game,
		     lends[i] <= asked[i] &&
			     (!lends[i] || model_owns(&game->model, i)),
		     "%" PRIu32 " lends", i);
}

static void play_take(struct pool_game *game)
{
	uint32_t tag, segment;
	struct pool_request request = choose_request(game, &tag);
	struct model_need need = need_of(&request);
	struct pool_block block;
	size_t at;

	if (!model_fit(&game->model, &need, &segment, &at)) {
		compare_lender(game, &request);
		compare_lenders(game, &request);
		GIVES(game, pool_take(game->pool, &request, &block),
		      PHILOX_NOT_READY);
		if (grow_both(game, &need, &request, 0) != PHILOX_OK)
			return;
	}
	take_both(game, &request, &need, tag);
}

static void play_wrong_take(struct pool_game *game)
{
	static const struct pool_request wrong[] = {
		{.size = 0},
		{.size = 1, .alignment = 3},
		{.size = 1, .alignment = 2 * POOL_ALIGNMENT_MAX},
		{.size = 1, .owner = POOL_OWNERS_MAX},
		{.size = SIZE_MAX},
		{.size = SIZE_MAX - POOL_UNIT + 2}};
	uint32_t i = choose(game, 6);
	enum philox_status expected =
		i < 4 ? PHILOX_ERROR_INVALID : PHILOX_ERROR_OVERFLOW;
	struct pool_block block;
	size_t mapped;

	GIVES(game, pool_take(game->pool, &wrong[i], &block), expected);
	GIVES(game, pool_grow(game->pool, &wrong[i], &mapped), expected);
}

/* --- putting -------------------------------------------------------------- */

/* The number of a live block; 0: there is none. */
static size_t choose_live(struct pool_game *game)
{
	size_t n = game->model.n_live;

	return n ? game->model.live[choose(game, (uint32_t)n)] : 0;
}

static char *find_address(struct pool_game *game, size_t number)
{
	struct pool_block block;

	MUST(game, find_id(game->pool, game->model.blocks[number].id, &block),
	     "block %" PRIu64 " is found", game->model.blocks[number].id);
	compare_block(game, number, &block);
	return block.address;
}

static void play_put(struct pool_game *game)
{
	size_t number = choose_live(game);
	uint32_t owner = one_in(game, 2) ? 0 : choose(game, OWNERS);
	struct pool_block block;
	char *address;

	if (!number)
		return;
	address = find_address(game, number);
	read_ends(game, number, address);
	GIVES(game, put_at(game->pool, address, owner, &block), PHILOX_OK);
	compare_block(game, number, &block);
	if (game->model.in_session && number >= game->model.session_block)
		game->session.live -=
			game->model.blocks[number].units * POOL_UNIT;
	model_put(&game->model, number, owner);
	game->expected.frees++;
	game->session.frees++;
	game->freed = address;
}

/* Any address of a block, its margins and a little more. */
static void play_find(struct pool_game *game)
{
	size_t number = choose_live(game), margin = game->model.margin;
	struct model_block *expected;
	struct pool_block block;
	char *address;
	size_t bytes;
	int64_t offset;

	if (!number)
		return;
	expected = &game->model.blocks[number];
	bytes = expected->units * POOL_UNIT;
	address = find_address(game, number);
	offset = (int64_t)choose(game, (uint32_t)bytes) -
		 (int64_t)(margin * POOL_UNIT);
	if (offset >= 0 && (size_t)offset < bytes - 2 * margin * POOL_UNIT) {
		MUST(game, pool_find(game->pool, address + offset, &block),
		     "offset %" PRId64, offset);
		compare_block(game, number, &block);
	} else {
		MUST(game, !pool_find(game->pool, address + offset, &block),
		     "in a margin, at %" PRId64, offset);
	}
	if (offset)
		GIVES(game, put_at(game->pool, address + offset, 0, &block),
		      PHILOX_ERROR_INVALID);
}

static void play_wrong_put(struct pool_game *game)
{
	struct pool_block block;
	char mine;

	GIVES(game, put_at(game->pool, &mine, 0, &block), PHILOX_ERROR_INVALID);
	GIVES(game, put_at(game->pool, NULL, 0, &block), PHILOX_ERROR_INVALID);
	MUST(game, !pool_find(game->pool, &mine, &block), "not the pool's");
	MUST(game, !find_id(game->pool, 0, &block), "no id");
	if (!game->freed || pool_find(game->pool, game->freed, &block))
		return;
	GIVES(game, put_at(game->pool, game->freed, 0, &block),
	      PHILOX_ERROR_INVALID);
}

/* --- owners and extents --------------------------------------------------- */

static void play_give(struct pool_game *game)
{
	uint32_t from = choose(game, OWNERS), to = choose(game, OWNERS);

	pool_give(game->pool, from, to);
	model_give(&game->model, from, to);
}

static void play_reserve(struct pool_game *game)
{
	size_t bytes = choose_size(game) * (1 + choose(game, 3));
	const struct model_need need = {.units = (bytes + POOL_UNIT - 1) /
						 POOL_UNIT,
					.alignment = 1,
					.n_owners = 1};
	size_t mapped = 1, margin = game->model.margin;

	if (model_largest(&game->model) >= need.units) {
		GIVES(game, pool_reserve(game->pool, bytes, &mapped),
		      PHILOX_OK);
		MUST(game, !mapped, "%zu mapped", mapped);
		return;
	}
	game->model.margin = 0;
	grow_both(game, &need, NULL, bytes);
	game->model.margin = margin;
}

static void play_trim(struct pool_game *game)
{
	struct model *model = &game->model;
	uint64_t pinned =
		one_in(game, 2)
			? 0
			: choose(game, (uint32_t)model->last_extent + 1);
	size_t enough =
		one_in(game, 2) ? SIZE_MAX : (size_t)choose(game, 1 << 18) + 1;
	size_t expected = 0, trimmed;

	for (size_t i = model->n_extents; i-- > 0 && expected < enough;) {
		if (model->extents[i].number <= pinned ||
		    !model_may_unmap(model, i))
			continue;
		expected += model->extents[i].units * POOL_UNIT;
		model_unmap(model, i);
		game->expected.trims++;
	}
	GIVES(game, pool_trim(game->pool, pinned, enough, &trimmed), PHILOX_OK);
	MUST(game, trimmed == expected, "%zu trimmed, not %zu", trimmed,
	     expected);
	MUST(game, pool_newest(game->pool) == model->last_extent, "newest");
}

/* --- sessions ------------------------------------------------------------- */

static void begin_session(struct pool_game *game)
{
	pool_session_begin(game->pool);
	model_session_begin(&game->model);
	game->session = (struct pool_session_figures){0};
}

static void end_session(struct pool_game *game)
{
	const uint32_t owners[] = {1, 3, 2, 4};
	size_t n = choose(game, 5);
	int undo = one_in(game, 2);
	struct pool_session_figures figures;

	game->session.peak = model_peak(&game->model) * POOL_UNIT;
	pool_session_end(game->pool, owners, n, undo, &figures);
	model_session_end(&game->model, owners, n, undo);
	MUST(game, !memcmp(&figures, &game->session, sizeof(figures)),
	     "peak %zu/%zu live %zu/%zu mapped %zu/%zu", figures.peak,
	     game->session.peak, figures.live, game->session.live,
	     figures.mapped, game->session.mapped);
	game->expected.undone += (uint64_t)undo;
	compare_all(game);
}

/* A model of a session's peak has room for so many units. */
#define SESSION_UNITS 3000

static void play_session(struct pool_game *game)
{
	if (!game->model.in_session)
		begin_session(game);
	else
		end_session(game);
}

/* --- checkpoints ---------------------------------------------------------- */

static void play_checkpoint(struct pool_game *game)
{
	struct game_checkpoint *checkpoint =
		&game->checkpoints[choose(game, GAME_CHECKPOINTS)];
	const struct model *model = &game->model;

	forget_checkpoint(checkpoint);
	GIVES(game, pool_checkpoint(game->pool, &checkpoint->made), PHILOX_OK);
	checkpoint->n = model->n_live;
	checkpoint->trims = game->expected.trims;
	checkpoint->blocks = calloc(model->n_live + 1, sizeof(size_t));
	for (size_t i = 0; i < model->n_live; i++)
		checkpoint->blocks[i] = model->live[i];
	MUST(game, pool_checkpoint_blocks(checkpoint->made) == model->n_live,
	     "%zu blocks", model->n_live);
}

/* What a restore is asked for. */
struct wishes {
	uint64_t *live, *dead;
	size_t n_live, n_dead;
	char *in_checkpoint; /* by number of block */
	char *must_live;
	size_t unknown; /* live, not in the checkpoint, not said to be dead */
};

static void wish_for_live(struct pool_game *game,
			  const struct game_checkpoint *checkpoint,
			  struct wishes *w)
{
	int all = one_in(game, 2);

	for (size_t i = 0; i < checkpoint->n; i++) {
		w->in_checkpoint[checkpoint->blocks[i]] = 1;
		if (!all && one_in(game, 3))
			continue;
		w->must_live[checkpoint->blocks[i]] = 1;
		w->live[w->n_live++] =
			game->model.blocks[checkpoint->blocks[i]].id;
	}
}

static void wish_for_dead(struct pool_game *game, struct wishes *w)
{
	const struct model *model = &game->model;
	int forgetful = one_in(game, 4);

	for (size_t i = 0; i < model->n_live; i++) {
		if (w->in_checkpoint[model->live[i]])
			continue;
		if (forgetful && one_in(game, 4))
			w->unknown++;
		else
			w->dead[w->n_dead++] = model->blocks[model->live[i]].id;
	}
}

/* A wish that is wrong, and what it leads to. */
static enum philox_status spoil(struct pool_game *game, struct wishes *w)
{
	switch (choose(game, 24)) {
	case 0:
		w->live[w->n_live++] = UINT64_MAX;
		return PHILOX_ERROR_NOT_FOUND;
	case 1:
		w->dead[w->n_dead++] = UINT64_MAX;
		return PHILOX_ERROR_NOT_FOUND;
	case 2:
		if (!w->n_live)
			break;
		w->live[w->n_live] = w->live[choose(game, (uint32_t)w->n_live)];
		w->n_live++;
		return w->unknown ? PHILOX_ERROR_STATE : PHILOX_ERROR_INVALID;
	case 3:
		if (!w->n_live)
			break;
		w->dead[w->n_dead++] =
			w->live[choose(game, (uint32_t)w->n_live)];
		return w->unknown ? PHILOX_ERROR_STATE : PHILOX_ERROR_INVALID;
	default:
		break;
	}
	return w->unknown ? PHILOX_ERROR_STATE : PHILOX_OK;
}

static void restore_model(struct pool_game *game,
			  const struct game_checkpoint *checkpoint,
			  const struct wishes *w, uint32_t owner, size_t *freed,
			  size_t *revived)
{
	struct model *model = &game->model;

	*freed = *revived = 0;
	model_give(model, owner, 0);
	for (size_t i = model->n_live; i-- > 0;)
		if (!w->must_live[model->live[i]]) {
			model_kill(model, model->live[i]);
			++*freed;
		}
	for (size_t i = 0; i < checkpoint->n; i++)
		if (w->must_live[checkpoint->blocks[i]] &&
		    !model->blocks[checkpoint->blocks[i]].is_live) {
			model_revive(model, checkpoint->blocks[i]);
			++*revived;
		}
}

static void restore_both(struct pool_game *game,
			 const struct game_checkpoint *checkpoint,
			 struct wishes *w)
{
	uint32_t owner = choose(game, OWNERS), busy = 0;
	size_t freed, revived, expected_freed, expected_revived;
	enum philox_status expected;

	wish_for_live(game, checkpoint, w);
	wish_for_dead(game, w);
	expected = spoil(game, w);
	for (uint32_t i = 1; i < OWNERS; i++)
		if (i != owner && model_owns(&game->model, i))
			busy = i;
	if (busy)
		expected = PHILOX_ERROR_BUSY;
	if (checkpoint->trims != game->expected.trims)
		expected = PHILOX_ERROR_STALE;
	if (game->model.in_session)
		expected = PHILOX_ERROR_STATE;
	GIVES(game,
	      pool_restore(game->pool, checkpoint->made, owner, w->live,
			   w->n_live, w->dead, w->n_dead, &freed, &revived),
	      expected);
	if (expected != PHILOX_OK)
		return;
	restore_model(game, checkpoint, w, owner, &expected_freed,
		      &expected_revived);
	MUST(game, freed == expected_freed && revived == expected_revived,
	     "%zu freed, %zu revived", expected_freed, expected_revived);
	MUST(game, pool_is_live(game->pool, w->live, w->n_live),
	     "what was asked for is live");
	game->expected.restores++;
}

static void play_restore(struct pool_game *game)
{
	const struct game_checkpoint *checkpoint =
		&game->checkpoints[choose(game, GAME_CHECKPOINTS)];
	size_t n = game->model.n_blocks + game->model.n_live + 8;
	struct wishes w = {0};
	size_t freed, revived;

	if (!checkpoint->made || one_in(game, 16)) {
		GIVES(game,
		      pool_restore(game->pool, game->foreign, 0, NULL, 0, NULL,
				   0, &freed, &revived),
		      game->model.in_session ? PHILOX_ERROR_STATE
					     : PHILOX_ERROR_MISMATCH);
		return;
	}
	if (one_in(game, 2)) /* so that it is not refused for that */
		for (uint32_t i = 1; i < OWNERS; i++) {
			pool_give(game->pool, i, 0);
			model_give(&game->model, i, 0);
		}
	w.live = malloc((checkpoint->n + 2) * sizeof(uint64_t));
	w.dead = malloc((game->model.n_live + 2) * sizeof(uint64_t));
	w.in_checkpoint = calloc(n, 2);
	w.must_live = w.in_checkpoint + n;
	restore_both(game, checkpoint, &w);
	free(w.live);
	free(w.dead);
	free(w.in_checkpoint);
	compare_all(game);
}

static void play_is_live(struct pool_game *game)
{
	const struct model *model = &game->model;
	size_t n = model->n_live;
	uint64_t *ids = calloc(n + 1, sizeof(*ids));

	for (size_t i = 0; i < n; i++)
		ids[i] = model->blocks[model->live[i]].id;
	MUST(game, pool_is_live(game->pool, ids, n), "all are live");
	ids[n] = n ? ids[0] : 1;
	MUST(game, !pool_is_live(game->pool, ids, n + 1), "one too many");
	if (n) {
		MUST(game, !pool_is_live(game->pool, ids, n - 1), "one less");
		ids[choose(game, (uint32_t)n)] = UINT64_MAX;
		MUST(game, !pool_is_live(game->pool, ids, n), "one other");
	}
	if (n > 1) {
		for (size_t i = 0; i < n; i++)
			ids[i] = model->blocks[model->live[i / 2 * 2]].id;
		MUST(game, !pool_is_live(game->pool, ids, n), "some twice");
	}
	free(ids);
}

/* --- a step --------------------------------------------------------------- */

static void (*choose_play(struct pool_game *game))(struct pool_game *)
{
	static const struct {
		uint32_t weight;
		void (*play)(struct pool_game *);
	} plays[] = {{400, play_take},    {330, play_put},
		     {30, play_find},     {20, play_give},
		     {16, play_session},  {10, play_checkpoint},
		     {16, play_restore},  {2, play_trim},
		     {4, play_reserve},   {4, play_wrong_take},
		     {6, play_wrong_put}, {4, play_is_live}};
	const uint32_t n = sizeof(plays) / sizeof(plays[0]);
	uint32_t sum = 0, at, i = 0;

	for (uint32_t j = 0; j < n; j++)
		sum += plays[j].weight;
	at = choose(game, sum);
	while (at >= plays[i].weight)
		at -= plays[i++].weight;
	game->counts[i]++;
	return plays[i].play;
}

void game_step(struct pool_game *game)
{
	game->steps++;
	if (game->model.in_session &&
	    game->session.allocations > SESSION_UNITS / 40)
		end_session(game);
	choose_play(game)(game);
	compare_figures(game);
	if (game->steps % 100 == 0)
		compare_all(game);
}
