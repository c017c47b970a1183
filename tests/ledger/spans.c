/*
 * tests/ledger/spans.c - a debug build warns of spans drawn twice
 *
 * Other builds say nothing, which is tested too.
 */
#include "tests/support/support.h"

static int warnings;

static void count_warning(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (strcmp(entry->event, "span drawn twice"))
		return;
	cr_assert_str_eq(entry->region, "layer");
	cr_assert_str_eq(entry->op, "first");
	warnings++;
}

static void draw_span(const struct philox_pass *pass, uint32_t op, void *out,
		      uint64_t first, uint64_t count)
{
	OK(philox_bits(pass, op, PHILOX_U32, philox_elements(first, count),
		       out));
}

/* The warnings a debug build gives, and the others do not. */
static int expected(int count)
{
#ifdef PHILOX_DEBUG
	return count;
#else
	return 0 * count;
#endif
}

PROMISE(spans, overlapping_ones_of_an_open_forward_are_reported)
{
	struct philox_region *region = make_region(f, "layer");
	void *out = make_memory(f, 4096);
	struct philox_ticket ticket;
	struct philox_pass pass;

	warnings = 0;
	philox_context_set_log(f->context, count_warning, NULL);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	draw_span(&pass, 0, out, 0, 100);
	draw_span(&pass, 2, out, 0, 100);   /* another op */
	draw_span(&pass, 0, out, 100, 100); /* the next chunk */
	draw_span(&pass, 0, out, 50, 0);    /* nothing */
	cr_assert_eq(warnings, 0);
	draw_span(&pass, 0, out, 199, 1);
	cr_assert_eq(warnings, expected(1));
	OK(philox_forward_commit(&pass, &ticket));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	draw_span(&pass, 0, out, 0, 100); /* another forward */
	cr_assert_eq(warnings, expected(1));
	draw_span(&pass, 0, out, UINT64_MAX - 9, 10);
	draw_span(&pass, 0, out, UINT64_MAX, 1);
	cr_assert_eq(warnings, expected(2));
	philox_pass_abort(&pass);
}

PROMISE(spans, a_backward_may_draw_again_and_again)
{
	struct philox_region *region = make_region(f, "layer");
	void *out = make_memory(f, 4096);
	struct philox_ticket ticket;
	struct philox_pass pass;

	warnings = 0;
	philox_context_set_log(f->context, count_warning, NULL);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_forward_commit(&pass, &ticket));
	OK(philox_backward_begin(region, ticket, f->stream, 0, &pass));
	draw_span(&pass, 0, out, 0, 100);
	draw_span(&pass, 0, out, 0, 100);
	OK(philox_backward_commit(&pass, 0));
	cr_assert_eq(warnings, 0);
}
