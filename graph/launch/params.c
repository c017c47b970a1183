/*
 * graph/launch/params.c - values: captured, set, written
 *
 * See philox/graph.h, and struct captured_param in
 * graph/capture/capture.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/graph.h>
#include "graph/launch/launch.h"
#include "lib/containers/array.h"

/* The size of the struct's first version. */
#define INFO_SIZE_FIRST OPTIONS_FIRST(struct philox_graph_param_info, reserved)
OPTIONS_NO_PADDING(struct philox_graph_param_info, reserved);

_Static_assert(sizeof(struct philox_state) == PHILOX_PARAM_BYTES,
	       "a slot holds a value");

static struct philox_state pack(const void *bytes, size_t size)
{
	struct philox_state packed = {0};

	memcpy(&packed, bytes, size);
	return packed;
}

static enum philox_status check_size(const char *name, size_t size)
{
	if (size && size <= PHILOX_PARAM_BYTES)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "parameter '%s': bytes is %zu, not in 1 .. %d", name,
			  size, PHILOX_PARAM_BYTES);
}

/* --- recording, with the context's lock ------------------------------------ */

static enum philox_status check_unused(const struct capture *capture,
				       const char *name)
{
	for (uint32_t i = 0; i < capture->n_params; i++)
		if (strcmp(capture->params[i].name, name) == 0)
			return status_set(PHILOX_ERROR_EXISTS,
					  "capture %" PRIu64
					  " has a parameter '%s' already",
					  capture->id, name);
	return PHILOX_OK;
}

static enum philox_status reserve_param(struct capture *capture)
{
	if (array_grow(&capture->params, capture->n_params, 1,
		       sizeof(*capture->params)))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for captured parameters");
}

static enum philox_status take_cell(struct capture *capture,
				    const struct capture_info *info,
				    philox_stream stream,
				    struct captured_param *param)
{
	enum philox_status status =
		slots_take(capture, 1, &param->cell, &param->slot);

	if (status == PHILOX_OK)
		status = capture_depend(capture, info->id, stream, &info->tips);
	if (status != PHILOX_OK)
		arena_free(&capture->graphs->cells, &param->cell);
	return status;
}

static void add_param(struct capture *capture,
		      const struct captured_param *param)
{
	head_add_state(&capture->head, param->cell.device, param->slot);
	capture->message_slots++;
	program_note(capture, PROGRAM_VALUE, capture->n_params, 0);
	capture->params[capture->n_params++] = *param;
	snprintf(capture->last, sizeof(capture->last),
		 "philox_capture_param() of '%.60s'", param->name);
	journal_write(capture->graphs->context,
		      EVENT("capture-value", CAPTURE_VALUE), capture->serial,
		      capture->n_params - 1, journal_name(param->name).text,
		      param->size);
}

static enum philox_status record_param(struct graph_context *graphs,
				       philox_stream stream,
				       const struct capture_info *info,
				       struct captured_param *param)
{
	struct capture *capture;
	enum philox_status status;

	capture_reap(graphs);
	status = capture_get(graphs, info, &capture);
	if (status == PHILOX_OK)
		status = check_unused(capture, param->name);
	if (status == PHILOX_OK)
		status = reserve_param(capture);
	if (status == PHILOX_OK)
		status = take_cell(capture, info, stream, param);
	if (status == PHILOX_OK)
		add_param(capture, param);
	return status;
}

static enum philox_status ask(struct philox_context *context,
			      philox_stream stream, const char *name,
			      struct capture_info *info)
{
	enum philox_status status =
		device_ask_capture(context->device, stream, info);

	if (status != PHILOX_OK)
		return status_prefix(status, "parameter '%s': ", name);
	if (info->id)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "parameter '%s': the stream is not capturing: see "
			  "philox_param_write()",
			  name);
}

static enum philox_status make_param(struct philox_context *context,
				     philox_stream stream, const char *name,
				     const void *initial, size_t size,
				     void **address)
{
	struct captured_param param = {.size = (uint32_t)size};
	struct capture_info info;
	enum philox_status status = check_size(name, size);

	if (status == PHILOX_OK)
		status = ask(context, stream, name, &info);
	if (status != PHILOX_OK)
		return status;
	param.initial = pack(initial, size);
	param.name = strdup(name);
	if (!param.name)
		return status_set(PHILOX_ERROR_MEMORY,
				  "parameter '%s': no memory for it", name);
	context_lock(context);
	status = record_param(context->graphs, stream, &info, &param);
	context_unlock(context);
	if (status == PHILOX_OK)
		*address = param.cell.device;
	else
		free(param.name);
	return status;
}

enum philox_status philox_capture_param(struct philox_context *context,
					philox_stream stream, const char *name,
					const void *initial, size_t size,
					void **address)
{
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	if (!name || !initial || !address)
		return context_null(context, !name      ? "name"
					     : !initial ? "initial"
							: "address");
	NEED_PROCESS(context);
	if (!*name)
		status = status_set(PHILOX_ERROR_INVALID, "name is empty");
	else
		status = name_check(name, "name");
	if (status == PHILOX_OK)
		status = make_param(context, stream, name, initial, size,
				    address);
	context_broken(context, stream, status, __func__, "(none)");
	return context_report(context, status, NULL);
}

/* --- graphs ---------------------------------------------------------------- */

size_t philox_graph_param_count(const struct philox_graph *graph)
{
	return graph && graph->capture ? graph->capture->n_params : 0;
}

static enum philox_status refuse_index(const struct philox_graph *graph,
				       size_t index)
{
	const size_t n = philox_graph_param_count(graph);

	return status_set(PHILOX_ERROR_INVALID,
			  "'%s' has %zu parameter%s: there is no parameter %zu",
			  graph->name, n, status_s(n), index);
}

enum philox_status philox_graph_param_index(const struct philox_graph *graph,
					    const char *name, size_t *index)
{
	size_t i = 0;

	if (!graph)
		return context_null(NULL, "graph");
	if (!name || !index)
		return context_null(graph->context, name ? "index" : "name");
	NEED_PROCESS(graph->context);
	while (i < philox_graph_param_count(graph) &&
	       strcmp(graph->capture->params[i].name, name) != 0)
		i++;
	if (i < philox_graph_param_count(graph)) {
		*index = i;
		return PHILOX_OK;
	}
	return graph_report(graph,
			    status_set(PHILOX_ERROR_NOT_FOUND,
				       "'%s' has no parameter '%s'",
				       graph->name, name),
			    NULL);
}

enum philox_status philox_graph_get_param_info(
	const struct philox_graph *graph, size_t index,
	struct philox_graph_param_info *info)
{
	struct philox_graph_param_info found = {0};
	enum philox_status status;

	if (!graph)
		return context_null(NULL, "graph");
	if (!info)
		return context_null(graph->context, "info");
	NEED_PROCESS(graph->context);
	status = options_check_room("info", info->size, INFO_SIZE_FIRST,
				    sizeof(found));
	if (status == PHILOX_OK && index >= philox_graph_param_count(graph))
		status = refuse_index(graph, index);
	if (status != PHILOX_OK)
		return graph_report(graph, status, NULL);
	found.name = graph->capture->params[index].name;
	found.bytes = graph->capture->params[index].size;
	options_write(info, &found, sizeof(found));
	return PHILOX_OK;
}

static void journal_set(const struct philox_graph *graph, size_t index,
			const void *bytes, size_t size)
{
	char hex[2 * PHILOX_PARAM_BYTES + 1];

	for (size_t i = 0; i < size; i++)
		sprintf(hex + 2 * i, "%02x", ((const uint8_t *)bytes)[i]);
	context_lock(graph->context);
	journal_write(graph->context, EVENT("value-set", VALUE_SET),
		      journal_name(graph->name).text, index, hex);
	context_unlock(graph->context);
}

/* With the graph's lock. */
static enum philox_status set_param(struct philox_graph *graph, size_t index,
				    const void *bytes, size_t size)
{
	const struct captured_param *param;

	if (index >= philox_graph_param_count(graph))
		return refuse_index(graph, index);
	param = &graph->capture->params[index];
	if (size != param->size)
		return status_set(PHILOX_ERROR_INVALID,
				  "'%s': parameter '%s' has %u byte%s, not %zu",
				  graph->name, param->name, param->size,
				  status_s(param->size), size);
	if (graph->open)
		return status_set(PHILOX_ERROR_BUSY,
				  "'%s' is between prologue and epilogue",
				  graph->name);
	graph->message.args->states[param->slot] = pack(bytes, size);
	if (atomic_load_explicit(&graph->context->recorded,
				 memory_order_relaxed))
		journal_set(graph, index, bytes, size);
	return PHILOX_OK;
}

enum philox_status philox_graph_set_param(struct philox_graph *graph,
					  size_t index, const void *data,
					  size_t bytes)
{
	enum philox_status status;

	if (!graph)
		return context_null(NULL, "graph");
	if (!data)
		return context_null(graph->context, "data");
	NEED_PROCESS(graph->context);
	pthread_mutex_lock(&graph->lock);
	status = set_param(graph, index, data, bytes);
	pthread_mutex_unlock(&graph->lock);
	return status == PHILOX_OK ? PHILOX_OK
				   : graph_report(graph, status, NULL);
}

/* --- eager code ------------------------------------------------------------ */

static enum philox_status write_param(struct philox_context *context,
				      philox_stream stream, void *cell,
				      const void *bytes, size_t size)
{
	struct capture_info info;
	enum philox_status status;

	if (!size || size > PHILOX_PARAM_BYTES)
		return status_set(PHILOX_ERROR_INVALID,
				  "size is %zu, not in 1 .. %d", size,
				  PHILOX_PARAM_BYTES);
	if ((uintptr_t)cell % PHILOX_PARAM_BYTES)
		return status_set(PHILOX_ERROR_INVALID,
				  "cell (%p) is not aligned to %d bytes", cell,
				  PHILOX_PARAM_BYTES);
	status = device_ask_capture(context->device, stream, &info);
	return status == PHILOX_OK
		       ? state_store(context->device, stream, "cell", cell,
				     pack(bytes, size))
		       : status;
}

enum philox_status philox_param_write(struct philox_context *context,
				      philox_stream stream, void *cell,
				      const void *data, size_t bytes)
{
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	if (!cell || !data)
		return context_null(context, cell ? "data" : "cell");
	NEED_PROCESS(context);
	status = write_param(context, stream, cell, data, bytes);
	if (status != PHILOX_OK)
		status_prefix(status, "parameter: ");
	return context_report(context, status, NULL);
}
