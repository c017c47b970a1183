/*
 * lib/trace/words.h - reading the words of an event
 *
 * The text of an event, without the numbers of context and event, is words with
 * one space between: the event itself, then a name and a value for each field.
 * See Note [Journal] in lib/state/journal.h.
 */
#ifndef LIB_TRACE_WORDS_H
#define LIB_TRACE_WORDS_H

#include <stddef.h>
#include <stdint.h>

struct written_word {
	const char *text; /* not closed by a NUL */
	size_t length;
};

#define WRITTEN_WORDS_MAX 24

/*
 * written_split() splits the text of an event, a quoted name being one word,
 * and returns how many there are: WRITTEN_WORDS_MAX at most.
 */
size_t written_split(const char *text, size_t length,
		     struct written_word words[WRITTEN_WORDS_MAX]);

/*
 * written_end() finds the end of the word that begins at `text`; NULL: a
 * quotation mark has no second one.
 */
const char *written_end(const char *text, const char *end);

int written_same(struct written_word a, struct written_word b);
int written_is(struct written_word word, const char *text);

/*
 * written_field() finds the value of a field in the words of an event; its text
 * is NULL if there is none. written_number() is a field's value as a decimal
 * number, 0 if there is none.
 */
struct written_word written_field(const struct written_word *words, size_t n,
				  const char *name);
uint64_t written_number(const struct written_word *words, size_t n,
			const char *name);

/* written_has_flag() tells whether the field "flags" has this word. */
int written_has_flag(const struct written_word *words, size_t n,
		     const char *flag);

/*
 * written_name() writes a name without quotation marks, with the bytes that
 * \xHH stands for; one that is not part of a UTF-8 character becomes U+FFFD,
 * and so does a control character. What has no room is cut. A word that is not
 * quoted stays as it is. Returns the length.
 */
size_t written_name(struct written_word word, char *name, size_t size);

#endif
