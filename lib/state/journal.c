/*
 * lib/state/journal.c - see Note [Journal] in lib/state/journal.h
 *
 * Contexts that name the same path share a file. Each line is one write() to
 * the end of it, so that a crash loses nothing and lines of several contexts
 * stay whole. The list of files and their contents have their own lock, which
 * is taken inside a context's lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <philox/journal.h>
#include "lib/state/journal.h"
#include "lib/state/region.h"

#define JOURNAL_HEADER "philox journal 1\n"

struct journal {
	struct journal *next;
	char *path;
	int descriptor; /* -1: it has ended, because of `error` */
	int error;
	unsigned users; /* contexts; and the process, if it asked for it */
	int of_process;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct journal *journals;
static atomic_uint contexts;

/* --- files, with the lock of journals held -------------------------------- */

static void fail_file(struct journal *journal, int error)
{
	if (journal->descriptor >= 0)
		close(journal->descriptor);
	journal->descriptor = -1;
	journal->error = error;
}

static void append_to_file(struct journal *journal, const char *text,
			   size_t size)
{
	while (size && journal->descriptor >= 0) {
		ssize_t written = write(journal->descriptor, text, size);

		if (written > 0) {
			text += written;
			size -= (size_t)written;
		} else if (!written || errno != EINTR) {
			fail_file(journal, written ? errno : EIO);
		}
	}
}

/* Does not wait for a pipe's reader, nor die when the reader is gone. */
static void open_file(struct journal *journal)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC |
			  O_NONBLOCK;
	struct stat about;

	journal->descriptor = open(journal->path, flags, 0666);
	if (journal->descriptor < 0 || fstat(journal->descriptor, &about))
		fail_file(journal, errno);
	else if (!S_ISREG(about.st_mode) && !S_ISCHR(about.st_mode))
		fail_file(journal, EINVAL);
	else
		fcntl(journal->descriptor, F_SETFL, O_APPEND);
	append_to_file(journal, JOURNAL_HEADER, strlen(JOURNAL_HEADER));
}

static struct journal *find_or_open(const char *path)
{
	struct journal *journal = journals;

	while (journal && (strcmp(journal->path, path) || journal->error))
		journal = journal->next;
	if (journal) {
		journal->users++;
		return journal;
	}
	journal = calloc(1, sizeof(*journal));
	if (!journal || !(journal->path = strdup(path))) {
		free(journal);
		return NULL;
	}
	open_file(journal);
	journal->users = 1;
	journal->next = journals;
	journals = journal;
	return journal;
}

static void stop_using(struct journal *journal)
{
	struct journal **link = &journals;

	if (--journal->users)
		return;
	while (*link != journal)
		link = &(*link)->next;
	*link = journal->next;
	if (journal->descriptor >= 0)
		close(journal->descriptor);
	free(journal->path);
	free(journal);
}

/* --- words ---------------------------------------------------------------- */

/* Room for the hash, a quotation mark and the end is always left. */
struct journal_text journal_name(const char *name)
{
	struct journal_text made;
	const size_t room = sizeof(made.text) - 32;
	size_t length = 0;

	made.text[length++] = '"';
	for (const char *next = name; *next; next++) {
		unsigned char byte = (unsigned char)*next;

		if (length > room) {
			length += (size_t)sprintf(
				made.text + length, "..#%016" PRIx64,
				region_hash(name, strlen(name)));
			break;
		}
		if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
			length += (size_t)sprintf(made.text + length, "\\x%02x",
						  byte);
		else
			made.text[length++] = *next;
	}
	made.text[length++] = '"';
	made.text[length] = '\0';
	return made;
}

struct journal_text journal_flags(unsigned flags)
{
	static const struct {
		unsigned flag;
		const char *word;
	} words[] = {{PHILOX_INFERENCE, "inference"},
		     {PHILOX_WARMUP, "warmup"},
		     {PHILOX_RETAIN, "retain"},
		     {PHILOX_ON_DEVICE, "on-device"}};
	struct journal_text made = {"none"};
	size_t length = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (flags & words[i].flag)
			length += (size_t)sprintf(made.text + length, "%s%s",
						  length ? "," : "",
						  words[i].word);
	return made;
}

/* The list is newest first: a generator's number counts those after it. */
unsigned journal_number(const struct philox_generator *generator)
{
	unsigned number = 0;

	while ((generator = generator->next))
		number++;
	return number;
}

/* --- events, with the context's lock held --------------------------------- */

static void end_journal(struct philox_context *context)
{
	if (!context->journal)
		return;
	pthread_mutex_lock(&lock);
	stop_using(context->journal);
	pthread_mutex_unlock(&lock);
	context->journal = NULL;
}

/* Reported when there is a log to report to, and only once. */
static void post_error(struct philox_context *context, int error)
{
	if (!context->log)
		return;
	log_post(context, PHILOX_LOG_WARNING, "journal ended",
		 &(struct philox_log_entry){.status = PHILOX_ERROR_FILE},
		 "the journal '%s' cannot be written and has ended: %s",
		 context->journal->path, strerror(error));
	end_journal(context);
}

void journal_event(struct philox_context *context, const char *format, ...)
{
	char line[1536];
	const size_t room = sizeof(line) - 1; /* for the line feed */
	size_t length;
	va_list arguments;
	int error;

	length = (size_t)snprintf(line, room, "%u %" PRIu64 " ",
				  context->number, ++context->events);
	va_start(arguments, format);
	length += (size_t)vsnprintf(line + length, room - length, format,
				    arguments);
	va_end(arguments);
	if (length >= room)
		length = room - 1;
	line[length++] = '\n';
	pthread_mutex_lock(&lock);
	append_to_file(context->journal, line, length);
	error = context->journal->error;
	pthread_mutex_unlock(&lock);
	if (error)
		post_error(context, error);
}

void journal_pass(const struct philox_pass *pass, const char *event,
		  unsigned flags)
{
	journal_write(pass->region->context,
		      "%s-%s region %s ticket %" PRIu64 " seed %016" PRIx64
		      " offset %" PRIu64 " flags %s",
		      pass->kind == PASS_FORWARD ? "forward" : "backward",
		      event, journal_name(pass->region->name).text,
		      pass->ticket.serial, pass->state.seed, pass->state.offset,
		      journal_flags(flags).text);
}

void journal_ticket(const struct philox_region *region, uint64_t serial,
		    const char *event)
{
	journal_write(region->context, "ticket-%s region %s ticket %" PRIu64,
		      event, journal_name(region->name).text, serial);
}

void journal_generator(const struct philox_generator *generator,
		       const char *event)
{
	journal_write(generator->context,
		      "generator-%s generator %u seed %016" PRIx64
		      " offset %" PRIu64,
		      event, journal_number(generator), generator->state.seed,
		      generator->state.offset);
}

void journal_region(const struct philox_region *region)
{
	journal_write(region->context,
		      "region-create region %s generator %u flags %s cells %u "
		      "advance %" PRIu64 " seed %016" PRIx64 " offset %" PRIu64
		      " serial %" PRIu64,
		      journal_name(region->name).text,
		      journal_number(region->generator),
		      region->flags & PHILOX_SHARED ? "shared" : "none",
		      region->cells, region->advance, region->state.seed,
		      region->state.offset, region->serial);
}

/* --- beginning ------------------------------------------------------------ */

static struct journal *start_using(const char *path, int of_process)
{
	struct journal *journal;

	pthread_mutex_lock(&lock);
	journal = find_or_open(path);
	if (journal && of_process && !journal->of_process) {
		journal->of_process = 1; /* never closed, or it would be lost */
		journal->users++;
	}
	pthread_mutex_unlock(&lock);
	return journal;
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

/*
 * A fork waits for a line that is being written, so that the lock is free in
 * the child, too, which may make contexts of its own.
 */
static void lock_files(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_files(void)
{
	pthread_mutex_unlock(&lock);
}

static void lock_in_forks(void)
{
	(void)pthread_atfork(lock_files, unlock_files, unlock_files);
}

void journal_begin(struct philox_context *context)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *path = secure_getenv("PHILOX_JOURNAL");
	char expanded[4096];
	uint64_t digest;

	pthread_once(&once, lock_in_forks);
	context->number = atomic_fetch_add(&contexts, 1);
	if (!path || !*path || !expand_path(path, expanded, sizeof(expanded)) ||
	    context->hooks->digest(context, &digest) != PHILOX_OK)
		return;
	context->journal = start_using(expanded, 1);
	journal_write(context, "context digest %016" PRIx64, digest);
}

void journal_finish(struct philox_context *context)
{
	context_lock(context);
	journal_write(context, "context-destroy");
	end_journal(context);
	context_unlock(context);
	context_report(context, PHILOX_OK, NULL);
}

static enum philox_status begin_at(struct philox_context *context,
				   const char *path, uint64_t digest)
{
	struct journal *journal = start_using(path, 0);
	int error;

	if (!journal)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the journal '%s'", path);
	pthread_mutex_lock(&lock);
	error = journal->error;
	if (error)
		stop_using(journal);
	pthread_mutex_unlock(&lock);
	if (error)
		return status_set(PHILOX_ERROR_FILE,
				  "the journal '%s' cannot be written: %s",
				  path, strerror(error));
	end_journal(context);
	context->journal = journal;
	journal_write(context, "context digest %016" PRIx64, digest);
	return PHILOX_OK;
}

enum philox_status philox_context_set_journal(struct philox_context *context,
					      const char *path)
{
	uint64_t digest;
	enum philox_status status = PHILOX_OK;

	if (!context)
		return context_null(NULL, "context");
	if (path && !*path)
		return context_report(
			context,
			status_set(PHILOX_ERROR_INVALID, "path is empty"),
			NULL);
	NEED_PROCESS(context);
	context_lock(context);
	if (path)
		status = context->hooks->digest(context, &digest);
	if (path && status == PHILOX_OK)
		status = begin_at(context, path, digest);
	if (!path)
		end_journal(context);
	context_unlock(context);
	return context_report(context, status, NULL);
}
