/*
 * graph/capture/report.c - what only the device can see of a capture
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/capture/capture.h"

void report_regions(const struct capture *capture, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < capture->n_passes && length < size; i++) {
		const struct philox_region *region = capture->passes[i].region;
		uint32_t first = 0;

		while (capture->passes[first].region != region)
			first++;
		if (first == i)
			length += (size_t)snprintf(text + length, size - length,
						   "%s%s", length ? ", " : "",
						   region->name);
	}
}

static void capture_name(const struct capture *capture, char *name, size_t size)
{
	if (capture->graph)
		snprintf(name, size, "%s", capture->graph);
	else
		snprintf(name, size, "capture %" PRIu64, capture->id);
}

static void post_unannounced(const struct capture *capture, const char *name,
			     const char *regions, uint64_t launches,
			     uint64_t sequence)
{
	log_post(capture->graphs->context, PHILOX_LOG_ERROR,
		 "unannounced launch",
		 &(struct philox_log_entry){
			 .status = PHILOX_ERROR_UNANNOUNCED,
			 .graph = name,
			 .region = capture->n_passes
					   ? capture->passes[0].region->name
					   : NULL,
			 .capture_id = capture->id},
		 "'%s' (regions: %s) was launched %" PRIu64
		 " time%s without philox after launch %" PRIu64
		 ": its numbers were poisoned",
		 name, regions, launches, status_s(launches), sequence);
}

/* If the first pass failed, its head remains: the graph keeps it. */
static int is_empty(const struct capture *capture)
{
	return !capture->n_passes && !capture->n_reads && !capture->n_params &&
	       !capture->n_nodes;
}

static void journal_check(const struct capture *capture, const char *what,
			  uint64_t n, uint64_t sequence)
{
	char name[GRAPH_NAME_SIZE];

	capture_name(capture, name, sizeof(name));
	journal_write(capture->graphs->context,
		      "check graph %s %s %" PRIu64 " sequence %" PRIu64,
		      journal_name(name).text, what, n, sequence);
}

/* What the report of a body is of. */
static void beyond_name(const struct capture *capture, uint64_t number,
			char *text, size_t size)
{
	const struct captured_body *body;

	if (number & BODY_NUMBER_PASS) {
		snprintf(text, size,
			 "a view of pass %" PRIu32 ", region '%.60s', by "
			 "philox_pass_at_word()",
			 (uint32_t)number,
			 capture->passes[(uint32_t)number].region->name);
		return;
	}
	body = &capture->bodies[number];
	snprintf(text, size,
		 "body %" PRIu64 " of conditional node %" PRIu32
		 ", of limit %" PRIu64,
		 number - capture->nodes[body->node].body, body->node,
		 body->limit);
}

static void post_beyond(const struct capture *capture, const char *name,
			uint64_t n, uint64_t number)
{
	char what[192];

	beyond_name(capture, number, what, sizeof(what));
	log_post(capture->graphs->context, PHILOX_LOG_ERROR,
		 "no such iteration",
		 &(struct philox_log_entry){
			 .status = PHILOX_ERROR_LIMIT,
			 .graph = name,
			 .region = capture->n_passes
					   ? capture->passes[0].region->name
					   : NULL,
			 .capture_id = capture->id},
		 "'%s': %" PRIu64
		 " run%s drew an iteration that there is not, the last in %s: "
		 "its numbers were poisoned",
		 name, n, status_s(n), what);
}

void report_capture(struct capture *capture,
		    struct philox_context_report *report)
{
	char name[sizeof(report->graph)], regions[sizeof(report->regions)];
	uint64_t sequence = 0, number = 0;
	uint64_t launches, beyond;

	if (is_empty(capture))
		return;
	launches = head_unannounced(&capture->head, &sequence);
	beyond = head_beyond(&capture->head, &number);
	if (!launches && !beyond)
		return;
	capture_name(capture, name, sizeof(name));
	report_regions(capture, regions, sizeof(regions));
	if (launches) {
		journal_check(capture, "launches", launches, sequence);
		post_unannounced(capture, name, regions, launches, sequence);
	}
	if (beyond) {
		journal_check(capture, "beyond", beyond, number);
		post_beyond(capture, name, beyond, number);
	}
	report->launches += launches;
	report->beyond += beyond;
	report->graphs += launches != 0;
	if (launches ? report->graphs > 1 : report->graph[0])
		return; /* the first unannounced one, or else the first */
	report->sequence = sequence;
	memcpy(report->graph, name, sizeof(name));
	memcpy(report->regions, regions, sizeof(regions));
}

/* --- what was not reported yet -------------------------------------------- */

/* Reads the counts without marking them: philox_context_check() is to report them. */
enum philox_status report_none(const struct capture *capture)
{
	char name[GRAPH_NAME_SIZE], regions[192];
	int launched = head_untold(&capture->head) != 0;

	if ((!launched && !head_beyond_untold(&capture->head)) ||
	    is_empty(capture))
		return PHILOX_OK;
	capture_name(capture, name, sizeof(name));
	report_regions(capture, regions, sizeof(regions));
	return status_set(launched ? PHILOX_ERROR_UNANNOUNCED
				   : PHILOX_ERROR_LIMIT,
			  "'%s' (regions: %s) %s: see philox_context_check()",
			  name, regions,
			  launched ? "was launched without philox"
				   : "drew an iteration that there is not");
}
