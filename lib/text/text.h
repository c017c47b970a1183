/*
 * lib/text/text.h - texts that are saved: made in memory, written and read by
 * line, put into files
 */
#ifndef LIB_TEXT_TEXT_H
#define LIB_TEXT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <philox/state.h>
#include "lib/base/base.h"

/* --- text: a text, made in memory, and where it goes ---------------------- */

struct text {
	char *bytes; /* and a NUL, which the size does not count */
	size_t size;
	size_t room; /* while it is made */
	FILE *out;   /* the same */
};

/*
 * text_begin() opens a stream into memory, as open_memstream() does, except
 * that bytes that there was no memory for are an error of the stream: glibc's
 * loses them without a word. NULL: there is no memory.
 *
 * text_end() writes the last line, the checksum, and closes the stream, if there
 * is one. The caller frees the bytes. 0: memory ran out, and there are none.
 */
FILE *text_begin(struct text *text);
int text_end(struct text *text);

/* Where a text is to go: the caller's memory, or the file at a path. */
struct text_target {
	char **text;
	size_t *size; /* or NULL */
	const char *path;
};

/*
 * text_put() gives a text to the caller, who frees it, or writes it into the
 * file and frees it: those of file_write().
 */
enum philox_status text_put(const struct text *text, struct text_target to);

/*
 * text_done() frees a text that was read from the file at `path`, which it puts
 * in front of the message, if what was done with the text has failed.
 */
enum philox_status text_done(const struct text *text, const char *path,
			     enum philox_status status);

/* --- lines: the lines of a text, word by word ----------------------------- */

/*
 * The first error is reported with its line and column and stops the reader:
 * from then on every function does nothing and returns 0, so that a line is
 * read without a check after each word.
 */

/* text_write_name() and text_write_state() spell a name and a state. */
void text_write_name(FILE *out, const char *name);
void text_write_state(FILE *out, struct philox_state state);

struct saved;

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

/* --- file: files that are replaced whole or not at all -------------------- */

/* file_check() refuses a path without a last part: ERROR_INVALID. */
enum philox_status file_check(const char *path);

/*
 * file_write() replaces a file, whole or not at all: ERROR_FILE, and
 * those of file_check(). Removes from its folder the files left there by
 * saves of processes that are gone.
 */
enum philox_status file_write(const char *path, const char *text, size_t size);

/* file_read() reads a regular file into memory that the caller frees. */
enum philox_status file_read(const char *path, char **text, size_t *size);

#endif
