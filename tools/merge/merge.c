/*
 * tools/merge/merge.c - philox merge: the set of texts of another mesh
 */
#include "tools/merge/merge.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/text/text.h"
#include "tools/cli/cli.h"
#include "tools/formats/formats.h"
#include "tools/tools.h"

static void print_sum(const struct merge_job *job)
{
	uint64_t old = source_world(&job->source), made = mesh_world(&job->to);
	size_t of[SAVE_DATA + 1] = {0};

	for (size_t i = 0; i < job->n_items; i++)
		of[job->items[i].kind]++;
	printf("%" PRIu64 " text%s into %" PRIu64 ": regions %zu", old,
	       plural(old), made, of[SAVE_REGION]);
	if (of[SAVE_TABLE])
		printf(", tables of rows %zu", of[SAVE_TABLE]);
	if (of[SAVE_DATA])
		printf(", data %zu", of[SAVE_DATA]);
	printf("\n");
	for (size_t i = 0; i < job->n_items; i++)
		if (job->items[i].fresh)
			printf("fresh on %" PRIu64 " of %" PRIu64
			       " ranks: region '%s'\n",
			       job->items[i].fresh, made, job->items[i].name);
}

static int merge_opened(struct merge_job *job)
{
	int status = merge_take_mesh(job);

	if (!status)
		status = merge_survey(job);
	if (!status)
		status = merge_place(job);
	if (!status)
		status = merge_write(job);
	if (!status)
		print_sum(job);
	merge_free_items(job);
	mesh_finish(&job->to);
	return status;
}

/* A text of another kind is called by its name. */
static int refuse_source(const char *path, enum philox_status status)
{
	const char *kind = status == PHILOX_ERROR_INVALID
				   ? written_kind_at(path)
				   : NULL;

	if (kind)
		complain("merge",
			 "'%s' is a %s: give the manifest of a set, or the "
			 "context of a single process",
			 path, kind);
	else
		complain("merge", "%s", philox_error_message());
	return 1;
}

static int merge_paths(struct merge_job *job)
{
	enum philox_status opened;
	int status;

	if (file_check(job->new_path) != PHILOX_OK)
		return complain("merge", "%s", philox_error_message());
	opened = source_open(job->old_path, &job->source);
	if (opened != PHILOX_OK)
		return refuse_source(job->old_path, opened);
	status = merge_opened(job);
	source_close(&job->source);
	return status;
}

/* --- signals and progress ------------------------------------------------- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

static volatile sig_atomic_t came;

static void note_signal(int number)
{
	came = number;
}

int merge_signal(void)
{
	return came;
}

void merge_progress(const char *name, int second, uint64_t n, uint64_t of)
{
	const double part = (double)n / (double)of;
	char detail[64];

	snprintf(detail, sizeof(detail), "text %" PRIu64 " of %" PRIu64, n + 1,
		 of);
	progress_show(&(struct progress){.name = name,
					 .part = part,
					 .whole = (second + part) / 2,
					 .detail = detail});
}

/* Whoever has a signal ignored, as nohup does, goes on ignoring it. */
static void watch_signals(struct sigaction before[SIGNALS])
{
	const struct sigaction noted = {.sa_handler = note_signal};

	came = 0;
	for (int i = 0; i < SIGNALS; i++) {
		sigaction(signals[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &noted, NULL);
	}
}

/* Then the process ends as if nobody had waited. */
static void leave_signals(const struct sigaction before[SIGNALS])
{
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &before[i], NULL);
	progress_end();
	if (came)
		raise(came);
}

static int merge_watched(struct merge_job *job)
{
	struct sigaction before[SIGNALS];
	int status;

	watch_signals(before);
	status = merge_paths(job);
	leave_signals(before);
	return status;
}

/* --- the command ---------------------------------------------------------- */

static int take_place(void *to, const char *value)
{
	return merge_take_rule(to, "place", value);
}

static int take_differs(void *to, const char *value)
{
	return merge_take_rule(to, "differs", value);
}

static const char usage[] =
	"usage: philox merge [OPTION]... OLD NEW\n"
	"\n"
	"Write the set of texts from which the ranks of another mesh can resume. OLD\n"
	"is a set that philox_mesh_seal() wrote, or a context of a single process.\n"
	"NEW must not exist. Shared regions continue bit for bit. A region that\n"
	"differs along an axis whose size changes continues at the old coordinates\n"
	"and starts fresh at new ones. If it has tickets pending, nothing is\n"
	"written. After an error or an interrupt nothing is left, and what a killed\n"
	"one leaves, the same user's next save into that folder removes.\n"
	"\n"
	"  --mesh AXES     axes and sizes of the new mesh, in order, as in\n"
	"                  data=2,pipe=4:stages ('' for no axes); axes whose names\n"
	"                  OLD has keep their stages\n"
	"  --place PATTERN=AXIS:COORDINATE[,COORDINATE]...\n"
	"                  regions, tables of rows and data whose names match\n"
	"                  PATTERN go there along AXIS; the last one that fits wins\n"
	"  --differs PATTERN=AXIS[,AXIS]...\n"
	"                  regions are to differ along axes that OLD does not have\n"
	"  --help          " HELP_HELP "\n"
	"\n"
	"Along each axis, what all coordinates have goes to all of the new ones, and\n"
	"what a part of them has stays there if the axis has as many coordinates as\n"
	"before; else --place says where it goes.\n"
	"\n"
	"Exit status: 0 done, 1 it failed, 2 the command line is wrong.\n";

int tool_merge(int argc, char **argv)
{
	struct merge_job job = {0};
	int status;
	const struct tool_option options[] = {
		{"mesh", TAKES_TEXT, .to = &job.given_mesh},
		{"place", TAKES_OTHER, .to = &job.places, .take = take_place},
		{"differs", TAKES_OTHER, .to = &job.differs,
		 .take = take_differs},
		{0}};

	status = read_options(argc, argv, options, usage, 2);
	if (status < 0 && argc - optind < 2)
		status = complain("merge", "give two paths, OLD and NEW");
	if (status < 0 && !job.given_mesh)
		status = complain("merge", "say which mesh is wanted, as in "
					   "--mesh data=2,tensor=4");
	if (status < 0) {
		job.old_path = argv[optind];
		job.new_path = argv[optind + 1];
		status = merge_watched(&job);
	}
	merge_free_rules(&job.places);
	merge_free_rules(&job.differs);
	return status;
}
