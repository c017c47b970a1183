/*
 * tests/graph/capture/pool_text.c - a pool as a text: what it says, and that
 * the same calls give the same text
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <philox/pool.h>
#include "tests/support/left.h"
#include "tests/support/support.h"
#include "tools/formats/formats.h"

static struct philox_pool *make(struct fixture *f, const char *name,
				uint32_t flags)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *pool;

	options.name = name;
	options.flags = flags;
	OK(philox_pool_create(f->context, &options, &pool));
	return pool;
}

static struct philox_pool_block take(struct philox_pool *pool,
				     philox_stream stream, size_t size,
				     const char *tag)
{
	struct philox_pool_block block;

	OK(philox_pool_alloc(pool, stream, size, 0, tag, &block));
	return block;
}

static char *text_of(struct philox_pool *pool)
{
	size_t size;
	char *text;

	OK(philox_pool_snapshot_text(pool, &text, &size));
	cr_assert_eq(size, strlen(text));
	return text;
}

static void has(struct philox_pool *pool, const char *line)
{
	char *text = text_of(pool);

	cr_assert(strstr(text, line), "no \"%s\" in:\n%s", line, text);
	free(text);
}

/* --- what it says --------------------------------------------------------- */

/* Ids count the blocks of the process; the text's numbers do not. */
static void use_other_pool(struct fixture *f)
{
	struct philox_pool *other = make(f, "other", 0);

	take(other, f->stream, 1, NULL);
	take(other, f->side, 1, NULL);
}

PROMISE(pool_text, is_what_the_note_says)
{
	static const char expected[] =
		"philox pool 1\n"
		"pool \"golden \\x22pool\\x22\" plain flags 2 unit 512 step 0 "
		"limit 0\n"
		"session none graphs 0\n"
		"mapped 2097152 peak 2097152 pinned 0\n"
		"live 1536 peak 3072 requested 901 blocks 2\n"
		"free 2095616 largest 2095104\n"
		"counts allocations 5 frees 3 growths 1 trims 0 checkpoints 1 "
		"restores 0 rollbacks 0 waits 0\n"
		"segment 0 extents 1 bytes 2097152\n"
		"extent 1 offset 0 bytes 2097152 loose\n"
		"block offset 0 bytes 1024 live 2 size 900 tag \"new\\xd1\"\n"
		"block offset 1024 bytes 512 free owner stream 1\n"
		"block offset 1536 bytes 512 live 1 size 1 tag \"\"\n"
		"block offset 2048 bytes 2095104 free owner home\n";
	struct philox_pool *pool =
		make(f, "golden \"pool\"", PHILOX_POOL_STRICT);
	struct philox_pool_checkpoint *checkpoint;
	struct philox_pool_block first, second, last;
	char whole[2048], *text;

	use_other_pool(f);
	first = take(pool, f->stream, 1000, "first");
	second = take(pool, f->stream, 512, "second");
	take(pool, f->stream, 1, NULL);
	last = take(pool, f->stream, 600, "last");
	OK(philox_pool_free(pool, f->stream, last.address));
	OK(philox_pool_free(pool, f->stream, first.address));
	OK(philox_pool_free(pool, f->side, second.address));
	take(pool, f->stream, 900, "new\xd1");
	OK(philox_pool_checkpoint_create(pool, &checkpoint));
	philox_pool_checkpoint_destroy(checkpoint);
	snprintf(whole, sizeof(whole), "%schecksum %016" PRIx64 " bytes %zu\n",
		 expected, fnv1a(expected), strlen(expected));
	text = text_of(pool);
	cr_assert_str_eq(text, whole);
	free(text);
}

PROMISE(pool_text, has_blocks_with_their_zones)
{
	struct philox_pool *pool = make(f, "zones", PHILOX_POOL_GUARDS);
	struct philox_pool_block_info info =
		PHILOX_INIT(struct philox_pool_block_info);
	struct philox_pool_block block = take(pool, f->stream, 1000, "inner");

	OK(philox_pool_find(pool, block.address, &info));
	cr_assert_eq(info.offset, 512);
	has(pool, "\nblock offset 0 bytes 2048 live 1 size 1000 tag \"inner\"");
}

PROMISE(pool_text, numbers_streams_by_their_first_place)
{
	struct philox_pool *pool = make(f, "streams", 0);
	struct philox_pool_block blocks[4];
	philox_stream third;

	OK(philox_stream_create(f->device, 0, &third));
	for (int i = 0; i < 4; i++)
		blocks[i] = take(pool, f->stream, 512, "x");
	OK(philox_pool_free(pool, f->stream, blocks[3].address));
	OK(philox_pool_free(pool, f->side, blocks[2].address));
	OK(philox_pool_free(pool, third, blocks[0].address));
	has(pool, "\nblock offset 0 bytes 512 free owner stream 1\n");
	has(pool, "\nblock offset 1024 bytes 512 free owner stream 2\n");
	has(pool, "\nblock offset 1536 bytes 2095616 free owner home\n");
	OK(philox_pool_join_streams(pool, third, f->stream));
	has(pool, "\nblock offset 1024 bytes 512 free owner stream 1\n");
	OK(philox_stream_destroy(f->device, third));
}

/* An expandable pool grows by what is missing only. */
static void sessions(struct fixture *f, uint32_t kind)
{
	struct philox_pool *pool = make(f, "sessions", kind);
	struct philox_pool_session *session;
	struct philox_graph *graph;

	has(pool, "\nsession none graphs 0\n");
	OK(philox_pool_session_begin(pool, f->stream, &session));
	take(pool, f->stream, 512, "warm");
	has(pool, "\nsession warm-up graphs 0\n");
	OK(philox_pool_session_end(session, PHILOX_ERROR_STATE, NULL));
	record_begin(f);
	OK(philox_pool_session_begin(pool, f->stream, &session));
	take(pool, f->stream, 512, "captured");
	has(pool, "\nsession capture graphs 0\n");
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	graph = record_end(f);
	take(pool, f->stream, 4 << 20, "after");
	has(pool, "\nsession none graphs 1\n");
	has(pool, " pinned 2097152\n");
	has(pool, "\nextent 1 offset 0 bytes 2097152 pinned\n");
	has(pool, kind ? "\nextent 2 offset 2097152 bytes 2162688 loose\n"
		       : "\nextent 2 offset 0 bytes 4194304 loose\n");
	has(pool, " rollbacks 1 waits");
	OK(philox_graph_destroy(graph));
	has(pool, "\nsession none graphs 0\n");
	has(pool, "\nextent 1 offset 0 bytes 2097152 loose\n");
}

PROMISE(pool_text, tells_sessions_and_what_graphs_pin)
{
	sessions(f, 0);
}

PROMISE(pool_text, tells_the_same_of_an_expandable_pool)
{
	sessions(f, PHILOX_POOL_EXPANDABLE);
}

/* --- the same for the same calls ------------------------------------------ */

enum { SLOTS = 40, STEPS = 400 };

struct story {
	struct fixture *f;
	struct philox_pool *pool;
	struct philox_pool_block live[SLOTS];
	uint64_t state;
};

static uint64_t next(struct story *story, uint64_t below)
{
	story->state = story->state * 6364136223846793005u + 1;
	return (story->state >> 33) % below;
}

/* Takes or frees the block of a slot, on any of two streams. */
static void step(struct story *story)
{
	static const char *const tags[] = {"a", "b b", "\"c\"", "", NULL};
	struct philox_pool_block *block = &story->live[next(story, SLOTS)];
	philox_stream stream =
		next(story, 4) ? story->f->stream : story->f->side;
	size_t size = 1 + (size_t)next(story, next(story, 9) ? 20000 : 3000000);

	if (block->address) {
		OK(philox_pool_free(story->pool, stream, block->address));
		memset(block, 0, sizeof(*block));
	} else {
		OK(philox_pool_alloc(story->pool, stream, size,
				     next(story, 5) ? 0 : 4096,
				     tags[next(story, 5)], block));
	}
}

static void tell(struct story *story, struct fixture *f, uint32_t flags)
{
	memset(story, 0, sizeof(*story));
	story->f = f;
	story->state = 7;
	story->pool = make(f, "story", flags);
	for (int i = 0; i < STEPS; i++)
		step(story);
}

static char *story_text(const char *device, uint32_t flags)
{
	struct fixture f;
	struct story story;
	char *text;

	fixture_open(&f, device);
	tell(&story, &f, flags);
	text = text_of(story.pool);
	left_keep(text);
	fixture_close(&f);
	return text;
}

Test(pool_text, is_the_same_for_the_same_calls, .timeout = 120)
{
	static const uint32_t kinds[] = {0, PHILOX_POOL_EXPANDABLE,
					 PHILOX_POOL_GUARDS};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		static const char *const devices[] = {
			"host", "host", "host:sync", "host:strict"};
		char *first = story_text(devices[0], kinds[i]);

		for (int j = 1; j < 4; j++) {
			char *other = story_text(devices[j], kinds[i]);

			cr_assert_str_eq(other, first);
			free(other);
		}
		free(first);
	}
}

/* --- against what the pool answers ---------------------------------------- */

static const struct snapshot_block *block_at(
	const struct snapshot *snapshot,
	const struct philox_pool_block_info *at, uint64_t margin)
{
	for (size_t i = 0; i < snapshot->n_blocks; i++)
		if (snapshot->blocks[i].segment == at->segment &&
		    snapshot->blocks[i].offset + margin == at->offset)
			return &snapshot->blocks[i];
	return NULL;
}

static void check_live(const struct story *story,
		       const struct snapshot *snapshot)
{
	uint64_t live = 0;

	for (int i = 0; i < SLOTS; i++) {
		struct philox_pool_block_info info =
			PHILOX_INIT(struct philox_pool_block_info);
		const struct snapshot_block *block;

		if (!story->live[i].address)
			continue;
		live++;
		OK(philox_pool_find(story->pool, story->live[i].address,
				    &info));
		block = block_at(snapshot, &info, snapshot_margin(snapshot));
		cr_assert(block && block->number);
		cr_assert_eq(block->size, story->live[i].bytes);
		cr_assert_str_eq(block->tag, info.tag);
	}
	cr_assert_eq(snapshot->figures.blocks, live);
}

static void check_figures(const struct story *story,
			  const struct snapshot *snapshot)
{
	struct philox_pool_stats statistics =
		PHILOX_INIT(struct philox_pool_stats);

	OK(philox_pool_get_stats(story->pool, &statistics));
	statistics.size = snapshot->figures.size;
	statistics.reserved = snapshot->figures.reserved;
	cr_assert(!memcmp(&statistics, &snapshot->figures, sizeof(statistics)));
}

/* Neither as hexadecimal nor as decimal numbers. */
static void check_addresses(const struct story *story, const char *text)
{
	for (int i = 0; i < SLOTS; i++) {
		char address[40];

		if (!story->live[i].address)
			continue;
		snprintf(address, sizeof(address), "%" PRIxPTR,
			 (uintptr_t)story->live[i].address);
		cr_assert_not(strstr(text, address));
		snprintf(address, sizeof(address), "%" PRIuPTR,
			 (uintptr_t)story->live[i].address);
		cr_assert_not(strstr(text, address));
	}
}

static void check_story(struct fixture *f, uint32_t flags)
{
	struct snapshot snapshot;
	struct story story;
	struct text again;
	char *text;

	tell(&story, f, flags);
	for (int i = 0; i < 20; i++) {
		step(&story);
		text = text_of(story.pool);
		OK(snapshot_read(text, strlen(text), &snapshot));
		OK(snapshot_write(&snapshot, &again));
		cr_assert_str_eq(again.bytes, text);
		check_live(&story, &snapshot);
		check_figures(&story, &snapshot);
		check_addresses(&story, text);
		snapshot_finish(&snapshot);
		free(again.bytes);
		free(text);
	}
}

PROMISE(pool_text, has_each_live_block_where_the_pool_finds_it)
{
	check_story(f, 0);
}

PROMISE(pool_text, of_an_expandable_pool_has_them_too)
{
	check_story(f, PHILOX_POOL_EXPANDABLE | PHILOX_POOL_GUARDS);
}

/* --- files, captures, errors ---------------------------------------------- */

static char *read_whole(const char *path)
{
	static char text[8192];
	FILE *file = fopen(path, "rb");
	size_t size;

	cr_assert(file, "%s", path);
	size = fread(text, 1, sizeof(text) - 1, file);
	text[size] = '\0';
	fclose(file);
	return text;
}

PROMISE(pool_text, is_written_to_a_file_completely_or_not_at_all)
{
	struct philox_pool *pool = make(f, "file", 0);
	char path[] = "/tmp/philox-pool-XXXXXX";
	int file = mkstemp(path);
	char *before, *after;

	cr_assert(file >= 0);
	close(file);
	before = text_of(pool);
	OK(philox_pool_snapshot(pool, path));
	cr_assert_str_eq(read_whole(path), before);
	take(pool, f->stream, 1, NULL);
	after = text_of(pool);
	cr_assert_str_neq(after, before);
	OK(philox_pool_snapshot(pool, path));
	cr_assert_str_eq(read_whole(path), after);
	unlink(path);
	FAILS(philox_pool_snapshot(pool, "/tmp/philox-none/x"),
	      PHILOX_ERROR_FILE);
	NAMES("/tmp/philox-none/x");
	free(before);
	free(after);
}

PROMISE(pool_text, may_be_asked_for_during_a_capture)
{
	struct philox_pool *pool = make(f, "capturing", 0);
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	char *before = text_of(pool), *during;

	record_begin(f);
	during = text_of(pool);
	cr_assert_str_eq(during, before);
	captured_forward(f, region, 0, array);
	record_end(f);
	free(before);
	free(during);
}

PROMISE(pool_text, needs_its_arguments)
{
	struct philox_pool *pool = make(f, "arguments", 0);
	char *text;

	FAILS(philox_pool_snapshot_text(NULL, &text, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("pool");
	FAILS(philox_pool_snapshot_text(pool, NULL, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("text");
	FAILS(philox_pool_snapshot(NULL, "/tmp/x"), PHILOX_ERROR_INVALID);
	FAILS(philox_pool_snapshot(pool, NULL), PHILOX_ERROR_INVALID);
	NAMES("path");
	OK(philox_pool_snapshot_text(pool, &text, NULL));
	free(text);
}
