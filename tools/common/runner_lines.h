/*
 * tools/common/runner_lines.h - reading the lines of functions and recordings
 */
#ifndef TOOLS_COMMON_RUNNER_LINES_H
#define TOOLS_COMMON_RUNNER_LINES_H

#include "graph/runner/snapshot/snapshot.h"
#include "lib/text/text.h"

struct runner_reader {
	struct reader *reader;
	struct runner_text *text;
};

/* lines_count() takes a space, a word, a space and a number. */
uint64_t lines_count(struct reader *reader, const char *word);

/* lines_choice() takes one of a list of words that ends with NULL: its place. */
unsigned lines_choice(struct reader *reader, const char *const words[]);

/* lines_quoted() takes a word and a text of less than `size` bytes. */
void lines_quoted(struct reader *reader, const char *word, char *text,
		  size_t size);

/*
 * lines_function() takes the lines of a function, with its parts, keys and
 * recordings.
 */
void lines_function(struct runner_reader *at);

/* lines_recordings() takes those of the last function. */
void lines_recordings(struct runner_reader *at, struct text_function *function);

#endif
