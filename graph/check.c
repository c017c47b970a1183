/*
 * graph/check.c - what only the device can see, and whether a context is quiet
 */
#include <inttypes.h>
#include <stddef.h>
#include "graph/check.h"
#include "graph/launch/launch.h"
#include "graph/pool/pool.h"

/* The size of the struct's first version. */
#define REPORT_SIZE_FIRST OPTIONS_FIRST(struct philox_context_report, cut)
OPTIONS_NO_PADDING(struct philox_context_report, cut);

static enum philox_status check_report(
	const struct philox_context_report *report)
{
	if (!report)
		return PHILOX_OK;
	return options_check_room("report", report->size, REPORT_SIZE_FIRST,
				  sizeof(*report));
}

static enum philox_status say_unannounced(
	const struct philox_context_report *found)
{
	return status_set(PHILOX_ERROR_UNANNOUNCED,
			  "%" PRIu64 " launch%s of %" PRIu64
			  " graph%s %s made without philox, first of '%s' "
			  "(regions: %s)",
			  found->launches, status_es(found->launches),
			  found->graphs, status_s(found->graphs),
			  found->launches == 1 ? "was" : "were", found->graph,
			  found->regions);
}

static enum philox_status say_limit(const struct philox_context_report *found)
{
	if (found->beyond)
		return status_set(PHILOX_ERROR_LIMIT,
				  "%" PRIu64
				  " run%s drew an iteration that there is not, "
				  "first in '%s' (regions: %s)",
				  found->beyond, status_s(found->beyond),
				  found->graph, found->regions);
	if (!found->cut)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_LIMIT,
			  "%" PRIu64
			  " loop%s ended at the limit while the condition "
			  "still held, first in '%s' (regions: %s)",
			  found->cut, status_s(found->cut), found->graph,
			  found->regions);
}

enum philox_status philox_context_check(struct philox_context *context,
					struct philox_context_report *report)
{
	struct philox_context_report found = {0};
	struct capture *capture;
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	NEED_PROCESS(context);
	status = check_report(report);
	if (status != PHILOX_OK)
		return context_report(context, status, NULL);
	context_lock(context);
	for (capture = context->graphs->sealed; capture;
	     capture = capture->next)
		report_capture(capture, &found);
	for (capture = context->graphs->captures; capture;
	     capture = capture->next)
		report_capture(capture, &found);
	context_unlock(context);
	context_report(context, PHILOX_OK, NULL);
	if (report)
		options_write(report, &found, sizeof(found));
	return found.launches ? say_unannounced(&found) : say_limit(&found);
}

/* --- whether a context may be saved --------------------------------------- */

/*
 * The graph's lock comes before the context's, which is held, so it is only
 * tried. Its holder is launching, or about to: that is `held`.
 */
static enum philox_status check_launch(struct philox_graph *graph, int held)
{
	int open = held;

	if (!pthread_mutex_trylock(&graph->lock)) {
		open = graph->open != NULL;
		pthread_mutex_unlock(&graph->lock);
	}
	if (open)
		return status_set(PHILOX_ERROR_BUSY,
				  "'%s' is between prologue and epilogue",
				  graph->name);
	return PHILOX_OK;
}

static enum philox_status check_captures(const struct capture *capture,
					 enum philox_status status)
{
	for (; status == PHILOX_OK && capture; capture = capture->next)
		status = capture_quiet(capture);
	return status;
}

static enum philox_status check_own(const struct graph_context *graphs,
				    enum philox_status status)
{
	if (status != PHILOX_OK || !graphs->own_begun)
		return status;
	return status_set(PHILOX_ERROR_BUSY,
			  "a capture that philox began is under way");
}

enum philox_status check_quiet(struct philox_context *context)
{
	const struct graph_context *graphs = context->graphs;
	enum philox_status status = PHILOX_OK;

	for (struct philox_graph *graph = graphs->graphs;
	     status == PHILOX_OK && graph; graph = graph->next)
		status = check_launch(graph, 1);
	status = check_captures(graphs->sealed, status);
	status = check_captures(graphs->captures, status);
	status = check_own(graphs, status);
	return status == PHILOX_OK ? pools_quiet(context->graphs) : status;
}

/* A launch that another thread is in comes before this call, or after it. */
enum philox_status check_still(struct philox_context *context)
{
	const struct graph_context *graphs = context->graphs;
	enum philox_status status = PHILOX_OK;

	for (struct philox_graph *graph = graphs->graphs;
	     status == PHILOX_OK && graph; graph = graph->next)
		status = check_launch(graph, 0);
	for (const struct capture *capture = graphs->captures;
	     status == PHILOX_OK && capture; capture = capture->next)
		status = capture_is_over(capture);
	return check_own(graphs, status);
}
