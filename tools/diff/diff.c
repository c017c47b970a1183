/*
 * tools/diff/diff.c - philox diff: the first difference of two runs, in
 * words
 *
 * Two saved contexts are compared object by object, two sets of them by the
 * texts of the first rank that differ, two plans function by
 * function (tools/plan/plan.h), two journals event by event or pass by pass
 * (tools/diff/diff.h). Called "A" and "B" throughout, in the
 * order of the command line.
 */
#include "tools/tools.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "lib/state/state.h"
#include "tools/formats/formats.h"
#include "tools/diff/diff.h"
#include "tools/plan/plan.h"

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

static int compare_axis(const struct philox_axis *a,
			const struct philox_axis *b)
{
	char what[sizeof(struct journal_text) + 16];

	if (strcmp(a->name, b->name))
		return differs("mesh: axis %s in A, %s in B",
			       journal_name(a->name).text,
			       journal_name(b->name).text);
	snprintf(what, sizeof(what), "mesh: axis %s",
		 journal_name(a->name).text);
	return compare_numbers(what, "size", a->size, b->size) ||
	       compare_numbers(what, "coordinate", a->coordinate,
			       b->coordinate) ||
	       compare_numbers(what, "flags", a->flags, b->flags);
}

static int compare_meshes(const struct philox_mesh *a,
			  const struct philox_mesh *b)
{
	for (uint32_t i = 0; i < a->n_axes && i < b->n_axes; i++)
		if (compare_axis(&a->axes[i], &b->axes[i]))
			return 1;
	return compare_numbers("mesh", "axes", a->n_axes, b->n_axes);
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

/* The names are in order; NULL, after them all, is the last. */
static const char *axis_at(const struct saved *saved,
			   const struct saved_region *region, size_t index)
{
	return index < region->n_axes ? saved->axes[region->axis + index]
				      : NULL;
}

static int compare_axes(const char *what, const struct saved *a,
			const struct saved_region *of_a, const struct saved *b,
			const struct saved_region *of_b)
{
	for (size_t i = 0; i < of_a->n_axes || i < of_b->n_axes; i++) {
		const char *in_a = axis_at(a, of_a, i);
		const char *in_b = axis_at(b, of_b, i);
		int order = !in_a ? 1 : !in_b ? -1 : strcmp(in_a, in_b);

		if (order)
			return differs(
				"%s differs along axis %s in %s only", what,
				journal_name(order < 0 ? in_a : in_b).text,
				order < 0 ? "A" : "B");
	}
	return compare_numbers(what, "issued offset", of_a->issued,
			       of_b->issued) ||
	       compare_numbers(what, "issued serial", of_a->issued_serial,
			       of_b->issued_serial);
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
				   b->tickets[of_b->ticket + i].state) ||
		    compare_numbers(what, "iterations",
				    a->tickets[of_a->ticket + i].iterations,
				    b->tickets[of_b->ticket + i].iterations))
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
	       compare_axes(what, a, of_a, b, of_b) ||
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

static int find_difference(const struct saved *a, const struct saved *b)
{
	return compare_meshes(&a->mesh, &b->mesh) || compare_generators(a, b) ||
	       compare_regions(a, b) || compare_tables(a, b);
}

static int compare_contexts(const struct saved *a, const struct saved *b)
{
	if (find_difference(a, b))
		return 1;
	printf("no difference: generators %zu, regions %zu, tickets %zu",
	       a->n_generators, a->n_regions, a->n_tickets);
	if (a->n_tables)
		printf(", tables of rows %zu", a->n_tables);
	putchar('\n');
	return 0;
}

/* --- sets of saved contexts ----------------------------------------------- */

static int end_alike(const struct set *a, const struct set *b, uint64_t rank)
{
	return a->ends[rank].checksum == b->ends[rank].checksum &&
	       a->ends[rank].bytes == b->ends[rank].bytes;
}

/* Their texts of one rank, which are read whole though they may end alike. */
static int compare_rank(const struct set *a, const char *path_a,
			const struct set *b, const char *path_b, uint64_t rank)
{
	struct saved of_a, of_b;
	int result = 2;

	if (set_read_text(path_a, rank, &a->mesh, &a->ends[rank], &of_a,
			  NULL) != PHILOX_OK)
		return complain("diff", "%s", philox_error_message());
	if (set_read_text(path_b, rank, &b->mesh, &b->ends[rank], &of_b,
			  NULL) != PHILOX_OK) {
		complain("diff", "%s", philox_error_message());
	} else if (end_alike(a, b, rank)) {
		result = 0;
		saved_finish(&of_b);
	} else {
		printf("rank %" PRIu64 ": ", rank);
		result = find_difference(&of_a, &of_b);
		saved_finish(&of_b);
	}
	saved_finish(&of_a);
	return result;
}

static int compare_sets(const struct set *a, const char *path_a,
			const struct set *b, const char *path_b)
{
	int result = compare_meshes(&a->mesh, &b->mesh);

	for (size_t i = 0; !result && i < a->n; i++)
		result = compare_rank(a, path_a, b, path_b, i);
	if (result)
		return result;
	printf("no difference: ranks %zu\n", a->n);
	return 0;
}

/* --- the command ---------------------------------------------------------- */

/* An eager journal and a captured one have nothing but their passes in common.
 */
static int compare_journals(const struct written *a, const struct written *b,
			    int by_passes)
{
	int in_a = diff_has_graphs(a), in_b = diff_has_graphs(b);

	if (in_a != in_b)
		return diff_passes(
			a, b, in_a ? "only A has graphs" : "only B has graphs");
	return by_passes ? diff_passes(a, b, NULL) : diff_events(a, b);
}

static int compare_files(const char *path_a, const char *path_b, int by_passes)
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
			 path_a, written_kind_name(&a), path_b);
	else if (a.kind == WRITTEN_POOL || a.kind == WRITTEN_RUNNER)
		complain("diff",
			 "'%s' and '%s' are snapshots of %s: compare them "
			 "line by line, with diff",
			 path_a, path_b,
			 a.kind == WRITTEN_POOL ? "pools" : "runners");
	else if (a.kind != WRITTEN_JOURNAL && by_passes)
		complain("diff",
			 "--passes: '%s' and '%s' are %ss, not journals",
			 path_a, path_b, written_kind_name(&a));
	else if (a.kind == WRITTEN_SET)
		result = compare_sets(&a.set, path_a, &b.set, path_b);
	else if (a.kind == WRITTEN_PLAN)
		result = plan_diff(a.plan, b.plan);
	else if (a.kind == WRITTEN_JOURNAL)
		result = compare_journals(&a, &b, by_passes);
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
	"Name the first difference of two saved contexts, of two sets of them, of "
	"two\nplans, or of two journals.\n"
	"\n"
	"  --passes  compare journals by the passes that took place: their kinds,\n"
	"            regions, states and tickets, whether they were eager or in\n"
	"            graphs; always so if only one of the two has graphs\n"
	"  --help    " HELP_HELP "\n"
	"\n"
	"Exit status: 0 no difference, 1 a difference, 2 the command line or a "
	"file is\nwrong.\n";

int tool_diff(int argc, char **argv)
{
	int by_passes = 0;
	const struct tool_option options[] = {
		{"passes", TAKES_NOTHING, .to = &by_passes}, {0}};
	int status = read_options(argc, argv, options, usage, 2);

	if (status >= 0)
		return status;
	if (argc - optind < 2)
		return complain("diff", "give two files, A and B");
	return compare_files(argv[optind], argv[optind + 1], by_passes);
}
