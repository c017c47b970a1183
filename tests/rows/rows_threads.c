/*
 * tests/rows/rows_threads.c - rows advance once, in whatever order the threads
 * of a launch come
 *
 * Threads of the host do the work of the CUDA kernels here, in the order that
 * lib/rows/elements.h asks for: see Note [Rows that advance once] in
 * lib/device/kernels.h.
 */
#include <sched.h>
#include <stdint.h>

/* What a test does where threads may interleave, and how often it did. */
static void (*in_between)(void);
static _Thread_local unsigned steps;

/* Lets other threads run, now and then. */
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

static uint64_t load_relaxed(const uint64_t *from)
{
	step();
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static void store(uint64_t *to, uint64_t value)
{
	step();
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
}

static void make_greater(uint64_t *to, uint64_t value)
{
	uint64_t seen = __atomic_load_n(to, __ATOMIC_RELAXED);

	while (seen < value &&
	       !__atomic_compare_exchange_n(to, &seen, value, 0,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		step();
}

static void raise_to(uint64_t *to, uint64_t value)
{
	uint64_t seen = __atomic_load_n(to, __ATOMIC_RELAXED);

	step();
	while (seen < value &&
	       !__atomic_compare_exchange_n(to, &seen, value, 0,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		step();
}

#define ROWS_LOAD(from)       load(from)
#define ROWS_PEEK(from)       load_relaxed(from)
#define ROWS_STORE(to, value) store(to, value)
#define ROWS_RAISE(to, value) raise_to(to, value)
#define ROWS_TELL(to, value)  store(to, value)
#define ROWS_ADD(to, value) \
	__atomic_fetch_add((to), (uint64_t)(value), __ATOMIC_RELAXED)
#define ROWS_MAX(to, value) make_greater(to, value)
#define ROWS_ARRIVE(to)     __atomic_fetch_add((to), 1, __ATOMIC_ACQ_REL)
#include "lib/rows/rows.h"
#include "lib/sample/elements.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include "tests/support/models/rows.h"
#include "tests/support/support.h"

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

/* A block of one thread, as in lib/rows/cuda.cu. */
static void run_block(const struct rows_draw_args *args, uint32_t number)
{
	const uint64_t launch = rows_launch(&args->table);
	const uint64_t units = rows_units(args, 4);
	struct rows_share share =
		rows_share_of(args, units, 0, number, THREADS, 1);

	for (; share.entry < args->list.n; share.entry += share.groups) {
		struct rows_entry e;

		if (rows_begin(args, launch, share.others, 4, share.entry,
			       share.unit, &e))
			rows_bits_u32_units(args, launch, share.others, &e,
					    share.unit, share.step);
	}
	if (ROWS_ARRIVE(&shared.control.done) != THREADS - 1)
		return;
	shared.control.done = 0;
	rows_end(&shared.control);
}

/* Launches of one stream follow one another: hence the barrier. */
static void *run_thread(void *number)
{
	for (int launch = 0; launch < LAUNCHES; launch++) {
		struct rows_draw_args args = args_of(launch);

		pthread_barrier_wait(&shared.begin);
		run_block(&args, (uint32_t)(uintptr_t)number);
	}
	return NULL;
}

static void run_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&shared.begin, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, run, (void *)i),
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
	run_threads(run_thread);
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

/* --- entries that threads share ------------------------------------------- */

enum { SHARED_ROWS = 2, SHARED_VALUES = 37 };

static uint32_t shared_out[LAUNCHES][SHARED_ROWS * SHARED_VALUES];

static void *run_shared(void *number)
{
	for (int launch = 0; launch < LAUNCHES; launch++) {
		struct rows_draw_args args = args_of(launch);

		args.list = (struct rows_list){.n = SHARED_ROWS};
		args.count = SHARED_VALUES;
		args.pitch = SHARED_VALUES;
		args.out = shared_out[launch];
		pthread_barrier_wait(&shared.begin);
		run_block(&args, (uint32_t)(uintptr_t)number);
	}
	return NULL;
}

Test(rows_threads, that_share_an_entry_draw_from_one_state, .timeout = 120)
{
	memset(&shared.control, 0, sizeof(shared.control));
	shared.control.launch = 1;
	shared.control.notice = &shared.notice;
	for (uint32_t row = 0; row < ROWS; row++)
		shared.states[row] = (struct philox_state){row + 1, 0};
	run_threads(run_shared);
	for (uint64_t launch = 0; launch < LAUNCHES; launch++)
		for (uint32_t i = 0; i < SHARED_ROWS * SHARED_VALUES; i++) {
			struct philox_state state = {i / SHARED_VALUES + 1,
						     4 * launch};

			cr_assert_eq(shared_out[launch][i],
				     model_word(state, i % SHARED_VALUES),
				     "launch %d, value %u", (int)launch, i);
		}
	for (uint32_t row = 0; row < ROWS; row++)
		cr_assert_eq(shared.states[row].offset,
			     row < SHARED_ROWS ? 4 * LAUNCHES : 0);
}

/* A warp is 32 neighbours; no unit is left out, none is drawn twice. */
static void check_share(uint64_t n, uint64_t units, uint32_t threads)
{
	static uint8_t drawn[40][300];
	struct rows_draw_args args = {.list = {.n = n}, .words = 4};
	const uint32_t shift = rows_lanes_shift(units);
	uint32_t warp[40];

	memset(drawn, 0, sizeof(drawn));
	memset(warp, 0xff, sizeof(warp));
	for (uint32_t i = 0; i < threads; i++) {
		struct rows_share share =
			rows_share_of(&args, units, shift, i, threads, 32);

		for (; share.entry < n; share.entry += share.groups) {
			for (uint64_t u = share.unit; u < units;
			     u += share.step)
				drawn[share.entry][u]++;
			if (warp[share.entry] == UINT32_MAX)
				warp[share.entry] = i / 32;
			cr_assert(share.others || warp[share.entry] == i / 32,
				  "entry %u of %d, %d units, %u threads",
				  share.entry, (int)n, (int)units, threads);
		}
	}
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t u = 0; u < units; u++)
			cr_assert_eq(drawn[i][u], 1, "unit %d of entry %d: %d",
				     (int)u, (int)i, drawn[i][u]);
}

Test(rows_threads, share_all_units_and_know_whom_with)
{
	static const uint64_t units[] = {1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 300};

	for (uint64_t n = 1; n <= 40; n++)
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			for (uint32_t threads = 64; threads <= 2048;
			     threads *= 2)
				check_share(n, units[i], threads);
}

Test(rows_threads, wait_for_others_only_where_there_may_be_some)
{
	const uint32_t index = 0;
	struct rows_list plain = {.n = 9};
	struct rows_list indexed = {.indices = &index, .n = 1};
	const struct rows_draw_args args = args_of(0);

	cr_assert_not(rows_others(&plain, 4, 0));
	cr_assert(rows_others(&plain, 4, 1));
	cr_assert(rows_others(&indexed, 4, 0));
	cr_assert_not(rows_others(&indexed, 0, 1));
	memset(&shared.control, 0, sizeof(shared.control));
	shared.control.launch = 7;
	shared.states[0] = (struct philox_state){1, 8};
	shared.turns[0] = (struct rows_turn){4, 7};
	steps = 0;
	cr_assert_eq(rows_state(&args.table, 0, 7, 0).offset, 8);
	cr_assert_eq(steps, 0);
	cr_assert_eq(rows_state(&args.table, 0, 7, 1).offset, 4);
	cr_assert_eq(steps, 3);
	cr_assert_eq(rows_state(&args.table, 0, 8, 1).offset, 8);
	cr_assert_eq(steps, 5, "one acquire, and a look");
}

/* --- counts --------------------------------------------------------------- */

/* The same rows in several entries, whose counts are others in each launch. */
static uint32_t advance_counts[LAUNCHES][ENTRIES];

static void *run_advances(void *number)
{
	for (int launch = 0; launch < LAUNCHES; launch++) {
		struct rows_draw_args args = args_of(launch);
		uint64_t in_progress;

		args.counts = advance_counts[launch];
		pthread_barrier_wait(&shared.begin);
		in_progress = rows_launch(&args.table);
		for (uint64_t i = (uintptr_t)number; i < ENTRIES; i += THREADS)
			rows_advance_entry(&args, in_progress, 1, i);
		if (ROWS_ARRIVE(&shared.control.done) != THREADS - 1)
			continue;
		shared.control.done = 0;
		rows_end(&shared.control);
	}
	return NULL;
}

Test(rows_threads, advance_by_the_most_of_a_rows_counts, .timeout = 120)
{
	uint64_t expected[ROWS] = {0};

	memset(&shared.control, 0, sizeof(shared.control));
	shared.control.launch = 1;
	shared.control.notice = &shared.notice;
	for (uint32_t i = 0; i < ENTRIES; i++)
		shared.indices[i] = (i * i + i / 3) % ROWS;
	for (uint32_t launch = 0; launch < LAUNCHES; launch++) {
		uint32_t most[ROWS] = {0};

		for (uint32_t i = 0; i < ENTRIES; i++) {
			uint32_t count = (launch * 7 + i * 13) % 11;
			uint32_t row = shared.indices[i];

			advance_counts[launch][i] = count;
			most[row] = count > most[row] ? count : most[row];
		}
		for (uint32_t row = 0; row < ROWS; row++)
			expected[row] += 4 * (uint64_t)most[row];
	}
	run_threads(run_advances);
	for (uint32_t row = 0; row < ROWS; row++)
		cr_assert_eq(shared.states[row].offset, expected[row]);
	cr_assert_eq(shared.control.launch, LAUNCHES + 1);
	cr_assert_eq(shared.notice.count, 0);
}

/* --- entries that blocks share -------------------------------------------- */

enum { TOKENS = 6, VOCAB = 61, SAMPLES = 2000 };

static struct {
	float logits[TOKENS][VOCAB];
	uint8_t mask[TOKENS];
	uint64_t keys[SAMPLES][TOKENS];
} sampled;

/* Entries of one row twice, of none, with NaN, without a token, masked. */
static struct sample_args sample_args_of(int launch, uint32_t parts)
{
	static const uint32_t indices[TOKENS] = {1, 0, 1, ROWS, 2, 2};
	struct sample_args args = {
		.table = {shared.states, shared.turns, &shared.control, ROWS},
		.list = {.indices = indices, .mask = sampled.mask, .n = TOKENS},
		.logits = sampled.logits,
		.pitch = VOCAB,
		.vocab = VOCAB,
		.first = 2,
		.temperature = 1,
		.words = 4,
		.parts = parts,
		.keys = sampled.keys[launch]};

	return args;
}

/* A block of one thread, as in lib/rows/cuda.cu. */
static void sample_units(const struct sample_args *args, uint64_t launch,
			 uint64_t number, uint64_t blocks)
{
	for (uint64_t i = number; i < TOKENS * args->parts; i += blocks) {
		uint64_t entry = i / args->parts;
		struct sample_best best = SAMPLE_NO_BEST;
		struct sample_row row;

		if (!sample_begin(args, launch, sample_others(args), entry,
				  &row))
			continue;
		for (uint32_t q = (uint32_t)(i % args->parts);
		     row.valid && q < sample_quads(args); q += args->parts)
			sample_f32_quad(args, &row, entry,
					sample_first_quad(args) + q, &best);
		sample_part_end(args, launch, entry, &row,
				row.valid ? best.key : SAMPLE_NO_TOKEN);
	}
}

static void sample_block(const struct sample_args *args, uint64_t number)
{
	const uint64_t launch = sample_launch(args);

	sample_units(args, launch, number, THREADS);
	if (ROWS_ARRIVE(&shared.control.done) != THREADS - 1)
		return;
	for (uint64_t i = 0; i < TOKENS; i++)
		sample_gather(args, launch, i);
	shared.control.done = 0;
	rows_end(&shared.control);
}

static void *run_samples(void *number)
{
	for (int launch = 0; launch < SAMPLES; launch++) {
		struct sample_args args =
			sample_args_of(launch, 2 + (unsigned)launch % 5);

		pthread_barrier_wait(&shared.begin);
		sample_block(&args, (uint64_t)(uintptr_t)number);
	}
	return NULL;
}

static void open_samples(void)
{
	memset(&shared.control, 0, sizeof(shared.control));
	shared.control.launch = 1;
	shared.control.notice = &shared.notice;
	for (uint32_t row = 0; row < ROWS; row++)
		shared.states[row] = (struct philox_state){row + 1, 0};
	for (uint32_t i = 0; i < TOKENS; i++) {
		sampled.mask[i] = i != 4;
		for (uint32_t v = 0; v < VOCAB; v++)
			sampled.logits[i][v] = (float)((v * v + i) % 7);
	}
	sampled.logits[1][VOCAB - 2] = NAN;
	for (uint32_t v = 0; v < VOCAB; v++)
		sampled.logits[5][v] = -INFINITY;
	memset(sampled.keys, 0x77, sizeof(sampled.keys));
}

/* The key of one entry, from its row as it was at a launch, by one thread. */
static uint64_t key_alone(int launch, uint64_t entry)
{
	struct sample_args args = sample_args_of(launch, 1);
	struct philox_state states[ROWS];
	uint64_t keys[TOKENS];

	memset(keys, 0x77, sizeof(keys));
	for (uint32_t row = 0; row < ROWS; row++)
		states[row] =
			(struct philox_state){row + 1, 4 * (uint64_t)launch};
	args.table = (struct rows_table){.states = states, .count = ROWS};
	args.keys = keys;
	sample_units(&args, 0, 0, 1);
	return keys[entry];
}

Test(rows_threads, share_entries_without_a_trace, .timeout = 120)
{
	open_samples();
	run_threads(run_samples);
	for (int launch = 0; launch < SAMPLES; launch++)
		for (uint32_t i = 0; i < TOKENS; i++)
			cr_assert_eq(sampled.keys[launch][i],
				     key_alone(launch, i),
				     "launch %d, entry %u", launch, i);
	cr_assert_eq(sampled.keys[0][1], SAMPLE_NO_TOKEN);
	cr_assert_eq(sampled.keys[0][3], SAMPLE_NO_TOKEN);
	cr_assert_eq(sampled.keys[0][4], 0x7777777777777777);
	cr_assert_eq(sampled.keys[0][5], 0);
	for (uint32_t row = 0; row < ROWS; row++)
		cr_assert_eq(shared.states[row].offset, 4 * SAMPLES);
	for (uint32_t i = 0; i < SAMPLE_SHARED_MAX; i++)
		cr_assert_eq(shared.control.best[i], 0);
	cr_assert_eq(shared.control.launch, SAMPLES + 1);
	cr_assert_eq(shared.notice.totals[SAMPLES % 2].outside, SAMPLES);
}

/* --- units without values ------------------------------------------------- */

Test(rows_threads, do_not_read_rows_for_values_that_no_entry_gets)
{
	const uint32_t counts[2] = {9, 0};
	struct rows_draw_args args = args_of(0);
	struct rows_entry e;

	args.list.n = 2;
	args.count = 1000;
	args.pitch = 1000;
	args.counts = counts;
	args.out = shared.out;
	cr_assert_eq(rows_units(&args, 4), 250);
	steps = 0;
	for (uint64_t unit = 3; unit < 250; unit++)
		cr_assert_not(rows_begin(&args, 1, 1, 4, 0, unit, &e));
	for (uint64_t unit = 1; unit < 250; unit++)
		cr_assert_not(rows_begin(&args, 1, 1, 4, 1, unit, &e));
	cr_assert_eq(steps, 0);
	cr_assert(rows_begin(&args, 1, 1, 4, 0, 2, &e));
	cr_assert_gt(steps, 0);
}

/* --- reports -------------------------------------------------------------- */

enum { OUTSIDE = 3, REPORTED = 5000 };

/* How many launches the notice reports; their entries are complete. */
static uint64_t told_of(void)
{
	struct rows_seen report = rows_read_notice(&shared.notice);

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
	cr_assert_geq(looks, 15, "no check came while a launch reported");
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
	return (struct philox_row_list){.size = sizeof(struct philox_row_list),
					.indices = indices,
					.count = OUTSIDE + 1};
}

/* Adds what a check reports; returns for how many launches. */
static uint64_t check_report(struct philox_rows *rows)
{
	struct philox_rows_report report = {.size = sizeof(report)};
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
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = 1};
	struct philox_row_list list;
	struct philox_rows *rows;
	struct fixture f;
	uint64_t launches = 0;

	fixture_open(&f, "host:strict");
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
