/*
 * tools/matrix/schedules.c - running a schedule, stage by stage
 *
 * Each stage is a run of the matrix with a region for each chunk, eager and
 * captured in all four ways, on a table of tickets that is just large enough.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/matrix/model/model.h"
#include "tools/matrix/matrix.h"

_Static_assert((int)SCHEDULE_CHUNKS_MAX *SCHEDULE_MICROBATCHES_MAX <
		       (int)MATRIX_TICKETS,
	       "each forward of a stage has a ticket");
_Static_assert(SCHEDULE_ACTIONS_MAX +
			       3 * SCHEDULE_CHUNKS_MAX *
				       SCHEDULE_MICROBATCHES_MAX +
			       4 <
		       MATRIX_EVENTS,
	       "a stage and its closing are one run");

/* The results of one schedule, all stages and ways together. */
struct outcome {
	unsigned stages, microbatches;
	uint64_t runs, events, comparisons, mismatches;
	uint64_t launches, calls; /* device calls of them */
	unsigned peak;            /* most tickets pending in a region */
	char message[MATRIX_MESSAGE];
};

/* The way of a run: bit 0: forwards captured, bit 1: backwards captured. */
static struct matrix_event event_of(const struct schedule_action *action,
				    unsigned way, const uint8_t *tickets)
{
	int forward = action->what == 'F';
	struct matrix_event event = {
		.kind = forward               ? MATRIX_FORWARD
			: action->what == 'R' ? MATRIX_RECOMPUTE
					      : MATRIX_BACKWARD,
		.how = way >> !forward & 1 ? MATRIX_IN_GRAPH : MATRIX_EAGER,
		.fate = action->what == 'I' ? MATRIX_KEPT : MATRIX_DONE,
		.region = action->chunk,
		.ticket = tickets[action->microbatch],
		.other = MATRIX_NONE,
	};

	return event;
}

static unsigned most_pending(const struct matrix_run *run)
{
	struct matrix_view view;
	unsigned most = 0;

	matrix_look(run, &view);
	for (unsigned i = 0; i < MATRIX_REGIONS; i++)
		if (view.pending[i] > most)
			most = view.pending[i];
	return most;
}

/* Makes a run of an order and returns the most tickets a region holds in it. */
static unsigned make_run(const struct schedule *schedule,
			 const struct schedule_order *order, unsigned way,
			 struct matrix_run *run)
{
	uint8_t tickets[SCHEDULE_CHUNKS_MAX][SCHEDULE_MICROBATCHES_MAX];
	unsigned peak = 0;
	uint8_t next = 0;

	run->n = 0;
	run->limits = (struct matrix_limits){.classes = MATRIX_ALL,
					     .regions = schedule->chunks,
					     .forwards = MATRIX_TICKETS,
					     .pending = MATRIX_TICKETS};
	for (unsigned i = 0; i < order->n; i++) {
		const struct schedule_action *action = &order->actions[i];
		uint8_t *row = tickets[action->chunk];
		unsigned pending;

		if (action->what == 'F')
			row[action->microbatch] = next++;
		matrix_push(run, event_of(action, way, row));
		pending = most_pending(run);
		peak = pending > peak ? pending : peak;
	}
	run->limits.pending = peak;
	return peak;
}

static int run_stage(const struct matrix_options *options,
		     const struct matrix_run *run, struct outcome *outcome)
{
	struct matrix_result result;
	struct matrix_shape shape;
	struct matrix_bed *bed;
	char message[512];

	matrix_shape_init(&shape, options->ops ? options->ops : 2, 1);
	bed = matrix_bed_create(options->device, &run->limits, &shape, message,
				sizeof(message));
	if (!bed) {
		memcpy(outcome->message, message, sizeof(message));
		return -1;
	}
	matrix_bed_run(bed, run, &result);
	outcome->runs++;
	outcome->events += result.n_events;
	outcome->comparisons += result.comparisons;
	outcome->mismatches += result.wrong >= 0;
	if (result.wrong >= 0 && !outcome->message[0])
		snprintf(outcome->message, sizeof(outcome->message),
			 "event %d: %s", result.wrong + 1, result.message);
	matrix_bed_calls(bed, &outcome->launches, &outcome->calls);
	matrix_bed_destroy(bed);
	return 0;
}

static int run_schedule(const struct matrix_options *options,
			const struct schedule *schedule,
			struct outcome *outcome)
{
	static struct matrix_run run;
	struct schedule_order order;
	struct schedule_place place = {.stages = options->stages,
				       .microbatches = options->microbatches};

	memset(outcome, 0, sizeof(*outcome));
	outcome->stages = options->stages;
	outcome->microbatches = options->microbatches;
	for (; place.stage < place.stages; place.stage++) {
		order.n = 0;
		schedule->make(&place, &order);
		for (unsigned way = 0; way < 4; way++) {
			unsigned peak = make_run(schedule, &order, way, &run);

			if (peak > outcome->peak)
				outcome->peak = peak;
			if (run_stage(options, &run, outcome))
				return -1;
		}
	}
	return 0;
}

static double calls_per_launch(const struct outcome *outcome)
{
	if (!outcome->launches)
		return 0;
	return (double)outcome->calls / (double)outcome->launches;
}

/* Its lines have 80 columns; else all that a line says is one sentence. */
static int is_table(void)
{
	return terminal_fits(STDOUT_FILENO, 80);
}

static void print_outcome(const struct schedule *schedule,
			  const struct outcome *outcome)
{
	printf(is_table() ? "%-17s %6u %6u %6u %8" PRIu64 " %11" PRIu64
			    " %10" PRIu64 " %9.2f\n"
			  : "%s: stages %u, micro %u, peak %u, passes %" PRIu64
			    ", comparisons %" PRIu64 ", mismatches %" PRIu64
			    ", calls %.2f\n",
	       schedule->name, outcome->stages, outcome->microbatches,
	       outcome->peak, outcome->events, outcome->comparisons,
	       outcome->mismatches, calls_per_launch(outcome));
	if (outcome->message[0])
		printf("  %s\n", outcome->message);
}

static void print_order(const struct matrix_options *options,
			const struct schedule *schedule)
{
	static char text[8 * SCHEDULE_ACTIONS_MAX];
	struct schedule_place place = {.stages = options->stages,
				       .microbatches = options->microbatches};
	struct schedule_order order;

	printf("%s: %s\n", schedule->name, schedule->text);
	for (; place.stage < place.stages; place.stage++) {
		order.n = 0;
		schedule->make(&place, &order);
		schedule_text(schedule, &order, text, sizeof(text));
		printf("  stage %u: %s\n", place.stage, text);
	}
}

static void print_schedule_json(struct json *json,
				const struct schedule *schedule,
				const struct outcome *outcome)
{
	json_object(json, NULL);
	json_string(json, "name", schedule->name);
	json_unsigned(json, "peak_pending", outcome->peak);
	json_unsigned(json, "events", outcome->events);
	json_unsigned(json, "comparisons", outcome->comparisons);
	json_unsigned(json, "mismatches", outcome->mismatches);
	json_unsigned(json, "replays", outcome->launches);
	json_number(json, "device_calls_per_replay", calls_per_launch(outcome));
	json_close(json);
}

static void add_outcome(struct outcome *total, const struct outcome *outcome)
{
	total->runs += outcome->runs;
	total->events += outcome->events;
	total->comparisons += outcome->comparisons;
	total->mismatches += outcome->mismatches;
}

static int finish_json(struct json *json, const struct matrix_options *options,
		       const struct outcome *total)
{
	json_close(json);
	json_string(json, "device", options->device);
	json_unsigned(json, "stages", options->stages);
	json_unsigned(json, "microbatches", options->microbatches);
	json_unsigned(json, "sequences", total->runs);
	json_unsigned(json, "events", total->events);
	json_unsigned(json, "comparisons", total->comparisons);
	json_unsigned(json, "mismatches", total->mismatches);
	json_close(json);
	return json_end(json);
}

/* Runs the schedules with the requested name; the outcomes go to a table. */
static int run_table(const struct matrix_options *options,
		     struct outcome *outcomes)
{
	int all = !strcmp(options->schedule, "all");

	if (!all)
		print_order(options, schedule_find(options->schedule));
	if (is_table())
		printf("%-17s %6s %6s %6s %8s %11s %10s %9s\n", "schedule",
		       "stages", "micro", "peak", "passes", "comparisons",
		       "mismatches", "calls");
	for (unsigned i = 0; schedules[i].name; i++) {
		if (!all && strcmp(schedules[i].name, options->schedule))
			continue;
		if (run_schedule(options, &schedules[i], &outcomes[i])) {
			complain("matrix", "%s", outcomes[i].message);
			return -1;
		}
		print_outcome(&schedules[i], &outcomes[i]);
	}
	screen_help(stdout,
		    "each stage four times: forwards and backwards eager or "
		    "captured;\npeak: most tickets pending in a region; calls: "
		    "of the device, for a replay\n");
	return 0;
}

int matrix_schedules(const struct matrix_options *options)
{
	static struct outcome outcomes[16];
	struct outcome total = {0};
	struct json json;

	if (run_table(options, outcomes))
		return 1;
	if (options->json) {
		json_begin(&json, stdout);
		json_object(&json, NULL);
		json_array(&json, "schedules");
	}
	for (unsigned i = 0; schedules[i].name; i++) {
		if (!outcomes[i].runs)
			continue;
		add_outcome(&total, &outcomes[i]);
		if (options->json)
			print_schedule_json(&json, &schedules[i], &outcomes[i]);
	}
	if (options->json && finish_json(&json, options, &total))
		return 1;
	return total.mismatches != 0;
}

int matrix_schedule_cost(const struct matrix_options *options,
			 const struct schedule *schedule,
			 struct matrix_cost *cost)
{
	struct outcome outcome;

	if (run_schedule(options, schedule, &outcome) || outcome.mismatches) {
		memcpy(cost->message, outcome.message, sizeof(cost->message));
		return -1;
	}
	cost->calls = calls_per_launch(&outcome);
	cost->pending = outcome.peak;
	return 0;
}
