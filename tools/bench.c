/*
 * tools/bench.c - philox bench: measurements, none of them a test
 */
#include "bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "json.h"
#include "tools.h"

struct part {
	const char *name;
	const char *help;
	int (*run)(struct bench *bench);
};

static const struct part parts[] = {
	{"ledger", "begin and commit, memory of a pending forward",
	 bench_ledger},
	{"replay", "launches with tickets against bare launches", bench_replay},
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
	fprintf(stderr, "philox bench: %s: %s\n", what, philox_error_message());
	return -1;
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
	printf("%-46s %12.1f %-6s", name, value, unit);
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
	       "  --device NAME  where to run (default: host)\n"
	       "  --only NAME    one part:\n");
	for (size_t i = 0; i < N_PARTS; i++)
		printf("                   %-7s %s\n", parts[i].name,
		       parts[i].help);
	printf("  --json         one JSON object per line\n"
	       "  --help         this\n");
}

static int known_part(const char *name)
{
	for (size_t i = 0; i < N_PARTS; i++)
		if (!strcmp(parts[i].name, name))
			return 1;
	fprintf(stderr, "philox bench: --only %s: there is no such part\n",
		name);
	return 0;
}

static int run_parts(struct bench *bench, const char *only)
{
	int failed = 0;

	for (size_t i = 0; i < N_PARTS && !failed; i++)
		if (!only || !strcmp(only, parts[i].name))
			failed = parts[i].run(bench);
	return failed ? 1 : 0;
}

static int run(const char *device, const char *only, int json)
{
	struct bench bench = {.json = json};
	int status = 1;

	if (philox_device_open(device, &bench.device) != PHILOX_OK) {
		fprintf(stderr, "philox bench: --device %s: %s\n", device,
			philox_error_message());
		return 2;
	}
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
	const char *device = "host", *only = NULL;
	int option, json = 0;

	optind = 1;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h') {
			print_help();
			return 0;
		}
		if (option == 'd')
			device = optarg;
		else if (option == 'o')
			only = optarg;
		else if (option == 'j')
			json = 1;
		else
			return 2;
	}
	if (optind < argc) {
		fprintf(stderr, "philox bench: unexpected argument '%s'\n",
			argv[optind]);
		return 2;
	}
	if (only && !known_part(only))
		return 2;
	return run(device, only, json);
}
