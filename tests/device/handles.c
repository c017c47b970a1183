/*
 * tests/device/handles.c - handles of another kind, and of no kind
 *
 * A host device looks each handle up before it follows it. Here each function
 * gets, in place of each handle, one of everything else: objects of other
 * kinds, of another device and of philox's own, addresses inside objects, and
 * one that is gone.
 */
#include "tests/support/support.h"

enum kind {
	STREAM,
	EVENT,
	GRAPH,
	EXEC,
	MEMORY,
	OURS,    /* a struct philox_graph */
	REGION,  /* a struct philox_region */
	INSIDE,  /* an address inside memory */
	FOREIGN, /* a stream of another device */
	NOWHERE, /* an address without memory */
	KINDS
};

static const char *const nouns[] = {"stream", "event", "native graph",
				    "executable graph", "memory"};

struct things {
	struct philox_device *device, *other;
	struct philox_context *context;
	void *of[KINDS];
};

static void make_things(struct things *t, const char *device)
{
	const struct philox_op_desc op = {.name = "op"};
	const struct philox_region_desc options = {.size = sizeof(options),
						   .name = "layer",
						   .ops = &op,
						   .n_ops = 1};

	OK(philox_device_open(device, &t->device));
	OK(philox_device_open(device, &t->other));
	OK(philox_context_create(t->device, &t->context));
	OK(philox_stream_create(t->device, 0, (philox_stream *)&t->of[STREAM]));
	OK(philox_event_create(t->device, (philox_event *)&t->of[EVENT]));
	OK(philox_memory_alloc(t->device, 64, &t->of[MEMORY]));
	OK(philox_stream_begin_capture(t->device, t->of[STREAM],
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_memory_set(t->device, t->of[STREAM], t->of[MEMORY], 0, 64));
	OK(philox_stream_end_capture(t->device, t->of[STREAM],
				     (philox_native_graph *)&t->of[GRAPH]));
	OK(philox_native_graph_instantiate(t->device, t->of[GRAPH],
					   (philox_native_exec *)&t->of[EXEC]));
	OK(philox_capture_begin(t->context, t->of[STREAM]));
	OK(philox_capture_end(t->context, t->of[STREAM],
			      (struct philox_graph **)&t->of[OURS]));
	OK(philox_region_create(t->context, &options,
				(struct philox_region **)&t->of[REGION]));
	t->of[INSIDE] = (char *)t->of[MEMORY] + 16;
	OK(philox_stream_create(t->other, 0, (philox_stream *)&t->of[FOREIGN]));
	t->of[NOWHERE] = (void *)16;
}

static void close_things(struct things *t)
{
	philox_context_destroy(t->context);
	OK(philox_device_close(t->device));
	OK(philox_device_close(t->other));
}

/* --- calls, each with a wrong handle -------------------------------------- */

static size_t nodes;
static philox_native_exec made_exec;

static enum philox_status synchronize(struct things *t, void *handle)
{
	return philox_stream_synchronize(t->device, handle);
}

static enum philox_status set_on(struct things *t, void *handle)
{
	return philox_memory_set(t->device, handle, t->of[MEMORY], 0, 1);
}

static enum philox_status destroy_stream(struct things *t, void *handle)
{
	return philox_stream_destroy(t->device, handle);
}

static enum philox_status record_event(struct things *t, void *handle)
{
	return philox_event_record(t->device, t->of[STREAM], handle);
}

static enum philox_status destroy_event(struct things *t, void *handle)
{
	return philox_event_destroy(t->device, handle);
}

static enum philox_status count_nodes(struct things *t, void *handle)
{
	return philox_native_graph_node_count(t->device, handle, &nodes);
}

static enum philox_status instantiate(struct things *t, void *handle)
{
	return philox_native_graph_instantiate(t->device, handle, &made_exec);
}

static enum philox_status destroy_graph(struct things *t, void *handle)
{
	return philox_native_graph_destroy(t->device, handle);
}

static enum philox_status launch(struct things *t, void *handle)
{
	return philox_native_exec_launch(t->device, t->of[STREAM], handle);
}

static enum philox_status destroy_exec(struct things *t, void *handle)
{
	return philox_native_exec_destroy(t->device, handle);
}

static enum philox_status free_memory(struct things *t, void *handle)
{
	return philox_memory_free(t->device, handle);
}

static const struct {
	const char *name;
	enum kind takes;
	enum philox_status (*call)(struct things *t, void *handle);
} calls[] = {
	{"philox_stream_synchronize", STREAM, synchronize},
	{"philox_memory_set", STREAM, set_on},
	{"philox_stream_destroy", STREAM, destroy_stream},
	{"philox_event_record", EVENT, record_event},
	{"philox_event_destroy", EVENT, destroy_event},
	{"philox_native_graph_node_count", GRAPH, count_nodes},
	{"philox_native_graph_instantiate", GRAPH, instantiate},
	{"philox_native_graph_destroy", GRAPH, destroy_graph},
	{"philox_native_exec_launch", EXEC, launch},
	{"philox_native_exec_destroy", EXEC, destroy_exec},
	{"philox_memory_free", MEMORY, free_memory},
};

#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static void give_wrong_ones(const char *device)
{
	struct things t;

	make_things(&t, device);
	for (size_t i = 0; i < N_CALLS; i++)
		for (enum kind kind = 0; kind < KINDS; kind++) {
			if (kind == calls[i].takes)
				continue;
			FAILS(calls[i].call(&t, t.of[kind]),
			      PHILOX_ERROR_INVALID);
			NAMES(calls[i].name);
			NAMES(nouns[calls[i].takes]);
			if (kind <= MEMORY && calls[i].takes != MEMORY) {
				NAMES(": it is ");
				NAMES(nouns[kind]);
			}
		}
	close_things(&t);
}

Test(handles, of_another_kind_are_refused_by_name)
{
	give_wrong_ones("host");
	give_wrong_ones("host:sync");
	give_wrong_ones("host:strict");
}

Test(handles, of_what_is_gone_are_refused)
{
	struct things t;

	make_things(&t, "host");
	for (size_t i = N_CALLS; i-- > 0;)
		/* the last call of each kind destroys: it runs first */
		if (i + 1 == N_CALLS || calls[i + 1].takes != calls[i].takes) {
			OK(calls[i].call(&t, t.of[calls[i].takes]));
			FAILS(calls[i].call(&t, t.of[calls[i].takes]),
			      PHILOX_ERROR_INVALID);
			NAMES(" is not ");
		}
	close_things(&t);
}
