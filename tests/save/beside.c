/*
 * tests/save/beside.c - the folder in which new files are until they have their
 * names: a save goes well where it cannot be used, and where others remove it
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/support/faults.h"
#include "tests/support/ranks/set.h"

#define NOBODY 65534

/* The folder of this user. */
static const char *beside(void)
{
	static char name[40];

	snprintf(name, sizeof(name), ".philox-%ju", (uintmax_t)geteuid());
	return name;
}

/* A file that only a save without that folder removes. */
static const char *left_here(void)
{
	static char name[64];
	pid_t process;

	if (*name)
		return name;
	process = fork();
	cr_assert(process >= 0);
	if (!process)
		_exit(0);
	cr_assert_eq(waitpid(process, NULL, 0), process);
	snprintf(name, sizeof(name), ".philox-%ld-0.tmp", (long)process);
	return name;
}

/* Root has all rights, so it is another user where rights count. */
static void become_nobody(void)
{
	cr_assert(!chmod(".", 0777));
	cr_assert(geteuid() || !seteuid(NOBODY));
}

static void become_root_again(void)
{
	cr_assert(getuid() || !seteuid(0));
}

/* --- calls that fail ------------------------------------------------------ */

static int save_it(const void *user)
{
	enum philox_status status;
	struct fixture f;

	fixture_open(&f, "host:sync");
	make_region(&f, "layer");
	faults_begin();
	status = philox_context_save(f.context, user);
	faults_end();
	return (int)status;
}

/* It finds its folder without the right to write. */
static int save_as_nobody(const void *user)
{
	become_nobody();
	cr_assert(!mkdir(beside(), 0500) || errno == EEXIST);
	cr_assert(!chmod(beside(), 0500));
	return save_it(user);
}

/* Returns whether this run is one that it is about. */
typedef int look_at(const struct fault_run *run, int has_folder);

/* Each call of a save fails so once. */
static void save_with(struct fault_run run, int (*job)(const void *user),
		      look_at *look)
{
	unsigned seen = 0;
	int has_folder = 0;

	if (!faults_possible())
		cr_skip_test("system calls cannot be traced here");
	do {
		put_text(left_here(), "left behind");
		faults_try(job, "there", &run);
		if (run.number >= 0 && !run.skipped)
			seen += look(&run, has_folder) != 0;
		has_folder |= run.number == SYS_mkdirat;
		unlink("there");
	} while (run.at++, run.number >= 0);
	unlink(left_here());
	cr_assert(seen, "no such call is made");
}

/* The kernel refuses to move files between some folders (Landlock, Lustre). */
static int is_written_in_place(const struct fault_run *run, int has_folder)
{
	char *text;

	(void)has_folder;
	if (run->number != SYS_renameat && run->number != SYS_renameat2)
		return 0;
	cr_assert(!run->result, "%s: %s", faults_name(run), run->message);
	cr_assert(!file_is_there(left_here()), "its folder is looked through");
	cr_assert_eq(names_here(), 1, "something is left");
	text = file_text("there");
	cr_assert(strstr(text, "checksum "), "not whole: %s", text);
	free(text);
	return 1;
}

Test(save_beside, is_not_used_where_files_cannot_be_moved_from_it,
     .timeout = 120)
{
	const struct fault_run run = {.fault = FAULT_ERROR, .error = EXDEV};

	enter_set();
	save_with(run, save_it, is_written_in_place);
	leave_set();
}

/* As it has been removed on another host that shares it. */
static int is_made_again(const struct fault_run *run, int has_folder)
{
	if (!has_folder)
		return 0;
	cr_assert(!run->result || !strstr(run->message, "no file can be made"),
		  "%s: %s", faults_name(run), run->message);
	return run->number == SYS_openat;
}

Test(save_beside, is_made_again_after_another_host_has_removed_it,
     .timeout = 120)
{
	const struct fault_run run = {.fault = FAULT_ERROR, .error = ESTALE};

	enter_set();
	save_with(run, save_it, is_made_again);
	leave_set();
}

static int is_used(const struct fault_run *run, int has_folder)
{
	(void)has_folder;
	if (run->number != SYS_mkdirat && run->number != SYS_openat)
		return 0;
	cr_assert(file_is_there(left_here()), "%s: the save does without it",
		  faults_name(run));
	return !run->result;
}

Test(save_beside, is_used_whatever_a_signal_interrupts, .timeout = 120)
{
	const struct fault_run run = {.fault = FAULT_INTERRUPT};

	enter_set();
	save_with(run, save_it, is_used);
	leave_set();
}

/* --- rights --------------------------------------------------------------- */

PROMISE(save_beside, has_the_rights_of_its_owner_whatever_the_umask)
{
	mode_t before;

	enter_set();
	become_nobody();
	before = umask(0277);
	OK(philox_context_save(f->context, "there"));
	umask(before);
	become_root_again();
	cr_assert_eq(names_here(), 1);
	leave_set();
}

/* So what was left in it can be removed. */
PROMISE(save_beside, gets_the_rights_of_its_owner_if_it_has_lost_them)
{
	char name[128];

	enter_set();
	become_nobody();
	cr_assert(!mkdir(beside(), 0700));
	snprintf(name, sizeof(name), "%s/%s", beside(), left_here());
	put_text(name, "left behind");
	cr_assert(!chmod(beside(), 0500));
	OK(philox_context_save(f->context, "there"));
	become_root_again();
	cr_assert_eq(names_here(), 1);
	leave_set();
}

static int does_without(const struct fault_run *run, int has_folder)
{
	(void)has_folder;
	if (run->number != SYS_fchmod)
		return 0;
	cr_assert(!run->result, "%s: %s", faults_name(run), run->message);
	return 1;
}

Test(save_beside, is_not_used_if_it_cannot_have_these_rights, .timeout = 120)
{
	const struct fault_run run = {.fault = FAULT_ERROR, .error = EPERM};

	enter_set();
	save_with(run, save_as_nobody, does_without);
	leave_set();
}

/* --- names ---------------------------------------------------------------- */

PROMISE(save_beside, is_not_used_for_a_file_of_its_name)
{
	enter_set();
	OK(philox_context_save(f->context, beside()));
	OK(philox_context_save(f->context, beside()));
	OK(philox_context_load(f->context, beside()));
	cr_assert_eq(names_here(), 1);
	leave_set();
}
