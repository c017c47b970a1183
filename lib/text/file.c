/*
 * lib/text/file.c - files that are replaced whole or not at all
 *
 * A new file is written and synchronised under a temporary name in the folder
 * of the old one and then renamed over it; the folder is synchronised last, so
 * that the new name survives a crash. All names are relative to that folder,
 * which is opened once.
 *
 * Note [Abandoned files]
 * ~~~~~~~~~~~~~~~~~~~~~~
 * A process that is killed while it saves leaves its temporary file. Its name
 * contains the process's id, and the file is locked until it has its final
 * name, so the next save into that folder removes the files of processes that
 * are gone:
 *
 *  - An id that some process here has keeps the file, even if that is another
 *    process by now: a file too many is better than one too few.
 *  - In a folder that several machines or containers share, the id of a living
 *    process may be unknown here. Its lock keeps the file. Where files cannot
 *    be locked, none is removed.
 *  - Whoever removes a file locks it first. So the maker of a new file that is
 *    not yet locked may find it locked, or gone from its folder, and then takes
 *    another name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/containers/array.h"
#include "lib/text/text.h"

/* A temporary file: the process's id, and a number that counts up in it. */
#define TEMPORARY "%s%ld-%u.tmp"
#define PREFIX    ".philox-"

/* New files that other processes may remove before they are locked. */
#define REMOVED_MAX 64

struct file {
	const char *path;   /* as the caller wrote it */
	const char *name;   /* its last part */
	char temporary[64]; /* the other name */
	int folder;
	int descriptor;
	int lock; /* the same file, open for as long as it is to be locked */
};

static enum philox_status fail_file(const char *path, const char *what)
{
	return status_set(PHILOX_ERROR_FILE, "'%s': %s: %s", path, what,
			  strerror(errno));
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

enum philox_status file_check(const char *path)
{
	if (*last_part(path))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "'%s' is not the path of a file", path);
}

static enum philox_status open_folder(struct file *file)
{
	const char *slash = strrchr(file->path, '/');
	enum philox_status status = file_check(file->path);
	char *folder;
	int error;

	if (status != PHILOX_OK)
		return status;
	file->name = last_part(file->path);
	if (!slash)
		folder = strdup(".");
	else
		folder = strndup(
			file->path,
			slash == file->path ? 1 : (size_t)(slash - file->path));
	if (!folder)
		return status_set(PHILOX_ERROR_MEMORY, "no memory for a path");
	file->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = errno;
	free(folder);
	errno = error;
	if (file->folder < 0)
		return fail_file(file->path, "its folder cannot be opened");
	return PHILOX_OK;
}

/* --- abandoned files: see Note [Abandoned files] -------------------------- */

/* Whether a name is that of a temporary file, and then of which process. */
static int is_temporary(const char *name, long *process)
{
	char again[64];
	unsigned count;

	if (sscanf(name, PREFIX "%ld-%u", process, &count) != 2)
		return 0;
	snprintf(again, sizeof(again), TEMPORARY, PREFIX, *process, count);
	return !strcmp(name, again) && *process > 0 &&
	       *process == (long)(pid_t)*process;
}

static int is_gone(long process)
{
	return kill((pid_t)process, 0) && errno == ESRCH;
}

/* Whether a descriptor's file is one, and still has this name in its folder. */
static int is_still(int folder, const char *name, int descriptor)
{
	struct stat open, named;

	return !fstat(descriptor, &open) && S_ISREG(open.st_mode) &&
	       !fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) &&
	       open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

static void remove_unlocked(int folder, const char *name)
{
	const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int descriptor = openat(folder, name, flags);

	if (descriptor < 0)
		return;
	if (!flock(descriptor, LOCK_EX | LOCK_NB) &&
	    is_still(folder, name, descriptor))
		unlinkat(folder, name, 0);
	close(descriptor);
}

/* Failing to read or remove anything is not an error of the caller's save. */
static void remove_abandoned(int folder)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;
	long process;

	if (!entries) {
		if (again >= 0)
			close(again);
		return;
	}
	while ((entry = readdir(entries)))
		if (is_temporary(entry->d_name, &process) && is_gone(process))
			remove_unlocked(folder, entry->d_name);
	closedir(entries);
}

/* --- writing -------------------------------------------------------------- */

/* Returns 0 if somebody is removing the file. */
static int lock_temporary(struct file *file)
{
	int error;

	file->lock = fcntl(file->descriptor, F_DUPFD_CLOEXEC, 0);
	error = flock(file->descriptor, LOCK_EX | LOCK_NB) ? errno : 0;
	if (error != EWOULDBLOCK &&
	    is_still(file->folder, file->temporary, file->descriptor))
		return 1;
	close(file->descriptor);
	if (file->lock >= 0)
		close(file->lock);
	return 0;
}

static void open_new_name(struct file *file)
{
	static atomic_uint count;

	snprintf(file->temporary, sizeof(file->temporary), TEMPORARY, PREFIX,
		 (long)getpid(), atomic_fetch_add(&count, 1));
	file->descriptor =
		openat(file->folder, file->temporary,
		       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* A name that an earlier process with this id has left is skipped. */
static enum philox_status open_temporary(struct file *file)
{
	const char *failed = "no file can be made in its folder";

	for (int removed = 0; removed < REMOVED_MAX; removed++) {
		do
			open_new_name(file);
		while (file->descriptor < 0 && errno == EEXIST);
		if (file->descriptor < 0)
			return fail_file(file->path, failed);
		if (lock_temporary(file))
			return PHILOX_OK;
	}
	errno = EAGAIN;
	return fail_file(file->path, failed);
}

static enum philox_status write_all(const struct file *file, const char *text,
				    size_t size)
{
	while (size) {
		ssize_t written = write(file->descriptor, text, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return fail_file(file->path, "cannot be written");
		text += written;
		size -= (size_t)written;
	}
	if (fsync(file->descriptor))
		return fail_file(file->path, "cannot be synchronised");
	return PHILOX_OK;
}

static enum philox_status fill_temporary(struct file *file, const char *text,
					 size_t size)
{
	enum philox_status status = write_all(file, text, size);

	if (close(file->descriptor) && status == PHILOX_OK)
		status = fail_file(file->path, "cannot be closed");
	return status;
}

/* Some file systems cannot synchronise folders and say so: not a failure. */
static enum philox_status rename_temporary(const struct file *file)
{
	if (renameat(file->folder, file->temporary, file->folder, file->name))
		return fail_file(file->path, "cannot be replaced");
	if (fsync(file->folder) && errno != EINVAL && errno != ENOTSUP)
		return fail_file(file->path,
				 "was replaced, but its folder cannot be "
				 "synchronised");
	return PHILOX_OK;
}

enum philox_status file_write(const char *path, const char *text, size_t size)
{
	struct file file = {.path = path};
	enum philox_status status = open_folder(&file);

	if (status != PHILOX_OK)
		return status;
	remove_abandoned(file.folder);
	status = open_temporary(&file);
	if (status != PHILOX_OK)
		goto close_folder;
	status = fill_temporary(&file, text, size);
	if (status == PHILOX_OK)
		status = rename_temporary(&file);
	if (status != PHILOX_OK)
		unlinkat(file.folder, file.temporary, 0);
	if (file.lock >= 0)
		close(file.lock);
close_folder:
	close(file.folder);
	return status;
}

/* --- reading -------------------------------------------------------------- */

static enum philox_status no_memory_to_read(const char *path)
{
	return status_set(PHILOX_ERROR_MEMORY, "'%s': no memory to read it",
			  path);
}

static enum philox_status read_stream(FILE *stream, const char *path,
				      char **text, size_t *size)
{
	char *read = NULL;
	size_t length = 0, more, n;

	do {
		char *to;

		more = length ? length : 4096;
		to = array_grow(&read, length, more, 1);
		if (!to) {
			free(read);
			return no_memory_to_read(path);
		}
		n = fread(to, 1, more, stream);
		length += n;
	} while (n == more);
	if (ferror(stream)) {
		free(read);
		return fail_file(path, "cannot be read");
	}
	*text = read;
	*size = length;
	return PHILOX_OK;
}

static enum philox_status read_file(int descriptor, const char *path,
				    char **text, size_t *size)
{
	struct stat about;
	FILE *stream;
	enum philox_status status;

	if (!fstat(descriptor, &about) && !S_ISREG(about.st_mode)) {
		close(descriptor);
		return status_set(PHILOX_ERROR_FILE,
				  "'%s' is not a regular file", path);
	}
	stream = fdopen(descriptor, "r");
	if (!stream) {
		close(descriptor);
		return no_memory_to_read(path);
	}
	status = read_stream(stream, path, text, size);
	fclose(stream);
	return status;
}

/* Opening a pipe would wait for its writer without O_NONBLOCK. */
enum philox_status file_read(const char *path, char **text, size_t *size)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (descriptor < 0)
		return fail_file(path, "cannot be opened");
	return read_file(descriptor, path, text, size);
}
