/*
 * tools/diff/by_pass.c - the first pass in which two journals differ:
 * Note [By passes]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/names/keyed.h"
#include "tools/cli/cli.h"
#include "tools/diff/diff.h"

struct comparison {
	struct step_list a, b;
	struct keyed apart; /* regions whose serials are not comparable:
			       a forward had a ticket in one journal only */
	const char *why;
};

/* --- are two steps the same? ---------------------------------------------- */

static int same_text(struct written_word a, struct written_word b)
{
	return !a.text == !b.text && (!a.text || written_same(a, b));
}

static struct keyed_by region_key(const struct diff_step *step)
{
	struct keyed_by key = keyed_by(step->event->rank);

	keyed_by_word(&key, step->region.text, step->region.length);
	return key;
}

static int is_apart(const struct comparison *c, const struct diff_step *step)
{
	const struct keyed_by key = region_key(step);

	return keyed_value(&c->apart, &key) != NULL;
}

static int same_state(const struct diff_step *a, const struct diff_step *b)
{
	return same_text(a->seed, b->seed) && same_text(a->offset, b->offset);
}

/* A ticket that one journal does not have, or counts otherwise, is no other. */
static int tickets_differ(const struct comparison *c, const struct diff_step *a,
			  const struct diff_step *b)
{
	return a->ticket && b->ticket && a->ticket != b->ticket &&
	       !is_apart(c, a);
}

static int same_flags(const struct diff_step *a, const struct diff_step *b)
{
	if (!a->flags_known || !b->flags_known)
		return 1;
	return a->kind == DIFF_FORWARD ? a->inference == b->inference
				       : a->retain == b->retain;
}

static int same_kind(const struct diff_step *a, const struct diff_step *b)
{
	return a->kind == b->kind &&
	       (a->kind == DIFF_OTHER || written_same(a->region, b->region));
}

static int same_step(const struct comparison *c, const struct diff_step *a,
		     const struct diff_step *b)
{
	if (!same_kind(a, b))
		return 0;
	if (a->kind == DIFF_OTHER)
		return a->event->length == b->event->length &&
		       !memcmp(a->event->text, b->event->text,
			       a->event->length);
	return same_state(a, b) && !tickets_differ(c, a, b) && same_flags(a, b);
}

/* Notes that a forward has a ticket in one journal only: 0, or -1. */
static int note_apart(struct comparison *c, const struct diff_step *a,
		      const struct diff_step *b)
{
	const struct keyed_by key = region_key(a);

	if (a->kind != DIFF_FORWARD || !a->ticket == !b->ticket ||
	    a->inference || b->inference || is_apart(c, a))
		return 0;
	return keyed_put(&c->apart, &key, c) ? 0 : -1;
}

/* --- one step in words ---------------------------------------------------- */

/* The region, graph or generator of an event that is no pass; or no text. */
static struct written_word subject_of(const struct diff_step *step,
				      const char **what)
{
	static const char *const subjects[] = {"region", "rows", "data",
					       "graph", "generator"};
	struct written_word words[WRITTEN_WORDS_MAX], name = {NULL, 0};
	size_t n;

	n = written_words(step->event, words);
	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		*what = subjects[i];
		name = written_field(words, n, subjects[i]);
		if (name.text)
			break;
	}
	return name;
}

static const char *kind_name(const struct diff_step *step)
{
	if (step->kind == DIFF_BACKWARD)
		return "backward";
	return step->inference ? "inference forward" : "forward";
}

static void print_other(const struct diff_step *step)
{
	struct written_word words[WRITTEN_WORDS_MAX], name;
	const char *what;

	written_words(step->event, words);
	printf("%.*s", (int)words[0].length, words[0].text);
	name = subject_of(step, &what);
	if (name.text)
		printf(" of %s %.*s", what, (int)name.length, name.text);
}

/*
 * The ticket of a pass; of one in a graph that has none, that of the forward
 * with its state in the other journal. 0: there is none either.
 */
static uint64_t ticket_of(const struct comparison *c,
			  const struct diff_step *step)
{
	const struct step_list *both[] = {&c->a, &c->b};

	for (size_t k = 0; k < 2 && !step->ticket; k++)
		for (size_t i = 0; i < both[k]->n; i++) {
			const struct diff_step *other = &both[k]->steps[i];

			if (other->kind == DIFF_FORWARD && other->ticket &&
			    other->event->rank == step->event->rank &&
			    written_same(other->region, step->region) &&
			    same_state(other, step))
				return other->ticket;
		}
	return step->ticket;
}

static void print_pass(const struct diff_step *step, uint64_t ticket)
{
	printf("%s of region %.*s", kind_name(step), (int)step->region.length,
	       step->region.text);
	if (ticket)
		printf(", ticket %" PRIu64, ticket);
}

/* 'backward of region "hidden", ticket 3' */
static void print_step(const struct comparison *c, const struct diff_step *step)
{
	if (step->kind == DIFF_OTHER)
		print_other(step);
	else
		print_pass(step, ticket_of(c, step));
}

static void print_word(const char **between, const char *what,
		       struct written_word a, struct written_word b)
{
	if (same_text(a, b))
		return;
	printf("%s%s %.*s in A, %.*s in B", *between, what,
	       a.text ? (int)a.length : 7, a.text ? a.text : "unknown",
	       b.text ? (int)b.length : 7, b.text ? b.text : "unknown");
	*between = "; ";
}

/* What is not the same in two passes of one kind and region. */
static void print_pass_fields(const struct comparison *c,
			      const struct diff_step *a,
			      const struct diff_step *b)
{
	const char *between = ": ";

	if (tickets_differ(c, a, b)) {
		printf("%sticket %" PRIu64 " in A, %" PRIu64 " in B", between,
		       a->ticket, b->ticket);
		between = "; ";
	}
	print_word(&between, "seed", a->seed, b->seed);
	print_word(&between, "offset", a->offset, b->offset);
	if (same_flags(a, b))
		return;
	if (a->kind == DIFF_FORWARD)
		printf("%sinference in %s only", between,
		       a->inference ? "A" : "B");
	else
		printf("%sretained in %s only", between, a->retain ? "A" : "B");
}

static void print_fields(const struct comparison *c, const struct diff_step *a,
			 const struct diff_step *b)
{
	struct written_word of_a[WRITTEN_WORDS_MAX], of_b[WRITTEN_WORDS_MAX];
	size_t n_a, n_b;

	if (a->kind != DIFF_OTHER) {
		print_pass_fields(c, a, b);
		return;
	}
	n_a = written_words(a->event, of_a);
	n_b = written_words(b->event, of_b);
	diff_print_fields(of_a, of_b, n_a < n_b ? n_a : n_b);
}

/* --- the first difference ------------------------------------------------- */

/*
 * Whether two steps are about one thing, though other fields may differ: one
 * pass of a ticket, or of a state where tickets cannot be compared; one event of
 * a region or generator.
 */
static int is_about(const struct comparison *c, const struct diff_step *a,
		    const struct diff_step *b)
{
	struct written_word of_a[WRITTEN_WORDS_MAX], of_b[WRITTEN_WORDS_MAX];
	const char *what_a, *what_b;

	if (!same_kind(a, b))
		return 0;
	if (a->kind != DIFF_OTHER)
		return a->ticket && b->ticket && !is_apart(c, a)
			       ? a->ticket == b->ticket
			       : same_state(a, b);
	written_words(a->event, of_a);
	written_words(b->event, of_b);
	return written_same(of_a[0], of_b[0]) &&
	       same_text(subject_of(a, &what_a), subject_of(b, &what_b)) &&
	       what_a == what_b;
}

/* Whether a step is also among the others from a place on, in its context. */
static int comes_in(const struct comparison *c, const struct diff_step *step,
		    const struct step_list *others, size_t from)
{
	for (size_t i = from; i < others->n; i++) {
		const struct diff_step *other = &others->steps[i];

		if (other->event->rank == step->event->rank &&
		    is_about(c, step, other))
			return 1;
	}
	return 0;
}

static void print_only(const struct comparison *c, const struct diff_step *step,
		       const char *in, const char *other,
		       const struct diff_step *goes_on)
{
	print_step(c, step);
	printf(" is in %s only; %s continues with ", in, other);
	print_step(c, goes_on);
}

/* Two steps that are about different things. */
static void print_order(const struct comparison *c, const struct diff_step *a,
			const struct diff_step *b, size_t at)
{
	int a_in_b = comes_in(c, a, &c->b, at);
	int b_in_a = comes_in(c, b, &c->a, at);

	if (!a_in_b && b_in_a) {
		print_only(c, a, "A", "B", b);
		return;
	}
	if (a_in_b && !b_in_a) {
		print_only(c, b, "B", "A", a);
		return;
	}
	printf("%s", a_in_b ? "another order: " : "");
	print_step(c, a);
	printf(" in A, ");
	print_step(c, b);
	printf(" in B");
}

/* Tickets that differ are among the fields. */
static void print_changed(const struct comparison *c, const struct diff_step *a,
			  const struct diff_step *b)
{
	if (a->kind == DIFF_OTHER)
		print_other(a);
	else
		print_pass(a, tickets_differ(c, a, b) ? 0 : a->ticket);
	print_fields(c, a, b);
}

/* What a generator's other seed changes first. */
static void print_first_pass(const struct comparison *c, size_t from)
{
	for (size_t i = from; i < c->a.n && i < c->b.n; i++) {
		const struct diff_step *a = &c->a.steps[i], *b = &c->b.steps[i];

		if (a->kind == DIFF_OTHER || same_step(c, a, b))
			continue;
		if (!same_kind(a, b))
			return;
		printf("  the first pass that it changes: ");
		print_changed(c, a, b);
		printf("\n");
		return;
	}
}

/* The two may be passes of which one has a ticket, so that only states tell. */
static int is_same_place(const struct comparison *c, const struct diff_step *a,
			 const struct diff_step *b, size_t at)
{
	return is_about(c, a, b) ||
	       (same_kind(a, b) && !comes_in(c, a, &c->b, at) &&
		!comes_in(c, b, &c->a, at));
}

static void print_how(const struct comparison *c)
{
	printf("by passes%s%s%s: ", c->why ? " (" : "", c->why ? c->why : "",
	       c->why ? ")" : "");
}

static int report_step(const struct comparison *c, size_t at)
{
	const struct diff_step *a = &c->a.steps[at], *b = &c->b.steps[at];

	print_how(c);
	diff_print_place(a->event, b->event);
	if (is_same_place(c, a, b, at)) {
		print_changed(c, a, b);
	} else {
		print_order(c, a, b, at);
	}
	printf("\n");
	diff_print_event("A", a->event);
	diff_print_event("B", b->event);
	if (a->kind == DIFF_OTHER && b->kind == DIFF_OTHER)
		print_first_pass(c, at);
	return 1;
}

/* One journal has no more of a context. */
static int report_rest(const struct comparison *c, const struct diff_step *step,
		       const char *name, const char *other)
{
	print_how(c);
	printf("context %" PRIu64 ", event %" PRIu64 ": ", step->event->context,
	       step->event->number);
	print_step(c, step);
	printf(" is in %s only: %s has no more of this context\n", name, other);
	diff_print_event(name, step->event);
	return 1;
}

/* --- all ------------------------------------------------------------------ */

static int compare(struct comparison *c)
{
	size_t i;

	for (i = 0; i < c->a.n && i < c->b.n; i++) {
		const struct diff_step *a = &c->a.steps[i], *b = &c->b.steps[i];

		if (a->event->rank < b->event->rank)
			return report_rest(c, a, "A", "B");
		if (b->event->rank < a->event->rank)
			return report_rest(c, b, "B", "A");
		if (!same_step(c, a, b))
			return report_step(c, i);
		if (note_apart(c, a, b)) {
			complain("diff", "out of memory");
			return 2;
		}
	}
	if (i < c->a.n)
		return report_rest(c, &c->a.steps[i], "A", "B");
	if (i < c->b.n)
		return report_rest(c, &c->b.steps[i], "B", "A");
	print_how(c);
	printf("no difference: passes %zu, other events %zu\n", c->a.n_passes,
	       c->a.n - c->a.n_passes);
	return 0;
}

int diff_passes(const struct written *a, const struct written *b,
		const char *why)
{
	struct comparison c = {.why = why};
	int result = 2;

	if (steps_read(a, &c.a) || steps_read(b, &c.b))
		complain("diff", "out of memory");
	else
		result = compare(&c);
	keyed_finish(&c.apart);
	steps_finish(&c.a);
	steps_finish(&c.b);
	return result;
}

int diff_has_graphs(const struct written *journal)
{
	static const char *const starts[] = {"launch-", "capture-"};

	for (size_t i = 0; i < journal->n_events; i++)
		for (size_t k = 0; k < 2; k++)
			if (journal->events[i].length > strlen(starts[k]) &&
			    !memcmp(journal->events[i].text, starts[k],
				    strlen(starts[k])))
				return 1;
	return 0;
}
