/*
 * tests/alloc/blocks.c - pools, by name: blocks taken and put
 */
#include "tests/support/pools.h"

static const struct pool_settings plain = {.kind = POOL_PLAIN};

#define PICTURE(t, text)                                               \
	cr_assert(!strcmp(picture(t), (text)), "\"%s\", not \"%s\"",   \
		  picture(t), (text))

Test(pool_blocks, the_smallest_piece_that_fits_is_taken)
{
	struct pool_test t;
	struct pool_block a, b, c, d;

	pool_test_open(&t, &plain);
	a = take(&t, 8, 0);
	take(&t, 1, 0);
	b = take(&t, 4, 0);
	take(&t, 1, 0);
	put(&t, a, 0);
	put(&t, b, 0);
	PICTURE(&t, "F8/0 L1 F4/0 L1 F114/0");
	c = take(&t, 3, 0);
	cr_assert(c.offset == b.offset);
	d = take(&t, 5, 0);
	cr_assert(d.offset == a.offset);
	PICTURE(&t, "L5 F3/0 L1 L3 F1/0 L1 F114/0");
	pool_test_close(&t);
}
