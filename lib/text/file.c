/*
 * lib/text/file.c - files that are replaced whole or not at all
 *
 * A new file is written and synchronised in a folder beside the old one (Note
 * [Abandoned files]) and then renamed over it; the folder is synchronised last,
 * so that the new name survives a crash. Both folders are open while that is
 * done, and names are relative to them. What is no file (a device, a pipe, a
 * descriptor of this process) is written to instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "lib/text/group.h"
#include "lib/text/text.h"

/* New files that other processes may remove before they are locked. */
#define REMOVED_MAX 64

#define NO_FILE "no file can be made in its folder"

/* One file that is being replaced. */
struct file {
	const struct file_place *place;
	char temporary[64]; /* the other name */
	int folder;         /* can be read and synchronised */
	struct file_beside beside;
	int descriptor;
	int lock;     /* the same file, open for as long as it is to be locked */
	int is_apart; /* it cannot be moved from where it is */
};

static enum philox_status fail_place(const struct file *file, const char *what)
{
	return file_fail(file->place->path, what);
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
	if (file_lock(file->descriptor))
		taken = errno == EWOULDBLOCK;
	still = file_is_still(file->beside.own, file->temporary,
			      file->descriptor);
	if (still == 1 && !taken)
		return 1;
	if (still < 0 && !taken) {
		int error = errno;

		unlinkat(file->beside.own, file->temporary, 0);
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

	snprintf(file->temporary, sizeof(file->temporary), FILE_TEMPORARY,
		 (long)getpid(), atomic_fetch_add(&count, 1));
	file->descriptor =
		openat(file->beside.own, file->temporary, flags, mode);
}

/* A name that an earlier process with this id has left is skipped. */
static enum philox_status open_temporary(struct file *file, mode_t mode)
{
	for (int removed = 0; removed < REMOVED_MAX; removed++) {
		int locked;

		do
			open_new_name(file, mode);
		while (file->descriptor < 0 &&
		       (errno == EEXIST || errno == EINTR));
		if (file->descriptor < 0 && file_was_removed(errno) &&
		    !file_beside_again(&file->beside))
			continue;
		if (file->descriptor < 0)
			return fail_place(file, NO_FILE);
		locked = lock_temporary(file);
		if (locked)
			return locked > 0 ? PHILOX_OK
					  : fail_place(file, NO_FILE);
	}
	errno = EAGAIN;
	return fail_place(file, NO_FILE);
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

/*
 * Some kernels move no file to another folder (Landlock, Lustre): the file is
 * then made again. Some file systems cannot synchronise folders and say so: not
 * a failure.
 */
static enum philox_status rename_temporary(struct file *file)
{
	if (renameat(file->beside.own, file->temporary, file->folder,
		     file->place->name)) {
		file->is_apart = errno == EXDEV && file->beside.is_own;
		return file->is_apart ? PHILOX_ERROR_FILE
				      : fail_place(file, "cannot be replaced");
	}
	if (file_synchronise(file->folder) && errno != EINVAL && errno != ENOTSUP)
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
	status = keep_mode(file);
	if (status != PHILOX_OK)
		close(file->descriptor);
	else
		status = file_fill(file->place->path, file->descriptor, text,
				   size);
	if (status == PHILOX_OK)
		status = rename_temporary(file);
	if (status != PHILOX_OK)
		unlinkat(file->beside.own, file->temporary, 0);
	if (file->lock >= 0)
		close(file->lock);
	return status;
}

static enum philox_status replace_beside(struct file *file, mode_t mode,
					 const char *text, size_t size)
{
	enum philox_status status;

	file_remove_abandoned(&file->beside);
	status = replace_in_folder(file, mode, text, size);
	if (!file->is_apart)
		return status;
	if (file_beside_without(&file->beside))
		return fail_place(file, NO_FILE);
	file_remove_abandoned(&file->beside);
	return replace_in_folder(file, mode, text, size);
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
	if (file_beside_open(&file.beside, file.folder, place->name)) {
		status = fail_place(&file, NO_FILE);
	} else {
		status = replace_beside(&file, is_new_to_all ? 0666 : 0600,
					text, size);
		file_beside_close(&file.beside);
	}
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
	failed = file_write_bytes(descriptor, text, size);
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
	if (S_ISREG(about.st_mode) && file_synchronise(descriptor))
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
	if (file_close(descriptor) && status == PHILOX_OK)
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
