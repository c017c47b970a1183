/*
 * lib/text/lines.h - the text of a context or of a pool, word by word
 *
 * The first error is reported with its line and column and stops the reader:
 * from then on every function does nothing and returns 0, so that a line is
 * read without a check after each word.
 */
#ifndef LIB_TEXT_LINES_H
#define LIB_TEXT_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <philox/state.h>
#include "lib/base/status.h"

struct saved;

/* save_write_name() and save_write_state() spell a name and a state. */
void save_write_name(FILE *out, const char *name);
void save_write_state(FILE *out, struct philox_state state);

/*
 * save_write_checksum() writes the last line of a text, of which the rest is in
 * `out`, a stream in memory that *text and *size are of. 0: memory ran out.
 */
int save_write_checksum(FILE *out, char *const *text, const size_t *size);

struct reader {
	const char *text, *at, *end;
	const char *start;   /* of the line */
	size_t line;         /* counted from 1 */
	uint64_t version;    /* of the text */
	int rank;            /* it is the text of a rank */
	int looped;          /* a ticket has iterations */
	struct saved *saved; /* everything read so far, of a context */
	enum philox_status status;
};

/*
 * reader_grow() makes room for one more in a table of `count` entries of `size`
 * bytes, whose capacity is the next power of two; it returns the table.
 */
void *reader_grow(struct reader *reader, void *table, size_t count,
		  size_t size);

/* reader_refuse() reports an error of the line as a whole. */
void reader_refuse(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* reader_expected() reports what is missing at this place of the line. */
void reader_expected(struct reader *reader, const char *what);

/* reader_accept() takes a word if it comes next, reader_expect() insists. */
int reader_accept(struct reader *reader, const char *word);
void reader_expect(struct reader *reader, const char *word);

/* reader_end_line() insists on the end of the line. */
void reader_end_line(struct reader *reader);

/* reader_decimal() takes a number from `least` to `most`, at least 9. */
uint64_t reader_decimal(struct reader *reader, uint64_t least, uint64_t most);

/* reader_hex() takes 16 digits, reader_state() two such numbers. */
uint64_t reader_hex(struct reader *reader);
struct philox_state reader_state(struct reader *reader);

/*
 * reader_checksum() takes the rest of the last line, which begins at `line`:
 * what is above it must be as it says, and nothing may follow.
 */
void reader_checksum(struct reader *reader, const char *line);

/* reader_name() takes a name into new memory; NULL if there is none. */
char *reader_name(struct reader *reader);

#endif
