/*
 * lib/text/bytes.c - bytes into and out of descriptors, whatever a system call
 * does
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/containers/array.h"
#include "lib/text/group.h"
#include "lib/text/text.h"

/* Of a file, for its first line. */
#define FIRST_PIECE 4096

/* --- system calls that signals interrupt ---------------------------------- */

int file_synchronise(int descriptor)
{
	int failed;

	do
		failed = fsync(descriptor);
	while (failed && errno == EINTR);
	return failed;
}

int file_lock(int descriptor)
{
	int failed;

	do
		failed = flock(descriptor, LOCK_EX | LOCK_NB);
	while (failed && errno == EINTR);
	return failed;
}

/* An interrupted close() has closed. */
int file_close(int descriptor)
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
int file_write_bytes(int descriptor, const char *bytes, size_t size)
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

static enum philox_status write_file(const char *path, int descriptor,
				     const char *text, size_t size)
{
	if (file_write_bytes(descriptor, text, size))
		return file_fail(path, "cannot be written");
	if (file_synchronise(descriptor))
		return file_fail(path, "cannot be synchronised");
	return PHILOX_OK;
}

enum philox_status file_fill(const char *path, int descriptor, const char *text,
			     size_t size)
{
	enum philox_status status = write_file(path, descriptor, text, size);

	if (file_close(descriptor) && status == PHILOX_OK)
		status = file_fail(path, "cannot be closed");
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
enum philox_status file_read_at(int folder, const char *path,
				const struct file_kind *kind, struct text *text)
{
	int descriptor = openat(folder, path,
				O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

enum philox_status file_read(const char *path, const struct file_kind *kind,
			     struct text *text)
{
	return file_read_at(AT_FDCWD, path, kind, text);
}
