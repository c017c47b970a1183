/*
 * tools/journal/diff.c - philox diff: the first difference of two runs, in
 * words
 *
 * Two saved contexts are compared object by object, two journals event by event
 * within each context, the first with the first and so on: neither the order of
 * events of different contexts nor the numbers of contexts and events matter.
 * Called "A" and "B" throughout, in the order of the command line.
 */
#include "tools/tools.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tools/common/complain.h"
#include "tools/common/options.h"
#include "lib/state/journal.h"
#include "tools/common/written.h"

/* Functions that compare print a difference and return 1, or return 0. */
static int differs(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	return 1;
}

/* --- saved contexts ------------------------------------------------------- */

static int compare_states(const char *what, struct philox_state a,
			  struct philox_state b)
{
	if (a.seed != b.seed)
		return differs("%s: seed %016" PRIx64 " in A, %016" PRIx64
			       " in B",
			       what, a.seed, b.seed);
	if (a.offset != b.offset)
		return differs("%s: offset %" PRIu64 " in A, %" PRIu64 " in B",
			       what, a.offset, b.offset);
	return 0;
}

static int compare_numbers(const char *what, const char *number, uint64_t a,
			   uint64_t b)
{
	if (a == b)
		return 0;
	return differs("%s: %s %" PRIu64 " in A, %" PRIu64 " in B", what,
		       number, a, b);
}

static int compare_generators(const struct saved *a, const struct saved *b)
{
	size_t i;

	for (i = 0; i < a->n_generators && i < b->n_generators; i++) {
		char what[48];

		snprintf(what, sizeof(what), "generator %zu", i);
		if (compare_states(what, a->generators[i], b->generators[i]))
			return 1;
	}
	if (a->n_generators != b->n_generators)
		return differs("generator %zu is in %s only", i,
			       i < a->n_generators ? "A" : "B");
	return 0;
}

static int compare_generator_of(const char *what, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	if (a == SAVE_NO_GENERATOR || b == SAVE_NO_GENERATOR)
		return differs("%s: its generator was destroyed in %s only",
			       what, a == SAVE_NO_GENERATOR ? "A" : "B");
	return compare_numbers(what, "generator", a, b);
}

static struct journal_text op_name(const struct saved_op *op)
{
	return op->name ? journal_name(op->name)
			: (struct journal_text){"without a name"};
}

static int compare_op(const char *region, size_t index,
		      const struct saved_op *a, const struct saved_op *b)
{
	char what[sizeof(struct journal_text) + 48];

	snprintf(what, sizeof(what), "%s, op %zu", region, index);
	if (!a->name != !b->name || (a->name && strcmp(a->name, b->name)))
		return differs("%s: %s in A, %s in B", what, op_name(a).text,
			       op_name(b).text);
	return compare_numbers(what, "calls", a->calls, b->calls) ||
	       compare_numbers(what, "advance", a->advance, b->advance);
}

static int compare_ops(const char *what, const struct saved *a,
		       const struct saved_region *of_a, const struct saved *b,
		       const struct saved_region *of_b)
{
	for (size_t i = 0; i < of_a->n_ops && i < of_b->n_ops; i++)
		if (compare_op(what, i, &a->ops[of_a->op + i],
			       &b->ops[of_b->op + i]))
			return 1;
	return compare_numbers(what, "operators", of_a->n_ops, of_b->n_ops);
}

/* A serial above all others marks the end of a list. */
static uint64_t serial_at(const struct saved *saved,
			  const struct saved_region *region, size_t index)
{
	return index < region->n_tickets
		       ? saved->tickets[region->ticket + index].serial
		       : UINT64_MAX;
}

/* Tickets are in order of serial. */
static int compare_tickets(const char *region, const struct saved *a,
			   const struct saved_region *of_a,
			   const struct saved *b,
			   const struct saved_region *of_b)
{
	for (size_t i = 0; i < of_a->n_tickets || i < of_b->n_tickets; i++) {
		uint64_t in_a = serial_at(a, of_a, i);
		uint64_t in_b = serial_at(b, of_b, i);
		char what[sizeof(struct journal_text) + 48];

		snprintf(what, sizeof(what), "%s, ticket %" PRIu64, region,
			 in_a < in_b ? in_a : in_b);
		if (in_a != in_b)
			return differs("%s is pending in %s only", what,
				       in_a < in_b ? "A" : "B");
		if (compare_states(what, a->tickets[of_a->ticket + i].state,
				   b->tickets[of_b->ticket + i].state))
			return 1;
	}
	return 0;
}

static int compare_region(const struct saved *a,
			  const struct saved_region *of_a,
			  const struct saved *b,
			  const struct saved_region *of_b)
{
	char what[sizeof(struct journal_text) + 16];

	snprintf(what, sizeof(what), "region %s",
		 journal_name(of_a->name).text);
	if (of_a->alive != of_b->alive)
		return differs("%s was destroyed in %s only", what,
			       of_a->alive ? "B" : "A");
	return compare_generator_of(what, of_a->generator, of_b->generator) ||
	       compare_numbers(what, "flags", of_a->flags, of_b->flags) ||
	       compare_ops(what, a, of_a, b, of_b) ||
	       compare_states(what, of_a->state, of_b->state) ||
	       compare_numbers(what, "next serial", of_a->serial,
			       of_b->serial) ||
	       compare_tickets(what, a, of_a, b, of_b);
}

static int only_in(const struct saved_region *region, const char *name)
{
	return differs("region %s is in %s only",
		       journal_name(region->name).text, name);
}

/* Regions are in order of name. */
static int compare_regions(const struct saved *a, const struct saved *b)
{
	size_t i;

	for (i = 0; i < a->n_regions && i < b->n_regions; i++) {
		const struct saved_region *of_a = &a->regions[i];
		const struct saved_region *of_b = &b->regions[i];
		int order = strcmp(of_a->name, of_b->name);

		if (order)
			return only_in(order < 0 ? of_a : of_b,
				       order < 0 ? "A" : "B");
		if (compare_region(a, of_a, b, of_b))
			return 1;
	}
	if (i < a->n_regions)
		return only_in(&a->regions[i], "A");
	if (i < b->n_regions)
		return only_in(&b->regions[i], "B");
	return 0;
}

static int compare_table(const struct saved *a, const struct saved_table *of_a,
			 const struct saved *b, const struct saved_table *of_b)
{
	char what[sizeof(struct journal_text) + 32];

	snprintf(what, sizeof(what), "rows %s", journal_name(of_a->name).text);
	if (compare_numbers(what, "generator", of_a->generator,
			    of_b->generator) ||
	    compare_numbers(what, "count", of_a->count, of_b->count))
		return 1;
	for (size_t i = 0; i < of_a->n_rows; i++) {
		snprintf(what, sizeof(what), "rows %s, row %zu",
			 journal_name(of_a->name).text, i);
		if (compare_states(what, a->rows[of_a->row + i],
				   b->rows[of_b->row + i]))
			return 1;
	}
	return 0;
}

static int table_only_in(const struct saved_table *table, const char *name)
{
	return differs("rows %s are in %s only", journal_name(table->name).text,
		       name);
}

/* So are tables of rows. */
static int compare_tables(const struct saved *a, const struct saved *b)
{
	size_t i;

	for (i = 0; i < a->n_tables && i < b->n_tables; i++) {
		const struct saved_table *of_a = &a->tables[i];
		const struct saved_table *of_b = &b->tables[i];
		int order = strcmp(of_a->name, of_b->name);

		if (order)
			return table_only_in(order < 0 ? of_a : of_b,
					     order < 0 ? "A" : "B");
		if (compare_table(a, of_a, b, of_b))
			return 1;
	}
	if (i < a->n_tables)
		return table_only_in(&a->tables[i], "A");
	if (i < b->n_tables)
		return table_only_in(&b->tables[i], "B");
	return 0;
}

static int compare_contexts(const struct saved *a, const struct saved *b)
{
	if (compare_generators(a, b) || compare_regions(a, b) ||
	    compare_tables(a, b))
		return 1;
	printf("no difference: generators %zu, regions %zu, tickets %zu",
	       a->n_generators, a->n_regions, a->n_tickets);
	if (a->n_tables)
		printf(", tables of rows %zu", a->n_tables);
	putchar('\n');
	return 0;
}

/* --- journals ------------------------------------------------------------- */

static void print_event(const char *name, const struct written_event *event)
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

static void print_fields(const struct written_word *a,
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

static void print_both(const char *what, uint64_t a, uint64_t b)
{
	printf("%s %" PRIu64, what, a);
	if (a != b)
		printf(" of A and %" PRIu64 " of B", b);
}

static int report_events(const struct written_event *a,
			 const struct written_event *b)
{
	struct written_word of_a[WRITTEN_WORDS_MAX], of_b[WRITTEN_WORDS_MAX];
	size_t n_a = written_words(a, of_a), n_b = written_words(b, of_b);

	print_both("context", a->context, b->context);
	printf(", ");
	print_both("event", a->number, b->number);
	printf(": ");
	if (are_alike(of_a, n_a, of_b, n_b)) {
		print_subject(of_a, n_a, of_b);
		print_fields(of_a, of_b, n_a);
	} else {
		printf("%.*s in A, %.*s in B", (int)of_a[0].length,
		       of_a[0].text, (int)of_b[0].length, of_b[0].text);
	}
	printf("\n");
	print_event("A", a);
	print_event("B", b);
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
		printf(": %s has ended, %s goes on with event %" PRIu64 ":\n",
		       other, name, event->number);
	print_event(name, event);
	return 1;
}

static int is_first(const struct written *journal, size_t index)
{
	return !index || journal->events[index - 1].context !=
				 journal->events[index].context;
}

static int compare_journals(const struct written *a, const struct written *b)
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

/* --- the command ---------------------------------------------------------- */

static int compare_files(const char *path_a, const char *path_b)
{
	struct written a, b;
	int result = 2;

	if (written_read("diff", path_a, &a))
		return 2;
	if (written_read("diff", path_b, &b))
		goto finish_a;
	if (a.kind != b.kind)
		complain("diff",
			 "'%s' is a %s, '%s' is not: they cannot be compared",
			 path_a,
			 a.kind == WRITTEN_JOURNAL ? "journal"
						   : "saved context",
			 path_b);
	else if (a.kind == WRITTEN_JOURNAL)
		result = compare_journals(&a, &b);
	else
		result = compare_contexts(&a.saved, &b.saved);
	written_finish(&b);
finish_a:
	written_finish(&a);
	return result;
}

static const char usage[] =
	"usage: philox diff [OPTION]... A B\n"
	"\n"
	"Name the first difference of two saved contexts, or of two journals.\n"
	"\n"
	"  --help  " HELP_HELP "\n"
	"\n"
	"Exit status: 0 no difference, 1 a difference, 2 the command line or a "
	"file is\nwrong.\n";

int tool_diff(int argc, char **argv)
{
	const struct tool_option options[] = {{0}};
	int status = read_options(argc, argv, options, usage, 2);

	if (status >= 0)
		return status;
	if (argc - optind < 2)
		return complain("diff", "give two files, A and B");
	return compare_files(argv[optind], argv[optind + 1]);
}
