/*
 * tests/save/faults.c - each system call of a save fails once, and once the
 * process is killed there: the file has the old text or the new one
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/support/beds/runner.h"
#include "tests/support/faults.h"
#include "tests/support/ranks/set.h"

#define OLD "what was there before"

/* --- what is saved -------------------------------------------------------- */

struct writer {
	const char *name, *path; /* of the file that it replaces */
	enum philox_status (*write)(struct fixture *f, void *user);
	void *(*prepare)(struct fixture *f); /* or NULL: no user */
};

static enum philox_status write_context(struct fixture *f, void *user)
{
	(void)user;
	return philox_context_save(f->context, "there");
}

static void *make_rank(struct fixture *f)
{
	const struct philox_mesh mesh = mesh_of("data=1/2");

	OK(philox_context_set_mesh(f->context, &mesh));
	return NULL;
}

static enum philox_status write_rank(struct fixture *f, void *user)
{
	(void)user;
	return philox_context_save_rank(f->context, "there");
}

static void *make_set(struct fixture *f)
{
	OK(philox_context_save_rank(f->context, "there"));
	return NULL;
}

static enum philox_status write_seal(struct fixture *f, void *user)
{
	const struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	(void)f, (void)user;
	return philox_mesh_seal(&mesh, "there");
}

static void *make_pool(struct fixture *f)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *pool;

	options.name = "pool";
	OK(philox_pool_create(f->context, &options, &pool));
	return pool;
}

static enum philox_status write_pool(struct fixture *f, void *user)
{
	(void)f;
	return philox_pool_snapshot(user, "there");
}

static void *make_a_runner(struct fixture *f)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_runner *runner;

	options.name = "runner";
	OK(philox_runner_create(f->context, &options, &runner));
	return runner;
}

static enum philox_status write_plan(struct fixture *f, void *user)
{
	(void)f;
	return philox_plan_save(user, "there");
}

static enum philox_status write_runner(struct fixture *f, void *user)
{
	(void)f;
	return philox_runner_snapshot(user, "there");
}

static const struct writer writers[] = {
	{"context", "there", write_context, NULL},
	{"rank", "there.1", write_rank, make_rank},
	{"seal", "there", write_seal, make_set},
	{"pool", "there", write_pool, make_pool},
	{"plan", "there", write_plan, make_a_runner},
	{"runner", "there", write_runner, make_a_runner},
};

/* In a child, with a context of its own. */
static int write_it(const void *user)
{
	const struct writer *writer = user;
	enum philox_status status;
	struct fixture f;
	void *what;

	fixture_open(&f, "host:sync");
	what = writer->prepare ? writer->prepare(&f) : NULL;
	make_region(&f, "layer");
	faults_begin();
	status = writer->write(&f, what);
	faults_end();
	return (int)status;
}

/* --- what may be so afterwards -------------------------------------------- */

/* The files here that are not those that the writer needs. */
static size_t others_here(const struct writer *writer)
{
	const size_t all = names_here();
	size_t n = 0;

	for (size_t i = 0; i < all; i++)
		n += strcmp(name_here(i), writer->path) &&
		     strcmp(name_here(i), "there.0");
	return n;
}

static void whole(const struct writer *writer, const struct fault_run *run,
		  const char *made)
{
	char *text = file_text(writer->path);
	const int is_new = !strcmp(text, made);

	cr_assert(is_new || !strcmp(text, OLD), "%s, %s: '%s'", writer->name,
		  faults_name(run), text);
	if (!run->killed && run->result)
		cr_assert(!is_new || strstr(run->message, "was replaced"),
			  "%s, %s: %s", writer->name, faults_name(run),
			  run->message);
	else if (!run->killed)
		cr_assert(is_new, "%s, %s: not written", writer->name,
			  faults_name(run));
	free(text);
}

/* Whether the folder in which new files are could not be removed. */
static int is_left(const struct fault_run *run)
{
	return run->number == SYS_unlinkat && !run->result;
}

static void tidy(const struct writer *writer, const struct fault_run *run)
{
	if (!run->killed && !is_left(run))
		cr_assert_eq(others_here(writer), 0, "%s, %s: a file is left",
			     writer->name, faults_name(run));
}

/* The next save into the folder succeeds, and leaves nothing else in it. */
static void goes_on(const struct writer *writer, const struct fault_run *before,
		    const char *made)
{
	struct fault_run run = {.fault = FAULT_NONE};
	char *text;

	faults_try(write_it, writer, &run);
	cr_assert(!run.result, "%s after %s: %s", writer->name,
		  faults_name(before), run.message);
	text = file_text(writer->path);
	cr_assert_str_eq(text, made);
	cr_assert_eq(others_here(writer), 0, "%s after %s: a file is left",
		     writer->name, faults_name(before));
	free(text);
}

/* What a signal may interrupt at any time. */
static int is_tried_again(long number)
{
	return number == SYS_write || number == SYS_fsync ||
	       number == SYS_flock;
}

/* Returns 0 when the writer has made fewer calls. */
static int try_fault(const struct writer *writer, enum fault fault, unsigned at,
		     const char *made)
{
	struct fault_run run = {.fault = fault, .at = at};

	put_text(writer->path, OLD);
	faults_try(write_it, writer, &run);
	if (run.number < 0)
		return 0;
	if (run.skipped)
		return 1;
	cr_assert_eq(run.killed, fault == FAULT_KILL, "%s, %s: it has died",
		     writer->name, faults_name(&run));
	if (fault == FAULT_INTERRUPT && run.result)
		cr_assert(!is_tried_again(run.number) &&
				  strstr(run.message, "Interrupted"),
			  "%s, %s: %s", writer->name, faults_name(&run),
			  run.message);
	whole(writer, &run, made);
	tidy(writer, &run);
	if (fault == FAULT_KILL || is_left(&run))
		goes_on(writer, &run, made);
	return 1;
}

static void fails_everywhere(const struct writer *writer)
{
	struct fault_run none = {.fault = FAULT_NONE};
	char *made;

	enter_set();
	faults_try(write_it, writer, &none);
	cr_assert(!none.result, "%s: %s", writer->name, none.message);
	made = file_text(writer->path);
	for (int fault = FAULT_ERROR; fault <= FAULT_KILL; fault++) {
		unsigned at = 0;

		while (try_fault(writer, (enum fault)fault, at, made))
			at++;
		cr_assert(at > 10, "%s: %u calls", writer->name, at);
	}
	free(made);
	leave_set();
}

Test(faults, leave_a_file_old_or_new_and_nothing_beside_it, .timeout = 300)
{
	if (!faults_possible())
		cr_skip_test("system calls cannot be traced here");
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
		fails_everywhere(&writers[i]);
}

/* --- reading -------------------------------------------------------------- */

/* 100: a load that failed has changed the context. */
static int load_it(const void *user)
{
	struct philox_region *region;
	enum philox_status status;
	char *before, *after;
	struct fixture f;

	fixture_open(&f, "host:sync");
	region = make_region(&f, "layer");
	OK(philox_context_save(f.context, user));
	forward(&f, region);
	before = context_text(f.context);
	faults_begin();
	status = philox_context_load(f.context, user);
	faults_end();
	after = context_text(f.context);
	return status != PHILOX_OK && strcmp(before, after) ? 100 : (int)status;
}

/* Of these none may be passed over. */
static int is_of_the_file(long number)
{
	return number == SYS_openat || number == SYS_read ||
	       number == SYS_newfstatat;
}

Test(faults, of_a_load_are_errors_that_change_nothing, .timeout = 120)
{
	struct fault_run run = {.fault = FAULT_NONE};
	unsigned failed = 0;

	if (!faults_possible())
		cr_skip_test("system calls cannot be traced here");
	enter_set();
	faults_try(load_it, "there", &run);
	cr_assert(!run.result, "%s", run.message);
	do {
		run.fault = FAULT_ERROR;
		faults_try(load_it, "there", &run);
		if (run.number < 0 || run.skipped)
			continue;
		cr_assert(!run.killed && run.result != 100, "%s: %s",
			  faults_name(&run), run.message);
		cr_assert(run.result || !is_of_the_file(run.number),
			  "%s: passed over", faults_name(&run));
		failed += run.result != 0;
	} while (run.at++, run.number >= 0);
	cr_assert(failed >= 3, "%u", failed);
	leave_set();
}
