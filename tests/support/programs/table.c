/*
 * tests/support/programs/table.c - see tests/support/programs/table.h
 */
#include <stdarg.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/programs/table.h"

/* Places 6 .. 8 are not aligned. */
enum { PLACE_BYTES = 512, PLACES_ALIGNED = 6, VERSIONS = 4 };

void game_fail(struct game *game, const char *where, int line,
	       const char *format, ...)
{
	char text[1500];
	int length = snprintf(text, sizeof(text), "%s:%d: ", where, line);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, sizeof(text) - (size_t)length, format,
		  arguments);
	va_end(arguments);
	game->program->failed(game->program, text);
	abort();
}

void game_count(struct game *game, enum game_event event)
{
	game->program->counts[event]++;
}

unsigned game_pick(struct game *game, unsigned n)
{
	return pick(&game->chance, n);
}

int game_one_in(struct game *game, unsigned n)
{
	return one_in(&game->chance, n);
}

/* Programs of even seeds are calmer, so that more calls are replayed. */
int game_rarely(struct game *game, unsigned n)
{
	return game_one_in(game, game->program->seed % 2 ? n : 5 * n);
}

/* --- order ---------------------------------------------------------------- */

void game_wait(struct game *game)
{
	GOES(game, philox_device_synchronize(game->ours.device));
	game->loose = 0;
}

/*
 * Calls of a runner wait for each other; what else reads and writes their
 * memory is ours to order.
 */
void game_order(struct game *game, philox_stream stream, int runner)
{
	struct philox_device *device = game->ours.device;

	if (game->last_runner != runner) {
		game_wait(game);
	} else if (stream != game->last && game->loose) {
		GOES(game,
		     philox_event_record(device, game->last, game->event));
		GOES(game, philox_event_wait(device, stream, game->event));
		game->loose = 0;
	} else if (stream != game->last) {
		game_count(game, GAME_SWITCHED);
	}
}

/* --- checks --------------------------------------------------------------- */

void game_settle_checks(struct game *game)
{
	game_wait(game);
	for (unsigned i = 0; i < game->n_checks; i++) {
		const struct check *check = &game->checks[i];

		for (unsigned k = 0; k < check->words; k++)
			MUST(game,
			     game->room[i].word[k] == check->expected.word[k],
			     "%s of step %u: word %u is %08x, not %08x",
			     check->what, check->step, k, game->room[i].word[k],
			     check->expected.word[k]);
		game_count(game, GAME_COMPARED);
	}
	game->n_checks = 0;
}

void game_check(struct game *game, unsigned storage, unsigned word,
		const char *what)
{
	const struct storage *from = &game->storages[storage];
	struct check *check;

	if (game->n_checks == GAME_CHECKS)
		game_settle_checks(game);
	check = &game->checks[game->n_checks];
	check->words = WORDS - word;
	check->step = game->program->step;
	snprintf(check->what, sizeof(check->what), "%s", what);
	memcpy(check->expected.word, from->now.word + word, 4 * check->words);
	GOES(game, philox_memory_copy(game->ours.device, game->last,
				      &game->room[game->n_checks],
				      from->address + word, 4 * check->words));
	game->n_checks++;
}

/* --- storages and handles ------------------------------------------------- */

unsigned game_new_storage(struct game *game, int runner, uint32_t *address,
			  const struct numbers *now)
{
	unsigned i = 0;

	while (i < GAME_STORAGES && game->storages[i].used)
		i++;
	MUST(game, i < GAME_STORAGES, "no storage is left");
	game->storages[i] = (struct storage){
		.used = 1, .runner = runner, .address = address, .now = *now};
	return i;
}

unsigned game_new_handle(struct game *game, const struct philox_output *output,
			 int runner, unsigned storage, unsigned word)
{
	unsigned i = 0;

	while (i < GAME_HANDLES && game->handles[i].used)
		i++;
	MUST(game, i < GAME_HANDLES, "no handle is left");
	game->handles[i] = (struct handle){.used = 1,
					   .output = *output,
					   .storage = storage,
					   .word = word,
					   .runner = runner};
	game->storages[storage].handles++;
	return i;
}

static void forget_handle(struct game *game, struct handle *handle)
{
	struct storage *storage = &game->storages[handle->storage];

	game->over = handle->output;
	game->over_runner = handle->runner;
	handle->used = 0;
	handle->bound = 0;
	if (!--storage->handles && storage->runner >= 0)
		storage->used = 0;
}

/* A release orders only what is in the memory of its runner. */
static void check_released(struct game *game, const struct handle *handle,
			   const char *what)
{
	game_check(game, handle->storage, handle->word, what);
	if (game->storages[handle->storage].runner != game->last_runner ||
	    handle->runner != game->last_runner)
		game->loose = 1;
}

/* A release that the device refuses has changed nothing. */
static void break_release(struct game *game, const struct handle *handle)
{
	struct philox_device *device = game->ours.device;
	struct philox_runner *runner = game->runners[handle->runner];
	enum philox_status status;

	GOES(game, philox_device_fail(device, NULL, 1 + game_pick(game, 2),
				      PHILOX_ERROR_DEVICE));
	status = philox_output_release(runner, game->last, &handle->output);
	GOES(game, philox_device_fail(device, NULL, 0, PHILOX_OK));
	if (status == PHILOX_OK)
		return;
	MUST(game, status == PHILOX_ERROR_DEVICE, "%s", philox_error_message());
	GOES(game, philox_output_check(runner, &handle->output));
	GOES(game, philox_output_release(runner, game->last, &handle->output));
	game_count(game, GAME_FAILED_RELEASE);
}

/* Sometimes on a stream that comes after nothing, when nothing is under way. */
static philox_stream release_stream(struct game *game)
{
	if (!game_one_in(game, 16))
		return game->last;
	game_settle_checks(game);
	return game_one_in(game, 3)   ? NULL
	       : game_one_in(game, 2) ? game->ours.side
				      : game->ours.stream;
}

void game_release(struct game *game, unsigned index)
{
	struct handle *handle = &game->handles[index];

	check_released(game, handle, "an output");
	if (game_one_in(game, 100))
		break_release(game, handle);
	else
		GOES(game, philox_output_release(game->runners[handle->runner],
						 release_stream(game),
						 &handle->output));
	forget_handle(game, handle);
}

/* A ticket is of the path that it was given on, and of those tied to it. */
static int keeps_path(const struct held_ticket *held,
		      const struct handle *handle, int any)
{
	if (held->runner == handle->runner &&
	    (any || held->path == handle->path))
		return 1;
	for (unsigned i = 0; i < held->n_tied; i++)
		if (held->tied[i].runner == handle->runner &&
		    (any || held->tied[i].path == handle->path))
			return 1;
	return 0;
}

/* Tickets that were loaded since may be owed, or not, on whatever path. */
static int is_path_owed(const struct game *game, const struct handle *handle,
			int loaded)
{
	for (unsigned i = 0; i < game->n_held; i++)
		if (game->held[i].loaded == loaded &&
		    keeps_path(&game->held[i], handle, loaded))
			return 1;
	return 0;
}

void game_begin_step(struct game *game, int runner)
{
	const unsigned flags =
		game_one_in(game, 4) ? PHILOX_STEP_RELEASE_ALL : 0;
	size_t kept = 0, stay = 0;

	for (unsigned i = 0; i < GAME_HANDLES; i++)
		if (game->handles[i].used && game->handles[i].runner == runner)
			check_released(game, &game->handles[i],
				       "an output of a step");
	GOES(game, philox_runner_step_begin(game->runners[runner], game->last,
					    flags, &kept));
	for (unsigned i = 0; i < GAME_HANDLES; i++) {
		struct handle *handle = &game->handles[i];
		int owed, stays;

		if (!handle->used || handle->runner != runner)
			continue;
		owed = !flags && is_path_owed(game, handle, 0);
		stays = philox_output_check(game->runners[runner],
					    &handle->output) == PHILOX_OK;
		MUST(game, stays || !owed, "an output of a step is gone");
		MUST(game,
		     !stays || owed ||
			     (!flags && is_path_owed(game, handle, 1)),
		     "an output of a step is still there");
		stay += (unsigned)stays;
		if (!stays)
			forget_handle(game, handle);
	}
	MUST(game, stay == kept, "%zu outputs are kept, not %zu", stay, kept);
	game_count(game, flags ? GAME_STEPS_ENDED : GAME_STEPS_BEGUN);
	if (kept)
		game_count(game, GAME_STEPS_OWED);
}

void game_release_all(struct game *game)
{
	unsigned from = game_pick(game, GAME_HANDLES);

	for (unsigned i = 0; i < GAME_HANDLES; i++) {
		unsigned at = (from + i * 5) % GAME_HANDLES;

		if (game->handles[at].used)
			game_release(game, at);
	}
	game_settle_checks(game);
}

/* --- places --------------------------------------------------------------- */

static uint32_t content_word(unsigned place, unsigned version, unsigned i)
{
	return place << 24 | version << 16 | i << 8 | 0xa5;
}

static struct numbers content_of(unsigned place, unsigned version)
{
	struct numbers numbers;

	for (unsigned i = 0; i < WORDS; i++)
		numbers.word[i] = content_word(place, version, i);
	return numbers;
}

static void upload_contents(struct game *game)
{
	static struct numbers all[GAME_PLACES * VERSIONS];

	for (unsigned i = 0; i < GAME_PLACES * VERSIONS; i++)
		all[i] = content_of(i / VERSIONS, i % VERSIONS);
	game->contents = upload(&game->ours, all, sizeof(all));
}

void game_refill(struct game *game, unsigned place)
{
	struct storage *storage = &game->storages[place];
	unsigned version = game_pick(game, VERSIONS);

	storage->now = content_of(place, version);
	GOES(game,
	     philox_memory_copy(game->ours.device, game->last, storage->address,
				game->contents +
					(place * VERSIONS + version) * WORDS,
				RECIPE_BYTES));
	game->loose = 1;
}

/* What they hold after a load is what they held before. */
void game_open_places(struct game *game)
{
	unsigned char *memory =
		make_memory(&game->ours, GAME_PLACES * PLACE_BYTES);

	upload_contents(game);
	game->room =
		make_memory(&game->ours, GAME_CHECKS * sizeof(*game->room));
	for (unsigned i = 0; i < GAME_PLACES; i++) {
		struct storage *storage = &game->storages[i];

		memory += PLACE_BYTES;
		storage->address =
			(uint32_t *)(void *)(memory - PLACE_BYTES +
					     (i < PLACES_ALIGNED ? 0 : 4));
		if (!storage->used)
			storage->now = content_of(i, 0);
		storage->used = 1;
		storage->handles = 0;
		storage->runner = -1;
		GOES(game,
		     philox_memory_copy(game->ours.device, game->ours.stream,
					storage->address, &storage->now,
					RECIPE_BYTES));
	}
	game_wait(game);
}

/* --- tickets -------------------------------------------------------------- */

/* A ticket's saved context: its output may be released by hand before. */
struct saved {
	struct game *game;
	struct handle *handle;
	uint64_t serial;
};

/* The device may refuse it, once. */
static void release_saved(void *user, philox_stream stream)
{
	struct saved *saved = user;
	struct game *game = saved->game;
	const struct handle *handle = saved->handle;
	struct philox_runner *runner = game->runners[handle->runner];

	said_anything();
	if (handle->used && handle->attached == saved->serial &&
	    philox_output_release(runner, stream, &handle->output) != PHILOX_OK)
		GOES(game,
		     philox_output_release(runner, stream, &handle->output));
	said_anything();
	free(saved);
}

static int tie(struct game *game, struct handle *handle,
	       struct held_ticket *held)
{
	struct philox_runner *runner = game->runners[handle->runner];
	struct philox_region *region = game->regions[held->region].ours;

	GOES(game,
	     philox_output_tie(runner, &handle->output, region, held->ours));
	GIVES(game,
	      philox_output_tie(runner, &handle->output, region, held->ours),
	      PHILOX_ERROR_EXISTS);
	handle->bound = held->id;
	held->tied[held->n_tied++] =
		(struct tied_path){handle->runner, handle->path};
	game_count(game, GAME_TIED);
	return 1;
}

static int attach(struct game *game, struct handle *handle,
		  const struct held_ticket *held)
{
	struct saved *saved;
	enum philox_status status;

	saved = malloc(sizeof(*saved));
	*saved = (struct saved){game, handle, ++game->tickets};
	status = philox_ticket_attach(game->regions[held->region].ours,
				      held->ours, saved, release_saved);
	if (status == PHILOX_ERROR_EXISTS) {
		free(saved);
		return 0;
	}
	GOES(game, status);
	handle->attached = saved->serial;
	handle->bound = held->id;
	game_count(game, GAME_ATTACHED);
	return 1;
}

int game_bind(struct game *game, unsigned index)
{
	const unsigned back = game_pick(game, 3);
	struct held_ticket *held;
	struct handle *handle = &game->handles[index];

	if (back >= game->n_held || handle->bound)
		return 0;
	held = &game->held[game->n_held - 1 - back];
	return game_one_in(game, 3) || held->n_tied == 8
		       ? attach(game, handle, held)
		       : tie(game, handle, held);
}

void game_check_bound(struct game *game, uint64_t id)
{
	for (unsigned i = 0; i < GAME_HANDLES; i++) {
		const struct handle *handle = &game->handles[i];

		if (!handle->used || !handle->bound ||
		    (id && handle->bound != id))
			continue;
		game_check(game, handle->storage, handle->word,
			   "an output of a ticket");
		game->loose = 1;
	}
}

void game_unbind(struct game *game, uint64_t id)
{
	for (unsigned i = 0; i < GAME_HANDLES; i++) {
		struct handle *handle = &game->handles[i];

		if (!handle->used || !handle->bound ||
		    (id && handle->bound != id))
			continue;
		GIVES(game,
		      philox_output_check(game->runners[handle->runner],
					  &handle->output),
		      PHILOX_ERROR_STALE);
		forget_handle(game, handle);
		game_count(game, GAME_UNBOUND);
	}
}

void game_drop_ticket(struct game *game, unsigned index)
{
	game_unbind(game, game->held[index].id);
	game->n_held--;
	memmove(&game->held[index], &game->held[index + 1],
		(game->n_held - index) * sizeof(game->held[0]));
}

void game_release_ticket(struct game *game, unsigned index)
{
	const struct held_ticket *held = &game->held[index];
	const struct game_region *region = &game->regions[held->region];

	game_check_bound(game, held->id);
	GOES(game, philox_ticket_release(region->ours, game->last, held->ours));
	GOES(game, philox_ticket_release(region->plain, game->plain.stream,
					 held->plain));
	game_drop_ticket(game, index);
	game_count(game, GAME_RELEASED);
}

void game_hold(struct game *game, const struct held_ticket *made)
{
	MUST(game, made->ours.region_key == made->plain.region_key,
	     "another region");
	MUST(game, made->ours.serial == made->plain.serial,
	     "ticket %" PRIu64 " of region %u, not %" PRIu64, made->ours.serial,
	     made->region, made->plain.serial);
	if (game->n_held == GAME_HELD)
		game_release_ticket(game, game_pick(game, GAME_HELD));
	game->held[game->n_held] = *made;
	game->held[game->n_held++].id = ++game->tickets;
}
