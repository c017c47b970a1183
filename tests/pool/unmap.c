/*
 * tests/pool/unmap.c - free memory that is unmapped
 */
#include <unistd.h>
#include "tests/support/beds/pool.h"
#include "tests/support/beds/runner.h"

enum { STEP = 64 << 10 };

static struct philox_pool *make_unmapping(struct fixture *f, const char *name)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *pool;

	options.name = name;
	options.flags = PHILOX_POOL_EXPANDABLE | PHILOX_POOL_UNMAP;
	options.range = 64 * STEP;
	options.step = STEP;
	OK(philox_pool_create(f->context, &options, &pool));
	return pool;
}

/* Whether the process can read a byte there: the kernel tries it. */
static int is_there(struct fixture *f, const void *address)
{
	int ends[2], there;

	OK(philox_device_synchronize(f->device));
	cr_assert_eq(pipe(ends), 0);
	there = write(ends[1], address, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return there;
}

#define ON_HOSTS(name)                          \
	static void name(struct fixture *f);    \
	Test(pool_unmap, name, .timeout = 120)  \
	{                                       \
		if (named_device())             \
			cr_skip("for the host"); \
		on_host_devices(name);          \
	}                                       \
	static void name(struct fixture *f)

ON_HOSTS(memory_that_is_free_is_gone)
{
	struct philox_pool *pool = make_unmapping(f, "pool");
	struct philox_pool_block first = make_block(pool, f->stream, STEP),
				 second = make_block(pool, f->stream, STEP),
				 again;

	OK(philox_memory_set(f->device, f->stream, first.address, 1, STEP));
	cr_assert(is_there(f, first.address));
	OK(philox_pool_free(pool, f->stream, first.address));
	cr_assert(!is_there(f, first.address));
	cr_assert(is_there(f, second.address));
	again = make_block(pool, f->stream, STEP);
	cr_assert_eq(again.address, first.address);
	OK(philox_memory_set(f->device, f->stream, again.address, 2, STEP));
	cr_assert(holds_value(f, again.address, STEP, 2));
}

ON_HOSTS(memory_beside_a_live_block_stays)
{
	struct philox_pool *pool = make_unmapping(f, "pool");
	struct philox_pool_block first = make_block(pool, f->stream, 512),
				 second = make_block(pool, f->stream, 512);

	OK(philox_pool_free(pool, f->stream, first.address));
	cr_assert(is_there(f, first.address));
	OK(philox_pool_free(pool, f->stream, second.address));
	cr_assert(!is_there(f, first.address));
}

ON_HOSTS(memory_of_a_graph_that_lives_stays)
{
	struct philox_pool *pool = make_unmapping(f, "pool");
	unsigned char *out = make_memory(f, STEP);
	struct philox_graph *graph = record_user(f, pool, STEP, 3, out);
	struct philox_pool_block block = make_block(pool, f->stream, STEP);

	OK(philox_pool_free(pool, f->stream, block.address));
	cr_assert(is_there(f, block.address));
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	cr_assert(holds_value(f, out, STEP, 3));
	OK(philox_graph_destroy(graph));
	block = make_block(pool, f->stream, STEP);
	OK(philox_pool_free(pool, f->stream, block.address));
	cr_assert(!is_there(f, block.address));
}

ON_HOSTS(memory_of_a_warm_up_is_gone_after_it)
{
	struct philox_pool *pool = make_unmapping(f, "pool");
	struct philox_pool_session *session;
	struct philox_pool_block block;

	OK(philox_pool_session_begin(pool, f->stream, &session));
	block = make_block(pool, f->stream, STEP);
	OK(philox_pool_free(pool, f->stream, block.address));
	cr_assert(is_there(f, block.address));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	cr_assert(!is_there(f, block.address));
}

ON_HOSTS(memory_of_a_checkpoint_may_be_missed)
{
	struct philox_pool *pool = make_unmapping(f, "pool");
	struct philox_pool_checkpoint *empty, *full;
	struct philox_pool_block block;

	OK(philox_pool_checkpoint_create(pool, &empty));
	block = make_block(pool, f->stream, STEP);
	OK(philox_pool_checkpoint_create(pool, &full));
	OK(philox_pool_free(pool, f->stream, block.address));
	cr_assert(!is_there(f, block.address));
	FAILS(philox_pool_restore(pool, full, &block.id, 1, NULL, 0),
	      PHILOX_ERROR_STALE);
	NAMES("was unmapped after the checkpoint");
	OK(philox_pool_restore(pool, empty, NULL, 0, NULL, 0));
	OK(philox_pool_restore(pool, full, NULL, 0, NULL, 0));
	block = make_block(pool, f->stream, STEP);
	OK(philox_pool_restore(pool, empty, NULL, 0, &block.id, 1));
	cr_assert(!is_there(f, block.address));
	OK(philox_pool_checkpoint_destroy(empty));
	OK(philox_pool_checkpoint_destroy(full));
}

ON_HOSTS(memory_needs_an_expandable_pool)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *pool;

	options.name = "plain";
	options.flags = PHILOX_POOL_UNMAP;
	SAYS(philox_pool_create(f->context, &options, &pool),
	     PHILOX_ERROR_INVALID,
	     "pool 'plain': PHILOX_POOL_UNMAP is for an expandable pool");
}

/* --- memory for others ---------------------------------------------------- */

ON_HOSTS(memory_for_others_needs_an_expandable_pool)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} rows[] = {
		{PHILOX_POOL_RDMA,
		 "pool 'plain': PHILOX_POOL_RDMA is for an expandable pool"},
		{PHILOX_POOL_EXPORT,
		 "pool 'plain': PHILOX_POOL_EXPORT is for an expandable pool"},
		{PHILOX_POOL_FABRIC,
		 "pool 'plain': PHILOX_POOL_FABRIC is for an expandable pool"},
		{PHILOX_POOL_PEERS,
		 "pool 'plain': PHILOX_POOL_PEERS is for an expandable pool"},
	};
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *pool;

	options.name = "plain";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		options.flags = rows[i].flag | PHILOX_POOL_STRICT;
		SAYS(philox_pool_create(f->context, &options, &pool),
		     PHILOX_ERROR_INVALID, rows[i].text);
	}
}

/* The process's own memory: it has no handles, and needs no more to be reached. */
ON_HOSTS(memory_for_others_has_no_handles_on_a_host)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool_block block;
	struct philox_pool *pool;

	options.name = "shared";
	options.flags = PHILOX_POOL_EXPANDABLE | PHILOX_POOL_EXPORT;
	FAILS(philox_pool_create(f->context, &options, &pool),
	      PHILOX_ERROR_UNSUPPORTED);
	NAMES("handles for export");
	options.flags = PHILOX_POOL_EXPANDABLE | PHILOX_POOL_FABRIC;
	FAILS(philox_pool_create(f->context, &options, &pool),
	      PHILOX_ERROR_UNSUPPORTED);
	options.flags =
		PHILOX_POOL_EXPANDABLE | PHILOX_POOL_RDMA | PHILOX_POOL_PEERS;
	OK(philox_pool_create(f->context, &options, &pool));
	OK(philox_pool_alloc(pool, f->stream, 4096, 0, "block", &block));
	OK(philox_memory_set(f->device, f->stream, block.address, 1, 4096));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_pool_free(pool, f->stream, block.address));
	OK(philox_pool_destroy(pool));
}

ON_HOSTS(memory_of_released_outputs_is_gone_in_eager_calls)
{
	struct philox_runner *r = make_runner_of(
		f, "runner", PHILOX_POOL_EXPANDABLE | PHILOX_POOL_UNMAP);
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call call = new_call(&layer, make_words(f, 3), 0);

	make_function(&layer, r, "layer");
	OK(try_call(&layer, &call));
	cr_assert_neq(call.call.kind, PHILOX_CALL_REPLAY);
	OK(philox_output_release(r, f->stream, &call.outputs[0]));
	cr_assert(is_there(f, call.outputs[0].address), "beside the other");
	OK(philox_output_release(r, f->stream, &call.outputs[1]));
	cr_assert(!is_there(f, call.outputs[0].address));
}
