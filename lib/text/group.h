/*
 * lib/text/group.h - new files of one folder that appear together or not at all
 */
#ifndef LIB_TEXT_GROUP_H
#define LIB_TEXT_GROUP_H

#include <stddef.h>
#include <sys/types.h>
#include "lib/base/base.h"

struct file_group;

/*
 * file_group_begin() begins files whose paths are `path` and something behind
 * it, and removes what killed processes of this user have left in their folder:
 * ERROR_FILE, ERROR_MEMORY, and those of file_check(). The path has to stay.
 */
enum philox_status file_group_begin(const char *path,
				    struct file_group **group);

/*
 * file_group_add() writes the next file, with the path and `suffix` for its
 * name, for its owner alone. Nobody sees it yet: ERROR_FILE, ERROR_MEMORY.
 */
enum philox_status file_group_add(struct file_group *group, const char *suffix,
				  const char *text, size_t size);

/*
 * file_group_end() gives the files their names, the last one last, and frees
 * the group. On an error, which may also be that a name is taken, none is
 * there: ERROR_FILE. file_group_drop() is for a group that is to come to
 * nothing.
 */
enum philox_status file_group_end(struct file_group *group);
void file_group_drop(struct file_group *group);

/* --- abandoned: what killed processes leave, and who removes it ----------- */

/*
 * The folder of a user in which new files are until they have their names; a
 * file in it: the process's id, and a number that counts up in it.
 */
#define FILE_BESIDE    ".philox-%ju"
#define FILE_TEMPORARY ".philox-%ld-%u.tmp"

struct file_beside {
	char name[32];
	int folder; /* where the files are to be; not its own */
	int own;    /* -1: not open */
	int is_own; /* 0: `own` is `folder`, opened again */
};

/*
 * file_beside_open() makes it, unless it is there, for as long as it is open:
 * 0, or -1 with errno. `file` is the name of the new file, or of the last one
 * of a group: the folder cannot have it, too. file_beside_close() removes it if
 * nothing is in it. As others do the same, what is made in it may fail with an
 * errno that file_was_removed() knows; file_beside_again() is to be called
 * then: 0 if that was it. file_beside_without() does without it from then on:
 * 0, or -1 with errno.
 */
int file_beside_open(struct file_beside *beside, int folder, const char *file);
int file_beside_again(struct file_beside *beside);
int file_beside_without(struct file_beside *beside);
void file_beside_close(struct file_beside *beside);

/* The folder of a group, the list in it, and what the list begins with. */
#define FILE_GROUP_NAME  ".philox-%ld-%u.set"
#define FILE_GROUP_LIST  "files"
#define FILE_GROUP_START "philox files "

struct group_file {
	char *name;   /* in the folder where it is to be */
	ino_t number; /* of the file */
};

struct file_group {
	const char *path;   /* as the caller wrote it */
	const char *base;   /* its last part */
	char temporary[64]; /* the folder of its own */
	int folder;
	struct file_beside beside; /* where that is */
	int own;                   /* locked */
	struct group_file *files;
	size_t n;
	size_t moved; /* the first that have their names */
};

/* Removes what killed processes have left. */
void file_remove_abandoned(const struct file_beside *beside);

/* Whether an errno says that a file or folder is not there any more. */
int file_was_removed(int error);

/*
 * Whether a descriptor's file is one, and still has this name in its folder;
 * -1: that cannot be found out. file_group_is_own() is the same of a folder,
 * which has to be ours: 0 or 1.
 */
int file_is_still(int folder, const char *name, int descriptor);
int file_group_is_own(int folder, const char *name, int own);

/*
 * file_group_number() is the name of the i-th file in the folder of a group,
 * which file_group_remove() removes with all that is in it.
 */
void file_group_number(size_t i, char name[24]);
void file_group_remove(const struct file_group *group);
void file_group_free(struct file_group *group);

/* --- bytes: into and out of descriptors ----------------------------------- */

struct file_kind;
struct text;

/*
 * These go on after signals: 0, or -1 with errno. An interrupted close() has
 * closed. A write that takes nothing is an error.
 */
int file_synchronise(int descriptor);
int file_lock(int descriptor);
int file_close(int descriptor);
int file_write_bytes(int descriptor, const char *bytes, size_t size);

/*
 * file_fill() writes and synchronises a descriptor, and closes it: ERROR_FILE
 * with the path. file_read_at() is file_read() of a path in a folder.
 */
enum philox_status file_fill(const char *path, int descriptor, const char *text,
			     size_t size);
enum philox_status file_read_at(int folder, const char *path,
				const struct file_kind *kind,
				struct text *text);

#endif
