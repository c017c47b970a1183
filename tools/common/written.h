/*
 * tools/common/written.h - reading files of philox: saved contexts, journals
 *
 * A file's first line says which of the two it is. The formats are described in
 * Note [Saved context] in lib/save/text.h and Note [Journal] in
 * lib/state/journal.h.
 */
#ifndef TOOLS_COMMON_WRITTEN_H
#define TOOLS_COMMON_WRITTEN_H

#include <stddef.h>
#include <stdint.h>
#include "lib/save/read.h"

/* One event of a journal; the text is the part after the two numbers. */
struct written_event {
	uint64_t context;
	uint64_t number;
	size_t rank;      /* of the context, among those of the journal */
	const char *text; /* not closed by a NUL */
	size_t length;
	size_t line;
};

enum written_kind { WRITTEN_CONTEXT, WRITTEN_JOURNAL };

struct written {
	enum written_kind kind;
	struct saved saved;           /* of a context */
	struct written_event *events; /* of a journal: context by context */
	size_t n_events;
	int cut; /* a journal whose last line was not written whole */
	char *text;
};

/*
 * written_read() reads and verifies a file. It returns 0, or -1 and says on
 * stderr, in the name of `command`, what is wrong and where.
 */
int written_read(const char *command, const char *path,
		 struct written *written);
void written_finish(struct written *written);

/* A word of an event: the event itself, a field's name, a field's value. */
struct written_word {
	const char *text;
	size_t length;
};

#define WRITTEN_WORDS_MAX 24

/*
 * written_words() splits an event into words, a quoted name being one, and
 * returns how many there are: WRITTEN_WORDS_MAX at most.
 */
size_t written_words(const struct written_event *event,
		     struct written_word words[WRITTEN_WORDS_MAX]);

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

#endif
