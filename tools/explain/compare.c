/*
 * tools/explain/compare.c - two texts of programs, side by side
 *
 * Lines are aligned by what they say but for the numbers of lines ("%3"), which
 * a step more or less would change in all that follow. Lines that are not
 * aligned go in pairs as long as both sides have some. A pair that says the same
 * still differs if a number names lines that are not a pair themselves.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "tools/explain/explain.h"

#define NO_LINE SIZE_MAX

/* Tables of alignments above this size are not made: lines go in pairs. */
#define TABLE_MOST (64u << 20)

struct line {
	const char *text;
	size_t length;
	char *masked; /* without numbers */
	size_t head;  /* of its program */
	size_t other; /* that it is aligned with; NO_LINE: none */
	size_t row;   /* that it is printed in */
};

struct side {
	struct line *lines;
	size_t n;
};

/* --- lines ---------------------------------------------------------------- */

/* The next "%N" at or after `from`, outside of names; NULL: none. */
static const char *find_number(const char *from, const char *end)
{
	int quoted = 0;

	for (; from + 1 < end; from++) {
		if (*from == '\'')
			quoted = !quoted;
		if (!quoted && *from == '%' && isdigit((unsigned char)from[1]))
			return from;
	}
	return NULL;
}

static char *mask(const char *text, size_t length)
{
	const char *end = text + length, *number;
	char *masked = malloc(length + 1), *to = masked;

	while (masked && (number = find_number(text, end))) {
		memcpy(to, text, (size_t)(number - text) + 1);
		to += number - text + 1;
		text = number + 1;
		while (text < end && isdigit((unsigned char)*text))
			text++;
	}
	if (masked) {
		memcpy(to, text, (size_t)(end - text));
		to[end - text] = '\0';
	}
	return masked;
}

static int side_read(struct side *side, const char *text)
{
	size_t lines = 0, head = 0;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	side->lines = calloc(lines + 1, sizeof(*side->lines));
	if (!side->lines)
		return 0;
	for (; *text; text = strchr(text, '\n') + 1) {
		struct line *line = &side->lines[side->n];

		line->text = text;
		line->length = (size_t)(strchr(text, '\n') - text);
		line->masked = mask(text, line->length);
		line->other = NO_LINE;
		if (!line->masked)
			return 0;
		if (*text != ' ')
			head = side->n;
		line->head = head;
		side->n++;
	}
	return 1;
}

static void side_free(struct side *side)
{
	for (size_t i = 0; side->lines && i < side->n; i++)
		free(side->lines[i].masked);
	free(side->lines);
}

/* --- alignment ------------------------------------------------------------ */

static int same(const struct side *a, size_t i, const struct side *b, size_t j)
{
	return strcmp(a->lines[i].masked, b->lines[j].masked) == 0;
}

static void align(struct side *a, size_t i, struct side *b, size_t j)
{
	a->lines[i].other = j;
	b->lines[j].other = i;
}

/* A part of each, [first, end). */
struct part {
	size_t first, end;
};

/* How the longest common part of the rest goes on from each pair of lines. */
enum walk { BOTH, SKIP_A, SKIP_B };

static void fill_table(const struct side *a, struct part of_a,
		       const struct side *b, struct part of_b,
		       unsigned char *table, unsigned *row, unsigned *next)
{
	const size_t m = of_b.end - of_b.first;

	for (size_t i = of_a.end - of_a.first; i--;) {
		unsigned *swap = row;

		for (size_t j = m; j--;) {
			unsigned char *to = &table[i * m + j];

			if (same(a, of_a.first + i, b, of_b.first + j)) {
				next[j] = row[j + 1] + 1;
				*to = BOTH;
			} else if (row[j] >= next[j + 1]) {
				next[j] = row[j];
				*to = SKIP_A;
			} else {
				next[j] = next[j + 1];
				*to = SKIP_B;
			}
		}
		row = next;
		next = swap;
		next[m] = 0;
	}
}

static void walk_table(struct side *a, struct part of_a, struct side *b,
		       struct part of_b, const unsigned char *table)
{
	const size_t m = of_b.end - of_b.first;
	size_t i = of_a.first, j = of_b.first;

	while (i < of_a.end && j < of_b.end) {
		const unsigned char step =
			table[(i - of_a.first) * m + j - of_b.first];

		if (step == BOTH)
			align(a, i, b, j);
		i += step != SKIP_B;
		j += step != SKIP_A;
	}
}

static int align_middle(struct side *a, struct part of_a, struct side *b,
			struct part of_b)
{
	const size_t n = of_a.end - of_a.first, m = of_b.end - of_b.first;
	unsigned char *table;
	unsigned *rows;
	int whole;

	if (!n || !m || n > TABLE_MOST / m)
		return 1;
	table = malloc(n * m);
	rows = calloc(2 * (m + 1), sizeof(*rows));
	whole = table && rows;
	if (whole) {
		fill_table(a, of_a, b, of_b, table, rows, rows + m + 1);
		walk_table(a, of_a, b, of_b, table);
	}
	free(table);
	free(rows);
	return whole;
}

static int align_all(struct side *a, struct side *b, size_t first)
{
	struct part of_a = {first, a->n}, of_b = {first, b->n};

	while (of_a.first < of_a.end && of_b.first < of_b.end &&
	       same(a, of_a.first, b, of_b.first))
		align(a, of_a.first++, b, of_b.first++);
	while (of_a.first < of_a.end && of_b.first < of_b.end &&
	       same(a, of_a.end - 1, b, of_b.end - 1))
		align(a, --of_a.end, b, --of_b.end);
	return align_middle(a, of_a, b, of_b);
}

/* --- numbers -------------------------------------------------------------- */

/* The line that a number names: lines of a program are numbered from 1. */
static size_t named_by(const struct side *side, size_t line, const char *number)
{
	const unsigned long n = strtoul(number + 1, NULL, 10);
	const size_t head = side->lines[line].head;

	return n < side->n - head ? head + n : NO_LINE;
}

static int names_the_same(const struct side *a, size_t i, const struct side *b,
			  size_t j)
{
	const struct line *one = &a->lines[i], *other = &b->lines[j];
	const char *x = find_number(one->text, one->text + one->length);
	const char *y = find_number(other->text, other->text + other->length);

	while (x && y) {
		const size_t from = named_by(a, i, x), to = named_by(b, j, y);

		if (from != NO_LINE &&
		    (to == NO_LINE || a->lines[from].row != b->lines[to].row))
			return 0;
		x = find_number(x + 1, one->text + one->length);
		y = find_number(y + 1, other->text + other->length);
	}
	return 1;
}

/* --- printing ------------------------------------------------------------- */

static void print_pair(FILE *out, const struct line *a, char mark,
		       const struct line *b, int width)
{
	const int more = mark != ' ' || (b && b->length);

	fprintf(out, "%-*.*s", more ? width : 0, a ? (int)a->length : 0,
		a ? a->text : "");
	if (more)
		fprintf(out, " %c", mark);
	if (b && b->length)
		fprintf(out, " %.*s", (int)b->length, b->text);
	fputc('\n', out);
}

static int widest(const struct side *side)
{
	size_t width = 1;

	for (size_t i = 0; i < side->n; i++)
		if (side->lines[i].length > width)
			width = side->lines[i].length;
	return (int)width;
}

/* The lines of the next row; n of a side: it has none. */
static int next_row(const struct side *a, size_t i, const struct side *b,
		    size_t j, char *mark)
{
	const int alone_a = i < a->n && a->lines[i].other == NO_LINE;
	const int alone_b = j < b->n && b->lines[j].other == NO_LINE;

	*mark = ' ';
	if (alone_a && alone_b)
		*mark = '|';
	else if (alone_a)
		*mark = '<';
	else if (alone_b)
		*mark = '>';
	return i < a->n || j < b->n;
}

static void find_rows(struct side *a, struct side *b, size_t first)
{
	size_t i = first, j = first;
	char mark;

	for (size_t row = first; next_row(a, i, b, j, &mark); row++) {
		if (mark != '>')
			a->lines[i++].row = row;
		if (mark != '<')
			b->lines[j++].row = row;
	}
}

static long print_all(FILE *out, const struct side *a, const struct side *b,
		      size_t first)
{
	const int width = widest(a);
	size_t i = first, j = first;
	long differ = 0;
	char mark;

	while (next_row(a, i, b, j, &mark)) {
		if (mark == ' ' && !names_the_same(a, i, b, j))
			mark = '|';
		print_pair(out, mark == '>' ? NULL : &a->lines[i], mark,
			   mark == '<' ? NULL : &b->lines[j], width);
		differ += mark != ' ';
		i += mark != '>';
		j += mark != '<';
	}
	return differ;
}

long compare_programs(FILE *out, const char *a, const char *b, int heads)
{
	struct side of_a = {.n = 0}, of_b = {.n = 0};
	const size_t first = heads != 0;
	long differ = -1;

	if (side_read(&of_a, a) && side_read(&of_b, b) &&
	    align_all(&of_a, &of_b, first)) {
		if (first && of_a.n && of_b.n)
			print_pair(out, &of_a.lines[0], ' ', &of_b.lines[0],
				   widest(&of_a));
		find_rows(&of_a, &of_b, first);
		differ = print_all(out, &of_a, &of_b, first);
	}
	side_free(&of_a);
	side_free(&of_b);
	return differ;
}
