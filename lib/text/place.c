/*
 * lib/text/place.c - where the path of a new file leads
 *
 * Links are followed one by one, as a file is replaced in the folder of what
 * they lead to. A link to a descriptor of this process is that descriptor:
 * opened by its name again, a file would be written from its beginning.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "lib/text/text.h"

/* As many links as the kernel follows. */
#define LINKS_MAX 40

/* What fstatfs() says of /proc: <linux/magic.h> is not on every machine. */
#define PROC_TYPE 0x9fa0

enum philox_status file_fail(const char *path, const char *what)
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

/* --- descriptors of this process ------------------------------------------ */

/* The number that a text is, without leading zeros; or -1. */
static int number_of(const char *text)
{
	char again[16], *end;
	long number = strtol(text, &end, 10);

	if (number < 0 || number > INT_MAX || *end)
		return -1;
	snprintf(again, sizeof(again), "%ld", number);
	return strcmp(text, again) ? -1 : (int)number;
}

int file_descriptor(const char *path)
{
	static const char *const names[] = {"/dev/stdin", "/dev/stdout",
					    "/dev/stderr"};
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/",
					      "/proc/thread-self/fd/"};
	char own[32];
	int length;

	for (int i = 0; i < 3; i++)
		if (!strcmp(path, names[i]))
			return i;
	for (int i = 0; i < 3; i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return number_of(path + strlen(folders[i]));
	length = snprintf(own, sizeof(own), "/proc/%ld/fd/", (long)getpid());
	return strncmp(path, own, (size_t)length) ? -1
						  : number_of(path + length);
}

/* --- one step ------------------------------------------------------------- */

static enum philox_status no_memory_for_path(void)
{
	return status_set(PHILOX_ERROR_MEMORY, "no memory for a path");
}

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Goes to a path that is seen from the folder where the last step led. */
static enum philox_status enter_folder_of(struct file_place *place,
					  const char *path)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	const char *name = last_part(path);
	char *folder = folder_of(path);
	int opened, error;

	free(place->name);
	place->name = strdup(*name ? name : ".");
	if (!folder || !place->name) {
		free(folder);
		return no_memory_for_path();
	}
	opened = openat(place->folder < 0 ? AT_FDCWD : place->folder, folder,
			flags);
	error = errno;
	free(folder);
	if (place->folder >= 0)
		close(place->folder);
	place->folder = opened;
	errno = error;
	return opened < 0 ? file_fail(place->path, "its folder cannot be opened")
			  : PHILOX_OK;
}

/* Nothing there: *about stays all zero. */
static enum philox_status look(struct file_place *place)
{
	memset(&place->about, 0, sizeof(place->about));
	if (!fstatat(place->folder, place->name, &place->about,
		     AT_SYMLINK_NOFOLLOW) ||
	    errno == ENOENT)
		return PHILOX_OK;
	return file_fail(place->path, "cannot be looked at");
}

/*
 * Who may write to a folder, but not to the files of others in it, could have a
 * link there lead anywhere that we may write to.
 */
static enum philox_status check_owner(const struct file_place *place)
{
	struct stat folder;

	if (fstat(place->folder, &folder))
		return file_fail(place->path, "its folder cannot be looked at");
	if (!(folder.st_mode & S_ISVTX) ||
	    place->about.st_uid == geteuid() ||
	    place->about.st_uid == folder.st_uid)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_FILE,
			  "'%s': it is a link of another user, in a folder "
			  "where all may make links",
			  place->path);
}

/* What /proc calls a link leads to what is open, and its text says it badly. */
static enum philox_status check_magic(const struct file_place *place)
{
	struct statfs system;

	if (fstatfs(place->folder, &system))
		return file_fail(place->path, "its folder cannot be looked at");
	if (system.f_type != PROC_TYPE)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_FILE,
			  "'%s': it is what another process has open",
			  place->path);
}

static enum philox_status read_link(const struct file_place *place,
				    char target[PATH_MAX])
{
	enum philox_status status = check_owner(place);
	ssize_t length;

	if (status != PHILOX_OK)
		return status;
	length = readlinkat(place->folder, place->name, target, PATH_MAX);
	if (length < 0)
		return file_fail(place->path, "it is a link that cannot be read");
	if (length == PATH_MAX) {
		errno = ENAMETOOLONG;
		return file_fail(place->path, "it is a link");
	}
	target[length] = '\0';
	return PHILOX_OK;
}

/* --- all of them ---------------------------------------------------------- */

/* Of a link: the target, where it leads next. */
static enum philox_status find_step(struct file_place *place, const char *path,
				    char target[PATH_MAX])
{
	enum philox_status status = enter_folder_of(place, path);

	if (status == PHILOX_OK)
		status = look(place);
	if (status != PHILOX_OK || !S_ISLNK(place->about.st_mode))
		return status;
	status = read_link(place, target);
	if (status == PHILOX_OK && file_descriptor(target) < 0)
		status = check_magic(place);
	return status;
}

static enum philox_status find_steps(struct file_place *place)
{
	char target[2][PATH_MAX];
	const char *path = place->path;

	for (int links = 0; links <= LINKS_MAX; links++) {
		enum philox_status status;

		place->descriptor = file_descriptor(path);
		if (place->descriptor >= 0)
			return PHILOX_OK;
		status = find_step(place, path, target[links & 1]);
		if (status != PHILOX_OK || !S_ISLNK(place->about.st_mode))
			return status;
		path = target[links & 1];
	}
	errno = ELOOP;
	return file_fail(place->path, "it is a link");
}

enum philox_status file_place_find(struct file_place *place, const char *path)
{
	enum philox_status status = file_check(path);

	*place = (struct file_place){
		.path = path, .folder = -1, .descriptor = -1};
	if (status == PHILOX_OK)
		status = find_steps(place);
	if (status != PHILOX_OK)
		file_place_free(place);
	return status;
}

void file_place_free(struct file_place *place)
{
	if (place->folder >= 0)
		close(place->folder);
	place->folder = -1;
	free(place->name);
	place->name = NULL;
}
