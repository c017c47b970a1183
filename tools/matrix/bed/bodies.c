/*
 * tools/matrix/bed/bodies.c - graphs with branches and loops: captures as a
 * whole
 */
#include <stdlib.h>
#include <string.h>
#include "tools/matrix/bed/bed.h"

static int make_memory(struct matrix_bed *bed, philox_stream stream,
		       struct bodied *bodied)
{
	uint32_t tags[FORM_TAGS];

	if (bodied->memory)
		return 0;
	for (uint32_t i = 0; i < FORM_TAGS; i++)
		tags[i] = i;
	TRY(bed, philox_memory_alloc(bed->device, sizeof(*bodied->memory),
				     (void **)&bodied->memory));
	TRY(bed, philox_memory_copy(bed->device, stream, bodied->memory->tag,
				    tags, sizeof(tags)));
	TRY(bed, philox_stream_synchronize(bed->device, stream));
	return 0;
}

static struct bodied *need_bodied(struct matrix_bed *bed,
				  const struct matrix_event *event)
{
	struct site *site = &bed->sites[event->region];

	for (unsigned i = 0; i < FORM_DEPTH; i++)
		if (!bed->inner[i] &&
		    bed_failed(bed, "a stream for bodies",
			       philox_stream_create(bed->device, 0,
						    &bed->inner[i])))
			return NULL;
	if (!site->bodies)
		site->bodies = calloc(FORM_COUNT, sizeof(*site->bodies));
	if (!site->bodies) {
		bed_complain(bed, "out of memory");
		return NULL;
	}
	return make_memory(bed, site->stream, &site->bodies[event->form])
		       ? NULL
		       : &site->bodies[event->form];
}

/* What a graph says about its passes. */
static int check_uses(struct matrix_bed *bed, const struct form *form,
		      const struct philox_graph *graph)
{
	if (philox_graph_pass_count(graph) != form->n_passes)
		return bed_complain(bed, "the graph has %zu uses, not %u",
				    philox_graph_pass_count(graph),
				    form->n_passes);
	for (unsigned i = 0; i < form->n_passes; i++) {
		const struct form_pass *pass = &form->pass[i];
		struct philox_graph_pass_info info =
			PHILOX_INIT(struct philox_graph_pass_info);
		unsigned iterations = pass->iterations;

		TRY(bed, philox_graph_get_pass_info(graph, i, &info));
		if (pass->forward == FORM_NAMED && pass->source == FORM_NAMED)
			iterations = form->needs;
		else if (!pass->is_forward)
			continue;
		if (info.iterations != iterations)
			return bed_complain(
				bed, "use %u has %u iterations, not %u", i,
				(unsigned)info.iterations, iterations);
	}
	return 0;
}

static int end_adopted(struct matrix_bed *bed, philox_stream stream,
		       uint64_t id, struct graph *graph)
{
	TRY(bed,
	    philox_stream_end_capture(bed->device, stream, &graph->native));
	TRY(bed, philox_native_graph_instantiate(bed->device, graph->native,
						 &graph->exec));
	TRY(bed, philox_graph_adopt(bed->context, id, graph->native,
				    graph->exec, &graph->graph));
	return 0;
}

/* Half of them are captured by philox, the others here, and adopted. */
static int capture_form(struct matrix_bed *bed,
			const struct matrix_event *event, struct bodied *bodied)
{
	philox_stream stream = bed->sites[event->region].stream;
	struct recorder recorder;
	struct graph *graph = &bodied->graph;
	int adopts = (event->form + event->region) & 1;
	uint64_t id = 0;

	record_init(&recorder, bed, event, bodied->memory);
	if (adopts) {
		TRY(bed,
		    philox_stream_begin_capture(bed->device, stream,
						PHILOX_CAPTURE_THREAD_LOCAL));
		TRY(bed,
		    philox_stream_capture_info(bed->device, stream, NULL, &id));
	} else {
		TRY(bed, philox_capture_begin(bed->context, stream));
	}
	if (record_form(&recorder))
		return -1;
	graph->regions = recorder.regions;
	if (adopts && end_adopted(bed, stream, id, graph))
		return -1;
	if (!adopts)
		TRY(bed,
		    philox_capture_end(bed->context, stream, &graph->graph));
	return check_uses(bed, recorder.form, graph->graph);
}

struct bodied *bodies_need(struct matrix_bed *bed,
			   const struct matrix_event *event)
{
	struct bodied *bodied = need_bodied(bed, event);

	if (!bodied ||
	    (!bodied->graph.graph && capture_form(bed, event, bodied)))
		return NULL;
	return bodied;
}

/* --- a capture in which a call of the device fails ------------------------ */

/*
 * No stream captures any more, whatever happened; unless the call that failed
 * is the one that ends the capture of a body: then that goes on.
 */
static int check_idle(struct matrix_bed *bed, const struct recorder *recorder,
		      philox_stream stream)
{
	enum philox_capture_status status;
	philox_native_graph body;

	TRY(bed,
	    philox_stream_capture_info(bed->device, stream, &status, NULL));
	if (status == PHILOX_CAPTURE_NONE)
		return 0;
	if (!recorder->ended_body)
		return bed_complain(bed, "a stream is still capturing");
	TRY(bed, philox_stream_end_capture(bed->device, stream, &body));
	return 0;
}

/*
 * Without a body that its node must have there is no graph. If something else
 * failed there may be one: a copy of ours, or a pass that did not begin.
 */
static int end_spoiled(struct matrix_bed *bed, const struct recorder *recorder,
		       philox_stream stream)
{
	struct philox_graph *graph = NULL;
	enum philox_status status =
		philox_capture_end(bed->context, stream, &graph);

	if (status == PHILOX_OK)
		TRY(bed, philox_graph_destroy(graph));
	if (status == PHILOX_OK && recorder->status != PHILOX_OK &&
	    !strncmp(recorder->what, "philox_conditional_body", 23))
		return bed_complain(bed,
				    "%s failed, and the capture gave a graph",
				    recorder->what);
	if (status != PHILOX_OK && recorder->status == PHILOX_OK)
		return bed_failed(bed, "the end of the capture", status);
	return 0;
}

int bed_do_spoiled(struct matrix_bed *bed, const struct matrix_event *event)
{
	philox_stream stream = bed->sites[event->region].stream;
	struct bodied *bodied = need_bodied(bed, event);
	struct recorder recorder;

	if (!bodied)
		return -1;
	record_init(&recorder, bed, event, bodied->memory);
	TRY(bed, philox_capture_begin(bed->context, stream));
	philox_device_fail(bed->device, NULL, event->choice,
			   PHILOX_ERROR_DEVICE);
	record_form(&recorder);
	bed_cancel_failure(bed);
	if (recorder.status != PHILOX_OK &&
	    recorder.status != PHILOX_ERROR_DEVICE)
		return -1;
	for (unsigned i = FORM_DEPTH; i--;)
		if (check_idle(bed, &recorder, bed->inner[i]))
			return -1;
	return end_spoiled(bed, &recorder, stream);
}

/* --- dropping ------------------------------------------------------------- */

int bed_drop_bodies(struct matrix_bed *bed, struct site *site, unsigned region)
{
	for (unsigned i = 0; site->bodies && i < FORM_COUNT; i++)
		if ((site->bodies[i].graph.regions >> region & 1) &&
		    bed_drop_graph(bed, &site->bodies[i].graph))
			return -1;
	return 0;
}

int bed_lose_bodies(struct matrix_bed *bed, struct site *site)
{
	for (unsigned i = 0; site->bodies && i < FORM_COUNT; i++) {
		site->bodies[i].graph.graph = NULL;
		if (bed_drop_graph(bed, &site->bodies[i].graph))
			return -1;
	}
	return 0;
}

void bed_free_bodies(struct matrix_bed *bed, struct site *site)
{
	for (unsigned i = 0; site->bodies && i < FORM_COUNT; i++) {
		struct bodied *bodied = &site->bodies[i];

		philox_native_exec_destroy(bed->device, bodied->graph.exec);
		philox_native_graph_destroy(bed->device, bodied->graph.native);
		philox_memory_free(bed->device, bodied->memory);
	}
	free(site->bodies);
	site->bodies = NULL;
}
