/*
 * tests/tools/merge/faults.c - philox merge is all or nothing: each of its
 * system calls fails once, and once it is killed or interrupted there
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/support/faults.h"
#include "tests/support/ranks/set.h"
#include "tools/tools.h"

enum { RANKS = 3, FILES = RANKS + 1 }; /* of the new set */

static const struct along along_none = {{NULL}, 0};
static const struct along along_data = {{"data"}, 1};

static void make_old(struct fixture *f)
{
	struct philox_mesh mesh = mesh_of("data=0/2");
	struct bed bed;

	bed_open(&bed, f, &mesh, 5);
	for (unsigned i = 0; i < 2; i++) {
		make_along(bed.context[i], "block", &along_none);
		make_along(bed.context[i], "noise", &along_data);
	}
	save_bed(&bed, "old");
	bed_close(&bed);
}

static int merge_old(const void *user)
{
	char *argv[] = {"merge",  "old",    (char *)user,
			"--mesh", "data=3", NULL};
	int nowhere = open("/dev/null", O_WRONLY), status;

	dup2(nowhere, 1);
	dup2(nowhere, 2);
	faults_begin();
	status = tool_merge(5, argv);
	faults_end();
	return status;
}

/* --- what is there -------------------------------------------------------- */

static void name_of(int i, char name[16])
{
	if (i == RANKS)
		strcpy(name, "new");
	else
		snprintf(name, 16, "new.%d", i);
}

/* How many files are called so, and how many are temporary. */
static size_t count_named(const char *begin)
{
	const size_t all = names_here();
	size_t n = 0;

	for (size_t i = 0; i < all; i++)
		n += !strncmp(name_here(i), begin, strlen(begin));
	return n;
}

#define TEMPORARIES ".philox-"

static void is_made(const struct fault_run *run, char *made[FILES])
{
	for (int i = 0; i < FILES; i++) {
		char name[16], *text;

		name_of(i, name);
		cr_assert(file_is_there(name), "%s: %s is not there",
			  faults_name(run), name);
		text = file_text(name);
		cr_assert_str_eq(text, made[i]);
		free(text);
	}
}

static void remove_new(void)
{
	char name[16];

	for (int i = 0; i < FILES; i++) {
		name_of(i, name);
		unlink(name);
	}
}

/* --- one fault ------------------------------------------------------------ */

/* Afterwards a merge is as good as the first, and leaves nothing else. */
static void goes_on(const struct fault_run *before, char *made[FILES])
{
	struct fault_run run = {.fault = FAULT_NONE};
	const int was_made = file_is_there("new");

	faults_try(merge_old, was_made ? "new2" : "new", &run);
	cr_assert(!run.result, "after %s", faults_name(before));
	cr_assert_eq(count_named(TEMPORARIES), 0, "after %s: left behind",
		     faults_name(before));
	is_made(before, made);
	for (unsigned i = 0; was_made && i < 2 * FILES; i++)
		if (count_named("new2"))
			for (size_t k = 0; k < names_here(); k++)
				if (!strncmp(name_here(k), "new2", 4))
					unlink(name_here(k));
}

/* Returns 0 when it has made fewer calls. */
static int try_fault(enum fault fault, unsigned at, char *made[FILES])
{
	struct fault_run run = {.fault = fault, .at = at};

	faults_try(merge_old, "new", &run);
	if (run.number < 0 || run.skipped) {
		is_made(&run, made);
		remove_new();
		return run.number >= 0;
	}
	cr_assert(fault >= FAULT_KILL || !run.killed, "%s: it has died",
		  faults_name(&run));
	if (file_is_there("new"))
		is_made(&run, made);
	if (!run.killed && run.result == 0)
		is_made(&run, made);
	else if (fault != FAULT_KILL && !file_is_there("new"))
		cr_assert_eq(count_named("new") + count_named(TEMPORARIES), 0,
			     "%s: something is left", faults_name(&run));
	if (fault < FAULT_KILL && run.result)
		cr_assert_eq(count_named("new"), 0, "%s: it is left",
			     faults_name(&run));
	goes_on(&run, made);
	remove_new();
	return 1;
}

Test(merge_faults, leave_the_whole_set_or_nothing, .timeout = 300)
{
	struct fault_run none = {.fault = FAULT_NONE};
	char *made[FILES], name[16];
	struct fixture f;

	if (!faults_possible())
		cr_skip_test("system calls cannot be traced here");
	fixture_open(&f, "host:sync");
	enter_set();
	make_old(&f);
	faults_try(merge_old, "new", &none);
	cr_assert(!none.result && count_named(TEMPORARIES) == 0);
	for (int i = 0; i < FILES; i++) {
		name_of(i, name);
		made[i] = file_text(name);
	}
	remove_new();
	for (int fault = FAULT_ERROR; fault < FAULTS; fault++) {
		unsigned at = 0;

		while (try_fault((enum fault)fault, at, made))
			at++;
		cr_assert(at > 30, "%u calls", at);
	}
	for (int i = 0; i < FILES; i++)
		free(made[i]);
	leave_set();
	fixture_close(&f);
}

/* --- errors for which the folder of new files is the reason --------------- */

/* Returns whether this run is one that it is about. */
typedef int look_at(const struct fault_run *run, int has_folder);

/* Each call of a merge gives this error once. */
static void merge_with(int error, look_at *look)
{
	struct fault_run run = {.fault = FAULT_ERROR, .error = error};
	unsigned seen = 0;
	int has_folder = 0;
	struct fixture f;

	if (!faults_possible())
		cr_skip_test("system calls cannot be traced here");
	fixture_open(&f, "host:sync");
	enter_set();
	make_old(&f);
	do {
		faults_try(merge_old, "new", &run);
		has_folder |= run.number == SYS_mkdirat;
		if (run.number >= 0 && !run.skipped)
			seen += look(&run, has_folder) != 0;
		remove_new();
	} while (run.at++, run.number >= 0);
	cr_assert(seen, "no such call is made");
	leave_set();
	fixture_close(&f);
}

static int names_the_reason(const struct fault_run *run, int has_folder)
{
	(void)has_folder;
	if (run->number != SYS_mkdirat || !run->result)
		return 0;
	cr_assert(strstr(run->message, strerror(ENOSPC)), "%s: %s",
		  faults_name(run), run->message);
	return 1;
}

Test(merge_faults, of_making_a_folder_are_named, .timeout = 120)
{
	merge_with(ENOSPC, names_the_reason);
}

/* As it has been removed on another host that shares it. */
static int is_made_again(const struct fault_run *run, int has_folder)
{
	if (!has_folder)
		return 0;
	cr_assert(!run->result ||
			  !strstr(run->message, "no folder can be made"),
		  "%s: %s", faults_name(run), run->message);
	return run->number == SYS_openat;
}

Test(merge_faults, that_another_host_has_removed_a_folder_are_none,
     .timeout = 120)
{
	merge_with(ESTALE, is_made_again);
}
