/*
 * tests/test_rows_threads.c - rows advance once, in whatever order the threads
 * of a launch come
 *
 * What the CUDA kernels do is done here by threads of the host, in the order
 * that lib/rows_order.h asks for: see Note [Rows that advance once] in
 * lib/rows_kernels.h.
 */
#include <sched.h>
#include <stdint.h>

/* What a test does where threads may come in between, and how often it did. */
static void (*in_between)(void);
static _Thread_local unsigned steps;

/* Lets other threads come in between, now and then. */
static void step(void)
{
	if (in_between)
		in_between();
	if (++steps % 7 == 0)
		sched_yield();
}

static uint64_t load(const uint64_t *from)
{
	uint64_t value = __atomic_load_n(from, __ATOMIC_ACQUIRE);

	step();
	return value;
}

static void store(uint64_t *to, uint64_t value)
{
	step();
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
}

#define ROWS_LOAD(from)       load(from)
#define ROWS_STORE(to, value) store(to, value)
#define ROWS_TELL(to, value)  store(to, value)
#define ROWS_ADD(to, value) \
	__atomic_fetch_add((to), (uint64_t)(value), __ATOMIC_RELAXED)
#define ROWS_ARRIVE(to) __atomic_fetch_add((to), 1, __ATOMIC_ACQ_REL)
#include "lib/rows.h"
#include "lib/rows_elements.h"

#include <pthread.h>
#include <stdlib.h>
#include "rows_model.h"
#include "support.h"

enum { ROWS = 3, ENTRIES = 40, VALUES = 6, THREADS = 4, LAUNCHES = 5000 };

static struct {
	struct rows_control control;
	struct rows_notice notice;
	struct philox_state states[ROWS];
	struct rows_turn turns[ROWS];
	uint32_t indices[ENTRIES];
	uint32_t out[LAUNCHES][ENTRIES * VALUES];
	pthread_barrier_t begin;
} shared;

static struct rows_draw_args args_of(int launch)
{
	return (struct rows_draw_args){
		.table = {shared.states, shared.turns, &shared.control, ROWS},
		.list = {.indices = shared.indices, .n = ENTRIES},
		.count = VALUES,
		.pitch = VALUES,
		.out = shared.out[launch],
		.words = 4};
}

/* A block of one thread, which takes every so-many-th unit. */
static void run_block(const struct rows_draw_args *args, uint64_t number)
{
	const uint64_t launch = rows_launch(&args->table);
	const uint64_t units = rows_units(args, 4);

	for (uint64_t i = number; i < args->list.n * units; i += THREADS)
		rows_bits_u32_unit(args, launch, i / units, i % units);
	if (ROWS_ARRIVE(&shared.control.done) != THREADS - 1)
		return;
	shared.control.done = 0;
	rows_end(&shared.control);
}

/* Launches of one stream follow one another: that is what the barrier is. */
static void *run_thread(void *number)
{
	for (int launch = 0; launch < LAUNCHES; launch++) {
		struct rows_draw_args args = args_of(launch);

		pthread_barrier_wait(&shared.begin);
		run_block(&args, (uint64_t)(uintptr_t)number);
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&shared.begin, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, run_thread,
					    (void *)i),
			     0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&shared.begin);
}

Test(rows_threads, draw_from_one_state_and_advance_it_once, .timeout = 120)
{
	shared.control.launch = 1;
	shared.control.notice = &shared.notice;
	for (uint32_t row = 0; row < ROWS; row++)
		shared.states[row].seed = row + 1;
	for (uint32_t i = 0; i < ENTRIES; i++)
		shared.indices[i] = (i * i + i / 3) % (ROWS + 1);
	run_threads();
	for (uint64_t launch = 0; launch < LAUNCHES; launch++)
		for (uint32_t i = 0; i < ENTRIES * VALUES; i++) {
			uint32_t row = shared.indices[i / VALUES];
			struct philox_state state = {row + 1, 4 * launch};

			cr_assert_eq(shared.out[launch][i],
				     row < ROWS ? model_word(state, i % VALUES)
						: 0,
				     "launch %d, value %u", (int)launch, i);
		}
	cr_assert_eq(shared.control.launch, LAUNCHES + 1);
	cr_assert_eq(shared.notice.count, LAUNCHES);
}

/* --- reports -------------------------------------------------------------- */

enum { OUTSIDE = 3, REPORTED = 5000 };

/* How many launches the notice tells of; their entries are all there. */
static uint64_t told_of(void)
{
	struct philox_rows_report report = rows_read_notice(&shared.notice);

	cr_assert_eq(report.outside, OUTSIDE * report.launches,
		     "%d entries of %d launches", (int)report.outside,
		     (int)report.launches);
	cr_assert_eq(report.used_up, report.launches);
	return report.launches;
}

static unsigned looks;

static void look_at_notice(void)
{
	told_of();
	looks++;
}

Test(rows_threads, a_report_has_the_entries_of_its_launches_at_any_moment)
{
	shared.control.launch = 1;
	shared.control.notice = &shared.notice;
	in_between = look_at_notice;
	for (uint64_t launch = 1; launch <= 5; launch++) {
		shared.control.outside = OUTSIDE;
		shared.control.used_up = 1;
		rows_end(&shared.control);
		cr_assert_eq(told_of(), launch);
	}
	cr_assert_geq(looks, 15, "nobody looked while a launch told");
}

/* Launches with OUTSIDE entries that are no rows, and one that is used up. */
static struct philox_row_list bad_list(struct fixture *f,
				       struct philox_rows *rows)
{
	const struct philox_state last = {5, UINT64_MAX - 3};
	uint32_t *indices = make_memory(f, (OUTSIDE + 1) * sizeof(*indices));

	OK(philox_rows_set(rows, f->stream, NULL, &last, 1));
	for (uint32_t i = 0; i < OUTSIDE; i++)
		indices[i] = 1 + i;
	indices[OUTSIDE] = 0;
	return (struct philox_row_list){.indices = indices, .n = OUTSIDE + 1};
}

/* Adds what a check tells; returns how many launches that were. */
static uint64_t check_report(struct philox_rows *rows)
{
	struct philox_rows_report report;
	enum philox_status status = philox_rows_check(rows, &report);

	cr_assert_eq(status,
		     report.launches ? PHILOX_ERROR_OVERFLOW : PHILOX_OK);
	cr_assert(report.outside == OUTSIDE * report.launches &&
			  report.used_up == report.launches,
		  "%d launches with %d outside and %d used up",
		  (int)report.launches, (int)report.outside,
		  (int)report.used_up);
	return report.launches;
}

Test(rows_threads, a_report_has_the_entries_of_its_launches, .timeout = 120)
{
	struct philox_rows_options options = {
		.size = sizeof(options), .name = "a", .count = 1};
	struct philox_row_list list;
	struct philox_rows *rows;
	struct fixture f;
	uint64_t launches = 0;

	fixture_open(&f, "host");
	OK(philox_rows_create(f.context, &options, &rows));
	list = bad_list(&f, rows);
	for (int i = 0; i < REPORTED; i++) {
		OK(philox_rows_advance(rows, f.stream, &list, 4));
		launches += check_report(rows);
	}
	while (philox_stream_query(f.device, f.stream) != PHILOX_OK)
		launches += check_report(rows);
	OK(philox_stream_synchronize(f.device, f.stream));
	launches += check_report(rows);
	cr_assert_eq(launches, REPORTED);
	fixture_close(&f);
}
