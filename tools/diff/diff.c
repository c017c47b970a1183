/*
 * tools/diff/diff.c - philox diff: the first difference of two runs, in
 * words
 *
 * Two saved contexts are compared object by object, two sets of them by the
 * texts of the first rank that differ, two plans function by
 * function (tools/plan/plan.h), two files of outputs output by output, two
 * journals event by event or pass by pass (tools/diff/diff.h). Called "A" and "B" throughout, in the
 * order of the command line.
 */
#include "tools/tools.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "lib/state/state.h"
#include "tools/formats/formats.h"
#include "tools/diff/diff.h"
#include "tools/outputs/outputs.h"
#include "tools/plan/plan.h"

/* --- saved contexts ------------------------------------------------------- */

static void print_place(const struct difference *found)
{
	fputs(found->object, stdout);
	if (!strcmp(found->object, "generator"))
		printf(" %" PRIu64, found->number);
	if (found->name)
		printf(" %s", journal_name(found->name).text);
	if (!found->part)
		return;
	if (strcmp(found->part, "axis"))
		printf(", %s %" PRIu64, found->part, found->number);
	else if (found->part_name)
		printf(": axis %s", journal_name(found->part_name).text);
}

/* "x is in A only" */
static void print_alone(const struct difference *found)
{
	const int of_generator = !strncmp(found->alone, "its ", 4);

	printf("%s %s", of_generator ? ":" : "", found->alone);
	if (!found->part && found->part_name)
		printf(" %s", journal_name(found->part_name).text);
	printf(" in %s only\n", found->in_b ? "B" : "A");
}

static void print_value(const struct difference *found, int i)
{
	if (found->field->kind == FIELD_NAME)
		fputs(found->names[i] ? journal_name(found->names[i]).text
				      : "without a name",
		      stdout);
	else if (found->field->kind == FIELD_HEX)
		printf("%016" PRIx64, found->numbers[i]);
	else
		printf("%" PRIu64, found->numbers[i]);
}

static int print_difference(const struct difference *found)
{
	print_place(found);
	if (found->alone) {
		print_alone(found);
		return 1;
	}
	fputs(": ", stdout);
	if (found->field->word)
		printf("%s ", found->field->word);
	print_value(found, 0);
	fputs(" in A, ", stdout);
	print_value(found, 1);
	puts(" in B");
	return 1;
}

static int find_difference(const struct saved *a, const struct saved *b)
{
	struct difference found;

	return differ_lines(a, b, &found) && print_difference(&found);
}

static int compare_contexts(const struct saved *a, const struct saved *b)
{
	if (find_difference(a, b))
		return 1;
	printf("no difference: generators %zu, regions %zu, tickets %zu",
	       a->n_generators, a->n_regions, a->n_tickets);
	if (a->n_tables)
		printf(", tables of rows %zu", a->n_tables);
	if (a->n_data)
		printf(", data %zu", a->n_data);
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
	struct difference found;
	int result = differ_mesh(&a->mesh, &b->mesh, DIFFER_LINES, &found) &&
		     print_difference(&found);

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
	else if (a.kind == WRITTEN_OUTPUTS)
		result = outputs_diff(a.outputs, b.outputs);
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
	"two\nplans, of two files of outputs, or of two journals.\n"
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
