/*
 * lib/device/host/exec.c - executable graphs and their launches
 *
 * The launches of an executable graph share its program, which never changes.
 * New arguments for a node are overrides, kept separate from it; a launch
 * copies those that exist, so an update affects later launches only. What is in
 * bodies has none. Launches of one executable graph wait for each other,
 * whatever their streams. Guarded by the device's lock.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/device/host/host.h"

/* --- programs: graphs as they were instantiated --------------------------- */

static struct host_program *program_create(struct host_device *device,
					   struct host_graph *graph);

/* What was made goes with the branch; 0: no memory. */
static int branch_fill(struct host_device *device, struct host_branch *branch,
		       const struct host_conditional *node)
{
	branch->what = node->what;
	branch->condition = node->condition;
	for (uint32_t i = 0; i < node->what.bodies; i++) {
		branch->bodies[i] = program_create(device, node->bodies[i]);
		if (!branch->bodies[i])
			return 0;
	}
	return 1;
}

/* The same. */
static int program_add(struct host_device *device, struct host_program *program,
		       const struct host_node *node)
{
	struct host_work *work =
		&program->works[program->position[node->index]];
	const struct host_conditional *conditional = node->conditional;

	*work = host_work_share(&node->work);
	if (!conditional)
		return 1;
	work->branch = calloc(1, sizeof(*work->branch) +
					 conditional->what.bodies *
						 sizeof(*work->branch->bodies));
	return work->branch && branch_fill(device, work->branch, conditional);
}

/* 0: no memory. */
static int program_keeps(struct host_program *program,
			 const struct host_graph *graph)
{
	struct host_condition *condition;
	size_t count = 0;

	for (condition = graph->conditions; condition;
	     condition = condition->next)
		count++;
	program->conditions = calloc(count + 1, sizeof(*program->conditions));
	if (!program->conditions)
		return 0;
	for (condition = graph->conditions; condition;
	     condition = condition->next) {
		condition->refs++;
		program->conditions[program->condition_count++] = condition;
	}
	return 1;
}

static struct host_program *program_create(struct host_device *device,
					   struct host_graph *graph)
{
	size_t count = graph->nodes.count;
	struct host_program *program = calloc(1, sizeof(*program));

	if (!program)
		return NULL;
	program->refs = 1;
	program->count = count;
	program->graph_id = graph->id;
	program->position = calloc(count + 1, sizeof(*program->position));
	program->works = calloc(count + 1, sizeof(*program->works));
	if (!program->position || !program->works ||
	    !program_keeps(program, graph) ||
	    !host_order(graph, graph->number << 16 ^ graph->execs_made,
			program->position))
		goto free_program;
	for (size_t i = 0; i < count; i++)
		if (!program_add(device, program, graph->nodes.items[i]))
			goto free_program;
	program->keep = graph->keep;
	program->keep->refs++;
	graph->execs_made++;
	return program;

free_program:
	host_program_drop(device, program);
	return NULL;
}

/* --- operations ----------------------------------------------------------- */

static enum philox_status exec_open(struct host_device *device,
				    struct host_graph *graph, unsigned flags,
				    philox_native_exec *handle)
{
	struct host_exec *exec = calloc(1, sizeof(*exec));

	if (!exec)
		return host_no_memory("an executable graph");
	exec->program = program_create(device, graph);
	if (!exec->program) {
		free(exec);
		return host_no_memory("an executable graph");
	}
	exec->flags = flags;
	graph->keep->execs++;
	host_register(device, &exec->object, HOST_EXEC, exec);
	*handle = (philox_native_exec)exec;
	return PHILOX_OK;
}

static enum philox_status check_bodies(const struct host_graph *graph,
				       const char *what);

/* In a body, copies are of memory that the device uses in place. */
static enum philox_status check_copy(const struct host_work *work,
				     const char *what)
{
	if (work->kind != HOST_COPY)
		return PHILOX_OK;
	for (uint32_t i = 0; i < work->args->n_arrays; i++)
		if (!work->args->arrays[i].serial)
			return status_set(
				PHILOX_ERROR_INVALID,
				"%s: %s is plain memory (%p), which "
				"no copy in a body can use",
				what, work->args->arrays[i].of.name,
				(void *)(uintptr_t)work->args->arrays[i].of.at);
	return PHILOX_OK;
}

static enum philox_status check_body(const struct host_graph *body,
				     const char *what)
{
	enum philox_status status = PHILOX_OK;

	if (!body->nodes.count)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: a body of node %zu is empty", what,
				  body->parent->index);
	for (size_t i = 0; status == PHILOX_OK && i < body->nodes.count; i++)
		status = check_copy(&body->nodes.items[i]->work, what);
	return status == PHILOX_OK ? check_bodies(body, what) : status;
}

static enum philox_status check_bodies(const struct host_graph *graph,
				       const char *what)
{
	if (graph->broken)
		return status_set(PHILOX_ERROR_CAPTURE_INVALIDATED,
				  "%s: a capture into the graph%s was "
				  "invalidated",
				  what, graph->parent ? ", or a body," : "");
	for (const struct host_condition *condition = graph->conditions;
	     condition; condition = condition->next)
		if (!condition->used)
			return status_set(PHILOX_ERROR_INVALID,
					  "%s: no node looks at condition "
					  "0x%" PRIxPTR,
					  what, (uintptr_t)&condition->value);
	return host_each_body(graph, what, check_body);
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
				    philox_native_graph handle, unsigned flags,
				    philox_native_exec *exec)
{
	static const char what[] = "philox_native_graph_instantiate";
	struct host_device *device = host_enter(base);
	struct host_graph *graph;
	enum philox_status status =
		host_graph_find(device, handle, what, &graph);

	if (status == PHILOX_OK)
		status = host_root_check(graph, what);
	if (status == PHILOX_OK)
		status = host_open_check(graph, what);
	if (status == PHILOX_OK)
		status = check_bodies(graph, what);
	if (status == PHILOX_OK)
		status = check_only(graph, what);
	if (status == PHILOX_OK)
		status = exec_open(device, graph, flags, exec);
	return host_leave(device, status);
}

void host_exec_free(struct host_device *device, struct host_exec *exec)
{
	host_forget(device, &exec->object);
	exec->program->keep->execs--;
	host_overrides_free(device, &exec->overrides);
	host_program_drop(device, exec->program);
	host_task_drop(device, exec->last);
	free(exec);
}

enum philox_status host_exec_destroy(struct philox_device *base,
				     philox_native_exec handle)
{
	struct host_device *device = host_enter(base);
	struct host_exec *exec;
	enum philox_status status = host_exec_find(
		device, handle, "philox_native_exec_destroy", &exec);

	if (status == PHILOX_OK)
		host_exec_free(device, exec);
	return host_leave(device, status);
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
	if (!array_grow(&overrides->items, overrides->count, 1, sizeof(*items)))
		return 0;
	items = overrides->items;
	memmove(items + place + 1, items + place,
		(overrides->count - place) * sizeof(*items));
	items[place] = (struct host_override){position, *work};
	overrides->count++;
	return 1;
}

static int program_has(const struct host_program *program,
		       device_condition handle)
{
	for (size_t i = 0; i < program->condition_count; i++)
		if ((uintptr_t)&program->conditions[i]->value == handle)
			return 1;
	for (size_t i = 0; i < program->count; i++) {
		const struct host_branch *branch = program->works[i].branch;

		for (uint32_t k = 0; branch && k < branch->what.bodies; k++)
			if (program_has(branch->bodies[k], handle))
				return 1;
	}
	return 0;
}

/* Whether it sets a condition that the executable graph does not have. */
static int sets_a_stranger(const struct host_device *device,
			   const struct host_program *program,
			   const struct host_work *work)
{
	const struct condition_args *args =
		(const struct condition_args *)work->args->bytes;

	return work->function == device->kernels[KERNEL_CONDITION] &&
	       !program_has(program, args->condition);
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
	if (sets_a_stranger(device, program, work))
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

	status = host_work_kernel(device, &work, call);
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
	return host_leave(device, status);
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
			host_work_at(program, overrides, i, &next);
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
	struct host_device *device = host_enter(base);
	struct host_exec *exec;
	enum philox_status status =
		host_exec_find(device, handle, "exec_check", &exec);

	if (status == PHILOX_OK)
		status = check_arrays(device, exec);
	return host_leave(device, status);
}

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
	static const char what[] = "philox_native_exec_launch";
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	struct host_exec *exec;
	enum philox_status status =
		host_exec_find(device, exec_handle, what, &exec);

	if (status == PHILOX_OK)
		status = host_stream_find(device, stream_handle, what, &stream);
	if (status == PHILOX_OK && stream->capture)
		status = status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
				    "%s: the stream is capturing", what);
	if (status == PHILOX_OK)
		status = host_check_caller(what);
	if (status == PHILOX_OK)
		status = check_arrays(device, exec);
	if (status == PHILOX_OK)
		status = launch_submit(device, exec, stream);
	return host_leave(device, status);
}
