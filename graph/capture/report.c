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
	return !capture->n_passes && !capture->n_reads && !capture->n_sets &&
	       !capture->n_params && !capture->n_nodes;
}

static void journal_check(const struct capture *capture, const char *what,
			  uint64_t n, uint64_t sequence)
{
	char name[GRAPH_NAME_SIZE];

	capture_name(capture, name, sizeof(name));
	journal_write(capture->graphs->context, EVENT("check", CHECK),
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

static void post_cut(const struct capture *capture, const char *name,
		     uint64_t n, uint64_t number)
{
	const struct captured_body *body = &capture->bodies[number];

	log_post(capture->graphs->context, PHILOX_LOG_ERROR,
		 "loop ended at its limit",
		 &(struct philox_log_entry){
			 .status = PHILOX_ERROR_LIMIT,
			 .graph = name,
			 .region = capture->n_passes
					   ? capture->passes[0].region->name
					   : NULL,
			 .capture_id = capture->id},
		 "'%s': %" PRIu64
		 " loop%s ended at the limit while the condition still held, "
		 "the last at conditional node %" PRIu32 ": its limit is "
		 "%" PRIu64 " run%s in one launch",
		 name, n, status_s(n), body->node, body->limit,
		 status_s(body->limit));
}

/* What a look at the reports of a capture found. */
struct found {
	uint64_t launches, sequence;
	uint64_t beyond, number; /* of the last one, as below */
	uint64_t cut, loop;
};

static int find_new(struct head *head, struct found *found)
{
	*found = (struct found){0};
	found->launches = head_unannounced(head, &found->sequence);
	found->beyond = head_beyond(head, &found->number);
	found->cut = head_cut(head, &found->loop);
	return found->launches || found->beyond || found->cut;
}

static void tell(const struct capture *capture, const char *name,
		 const char *regions, const struct found *found)
{
	if (found->launches) {
		journal_check(capture, "launches", found->launches,
			      found->sequence);
		post_unannounced(capture, name, regions, found->launches,
				 found->sequence);
	}
	if (found->beyond) {
		journal_check(capture, "beyond", found->beyond, found->number);
		post_beyond(capture, name, found->beyond, found->number);
	}
	if (found->cut) {
		journal_check(capture, "cut", found->cut, found->loop);
		post_cut(capture, name, found->cut, found->loop);
	}
}

void report_capture(struct capture *capture,
		    struct philox_context_report *report)
{
	char name[sizeof(report->graph)], regions[sizeof(report->regions)];
	struct found found;

	if (is_empty(capture) || !find_new(&capture->head, &found))
		return;
	capture_name(capture, name, sizeof(name));
	report_regions(capture, regions, sizeof(regions));
	tell(capture, name, regions, &found);
	report->launches += found.launches;
	report->beyond += found.beyond;
	report->cut += found.cut;
	report->graphs += found.launches != 0;
	if (found.launches ? report->graphs > 1 : report->graph[0])
		return; /* the first unannounced one, or else the first */
	report->sequence = found.sequence;
	memcpy(report->graph, name, sizeof(name));
	memcpy(report->regions, regions, sizeof(regions));
}

/* --- what was not reported yet -------------------------------------------- */

/* Reads the counts without marking them: philox_context_check() is to report them. */
enum philox_status report_none(const struct capture *capture)
{
	char name[GRAPH_NAME_SIZE], regions[192];
	int launched = head_untold(&capture->head) != 0;
	int beyond = head_beyond_untold(&capture->head) != 0;

	if ((!launched && !beyond && !head_cut_untold(&capture->head)) ||
	    is_empty(capture))
		return PHILOX_OK;
	capture_name(capture, name, sizeof(name));
	report_regions(capture, regions, sizeof(regions));
	return status_set(launched ? PHILOX_ERROR_UNANNOUNCED
				   : PHILOX_ERROR_LIMIT,
			  "'%s' (regions: %s) %s: see philox_context_check()",
			  name, regions,
			  launched ? "was launched without philox"
			  : beyond ? "drew an iteration that there is not"
				   : "ended a loop at its limit while the "
				     "condition still held");
}
