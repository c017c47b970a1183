/*
 * tools/matrix.c - philox matrix: the command
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "json.h"
#include "matrix.h"
#include "schedules.h"
#include "tools.h"

static const char usage[] =
	"usage: philox matrix [OPTION]...\n"
	"\n"
	"Runs all sequences of forwards, backwards, failures, releases and so on\n"
	"up to a length, eager and captured, against an independent model, and\n"
	"random longer ones.\n"
	"\n"
	"  --device D        the device (default host:sync; random ones on host)\n"
	"  --forwards F      at most F forwards in a sequence, 1 to 8\n"
	"  --length L        sequences of up to L events, 1 to 16\n"
	"  --ops N           operators of each region, 1 to 8 (default 2)\n"
	"  --regions R       regions, 1 to 4\n"
	"                    (one of -F, -L, -R: one search of all events; else\n"
	"                    several, of different events and lengths)\n"
	"  --long            deeper, with a progress bar\n"
	"  --replay RUN      one sequence, told event by event\n"
	"  --pending P       room for P tickets in a region of it (default 8)\n"
	"  --schedule NAME   a schedule of passes instead ('all': all of them):\n"
	"                    %s\n"
	"  --stages S        stages of the schedule (default 4)\n"
	"  --microbatches M  microbatches of the schedule (default 8)\n"
	"  --json            one JSON object, the last line of the output\n"
	"\n"
	"%s"
	"\n"
	"The exit status is 1 if anything was not as it must be.\n";

static int read_count(const char *option, const char *text, unsigned most,
		      unsigned *count)
{
	char *end;
	unsigned long value = text ? strtoul(text, &end, 10) : 0;

	if (!text || end == text || *end || *text == '-' || !value ||
	    value > most) {
		fprintf(stderr,
			"philox matrix: %s takes a number from 1 to %u\n",
			option, most);
		return -1;
	}
	*count = (unsigned)value;
	return 0;
}

/* An option with a number: where it goes and what it may be. */
struct count_option {
	const char *name;
	unsigned *count;
	unsigned most;
};

static int read_value(struct matrix_options *options, const char *name,
		      const char *value)
{
	const struct count_option counts[] = {
		{"--forwards", &options->forwards, 8},
		{"--length", &options->length, 16},
		{"--ops", &options->ops, MATRIX_OPS},
		{"--regions", &options->regions, MATRIX_REGIONS},
		{"--pending", &options->pending, MATRIX_TICKETS},
		{"--stages", &options->stages, SCHEDULE_STAGES_MAX},
		{"--microbatches", &options->microbatches,
		 SCHEDULE_MICROBATCHES_MAX},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (!strcmp(name, counts[i].name))
			return read_count(name, value, counts[i].most,
					  counts[i].count);
	if (strcmp(name, "--device") && strcmp(name, "--replay") &&
	    strcmp(name, "--schedule")) {
		fprintf(stderr, "philox matrix: unknown option '%s'\n", name);
		return -1;
	}
	if (!value) {
		fprintf(stderr, "philox matrix: %s takes a value\n", name);
		return -1;
	}
	if (!strcmp(name, "--device"))
		options->device = value;
	else if (!strcmp(name, "--replay"))
		options->replay = value;
	else
		options->schedule = value;
	return 0;
}

static int read_options(int argc, char **argv, struct matrix_options *options)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			options->json = 1;
		} else if (!strcmp(argv[i], "--long")) {
			options->longer = 1;
		} else {
			if (read_value(options, argv[i], argv[i + 1]))
				return -1;
			i++;
		}
	}
	return 0;
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) +
	       1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

/* --- searching ------------------------------------------------------------------ */

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
	json_unsigned(&json, "mismatches", total->mismatches);
	json_number(&json, "seconds", seconds);
	if (total->mismatches) {
		json_string(&json, "first", total->first);
		json_unsigned(&json, "pending", total->pending);
		json_string(&json, "message", total->message);
	}
	json_close(&json);
	return json_end(&json);
}

static void print_total(const struct matrix_total *total, double seconds)
{
	for (unsigned i = 0; i < MATRIX_SEARCHES && total->searches[i][0]; i++)
		printf("%-64s %9" PRIu64 "\n", total->searches[i],
		       total->by_search[i]);
	printf("%" PRIu64 " sequences (%" PRIu64 " of them random), %" PRIu64
	       " events, %" PRIu64 " comparisons, %" PRIu64
	       " mismatches in %.1f s\n",
	       total->sequences, total->random, total->events,
	       total->comparisons, total->mismatches, seconds);
	if (total->mismatches)
		printf("shortest mismatch: %s\n"
		       "  %s\n"
		       "again: philox matrix --pending %u --replay '%s'\n",
		       total->first, total->message, total->pending,
		       total->first);
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
		fprintf(stderr, "philox matrix: %s\n", total.error);
		return 1;
	}
	seconds = seconds_since(&start);
	print_total(&total, seconds);
	if (options->json && print_json(options, &total, seconds))
		return 1;
	return total.mismatches != 0;
}

/* --- replaying ------------------------------------------------------------------- */

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
						 : "not looked at");
	}
	if (result->wrong >= (int)run->n)
		printf("     closing: %s\n", result->message);
}

static int print_replay_json(const struct matrix_options *options,
			     const struct matrix_result *result)
{
	struct matrix_total total = {.sequences = 1,
				     .events = result->n_events,
				     .comparisons = result->comparisons,
				     .mismatches = result->wrong >= 0,
				     .pending = options->pending};

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
		fprintf(stderr, "philox matrix: %s\n", message);
		return 1;
	}
	matrix_bed_run(bed, run, &result);
	print_events(run, &result);
	printf("%" PRIu64 " comparisons, %s\n", result.comparisons,
	       result.wrong < 0 ? "all as it must be" : "a mismatch");
	matrix_bed_destroy(bed);
	if (options->json && print_replay_json(options, &result))
		return 1;
	return result.wrong >= 0;
}

static int replay(const struct matrix_options *options)
{
	static struct matrix_run run;
	char message[256];

	run.limits = (struct matrix_limits){
		.classes = MATRIX_ALL,
		.regions = options->regions ? options->regions : 2,
		.forwards = MATRIX_TICKETS - 1,
		.open = 16,
		.pending = options->pending};
	if (matrix_run_parse(&run, options->replay, message, sizeof(message))) {
		fprintf(stderr, "philox matrix: %s\n", message);
		return 2;
	}
	return replay_run(options, &run);
}

/* --- the command ------------------------------------------------------------------ */

int tool_matrix(int argc, char **argv)
{
	struct matrix_options options = {
		.device = "host:sync", .stages = 4, .microbatches = 8};

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		printf(usage, matrix_schedule_names(), matrix_words);
		return 0;
	}
	if (read_options(argc, argv, &options))
		return 2;
	if (options.replay)
		return replay(&options);
	if (options.schedule)
		return matrix_schedules(&options);
	return search(&options);
}
