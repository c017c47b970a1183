/*
 * tests/ledger/spans.c - warnings of spans that are drawn twice in a forward
 *
 * A strict device and a debug build give them, others say nothing: each test
 * runs on all host devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include "lib/device/contract.h"
#include "tests/support/support.h"

static struct {
	int count;
	struct philox_log_entry last;
	char text[512];
} warnings;

static void note_warning(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (strcmp(entry->event, "span drawn twice"))
		return;
	cr_assert_eq(entry->level, PHILOX_LOG_WARNING);
	cr_assert_str_eq(entry->region, "layer");
	warnings.count++;
	warnings.last = *entry;
	snprintf(warnings.text, sizeof(warnings.text), "%s", entry->text);
	cr_assert(strstr(entry->text, entry->region));
	cr_assert(strstr(entry->text, entry->op), "%s", entry->text);
}

/* Whether this device reports overlaps. */
static int reports(const struct fixture *f)
{
#ifdef PHILOX_DEBUG
	(void)f;
	return 1;
#else
	return device_is_strict(f->device);
#endif
}

#define WARNED(times)                                                      \
	cr_assert_eq(warnings.count, reports(f) ? (times) : 0,             \
		     "%s: %d warnings, not %d: %s",                        \
		     philox_device_name(f->device), warnings.count, times, \
		     warnings.text)

static void draw_in(const struct philox_pass *pass, uint32_t op, uint32_t call,
		    struct philox_span span, void *out)
{
	const struct philox_fill_desc fill = {.size = sizeof(fill),
					      .dist = PHILOX_DIST_BITS,
					      .dtype = PHILOX_DTYPE_U32,
					      .span = span,
					      .out = out};

	OK(philox_pass_fill(pass, op, call, &fill));
}

static void draw_span(const struct philox_pass *pass, uint32_t op, void *out,
		      uint64_t first, uint64_t count)
{
	draw_in(pass, op, 0, philox_span_elements(first, count), out);
}

struct site {
	struct philox_region *region;
	void *out;
};

static struct site begin_site(struct fixture *f)
{
	memset(&warnings, 0, sizeof(warnings));
	OK(philox_context_set_log(f->context, note_warning, NULL));
	return (struct site){make_region(f, "layer"), make_memory(f, 4096)};
}

static void on_devices(void (*promise)(struct fixture *f))
{
	static const char *const names[] = {"host", "host:sync", "host:strict"};

	for (int i = 0; i < 3; i++) {
		struct fixture f;

		fixture_open(&f, names[i]);
		promise(&f);
		fixture_close(&f);
	}
}

#define SPANS_PROMISE(name)                  \
	static void name(struct fixture *f); \
	Test(spans, name, .timeout = 120)    \
	{                                    \
		on_devices(name);            \
	}                                    \
	static void name(struct fixture *f)

/* --- eager passes --------------------------------------------------------- */

SPANS_PROMISE(overlapping_ones_of_an_open_forward_are_reported)
{
	struct site site = begin_site(f);
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(site.region, f->stream, 0, &pass));
	draw_span(&pass, 0, site.out, 0, 100);
	draw_span(&pass, 2, site.out, 0, 100);   /* another op */
	draw_span(&pass, 0, site.out, 100, 100); /* the next chunk */
	draw_span(&pass, 0, site.out, 50, 0);    /* nothing */
	WARNED(0);
	draw_span(&pass, 0, site.out, 199, 1);
	WARNED(1);
	if (reports(f)) {
		cr_assert(strstr(warnings.text,
				 "op 0 'first', call 0, ticket 1"));
		cr_assert(strstr(warnings.text, "199 + 1 overlap 100 + 100"));
		cr_assert_eq(warnings.last.ticket.serial, 1);
		cr_assert_eq(warnings.last.capture_id, 0);
	}
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_forward_begin(site.region, f->stream, 0, &pass));
	draw_span(&pass, 0, site.out, 0, 100); /* another forward */
	WARNED(1);
	draw_span(&pass, 0, site.out, UINT64_MAX - 9, 10);
	draw_span(&pass, 0, site.out, UINT64_MAX, 1);
	WARNED(2);
	philox_pass_abort(&pass);
}

SPANS_PROMISE(each_operator_of_a_pass_is_reported_once)
{
	struct site site = begin_site(f);
	struct philox_pass pass, other;

	OK(philox_forward_begin(site.region, f->stream, 0, &pass));
	OK(philox_forward_begin(site.region, f->stream, 0, &other));
	for (int i = 0; i < 4; i++)
		draw_span(&pass, 0, site.out, 0, 8);
	WARNED(1);
	for (int i = 0; i < 4; i++)
		draw_span(&pass, 2, site.out, 0, 8);
	WARNED(2);
	draw_span(&other, 0, site.out, 0, 8);
	WARNED(2);
	draw_span(&other, 0, site.out, 0, 8);
	WARNED(3);
	OK(philox_pass_abort(&other));
	OK(philox_pass_abort(&pass));
}

SPANS_PROMISE(calls_of_an_operator_have_numbers_of_their_own)
{
	struct site site = begin_site(f);
	struct philox_pass pass;

	OK(philox_forward_begin(site.region, f->stream, 0, &pass));
	draw_in(&pass, 1, 0, philox_span_elements(0, 8), site.out);
	draw_in(&pass, 1, 1, philox_span_elements(0, 8), site.out);
	WARNED(0);
	draw_in(&pass, 1, 1, philox_span_elements(7, 1), site.out);
	WARNED(1);
	OK(philox_pass_abort(&pass));
}

SPANS_PROMISE(shards_that_lie_beside_each_other_are_not_reported)
{
	struct site site = begin_site(f);
	struct philox_pass pass;

	OK(philox_forward_begin(site.region, f->stream, 0, &pass));
	draw_in(&pass, 0, 0, philox_span_rows(0, 8, 4, 16), site.out);
	draw_in(&pass, 0, 0, philox_span_rows(4, 8, 12, 16), site.out);
	WARNED(0);
	draw_in(&pass, 0, 0, philox_span_rows(16 * 7 + 3, 1, 1, 16), site.out);
	WARNED(1);
	OK(philox_pass_abort(&pass));
}

SPANS_PROMISE(a_view_is_the_same_pass)
{
	struct site site = begin_site(f);
	struct philox_pass pass, view;

	OK(philox_forward_begin(site.region, f->stream, 0, &pass));
	OK(philox_pass_on(&pass, f->side, &view));
	draw_span(&pass, 0, site.out, 0, 8);
	draw_span(&view, 0, site.out, 0, 8);
	WARNED(1);
	OK(philox_pass_abort(&pass));
}

SPANS_PROMISE(a_forward_that_owes_nothing_is_watched_too)
{
	struct site site = begin_site(f);
	struct philox_pass pass;

	OK(philox_forward_begin(site.region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	draw_span(&pass, 0, site.out, 0, 8);
	draw_span(&pass, 0, site.out, 0, 8);
	WARNED(1);
	OK(philox_pass_commit(&pass, 0, NULL));
}

/* They all draw what the next forward will draw. */
SPANS_PROMISE(warm_ups_are_not_watched)
{
	struct site site = begin_site(f);
	struct philox_pass one, two, forward;

	OK(philox_forward_begin(site.region, f->stream, PHILOX_PASS_WARMUP,
				&one));
	OK(philox_forward_begin(site.region, f->stream, PHILOX_PASS_WARMUP,
				&two));
	OK(philox_forward_begin(site.region, f->stream, 0, &forward));
	draw_span(&one, 0, site.out, 0, 8);
	draw_span(&two, 0, site.out, 0, 8);
	draw_span(&forward, 0, site.out, 0, 8);
	WARNED(0);
	OK(philox_pass_abort(&one));
	OK(philox_pass_abort(&two));
	OK(philox_pass_abort(&forward));
}

/* A re-seed begins at offset 0 again, beside a forward that is still open. */
SPANS_PROMISE(forwards_at_the_same_offset_of_two_runs_are_two)
{
	struct site site = begin_site(f);
	struct philox_pass old, again;

	for (unsigned flags = 0; flags <= PHILOX_PASS_INFERENCE; flags++) {
		OK(philox_generator_seed(philox_context_generator(f->context),
					 flags));
		OK(philox_forward_begin(site.region, f->stream, flags, &old));
		OK(philox_generator_seed(philox_context_generator(f->context),
					 flags + 9));
		OK(philox_forward_begin(site.region, f->stream, flags, &again));
		draw_span(&old, 0, site.out, 0, 8);
		draw_span(&again, 0, site.out, 0, 8);
		WARNED(0);
		OK(philox_pass_abort(&old));
		OK(philox_pass_abort(&again));
	}
}

SPANS_PROMISE(a_backward_may_draw_again_and_again)
{
	struct site site = begin_site(f);
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(site.region, f->stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_backward_begin(site.region, f->stream, ticket, 0, &pass));
	draw_span(&pass, 0, site.out, 0, 100);
	draw_span(&pass, 0, site.out, 0, 100);
	OK(philox_pass_commit(&pass, 0, NULL));
	WARNED(0);
}

/* --- captured passes ------------------------------------------------------ */

SPANS_PROMISE(captured_forwards_are_watched_as_eager_ones_are)
{
	struct site site = begin_site(f);
	struct philox_ticket placeholder;
	struct philox_graph *graph;
	struct philox_pass pass;

	OK(philox_capture_begin(f->context, f->stream));
	for (int i = 0; i < 2; i++) {
		OK(philox_forward_begin(site.region, f->stream, 0, &pass));
		draw_span(&pass, 2, site.out, 0, 8);
		draw_span(&pass, 2, site.out, 8, 8);
		WARNED(i);
		draw_span(&pass, 2, site.out, 4, 8);
		draw_span(&pass, 2, site.out, 4, 8);
		WARNED(i + 1);
		OK(philox_pass_commit(&pass, 0, &placeholder));
	}
	OK(philox_backward_begin(site.region, f->stream, placeholder, 0,
				 &pass));
	draw_span(&pass, 2, site.out, 0, 8);
	draw_span(&pass, 2, site.out, 0, 8);
	OK(philox_pass_commit(&pass, 0, NULL));
	WARNED(2);
	if (reports(f)) {
		cr_assert(strstr(warnings.text, "pass 1 of capture "));
		cr_assert_eq(warnings.last.ticket.serial, 0);
		cr_assert_neq(warnings.last.capture_id, 0);
	}
	OK(philox_capture_end(f->context, f->stream, &graph));
	OK(philox_graph_destroy(graph));
}
