/*
 * tools/diff/events.c - the first event in which two journals differ
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/diff/diff.h"

void diff_print_event(const char *name, const struct written_event *event)
{
	printf("  %s: %.*s\n", name, (int)event->length, event->text);
}

/* Whether two events are of one kind, with the same fields. */
static int are_alike(const struct written_word *a, size_t n_a,
		     const struct written_word *b, size_t n_b)
{
	if (n_a != n_b || !written_same(a[0], b[0]))
		return 0;
	for (size_t i = 1; i < n_a; i += 2)
		if (!written_same(a[i], b[i]))
			return 0;
	return 1;
}

void diff_print_fields(const struct written_word *a,
		       const struct written_word *b, size_t n)
{
	const char *between = ": ";

	for (size_t i = 1; i + 1 < n; i += 2) {
		if (written_same(a[i + 1], b[i + 1]))
			continue;
		printf("%s%.*s %.*s in A, %.*s in B", between, (int)a[i].length,
		       a[i].text, (int)a[i + 1].length, a[i + 1].text,
		       (int)b[i + 1].length, b[i + 1].text);
		between = "; ";
	}
}

/* The event, and its region or graph if that is the same. */
static void print_subject(const struct written_word *words, size_t n,
			  const struct written_word *others)
{
	static const char *const subjects[] = {"region", "graph"};

	printf("%.*s", (int)words[0].length, words[0].text);
	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		struct written_word name = written_field(words, n, subjects[i]);

		if (name.text &&
		    written_same(name, written_field(others, n, subjects[i])))
			printf(" of %s %.*s", subjects[i], (int)name.length,
			       name.text);
	}
}

static void print_numbers(const char *what, uint64_t a, uint64_t b)
{
	printf("%s %" PRIu64, what, a);
	if (a != b)
		printf(" of A and %" PRIu64 " of B", b);
}

void diff_print_place(const struct written_event *a,
		      const struct written_event *b)
{
	print_numbers("context", a->context, b->context);
	printf(", ");
	print_numbers("event", a->number, b->number);
	printf(": ");
}

static int report_events(const struct written_event *a,
			 const struct written_event *b)
{
	struct written_word of_a[WRITTEN_WORDS_MAX], of_b[WRITTEN_WORDS_MAX];
	size_t n_a = written_words(a, of_a), n_b = written_words(b, of_b);

	diff_print_place(a, b);
	if (are_alike(of_a, n_a, of_b, n_b)) {
		print_subject(of_a, n_a, of_b);
		diff_print_fields(of_a, of_b, n_a);
	} else {
		printf("%.*s in A, %.*s in B", (int)of_a[0].length,
		       of_a[0].text, (int)of_b[0].length, of_b[0].text);
	}
	printf("\n");
	diff_print_event("A", a);
	diff_print_event("B", b);
	return 1;
}

/* One journal has no more events of a context. */
static int report_end(const struct written_event *event, int is_first,
		      const char *name, const char *other)
{
	printf("context %" PRIu64, event->context);
	if (is_first)
		printf(" is in %s only, from event %" PRIu64 " on:\n", name,
		       event->number);
	else
		printf(": %s has ended, %s continues with event %" PRIu64 ":\n",
		       other, name, event->number);
	diff_print_event(name, event);
	return 1;
}

static int is_first(const struct written *journal, size_t index)
{
	return !index || journal->events[index - 1].context !=
				 journal->events[index].context;
}

int diff_events(const struct written *a, const struct written *b)
{
	size_t i;

	for (i = 0; i < a->n_events && i < b->n_events; i++) {
		const struct written_event *of_a = &a->events[i];
		const struct written_event *of_b = &b->events[i];

		if (of_a->rank < of_b->rank)
			return report_end(of_a, is_first(a, i), "A", "B");
		if (of_b->rank < of_a->rank)
			return report_end(of_b, is_first(b, i), "B", "A");
		if (of_a->length != of_b->length ||
		    memcmp(of_a->text, of_b->text, of_a->length))
			return report_events(of_a, of_b);
	}
	if (i < a->n_events)
		return report_end(&a->events[i], is_first(a, i), "A", "B");
	if (i < b->n_events)
		return report_end(&b->events[i], is_first(b, i), "B", "A");
	printf("no difference: events %zu\n", i);
	return 0;
}
