/*
 * tests/save/save_file.c - a file has the whole text of a context, or the text
 * it had before
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/support/allocations.h"
#include "tests/support/support.h"

/* The test's own folder, in which it works and which it leaves empty. */
static char folder[] = "/tmp/philox-test-XXXXXX";

static void enter_folder(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	cr_assert(mkdtemp(folder) && !chdir(folder));
}

static void leave_folder(void)
{
	cr_assert(!chdir("/") && !rmdir(folder), "something is left in %s",
		  folder);
}

static size_t files_here(void)
{
	DIR *here = opendir(".");
	const struct dirent *entry;
	size_t n = 0;

	cr_assert(here);
	while ((entry = readdir(here)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(here);
	return n;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

static void holds(const char *path, const char *text)
{
	static char read[1 << 16];
	FILE *file = fopen(path, "r");
	size_t size;

	cr_assert(file, "%s", path);
	size = fread(read, 1, sizeof(read) - 1, file);
	read[size] = '\0';
	fclose(file);
	cr_assert_str_eq(read, text);
}

static char *text_of(struct philox_context *context)
{
	char *text;

	OK(philox_context_save_text(context, &text, NULL));
	return text;
}

PROMISE(save_file, has_the_text_of_the_context)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	char *text = text_of(f->context), path[128], *again;

	enter_folder();
	OK(philox_context_save(f->context, "here"));
	holds("here", text);
	snprintf(path, sizeof(path), "%s/there", folder);
	put(path, "what was there before");
	OK(philox_context_save(f->context, path));
	holds("there", text);
	cr_assert_eq(files_here(), 2);
	backward(f, &made, 0);
	OK(philox_context_load(f->context, path));
	again = text_of(f->context);
	cr_assert_str_eq(again, text);
	backward(f, &made, 0);
	unlink("here");
	unlink("there");
	leave_folder();
	free(text);
	free(again);
}

/* Every save fails: the old text stays, no other file is left. */
static void fails_to_save(struct fixture *f, const char *path,
			  enum philox_status expected)
{
	size_t files = files_here();

	FAILS(philox_context_save(f->context, path), expected);
	NAMES(path);
	cr_assert_eq(files_here(), files);
}

/* --- files that others remove before they are locked ---------------------- */

static unsigned removers; /* how many new files are removed */

static int remove_as_another_process(int descriptor)
{
	char link[64], path[256];
	ssize_t size;

	removers--;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
	size = readlink(link, path, sizeof(path) - 1);
	cr_assert(size > 0);
	path[size] = '\0';
	cr_assert(!unlink(path));
	*strrchr(path, '/') = '\0';
	cr_assert(!rmdir(path)); /* nothing else is in it */
	errno = EWOULDBLOCK;
	return -1;
}

/* In this program, instead of that of the C library. */
int flock(int descriptor, int operation)
{
	if (removers)
		return remove_as_another_process(descriptor);
	return (int)syscall(SYS_flock, descriptor, operation);
}

PROMISE(save_file, takes_another_name_when_its_file_is_removed)
{
	char *text = text_of(f->context);

	enter_folder();
	removers = 3;
	OK(philox_context_save(f->context, "here"));
	cr_assert_eq(removers, 0);
	holds("here", text);
	cr_assert_eq(files_here(), 1);
	unlink("here");
	leave_folder();
	free(text);
}

PROMISE(save_file, fails_when_every_file_of_it_is_removed)
{
	enter_folder();
	put("there", "what was there before");
	removers = 100000;
	fails_to_save(f, "there", PHILOX_ERROR_FILE);
	cr_assert(removers > 0, "it ends");
	removers = 0;
	holds("there", "what was there before");
	unlink("there");
	leave_folder();
}

/* --- writing that fails --------------------------------------------------- */

PROMISE(save_file, stays_as_it_was_when_writing_fails)
{
	const struct rlimit small = {64, RLIM_INFINITY};
	struct rlimit before;
	char *text;

	make_region(f, "a layer with a name that is longer than the limit");
	text = text_of(f->context);
	enter_folder();
	put("there", "what was there before");
	signal(SIGXFSZ, SIG_IGN);
	cr_assert(!getrlimit(RLIMIT_FSIZE, &before));
	cr_assert(!setrlimit(RLIMIT_FSIZE, &small));
	fails_to_save(f, "there", PHILOX_ERROR_FILE);
	NAMES("File too large");
	fails_to_save(f, "not there", PHILOX_ERROR_FILE);
	cr_assert(!setrlimit(RLIMIT_FSIZE, &before));
	holds("there", "what was there before");
	OK(philox_context_save(f->context, "there"));
	holds("there", text);
	unlink("there");
	leave_folder();
	free(text);
}

PROMISE(save_file, is_refused_where_a_file_is_impossible)
{
	enter_folder();
	put("file", "a file");
	cr_assert(!mkdir("folder", 0755));
	fails_to_save(f, "none/there", PHILOX_ERROR_FILE);
	fails_to_save(f, "file/there", PHILOX_ERROR_FILE);
	fails_to_save(f, "folder", PHILOX_ERROR_FILE);
	fails_to_save(f, "folder/", PHILOX_ERROR_INVALID);
	fails_to_save(f, "", PHILOX_ERROR_INVALID);
	fails_to_save(f, "/", PHILOX_ERROR_INVALID);
	fails_to_save(f, "..", PHILOX_ERROR_FILE);
	holds("file", "a file");
	unlink("file");
	rmdir("folder");
	leave_folder();
}

/* Root has all rights, so it becomes another user for a while. */
PROMISE(save_file, is_refused_in_a_folder_without_the_right_to_write)
{
	const uid_t nobody = 65534;
	int is_root = !geteuid();

	enter_folder();
	put("there", "what was there before");
	cr_assert(!chmod(".", 0555));
	cr_assert(!is_root || !seteuid(nobody));
	fails_to_save(f, "there", PHILOX_ERROR_FILE);
	NAMES("Permission denied");
	cr_assert(!is_root || !seteuid(0));
	holds("there", "what was there before");
	cr_assert(!chmod(".", 0755));
	unlink("there");
	leave_folder();
}

/* --- files of saves that were killed -------------------------------------- */

/* The folder in which this user's new files are while they are written. */
static const char *beside(void)
{
	static char name[40];

	snprintf(name, sizeof(name), ".philox-%ju", (uintmax_t)geteuid());
	return name;
}

/* A name in it, of the n-th file of a process. */
static void name_beside(char name[96], pid_t process, int n)
{
	snprintf(name, 96, "%s/.philox-%ld-%d.tmp", beside(), (long)process, n);
}

static void make_beside(void)
{
	cr_assert(!mkdir(beside(), 0700));
}

static void remove_beside(void)
{
	cr_assert(!rmdir(beside()), "something is left in it");
}

/* Names that this process could have made, and has not, are not touched. */
Test(save_file, skips_the_names_of_an_earlier_process_of_its_id, .timeout = 120)
{
	struct fixture f;
	char name[3][96];

	fixture_open(&f, "host:sync");
	enter_folder();
	make_beside();
	for (int i = 0; i < 3; i++) {
		name_beside(name[i], getpid(), i);
		put(name[i], "left behind");
	}
	OK(philox_context_save(f.context, "there"));
	cr_assert_eq(files_here(), 2);
	for (int i = 0; i < 3; i++) {
		holds(name[i], "left behind");
		unlink(name[i]);
	}
	remove_beside();
	unlink("there");
	leave_folder();
	fixture_close(&f);
}

static int is_here(const char *name)
{
	struct stat about;

	return !lstat(name, &about);
}

static void wait_for(pid_t process)
{
	cr_assert_eq(waitpid(process, NULL, 0), process);
}

/* The id of a process that is gone; reused soon only if all others are. */
static pid_t gone_process(void)
{
	pid_t process = fork();

	cr_assert(process >= 0);
	if (!process)
		_exit(0);
	wait_for(process);
	return process;
}

static int save_pipe[2];

/* The save of a child stops in its first write(), for ever. */
static void stop_in_write(int signal_number)
{
	(void)signal_number;
	if (write(save_pipe[1], "", 1) == 1)
		for (;;)
			pause();
}

/*
 * Begins a save into this folder and stops within it; `name` is its file's. The
 * child has a context of its own: it cannot use its parent's.
 */
static pid_t stopped_save(char name[96])
{
	const struct rlimit small = {8, RLIM_INFINITY};
	struct fixture own;
	pid_t process;
	char byte;

	cr_assert(!pipe(save_pipe));
	process = fork();
	cr_assert(process >= 0);
	if (!process) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
		fixture_open(&own, "host:sync");
		signal(SIGXFSZ, stop_in_write);
		setrlimit(RLIMIT_FSIZE, &small);
		philox_context_save(own.context, "there");
		_exit(1);
	}
	close(save_pipe[1]);
	cr_assert_eq(read(save_pipe[0], &byte, 1), 1, "the save did not stop");
	close(save_pipe[0]);
	name_beside(name, process, 0);
	cr_assert(is_here(name));
	return process;
}

Test(save_file, of_a_killed_save_goes_with_the_next_one, .timeout = 120)
{
	struct fixture f;
	pid_t process;
	char name[96];
	int file;

	fixture_open(&f, "host:sync");
	enter_folder();
	process = stopped_save(name);
	OK(philox_context_save(f.context, "there"));
	cr_assert(is_here(name), "of a process that is alive");
	file = open(name, O_WRONLY);
	cr_assert(file >= 0 && flock(file, LOCK_EX | LOCK_NB),
		  "without seeing the process one must see that it is locked");
	close(file);
	cr_assert(!kill(process, SIGKILL));
	wait_for(process);
	cr_assert(is_here(name), "a killed save has left its file");
	OK(philox_context_save(f.context, "there"));
	cr_assert(!is_here(name));
	cr_assert_eq(files_here(), 1);
	unlink("there");
	leave_folder();
	fixture_close(&f);
}

/* Its writer's process id means nothing here. */
PROMISE(save_file, of_a_process_elsewhere_stays_while_it_is_locked)
{
	char name[96];
	int file;

	enter_folder();
	make_beside();
	name_beside(name, gone_process(), 7);
	put(name, "of somebody else");
	file = open(name, O_RDONLY);
	cr_assert(file >= 0 && !flock(file, LOCK_EX));
	OK(philox_context_save(f->context, "there"));
	holds(name, "of somebody else");
	close(file);
	OK(philox_context_save(f->context, "there"));
	cr_assert(!is_here(name) && !is_here(beside()));
	unlink("there");
	leave_folder();
}

/* However many files there are: a save costs what it is. */
PROMISE(save_file, other_files_of_its_folder_are_not_looked_at)
{
	char name[96];

	enter_folder();
	snprintf(name, sizeof(name), ".philox-%ld-0.tmp", (long)gone_process());
	put(name, "as if abandoned");
	OK(philox_context_save(f->context, "there"));
	holds(name, "as if abandoned");
	cr_assert_eq(files_here(), 2);
	unlink(name);
	unlink("there");
	leave_folder();
}

/* Then the folder of the file is, and what was left there is removed. */
PROMISE(save_file, goes_well_where_its_own_folder_cannot_be)
{
	char name[96];

	enter_folder();
	put(beside(), "a file");
	snprintf(name, sizeof(name), ".philox-%ld-0.tmp", (long)gone_process());
	put(name, "left behind");
	OK(philox_context_save(f->context, "there"));
	holds(beside(), "a file");
	cr_assert(!is_here(name));
	cr_assert_eq(files_here(), 2);
	unlink(beside());
	unlink("there");
	leave_folder();
}

/* Root may make it somebody else's. */
PROMISE(save_file, does_not_use_the_folder_of_somebody_else)
{
	char name[96];
	int file;

	enter_folder();
	make_beside();
	name_beside(name, gone_process(), 0);
	put(name, "of somebody else");
	if (!geteuid()) {
		cr_assert(!chown(beside(), 65534, 65534));
		OK(philox_context_save(f->context, "there"));
		holds(name, "of somebody else");
		cr_assert_eq(files_here(), 2);
		unlink("there");
	}
	unlink(name);
	remove_beside();
	cr_assert(!symlink("/tmp", beside()));
	OK(philox_context_save(f->context, "there"));
	file = open(beside(), O_RDONLY | O_NOFOLLOW);
	cr_assert(file < 0 && errno == ELOOP, "the link is gone");
	unlink(beside());
	unlink("there");
	leave_folder();
}

enum { SAVERS = 6, SAVES = 40 };

/* A child with a context of its own. */
static pid_t start_saver(int number)
{
	pid_t process = fork();
	struct fixture own;
	char name[16];
	int failed = 0;

	cr_assert(process >= 0);
	if (process)
		return process;
	snprintf(name, sizeof(name), "there.%d", number);
	fixture_open(&own, "host:sync");
	for (int i = 0; i < SAVES; i++)
		failed += philox_context_save(own.context, name) != PHILOX_OK;
	_exit(failed != 0);
}

/* Each makes the folder of new files, or finds it, and removes it. */
Test(save_file, of_many_processes_in_one_folder_are_all_written, .timeout = 120)
{
	pid_t savers[SAVERS];
	char name[16];
	int status;

	enter_folder();
	for (int i = 0; i < SAVERS; i++)
		savers[i] = start_saver(i);
	for (int i = 0; i < SAVERS; i++) {
		cr_assert_eq(waitpid(savers[i], &status, 0), savers[i]);
		cr_assert(WIFEXITED(status) && !WEXITSTATUS(status),
			  "saver %d has failed", i);
	}
	cr_assert_eq(files_here(), SAVERS);
	for (int i = 0; i < SAVERS; i++) {
		snprintf(name, sizeof(name), "there.%d", i);
		unlink(name);
	}
	leave_folder();
}

/* %ld is the id of a process that is gone. */
static const char *const others[] = {
	".philox-%ld-0.tmp~",
	"philox-%ld-0.tmp",
	".philox-%ld.tmp",
	".philox-%ld-.tmp",
	".philox-%ld-00.tmp",
	".philox-0%ld-0.tmp",
	".philox-+%ld-0.tmp",
	".philox-%ld--1.tmp",
	".philox- %ld-0.tmp",
	".philox-%ld-0x1.tmp",
	".philox-%ld-0.tmp.tmp",
	".philox-%ld-0.TMP",
	".philox-%ld-0",
	".philox--%ld-0.tmp",
	".philox-%ld-0-0.tmp",
	".philox-4294967296%ld-0.tmp",
	".philox-%ld-4294967296.tmp",
	".philox-99999999999999999999%ld-0.tmp",
	"..philox-%ld-0.tmp",
};

enum { OTHERS = sizeof(others) / sizeof(others[0]) };

PROMISE(save_file, names_that_only_look_like_an_abandoned_one_stay)
{
	pid_t process = gone_process();
	char name[96];

	enter_folder();
	make_beside();
	cr_assert(!chdir(beside()));
	put(".philox-0-0.tmp", "no process");
	put(".philox--1-0.tmp", "every process");
	for (size_t i = 0; i < OTHERS; i++) {
		snprintf(name, sizeof(name), others[i], (long)process);
		put(name, "something else");
	}
	OK(philox_context_save(f->context, "../there"));
	cr_assert_eq(files_here(), OTHERS + 2);
	for (size_t i = 0; i < OTHERS; i++) {
		snprintf(name, sizeof(name), others[i], (long)process);
		cr_assert(!unlink(name), "%s", name);
	}
	unlink(".philox-0-0.tmp");
	unlink(".philox--1-0.tmp");
	cr_assert(!chdir(".."));
	remove_beside();
	unlink("there");
	leave_folder();
}

PROMISE(save_file, things_that_are_not_files_stay_whatever_their_names)
{
	const pid_t process = gone_process();
	char name[4][96];
	int reader;

	enter_folder();
	make_beside();
	for (int i = 0; i < 4; i++)
		name_beside(name[i], process, i);
	cr_assert(!mkdir(name[0], 0755) && !mkfifo(name[1], 0644));
	reader = open(name[1], O_RDONLY | O_NONBLOCK);
	cr_assert(reader >= 0, "so that the pipe can be opened");
	put("target", "of a link");
	cr_assert(!symlink("../target", name[2]) && !symlink("none", name[3]));
	OK(philox_context_save(f->context, "there"));
	cr_assert_eq(files_here(), 3);
	holds("target", "of a link");
	close(reader);
	cr_assert(!rmdir(name[0]) && !unlink(name[1]) && !unlink(name[2]));
	cr_assert(!unlink(name[3]) && !unlink("target"));
	remove_beside();
	unlink("there");
	leave_folder();
}

/* Root has all rights, so it becomes another user for a while. */
PROMISE(save_file, is_refused_in_a_folder_without_the_right_to_read)
{
	const uid_t nobody = 65534;
	int is_root = !geteuid();
	char name[96];

	enter_folder();
	snprintf(name, sizeof(name), ".philox-%ld-0.tmp", (long)gone_process());
	put(name, "left behind");
	cr_assert(!chmod(".", 0333));
	cr_assert(!is_root || !seteuid(nobody));
	FAILS(philox_context_save(f->context, "there"), PHILOX_ERROR_FILE);
	NAMES("Permission denied");
	cr_assert(!is_root || !seteuid(0));
	cr_assert(!chmod(".", 0755));
	holds(name, "left behind");
	cr_assert_eq(files_here(), 1);
	unlink(name);
	leave_folder();
}

/* --- loading -------------------------------------------------------------- */

PROMISE(save_file, is_named_when_it_cannot_be_loaded)
{
	struct philox_region *region = make_region(f, "layer");
	char *text = text_of(f->context), *after;

	enter_folder();
	text[strlen(text) - 2] ^= 1;
	put("damaged", text);
	text[strlen(text) - 2] ^= 1;
	put("empty", "");
	cr_assert(!mkdir("folder", 0755) && !mkfifo("pipe", 0644));
	FAILS(philox_context_load(f->context, "none"), PHILOX_ERROR_FILE);
	NAMES("'none'");
	FAILS(philox_context_load(f->context, "folder"), PHILOX_ERROR_FILE);
	NAMES("'folder'");
	FAILS(philox_context_load(f->context, "pipe"), PHILOX_ERROR_FILE);
	NAMES("'pipe'");
	FAILS(philox_context_load(f->context, ""), PHILOX_ERROR_FILE);
	FAILS(philox_context_load(f->context, "empty"), PHILOX_ERROR_INVALID);
	NAMES("'empty'");
	FAILS(philox_context_load(f->context, "damaged"), PHILOX_ERROR_INVALID);
	NAMES("'damaged': line 7: ");
	after = text_of(f->context);
	cr_assert_str_eq(after, text);
	PENDING(region, 0);
	unlink("damaged");
	unlink("empty");
	unlink("pipe");
	rmdir("folder");
	leave_folder();
	free(text);
	free(after);
}

/* Of zeros, but for its first line; nothing of it is on the disk. */
static void make_huge(const char *path, const char *begins, off_t size)
{
	put(path, begins);
	cr_assert(!truncate(path, size));
}

/*
 * A file that has been given by mistake may be larger than the memory: here
 * than what the process may have.
 */
PROMISE(save_file, is_read_no_further_than_a_first_line_that_is_wrong)
{
	const struct rlimit little = {1 << 30, RLIM_INFINITY};
	const off_t huge = (off_t)5 << 30;
	struct rlimit before;

	if (!allocations_fail(0))
		cr_skip_test("the limit does not work with a sanitizer");
	enter_folder();
	make_huge("other", "something else\n", huge);
	make_huge("long", "philox context 1\n", huge);
	cr_assert(!getrlimit(RLIMIT_AS, &before));
	cr_assert(!setrlimit(RLIMIT_AS, &little));
	FAILS(philox_context_load(f->context, "other"), PHILOX_ERROR_INVALID);
	NAMES("'other': line 1");
	FAILS(philox_context_load(f->context, "long"), PHILOX_ERROR_FILE);
	NAMES("'long': it is longer than such a file may be");
	cr_assert(!setrlimit(RLIMIT_AS, &before));
	unlink("other");
	unlink("long");
	leave_folder();
}

/* More than one read takes. */
PROMISE(save_file, may_be_large)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 3000, NULL);
	char *text, *after;

	for (int i = 0; i < 3000; i++)
		forward(f, region);
	text = text_of(f->context);
	enter_folder();
	OK(philox_context_save(f->context, "there"));
	OK(philox_region_destroy(region));
	region = make_region_of(f->context, "layer", 3000, NULL);
	OK(philox_context_load(f->context, "there"));
	PENDING(region, 3000);
	after = text_of(f->context);
	cr_assert_str_eq(after, text);
	unlink("there");
	leave_folder();
	free(text);
	free(after);
}
