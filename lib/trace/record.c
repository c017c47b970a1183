/*
 * lib/trace/record.c - files that events are written into, as they happen
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/text/text.h"
#include "lib/trace/trace.h"

struct record {
	struct record *next;
	const struct record_form *form;
	char *path;
	int descriptor; /* -1: it has ended, because of `error` */
	int through;    /* it is a descriptor of the process: never cut */
	int inherited;  /* it is the file of the process that this is a fork of */
	int error;
	dev_t device; /* where the file is */
	ino_t number;
	unsigned users; /* contexts; and the process, if it keeps it */
	int kept;
	unsigned closed; /* the length of the form's end, if that is written */
	int filled;      /* has text after the form's beginning */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record *records;

/* --- one file, with the lock held ----------------------------------------- */

/* A child of fork() may have a copy of the descriptor, and so of the lock. */
static void close_descriptor(struct record *record)
{
	if (record->descriptor < 0)
		return;
	if (!record->through)
		flock(record->descriptor, LOCK_UN);
	close(record->descriptor);
	record->descriptor = -1;
}

static void fail_file(struct record *record, int error)
{
	close_descriptor(record);
	record->error = error;
}

static void append_to_file(struct record *record, const char *text, size_t size)
{
	while (size && record->descriptor >= 0) {
		ssize_t written = write(record->descriptor, text, size);

		if (written > 0) {
			text += written;
			size -= (size_t)written;
		} else if (!written || errno != EINTR) {
			fail_file(record, written ? errno : EIO);
		}
	}
}

static int cut_file(const struct record *record, off_t size)
{
	int failed;

	do
		failed = ftruncate(record->descriptor, size);
	while (failed && errno == EINTR);
	return failed;
}

/* The parent's events would go with those of the child, or before them. */
static int is_of_parent(const struct record *record)
{
	const struct record *other = records;

	while (other && !(other->inherited && other->number == record->number &&
			  other->device == record->device))
		other = other->next;
	return other != NULL;
}

/*
 * Empties a file, unless somebody writes to it: another process, a rank of the
 * same program perhaps, or this one under another name. Where files cannot be
 * locked this is not noticed.
 */
static void claim_file(struct record *record)
{
	if (is_of_parent(record))
		fail_file(record, ECHILD);
	else if (flock(record->descriptor, LOCK_EX | LOCK_NB) &&
		 errno == EWOULDBLOCK)
		fail_file(record, EBUSY);
	else if (cut_file(record, 0))
		fail_file(record, errno);
}

/*
 * Does not wait for a pipe's reader, nor die when the reader is gone. What a
 * link leads to may be anything, and is not emptied; a terminal cannot be.
 */
static int open_path(const char *path, int *is_link)
{
	const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK;
	int descriptor = open(path, flags | O_CREAT | O_NOFOLLOW, 0600);

	*is_link = descriptor < 0 && errno == ELOOP;
	return *is_link ? open(path, flags) : descriptor;
}

static void check_file(struct record *record, int is_link)
{
	struct stat about;

	if (record->descriptor < 0 || fstat(record->descriptor, &about)) {
		fail_file(record, errno);
		return;
	}
	record->device = about.st_dev;
	record->number = about.st_ino;
	if (S_ISREG(about.st_mode) && is_link)
		fail_file(record, ELOOP);
	else if (S_ISREG(about.st_mode) && !record->through)
		claim_file(record);
	else if (!S_ISREG(about.st_mode) && !S_ISCHR(about.st_mode))
		fail_file(record, EINVAL);
}

static void open_file(struct record *record)
{
	const int open_already = file_descriptor(record->path);
	int is_link = 0;

	record->through = open_already >= 0;
	if (record->through)
		record->descriptor = fcntl(open_already, F_DUPFD_CLOEXEC, 0);
	else
		record->descriptor = open_path(record->path, &is_link);
	check_file(record, is_link);
	if (record->descriptor >= 0 && !record->through)
		fcntl(record->descriptor, F_SETFL, O_APPEND);
	append_to_file(record, record->form->begin,
		       strlen(record->form->begin));
}

static const char *reason_of(int error)
{
	switch (error) {
	case EBUSY:
		return "it is in use, by another process or under another "
		       "name: put %p into the name, for the process id";
	case ECHILD:
		return "it is that of the process that this one is a fork of: "
		       "put %p into the name, for the process id";
	case ELOOP:
		return "it is a link to a file, which would be emptied: give "
		       "the path of the file";
	case EINVAL:
		return "it is neither a file nor a terminal";
	default:
		return strerror(error);
	}
}

/* Writes what a whole file ends with, to be taken back by open_end(). */
static void close_end(struct record *record)
{
	size_t size = strlen(record->form->end);

	if (!size || record->descriptor < 0)
		return;
	append_to_file(record, record->form->end, size);
	record->closed = (unsigned)size;
}

/* A device that cannot be cut, such as a terminal, has its end twice. */
static void open_end(struct record *record)
{
	struct stat about;

	if (!record->closed || record->descriptor < 0)
		return;
	if (!record->through && !fstat(record->descriptor, &about) &&
	    S_ISREG(about.st_mode) &&
	    about.st_size >= (off_t)record->closed &&
	    cut_file(record, about.st_size - (off_t)record->closed))
		fail_file(record, errno);
	record->closed = 0;
}

/* --- the list, with the lock held ----------------------------------------- */

static struct record *make_record(const struct record_form *form,
				  const char *path)
{
	struct record *record = calloc(1, sizeof(*record));

	if (!record || !(record->path = strdup(path))) {
		free(record);
		return NULL;
	}
	record->form = form;
	open_file(record);
	record->next = records;
	records = record;
	return record;
}

static struct record *find_or_make(const struct record_form *form,
				   const char *path)
{
	struct record *record = records;

	while (record && (record->form != form || record->error ||
			  strcmp(record->path, path) != 0))
		record = record->next;
	if (!record)
		record = make_record(form, path);
	if (record)
		record->users++;
	return record;
}

/* What the path is already in use for, if it is something else. */
static const char *other_form(const struct record_form *form, const char *path)
{
	for (const struct record *record = records; record;
	     record = record->next)
		if (record->form != form && !record->error &&
		    !strcmp(record->path, path))
			return record->form->what;
	return NULL;
}

static void free_record(struct record *record)
{
	struct record **link = &records;

	while (*link != record)
		link = &(*link)->next;
	*link = record->next;
	close_descriptor(record);
	free(record->path);
	free(record);
}

static void stop_using(struct record *record)
{
	record->users--;
	if (record->users == (record->kept ? 1u : 0u))
		close_end(record);
	if (!record->users)
		free_record(record);
}

/* --- forks ---------------------------------------------------------------- */

/*
 * A fork waits for a line that is being written, so that the lock is free in
 * the child, too, which may make contexts of its own. It has none of its
 * parent's files, and never begins one of them anew.
 */
static void lock_files(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_files(void)
{
	pthread_mutex_unlock(&lock);
}

/* The lock on a file stays its parent's. */
static void leave_files_to_parent(void)
{
	for (struct record *record = records; record; record = record->next) {
		if (record->descriptor >= 0)
			close(record->descriptor);
		record->inherited |= record->descriptor >= 0;
		record->descriptor = -1;
		record->error = ECHILD;
	}
	pthread_mutex_unlock(&lock);
}

static void lock_in_forks(void)
{
	(void)pthread_atfork(lock_files, unlock_files, leave_files_to_parent);
}

/* --- for all -------------------------------------------------------------- */

enum philox_status record_open(const struct record_form *form, const char *path,
			       struct record **record)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct record *found;
	const char *other;
	int error = 0;

	pthread_once(&once, lock_in_forks);
	pthread_mutex_lock(&lock);
	other = other_form(form, path);
	found = other ? NULL : find_or_make(form, path);
	if (found && (error = found->error))
		stop_using(found);
	pthread_mutex_unlock(&lock);
	if (other)
		return status_set(PHILOX_ERROR_FILE,
				  "the %s '%s' cannot be written: it is the %s",
				  form->what, path, other);
	if (!found)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the %s '%s'", form->what,
				  path);
	if (error)
		return status_set(PHILOX_ERROR_FILE,
				  "the %s '%s' cannot be written: %s",
				  form->what, path, reason_of(error));
	*record = found;
	return PHILOX_OK;
}

/* Writes the path with the process id for each "%p"; 0 if it is too long. */
static int expand_path(const char *path, char *expanded, size_t size)
{
	size_t length = 0;

	while (*path && length + 32 < size) {
		if (path[0] == '%' && path[1] == 'p') {
			length += (size_t)sprintf(expanded + length, "%ld",
						  (long)getpid());
			path += 2;
		} else {
			expanded[length++] = *path++;
		}
	}
	expanded[length] = '\0';
	return !*path;
}

enum philox_status record_open_variable(const struct record_form *form,
					const char *variable,
					struct record **record)
{
	const char *path = secure_getenv(variable);
	char expanded[4096];
	enum philox_status status;

	*record = NULL;
	if (!path || !*path)
		return PHILOX_OK;
	if (!expand_path(path, expanded, sizeof(expanded)))
		return status_set(PHILOX_ERROR_FILE,
				  "%s: the %s '%.64s...' cannot be written: %s",
				  variable, form->what, path,
				  strerror(ENAMETOOLONG));
	status = record_open(form, expanded, record);
	return status == PHILOX_OK ? status
				   : status_prefix(status, "%s: ", variable);
}

void record_keep(struct record *record)
{
	if (!record)
		return;
	pthread_mutex_lock(&lock);
	record->users += !record->kept;
	record->kept = 1;
	pthread_mutex_unlock(&lock);
}

void record_close(struct record *record)
{
	if (!record)
		return;
	pthread_mutex_lock(&lock);
	stop_using(record);
	pthread_mutex_unlock(&lock);
}

int record_write(struct record *record, const char *text, size_t size)
{
	int error;

	pthread_mutex_lock(&lock);
	open_end(record);
	if (!record->filled) {
		text += record->form->between;
		size -= record->form->between;
		record->filled = 1;
	}
	append_to_file(record, text, size);
	error = record->error;
	pthread_mutex_unlock(&lock);
	return error;
}

const char *record_path(const struct record *record)
{
	return record->path;
}
