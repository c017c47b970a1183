/*
 * tools/cli/wrap.h - text that fits a screen of any width
 *
 * A line that is too long goes on below. It breaks between words, and what goes
 * on stands below the text of the line: where the first gap of two blanks or
 * more ends, as in
 *
 *   --steps N      steps of each run (default 600;
 *                  with --naive 100)
 *
 * or, if there is none in the left half of the screen, a little to the right of
 * where the line begins. A line that fits is not changed. Only a word that is
 * wider than the screen is cut.
 */
#ifndef TOOLS_CLI_WRAP_H
#define TOOLS_CLI_WRAP_H

#include <stddef.h>

#define WRAP_WORD_MAX 1024 /* bytes; a longer word is taken for several */

/* Where the text goes, piece by piece. */
typedef void (*wrap_emit)(void *user, const char *bytes, size_t size);

struct wrap {
	unsigned width; /* of the screen; may change between lines */
	unsigned hang;  /* how far to the right a line without a gap goes on */
	wrap_emit emit;
	void *user;

	/* The current line. */
	unsigned column; /* how much of it is written */
	unsigned lead;   /* blanks that it begins with */
	unsigned indent; /* of what goes on */
	int has_text;
	int has_gap;
	unsigned blanks; /* before the word, not yet written */
	size_t length;
	char word[WRAP_WORD_MAX]; /* not yet written */
};

/* wrap_begin() makes *wrap ready for the first line. */
void wrap_begin(struct wrap *wrap, unsigned width, unsigned hang,
		wrap_emit emit, void *user);

/*
 * wrap_put() takes text in pieces of any length. A word is written when its end
 * is known: wrap_end() writes the last one.
 */
void wrap_put(struct wrap *wrap, const char *text, size_t size);
void wrap_end(struct wrap *wrap);

/*
 * wrap_columns() is how many columns bytes of one line take: multibyte
 * characters as the locale has them, escape sequences of colours nothing.
 */
unsigned wrap_columns(const char *bytes, size_t size);

/*
 * wrap_help() wraps a text that was written in lines of up to 80 columns, as the
 * help of a command is: lines that are one paragraph, or the explanation of one
 * option, are joined before.
 */
void wrap_help(const char *text, unsigned width, wrap_emit emit, void *user);

#endif
