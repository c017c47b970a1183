/*
 * graph/create.c - a whole context
 *
 * lib owns the context's lock, generators and regions; this file fills in its
 * hooks, so that the passes of every context see captures.
 */
#include <stdlib.h>
#include "graph/check.h"
#include "graph/launch/launch.h"
#include "graph/pool/pool.h"
#include "graph/runner/runner.h"
#include "graph/runner/call/call.h"
#include "graph/runner/outputs/outputs.h"
#include "lib/data/data.h"
#include "lib/rows/rows.h"
#include "lib/save/save.h"

#define CELLS_CHUNK  (64 * 1024)
#define MAPPED_CHUNK (64 * 1024)

static enum philox_status create_graphs(struct philox_context *context)
{
	struct graph_context *graphs = calloc(1, sizeof(*graphs));

	if (graphs)
		graphs->gone = lifelines_create();
	if (!graphs || !graphs->gone) {
		free(graphs);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a context");
	}
	graphs->context = context;
	arena_init(&graphs->cells, context->device, ARENA_DEVICE, CELLS_CHUNK);
	arena_init(&graphs->mapped, context->device, ARENA_MAPPED,
		   MAPPED_CHUNK);
	pthread_mutex_init(&graphs->pools_lock, NULL);
	context->graphs = graphs;
	return PHILOX_OK;
}

static void destroy_graphs(struct graph_context *graphs)
{
	struct philox_graph *graph;

	runners_finish(graphs);
	while ((graph = graphs->graphs)) {
		graphs->graphs = graph->next;
		if (graph->capture)
			capture_release(graph->capture);
		free(graph->open);
		graph_free(graph);
	}
	own_finish(graphs);
	pools_finish(graphs);
	capture_free_all(graphs);
	cells_free_all(graphs);
	arena_finish(&graphs->cells); /* waits for copies to it */
	arena_finish(&graphs->mapped);
	lifelines_put(graphs->gone);
	free(graphs);
}

static void reap_captures(struct philox_context *context)
{
	capture_reap(context->graphs);
}

static const struct context_hooks hooks = {
	.begin = passes_begin,
	.commit = passes_commit,
	.abort = passes_abort,
	.join = passes_join,
	.at = iterations_at,
	.at_word = iterations_at_word,
	.root = capture_root,
	.take = cells_take,
	.give = cells_give,
	.live = passes_live,
	.reap = reap_captures,
	.broken = own_note_broken,
	.read = passes_read,
	.set = passes_set,
	.here = own_here,
	.quiet = check_quiet,
	.still = check_still,
	.admit = callback_admit,
	.ended = callback_pass_ended,
	.noted = passes_noted,
	.digest = inspect_digest,
	.tied = ties_list,
	.outputs = outputs_list,
	.fits = save_fits,
};

enum philox_status philox_context_create(struct philox_device *device,
					 struct philox_context **context)
{
	struct philox_context *made;
	enum philox_status status;

	if (!device || !context)
		return status_set(PHILOX_ERROR_INVALID, "%s is NULL",
				  device ? "context" : "device");
	if (fork_is_child(device))
		return fork_refuse(device);
	made = calloc(1, sizeof(*made));
	if (!made)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a context");
	device_retain(device);
	status = context_init(made, device, &hooks);
	if (status != PHILOX_OK)
		goto free_context;
	status = journal_begin(made);
	if (status != PHILOX_OK)
		goto finish_parts;
	status = create_graphs(made);
	if (status != PHILOX_OK)
		goto finish_context;
	*context = made;
	return PHILOX_OK;

finish_context:
	journal_finish(made);
finish_parts:
	context_finish(made);
free_context:
	free(made);
	device_release(device);
	return status_set(status, "%s", status_bare());
}

/*
 * Regions end first, while all that their saved contexts' callbacks may use is
 * still there. Tables end before graphs: nothing launches them any more. In a
 * fork nothing is freed: the context may be in the middle of a change.
 */
enum philox_status philox_context_destroy(struct philox_context *context)
{
	struct status_message kept;
	struct philox_device *device;
	const char *before;
	enum philox_status status;

	if (!context)
		return PHILOX_OK;
	NEED_PROCESS(context);
	status = runners_check_idle(context->graphs);
	if (status != PHILOX_OK)
		return context_report(context, status, NULL);
	device = context->device;
	context_end_regions(context);
	before = device_within(__func__);
	rows_finish(context);
	data_finish(context);
	device_within(before);
	journal_finish(context);
	kept = status_kept();
	philox_context_check(context,
			     NULL); /* logs, and the log may call philox */
	status_restore(&kept);
	device_within(__func__);
	destroy_graphs(context->graphs);
	device_within(before);
	context_report(context, PHILOX_OK, NULL); /* what that has found */
	spans_finish(context);
	context_finish(context);
	free(context);
	device_release(device);
	return PHILOX_OK;
}
