/*
 * lib/text/file.c - files that are replaced whole or not at all
 *
 * A new file is written and synchronised under a temporary name in the folder
 * of the old one and then renamed over it; the folder is synchronised last, so
 * that the new name survives a crash. All names are relative to that folder,
 * which is opened once. What is no file (a device, a pipe, a descriptor of this
 * process) is written to instead.
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
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "lib/containers/array.h"
#include "lib/text/text.h"

/* A temporary file: the process's id, and a number that counts up in it. */
#define TEMPORARY "%s%ld-%u.tmp"
#define PREFIX    ".philox-"

/* New files that other processes may remove before they are locked. */
#define REMOVED_MAX 64

/* Of a file, for its first line. */
#define FIRST_PIECE 4096

/* One file that is being replaced. */
struct file {
	const struct file_place *place;
	char temporary[64]; /* the other name */
	int folder;         /* can be read and synchronised */
	int descriptor;
	int lock; /* the same file, open for as long as it is to be locked */
};

static enum philox_status fail_place(const struct file *file, const char *what)
{
	return file_fail(file->place->path, what);
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

/*
 * Whether a descriptor's file is one, and still has this name in its folder;
 * -1: that cannot be found out.
 */
static int is_still(int folder, const char *name, int descriptor)
{
	struct stat open, named;

	if (fstat(descriptor, &open))
		return -1;
	if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -1;
	return S_ISREG(open.st_mode) && open.st_dev == named.st_dev &&
	       open.st_ino == named.st_ino;
}

static void remove_unlocked(int folder, const char *name)
{
	const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int descriptor = openat(folder, name, flags);

	if (descriptor < 0)
		return;
	if (!flock(descriptor, LOCK_EX | LOCK_NB) &&
	    is_still(folder, name, descriptor) == 1)
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

/* --- system calls that signals interrupt ---------------------------------- */

static int synchronise(int descriptor)
{
	int failed;

	do
		failed = fsync(descriptor);
	while (failed && errno == EINTR);
	return failed;
}

static int lock_file(int descriptor)
{
	int failed;

	do
		failed = flock(descriptor, LOCK_EX | LOCK_NB);
	while (failed && errno == EINTR);
	return failed;
}

/* An interrupted close() has closed. */
static int close_file(int descriptor)
{
	return close(descriptor) && errno != EINTR;
}

/* Until a descriptor that does not wait by itself takes something. */
static int wait_to_write(int descriptor)
{
	struct pollfd ready = {.fd = descriptor, .events = POLLOUT};

	return poll(&ready, 1, -1) < 0 && errno != EINTR;
}

/* 0, or -1 with errno. */
static int write_bytes_to(int descriptor, const char *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(descriptor, bytes, size);

		if (written > 0) {
			bytes += written;
			size -= (size_t)written;
			continue;
		}
		if (!written)
			errno = EIO; /* it takes nothing, and does not say why */
		if (written && errno == EAGAIN && !wait_to_write(descriptor))
			continue;
		if (!written || errno != EINTR)
			return -1;
	}
	return 0;
}

/* --- a new file ----------------------------------------------------------- */

/* One that ours was not is somebody else's by now. */
static void close_temporary(struct file *file)
{
	close(file->descriptor);
	if (file->lock >= 0)
		close(file->lock);
}

/* 1, or 0 if somebody is removing the file; -1: an error. */
static int lock_temporary(struct file *file)
{
	int taken = 0, still;

	file->lock = fcntl(file->descriptor, F_DUPFD_CLOEXEC, 0);
	if (lock_file(file->descriptor))
		taken = errno == EWOULDBLOCK;
	still = is_still(file->folder, file->temporary, file->descriptor);
	if (still == 1 && !taken)
		return 1;
	if (still < 0 && !taken) {
		int error = errno;

		unlinkat(file->folder, file->temporary, 0);
		close_temporary(file);
		errno = error;
		return -1;
	}
	close_temporary(file);
	return 0;
}

static void open_new_name(struct file *file, mode_t mode)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	static atomic_uint count;

	snprintf(file->temporary, sizeof(file->temporary), TEMPORARY, PREFIX,
		 (long)getpid(), atomic_fetch_add(&count, 1));
	file->descriptor = openat(file->folder, file->temporary, flags, mode);
}

/* A name that an earlier process with this id has left is skipped. */
static enum philox_status open_temporary(struct file *file, mode_t mode)
{
	const char *failed = "no file can be made in its folder";

	for (int removed = 0; removed < REMOVED_MAX; removed++) {
		int locked;

		do
			open_new_name(file, mode);
		while (file->descriptor < 0 &&
		       (errno == EEXIST || errno == EINTR));
		if (file->descriptor < 0)
			return fail_place(file, failed);
		locked = lock_temporary(file);
		if (locked)
			return locked > 0 ? PHILOX_OK
					  : fail_place(file, failed);
	}
	errno = EAGAIN;
	return fail_place(file, failed);
}

/*
 * The mode of what is replaced, and its owner where that is allowed: root may
 * save for somebody else.
 */
static enum philox_status keep_mode(const struct file *file)
{
	const struct stat *old = &file->place->about;
	const mode_t mode = old->st_mode & 0777;
	struct stat about;

	if (!S_ISREG(old->st_mode))
		return PHILOX_OK;
	if (fstat(file->descriptor, &about))
		return fail_place(file, "cannot be looked at");
	if ((about.st_uid != old->st_uid || about.st_gid != old->st_gid) &&
	    fchown(file->descriptor, old->st_uid, old->st_gid) &&
	    errno != EPERM)
		return fail_place(file, "cannot get the owner it had");
	if ((about.st_mode & 0777) != mode && fchmod(file->descriptor, mode))
		return fail_place(file, "cannot get the rights it had");
	return PHILOX_OK;
}

static enum philox_status write_file(const struct file *file, const char *text,
				     size_t size)
{
	if (write_bytes_to(file->descriptor, text, size))
		return fail_place(file, "cannot be written");
	if (synchronise(file->descriptor))
		return fail_place(file, "cannot be synchronised");
	return keep_mode(file);
}

static enum philox_status fill_temporary(const struct file *file,
					 const char *text, size_t size)
{
	enum philox_status status = write_file(file, text, size);

	if (close_file(file->descriptor) && status == PHILOX_OK)
		status = fail_place(file, "cannot be closed");
	return status;
}

/* Some file systems cannot synchronise folders and say so: not a failure. */
static enum philox_status rename_temporary(const struct file *file)
{
	if (renameat(file->folder, file->temporary, file->folder,
		     file->place->name))
		return fail_place(file, "cannot be replaced");
	if (synchronise(file->folder) && errno != EINVAL && errno != ENOTSUP)
		return fail_place(file, "was replaced, but its folder cannot "
					"be synchronised");
	return PHILOX_OK;
}

static enum philox_status replace_in_folder(struct file *file, mode_t mode,
					    const char *text, size_t size)
{
	enum philox_status status = open_temporary(file, mode);

	if (status != PHILOX_OK)
		return status;
	status = fill_temporary(file, text, size);
	if (status == PHILOX_OK)
		status = rename_temporary(file);
	if (status != PHILOX_OK)
		unlinkat(file->folder, file->temporary, 0);
	if (file->lock >= 0)
		close(file->lock);
	return status;
}

/* One that is replaced is nobody's until it has the rights it had. */
static enum philox_status replace(const struct file_place *place,
				  enum file_readers readers, const char *text,
				  size_t size)
{
	struct file file = {.place = place};
	const int is_new_to_all = readers == FILE_FOR_ALL &&
				  !S_ISREG(place->about.st_mode);
	enum philox_status status;

	file.folder = openat(place->folder, ".",
			     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (file.folder < 0)
		return fail_place(&file, "its folder cannot be opened");
	remove_abandoned(file.folder);
	status = replace_in_folder(&file, is_new_to_all ? 0666 : 0600, text,
				   size);
	close(file.folder);
	return status;
}

/* --- what is no file ------------------------------------------------------ */

/*
 * Writes without dying of it if nobody reads: the signal is kept away from this
 * thread, and taken back if it was not there before.
 */
static int write_alive(int descriptor, const char *text, size_t size)
{
	const struct timespec now = {0, 0};
	sigset_t pipe, before, pending;
	int was_pending, failed, error;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	failed = write_bytes_to(descriptor, text, size);
	error = errno;
	if (failed && error == EPIPE && !was_pending)
		while (sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return failed;
}

static enum philox_status write_open(const char *path, int descriptor,
				     const char *text, size_t size)
{
	struct stat about;

	if (fstat(descriptor, &about) || write_alive(descriptor, text, size))
		return file_fail(path, "cannot be written");
	if (S_ISREG(about.st_mode) && synchronise(descriptor))
		return file_fail(path, "cannot be synchronised");
	return PHILOX_OK;
}

/*
 * Opening a pipe would wait for its reader without O_NONBLOCK, and a terminal
 * would become that of a process that has none without O_NOCTTY.
 */
static enum philox_status write_through(const struct file_place *place,
					const char *text, size_t size)
{
	const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int descriptor = openat(place->folder, place->name, flags);
	enum philox_status status;

	if (descriptor < 0 && errno == ENXIO && S_ISFIFO(place->about.st_mode))
		return status_set(PHILOX_ERROR_FILE,
				  "'%s': nobody reads this pipe", place->path);
	if (descriptor < 0)
		return file_fail(place->path, "cannot be opened");
	status = write_open(place->path, descriptor, text, size);
	if (close_file(descriptor) && status == PHILOX_OK)
		status = file_fail(place->path, "cannot be closed");
	return status;
}

static enum philox_status refuse_place(const struct file_place *place)
{
	const mode_t mode = place->about.st_mode;

	return status_set(PHILOX_ERROR_FILE, "'%s': it is a %s", place->path,
			  S_ISDIR(mode)    ? "folder"
			  : S_ISSOCK(mode) ? "socket"
					   : "disk, or another block device");
}

static enum philox_status write_place(const struct file_place *place,
				      enum file_readers readers,
				      const char *text, size_t size)
{
	const mode_t mode = place->about.st_mode;

	if (place->descriptor >= 0)
		return write_open(place->path, place->descriptor, text, size);
	if (!mode || S_ISREG(mode))
		return replace(place, readers, text, size);
	if (S_ISFIFO(mode) || S_ISCHR(mode))
		return write_through(place, text, size);
	return refuse_place(place);
}

enum philox_status file_write(const char *path, enum file_readers readers,
			      const char *text, size_t size)
{
	struct file_place place;
	enum philox_status status = file_place_find(&place, path);

	if (status != PHILOX_OK)
		return status;
	status = write_place(&place, readers, text, size);
	file_place_free(&place);
	return status;
}

/* --- reading -------------------------------------------------------------- */

static enum philox_status no_memory_to_read(const char *path)
{
	return status_set(PHILOX_ERROR_MEMORY, "'%s': no memory to read it",
			  path);
}

static enum philox_status too_long(const char *path, uint64_t most)
{
	return status_set(PHILOX_ERROR_FILE,
			  "'%s': it is longer than such a file may be, %" PRIu64
			  " bytes",
			  path, most);
}

/* Reads `more` bytes, or all that there are: fewer. -1 with errno. */
static ssize_t read_bytes(int descriptor, char *to, size_t more)
{
	size_t n = 0;

	while (n < more) {
		ssize_t taken = read(descriptor, to + n, more - n);

		if (taken < 0 && errno != EINTR)
			return -1;
		if (!taken)
			break;
		n += taken > 0 ? (size_t)taken : 0;
	}
	return (ssize_t)n;
}

static int begins_as(const char *const starts[], const char *text, size_t size)
{
	for (; *starts; starts++)
		if (size >= strlen(*starts) &&
		    !memcmp(text, *starts, strlen(*starts)))
			return 1;
	return 0;
}

/* Of a text that begins otherwise there is no more than its first piece. */
static enum philox_status read_all(int descriptor, const char *path,
				   const struct file_kind *kind, uint64_t size,
				   struct text *text)
{
	size_t more = FIRST_PIECE;

	for (;;) {
		char *to = array_grow(&text->bytes, text->size, more, 1);
		ssize_t n = to ? read_bytes(descriptor, to, more) : 0;

		if (!to)
			return no_memory_to_read(path);
		if (n < 0)
			return file_fail(path, "cannot be read");
		text->size += (size_t)n;
		if (!begins_as(kind->starts, text->bytes, text->size))
			return PHILOX_OK;
		if (size > kind->most || text->size > kind->most)
			return too_long(path, kind->most);
		if ((size_t)n < more)
			return PHILOX_OK;
		more = text->size;
	}
}

static enum philox_status read_open(int descriptor, const char *path,
				    const struct file_kind *kind,
				    struct text *text)
{
	struct stat about;

	if (fstat(descriptor, &about))
		return file_fail(path, "cannot be looked at");
	if (!S_ISREG(about.st_mode))
		return status_set(PHILOX_ERROR_FILE,
				  "'%s' is not a regular file", path);
	return read_all(descriptor, path, kind, (uint64_t)about.st_size, text);
}

/* Opening a pipe would wait for its writer without O_NONBLOCK. */
enum philox_status file_read(const char *path, const struct file_kind *kind,
			     struct text *text)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum philox_status status;

	*text = (struct text){.size = 0};
	if (descriptor < 0)
		return file_fail(path, "cannot be opened");
	status = read_open(descriptor, path, kind, text);
	close(descriptor);
	if (status != PHILOX_OK) {
		free(text->bytes);
		text->bytes = NULL;
	}
	return status;
}
