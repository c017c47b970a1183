/*
 * tests/alloc/growth.c - how pools grow, and what they give back
 */
#include <philox/testing.h>
#include "tests/support/pools.h"

static struct pool_request of_units(size_t units)
{
	return (struct pool_request){.size = UNITS(units), .home = 1};
}

Test(pool_growth, an_extent_has_the_step_s_size_or_what_is_needed)
{
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		take(&t, 1, 0);
		cr_assert(figures(&t).mapped == UNITS(128));
		take(&t, 300, 0);
		if (kind_ == POOL_PLAIN)
			PICTURE(&t, "L1 F127/0 | L300");
		else
			PICTURE(&t, "L1 L300 F83/0");
		cr_assert(pool_newest(t.pool) == 2);
	}
}

Test(pool_growth, the_lowest_gap_that_will_do_is_filled)
{
	const struct pool_settings settings = {.kind = POOL_EXPANDABLE};
	struct pool_block b[4];
	struct pool_test t;
	size_t trimmed;

	pool_test_open(&t, &settings);
	for (int i = 0; i < 4; i++)
		b[i] = take(&t, 128, 0);
	put(&t, b[0], 0);
	put(&t, b[2], 0);
	OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
	cr_assert(trimmed == UNITS(256));
	PICTURE(&t, "L128 | L128");
	take(&t, 129, 0); /* in neither gap */
	PICTURE(&t, "L128 | L128 L129 F127/0");
	take(&t, 100, 0);
	take(&t, 101, 0);
	take(&t, 127, 0);
	PICTURE(&t, "L128 | L128 L129 L100 F27/0 | ");
	pool_test_close(&t);
}
