/*
 * tests/save/loops.c - texts with tickets of several iterations that cannot be
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/support.h"

/* A region with a ticket of 6 iterations, and one of 1. */
static struct philox_region *populate(struct fixture *f)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin_loop(region, f->stream, 0, 6, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	forward(f, region);
	return region;
}

/* A part of the text becomes another, under a right checksum. */
static char *changed(const char *text, const char *from, const char *to)
{
	size_t room = strlen(text) + strlen(to) + 64, size;
	const char *at = strstr(text, from);
	char *made = malloc(room), *last;

	cr_assert(made);
	cr_assert(at, "'%s' is not in %s", from, text);
	snprintf(made, room, "%.*s%s%s", (int)(at - text), text, to,
		 at + strlen(from));
	last = strstr(made, "checksum ");
	cr_assert(last);
	*last = '\0';
	size = (size_t)(last - made);
	snprintf(last, room - size, "checksum %016" PRIx64 " bytes %zu\n",
		 fnv1a(made), size);
	return made;
}

static const struct {
	const char *from, *to, *named;
} damages[] = {
	{" iterations 6", " iterations 1", "too small"},
	{" iterations 6", " iterations 0", "too small"},
	{" iterations 6", " iterations 4294967296", "no further digit"},
	{" iterations 6", " iterations -6", "a number"},
	{" iterations 6", " iterations", "end of the line"},
	{" iterations 6", " iterations 06", "no further digit"},
	{" iterations 6", "  iterations 6", "end of the line"},
	{" iterations 6", " iterations 6 iterations 6", "end of the line"},
	{" iterations 6", "", "without iterations"},
	{"philox context 3", "philox context 1", "iterations"},
	{"philox context 3", "philox context 2", "iterations"},
};

PROMISE(save_loops, texts_that_cannot_be_are_refused)
{
	struct philox_region *region = populate(f);
	struct ledger_view before = look(f, region);
	char *text;
	size_t size;

	OK(philox_context_save_text(f->context, &text, &size));
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char *bad = changed(text, damages[i].from, damages[i].to);

		FAILS(philox_context_load_text(f->context, bad, strlen(bad)),
		      PHILOX_ERROR_INVALID);
		NAMES(damages[i].named);
		NAMES("line ");
		unchanged(f, region, &before);
		free(bad);
	}
	OK(philox_context_load_text(f->context, text, size));
	unchanged(f, region, &before);
	free(text);
}

/* Another number of iterations is another text, and is taken. */
PROMISE(save_loops, the_number_in_the_text_is_the_ticket_s)
{
	struct philox_region *region = populate(f);
	struct philox_ticket tickets[2];
	struct philox_pass pass, view;
	char *text, *more;
	size_t size, n;

	OK(philox_context_save_text(f->context, &text, &size));
	more = changed(text, " iterations 6", " iterations 1000000");
	OK(philox_context_load_text(f->context, more, strlen(more)));
	OK(philox_region_tickets(region, tickets, 2, &n));
	cr_assert_eq(n, 2);
	OK(philox_backward_begin(region, f->stream, tickets[0], 0, &pass));
	OK(philox_pass_at(&pass, 999999, &view));
	FAILS(philox_pass_at(&pass, 1000000, &view), PHILOX_ERROR_INVALID);
	OK(philox_pass_abort(&pass));
	free(text);
	free(more);
}
