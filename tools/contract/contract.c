/*
 * tools/contract/contract.c - runs tables of checks and cleans up after each
 *
 * The objects of a check are kept in a list, newest first, and destroyed in
 * that order: executable graphs before their graphs, all before the streams and
 * the memory they use.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/contract/contract.h"
#include "tools/contract/graph/graph.h"
#include "tools/contract/numbers/numbers.h"

struct contract_thing {
	enum {
		THING_STREAM,
		THING_EVENT,
		THING_MEMORY,
		THING_MAPPED,
		THING_SPACE,
		THING_EXTENT,
		THING_GRAPH,
		THING_EXEC
	} kind;
	void *handle;        /* of an extent: its address */
	size_t offset, size; /* of an extent */
	struct contract_thing *next;
};

const struct contract_check *const contract_tables[] = {
	contract_device,        contract_arrays,
	contract_space,         contract_capture,
	contract_replay,        contract_conditional,
	contract_numbers,       contract_layouts,
	contract_rows,          contract_tokens,
	contract_filters,       contract_penalties,
	contract_graph,         contract_detect,
	contract_bodies,        contract_runner,
	contract_runner_inputs, contract_mesh,
	contract_accept,        contract_split,
	contract_quantize,      contract_pieces,
	contract_templates,     contract_subset,
	contract_words,         NULL};

/*
 * --- results of checks ------------------------------------------------------
 */

void contract_fail(struct contract *c, const char *file, int line,
		   const char *format, ...)
{
	const char *name = strrchr(file, '/');
	va_list arguments;
	int length;

	length = snprintf(c->failure, sizeof(c->failure),
			  "%s:%d: ", name ? name + 1 : file, line);
	va_start(arguments, format);
	vsnprintf(c->failure + length, sizeof(c->failure) - (size_t)length,
		  format, arguments);
	va_end(arguments);
}

void contract_skip(struct contract *c, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(c->skipped, sizeof(c->skipped), format, arguments);
	va_end(arguments);
}

int contract_status_is(struct contract *c, const char *file, int line,
		       const char *call, enum philox_status expected,
		       enum philox_status status)
{
	if (status == expected)
		return 1;
	contract_fail(c, file, line, "%s gave %s, not %s%s%s", call,
		      philox_status_name(status), philox_status_name(expected),
		      status ? ": " : "", status ? philox_error_message() : "");
	return 0;
}

/*
 * --- objects for checks ------------------------------------------------------
 */

static enum philox_status keep(struct contract *c, int kind, void *handle)
{
	struct contract_thing *thing = malloc(sizeof(*thing));

	if (!thing)
		abort(); /* no sensible check is possible any more */
	thing->kind = kind;
	thing->handle = handle;
	thing->offset = thing->size = 0;
	thing->next = c->things;
	c->things = thing;
	return PHILOX_OK;
}

enum philox_status contract_stream(struct contract *c, unsigned flags,
				   philox_stream *stream)
{
	enum philox_status status =
		philox_stream_create(c->device, flags, stream);

	return status ? status : keep(c, THING_STREAM, *stream);
}

enum philox_status contract_event(struct contract *c, philox_event *event)
{
	enum philox_status status = philox_event_create(c->device, event);

	return status ? status : keep(c, THING_EVENT, *event);
}

enum philox_status contract_timed_event(struct contract *c, philox_event *event)
{
	enum philox_status status = device_event_create_timed(c->device, event);

	return status ? status : keep(c, THING_EVENT, *event);
}

enum philox_status contract_memory(struct contract *c, size_t size,
				   void **memory)
{
	enum philox_status status =
		philox_memory_alloc(c->device, size, memory);

	return status ? status : keep(c, THING_MEMORY, *memory);
}

enum philox_status contract_mapped(struct contract *c, size_t size, void **host,
				   void **mapped)
{
	enum philox_status status =
		device_mapped_alloc(c->device, size, host, mapped);

	return status ? status : keep(c, THING_MAPPED, *host);
}

enum philox_status contract_reserve_with(struct contract *c, size_t bytes,
					 unsigned traits, char **base)
{
	enum philox_status status = device_space_reserve_with(
		c->device, bytes, traits, (void **)base);

	return status ? status : keep(c, THING_SPACE, *base);
}

enum philox_status contract_reserve(struct contract *c, size_t bytes,
				    char **base)
{
	return contract_reserve_with(c, bytes, 0, base);
}

enum philox_status contract_map(struct contract *c, char *base, size_t offset,
				size_t bytes)
{
	enum philox_status status =
		device_space_map(c->device, base, offset, bytes);

	if (status != PHILOX_OK)
		return status;
	keep(c, THING_EXTENT, base + offset);
	c->things->offset = offset;
	c->things->size = bytes;
	return PHILOX_OK;
}

enum philox_status contract_end_capture(struct contract *c,
					philox_stream stream,
					philox_native_graph *graph)
{
	enum philox_status status =
		philox_stream_end_capture(c->device, stream, graph);

	return status ? status : keep(c, THING_GRAPH, *graph);
}

enum philox_status contract_instantiate(struct contract *c,
					philox_native_graph graph,
					philox_native_exec *exec)
{
	enum philox_status status =
		philox_native_graph_instantiate(c->device, graph, exec);

	return status ? status : keep(c, THING_EXEC, *exec);
}

enum philox_status contract_end_exec(struct contract *c, philox_stream stream,
				     philox_native_graph *graph,
				     philox_native_exec *exec)
{
	enum philox_status status = contract_end_capture(c, stream, graph);

	return status ? status : contract_instantiate(c, *graph, exec);
}

enum philox_status contract_set(struct contract *c, void *memory, int value,
				size_t size, philox_stream stream)
{
	return philox_memory_set(c->device, stream, memory, value, size);
}

enum philox_status contract_copy(struct contract *c, void *to, const void *from,
				 size_t size, philox_stream stream)
{
	return philox_memory_copy(c->device, stream, to, from, size);
}

enum philox_status contract_begin(struct contract *c, philox_stream stream)
{
	return philox_stream_begin_capture(c->device, stream,
					   PHILOX_CAPTURE_THREAD_LOCAL);
}

enum philox_status contract_order(struct contract *c, philox_event event,
				  philox_stream first, philox_stream then)
{
	enum philox_status status =
		philox_event_record(c->device, first, event);

	return status ? status : philox_event_wait(c->device, then, event);
}

void contract_forget(struct contract *c, const void *handle)
{
	struct contract_thing **link = &c->things, *thing;

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	thing = *link;
	if (!thing)
		return;
	*link = thing->next;
	free(thing);
}

enum philox_status contract_read(struct contract *c, philox_stream stream,
				 const void *memory, void *bytes, size_t size)
{
	enum philox_status status =
		philox_memory_copy(c->device, stream, bytes, memory, size);

	return status ? status : philox_stream_synchronize(c->device, stream);
}

int contract_is_synchronous(const struct contract *c)
{
	return !strcmp(philox_device_name(c->device), "host:sync");
}

static void nap(const void *args)
{
	nanosleep(args, NULL);
}

enum philox_status contract_delay(struct contract *c, philox_stream stream)
{
	const struct timespec time = {.tv_nsec = 3000000};
	const size_t size = (size_t)64 << 20;
	enum philox_status status;
	void *memory;

	if (philox_device_is_host(c->device))
		return philox_stream_launch_host(c->device, stream, nap, &time,
						 sizeof(time));
	status = contract_memory(c, size, &memory);
	for (int i = 0; i < 200 && !status; i++)
		status = philox_memory_set(c->device, stream, memory, i, size);
	return status;
}

int contract_bytes_are(struct contract *c, const char *file, int line,
		       philox_stream stream, const void *memory, int value,
		       size_t size)
{
	unsigned char *bytes = malloc(size);
	size_t i = 0;

	if (!bytes)
		abort();
	if (!contract_status_is(c, file, line, "reading device memory",
				PHILOX_OK,
				contract_read(c, stream, memory, bytes, size)))
		goto free_bytes;
	while (i < size && bytes[i] == value)
		i++;
	if (i < size)
		contract_fail(c, file, line, "byte %zu of %p is %d, not %d", i,
			      memory, bytes[i], value);
free_bytes:
	free(bytes);
	return !c->failure[0];
}

/* --- running -------------------------------------------------------------- */

/* Ends the captures that a failed check left open, wherever they began. */
static void end_captures(struct contract *c)
{
	for (struct contract_thing *thing = c->things; thing;
	     thing = thing->next) {
		philox_native_graph graph;

		if (thing->kind == THING_STREAM &&
		    !philox_stream_end_capture(c->device, thing->handle,
					       &graph))
			philox_native_graph_destroy(c->device, graph);
	}
}

static enum philox_status destroy(struct contract *c,
				  struct contract_thing *thing)
{
	switch (thing->kind) {
	case THING_STREAM:
		return philox_stream_destroy(c->device, thing->handle);
	case THING_EVENT:
		return philox_event_destroy(c->device, thing->handle);
	case THING_MEMORY:
		return philox_memory_free(c->device, thing->handle);
	case THING_MAPPED:
		return device_mapped_free(c->device, thing->handle);
	case THING_SPACE:
		return device_space_release(c->device, thing->handle);
	case THING_EXTENT:
		return device_space_unmap(c->device,
					  (char *)thing->handle - thing->offset,
					  thing->offset, thing->size);
	case THING_GRAPH:
		return philox_native_graph_destroy(c->device, thing->handle);
	case THING_EXEC:
		return philox_native_exec_destroy(c->device, thing->handle);
	}
	return PHILOX_OK;
}

/*
 * If an object cannot be destroyed after a check that passed, the check fails.
 */
static void clean_up(struct contract *c)
{
	enum philox_status status;

	philox_device_fail(c->device, NULL, 0, PHILOX_OK);
	philox_device_limit_memory(c->device, 0); /* if a check failed */
	end_captures(c);
	status = philox_device_synchronize(c->device);
	while (c->things) {
		struct contract_thing *thing = c->things;
		enum philox_status result = destroy(c, thing);

		c->things = thing->next;
		free(thing);
		status = status ? status : result;
	}
	if (status && !c->failure[0])
		contract_fail(c, __FILE__, __LINE__, "cleaning up: %s: %s",
			      philox_status_name(status),
			      philox_error_message());
}

static enum contract_outcome run_check(struct contract *c,
				       const struct contract_check *check)
{
	if (check->with_rig)
		contract_with_rig(c, check->with_rig);
	else if (check->on_both)
		site_compare(c, check->on_both);
	else
		check->run(c);
	clean_up(c);
	if (c->failure[0])
		return CONTRACT_FAILED;
	return c->skipped[0] ? CONTRACT_SKIPPED : CONTRACT_PASSED;
}

static const char *text_of(const struct contract *c,
			   enum contract_outcome outcome)
{
	if (outcome == CONTRACT_PASSED)
		return c->done;
	return outcome == CONTRACT_FAILED ? c->failure : c->skipped;
}

static int is_wanted(const struct contract_check *check,
		     const struct contract_choice *choice)
{
	return !choice->only || strstr(check->name, choice->only);
}

size_t contract_count(const struct contract_choice *choice)
{
	size_t n = 0;

	for (size_t i = 0; contract_tables[i]; i++)
		for (size_t k = 0; contract_tables[i][k].name; k++)
			n += is_wanted(&contract_tables[i][k], choice);
	return n;
}

size_t contract_run(struct philox_device *device,
		    const struct contract_check *checks,
		    const struct contract_choice *choice,
		    contract_report report, void *user)
{
	size_t failed = 0;

	for (; checks->name; checks++) {
		struct contract c = {.device = device,
				     .all_words = choice->all_words};
		enum contract_outcome outcome;

		if (!is_wanted(checks, choice))
			continue;
		outcome = run_check(&c, checks);
		failed += outcome == CONTRACT_FAILED;
		report(user, philox_device_name(device), checks->name, outcome,
		       text_of(&c, outcome));
	}
	return failed;
}
