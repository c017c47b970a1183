/*
 * lib/text/text.h - texts that are saved: made in memory, written and read by
 * line, put into files
 */
#ifndef LIB_TEXT_TEXT_H
#define LIB_TEXT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <philox/state.h>
#include "lib/base/base.h"

/* --- text: a text, made in memory, and where it goes ---------------------- */

struct text {
	char *bytes; /* and a NUL, which the size does not count */
	size_t size;
	FILE *out; /* while it is made */
};

/*
 * text_begin() opens a stream into memory, as open_memstream() does, except
 * that bytes that there was no memory for are an error of the stream: glibc's
 * loses them without a word. NULL: there is no memory.
 *
 * text_end() writes the last line, the checksum, and closes the stream, if
 * there is one. The caller frees the bytes. 0: memory ran out, and there are
 * none. text_close() is the same without a checksum.
 */
FILE *text_begin(struct text *text);
int text_end(struct text *text);
int text_close(struct text *text);

/* Whoever may read a new file; one that is replaced keeps its mode. */
enum file_readers {
	FILE_FOR_OWNER, /* it has seeds or states: mode 0600 */
	FILE_FOR_ALL    /* as the umask says */
};

/* Where a text is to go: the caller's memory, or the file at a path. */
struct text_target {
	char **text;
	size_t *size; /* or NULL */
	const char *path;
	enum file_readers readers; /* of a file that is new */
	int is_large;              /* it has data: there is no limit */
};

/*
 * text_put() gives a text to the caller, who frees it, or writes it into the
 * file and frees it: those of file_write(); ERROR_FILE for a text that is
 * longer than FILE_TEXT_MOST, unless it is large.
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

/*
 * text_write_name(), text_write_state() and text_write_bytes() spell a name, a
 * state, and bytes of two digits each.
 */
void text_write_name(FILE *out, const char *name);
void text_write_state(FILE *out, struct philox_state state);
void text_write_bytes(FILE *out, const unsigned char *bytes, size_t n);

struct reader {
	const char *text, *at, *end;
	const char *start; /* of the line */
	size_t line;       /* counted from 1 */
	uint64_t version;  /* of the text */
	enum philox_status status;
};

/* reader_start() is a reader at the beginning of a text; of no bytes: or NULL. */
struct reader reader_start(const char *text, size_t size);

/*
 * reader_version() reads the first line, a start and the version; of one above
 * `newest` nothing more is read: ERROR_UNSUPPORTED, about the `what`.
 */
void reader_version(struct reader *reader, const char *start, const char *what,
		    uint64_t newest);

/*
 * reader_put() appends a row to a table of *n: `table` is where its address is.
 * 0 after an error, of which there may have been one before.
 */
int reader_put(struct reader *reader, void *table, size_t *n, const void *row,
	       size_t size);

/* reader_refuse() reports an error of the line as a whole. */
void reader_refuse(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* reader_expected() reports what is missing at this place of the line. */
void reader_expected(struct reader *reader, const char *what);

/*
 * reader_accept() takes a word if it comes next, reader_expect() insists;
 * reader_accept_word() takes one with a space after it, or nothing.
 */
int reader_accept(struct reader *reader, const char *word);
void reader_expect(struct reader *reader, const char *word);
int reader_accept_word(struct reader *reader, const char *word);

/* reader_end_line() insists on the end of the line. */
void reader_end_line(struct reader *reader);

/* reader_decimal() takes a number from `least` to `most`, at least 9. */
uint64_t reader_decimal(struct reader *reader, uint64_t least, uint64_t most);

/*
 * reader_hex() takes 16 digits, reader_state() two such numbers, and
 * reader_bytes() two digits for each of n bytes. reader_digits() is how many
 * such digits come next.
 */
uint64_t reader_hex(struct reader *reader);
struct philox_state reader_state(struct reader *reader);
void reader_bytes(struct reader *reader, unsigned char *bytes, size_t n);
size_t reader_digits(const struct reader *reader);

/*
 * reader_checksum() takes the rest of the last line, which begins at `line`:
 * what is above it must be as it says, and nothing may follow.
 */
void reader_checksum(struct reader *reader, const char *line);

/* reader_name() takes a name into new memory; NULL if there is none. */
char *reader_name(struct reader *reader);

/* --- fields: lines by their tables of fields ------------------------------ */

/*
 * A line is a word and then fields, each " WORD VALUE", or " VALUE" of one
 * without a word. A table of them, over the members of a struct, ends with
 * FIELD_END. What a kind of line says is written, read, compared, and printed
 * as JSON (tools/formats) by its table.
 */
enum field_kind {
	FIELD_END,
	FIELD_NUMBER,
	FIELD_FLAGS,  /* a number; `words` are those of its bits, elsewhere */
	FIELD_TIMES,  /* a number of calls, or "never": PHILOX_NEVER */
	FIELD_BOUND,  /* as FIELD_TIMES by name, as FIELD_NUMBER by word */
	FIELD_CHOICE, /* one of `words`: its number */
	FIELD_EITHER, /* one of two `words`: no or yes */
	FIELD_MARK,   /* the word alone, or nothing: 1 or 0 */
	FIELD_NAME,   /* in quotation marks: char *, read into new memory */
	FIELD_TEXT,   /* in quotation marks: an array of char */
	FIELD_HEX,    /* 16 digits: uint64_t */
	FIELD_STATE   /* struct philox_state */
};

struct field {
	enum field_kind kind;
	unsigned offset, size;    /* of the member; a number has 4 bytes or 8 */
	const char *word;         /* NULL: none */
	const char *name;         /* in JSON, or if texts spell it in two ways;
				     NULL: the word; "": it is not in JSON */
	const char *const *words; /* NULL comes after the last */
	const char *what;         /* of a choice: what is expected, NULL: one of
				     its words; of a text: what is too long,
				     NULL: a text */
	const char *spoken;       /* what a message calls it; NULL: its name */
	const char *none;         /* written for no name, and for a number
				     whose bits are all set; NULL: nothing */
	uint64_t least, most;     /* of a number read, or bytes of a name; most
				     0: as the member */
	uint64_t otherwise;       /* what 0 stands for, as an option; what a
				     number is that a line leaves out */
	int may_lack;             /* lines leave it out, with its word, if it is
				     `otherwise` */
};

/* A kind of line. */
struct text_line {
	const char *word;
	const struct field *fields;
};

/* The first four of a field; FIELDS_END ends a table. */
#define FIELD(of, type, member, text)                         \
	.kind = FIELD_##of, .offset = offsetof(type, member), \
	.size = sizeof(((type *)0)->member), .word = (text)
#define FIELDS_END                \
	{                         \
		.kind = FIELD_END \
	}

/* How lines are written and read: any of these. */
#define FIELDS_BY_NAME 1u /* with the names of fields for words */
#define FIELDS_APART   2u /* read: spaces and words are expected one by one */

/*
 * fields_write() writes all of a line but its first word and its end;
 * fields_write_line() writes the whole line.
 * fields_read() reads that; the line's word may have taken the space after it.
 * Names are new memory also if the line is wrong: fields_free() frees them.
 */
void fields_write(FILE *out, const struct field *field, const void *object,
		  unsigned how);
void fields_write_line(FILE *out, const char *word, const struct field *field,
		       const void *object);
void fields_read(struct reader *reader, const struct field *field, void *object,
		 unsigned how);
void fields_free(const struct field *field, const void *object);

/* fields_differ() is the first field that two objects differ in, or NULL. */
const struct field *fields_differ(const struct field *field, const void *one,
				  const void *other);

/*
 * The name of a field; its number, text or state; whether it is a text or a
 * number that the line says. field_set() sets its number.
 */
const char *field_name(const struct field *field);
uint64_t field_number(const struct field *field, const void *object);
const char *field_text(const struct field *field, const void *object);
struct philox_state field_state(const struct field *field, const void *object);
int field_is_there(const struct field *field, const void *object);
void field_set(const struct field *field, void *object, uint64_t number);

/* reader_choice() takes one of a list of words, NULL after it: its place. */
unsigned reader_choice(struct reader *reader, const char *const words[]);

/* reader_expect_apart() insists on a space, a word and a space. */
void reader_expect_apart(struct reader *reader, const char *word);

/* --- place: where the path of a new file leads ---------------------------- */

struct file_place {
	const char *path;  /* as the caller wrote it */
	int descriptor;    /* of this process, if it leads to one; else -1 */
	int folder;        /* of what it leads to, for names in it; or -1 */
	char *name;        /* there */
	struct stat about; /* what is there: not a link; all zero: nothing */
};

/*
 * file_place_find() follows the links of a path, but for one of another user in
 * a sticky folder: ERROR_FILE, ERROR_MEMORY, and those of file_check(). The
 * path has to stay.
 */
enum philox_status file_place_find(struct file_place *place, const char *path);
void file_place_free(struct file_place *place);

/*
 * file_descriptor() is the descriptor that a path names: /dev/stdout, /dev/fd/N
 * and /proc/self/fd/N, with their relatives; -1 if it names none.
 */
int file_descriptor(const char *path);

/* file_check() refuses a path without a last part: ERROR_INVALID. */
enum philox_status file_check(const char *path);

/* file_fail() is ERROR_FILE: the path, what has failed, and errno in words. */
enum philox_status file_fail(const char *path, const char *what);

/* --- file: files that are replaced whole or not at all -------------------- */

/*
 * file_write() replaces a file, whole or not at all: ERROR_FILE, and
 * those of file_place_find(). Removes from its folder the files left there by
 * saves of processes that are gone. A character device, a pipe that somebody
 * reads and a descriptor of this process are written to; other things that are
 * no files are refused.
 */
enum philox_status file_write(const char *path, enum file_readers readers,
			      const char *text, size_t size);

/*
 * file_read() reads a regular file of a kind into memory that the caller frees.
 * Of one that begins otherwise only the first piece is read, for the caller to
 * refuse: so it has a first line to name. A longer one is ERROR_FILE.
 */
struct file_kind {
	const char *const *starts; /* one of them; NULL comes after the last */
	uint64_t most;             /* bytes */
};

#define FILE_TEXT_MOST (UINT64_C(1) << 32)

enum philox_status file_read(const char *path, const struct file_kind *kind,
			     struct text *text);

#endif
