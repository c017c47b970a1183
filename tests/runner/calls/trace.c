/*
 * tests/runner/calls/trace.c - calls of functions in a trace, and not in a
 * journal
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/beds/runner.h"
#include "tests/support/left.h"

static char folder[] = "/tmp/philox-runner-XXXXXX";
static char trace[64], journal[64];
static char text[1 << 18];

static void make_files(void)
{
	cr_assert(mkdtemp(folder));
	snprintf(trace, sizeof(trace), "%s/trace", folder);
	snprintf(journal, sizeof(journal), "%s/journal", folder);
}

static void remove_files(void)
{
	unlink(trace);
	unlink(journal);
	rmdir(folder);
}

TestSuite(runner_trace, .init = make_files, .fini = remove_files,
	  .timeout = 120);

static const char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");

	cr_assert(file, "%s", path);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static unsigned times(const char *in, const char *part)
{
	unsigned n = 0;

	while ((in = strstr(in, part))) {
		n++;
		in += strlen(part);
	}
	return n;
}

/* A warm-up, a recording, two replays and a call that fails. */
static void some_calls(void)
{
	struct fixture f;
	struct philox_runner *r;
	struct layer layer;
	struct layer_call failing;
	uint32_t *x;

	setenv("PHILOX_TRACE", trace, 1);
	setenv("PHILOX_JOURNAL", journal, 1);
	fixture_open(&f, named_device() ? named_device() : "host:sync");
	unsetenv("PHILOX_TRACE");
	unsetenv("PHILOX_JOURNAL");
	left_file();
	left_file();
	r = make_runner_of(&f, "runner", 0);
	layer = make_layer(&f, r, "a \"layer\"");
	make_function(&layer, r, "a \"layer\"");
	x = make_words(&f, 1);
	for (int i = 0; i < 4; i++)
		call_forward(&layer, x, 1);
	layer.returns = PHILOX_ERROR_STATE;
	failing = new_call(&layer, x, 2);
	FAILS(try_call(&layer, &failing), PHILOX_ERROR_STATE);
	OK(philox_runner_destroy(r));
	fixture_close(&f);
}

#define TIMES(n, in, part)                                                   \
	cr_assert_eq(times(in, part), (unsigned)(n), "%u times, not %u: %s", \
		     times(in, part), (unsigned)(n), part)

Test(runner_trace, each_call_is_a_slice_that_says_how_it_was_executed)
{
	const char *in;

	some_calls();
	in = read_text(trace);
	TIMES(1, in, "\"args\":{\"name\":\"runner runner\"}");
	TIMES(5, in, "\"cat\":\"call\",\"name\":\"a ");
	TIMES(1, in, "\"outcome\":\"warm-up\"");
	TIMES(1, in, "\"outcome\":\"record\"");
	TIMES(2, in, "\"outcome\":\"replay\"");
	TIMES(1, in, "\"outcome\":\"failed\"");
	TIMES(1, in,
	      "\"why\":\"it is warmed up under this key, for "
	      "policy.warmups\"");
	TIMES(2, in, "\"why\":\"nothing was recorded under this key yet\"");
}

/* Of a call that is recorded since an input is elsewhere, and of one that is not,
 * since there are too many such. */
static void moving_calls(void)
{
	struct philox_function_desc options;
	struct fixture f;
	struct philox_runner *r;
	struct layer layer;

	setenv("PHILOX_TRACE", trace, 1);
	fixture_open(&f, named_device() ? named_device() : "host:sync");
	unsetenv("PHILOX_TRACE");
	left_file();
	r = make_runner_of(&f, "runner", 0);
	layer = make_layer(&f, r, "a");
	options = layer_options("a", &layer);
	options.policy.recordings = 1;
	make_function_of(&layer, r, &options);
	for (uint32_t i = 0; i < 4; i++)
		call_forward(&layer, make_words(&f, i), 1);
	OK(philox_runner_destroy(r));
	fixture_close(&f);
}

Test(runner_trace, a_miss_has_all_of_its_reasons)
{
	const char *in;

	moving_calls();
	in = read_text(trace);
	TIMES(1, in, "\"name\":\"miss: new\"");
	TIMES(1, in, "\"name\":\"miss: moved\"");
	TIMES(1, in, "\"name\":\"miss: moved,bound\"");
	TIMES(1, in, "\"miss\":\"moved,bound\"");
}

Test(runner_trace, each_call_has_the_times_of_its_phases)
{
	const char *in;

	some_calls();
	in = read_text(trace);
	TIMES(5 + 1, in, "\"name\":\"function-times\"");
	TIMES(2, in, "\"warm-up\":"); /* one of them fails */
	TIMES(1, in, "\"record\":");
	TIMES(1, in, "\"first\":");
	TIMES(2, in, "\"replay\":");
	TIMES(1, in, "\"name\":\"capture-times\"");
}

Test(runner_trace, a_journal_has_neither_calls_nor_addresses)
{
	const char *in;

	some_calls();
	in = read_text(journal);
	TIMES(0, in, "function");
	TIMES(0, in, "0x");
	cr_assert(times(in, "launch-begin") == 3, "%s", in);
}

/* The number of the row on which calls of the runner are. */
static void write_row(const char *in, char row[40])
{
	const char *call = strstr(in, "\"cat\":\"call\"");

	cr_assert(call);
	while (strncmp(call, "\"tid\":", 6) != 0)
		call--;
	snprintf(row, 40, "%.*s", (int)strcspn(call, ","), call);
}

static unsigned marks_of_row(const char *in, const char *row, const char *name)
{
	char mark[100];
	unsigned n = 0;

	snprintf(mark, sizeof(mark), "\"name\":\"%s\"", name);
	for (const char *at = in; (at = strstr(at, mark)); at++) {
		const char *line = at;

		while (line > in && line[-1] != '\n')
			line--;
		cr_assert(!strncmp(line, "{\"ph\":\"i\"", 9), "%.80s", line);
		n += strstr(line, row) && strstr(line, row) < at;
	}
	return n;
}

Test(runner_trace, misses_checkpoints_and_restores_are_marks_of_the_row)
{
	char row[40];
	const char *in;

	some_calls();
	in = read_text(trace);
	write_row(in, row);
	TIMES(1, in, "\"name\":\"miss: new\"");
	cr_assert_eq(marks_of_row(in, row, "miss: new"), 1);
	cr_assert_eq(marks_of_row(in, row, "pool-checkpoint"),
		     times(in, "\"name\":\"pool-checkpoint\""));
	cr_assert(marks_of_row(in, row, "pool-checkpoint") > 0);
	cr_assert_eq(marks_of_row(in, row, "pool-restore"),
		     times(in, "\"name\":\"pool-restore\""));
	cr_assert(marks_of_row(in, row, "pool-restore") > 0);
	TIMES(2, in, "\"why\":\"nothing was recorded under this key yet\"");
}

Test(runner_trace, making_a_function_has_its_time_before_the_first_call)
{
	const char *in, *made;
	char row[40];

	some_calls();
	in = read_text(trace);
	TIMES(1, in, "\"create\":");
	made = strstr(in, "\"name\":\"function-times\"");
	cr_assert(made && made < strstr(in, "\"cat\":\"call\""));
	cr_assert(strstr(made, "\"create\":") < strchr(made, '\n'));
	write_row(in, row);
	cr_assert_eq(marks_of_row(in, row, "function-times"), 5 + 1);
}
