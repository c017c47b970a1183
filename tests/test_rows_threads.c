/*
 * tests/test_rows_threads.c - rows advance once, in whatever order the threads
 * of a launch come
 *
 * What the CUDA kernel does is done here by threads of the host, with fences
 * where it has them: see Note [Rows that advance once] in lib/rows_kernels.h.
 */
#include <sched.h>

/* Where a thread lets others in between, now and then. */
static void fence(void)
{
	static _Thread_local unsigned count;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (++count % 7 == 0)
		sched_yield();
}

#define ROWS_FENCE() fence()
#define ROWS_ADD(to, value) \
	__atomic_fetch_add((to), (uint64_t)(value), __ATOMIC_SEQ_CST)
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
	const uint64_t units = args->list.n * rows_blocks(args, 4);

	for (uint64_t i = number; i < units; i += THREADS)
		rows_bits_u32_unit(args, launch, i);
	if (__atomic_fetch_add(&shared.control.done, 1, __ATOMIC_SEQ_CST) !=
	    THREADS - 1)
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
