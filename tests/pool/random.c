/*
 * tests/pool/random.c - random programs of graphs that share a pool
 *
 * Each graph writes its own value into its blocks, reads them back into an
 * array of its own, and may fork. Whatever the order of captures, failed
 * sessions, warm-ups, launches on two streams, restores, trims and ends of
 * graphs: each launch reads what it wrote. Blocks that were allocated before
 * all captures keep their values until the end.
 */
#include <stdlib.h>
#include "tests/support/beds/pool.h"

enum { GRAPHS = 8, PIECES = 6, STATICS = 4, STEPS = 400, MOST = 3 << 20 };

struct user {
	struct philox_graph *graph;
	int value;
	size_t bytes; /* that it reads back */
};

struct program {
	struct fixture *f;
	struct philox_pool *pool;
	struct philox_pool_checkpoint *statics_only;
	struct philox_pool_block statics[STATICS];
	uint64_t ids[STATICS];
	struct user users[GRAPHS];
	unsigned char *out[GRAPHS];
	philox_event event;
	uint64_t random;
	int values;
};

static uint32_t below(struct program *p, uint32_t n)
{
	p->random = p->random * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)((p->random >> 33) % n);
}

static size_t some_bytes(struct program *p)
{
	return 1 + below(p, below(p, 4) ? 20000 : MOST / 4);
}

static void order(struct program *p, philox_stream before, philox_stream after)
{
	OK(philox_event_record(p->f->device, before, p->event));
	OK(philox_event_wait(p->f->device, after, p->event));
}

/* Takes blocks on two branches, writes them all, then reads them all back. */
static size_t body(struct program *p, int value, unsigned char *out)
{
	struct fixture *f = p->f;
	struct philox_pool_block blocks[PIECES];
	philox_stream branch[PIECES];
	unsigned n = 1 + below(p, PIECES);
	int forks = below(p, 2) != 0;
	size_t bytes = 0;

	if (forks)
		order(p, f->stream, f->side);
	for (unsigned i = 0; i < n; i++) {
		struct philox_pool_block block;

		branch[i] = forks && below(p, 2) ? f->side : f->stream;
		block = make_block(p->pool, branch[i], some_bytes(p));
		if (below(p, 3) == 0) { /* a temporary, used again at once */
			OK(philox_memory_set(f->device, branch[i],
					     block.address, 0, block.bytes));
			OK(philox_pool_free(p->pool, branch[i], block.address));
			block = make_block(p->pool, branch[i], some_bytes(p));
		}
		blocks[i] = block;
		OK(philox_memory_set(f->device, branch[i], block.address, value,
				     block.bytes));
	}
	for (unsigned i = 0; i < n; i++) {
		if (bytes + blocks[i].bytes > MOST)
			continue;
		OK(philox_memory_copy(f->device, branch[i], out + bytes,
				      blocks[i].address, blocks[i].bytes));
		bytes += blocks[i].bytes;
		OK(philox_pool_free(p->pool, branch[i], blocks[i].address));
		blocks[i].address = NULL;
	}
	if (forks)
		order(p, f->side, f->stream);
	for (unsigned i = 0; i < n; i++)
		OK(philox_pool_free(p->pool, f->stream, blocks[i].address));
	return bytes;
}

static struct user *pick(struct program *p, int made)
{
	struct user *user = &p->users[below(p, GRAPHS)];

	return !user->graph == !made ? user : NULL;
}

static void capture_one(struct program *p)
{
	struct user *user = pick(p, 0);
	struct philox_pool_session *session;
	int fails = below(p, 5) == 0;

	if (!user)
		return;
	user->value = 1 + ++p->values % 250;
	session = pool_record(p->f, p->pool);
	user->bytes = body(p, user->value, p->out[user - p->users]);
	OK(philox_pool_session_end(
		session, fails ? PHILOX_ERROR_DEVICE : PHILOX_OK, NULL));
	user->graph = record_end(p->f);
	if (!fails)
		return;
	OK(philox_graph_destroy(user->graph));
	user->graph = NULL;
}

static void warm_up(struct program *p)
{
	struct philox_pool_session *session;
	unsigned char *out = p->out[GRAPHS - 1];
	size_t bytes;

	if (p->users[GRAPHS - 1].graph)
		return;
	OK(philox_pool_session_begin(p->pool, p->f->stream, &session));
	bytes = body(p, 251, out);
	OK(philox_pool_session_end(
		session, below(p, 3) ? PHILOX_OK : PHILOX_ERROR_DEVICE, NULL));
	cr_assert(holds_value(p->f, out, bytes, 251));
}

static void launch_some(struct program *p)
{
	struct user *last = NULL;

	for (unsigned i = 1 + below(p, 5); i--;) {
		struct user *user = pick(p, 1);

		if (!user)
			continue;
		OK(philox_graph_launch(user->graph,
				       below(p, 2) ? p->f->stream : p->f->side,
				       NULL, 0));
		last = user;
	}
	if (last)
		cr_assert(holds_value(p->f, p->out[last - p->users],
				      last->bytes, last->value));
}

static void end_one(struct program *p)
{
	struct user *user = pick(p, 1);

	if (!user)
		return;
	OK(philox_device_synchronize(p->f->device));
	OK(philox_graph_destroy(user->graph));
	user->graph = NULL;
}

static void restore(struct program *p)
{
	OK(philox_pool_restore(p->pool, p->statics_only, p->ids, STATICS, NULL,
			       0));
}

static void step(struct program *p)
{
	switch (below(p, 16)) {
	case 0:
	case 1:
	case 2:
		capture_one(p);
		break;
	case 3:
		warm_up(p);
		break;
	case 4:
		end_one(p);
		break;
	case 5:
	case 6:
		restore(p);
		break;
	default:
		launch_some(p);
	}
}

static void check_statics(struct program *p)
{
	int live;

	OK(philox_pool_is_live(p->pool, p->ids, STATICS, &live));
	cr_assert(live);
	for (int i = 0; i < STATICS; i++)
		cr_assert(holds_value(p->f, p->statics[i].address,
				      p->statics[i].bytes, 200 + i));
}

static void begin(struct program *p)
{
	for (int i = 0; i < GRAPHS; i++)
		p->out[i] = make_memory(p->f, MOST);
	OK(philox_event_create(p->f->device, &p->event));
	for (int i = 0; i < STATICS; i++) {
		p->statics[i] = make_block(p->pool, p->f->stream, 3000);
		p->ids[i] = p->statics[i].id;
		OK(philox_memory_set(p->f->device, p->f->stream,
				     p->statics[i].address, 200 + i, 3000));
	}
	OK(philox_pool_checkpoint_create(p->pool, &p->statics_only));
}

static void end(struct program *p)
{
	uint64_t trimmed;

	check_statics(p);
	for (int i = 0; i < GRAPHS; i++)
		OK(philox_graph_destroy(p->users[i].graph));
	OK(philox_pool_trim(p->pool, &trimmed));
	check_statics(p);
	philox_pool_checkpoint_destroy(p->statics_only);
	OK(philox_event_destroy(p->f->device, p->event));
}

static void run_program(const char *device, uint32_t flags, uint64_t seed)
{
	struct fixture f;
	struct program p = {.f = &f, .random = seed};

	fixture_open(&f, device);
	p.pool = make_pool(&f, "pool", flags);
	begin(&p);
	for (int i = 0; i < STEPS; i++)
		step(&p);
	end(&p);
	fixture_close(&f);
}

Test(pool_random, graphs_that_share_memory_do_not_disturb_each_other,
     .timeout = 240)
{
	if (named_device()) {
		run_program(named_device(), 0, 1);
		run_program(named_device(), PHILOX_POOL_EXPANDABLE, 2);
		return;
	}
	for (uint64_t seed = 1; seed <= 3; seed++) {
		run_program("host", 0, seed);
		run_program("host", PHILOX_POOL_EXPANDABLE, seed);
		run_program("host:strict", PHILOX_POOL_EXPANDABLE, 10 + seed);
		run_program("host:strict",
			    PHILOX_POOL_FILL | PHILOX_POOL_GUARDS, 10 + seed);
	}
}
