/*
 * tools/explain/explain.c - philox explain: what was recorded, as programs that
 * people read
 */
#include "tools/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/text/text.h"
#include "tools/cli/cli.h"
#include "tools/explain/explain.h"
#include "tools/formats/formats.h"

/* A file, and what of it: "step.runner@forward:2". */
struct subject {
	char *path;
	char *function; /* NULL: any */
	unsigned char *key;
	struct explain_choice choice;
	int chosen; /* something of the file */
};

static void subject_finish(struct subject *subject)
{
	free(subject->path);
	free(subject->function);
	free(subject->key);
}

/* --- what of a file ------------------------------------------------------- */

static int is_whole_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) &&
	       strlen(text) < 19;
}

static int hex_digit(char digit)
{
	const char *const digits = "0123456789abcdef";
	const char *found = digit ? strchr(digits, digit) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* "{0a00}": the bytes of a key. */
static int take_bytes(struct subject *subject, const char *text)
{
	const size_t length = strlen(text);

	if (length < 2 || *text != '{' || text[length - 1] != '}' || length % 2)
		return 0;
	subject->key = calloc(length, 1);
	if (!subject->key)
		return 0;
	for (size_t i = 0; i < length - 2; i++) {
		const int digit = hex_digit(text[i + 1]);

		if (digit < 0)
			return 0;
		subject->key[i / 2] =
			(unsigned char)(subject->key[i / 2] << 4 | digit);
	}
	subject->choice.key = subject->key;
	subject->choice.key_bytes = length / 2 - 1;
	return 1;
}

static int take_key(struct subject *subject, const char *text)
{
	if (is_whole_number(text))
		subject->choice.key_number = strtoull(text, NULL, 10);
	return subject->choice.key_number || take_bytes(subject, text);
}

/* A recording by its number, or a function, or one of its keys. */
static int take_selection(struct subject *subject, const char *text)
{
	const char *colon = strrchr(text, ':');

	subject->chosen = 1;
	if (is_whole_number(text)) {
		subject->choice.recording = strtoull(text, NULL, 10);
		return subject->choice.recording > 0;
	}
	if (colon && !take_key(subject, colon + 1))
		colon = NULL; /* it is of the name */
	subject->function = strndup(text, colon ? (size_t)(colon - text)
					       : strlen(text));
	subject->choice.function = subject->function;
	return subject->function && *subject->function;
}

/* A path may have an '@' of its own. */
static int take_subject(struct subject *subject, const char *argument)
{
	const char *at = strrchr(argument, '@');
	FILE *file = at ? fopen(argument, "r") : NULL;

	*subject = (struct subject){.choice.times = 1};
	if (file) {
		fclose(file);
		at = NULL;
	}
	subject->path = strndup(argument, at ? (size_t)(at - argument)
					    : strlen(argument));
	if (!subject->path)
		return complain("explain", "out of memory");
	if (!at || take_selection(subject, at + 1))
		return 0;
	return complain("explain",
			"'%s': after the @ give the number of a recording, a "
			"function, or function:key, a key being its number or "
			"its bytes in hex, {0a00}",
			argument);
}

/* --- texts ---------------------------------------------------------------- */

static long print_programs(FILE *out, const struct written *written,
			   const struct explain_choice *choice)
{
	return written->kind == WRITTEN_PLAN
		       ? plan_explain(out, written->plan, choice)
		       : explain_runner(out, &written->runner, choice);
}

static int refuse_kind(const char *path, const struct written *written)
{
	if (written->kind == WRITTEN_PLAN || written->kind == WRITTEN_RUNNER)
		return 0;
	return complain("explain",
			"'%s' is a %s: give a plan or the snapshot of a runner",
			path, written_kind_name(written));
}

/* No program may be there, but not if one was asked for. */
static int check_printed(const struct subject *subject,
			 const struct written *written, long printed)
{
	if (printed < 0)
		return complain("explain", "out of memory");
	if (printed || !subject->chosen)
		return 0;
	if (written->kind == WRITTEN_PLAN && subject->choice.recording)
		return complain("explain",
				"'%s' is a plan, which has no recordings by "
				"number: give function:key",
				subject->path);
	return complain("explain", "'%s' has nothing like that", subject->path);
}

static int read_subject(const struct subject *subject, struct written *written)
{
	if (written_read("explain", subject->path, written))
		return 2;
	if (!refuse_kind(subject->path, written))
		return 0;
	written_finish(written);
	return 2;
}

static int show(const struct subject *subject)
{
	struct written written;
	int result = read_subject(subject, &written);
	long printed;

	if (result)
		return result;
	printed = print_programs(stdout, &written, &subject->choice);
	result = check_printed(subject, &written, printed);
	if (!result && !printed)
		puts("no function has a key");
	written_finish(&written);
	return result;
}

/* --- comparison ----------------------------------------------------------- */

/* One program, as a text that the caller frees. */
struct side_text {
	char *text;
	size_t size;
	long programs;
};

static int make_side(const struct subject *subject,
		     const struct written *written, struct side_text *side)
{
	FILE *out = open_memstream(&side->text, &side->size);
	struct explain_choice choice = subject->choice;

	if (!out)
		return complain("explain", "out of memory");
	choice.bare = 1;
	choice.times = 0;
	side->programs = print_programs(out, written, &choice);
	if (fclose(out) || !side->text)
		return complain("explain", "out of memory");
	return check_printed(subject, written, side->programs);
}

static int compare_sides(const struct subject *a, const struct subject *b,
			 const struct side_text *of_a,
			 const struct side_text *of_b)
{
	const int heads = a->chosen && b->chosen && of_a->programs == 1 &&
			  of_b->programs == 1;
	const long differ =
		compare_programs(stdout, of_a->text, of_b->text, heads);

	if (differ < 0)
		return complain("explain", "out of memory");
	if (!differ)
		puts("no difference");
	else
		printf("%ld line%s differ%s\n", differ,
		       plural((uint64_t)differ), differ == 1 ? "s" : "");
	return differ != 0;
}

static int compare_written(const struct subject *a, const struct written *of_a,
			   const struct subject *b, const struct written *of_b)
{
	struct side_text side_a = {NULL, 0, 0}, side_b = {NULL, 0, 0};
	int result = 2;

	if (of_a->kind != of_b->kind)
		complain("explain",
			 "'%s' is a %s, '%s' is not: they cannot be compared",
			 a->path, written_kind_name(of_a), b->path);
	else if (!make_side(a, of_a, &side_a) && !make_side(b, of_b, &side_b))
		result = compare_sides(a, b, &side_a, &side_b);
	free(side_a.text);
	free(side_b.text);
	return result;
}

static int compare(const struct subject *a, const struct subject *b)
{
	struct written of_a, of_b;
	int result = 2;

	if (read_subject(a, &of_a))
		return 2;
	if (!read_subject(b, &of_b)) {
		result = compare_written(a, &of_a, b, &of_b);
		written_finish(&of_b);
	}
	written_finish(&of_a);
	return result;
}

/* --- the command ---------------------------------------------------------- */

static const char usage[] =
	"usage: philox explain [OPTION]... FILE[@WHICH]\n"
	"       philox explain --diff A[@WHICH] B[@WHICH]\n"
	"\n"
	"Print what the functions of a runner do as programs: a line for each "
	"step, in\norder. A file is the snapshot of a runner or a plan. A "
	"snapshot has what was\nrecorded: passes, draws, memory, nodes, and times "
	"if it was made with them. A\nplan has the steps of bodies.\n"
	"\n"
	"WHICH is the number of a recording, a function, or function:key. A key "
	"is its\nnumber in the function or its bytes in hex, {0a00}. Without it "
	"all are\nprinted.\n"
	"\n"
	"  --diff    print two side by side, with all lines that differ marked:\n"
	"            < only in A, > only in B, | in both, but not the same; times\n"
	"            and counts are not compared\n"
	"  --help    " HELP_HELP "\n"
	"\n"
	"Exit status: 0 done, and no difference, 1 a difference, 2 the command "
	"line or a\nfile is wrong.\n";

static int run(const char *const *arguments, int diff)
{
	struct subject a, b = {.path = NULL};
	int result = take_subject(&a, arguments[0]);

	if (!result && diff)
		result = take_subject(&b, arguments[1]);
	if (!result)
		result = diff ? compare(&a, &b) : show(&a);
	subject_finish(&a);
	subject_finish(&b);
	return result;
}

int tool_explain(int argc, char **argv)
{
	int diff = 0;
	const struct tool_option options[] = {
		{"diff", TAKES_NOTHING, .to = &diff}, {0}};
	int status = read_options(argc, argv, options, usage, 2);

	if (status >= 0)
		return status;
	if (argc - optind < 1 + diff)
		return complain("explain",
				diff ? "--diff: give two files, A and B"
				     : "give a plan or the snapshot of a "
				       "runner");
	if (!diff && argc - optind > 1)
		return complain("explain", "unexpected argument '%s'",
				argv[optind + 1]);
	return run((const char *const *)argv + optind, diff);
}
