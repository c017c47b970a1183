/*
 * tools/cli/wrap.c - text that fits a screen of any width
 */
#include "tools/cli/cli.h"

#include <string.h>
#include <wchar.h>

/* --- columns -------------------------------------------------------------- */

/* The length of a colour's escape sequence, ESC [ ... letter; or 0. */
static size_t escape_length(const char *bytes, size_t size)
{
	size_t length = 2;

	if (size < 3 || bytes[0] != '\033' || bytes[1] != '[')
		return 0;
	while (length < size && (bytes[length] < '@' || bytes[length] > '~'))
		length++;
	return length < size ? length + 1 : 0;
}

/* The columns of one character; writes its length. */
static unsigned character_columns(const char *bytes, size_t size,
				  size_t *length)
{
	mbstate_t state;
	wchar_t wide;
	int columns;

	memset(&state, 0, sizeof(state));
	*length = mbrtowc(&wide, bytes, size, &state);
	if (*length && *length <= size) {
		columns = wcwidth(wide);
		return columns < 0 ? 0 : (unsigned)columns;
	}
	*length = 1; /* the locale does not know it: UTF-8 most likely */
	return (*bytes & 0xc0) != 0x80;
}

unsigned wrap_columns(const char *bytes, size_t size)
{
	unsigned columns = 0;
	size_t length;

	for (size_t i = 0; i < size; i += length) {
		length = escape_length(bytes + i, size - i);
		if (!length)
			columns +=
				character_columns(bytes + i, size - i, &length);
	}
	return columns;
}

/* --- lines ---------------------------------------------------------------- */

static void emit_blanks(struct wrap *wrap, unsigned n)
{
	static const char blanks[] = "                                ";

	wrap->column += n;
	for (; n > sizeof(blanks) - 1; n -= sizeof(blanks) - 1)
		wrap->emit(wrap->user, blanks, sizeof(blanks) - 1);
	wrap->emit(wrap->user, blanks, n);
}

static void start_line(struct wrap *wrap)
{
	wrap->column = wrap->lead = wrap->indent = wrap->blanks = 0;
	wrap->has_text = wrap->has_gap = 0;
}

static void break_line(struct wrap *wrap, unsigned indent)
{
	wrap->emit(wrap->user, "\n", 1);
	wrap->column = 0;
	emit_blanks(wrap, indent);
}

/* Learns from the blanks before a word where a line goes on. */
static void find_indent(struct wrap *wrap)
{
	unsigned column = wrap->column + wrap->blanks;

	if (!wrap->has_text) {
		wrap->lead = wrap->blanks;
		wrap->indent = wrap->lead + wrap->hang;
		if (wrap->indent > wrap->width / 2)
			wrap->indent = wrap->width / 2;
	} else if (wrap->blanks > 1 && !wrap->has_gap) {
		wrap->has_gap = 1;
		if (column <= wrap->width / 2)
			wrap->indent = column;
	}
	wrap->has_text = 1;
}

/* The bytes at the start of a word that take up to `columns`; one at least. */
static size_t piece_length(const char *word, size_t size, unsigned columns)
{
	size_t length = 0, next;

	while (length < size) {
		next = escape_length(word + length, size - length);
		if (!next)
			character_columns(word + length, size - length, &next);
		if (length && wrap_columns(word, length + next) > columns)
			break;
		length += next;
	}
	return length;
}

/* A word that no line has room for. */
static void emit_in_pieces(struct wrap *wrap)
{
	size_t done = 0, piece;

	while (done < wrap->length) {
		if (wrap->column >= wrap->width)
			break_line(wrap, 0);
		piece = piece_length(wrap->word + done, wrap->length - done,
				     wrap->width - wrap->column);
		wrap->emit(wrap->user, wrap->word + done, piece);
		wrap->column += wrap_columns(wrap->word + done, piece);
		done += piece;
	}
}

/* Puts the word where it fits: on this line, below, or further to the left. */
static void place_word(struct wrap *wrap, unsigned columns)
{
	if (wrap->column + wrap->blanks + columns <= wrap->width) {
		emit_blanks(wrap, wrap->blanks);
		return;
	}
	if (columns > wrap->width)
		columns = wrap->width;
	if (!wrap->column) /* nothing is written: only its blanks go */
		emit_blanks(wrap, wrap->width - columns);
	else if (wrap->indent + columns <= wrap->width)
		break_line(wrap, wrap->indent);
	else
		break_line(wrap, wrap->width - columns);
}

static void end_word(struct wrap *wrap)
{
	unsigned columns = wrap_columns(wrap->word, wrap->length);

	if (!wrap->length)
		return;
	find_indent(wrap);
	place_word(wrap, columns);
	wrap->blanks = 0;
	emit_in_pieces(wrap);
	wrap->length = 0;
}

static void put_byte(struct wrap *wrap, char byte)
{
	if (byte == '\n') {
		end_word(wrap);
		wrap->emit(wrap->user, "\n", 1);
		start_line(wrap);
	} else if (byte == ' ' || byte == '\t') {
		end_word(wrap);
		wrap->blanks++;
	} else {
		if (wrap->length == sizeof(wrap->word))
			end_word(wrap);
		wrap->word[wrap->length++] = byte;
	}
}

void wrap_begin(struct wrap *wrap, unsigned width, unsigned hang,
		wrap_emit emit, void *user)
{
	memset(wrap, 0, sizeof(*wrap));
	wrap->width = width;
	wrap->hang = hang;
	wrap->emit = emit;
	wrap->user = user;
}

void wrap_put(struct wrap *wrap, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		put_byte(wrap, text[i]);
}

void wrap_end(struct wrap *wrap)
{
	end_word(wrap);
}

/* --- help ----------------------------------------------------------------- */

/* A line of a help text. */
struct help_line {
	const char *text;
	size_t length;
	size_t lead; /* blanks that it begins with */
	size_t gap;  /* where its text begins after a gap; 0: none */
};

static struct help_line help_line_at(const char *text)
{
	struct help_line line = {.text = text, .length = strcspn(text, "\n")};

	line.lead = strspn(text, " ");
	for (size_t i = line.lead; i + 2 < line.length && !line.gap; i++)
		if (text[i] == ' ' && text[i + 1] == ' ')
			line.gap = i + strspn(text + i, " ");
	return line;
}

static int begins_with(const struct help_line *line, const char *start)
{
	return !strncmp(line->text + line->lead, start, strlen(start));
}

/* Lines of a help text that nothing is joined to. */
static int stands_alone(const struct help_line *line)
{
	return begins_with(line, "usage: ") ||
	       (line->lead && begins_with(line, "philox "));
}

/* Whether a line goes on with what the lines from `first` to `last` say. */
static int goes_on(const struct help_line *first, const struct help_line *last,
		   const struct help_line *line)
{
	if (first->length == first->lead || line->length == line->lead ||
	    line->gap || stands_alone(first) || stands_alone(line) ||
	    begins_with(line, "Exit status:"))
		return 0;
	if (first->gap)
		return line->lead == first->gap;
	return line->lead == first->lead && last->text[last->length - 1] != ':';
}

static struct help_line next_line(const struct help_line *line)
{
	const char *end = line->text + line->length;

	return help_line_at(end + (*end == '\n'));
}

/* How far to the right a line goes on, if not below its text. */
static unsigned hang_of(const struct help_line *line, unsigned width)
{
	if (stands_alone(line))
		return 7;
	return line->gap > width / 2 ? 4 : 0;
}

void wrap_help(const char *text, unsigned width, wrap_emit emit, void *user)
{
	struct help_line first = help_line_at(text), last, line;
	struct wrap wrap;

	wrap_begin(&wrap, width, 0, emit, user);
	for (; *first.text; first = line) {
		wrap.hang = hang_of(&first, width);
		wrap_put(&wrap, first.text, first.length);
		last = first;
		while (line = next_line(&last), goes_on(&first, &last, &line)) {
			wrap_put(&wrap, " ", 1);
			wrap_put(&wrap, line.text + line.lead,
				 line.length - line.lead);
			last = line;
		}
		wrap_put(&wrap, "\n", 1);
	}
	wrap_end(&wrap);
}
