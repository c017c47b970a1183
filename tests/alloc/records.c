/*
 * tests/alloc/records.c - no host memory for records
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#include "tests/support/beds/pools.h"
#include "tests/support/programs/sanitized.h"

/* The process gets so many bytes more than it has; -1: all it wants. */
static void leave_memory(long bytes)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	unsigned long pages = 0;
	FILE *file;

	if (bytes >= 0) {
		file = fopen("/proc/self/statm", "r");
		cr_assert(file && fscanf(file, "%lu", &pages) == 1);
		fclose(file);
		limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) +
				 (unsigned long)bytes;
	}
	cr_assert(!setrlimit(RLIMIT_AS, &limit));
}

static void open_large(struct pool_test *t, int kind)
{
	const struct pool_settings settings = {.kind = (enum pool_kind)kind,
					       .reserve = 1 << 30};
	size_t mapped;

	if (SANITIZED)
		cr_skip_test("the limit does not work with a sanitizer");
	pool_test_open(t, &settings);
	OK(pool_reserve(t->pool, UNITS(400000), &mapped));
}

/* Takes until there is no memory for another record; how many there are. */
static size_t take_all(struct pool_test *t, struct pool_block *last)
{
	const struct pool_request request = {
		.size = 1, .shared = 1, .tag = "x"};
	struct pool_figures was, is;
	enum philox_status status;
	size_t n = 0;

	leave_memory(3 << 20);
	do {
		was = figures(t);
		status = pool_take(t->pool, &request, last);
		n++;
	} while (status == PHILOX_OK && n < 400000);
	is = figures(t);
	leave_memory(-1);
	cr_assert(status == PHILOX_ERROR_MEMORY, "%s after %zu",
		  philox_status_name(status), n);
	NAMES("no memory to record");
	cr_assert(!memcmp(&was, &is, sizeof(was)));
	whole(t);
	OK(pool_take(t->pool, &request, last));
	whole(t);
	return n;
}

Test(pool_records, a_take_without_memory_for_its_record_changes_nothing)
{
	struct pool_block last;
	struct pool_test t;

	for (int kind = POOL_PLAIN; kind <= POOL_EXPANDABLE; kind++) {
		open_large(&t, kind);
		cr_assert(take_all(&t, &last) > 100);
		put(&t, last, 0);
		pool_test_close(&t);
	}
}

Test(pool_records, nor_does_one_in_a_session_which_can_be_undone)
{
	struct pool_session_figures f;
	struct pool_block before, last;
	struct pool_test t;
	size_t n;

	open_large(&t, POOL_PLAIN);
	before = take(&t, 3, 0);
	pool_session_begin(t.pool);
	put(&t, before, 1);
	n = take_all(&t, &last);
	pool_session_end(t.pool, NULL, 0, 1, &f);
	cr_assert(f.allocations == n && f.live == UNITS(n) &&
		  f.peak == UNITS(n));
	cr_assert(pool_is_live(t.pool, &before.id, 1));
	pool_test_close(&t);
}

Test(pool_records, checkpoints_and_restores_say_what_they_lack_memory_for)
{
	enum { N = 100000 };
	static uint64_t ids[N];
	struct pool_checkpoint *checkpoint;
	struct pool_block block;
	struct pool_figures was, is;
	size_t freed, revived;
	struct pool_test t;

	open_large(&t, POOL_PLAIN);
	for (int i = 0; i < N; i++) {
		const struct pool_request request = {.size = 1, .shared = 1};

		OK(pool_take(t.pool, &request, &block));
		ids[i] = block.id;
	}
	leave_memory(0);
	was = figures(&t);
	FAILS(pool_checkpoint(t.pool, &checkpoint), PHILOX_ERROR_MEMORY);
	leave_memory(-1);
	NAMES("100000 blocks");
	OK(pool_checkpoint(t.pool, &checkpoint));
	leave_memory(0);
	FAILS(pool_restore(t.pool, checkpoint, 0, ids, N, NULL, 0, &freed,
			   &revived),
	      PHILOX_ERROR_MEMORY);
	leave_memory(-1);
	is = figures(&t);
	cr_assert(!memcmp(&was, &is, sizeof(was)));
	OK(pool_restore(t.pool, checkpoint, 0, ids + N / 2, N / 2, NULL, 0,
			&freed, &revived));
	cr_assert(freed == N / 2 && !revived);
	OK(pool_restore(t.pool, checkpoint, 0, ids, N, NULL, 0, &freed,
			&revived));
	cr_assert(!freed && revived == N / 2);
	whole(&t);
	cr_assert(pool_is_live(t.pool, ids, N));
	pool_checkpoint_free(checkpoint);
	pool_test_close(&t);
}
