/*
 * lib/device/host/exec.c - executable graphs and their launches
 *
 * The launches of an executable graph share its program, which never changes.
 * New arguments for a node are overrides, kept separate from it; a launch copies
 * those that exist, so an update affects later launches only. What is in bodies
 * has none. Launches of one executable graph wait for each other, whatever their
 * streams. Guarded by the device's lock, except for host_replay_run().
 */
#include <stdlib.h>
#include <string.h>
#include "lib/device/host/host.h"

/* --- overrides ------------------------------------------------------------ */

static void overrides_free(struct host_device *device,
			   struct host_overrides *overrides)
{
	for (size_t i = 0; i < overrides->count; i++)
		host_work_drop(device, &overrides->items[i].work);
	free(overrides->items);
}

/* Takes the work over; 0: no memory. */
static int overrides_set(struct host_device *device,
			 struct host_overrides *overrides, size_t position,
			 struct host_work *work)
{
	struct host_override *items = overrides->items;
	size_t place = 0;

	while (place < overrides->count && items[place].position < position)
		place++;
	if (place < overrides->count && items[place].position == position) {
		host_work_drop(device, &items[place].work);
		items[place].work = *work;
		return 1;
	}
	items = realloc(items, (overrides->count + 1) * sizeof(*items));
	if (!items)
		return 0;
	overrides->items = items;
	memmove(items + place + 1, items + place,
		(overrides->count - place) * sizeof(*items));
	items[place] = (struct host_override){position, *work};
	overrides->count++;
	return 1;
}

/* The work at a position; positions are asked for in order, with next at 0. */
static const struct host_work *work_at(const struct host_program *program,
				       const struct host_overrides *overrides,
				       size_t position, size_t *next)
{
	if (*next < overrides->count &&
	    overrides->items[*next].position == position)
		return &overrides->items[(*next)++].work;
	return &program->works[position];
}

/* --- launches ------------------------------------------------------------- */

static struct host_replay *replay_create(struct host_exec *exec)
{
	size_t count = exec->overrides.count;
	struct host_replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return NULL;
	if (count) {
		replay->overrides.items =
			malloc(count * sizeof(*replay->overrides.items));
		if (!replay->overrides.items) {
			free(replay);
			return NULL;
		}
	}
	for (size_t i = 0; i < count; i++)
		replay->overrides.items[i] = (struct host_override){
			exec->overrides.items[i].position,
			host_work_share(&exec->overrides.items[i].work)};
	replay->overrides.count = count;
	replay->program = exec->program;
	replay->program->refs++;
	return replay;
}

void host_replay_free(struct host_device *device, struct host_replay *replay)
{
	overrides_free(device, &replay->overrides);
	host_program_drop(device, replay->program);
	free(replay);
}

void host_replay_run(const struct host_replay *replay)
{
	host_program_begin(replay->program);
	for (size_t i = 0, next = 0; i < replay->program->count; i++)
		host_work_run(
			work_at(replay->program, &replay->overrides, i, &next));
}

/* --- operations ----------------------------------------------------------- */

static enum philox_status exec_open(struct host_device *device,
				    struct host_graph *graph,
				    philox_native_exec *handle)
{
	struct host_exec *exec = calloc(1, sizeof(*exec));

	if (!exec)
		return host_no_memory("an executable graph");
	exec->program = host_program_create(device, graph);
	if (!exec->program) {
		free(exec);
		return host_no_memory("an executable graph");
	}
	graph->keep->execs++;
	host_register(device, &exec->object, HOST_EXEC, exec);
	*handle = (philox_native_exec)exec;
	return PHILOX_OK;
}

/* Its conditions and bodies are there once. */
static enum philox_status check_only(const struct host_graph *graph,
				     const char *what)
{
	if (!graph->keep->execs)
		return PHILOX_OK;
	for (size_t i = 0; i < graph->nodes.count; i++)
		if (graph->nodes.items[i]->conditional)
			return status_set(
				PHILOX_ERROR_UNSUPPORTED,
				"%s: a graph with conditional nodes has one "
				"executable graph at a time, and there is one",
				what);
	return PHILOX_OK;
}

enum philox_status host_exec_create(struct philox_device *base,
				    philox_native_graph handle,
				    philox_native_exec *exec)
{
	static const char what[] = "philox_native_instantiate";
	struct host_device *device = host_of(base);
	struct host_graph *graph;
	enum philox_status status;

	host_lock(device);
	status = host_graph_find(device, handle, what, &graph);
	if (status == PHILOX_OK)
		status = host_root_check(graph, what);
	if (status == PHILOX_OK)
		status = host_open_check(graph, what);
	if (status == PHILOX_OK)
		status = host_bodies_check(graph, what);
	if (status == PHILOX_OK)
		status = check_only(graph, what);
	if (status == PHILOX_OK)
		status = exec_open(device, graph, exec);
	host_unlock(device);
	return status;
}

void host_exec_free(struct host_device *device, struct host_exec *exec)
{
	host_forget(device, &exec->object);
	exec->program->keep->execs--;
	overrides_free(device, &exec->overrides);
	host_program_drop(device, exec->program);
	host_task_drop(device, exec->last);
	free(exec);
}

enum philox_status host_exec_destroy(struct philox_device *base,
				     philox_native_exec handle)
{
	struct host_device *device = host_of(base);
	struct host_exec *exec;
	enum philox_status status;

	host_lock(device);
	status = host_exec_find(device, handle, "philox_native_exec_destroy",
				&exec);
	if (status == PHILOX_OK)
		host_exec_free(device, exec);
	host_unlock(device);
	return status;
}

/* Whether it sets a condition that the executable graph does not have. */
static int sets_a_stranger(const struct host_program *program,
			   const struct host_work *work)
{
	const struct condition_args *args =
		(const struct condition_args *)work->args->bytes;

	return work->function == kernels_host[KERNEL_CONDITION] &&
	       !host_program_has(program, args->condition);
}

static enum philox_status override_kernel(struct host_device *device,
					  struct host_exec *exec,
					  struct host_node *node,
					  struct host_work *work)
{
	static const char what[] = "exec_set_kernel";
	struct host_program *program = exec->program;

	if (node->graph->parent)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: node %zu is in the body of a "
				  "conditional node, and keeps its arguments",
				  what, node->index);
	if (node->graph->id != program->graph_id ||
	    node->index >= program->count)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: the node is of another graph, or was "
				  "added after the instantiation",
				  what);
	if (node->work.kind != HOST_KERNEL)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: node %zu is not a kernel", what,
				  node->index);
	if (sets_a_stranger(program, work))
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: the condition was made after the "
				  "instantiation",
				  what);
	if (!overrides_set(device, &exec->overrides,
			   program->position[node->index], work))
		return host_no_memory("a kernel's arguments");
	return PHILOX_OK;
}

enum philox_status host_exec_set_kernel(struct philox_device *base,
					philox_native_exec exec_handle,
					device_node node_handle,
					const struct kernel_call *call)
{
	static const char what[] = "exec_set_kernel";
	struct host_device *device = host_of(base);
	struct host_exec *exec;
	struct host_node *node;
	struct host_work work;
	enum philox_status status;

	status = host_work_kernel(&work, call);
	if (status != PHILOX_OK)
		return status;
	host_lock(device);
	status = host_exec_find(device, exec_handle, what, &exec);
	if (status == PHILOX_OK)
		status = host_node_find(device, node_handle, what, &node);
	if (status == PHILOX_OK)
		status = host_arrays_take(device, &work);
	if (status == PHILOX_OK)
		status = host_condition_check(device, &work, node->graph);
	if (status == PHILOX_OK)
		status = override_kernel(device, exec, node, &work);
	if (status != PHILOX_OK)
		host_work_drop(device, &work);
	host_unlock(device);
	return status;
}

static enum philox_status check_program(struct host_device *device,
					const struct host_program *program,
					const struct host_overrides *overrides)
{
	static const struct host_overrides none;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0, next = 0; status == PHILOX_OK && i < program->count;
	     i++) {
		const struct host_work *work =
			work_at(program, overrides, i, &next);
		const struct host_branch *branch = work->branch;

		status = host_arrays_check(device, work);
		for (uint32_t k = 0;
		     branch && status == PHILOX_OK && k < branch->what.bodies;
		     k++)
			status =
				check_program(device, branch->bodies[k], &none);
	}
	return status;
}

/*
 * While no memory is allocated or freed, what was found once stays true: new
 * arguments are checked when they are set.
 */
static enum philox_status check_arrays(struct host_device *device,
				       struct host_exec *exec)
{
	enum philox_status status = PHILOX_OK;

	if (exec->checked == device->changes)
		return PHILOX_OK;
	status = check_program(device, exec->program, &exec->overrides);
	if (status == PHILOX_OK)
		exec->checked = device->changes;
	return status;
}

enum philox_status host_exec_check(struct philox_device *base,
				   philox_native_exec handle)
{
	struct host_device *device = host_of(base);
	struct host_exec *exec;
	enum philox_status status;

	host_lock(device);
	status = host_exec_find(device, handle, "exec_check", &exec);
	if (status == PHILOX_OK)
		status = check_arrays(device, exec);
	host_unlock(device);
	return status;
}

static enum philox_status launch_submit(struct host_device *device,
					struct host_exec *exec,
					struct host_stream *stream)
{
	struct host_work work = {.kind = HOST_REPLAY};
	struct host_task *task;
	enum philox_status status;

	work.replay = replay_create(exec);
	if (!work.replay)
		return host_no_memory("a launch");
	if (device->synchronous)
		return host_submit(stream, &work, NULL, NULL);
	status = host_submit(stream, &work, exec->last, &task);
	if (status != PHILOX_OK) {
		host_work_drop(device, &work);
		return status;
	}
	host_task_drop(device, exec->last);
	exec->last = task;
	return PHILOX_OK;
}

enum philox_status host_exec_launch(struct philox_device *base,
				    philox_native_exec exec_handle,
				    philox_stream stream_handle)
{
	static const char what[] = "philox_native_launch";
	struct host_device *device = host_of(base);
	struct host_stream *stream;
	struct host_exec *exec;
	enum philox_status status;

	host_lock(device);
	status = host_exec_find(device, exec_handle, what, &exec);
	if (status == PHILOX_OK)
		status = host_stream_find(device, stream_handle, what, &stream);
	if (status == PHILOX_OK && stream->capture)
		status = status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
				    "%s: the stream is capturing", what);
	if (status == PHILOX_OK)
		status = check_arrays(device, exec);
	if (status == PHILOX_OK)
		status = launch_submit(device, exec, stream);
	host_unlock(device);
	return status;
}
