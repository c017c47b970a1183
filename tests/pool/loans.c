/*
 * tests/pool/loans.c - a stream that needs memory waits for those that freed it
 *
 * Outside sessions every stream may wait for every other, so an allocation is
 * refused only if no free piece of memory is large enough, whoever freed it.
 */
#include "tests/support/beds/pool.h"

enum { MIB = 1 << 20 };

static philox_stream make_stream(struct fixture *f)
{
	philox_stream stream;

	OK(philox_stream_create(f->device, 0,
				&stream));
	return stream;
}

/* Nothing is waited for by a call that fails. */
static void has_no_room(struct fixture *f, struct philox_pool *pool,
			philox_stream stream, size_t bytes)
{
	const uint64_t waits = calls_of(f, "event_wait");
	struct philox_pool_block block;

	FAILS(philox_pool_alloc(pool, stream, bytes, 0, "x", &block),
	      PHILOX_ERROR_LIMIT);
	NAMES("'limited'");
	cr_assert_eq(calls_of(f, "event_wait"), waits);
}

POOL_PROMISE(pool_loans, that_would_not_do_are_not_taken)
{
	struct philox_pool *limited = make_limited(f, 0, 4 * MIB);
	struct philox_pool_block one = make_block(limited, f->stream, 2 * MIB);

	make_block(limited, f->stream, MIB);
	OK(philox_pool_free(limited, f->stream, one.address));
	has_no_room(f, limited, f->side, 3 * MIB);
	cr_assert_eq(make_block(limited, f->side, 2 * MIB).address,
		     one.address);
}

POOL_PROMISE(pool_loans, are_less_than_what_other_pools_give_back)
{
	struct philox_pool *hoard = make_pool(f, "hoard", pool_kind());
	struct philox_pool_block block = make_block(pool, f->stream, 2 * MIB);

	OK(philox_pool_free(pool, f->stream, block.address));
	OK(philox_pool_reserve(hoard, 6 * MIB));
	OK(philox_device_limit_memory(f->device, 9 * MIB));
	make_block(pool, f->side, 5 * MIB);
	cr_assert_eq(pool_look(hoard).mapped, 0);
	OK(philox_device_limit_memory(f->device, 0));
	f->injected = 1; /* calls that failed are no leaks */
}

/* Three neighbours, freed on three streams; the first is the last stream. */
static void free_on_three(struct fixture *f, struct philox_pool *limited,
			  philox_stream third)
{
	const philox_stream streams[] = {f->stream, f->side, third};
	struct philox_pool_block blocks[3];

	OK(philox_pool_reserve(limited, 3 * MIB));
	for (int i = 0; i < 3; i++)
		blocks[i] = make_block(limited, f->stream, MIB);
	for (int i = 0; i < 3; i++)
		OK(philox_pool_free(limited, streams[i], blocks[i].address));
}

POOL_PROMISE(pool_loans, are_taken_from_as_many_streams_as_are_needed)
{
	struct philox_pool *limited = make_limited(f, 0, 3 * MIB);
	philox_stream third = make_stream(f), fourth = make_stream(f);

	free_on_three(f, limited, third);
	make_block(limited, fourth, 3 * MIB);
	cr_assert_eq(pool_look(limited).waits, 3);
	OK(philox_stream_destroy(f->device, third));
	OK(philox_stream_destroy(f->device, fourth));
}

POOL_PROMISE(pool_loans, leave_the_memory_of_others_alone)
{
	struct philox_pool *limited = make_limited(f, 0, 3 * MIB);
	philox_stream third = make_stream(f), fourth = make_stream(f);

	free_on_three(f, limited, third);
	make_block(limited, fourth, 2 * MIB);
	cr_assert_eq(pool_look(limited).waits, 2);
	make_block(limited, third, MIB);
	cr_assert_eq(pool_look(limited).waits, 2, "its own");
	OK(philox_stream_destroy(f->device, third));
	OK(philox_stream_destroy(f->device, fourth));
}

/* A stream that is capturing cannot be waited for; the next one can. */
POOL_PROMISE(pool_loans, come_from_a_stream_that_can_be_waited_for)
{
	struct philox_pool *limited = make_limited(f, 0, 3 * MIB);
	philox_stream third = make_stream(f), fourth = make_stream(f);
	philox_native_graph native;

	free_on_three(f, limited, third);
	make_block(limited, f->stream, MIB);
	OK(philox_stream_begin_capture(f->device, f->side,
				       PHILOX_CAPTURE_RELAXED));
	make_block(limited, fourth, MIB);
	cr_assert_eq(pool_look(limited).waits, 1);
	has_no_room(f, limited, fourth, MIB);
	OK(philox_stream_end_capture(f->device, f->side, &native));
	OK(philox_native_graph_destroy(f->device, native));
	make_block(limited, fourth, MIB);
	OK(philox_stream_destroy(f->device, third));
	OK(philox_stream_destroy(f->device, fourth));
}

/* What it freed is free for the first warm-up, if that comes after it. */
POOL_PROMISE(pool_loans, to_a_strict_pool_the_first_free_is_a_launch)
{
	struct philox_pool *strict = make_limited(f, PHILOX_POOL_STRICT, MIB);
	struct philox_pool_block block = make_block(strict, f->side, MIB);
	struct philox_pool_session *session;

	OK(philox_pool_free(strict, f->side, block.address));
	FAILS(philox_pool_session_begin(strict, f->stream, &session),
	      PHILOX_ERROR_BUSY);
	NAMES("philox_pool_join_streams()");
	OK(philox_pool_join_streams(strict, f->side, f->stream));
	OK(philox_pool_session_begin(strict, f->stream, &session));
	block = make_block(strict, f->stream, MIB);
	OK(philox_pool_free(strict, f->stream, block.address));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
}

/* --- random programs ------------------------------------------------------ */

enum { STREAMS = 4, UNITS = 64, UNIT = 512, STEPS = 4000 };
enum { FIRST = 2 * MIB / UNIT - UNITS };

/* Which units at the end of the pool's only piece of memory are free. */
struct program {
	struct fixture *f;
	struct philox_pool *pool;
	philox_stream streams[STREAMS];
	struct philox_pool_block blocks[UNITS]; /* by the first unit */
	size_t units[UNITS];                    /* of the block there */
	uint64_t random;
};

static uint32_t below(struct program *p, uint32_t n)
{
	p->random = p->random * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)((p->random >> 33) % n);
}

static size_t longest_free(const struct program *p)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < UNITS; i += p->units[i] ? p->units[i] : 1) {
		run = p->units[i] ? 0 : run + 1;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void take(struct program *p)
{
	const philox_stream stream = p->streams[below(p, STREAMS)];
	const size_t units = 1 + below(p, below(p, 3) ? 6 : UNITS / 2);
	struct philox_pool_block_info info =
		PHILOX_INIT(struct philox_pool_block_info);
	struct philox_pool_block block;

	if (units > longest_free(p)) {
		has_no_room(p->f, p->pool, stream, units * UNIT);
		return;
	}
	OK(philox_pool_alloc(p->pool, stream, units * UNIT, 0, "x", &block));
	OK(philox_pool_find(p->pool, block.address, &info));
	info.offset = info.offset / UNIT - FIRST;
	for (size_t i = 0; i < units; i++)
		cr_assert(!p->units[info.offset + i]);
	p->blocks[info.offset] = block;
	p->units[info.offset] = units;
}

static void put(struct program *p)
{
	const uint32_t at = below(p, UNITS);

	if (!p->units[at])
		return;
	OK(philox_pool_free(p->pool, p->streams[below(p, STREAMS)],
			    p->blocks[at].address));
	p->units[at] = 0;
}

static void order(struct program *p)
{
	const philox_stream before = p->streams[below(p, STREAMS)];
	const philox_stream after = p->streams[below(p, STREAMS)];

	if (before != after)
		OK(philox_pool_join_streams(p->pool, before, after));
}

POOL_PROMISE(pool_loans, are_refused_only_where_no_free_piece_is_large_enough)
{
	struct program p = {.f = f, .random = 1};

	p.pool = make_limited(f, 0, 2 * MIB);
	OK(philox_pool_reserve(p.pool, 2 * MIB));
	make_block(p.pool, f->stream, FIRST * UNIT);
	p.streams[0] = f->stream;
	p.streams[1] = f->side;
	p.streams[2] = make_stream(f);
	p.streams[3] = make_stream(f);
	for (int step = 0; step < STEPS; step++)
		if (below(&p, 16) == 0)
			order(&p);
		else if (below(&p, 3))
			put(&p);
		else
			take(&p);
	OK(philox_stream_destroy(f->device, p.streams[2]));
	OK(philox_stream_destroy(f->device, p.streams[3]));
}
