/*
 * tools/matrix/matrix.c - philox matrix: the command
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tools/cli/cli.h"
#include "tools/matrix/model/model.h"
#include "tools/matrix/matrix.h"
#include "tools/tools.h"

static const char usage[] =
	"usage: philox matrix [OPTION]...\n"
	"\n"
	"Run all sequences of forwards, backwards, failures, releases and so on up\n"
	"to a length, eager and captured, against an independent model, and random\n"
	"longer ones.\n"
	"\n"
	"  --device NAME     " HELP_DEVICE "\n"
	"                    (default host:sync; random sequences on host)\n"
	"  --forwards F      at most F forwards in a sequence, 1 to %d\n"
	"  --length L        sequences of up to L events, 1 to %d\n"
	"  --regions R       regions, 1 to %d (default 2)\n"
	"  --shared S        the first S of them are SHARED, 1 to %d (default none)\n"
	"  --generators G    generators, which regions use in turn, 1 to %d\n"
	"                    (with one of these five: one search of all events;\n"
	"                    else several, of different events and lengths)\n"
	"  --bodies          other searches: with branches and loops in the graphs\n"
	"  --runner          other searches: with passes as functions of a runner,\n"
	"                    run as they are, recorded and replayed\n"
	"  --ops N           operators of each region, 1 to %d (default 2)\n"
	"  --long            deeper: minutes (of a search only)\n"
	"  --replay RUN      one sequence, shown event by event\n"
	"  --pending P       room for P tickets in a region of it, 1 to %d\n"
	"                    (default 8)\n"
	"  --schedule NAME   a schedule of passes instead, or all:\n"
	"                    %s\n"
	"  --stages S        stages of the schedule, 1 to %d (default 4)\n"
	"  --microbatches M  microbatches of the schedule, 1 to %d (default 8)\n"
	"  --json            one JSON object, the last line of the output\n"
	"  --help            " HELP_HELP "\n"
	"\n"
	"%s"
	"\n"
	"Exit status: 0 no mismatch, 1 a mismatch or a failure, 2 the command\n"
	"line is wrong.\n";

#define FORWARDS_MAX 8
#define LENGTH_MAX   16

static const char *help_text(void)
{
	static char text[8192];

	snprintf(text, sizeof(text), usage, FORWARDS_MAX, LENGTH_MAX,
		 MATRIX_REGIONS, MATRIX_REGIONS, MATRIX_GENERATORS_MAX,
		 MATRIX_OPS, MATRIX_TICKETS,
		 schedule_names("\n                    "), SCHEDULE_STAGES_MAX,
		 SCHEDULE_MICROBATCHES_MAX, matrix_words);
	return text;
}

/* The options whose text is kept. */
enum {
	FORWARDS,
	LENGTH,
	REGIONS,
	SHARED,
	GENERATORS,
	PENDING,
	STAGES,
	MICROBATCHES,
	REPLAY,
	GIVEN
};

static int take_device(void *to, const char *name)
{
	struct matrix_options *options = to;

	options->device = name;
	options->random_device = NULL;
	return 0;
}

static int take_schedule(void *to, const char *name)
{
	struct matrix_options *options = to;

	if (strcmp(name, "all") && !schedule_find(name))
		return complain_value("matrix", "schedule", name,
				      "must be one of all, %s",
				      schedule_names(" "));
	options->schedule = name;
	return 0;
}

/* The mode: a search of all runs, one run, or schedules. */
enum { SEARCH = 1, RUN = 2, SCHEDULES = 4 };

static int mode_of(const struct matrix_options *options)
{
	if (options->schedule)
		return SCHEDULES;
	return options->replay ? RUN : SEARCH;
}

/* An option that has no meaning in a mode. */
static int refuse(const char *name, const char *value, int modes, int mode)
{
	const char *by =
		(mode == SEARCH ? modes : mode) == RUN ? "replay" : "schedule";
	const char *why = mode == SEARCH ? "needs" : "not together with";

	if (!value)
		return complain("matrix", "--%s: %s --%s", name, why, by);
	return complain_value("matrix", name, value, "%s --%s", why, by);
}

/* given[option] is the value of an option, or NULL if it is absent. */
static int check_modes(const struct matrix_options *options,
		       const char *const given[])
{
	static const struct {
		const char *name;
		int option, modes; /* in which it has a meaning */
	} rows[] = {
		{"replay", REPLAY, RUN},
		{"forwards", FORWARDS, SEARCH},
		{"length", LENGTH, SEARCH},
		{"regions", REGIONS, SEARCH | RUN},
		{"shared", SHARED, SEARCH | RUN},
		{"generators", GENERATORS, SEARCH | RUN},
		{"pending", PENDING, RUN},
		{"stages", STAGES, SCHEDULES},
		{"microbatches", MICROBATCHES, SCHEDULES},
	};
	int mode = mode_of(options);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (given[rows[i].option] && !(rows[i].modes & mode))
			return refuse(rows[i].name, given[rows[i].option],
				      rows[i].modes, mode);
	if (options->longer && mode != SEARCH)
		return refuse("long", NULL, SEARCH, mode);
	if (options->bodies && mode != SEARCH)
		return refuse("bodies", NULL, SEARCH, mode);
	if (options->runner && mode != SEARCH)
		return refuse("runner", NULL, SEARCH, mode);
	if (options->runner && options->bodies)
		return complain("matrix",
				"--runner: not together with --bodies");
	return 0;
}

/* Returns -1, or the exit status. */
static int read_line(int argc, char **argv, struct matrix_options *options)
{
	const char *given[GIVEN] = {NULL};
	const struct tool_option known[] = {
		{"device", TAKES_OTHER, .to = options, .take = take_device},
		{"replay", TAKES_TEXT, .to = &options->replay,
		 .given = &given[REPLAY]},
		{"schedule", TAKES_OTHER, .to = options, .take = take_schedule},
		{"long", TAKES_NOTHING, .to = &options->longer},
		{"bodies", TAKES_NOTHING, .to = &options->bodies},
		{"runner", TAKES_NOTHING, .to = &options->runner},
		{"json", TAKES_NOTHING, .to = &options->json},
		{"forwards", TAKES_WHOLE_32, .to = &options->forwards,
		 .least = 1, .most = FORWARDS_MAX, .given = &given[FORWARDS]},
		{"length", TAKES_WHOLE_32, .to = &options->length, .least = 1,
		 .most = LENGTH_MAX, .given = &given[LENGTH]},
		{"ops", TAKES_WHOLE_32, .to = &options->ops, .least = 1,
		 .most = MATRIX_OPS},
		{"regions", TAKES_WHOLE_32, .to = &options->regions, .least = 1,
		 .most = MATRIX_REGIONS, .given = &given[REGIONS]},
		{"shared", TAKES_WHOLE_32, .to = &options->shared, .least = 1,
		 .most = MATRIX_REGIONS, .given = &given[SHARED]},
		{"generators", TAKES_WHOLE_32, .to = &options->generators,
		 .least = 1, .most = MATRIX_GENERATORS_MAX,
		 .given = &given[GENERATORS]},
		{"pending", TAKES_WHOLE_32, .to = &options->pending, .least = 1,
		 .most = MATRIX_TICKETS, .given = &given[PENDING]},
		{"stages", TAKES_WHOLE_32, .to = &options->stages, .least = 1,
		 .most = SCHEDULE_STAGES_MAX, .given = &given[STAGES]},
		{"microbatches", TAKES_WHOLE_32, .to = &options->microbatches,
		 .least = 1, .most = SCHEDULE_MICROBATCHES_MAX,
		 .given = &given[MICROBATCHES]},
		{0}};
	int status = read_options(argc, argv, known, help_text(), 0);

	return status < 0 && check_modes(options, given) ? 2 : status;
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) +
	       1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

/* --- searching ------------------------------------------------------------ */

static int print_json(const struct matrix_options *options,
		      const struct matrix_total *total, double seconds)
{
	struct json json;

	json_begin(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "device", options->device);
	json_unsigned(&json, "sequences", total->sequences);
	json_unsigned(&json, "random", total->random);
	json_unsigned(&json, "events", total->events);
	json_unsigned(&json, "comparisons", total->comparisons);
	if (total->calls) {
		json_unsigned(&json, "calls", total->calls);
		json_unsigned(&json, "replays", total->replays);
	}
	json_unsigned(&json, "mismatches", total->mismatches);
	json_number(&json, "seconds", seconds);
	if (total->mismatches) {
		json_string(&json, "first", total->first);
		json_unsigned(&json, "pending", total->limits.pending);
		json_unsigned(&json, "regions", total->limits.regions);
		json_unsigned(&json, "shared", total->limits.shared);
		json_unsigned(&json, "generators",
			      matrix_generators(&total->limits));
		json_string(&json, "message", total->message);
	}
	json_close(&json);
	return json_end(&json);
}

/* With all options that a replay needs to be the same run. */
static void print_again(const struct matrix_options *options,
			const struct matrix_total *total)
{
	const struct matrix_limits *limits = &total->limits;

	printf("shortest mismatch: %s\n"
	       "  %s\n"
	       "again: philox matrix --pending %u --replay '%s'",
	       total->first, total->message, limits->pending, total->first);
	if (options->ops)
		printf(" --ops %u", options->ops);
	printf(" --regions %u", limits->regions);
	if (limits->shared)
		printf(" --shared %u", limits->shared);
	if (limits->generators > 1)
		printf(" --generators %u", limits->generators);
	if (strcmp(total->device, "host:sync") != 0)
		printf(" --device %s", total->device);
	putchar('\n');
}

/* What a search covers is below its name if the terminal is narrow. */
static void print_search(const char *search, uint64_t sequences)
{
	if (terminal_fits(STDOUT_FILENO, 90))
		printf("%-76s %9" PRIu64 "\n", search, sequences);
	else
		printf("%.20s %9" PRIu64 "\n  %s\n", search, sequences,
		       search + 20 + strspn(search + 20, " "));
}

static void print_total(const struct matrix_options *options,
			const struct matrix_total *total, double seconds)
{
	for (unsigned i = 0; i < MATRIX_SEARCHES && total->searches[i][0]; i++)
		print_search(total->searches[i], total->by_search[i]);
	printf("%" PRIu64 " sequence%s (%" PRIu64 " of them random), %" PRIu64
	       " event%s, %" PRIu64 " comparison%s, %" PRIu64
	       " mismatch%s in %.1f s\n",
	       total->sequences, plural(total->sequences), total->random,
	       total->events, plural(total->events), total->comparisons,
	       plural(total->comparisons), total->mismatches,
	       total->mismatches == 1 ? "" : "es", seconds);
	if (options->runner)
		printf("%" PRIu64 " call%s of functions of a runner, %" PRIu64
		       " of them replay%s\n",
		       total->calls, plural(total->calls), total->replays,
		       plural(total->replays));
	if (total->mismatches)
		print_again(options, total);
}

/* A search that finds nothing must have looked at what it is for. */
static int has_replays(const struct matrix_options *options,
		       const struct matrix_total *total)
{
	if (!options->runner || total->replays)
		return 1;
	complain("matrix", "--runner: none of the calls was a replay");
	return 0;
}

static int search(const struct matrix_options *options)
{
	struct matrix_total total;
	struct timespec start;
	double seconds;

	clock_gettime(CLOCK_MONOTONIC, &start);
	if (matrix_search(options, &total)) {
		perror("philox matrix");
		return 1;
	}
	if (total.error[0]) {
		complain("matrix", "%s", total.error);
		return 1;
	}
	seconds = seconds_since(&start);
	print_total(options, &total, seconds);
	if (options->json && print_json(options, &total, seconds))
		return 1;
	return !has_replays(options, &total) || total.mismatches != 0;
}

/* --- replaying ------------------------------------------------------------ */

static void print_events(const struct matrix_run *run,
			 const struct matrix_result *result)
{
	char word[64];

	for (unsigned i = 0; i < run->n; i++) {
		matrix_event_text(&run->events[i], word, sizeof(word));
		printf("%3u  %-12s must give %-22s %s\n", i + 1, word,
		       philox_status_name(run->events[i].status),
		       result->wrong < 0 || (int)i < result->wrong ? "right"
		       : (int)i == result->wrong ? result->message
						 : "not checked");
	}
	if (result->wrong >= (int)run->n)
		printf("     closing: %s\n", result->message);
}

static int print_replay_json(const struct matrix_options *options,
			     const struct matrix_limits *limits,
			     const struct matrix_result *result)
{
	struct matrix_total total = {.sequences = 1,
				     .events = result->n_events,
				     .comparisons = result->comparisons,
				     .mismatches = result->wrong >= 0,
				     .calls = result->calls,
				     .replays = result->replays,
				     .limits = *limits};

	snprintf(total.first, sizeof(total.first), "%s", options->replay);
	memcpy(total.message, result->message, sizeof(result->message));
	return print_json(options, &total, 0);
}

static int replay_run(const struct matrix_options *options,
		      const struct matrix_run *run)
{
	struct matrix_result result;
	struct matrix_shape shape;
	struct matrix_bed *bed;
	char message[512];

	matrix_shape_init(&shape, options->ops ? options->ops : 2, 1);
	bed = matrix_bed_create(options->device, &run->limits, &shape, message,
				sizeof(message));
	if (!bed) {
		complain("matrix", "%s", message);
		return 1;
	}
	matrix_bed_run(bed, run, &result);
	print_events(run, &result);
	printf("%" PRIu64 " comparison%s, %s\n", result.comparisons,
	       plural(result.comparisons),
	       result.wrong < 0 ? "all as expected" : "a mismatch");
	matrix_bed_destroy(bed);
	if (options->json && print_replay_json(options, &run->limits, &result))
		return 1;
	return result.wrong >= 0;
}

static int replay(const struct matrix_options *options)
{
	static struct matrix_run run;
	char message[256];

	run.limits = (struct matrix_limits){
		.classes = MATRIX_EVERYTHING,
		.forms = MATRIX_ALL_FORMS,
		.regions = options->regions ? options->regions : 2,
		.shared = options->shared,
		.generators = options->generators ? options->generators : 1,
		.forwards = MATRIX_TICKETS - 1,
		.open = 16,
		.pending = options->pending};
	if (matrix_run_parse(&run, options->replay, message, sizeof(message)))
		return complain_value("matrix", "replay", options->replay, "%s",
				      message);
	return replay_run(options, &run);
}

/* --- the command ---------------------------------------------------------- */

/*
 * Complains about the device before anything is run: in a process of its own,
 * since the workers are forked, and CUDA does not work in a child of a process
 * in which it was initialized.
 */
static int check_device(const char *name)
{
	struct philox_device *device;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		status = open_device("matrix", name, &device);
		if (!status)
			philox_device_close(device);
		fflush(NULL);
		_exit(status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return complain("matrix", "no process: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int tool_matrix(int argc, char **argv)
{
	struct matrix_options options = {.device = "host:sync",
					 .random_device = "host",
					 .pending = 8,
					 .stages = 4,
					 .microbatches = 8};
	int status = read_line(argc, argv, &options);

	if (status >= 0)
		return status;
	status = check_device(options.device);
	if (status)
		return status;
	if (options.replay)
		return replay(&options);
	if (options.schedule)
		return matrix_schedules(&options);
	return search(&options);
}
