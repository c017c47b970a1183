/*
 * lib/save/file.c - files that are replaced whole or not at all
 *
 * A new file is written and synchronised under a name of its own in the folder
 * of the old one and then renamed over it; the folder is synchronised last, so
 * that the new name survives a crash. All names are relative to that folder,
 * which is opened once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/save/file.h"

struct file {
	const char *path;   /* as the caller wrote it */
	const char *name;   /* its last part */
	char temporary[64]; /* the other name */
	int folder;
	int descriptor;
};

static enum philox_status fail_file(const char *path, const char *what)
{
	return status_set(PHILOX_ERROR_FILE, "'%s': %s: %s", path, what,
			  strerror(errno));
}

static enum philox_status open_folder(struct file *file)
{
	const char *slash = strrchr(file->path, '/');
	char *folder;
	int error;

	file->name = slash ? slash + 1 : file->path;
	if (!*file->name)
		return status_set(PHILOX_ERROR_INVALID,
				  "'%s' is not the path of a file", file->path);
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

/* A name left behind by a process that died is stepped over. */
static enum philox_status open_temporary(struct file *file)
{
	static atomic_uint count;

	do {
		snprintf(file->temporary, sizeof(file->temporary),
			 ".philox-%ld-%u.tmp", (long)getpid(),
			 atomic_fetch_add(&count, 1));
		file->descriptor =
			openat(file->folder, file->temporary,
			       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	} while (file->descriptor < 0 && errno == EEXIST);
	if (file->descriptor < 0)
		return fail_file(file->path,
				 "no file can be made in its folder");
	return PHILOX_OK;
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

/* Some file systems synchronise no folders and say so: that is no failure. */
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

enum philox_status save_file_write(const char *path, const char *text,
				   size_t size)
{
	struct file file = {.path = path};
	enum philox_status status = open_folder(&file);

	if (status != PHILOX_OK)
		return status;
	status = open_temporary(&file);
	if (status != PHILOX_OK)
		goto close_folder;
	status = fill_temporary(&file, text, size);
	if (status == PHILOX_OK)
		status = rename_temporary(&file);
	if (status != PHILOX_OK)
		unlinkat(file.folder, file.temporary, 0);
close_folder:
	close(file.folder);
	return status;
}

/* --- reading -------------------------------------------------------------- */

static enum philox_status read_stream(FILE *stream, const char *path,
				      char **text, size_t *size)
{
	char *read = NULL;
	size_t length = 0, room = 0;

	do {
		char *larger;

		room = room ? 2 * room : 4096;
		larger = realloc(read, room);
		if (!larger) {
			free(read);
			return status_set(PHILOX_ERROR_MEMORY,
					  "'%s': no memory to read it", path);
		}
		read = larger;
		length += fread(read + length, 1, room - length, stream);
	} while (length == room);
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
		status = fail_file(path, "cannot be opened");
		close(descriptor);
		return status;
	}
	status = read_stream(stream, path, text, size);
	fclose(stream);
	return status;
}

/* Opening a pipe would wait for its writer without O_NONBLOCK. */
enum philox_status save_file_read(const char *path, char **text, size_t *size)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (descriptor < 0)
		return fail_file(path, "cannot be opened");
	return read_file(descriptor, path, text, size);
}
