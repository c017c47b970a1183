/*
 * lib/text/abandoned.c - what a killed save leaves, and who removes it
 *
 * Note [Abandoned files]
 * ~~~~~~~~~~~~~~~~~~~~~~
 * A new file is made in a folder of its user beside the place where it is to
 * be, .philox-UID, which is there only while a save makes its file in it, or
 * something has been left in it. So a save looks through what saves have left,
 * and not through all that is in its folder. If that of the user cannot be made
 * or written to, belongs to somebody else, has the name that the file is to
 * have, or no file can be moved from it, the folder where the file is to be
 * takes its part.
 *
 * A process that is killed while it saves leaves its temporary file. Its name
 * contains the process's id, and the file is locked until it has its final
 * name, so the next save of that user into that folder removes the files of
 * processes that are gone:
 *
 *  - An id that some process here has keeps the file, even if that is another
 *    process by now: a file too many is better than one too few.
 *  - In a folder that several machines or containers share, the id of a living
 *    process may be unknown here. Its lock keeps the file. Where files cannot
 *    be locked, none is removed.
 *  - Several files that appear together are in a folder of theirs, which is
 *    locked in the same way: Note [Groups of files].
 *  - Whoever removes a file locks it first. So the maker of a new file that is
 *    not yet locked may find it locked, or gone from its folder, and then takes
 *    another name.
 *
 * Note [Groups of files]
 * ~~~~~~~~~~~~~~~~~~~~~~
 * The files are written in a folder of their own where new files are,
 * .philox-PID-N.set, and moved from there one by one. A process may be killed
 * between two moves, so a list of them is written first:
 *
 *   philox files 1
 *   file 1234567 "new.0"
 *   file 1234568 "new.1"
 *   file 1234569 "new"
 *   checksum 0123456789abcdef bytes 78
 *
 * with the number of the file (inode) and its name. The list, its folder and
 * the name of that are synchronised before the first move. In the folder the
 * files are called 0, 1, 2. If the last file is still there, the group is not
 * whole: whoever finds it abandoned (Note [Abandoned files]) removes the files
 * that have their names already, if they are still those of the list. In any
 * case the folder goes. The folders of other users stay: their lists could name
 * any file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/text/group.h"
#include "lib/text/text.h"

#define LIST_MOST (UINT64_C(1) << 30)

/* Folders that other processes may remove before they are open. */
#define BESIDE_MAX 64

/* --- the folder of a user ------------------------------------------------- */

/* It is ours, with all rights, whatever the umask was when it was made. */
static int can_use(int own)
{
	struct stat about;

	if (fstat(own, &about) || about.st_uid != geteuid())
		return 0;
	return (about.st_mode & 0700) == 0700 || !fchmod(own, 0700);
}

static int make_own(const struct file_beside *beside)
{
	int failed;

	do
		failed = mkdirat(beside->folder, beside->name, 0700);
	while (failed && errno == EINTR);
	return failed;
}

static void open_own(struct file_beside *beside)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	do
		beside->own = openat(beside->folder, beside->name, flags);
	while (beside->own < 0 && errno == EINTR);
}

static void close_own(struct file_beside *beside)
{
	if (beside->own >= 0)
		close(beside->own);
	beside->own = -1;
}

static void remove_own(const struct file_beside *beside)
{
	int failed;

	do
		failed = unlinkat(beside->folder, beside->name, AT_REMOVEDIR);
	while (failed && errno == EINTR);
}

/* NFS says ESTALE of what another host has removed. */
int file_was_removed(int error)
{
	return error == ENOENT || error == ESTALE;
}

/* 1 if it was opened, 0 if it was removed meanwhile; -1: it cannot be had. */
static int try_own(struct file_beside *beside)
{
	const int made = !make_own(beside);
	int gone;

	if (!made && errno != EEXIST)
		return -1;
	open_own(beside);
	gone = beside->own < 0 && file_was_removed(errno);
	if (beside->own >= 0 && can_use(beside->own))
		return 1;
	close_own(beside);
	if (made)
		remove_own(beside);
	return gone ? 0 : -1;
}

static int open_beside(struct file_beside *beside)
{
	int taken = 0;

	for (int i = 0; !taken && i < BESIDE_MAX; i++)
		taken = try_own(beside);
	beside->is_own = taken > 0;
	return beside->is_own ? 0 : file_beside_without(beside);
}

int file_beside_open(struct file_beside *beside, int folder, const char *file)
{
	beside->folder = folder;
	beside->own = -1;
	snprintf(beside->name, sizeof(beside->name), FILE_BESIDE,
		 (uintmax_t)geteuid());
	return strcmp(beside->name, file) ? open_beside(beside)
					  : file_beside_without(beside);
}

int file_beside_again(struct file_beside *beside)
{
	if (!beside->is_own)
		return -1;
	close_own(beside);
	return open_beside(beside);
}

int file_beside_without(struct file_beside *beside)
{
	file_beside_close(beside);
	beside->is_own = 0;
	beside->own = fcntl(beside->folder, F_DUPFD_CLOEXEC, 0);
	return beside->own < 0 ? -1 : 0;
}

void file_beside_close(struct file_beside *beside)
{
	if (beside->own < 0)
		return;
	close_own(beside);
	if (beside->is_own)
		remove_own(beside);
}

/* --- files ---------------------------------------------------------------- */

/* Whether a name is that of a temporary file, and then of which process. */
static int is_temporary(const char *name, long *process)
{
	char again[64];
	unsigned count;

	if (sscanf(name, ".philox-%ld-%u", process, &count) != 2)
		return 0;
	snprintf(again, sizeof(again), FILE_TEMPORARY, *process, count);
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
int file_is_still(int folder, const char *name, int descriptor)
{
	struct stat open, named;

	if (fstat(descriptor, &open) ||
	    fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW))
		return file_was_removed(errno) ? 0 : -1;
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
	    file_is_still(folder, name, descriptor) == 1)
		unlinkat(folder, name, 0);
	close(descriptor);
}

/* --- groups --------------------------------------------------------------- */

void file_group_number(size_t i, char name[24])
{
	snprintf(name, 24, "%zu", i);
}

void file_group_free(struct file_group *group)
{
	for (size_t i = 0; i < group->n; i++)
		free(group->files[i].name);
	free(group->files);
	if (group->own >= 0)
		close(group->own);
	file_beside_close(&group->beside);
	if (group->folder >= 0)
		close(group->folder);
	free(group);
}

/* --- lists of groups ------------------------------------------------------ */

static void read_list_file(struct reader *reader, struct file_group *group)
{
	struct group_file file = {
		.number = (ino_t)reader_decimal(reader, 0, UINT64_MAX)};

	reader_expect(reader, " ");
	file.name = reader_name(reader);
	reader_end_line(reader);
	if (file.name && strchr(file.name, '/'))
		reader_refuse(reader, "a name of another folder");
	if (!reader_put(reader, &group->files, &group->n, &file, sizeof(file)))
		free(file.name);
}

/* Returns 0 if there is no list, or not a whole one. */
static int read_list(struct file_group *group)
{
	static const char *const starts[] = {FILE_GROUP_START, NULL};
	const struct file_kind kind = {starts, LIST_MOST};
	struct reader reader;
	struct text text;

	if (file_read_at(group->own, FILE_GROUP_LIST, &kind, &text) !=
	    PHILOX_OK)
		return 0;
	reader = reader_start(text.bytes, text.size);
	reader_version(&reader, FILE_GROUP_START, "list", 1);
	while (reader.status == PHILOX_OK) {
		const char *line = reader.at;

		if (reader_accept(&reader, "file ")) {
			read_list_file(&reader, group);
			continue;
		}
		reader_expect(&reader, "checksum ");
		reader_checksum(&reader, line);
		break;
	}
	free(text.bytes);
	return reader.status == PHILOX_OK;
}

static void empty_folder(int own)
{
	int again = openat(own, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;

	if (!entries) {
		if (again >= 0)
			close(again);
		return;
	}
	while ((entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(own, entry->d_name, 0);
	closedir(entries);
}

/* The list goes last, for whoever is killed while removing. */
void file_group_remove(const struct file_group *group)
{
	char name[24];

	for (size_t i = 0; i < group->n; i++) {
		file_group_number(i, name);
		unlinkat(group->own, name, 0);
	}
	empty_folder(group->own);
	unlinkat(group->beside.own, group->temporary, AT_REMOVEDIR);
}

/* What has its name already and is still the file of the list. */
static void take_back(const struct file_group *group)
{
	for (size_t i = 0; i < group->n; i++) {
		const struct group_file *file = &group->files[i];
		struct stat about;

		if (!fstatat(group->folder, file->name, &about,
			     AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(about.st_mode) && about.st_ino == file->number)
			unlinkat(group->folder, file->name, 0);
	}
}

static int is_group(const char *name, long *process)
{
	char again[64];
	unsigned count;

	if (sscanf(name, ".philox-%ld-%u", process, &count) != 2)
		return 0;
	snprintf(again, sizeof(again), FILE_GROUP_NAME, *process, count);
	return !strcmp(name, again) && *process > 0 &&
	       *process == (long)(pid_t)*process;
}

/* Whether the folder is ours, and still has this name. */
int file_group_is_own(int folder, const char *name, int own)
{
	struct stat open, named;

	return !fstat(own, &open) && S_ISDIR(open.st_mode) &&
	       open.st_uid == geteuid() &&
	       !fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) &&
	       open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

static int is_whole_group(const struct file_group *group)
{
	char name[24];

	file_group_number(group->n - 1, name);
	return faccessat(group->own, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
}

static void remove_group(struct file_group *group)
{
	if (read_list(group) && group->n && !is_whole_group(group))
		take_back(group);
	file_group_remove(group);
}

static void remove_abandoned_group(const struct file_beside *beside,
				   const char *entry)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct file_group *group;
	struct status_message kept;
	long process;

	if (!is_group(entry, &process) || !is_gone(process))
		return;
	group = calloc(1, sizeof(*group));
	if (!group)
		return;
	kept = status_kept();
	snprintf(group->temporary, sizeof(group->temporary), "%s", entry);
	group->folder = fcntl(beside->folder, F_DUPFD_CLOEXEC, 0);
	group->beside.own = fcntl(beside->own, F_DUPFD_CLOEXEC, 0);
	group->own = openat(beside->own, entry, flags);
	if (group->folder >= 0 && group->beside.own >= 0 && group->own >= 0 &&
	    !file_lock(group->own) &&
	    file_group_is_own(beside->own, entry, group->own))
		remove_group(group);
	file_group_free(group);
	status_restore(&kept);
}

/* --- all that there is ----------------------------------------------------- */

/* Failing to read or remove anything is not an error of the caller's save. */
void file_remove_abandoned(const struct file_beside *beside)
{
	int again =
		openat(beside->own, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;
	long process;

	if (!entries) {
		if (again >= 0)
			close(again);
		return;
	}
	while ((entry = readdir(entries)))
		if (is_temporary(entry->d_name, &process) &&
		    is_gone(process))
			remove_unlocked(beside->own, entry->d_name);
		else
			remove_abandoned_group(beside, entry->d_name);
	closedir(entries);
}

