/*
 * tools/bench/print.c - the output of the parts of `philox bench`
 *
 * A row of the table is an object of the JSON lines. Every object has the same
 * members, so that a reader need not know the parts: a missing value is null,
 * and `note` says why.
 */
#include "tools/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/cli/cli.h"

static double ratio(const struct bench_row *row)
{
	return row->peer ? row->value / row->peer_value : NAN;
}

static void write_members(struct json *json, const struct bench_row *row)
{
	json_string(json, "name", row->name);
	json_number(json, "value", row->value);
	json_string(json, "unit", row->unit);
	json_string(json, "peer", row->peer);
	json_number(json, "peer_value", row->peer ? row->peer_value : NAN);
	json_number(json, "ratio", ratio(row));
	if (row->note)
		json_string(json, "note", row->note);
}

static void print_json(const struct bench_row *row)
{
	struct json json;

	json_begin(&json, stdout);
	json_object(&json, NULL);
	write_members(&json, row);
	json_close(&json);
	json_end(&json);
}

/* The peer's figure, or why there is none. */
static void peer_text(const struct bench_row *row, int decimals, char *text,
		      size_t size)
{
	text[0] = '\0';
	if (row->peer && isnan(row->peer_value))
		snprintf(text, size, "%s missing: %s", row->peer, row->note);
	else if (row->peer)
		snprintf(text, size, "%s %.*f, ratio %.2f", row->peer, decimals,
			 row->peer_value, ratio(row));
	else if (row->note)
		snprintf(text, size, "%s", row->note);
}

/*
 * In a line, or on a terminal that is too narrow one below the other: the name,
 * its value, the peer's. All rows of such a terminal look alike.
 */
static void print_columns(const char *name, const char *value, const char *peer)
{
	if (terminal_fits(STDOUT_FILENO, 110)) {
		printf("%-46s %s", name, value);
		printf(*peer ? "  %s\n" : "\n", peer);
	} else if (terminal_fits(STDOUT_FILENO, 70)) {
		printf("%-46s %s\n", name, value);
		if (*peer)
			printf("    %s\n", peer);
	} else {
		printf("%s\n%s\n", name, value);
		if (*peer)
			printf("    %s\n", peer);
	}
}

static void print_text(const struct bench_row *row)
{
	/* speeds range from tenths of a GB/s to hundreds */
	int decimals = strcmp(row->unit, "GB/s") ? 1 : 2;
	char value[64], peer[256];

	if (isnan(row->value))
		snprintf(value, sizeof(value), "%12s %s", "-", row->unit);
	else
		snprintf(value, sizeof(value), "%12.*f %s", decimals,
			 row->value, row->unit);
	peer_text(row, decimals, peer, sizeof(peer));
	print_columns(row->name, value, peer);
	fflush(stdout);
}

void bench_print(struct bench *bench, const struct bench_row *row)
{
	bench->rows++;
	progress_wipe(); /* a pipe may lead to the same terminal */
	if (bench->json)
		print_json(row);
	else
		print_text(row);
}

void bench_print_wanted(struct bench *bench, const struct bench_row *row)
{
	if (bench_wants(bench, row->name))
		bench_print(bench, row);
}

void bench_row(struct bench *bench, const char *name, double value,
	       const char *unit, const char *peer, double peer_value)
{
	struct bench_row row = {name, value, unit, peer, peer_value, NULL};

	bench_print(bench, &row);
}

int bench_wants(const struct bench *bench, const char *name)
{
	return !bench->prefix ||
	       !strncmp(name, bench->prefix, strlen(bench->prefix));
}

void bench_step(struct bench *bench)
{
	double part = bench->all ? (double)bench->done / (double)bench->all : 0;

	progress_show(&(struct progress){
		.name = bench->part, .part = part, .whole = part});
	bench->done++;
}

/* --- the machine ---------------------------------------------------------- */

/* The processor's name according to Linux. */
static void find_processor(char *name, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256], *colon;

	snprintf(name, size, "unknown");
	while (file && fgets(line, sizeof(line), file)) {
		colon = strchr(line, ':');
		if (!colon || strncmp(line, "model name", 10))
			continue;
		snprintf(name, size, "%.*s", (int)strcspn(colon + 2, "\n"),
			 colon + 2);
		break;
	}
	if (file)
		fclose(file);
}

static void machine_json(struct bench *bench, const char *device,
			 const char *processor, const char *simd)
{
	struct bench_row row = {.name = "machine", .value = NAN};
	struct json json;

	json_begin(&json, stdout);
	json_object(&json, NULL);
	write_members(&json, &row);
	json_string(&json, "device", device);
	json_string(&json, "description",
		    philox_device_description(bench->device));
	json_string(&json, "processor", processor);
	json_string(&json, "version", philox_version());
	json_string(&json, "build", philox_build());
	json_string(&json, "PHILOX_SIMD", simd);
	json_unsigned(&json, "threads", bench->threads);
	json_close(&json);
	json_end(&json);
}

void bench_machine(struct bench *bench, const char *device)
{
	const char *simd = getenv("PHILOX_SIMD");
	char processor[128];

	find_processor(processor, sizeof(processor));
	if (bench->json) {
		machine_json(bench, device, processor, simd);
		return;
	}
	printf("%s: %s\n", device, philox_device_description(bench->device));
	printf("processor %s; philox %s, %s; PHILOX_SIMD %s; %u thread%s\n",
	       processor, philox_version(), philox_build(),
	       simd ? simd : "not set", bench->threads, plural(bench->threads));
}
