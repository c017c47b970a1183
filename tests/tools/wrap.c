/*
 * tests/tools/wrap.c - lines that are too long for a screen go on below, the
 * line of progress fits any, and the time left is steady
 */
#include <stdio.h>
#include <string.h>
#include "tests/support/support.h"
#include "tools/cli/cli.h"

static struct {
	char text[8192];
	size_t size;
} made;

static void keep(void *user, const char *bytes, size_t size)
{
	(void)user;
	cr_assert(made.size + size < sizeof(made.text));
	memcpy(made.text + made.size, bytes, size);
	made.size += size;
	made.text[made.size] = '\0';
}

/* In pieces of `step` bytes: the result may not depend on them. */
static const char *wrapped(const char *text, unsigned width, size_t step)
{
	size_t size = strlen(text);
	struct wrap wrap;

	made.size = 0;
	made.text[0] = '\0';
	wrap_begin(&wrap, width, 2, keep, NULL);
	for (size_t i = 0; i < size; i += step)
		wrap_put(&wrap, text + i, size - i < step ? size - i : step);
	wrap_end(&wrap);
	return made.text;
}

static const struct {
	const char *text;
	unsigned width;
	const char *wrapped;
} lines[] = {
	/* what fits stays as it is, up to the last column */
	{"one two\n", 7, "one two\n"},
	{"  a   b\n\n c\n", 20, "  a   b\n\n c\n"},
	{"no end", 20, "no end"},
	{"", 20, ""},
	/* below the text after the first gap of two blanks */
	{"key  one two three\n", 12, "key  one two\n     three\n"},
	{"  --a N  one two  three\n", 20, "  --a N  one two\n         three\n"},
	/* a gap in the right half is none, and so is a single blank */
	{"a long key  one two\n", 16, "a long key  one\n  two\n"},
	{"one two three\n", 10, "one two\n  three\n"},
	{"    one two three\n", 14, "    one two\n      three\n"},
	/* each line by itself */
	{"key  one two three\nfour five six\n", 12,
	 "key  one two\n     three\nfour five\n  six\n"},
	/* a word is moved to the left before it is cut */
	{"key  one 123456789\n", 12, "key  one\n   123456789\n"},
	{"ab 1234567890123\n", 10, "ab\n1234567890\n123\n"},
	{"      123456789\n", 10, " 123456789\n"},
	/* what takes no column is not counted, nor cut */
	{"\033[32mok\033[0m one two\n", 10, "\033[32mok\033[0m one two\n"},
	{"\303\244\303\266\303\274 one\n", 7, "\303\244\303\266\303\274 one\n"},
	{"\303\244\303\266\303\274\303\244\303\266\n", 3,
	 "\303\244\303\266\303\274\n\303\244\303\266\n"},
};

Test(wrap, long_lines_go_on_below_their_text)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (size_t step = 1; step < 30; step += 7)
			cr_assert_str_eq(
				wrapped(lines[i].text, lines[i].width, step),
				lines[i].wrapped);
}

/* Words of all lengths on screens of all widths: none lost, none too wide. */
Test(wrap, no_line_is_wider_than_the_screen)
{
	char text[4096] = "", joined[2][4096];
	size_t size = 0;

	for (int i = 0; i < 200; i++)
		size += (size_t)sprintf(text + size, "%*s%.*s%s", i * 7 % 5, "",
					i * 5 % 13, "0123456789abc",
					i % 9 ? " " : "\n");
	for (unsigned width = 20; width < 60; width++) {
		const char *line = wrapped(text, width, 64);
		size_t n[2] = {0, 0};

		for (const char *at = line; *at; at += strcspn(at, "\n") + 1)
			cr_assert_leq(strcspn(at, "\n"), width);
		for (const char *at = text; *at; at++)
			if (*at != ' ' && *at != '\n')
				joined[0][n[0]++] = *at;
		for (const char *at = line; *at; at++)
			if (*at != ' ' && *at != '\n')
				joined[1][n[1]++] = *at;
		cr_assert_eq(n[0], n[1]);
		cr_assert_arr_eq(joined[0], joined[1], n[0]);
	}
}

static const char help[] = "usage: philox x [OPTION]...\n"
			   "       philox x --all FILE\n"
			   "\n"
			   "Do this and\n"
			   "that.\n"
			   "\n"
			   "  --a N  one two\n"
			   "         three: four\n"
			   "         part  five\n"
			   "  --b    six\n"
			   "\n"
			   "Words:\n"
			   "  F0     seven\n"
			   "Last.\n"
			   "Exit status: 0.\n";

Test(wrap, help_is_joined_to_paragraphs_before)
{
	made.size = 0;
	wrap_help(help, 28, keep, NULL);
	cr_assert_str_eq(made.text, "usage: philox x [OPTION]...\n"
				    "       philox x --all FILE\n"
				    "\n"
				    "Do this and that.\n"
				    "\n"
				    "  --a N  one two three: four\n"
				    "         part  five\n"
				    "  --b    six\n"
				    "\n"
				    "Words:\n"
				    "  F0     seven\n"
				    "Last.\n"
				    "Exit status: 0.\n");
}

/* --- progress ------------------------------------------------------------- */

static const struct {
	unsigned width;
	const char *left, *line;
} progress_lines[] = {
	{79, "about 2 min left",
	 "orders [###############...............] 12/24, about 2 min left"},
	{79, "", "orders [###############...............] 12/24"},
	{49, "about 2 min left",
	 "orders [########........] 12/24, about 2 min left"},
	{41, "about 2 min left", "orders [####....] 12/24, about 2 min left"},
	{36, "about 2 min left", "orders 12/24, about 2 min left"},
	{29, "about 2 min left", "orders about 2 min left"},
	{23, "about 2 min left", "orders about 2 min left"},
	{19, "about 2 min left", "orders [#####.....]"},
	{10, "about 2 min left", "orders"},
};

Test(progress, takes_the_room_there_is_and_leaves_out_what_has_none)
{
	const struct progress half = {"orders", 0.5, 0.5, "12/24"};
	char line[PROGRESS_MAX];

	for (size_t i = 0;
	     i < sizeof(progress_lines) / sizeof(progress_lines[0]); i++) {
		progress_line(&half, progress_lines[i].left,
			      progress_lines[i].width, line);
		cr_expect_str_eq(line, progress_lines[i].line);
		cr_expect_leq(strlen(line), progress_lines[i].width);
	}
	for (unsigned width = 0; width < 200; width++) {
		progress_line(&half, "about 2 min left", width, line);
		cr_assert_leq(strlen(line), width);
	}
}

static const char *left_after(struct time_left *left, double elapsed,
			      double whole)
{
	static char text[32];

	time_left(left, elapsed, whole, text, sizeof(text));
	return text;
}

Test(progress, the_time_left_comes_from_the_work_that_is_done)
{
	const struct {
		double elapsed, whole;
		const char *text;
	} rows[] = {{1, 0.5, ""},
		    {60, 0.001, ""},
		    {60, 1, ""},
		    {3, 0.5, "about 10 s left"},
		    {30, 0.5, "about 30 s left"},
		    {41, 0.5, "about 50 s left"},
		    {55, 0.5, "about 1 min left"},
		    {60, 0.25, "about 3 min left"},
		    {3600, 0.5, "about 60 min left"},
		    {7200, 0.5, "about 2 h left"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct time_left left = {0};

		cr_expect_str_eq(
			left_after(&left, rows[i].elapsed, rows[i].whole),
			rows[i].text);
	}
}

Test(progress, the_time_left_is_steady)
{
	struct time_left left = {0};

	cr_assert_str_eq(left_after(&left, 60, 0.25), "about 3 min left");
	/* a little slower: it waits */
	cr_assert_str_eq(left_after(&left, 66, 0.25), "about 3 min left");
	cr_assert_str_eq(left_after(&left, 72, 0.25), "about 3 min left");
	cr_assert_str_eq(left_after(&left, 120, 0.5), "about 2 min left");
	cr_assert_str_eq(left_after(&left, 130, 0.5), "about 2 min left");
	/* so wrong that it has to say so */
	cr_assert_str_eq(left_after(&left, 300, 0.5), "about 5 min left");
}
