/*
 * tests/pool/freed.c - memory that is used after it was freed
 */
#include <inttypes.h>
#include <stdio.h>
#include "lib/device/contract.h"
#include "tests/support/beds/pool.h"

/* "block 1 with tag 'block' of pool 'pool' was freed" */
static const char *was_freed(const struct philox_pool_block *block,
			     const char *pool)
{
	static char text[128];

	snprintf(text, sizeof(text),
		 "block %" PRIu64 " with tag 'block' of pool '%s' was freed",
		 block->id, pool);
	return text;
}

static enum philox_status set(struct fixture *f, void *memory, size_t bytes)
{
	return philox_memory_set(f->device, f->stream, memory, 1, bytes);
}

static enum philox_status fill(struct fixture *f, void *memory)
{
	struct philox_fill_desc words = PHILOX_INIT(struct philox_fill_desc);

	words.dist = PHILOX_DIST_BITS;
	words.dtype = PHILOX_DTYPE_U32;
	words.span = philox_span_elements(0, COUNT);
	words.out = memory;
	return philox_rng_fill(f->device, f->stream,
			       (struct philox_rng){.state = {1, 0}}, &words);
}

/* Strict devices refuse it, and say this. */
#define UNKNOWN(f, call, text)                             \
	do {                                               \
		if (device_is_strict((f)->device)) {       \
			FAILS(call, PHILOX_ERROR_INVALID); \
			NAMES(text);                       \
		} else {                                   \
			OK(call);                          \
		}                                          \
	} while (0)

POOL_PROMISE(pool_freed, memory_is_unknown_to_a_strict_device)
{
	struct philox_pool_block kept = make_block(pool, f->stream, 600),
				 block = make_block(pool, f->stream, 600);
	uint32_t *words = make_array(f);
	const char *text;
	int plain[4];

	OK(set(f, block.address, 600));
	OK(philox_pool_free(pool, f->stream, block.address));
	text = was_freed(&block, "pool");
	UNKNOWN(f, set(f, block.address, 600), text);
	UNKNOWN(f, set(f, (char *)block.address + 599, 1), text);
	UNKNOWN(f, fill(f, block.address), text);
	UNKNOWN(f,
		philox_memory_copy(f->device, f->stream, words, block.address,
				   16),
		text);
	UNKNOWN(f,
		philox_memory_copy(f->device, f->stream, block.address, words,
				   16),
		text);
	UNKNOWN(f,
		philox_memory_copy(f->device, f->stream, plain, block.address,
				   16),
		text);
	OK(set(f, kept.address, 600));
	OK(fill(f, kept.address));
}

POOL_PROMISE(pool_freed, memory_is_known_again_when_it_is_handed_out)
{
	struct philox_pool_block first = make_block(pool, f->stream, 600),
				 block;

	OK(philox_pool_free(pool, f->stream, first.address));
	block = make_block(pool, f->stream, 600);
	cr_assert_eq(block.address, first.address);
	OK(set(f, block.address, 600));
	OK(philox_pool_free(pool, f->stream, block.address));
	UNKNOWN(f, set(f, block.address, 600), was_freed(&block, "pool"));
}

POOL_PROMISE(pool_freed, memory_behind_a_block_is_named_with_its_place)
{
	struct philox_pool_block kept = make_block(pool, f->stream, 1024),
				 block = make_block(pool, f->stream, 600);
	char text[160];

	cr_assert_eq((char *)block.address, (char *)kept.address + 1024);
	OK(philox_pool_free(pool, f->stream, block.address));
	snprintf(text, sizeof(text),
		 "philox_memory_set: memory: 1025 bytes are written at %p, but "
		 "from byte 1024 on %s",
		 kept.address, was_freed(&block, "pool"));
	UNKNOWN(f, set(f, kept.address, 1025), text);
	OK(set(f, kept.address, 1024));
}

POOL_PROMISE(pool_freed, memory_that_was_no_block_is_unknown)
{
	struct philox_pool_block block = make_block(pool, f->stream, 512);

	UNKNOWN(f, set(f, (char *)block.address + 512, 1),
		"no block of pool 'pool' is there");
}

POOL_PROMISE(pool_freed, memory_is_looked_for_when_a_node_is_captured)
{
	struct philox_pool_session *session = pool_record(f, pool);
	struct philox_pool_block block = make_block(pool, f->stream, 600);
	struct philox_graph *graph;

	OK(set(f, block.address, 600));
	OK(philox_pool_free(pool, f->stream, block.address));
	UNKNOWN(f, set(f, block.address, 600), was_freed(&block, "pool"));
	UNKNOWN(f, fill(f, block.address), was_freed(&block, "pool"));
	graph = pool_recorded(f, session);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* Two graphs write where the other has its memory, and nobody else. */
POOL_PROMISE(pool_freed, memory_is_written_by_launches)
{
	unsigned char *out = make_memory(f, 2000);
	struct philox_graph *first = record_user(f, pool, 1000, 1, out),
			    *second = record_user(f, pool, 1000, 2, out + 1000);

	for (int i = 0; i < 3; i++) {
		OK(philox_graph_launch(first, f->stream, NULL, 0));
		OK(philox_graph_launch(second, f->stream, NULL, 0));
	}
	cr_assert(holds_value(f, out, 1000, 1));
	cr_assert(holds_value(f, out + 1000, 1000, 2));
}

static void write_there(const void *args)
{
	unsigned char *to;

	memcpy(&to, args, sizeof(to));
	*to = 7;
}

Test(pool_freed, memory_is_what_a_function_of_the_caller_makes_of_it)
{
	struct fixture f;
	struct philox_pool *pool;
	struct philox_pool_block block;

	fixture_open(&f, "host:strict");
	pool = make_pool(&f, "pool", 0);
	block = make_block(pool, f.stream, 600);
	OK(philox_pool_free(pool, f.stream, block.address));
	OK(philox_stream_launch_host(f.device, f.stream, write_there,
				     &block.address, sizeof(void *)));
	OK(philox_stream_synchronize(f.device, f.stream));
	cr_assert_eq(*(unsigned char *)block.address, 7);
	fixture_close(&f);
}

/* --- sessions and restores -------------------------------------------------- */

POOL_PROMISE(pool_freed, memory_of_a_session_that_failed_is_as_before_it)
{
	struct philox_pool_block before = make_block(pool, f->stream, 600),
				 block;
	struct philox_pool_session *session;

	OK(philox_pool_session_begin(pool, f->stream, &session));
	block = make_block(pool, f->stream, 600);
	OK(philox_pool_free(pool, f->stream, before.address));
	OK(philox_pool_session_end(session, PHILOX_ERROR_MEMORY, NULL));
	OK(set(f, before.address, 600));
	UNKNOWN(f, set(f, block.address, 600),
		"no block of pool 'pool' is there");
}

static struct philox_pool_checkpoint *checkpoint_of(struct philox_pool *pool)
{
	struct philox_pool_checkpoint *made;

	OK(philox_pool_checkpoint_create(pool, &made));
	return made;
}

POOL_PROMISE(pool_freed, memory_that_a_restore_brings_back_is_known)
{
	struct philox_pool_block first = make_block(pool, f->stream, 600), block;
	struct philox_pool_checkpoint *checkpoint = checkpoint_of(pool);

	OK(philox_pool_free(pool, f->stream, first.address));
	block = make_block(pool, f->stream, 2000);
	OK(philox_pool_restore(pool, checkpoint, &first.id, 1, &block.id, 1));
	OK(set(f, first.address, 600));
	UNKNOWN(f, set(f, block.address, 2000),
		"no block of pool 'pool' is there");
	OK(philox_pool_checkpoint_destroy(checkpoint));
}

/* A graph with a result, whose block the next capture may use. */
static struct philox_graph *record_result(struct fixture *f,
					  struct philox_pool *pool, int value,
					  struct philox_pool_block *result)
{
	struct philox_pool_session *session = pool_record(f, pool);

	*result = make_block(pool, f->stream, 1000);
	OK(philox_memory_set(f->device, f->stream, result->address, value,
			     1000));
	return pool_recorded(f, session);
}

POOL_PROMISE(pool_freed, results_are_known_while_graphs_of_the_pool_live)
{
	struct philox_pool_checkpoint *empty = checkpoint_of(pool);
	unsigned char *out = make_memory(f, 1000);
	struct philox_pool_block result;
	struct philox_graph *first = record_result(f, pool, 3, &result), *second;

	OK(philox_pool_restore(pool, empty, NULL, 0, &result.id, 1));
	second = record_user(f, pool, 1000, 4, out);
	OK(philox_graph_launch(second, f->stream, NULL, 0));
	OK(philox_graph_launch(first, f->stream, NULL, 0));
	cr_assert(holds_value(f, result.address, 1000, 3));
	OK(philox_graph_destroy(first));
	OK(philox_graph_destroy(second));
	pool_look(pool);
	if (!named_device())
		UNKNOWN(f, set(f, result.address, 1),
			"no block of pool 'pool' is there");
	OK(philox_pool_checkpoint_destroy(empty));
}

POOL_PROMISE(pool_freed, memory_that_went_back_to_the_device_is_forgotten)
{
	struct philox_pool_block block = make_block(pool, f->stream, 600);
	uint64_t trimmed;

	OK(philox_pool_free(pool, f->stream, block.address));
	OK(philox_pool_trim(pool, &trimmed));
	cr_assert_gt(trimmed, 0);
	for (int i = 0; i < 20; i++) {
		void *memory;

		OK(philox_memory_alloc(f->device, 2 << 20, &memory));
		OK(set(f, memory, 2 << 20));
		OK(philox_stream_synchronize(f->device, f->stream));
		OK(philox_memory_free(f->device, memory));
	}
}

/* --- patterns --------------------------------------------------------------- */

/* A write that a device cannot refuse. */
static void poke(struct fixture *f, void *address)
{
	if (strncmp(philox_device_name(f->device), "host", 4) != 0) {
		OK(philox_memory_set(f->device, f->stream, address, 1, 1));
		return;
	}
	OK(philox_stream_launch_host(f->device, f->stream, write_there,
				     &address, sizeof(address)));
}

static struct philox_pool *make_filled(struct fixture *f, uint32_t flags)
{
	return make_pool(f, "filled", pool_kind() | PHILOX_POOL_FILL | flags);
}

static void finds(struct fixture *f, struct philox_pool *pool,
		  const struct philox_pool_block *block, size_t offset)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "pool 'filled': memory was written %zu byte%s after the "
		 "beginning of block %" PRIu64
		 " with tag 'block', which was freed",
		 offset, offset == 1 ? "" : "s", block->id);
	SAYS(philox_pool_check(pool, f->stream), PHILOX_ERROR_STATE, text);
}

static void finds_a_write(struct fixture *f, uint32_t flags, size_t offset)
{
	struct philox_pool *pool = make_filled(f, flags);
	struct philox_pool_block first = make_block(pool, f->stream, 3000),
				 block = make_block(pool, f->stream, 3000),
				 last = make_block(pool, f->stream, 3000);

	OK(set(f, block.address, 3000));
	OK(philox_pool_free(pool, f->stream, first.address));
	OK(philox_pool_free(pool, f->stream, block.address));
	OK(philox_pool_free(pool, f->stream, last.address));
	OK(philox_pool_check(pool, f->stream));
	poke(f, (char *)block.address + offset);
	finds(f, pool, &block, offset);
	block = make_block(pool, f->stream, 9000);
	OK(philox_pool_check(pool, f->stream));
	OK(set(f, block.address, 9000));
	OK(philox_pool_free(pool, f->stream, block.address));
	OK(philox_pool_check(pool, f->stream));
	OK(philox_pool_destroy(pool));
}

POOL_PROMISE(pool_freed, memory_that_was_written_is_found)
{
	finds_a_write(f, 0, 0);
	finds_a_write(f, 0, 1);
	finds_a_write(f, 0, 2999);
	finds_a_write(f, PHILOX_POOL_GUARDS, 700);
}

POOL_PROMISE(pool_freed, memory_may_have_been_written_by_a_launch)
{
	struct philox_pool *filled = make_filled(f, 0);
	unsigned char *out = make_memory(f, 3000);
	struct philox_pool_block block = make_block(filled, f->stream, 3000);
	struct philox_graph *graph;

	OK(philox_pool_free(filled, f->stream, block.address));
	graph = record_user(f, filled, 1000, 1, out);
	OK(philox_pool_check(filled, f->stream));
	for (int i = 0; i < 2; i++) {
		OK(philox_graph_launch(graph, f->stream, NULL, 0));
		OK(philox_pool_check(filled, f->stream));
		poke(f, block.address);
		OK(philox_pool_check(filled, f->stream));
	}
	poke(f, (char *)block.address + 2000);
	FAILS(philox_pool_check(filled, f->stream), PHILOX_ERROR_STATE);
	NAMES("pool 'filled': free memory was written at");
	block = make_block(filled, f->stream, 3000);
	OK(philox_pool_free(filled, f->stream, block.address));
	OK(philox_pool_check(filled, f->stream));
	poke(f, block.address);
	if (f->own) /* who may have launched it */
		OK(philox_pool_check(filled, f->stream));
	else
		finds(f, filled, &block, 0);
}

/* A graph writes to what was there before it, which is freed then. */
POOL_PROMISE(pool_freed, memory_that_a_capture_knew_may_be_written_by_it)
{
	struct philox_pool *filled = make_filled(f, 0);
	struct philox_pool_block block = make_block(filled, f->stream, 1000);
	struct philox_pool_session *session = pool_record(f, filled);
	struct philox_graph *graph;

	OK(set(f, block.address, 1000));
	graph = pool_recorded(f, session);
	OK(philox_pool_free(filled, f->stream, block.address));
	OK(philox_pool_check(filled, f->stream));
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_pool_check(filled, f->stream));
}

POOL_PROMISE(pool_freed, memory_that_comes_back_is_not_looked_at)
{
	struct philox_pool *filled = make_filled(f, 0);
	struct philox_pool_block block = make_block(filled, f->stream, 1000);
	struct philox_pool_checkpoint *checkpoint = checkpoint_of(filled);
	struct philox_pool_session *session;

	OK(philox_pool_free(filled, f->stream, block.address));
	OK(philox_pool_restore(filled, checkpoint, &block.id, 1, NULL, 0));
	OK(set(f, block.address, 1000));
	OK(philox_pool_check(filled, f->stream));
	OK(philox_pool_session_begin(filled, f->stream, &session));
	OK(philox_pool_free(filled, f->stream, block.address));
	OK(philox_pool_session_end(session, PHILOX_ERROR_MEMORY, NULL));
	OK(set(f, block.address, 1000));
	OK(philox_pool_check(filled, f->stream));
	OK(philox_pool_checkpoint_destroy(checkpoint));
}

POOL_PROMISE(pool_freed, memory_that_was_trimmed_is_not_looked_at)
{
	struct philox_pool *filled = make_filled(f, 0);
	struct philox_pool_block kept = make_block(filled, f->stream, 1000),
				 block = make_block(filled, f->stream, 4 << 20);

	OK(philox_pool_free(filled, f->stream, block.address));
	OK(philox_pool_trim(filled, NULL));
	OK(philox_pool_check(filled, f->stream));
	OK(philox_pool_free(filled, f->stream, kept.address));
	OK(philox_pool_check(filled, f->stream));
}
