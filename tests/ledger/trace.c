/*
 * tests/ledger/trace.c - PHILOX_TRACE writes what happens, as it happens
 *
 * What a trace has to look like for its readers is checked by
 * tests/scripts/tool/trace.sh.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "tests/support/left.h"
#include "tests/support/support.h"

static char trace_folder[] = "/tmp/philox-trace-XXXXXX";
static char trace_path[64];

static void make_trace_folder(void)
{
	cr_assert(mkdtemp(trace_folder));
}

static void remove_trace_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", trace_folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(trace, .init = make_trace_folder, .fini = remove_trace_folder,
	  .timeout = 120);

static char text[1 << 16];

static void read_trace(void)
{
	FILE *file = fopen(trace_path, "r");

	cr_assert(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
}

static unsigned lines_with(const char *part, const char *other)
{
	unsigned n = 0;

	for (char *line = text, *end; *line; line = end + 1) {
		const char *found = strstr(line, part);

		end = strchr(line, '\n');
		if (!end)
			end = line + strlen(line) - 1;
		n += found && found < end && (found = strstr(line, other)) &&
		     found < end;
	}
	return n;
}

#define LINES(n, part, other)                                 \
	cr_assert(lines_with(part, other) == (n),             \
		  "%u lines, not %u, with %s and %s in:\n%s", \
		  lines_with(part, other), (unsigned)(n), part, other, text)

static struct philox_context *another_context(struct fixture *f)
{
	struct philox_context *context;

	setenv("PHILOX_TRACE", trace_path, 1);
	OK(philox_context_create(f->device, &context));
	unsetenv("PHILOX_TRACE");
	left_file();
	return context;
}

/* With a trace of its own. */
static struct philox_context *traced_context(struct fixture *f)
{
	static int traces;

	snprintf(trace_path, sizeof(trace_path), "%s/trace-%d", trace_folder,
		 traces++);
	return another_context(f);
}

static struct philox_ticket pass_forward(struct fixture *f,
					 struct philox_region *region)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

PROMISE(trace, is_written_as_events_happen_and_is_whole_at_the_end)
{
	struct philox_context *context = traced_context(f);
	struct philox_region *region =
		make_region_of(context, "layer", 0, NULL);
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	read_trace();
	LINES(1, "\"ph\":\"B\"", "\"name\":\"forward 1\"");
	LINES(0, "\"ph\":\"E\"", "\"outcome\":\"commit\"");
	OK(philox_pass_abort(&pass));
	read_trace();
	LINES(1, "\"ph\":\"E\"", "\"outcome\":\"abort\"");
	cr_assert(!strstr(text, "\n]\n"));
	philox_context_destroy(context);
	read_trace();
	cr_assert_str_eq(strrchr(text, '}'), "}\n]\n", "%s", text);
}

PROMISE(trace, has_an_arrow_for_each_pass_of_a_ticket)
{
	struct philox_context *context = traced_context(f);
	struct philox_region *region =
		make_region_of(context, "layer", 0, NULL);
	struct philox_ticket ticket = pass_forward(f, region);
	struct philox_pass again, pass;

	OK(philox_backward_begin(region, f->stream, ticket, PHILOX_PASS_RETAIN,
				 &again));
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_commit(&again, 0, NULL));
	OK(philox_pass_commit(&pass, 0, NULL));
	philox_context_destroy(context);
	read_trace();
	LINES(2, "\"ph\":\"s\"", "\"name\":\"ticket 1\"");
	LINES(2, "\"ph\":\"f\"", "\"name\":\"ticket 1\"");
	LINES(1, "\"ph\":\"B\"", "\"name\":\"backward 1 (retained)\"");
	/* they are open at a time: on two lanes */
	LINES(1, "\"thread_name\"", "\"region layer\"");
	LINES(1, "\"thread_name\"", "\"region layer (2)\"");
	LINES(0, "\"thread_name\"", "\"region layer (3)\"");
}

PROMISE(trace, ends_what_is_open_with_its_context)
{
	struct philox_context *context = traced_context(f);
	struct philox_region *region =
		make_region_of(context, "layer", 0, NULL);
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	philox_context_destroy(context);
	read_trace();
	LINES(1, "\"ph\":\"E\"", "\"outcome\":\"open\"");
}

/* The end of the array is taken back for the second context. */
PROMISE(trace, goes_on_with_the_next_context_of_the_process)
{
	philox_context_destroy(traced_context(f));
	for (int i = 0; i < 2; i++)
		philox_context_destroy(another_context(f));
	read_trace();
	LINES(3, "\"name\":\"context\"", "\"digest\"");
	LINES(3, "\"process_name\"", "philox context ");
	cr_assert(strstr(text, "\n]\n"));
	cr_assert_eq(strlen(strstr(text, "\n]\n")), 3);
}

PROMISE(trace, shows_saves_which_a_journal_has_not)
{
	struct philox_context *context = traced_context(f);
	char *saved;
	size_t size;

	OK(philox_context_save_text(context, &saved, &size));
	OK(philox_context_load_text(context, saved, size));
	free(saved);
	FAILS(philox_context_save(context, "/nonexistent/save"),
	      PHILOX_ERROR_FILE); /* so it was not saved */
	philox_context_destroy(context);
	read_trace();
	LINES(1, "\"name\":\"context-save\"", "\"digest\"");
	LINES(1, "\"name\":\"context-load\"", "\"digest\"");
}

PROMISE(trace, shows_the_mesh_and_along_what_regions_differ)
{
	struct philox_context *context = traced_context(f);
	const char *const differs = "data";
	const struct philox_op_desc op = {.name = "only"};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "noise",
					     .ops = &op,
					     .n_ops = 1,
					     .differs = &differs,
					     .n_differs = 1};
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
	struct philox_region *region;

	mesh.n_axes = 1;
	mesh.axes[0] = (struct philox_axis){
		.name = "data", .n_ranks = 4, .coordinate = 1};
	OK(philox_context_set_mesh(context, &mesh));
	OK(philox_region_create(context, &options, &region));
	philox_context_destroy(context);
	read_trace();
	LINES(1, "\"name\":\"mesh-set\"", "data=1/4");
	LINES(1, "\"name\":\"region-create\"", "\"differs\":\"data\"");
}

/* A journal that begins later counts its own events. */
PROMISE(trace, leaves_a_journal_as_it_is)
{
	struct philox_context *context = traced_context(f);
	struct philox_region *region =
		make_region_of(context, "layer", 0, NULL);
	char journal[80], line[64] = "";
	FILE *file;

	snprintf(journal, sizeof(journal), "%s/journal", trace_folder);
	pass_forward(f, region);
	OK(philox_context_set_journal(context, journal));
	OK(philox_context_set_journal(context, NULL));
	pass_forward(f, region);
	philox_context_destroy(context);
	file = fopen(journal, "r");
	cr_assert(file);
	cr_assert(fgets(line, sizeof(line), file) &&
		  fgets(line, sizeof(line), file));
	cr_assert(strstr(line, " 1 context digest "), "%s", line);
	cr_assert_null(fgets(line, sizeof(line), file));
	fclose(file);
	unlink(journal);
	read_trace();
	LINES(2, "\"ph\":\"B\"", "\"name\":\"forward ");
}

static unsigned endings;

static void on_end(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (strcmp(entry->event, "trace ended") != 0)
		return;
	cr_assert_eq(entry->level, PHILOX_LOG_WARNING);
	cr_assert(strstr(entry->text, trace_path), "%s", entry->text);
	endings++;
}

PROMISE(trace, ends_when_the_disk_is_full_and_fails_no_call)
{
	struct philox_context *context;
	struct philox_region *region;
	struct rlimit limit, small;

	endings = 0;
	context = traced_context(f);
	OK(philox_context_set_log(context, on_end, NULL));
	region = make_region_of(context, "layer", 0, NULL);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 1500;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 8; i++)
		pass_forward(f, region);
	cr_assert_eq(endings, 1);
	philox_context_destroy(context);
	cr_assert_eq(endings, 1);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Times rise from event to event, and are those of the machine's clock. */
PROMISE(trace, has_times_that_rise)
{
	struct philox_context *context = traced_context(f);
	struct philox_region *region =
		make_region_of(context, "layer", 0, NULL);
	double last = 0, time;
	unsigned n = 0;

	for (int i = 0; i < 20; i++)
		pass_forward(f, region);
	philox_context_destroy(context);
	read_trace();
	for (const char *at = text; (at = strstr(at, "\"ts\":")); n++) {
		at += 5;
		time = strtod(at, NULL);
		cr_assert_gt(time, last);
		last = time;
	}
	cr_assert_gt(n, 40);
}
