/*
 * tests/graph/bodies/series.c - long series of launches: no number occurs
 * twice, and each launch reserves the same, whatever runs; two threads
 */
#include <pthread.h>
#include "tests/support/loops.h"

enum { LIMIT = 5, INNER = 8, ROUNDS = 60 };

struct series {
	struct philox_region *region;
	struct tape tape;
	struct log log;
	struct block_set *seen;
	struct philox_graph *loop, *branch, *nested, *plain;
	uint32_t *array;
	uint64_t random, at;
};

static unsigned below(struct series *s, unsigned n)
{
	s->random = s->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(s->random >> 33) % n;
}

static struct philox_graph *record_two(struct fixture *f, struct series *s)
{
	struct philox_conditional branch;

	record_begin(f);
	begin_node(f, f->stream, PHILOX_CONDITIONAL_IF, 2, 0, s->tape, &branch);
	for (uint32_t i = 0; i < 2; i++) {
		OK(philox_conditional_body(&branch, i, f->side));
		forward_in(f, s->region, f->side, &s->log);
	}
	OK(philox_conditional_end(&branch));
	return record_end(f);
}

static struct philox_graph *record_nested(struct fixture *f, struct series *s,
					  philox_stream inmost)
{
	struct philox_conditional loop, inner;

	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, s->tape, &loop);
	forward_in(f, s->region, f->side, &s->log);
	begin_while(f, f->side, inmost, INNER, s->tape, &inner);
	forward_in(f, s->region, inmost, &s->log);
	end_while(f, inmost, s->tape, &inner);
	end_while(f, f->side, s->tape, &loop);
	return record_end(f);
}

/* All numbers of the log are new. */
static void all_new(struct fixture *f, struct series *s, unsigned n)
{
	read_log(f, &s->log);
	LOGGED_IN_ALL(&s->log, n);
	for (unsigned i = 0; i < n; i++)
		cr_assert_eq(block_set_add(s->seen, &s->log.run[i]), 0,
			     "entry %u repeats numbers", i);
	clear_log(f, &s->log);
}

static void release(struct fixture *f, struct series *s,
		    const struct philox_launch_pass *uses, size_t n)
{
	for (size_t i = 0; i < n; i++)
		OK(philox_ticket_release(s->region, f->stream, uses[i].ticket));
}

static void launch_loop(struct fixture *f, struct series *s)
{
	unsigned count = below(s, LIMIT + 1);
	struct philox_launch_pass use;

	set_counts(f, s->tape, &count, 1);
	use = launch_one(f, s->loop);
	all_new(f, s, count);
	release(f, s, &use, 1);
	s->at += 4 * LIMIT;
}

static void launch_branch(struct fixture *f, struct series *s)
{
	const uint32_t word = below(s, 2);
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

	set_tape(f, s->tape, &word, 1);
	OK(philox_graph_launch(s->branch, f->stream, uses, 2));
	all_new(f, s, 1);
	release(f, s, uses, 2);
	s->at += 8;
}

static void launch_nested(struct fixture *f, struct series *s)
{
	uint32_t words[TAPE] = {0};
	unsigned outer = below(s, LIMIT + 1), left = INNER, at = 0, total = 0;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

	for (unsigned i = 0; i < outer; i++) {
		unsigned inner = below(s, left + 1);

		words[at++] = 1;
		for (unsigned k = 0; k < inner; k++)
			words[at++] = 1;
		words[at++] = 0;
		left -= inner;
		total += inner;
	}
	set_tape(f, s->tape, words, at);
	OK(philox_graph_launch(s->nested, f->stream, uses, 2));
	all_new(f, s, outer + total);
	release(f, s, uses, 2);
	s->at += 4 * (LIMIT + INNER);
}

static void eager_loop(struct fixture *f, struct series *s)
{
	uint32_t limit = 1 + below(s, LIMIT);
	struct philox_pass pass, view;
	struct philox_ticket ticket;

	OK(philox_forward_begin_loop(s->region, f->stream, 0, limit, &pass));
	for (uint32_t i = 0; i < limit; i++) {
		OK(philox_pass_at(&pass, i, &view));
		draw_to_log(f, &view, &s->log);
	}
	OK(philox_pass_commit(&pass, 0, &ticket));
	all_new(f, s, limit);
	OK(philox_ticket_release(s->region, f->stream, ticket));
	s->at += 4 * limit;
}

static void plain_forward(struct fixture *f, struct series *s)
{
	struct forward made =
		below(s, 2) ? forward(f, s->region)
			    : launch_forward(f, s->plain, s->region, s->array);

	cr_assert_eq(block_set_add(s->seen, &made.saw), 0);
	OK(philox_ticket_release(s->region, f->stream, made.ticket));
	s->at += 4;
}

GRAPH_PROMISE(series, of_launches_and_eager_passes_repeat_nothing)
{
	struct philox_region *region = make_region(f, "layer");
	philox_stream inmost;
	struct series s;

	OK(philox_stream_create(f->device, 0, &inmost));
	memset(&s, 0, sizeof(s));
	s.random = 7;
	s.region = region;
	s.tape = make_tape(f);
	make_log(f, &s.log);
	s.seen = block_set_new();
	s.array = make_array(f);
	s.loop = record_while(f, region, LIMIT, s.tape, &s.log);
	s.branch = record_two(f, &s);
	s.nested = record_nested(f, &s, inmost);
	s.plain = record_forward(f, region, 0, s.array);
	for (int round = 0; round < ROUNDS; round++) {
		static void (*const steps[])(struct fixture *,
					     struct series *) = {
			launch_loop, launch_branch, launch_nested, eager_loop,
			plain_forward};

		steps[below(&s, 5)](f, &s);
		SAME(peek(f, region), predict(0, "layer", s.at), "round %d",
		     round);
	}
	PENDING(region, 0);
	nothing_wrong(f);
	block_set_free(s.seen);
	OK(philox_stream_destroy(f->device, inmost));
}

/* --- threads -------------------------------------------------------------- */

enum { THREADS = 2, CAPTURES = 12 };

struct worker {
	struct fixture f; /* its own streams on the shared context */
	struct philox_region *region;
	struct tape tape;
	struct log log;
	const char *name;
	struct philox_graph *graphs[CAPTURES];
	pthread_t thread;
};

/* Criterion's asserts abort from any thread. */
static void *capture_loops(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < CAPTURES; i++) {
		struct philox_conditional loop;
		struct philox_ticket ticket;

		record_begin(&w->f);
		begin_while(&w->f, w->f.stream, w->f.side, LIMIT, w->tape,
			    &loop);
		ticket = forward_in(&w->f, w->region, w->f.side, &w->log);
		backward_in(&w->f, w->region, ticket, w->f.side,
			    PHILOX_PASS_RETAIN, &w->log);
		end_while(&w->f, w->f.side, w->tape, &loop);
		w->graphs[i] = record_end(&w->f);
	}
	return NULL;
}

static void make_worker(struct fixture *f, struct worker *w, const char *name)
{
	w->f = *f;
	w->name = name;
	OK(philox_stream_create(f->device, 0, &w->f.stream));
	OK(philox_stream_create(f->device, 0, &w->f.side));
	w->region = make_region(f, name);
	w->tape = make_tape(f);
	make_log(f, &w->log);
	OK(philox_device_synchronize(f->device));
}

static void check_worker(struct worker *w)
{
	const unsigned count = 3;
	struct fixture *f = &w->f;

	for (uint64_t i = 0; i < CAPTURES; i++) {
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

		set_counts(f, w->tape, &count, 1);
		OK(philox_graph_launch(w->graphs[i], f->stream, uses, 2));
		read_log(f, &w->log);
		LOGGED_IN_ALL(&w->log, 6);
		for (unsigned k = 0; k < 6; k++)
			LOGGED(&w->log, k,
			       predict(0, w->name, 4 * (LIMIT * i + k / 2)));
		clear_log(f, &w->log);
		OK(philox_stream_synchronize(f->device, f->stream));
	}
	OK(philox_stream_destroy(f->device, w->f.stream));
	OK(philox_stream_destroy(f->device, w->f.side));
}

PROMISE(series, two_threads_capture_loops_at_the_same_time)
{
	static const char *const names[THREADS] = {"one", "two"};
	static struct worker workers[THREADS];

	memset(workers, 0, sizeof(workers));
	for (int i = 0; i < THREADS; i++)
		make_worker(f, &workers[i], names[i]);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&workers[i].thread, NULL,
					    capture_loops, &workers[i]),
			     0);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_join(workers[i].thread, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		check_worker(&workers[i]);
	}
	nothing_wrong(f);
}
