/*
 * lib/text/group.c - new files of one folder that appear together or not at all
 *
 * See Note [Groups of files] in lib/text/abandoned.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/containers/array.h"
#include "lib/text/group.h"
#include "lib/text/text.h"

/* Folders that other processes may remove before they are locked. */
#define FOLDERS_MAX 64

/* --- lists ---------------------------------------------------------------- */

static int write_list(const struct file_group *group, struct text *text)
{
	FILE *out = text_begin(text);

	if (out)
		fprintf(out, FILE_GROUP_START "1\n");
	for (size_t i = 0; out && i < group->n; i++) {
		fprintf(out, "file %ju ", (uintmax_t)group->files[i].number);
		text_write_name(out, group->files[i].name);
		fputs("\n", out);
	}
	return text_end(text);
}

/* --- a new group ---------------------------------------------------------- */

static void open_folder(struct file_group *group)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int error;

	do
		group->own = openat(group->beside.own, group->temporary, flags);
	while (group->own < 0 && errno == EINTR);
	if (group->own >= 0)
		return;
	error = errno;
	unlinkat(group->beside.own, group->temporary, AT_REMOVEDIR);
	errno = error;
}

static void make_folder(struct file_group *group)
{
	static atomic_uint count;
	int failed;

	do {
		snprintf(group->temporary, sizeof(group->temporary), FILE_GROUP_NAME,
			 (long)getpid(), atomic_fetch_add(&count, 1));
		failed = mkdirat(group->beside.own, group->temporary, 0700);
	} while (failed && (errno == EEXIST || errno == EINTR));
	if (!failed)
		open_folder(group);
}

/* Whoever removes what was abandoned may have it before it is locked. */
static enum philox_status make_own_folder(struct file_group *group)
{
	const char *failed = "no folder can be made beside it";

	for (int i = 0; i < FOLDERS_MAX; i++) {
		make_folder(group);
		if (group->own < 0 && file_was_removed(errno) &&
		    !file_beside_again(&group->beside))
			continue;
		if (group->own < 0)
			return file_fail(group->path, failed);
		if ((!file_lock(group->own) || errno != EWOULDBLOCK) &&
		    file_group_is_own(group->beside.own, group->temporary,
				      group->own))
			return PHILOX_OK;
		unlinkat(group->beside.own, group->temporary, AT_REMOVEDIR);
		close(group->own);
		group->own = -1;
	}
	errno = EAGAIN;
	return file_fail(group->path, failed);
}

static enum philox_status open_folder_of(struct file_group *group)
{
	const char *slash = strrchr(group->path, '/');
	const size_t length = slash ? (size_t)(slash - group->path) + 1 : 0;
	char *folder = length ? strndup(group->path, length) : strdup(".");
	int error;

	if (!folder)
		return status_set(PHILOX_ERROR_MEMORY, "no memory for a path");
	group->base = group->path + length;
	group->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = errno;
	free(folder);
	errno = error;
	return group->folder < 0 ? file_fail(group->path,
					     "its folder cannot be opened")
				 : PHILOX_OK;
}

enum philox_status file_group_begin(const char *path, struct file_group **group)
{
	enum philox_status status = file_check(path);
	struct file_group *made = NULL;

	if (status == PHILOX_OK && !(made = calloc(1, sizeof(*made))))
		status = status_set(PHILOX_ERROR_MEMORY,
				    "no memory for new files");
	if (status != PHILOX_OK)
		return status;
	made->path = path;
	made->folder = made->own = made->beside.own = -1;
	status = open_folder_of(made);
	if (status == PHILOX_OK &&
	    file_beside_open(&made->beside, made->folder, made->base))
		status = file_fail(path, "no folder can be made beside it");
	if (status == PHILOX_OK) {
		file_remove_abandoned(&made->beside);
		status = make_own_folder(made);
	}
	if (status == PHILOX_OK)
		*group = made;
	else
		file_group_free(made);
	return status;
}

/* --- its files ------------------------------------------------------------ */

static enum philox_status write_new(struct file_group *group, const char *name,
				    const char *text, size_t size,
				    ino_t *number)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	struct stat about;
	int descriptor;

	do
		descriptor = openat(group->own, name, flags, 0600);
	while (descriptor < 0 && errno == EINTR);
	if (descriptor < 0)
		return file_fail(group->path, "no file can be made beside it");
	if (fstat(descriptor, &about)) {
		enum philox_status status =
			file_fail(group->path, "a file cannot be looked at");

		close(descriptor);
		return status;
	}
	*number = about.st_ino;
	return file_fill(group->path, descriptor, text, size);
}

enum philox_status file_group_add(struct file_group *group, const char *suffix,
				  const char *text, size_t size)
{
	struct group_file *file =
		array_grow(&group->files, group->n, 1, sizeof(*file));
	char name[24];

	if (file && asprintf(&file->name, "%s%s", group->base, suffix) < 0)
		file = NULL;
	if (!file)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for new files");
	file_group_number(group->n, name);
	group->n++;
	return write_new(group, name, text, size, &file->number);
}

/*
 * The last file goes back first: from then on the group is not whole for
 * whoever finds it.
 */
void file_group_drop(struct file_group *group)
{
	char name[24];

	if (group->moved && group->moved == group->n) {
		file_group_number(group->n - 1, name);
		renameat(group->folder, group->files[group->n - 1].name,
			 group->own, name);
	}
	for (size_t i = group->moved; i-- > 0;)
		unlinkat(group->folder, group->files[i].name, 0);
	file_group_remove(group);
	file_group_free(group);
}

/* --- giving them their names ---------------------------------------------- */

/* The kernel's RENAME_NOREPLACE. Not every C library has its renameat2(). */
#define NO_REPLACE 1U

/* Some file systems cannot refuse a name that is taken: it was looked for. */
static int move(const struct file_group *group, const char *from,
		const char *to)
{
	if (!syscall(SYS_renameat2, group->own, from, group->folder, to,
		     NO_REPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (!faccessat(group->folder, to, F_OK, AT_SYMLINK_NOFOLLOW)) {
		errno = EEXIST;
		return -1;
	}
	return renameat(group->own, from, group->folder, to);
}

static enum philox_status synchronise_folder(const struct file_group *group,
					     int folder)
{
	if (!file_synchronise(folder) || errno == EINVAL || errno == ENOTSUP)
		return PHILOX_OK;
	return file_fail(group->path, "its folder cannot be synchronised");
}

static enum philox_status move_all(struct file_group *group)
{
	enum philox_status status = PHILOX_OK;
	char name[24];

	for (size_t i = 0; status == PHILOX_OK && i < group->n; i++) {
		if (i + 1 == group->n)
			status = synchronise_folder(group, group->folder);
		file_group_number(i, name);
		if (status != PHILOX_OK)
			return status;
		if (move(group, name, group->files[i].name))
			return status_set(PHILOX_ERROR_FILE,
					  "'%s': '%s' cannot be made: %s",
					  group->path, group->files[i].name,
					  strerror(errno));
		group->moved++;
	}
	return synchronise_folder(group, group->folder);
}

/* So that a crash leaves the list wherever it leaves a file with its name. */
static enum philox_status synchronise_list(const struct file_group *group)
{
	enum philox_status status = synchronise_folder(group, group->own);

	if (status == PHILOX_OK)
		status = synchronise_folder(group, group->beside.own);
	if (status == PHILOX_OK && group->beside.is_own)
		status = synchronise_folder(group, group->folder);
	return status;
}

static enum philox_status list_and_move(struct file_group *group)
{
	enum philox_status status;
	struct text list;
	ino_t number;

	if (!write_list(group, &list))
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for new files");
	status = write_new(group, FILE_GROUP_LIST, list.bytes, list.size, &number);
	free(list.bytes);
	if (status == PHILOX_OK)
		status = synchronise_list(group);
	return status == PHILOX_OK ? move_all(group) : status;
}

/* On an error the message is that of what failed first. */
enum philox_status file_group_end(struct file_group *group)
{
	enum philox_status status = list_and_move(group);

	if (status != PHILOX_OK) {
		file_group_drop(group);
		return status;
	}
	file_group_remove(group);
	file_group_free(group);
	return PHILOX_OK;
}
