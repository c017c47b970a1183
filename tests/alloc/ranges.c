/*
 * tests/alloc/ranges.c - sets of addresses and of numbers
 * (lib/containers/ranges.h, numbers.h)
 */
#include <criterion/criterion.h>
#include <string.h>
#include "lib/containers/numbers.h"
#include "lib/containers/ranges.h"

enum { ROOM = 200, STEPS = 20000 };

static unsigned any(unsigned below)
{
	static uint64_t state = 7;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((state >> 33) % below);
}

static struct range any_range(void)
{
	uintptr_t begin = any(ROOM);

	return (struct range){begin, begin + any((unsigned)(ROOM - begin + 1))};
}

/* The first run of addresses of a range that are, or are not, in the set. */
static struct range expected(const char *in, struct range range, int wanted)
{
	while (range.begin < range.end && in[range.begin] != wanted)
		range.begin++;
	for (uintptr_t at = range.begin; at < range.end; at++)
		if (in[at] != wanted)
			range.end = at;
	return range;
}

static void same(struct range found, struct range range, const char *what)
{
	cr_assert(range_is_empty(found) == range_is_empty(range), "%s", what);
	cr_assert(range_is_empty(range) || (found.begin == range.begin &&
					    found.end == range.end),
		  "%s", what);
}

/* In order, and no two of them touch. */
static void well_formed(const struct ranges *set, const char *in)
{
	size_t ranges = 0;

	for (size_t i = 0; i < ROOM; i++)
		ranges += in[i] && (!i || !in[i - 1]);
	cr_assert_eq(set->n, ranges);
	for (size_t i = 0; i < set->n; i++) {
		cr_assert(set->items[i].begin < set->items[i].end);
		cr_assert(!i || set->items[i - 1].end < set->items[i].begin);
	}
}

Test(ranges, hold_what_a_list_of_all_addresses_holds)
{
	struct ranges set = {.items = NULL};
	char in[ROOM + 1] = {0};

	for (int i = 0; i < STEPS; i++) {
		const struct range range = any_range();
		const int add = (int)any(2);

		if (add)
			cr_assert(ranges_add(&set, range));
		else
			ranges_remove(&set, range);
		memset(in + range.begin, add, range.end - range.begin);
		well_formed(&set, in);
		for (int k = 0; k < 3; k++) {
			const struct range look = any_range();

			same(ranges_meet(&set, look), expected(in, look, 1),
			     "met");
			same(ranges_gap(&set, look), expected(in, look, 0),
			     "gap");
		}
	}
	ranges_finish(&set);
}

/* --- sets of numbers ------------------------------------------------------ */

Test(numbers, the_least_that_is_missing_is_what_a_list_of_all_says)
{
	enum { NUMBERS = 5000 };
	static char in[NUMBERS + 1];
	struct number_set set = {.room = 0};
	uint32_t number, least;

	cr_assert_eq(numbers_missing(&set), 0);
	for (size_t i = 0; i < 20 * NUMBERS; i++) {
		/* More come than go, so that the first words fill up */
		number = any(4) ? numbers_missing(&set) : any(NUMBERS);
		if (number < NUMBERS && !in[number]) {
			cr_assert(numbers_reserve(&set, number + 1));
			numbers_put(&set, number);
			in[number] = 1;
		} else if (number < NUMBERS) {
			numbers_remove(&set, number);
			in[number] = 0;
		}
		for (least = 0; in[least];)
			least++;
		cr_assert_eq(numbers_missing(&set), least);
		cr_assert_eq(numbers_has(&set, number),
			     number < NUMBERS && in[number]);
	}
	numbers_finish(&set);
	cr_assert(!numbers_enlarge(&set, NUMBERS_END + 1));
}
