/*
 * tools/bench.c - philox bench: measurements, none of them a test
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "complain.h"
#include "json.h"
#include "tools.h"

struct part {
	const char *name;
	const char *help;
	const char *legend; /* what the rows are compared with, below them */
	int (*run)(struct bench *bench);
};

static const struct part parts[] = {
	{"ledger", "begin and commit, memory of a ticket, schedules",
	 "  Passes are eager and draw nothing. capture query: asking the stream\n"
	 "  whether it is capturing, which each pass must do once. calls: of the\n"
	 "  device, for one replay of a schedule of 4 stages with 8 microbatches: a\n"
	 "  launch, a parameter update and a capture query are 3. pending: most\n"
	 "  tickets of a region at once.\n",
	 bench_ledger},
	{"replay", "launches with tickets against bare launches",
	 "  launch call: until it returns; replay: until the work is done.\n"
	 "  bare: a graph of the same fills with states by value, launched as it\n"
	 "  is; its numbers repeat. The other's head node derives one Philox block\n"
	 "  for each operator of each pass.\n",
	 bench_replay},
	{"schedules", "the schedules of part ledger alone",
	 "  See part ledger.\n", bench_schedules},
};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double bench_median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return values[count / 2];
}

int bench_try(const char *what, enum philox_status status)
{
	if (status == PHILOX_OK)
		return 0;
	complain("bench", "%s: %s", what, philox_error_message());
	return -1;
}

const char *bench_plural(uint32_t count)
{
	return count == 1 ? "" : "s";
}

static void json_row(const char *name, double value, const char *unit,
		     const char *peer, double peer_value)
{
	struct json json;

	json_begin(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "name", name);
	json_number(&json, "value", value);
	json_string(&json, "unit", unit);
	json_string(&json, "peer", peer);
	if (peer) {
		json_number(&json, "peer_value", peer_value);
		json_number(&json, "ratio", value / peer_value);
	}
	json_close(&json);
	json_end(&json);
}

void bench_row(const struct bench *bench, const char *name, double value,
	       const char *unit, const char *peer, double peer_value)
{
	if (bench->json) {
		json_row(name, value, unit, peer, peer_value);
		return;
	}
	printf("%-46s %12.1f %s", name, value, unit);
	if (peer)
		printf("  %s %.1f, ratio %.2f", peer, peer_value,
		       value / peer_value);
	putchar('\n');
	fflush(stdout);
}

/* --- the command ------------------------------------------------------------ */

static void print_help(void)
{
	printf("usage: philox bench [OPTION]...\n\n"
	       "Measure what passes and replays cost.\n\n"
	       "  --device NAME  " HELP_DEVICE " (default host)\n"
	       "  --only PART    one part:\n");
	for (size_t i = 0; i < N_PARTS; i++)
		printf("                 %-9s  %s\n", parts[i].name,
		       parts[i].help);
	printf("  --json         one JSON object per line\n"
	       "  --help         " HELP_HELP "\n\n"
	       "Exit status: 0 done, 1 it failed, 2 the command line is "
	       "wrong.\n");
}

static int take_part(const char *value, const struct part **part)
{
	const char *names[N_PARTS + 1] = {NULL};
	int place;

	for (size_t i = 0; i < N_PARTS; i++)
		names[i] = parts[i].name;
	if (take_name("bench", "only", value, names, &place))
		return 2;
	*part = &parts[place];
	return 0;
}

static int run_parts(struct bench *bench, const struct part *only)
{
	int failed = 0;

	for (size_t i = 0; i < N_PARTS && !failed; i++) {
		if (only ? only != &parts[i] : parts[i].run == bench_schedules)
			continue; /* by itself, it is in another part */
		if (!bench->json)
			printf("\n");
		failed = parts[i].run(bench);
		if (!failed && !bench->json)
			fputs(parts[i].legend, stdout);
	}
	return failed ? 1 : 0;
}

static int run(const char *device, const struct part *only, int json)
{
	struct bench bench = {.json = json};
	int status = open_device("bench", device, &bench.device);

	if (status)
		return status;
	status = 1;
	if (bench_try("context",
		      philox_context_create(bench.device, &bench.context)))
		goto close_device;
	if (bench_try("stream",
		      philox_stream_create(bench.device, 0, &bench.stream)))
		goto destroy_context;
	if (!json)
		printf("%s: %s\n", device,
		       philox_device_description(bench.device));
	status = run_parts(&bench, only);
	philox_stream_destroy(bench.device, bench.stream);
destroy_context:
	philox_context_destroy(bench.context);
close_device:
	philox_device_close(bench.device);
	return status;
}

int tool_bench(int argc, char **argv)
{
	static const struct option options[] = {
		{"device", required_argument, NULL, 'd'},
		{"only", required_argument, NULL, 'o'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const struct part *only = NULL;
	const char *device = "host";
	int option, json = 0;

	optind = 0;
	while ((option = next_option(argc, argv, options)) != -1) {
		if (option == 'h') {
			print_help();
			return 0;
		}
		if (option == '?' ||
		    (option == 'o' && take_part(optarg, &only)))
			return 2;
		if (option == 'd')
			device = optarg;
		else if (option == 'j')
			json = 1;
	}
	return arguments_end(argc, argv, 0) ? 2 : run(device, only, json);
}
