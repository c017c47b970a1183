/*
 * lib/trace/record.h - files that events are written into, as they happen
 *
 * Journals and traces are such files. Contexts that name the same path share
 * one. What is written at once goes to the end of the file in one piece, so
 * that a crash loses nothing and events of several contexts stay whole. The
 * list of files and their contents have their own lock, which is taken inside
 * a context's lock.
 */
#ifndef LIB_TRACE_RECORD_H
#define LIB_TRACE_RECORD_H

#include <stddef.h>
#include "lib/base/status.h"

struct record;

/* What a kind of file begins with, and ends with while nobody uses it. */
struct record_form {
	const char *what; /* "journal" */
	const char *begin, *end;
	size_t between; /* the bytes that the first text written is without */
};

/*
 * record_open() begins the file at `path`, in place of one that exists, or
 * shares the one that is in use there. ERROR_FILE names the path and the
 * reason: the form's beginning could not be written either. ERROR_MEMORY.
 */
enum philox_status record_open(const struct record_form *form, const char *path,
			       struct record **record);

/*
 * record_open_variable() opens the file that a variable of the environment
 * names, with the process id for each "%p"; *record is NULL if the variable is
 * not set or empty. Errors as record_open(), with the variable's name.
 */
enum philox_status record_open_variable(const struct record_form *form,
					const char *variable,
					struct record **record);

/*
 * record_keep() keeps a file in use for as long as the process lives, or its
 * next user would begin it anew.
 */
void record_keep(struct record *record);

/* record_close() ends one use; NULL is allowed. */
void record_close(struct record *record);

/*
 * record_write() appends text and returns 0, or the error for which the file
 * has ended, now or before.
 */
int record_write(struct record *record, const char *text, size_t size);

/* record_path() names a file in messages. */
const char *record_path(const struct record *record);

#endif
