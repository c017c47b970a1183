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

/* --- program: graphs as they were instantiated ---------------------------- */

/*
 * A program is a list of work that never changes, in an order that respects all
 * edges. The body of a conditional node is a program in that of its graph.
 * Guarded by the device's lock, except for running, which needs none: launches
 * of one program run one after the other.
 */

/* --- making and freeing --------------------------------------------------- */

/* Frees what a program has, of which all that is there is whole. */
static void program_free(struct host_device *device,
			 struct host_program *program)
{
	for (size_t i = 0; i < program->condition_count; i++)
		host_condition_drop(program->conditions[i]);
	for (size_t i = 0; program->works && i < program->count; i++)
		host_work_drop(device, &program->works[i]);
	if (program->keep)
		host_keep_drop(device, program->keep);
	free(program->conditions);
	free(program->position);
	free(program->works);
	free(program);
}

void host_program_drop(struct host_device *device, struct host_program *program)
{
	if (!--program->refs)
		program_free(device, program);
}

void host_branch_free(struct host_device *device, struct host_branch *branch)
{
	for (uint32_t i = 0; i < branch->what.bodies; i++)
		if (branch->bodies[i])
			host_program_drop(device, branch->bodies[i]);
	free(branch);
}

static struct host_branch *branch_create(struct host_device *device,
					 const struct host_conditional *node)
{
	uint32_t count = node->what.bodies;
	struct host_branch *branch =
		calloc(1, sizeof(*branch) + count * sizeof(*branch->bodies));

	if (!branch)
		return NULL;
	branch->what = node->what;
	branch->condition = node->condition;
	for (uint32_t i = 0; i < count; i++) {
		branch->bodies[i] =
			host_program_create(device, node->bodies[i]);
		if (branch->bodies[i])
			continue;
		host_branch_free(device, branch);
		return NULL;
	}
	return branch;
}

/* 0: no memory. */
static int program_add(struct host_device *device, struct host_program *program,
		       const struct host_node *node)
{
	struct host_work *work =
		&program->works[program->position[node->index]];

	*work = host_work_share(&node->work);
	if (node->conditional)
		work->branch = branch_create(device, node->conditional);
	return !node->conditional || work->branch;
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

struct host_program *host_program_create(struct host_device *device,
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
	program_free(device, program);
	return NULL;
}

int host_program_has(const struct host_program *program,
		     device_condition handle)
{
	for (size_t i = 0; i < program->condition_count; i++)
		if ((uintptr_t)&program->conditions[i]->value == handle)
			return 1;
	for (size_t i = 0; i < program->count; i++) {
		const struct host_branch *branch = program->works[i].branch;

		for (uint32_t k = 0; branch && k < branch->what.bodies; k++)
			if (host_program_has(branch->bodies[k], handle))
				return 1;
	}
	return 0;
}

/* --- running, without the lock --------------------------------------------- */

/* As useless as CUDA permits: 0 at some launches, large at others. */
static uint32_t undefined_value(const struct host_condition *condition)
{
	uint64_t bits = condition->launches * 0x9e3779b97f4a7c15u;

	return bits >> 63 ? UINT32_MAX - (uint32_t)condition->launches : 0;
}

/* Launches of an executable graph run one after the other. */
void host_program_begin(const struct host_program *program)
{
	for (size_t i = 0; i < program->condition_count; i++) {
		struct host_condition *condition = program->conditions[i];

		condition->launches++;
		condition->value = condition->assigned
					   ? condition->first
					   : undefined_value(condition);
	}
	for (size_t i = 0; i < program->count; i++) {
		const struct host_branch *branch = program->works[i].branch;

		for (uint32_t k = 0; branch && k < branch->what.bodies; k++)
			host_program_begin(branch->bodies[k]);
	}
}

static void body_run(const struct host_program *body)
{
	for (size_t i = 0; i < body->count; i++)
		host_work_run(&body->works[i]);
}

int host_branch_picks(const struct host_branch *branch, uint32_t *body)
{
	uint32_t value = branch->condition->value;

	*body = 0;
	switch (branch->what.kind) {
	case CONDITIONAL_WHILE:
		return value != 0;
	case CONDITIONAL_IF:
		*body = !value;
		break;
	case CONDITIONAL_SWITCH:
		*body = value;
		break;
	}
	return *body < branch->what.bodies;
}

void host_branch_run(const struct host_branch *branch)
{
	uint32_t body;

	while (host_branch_picks(branch, &body)) {
		body_run(branch->bodies[body]);
		if (branch->what.kind != CONDITIONAL_WHILE)
			break;
	}
}

/* --- order: the order in which an executable graph runs nodes ------------- */

/*
 * The order is legal, but not that of the capture: a small hash of the graph's
 * and the instantiation's numbers picks among the nodes that are ready. Two
 * executable graphs of the same work run in different orders, which are the
 * same on each run of a program, so that a missing edge shows up as a wrong
 * result. Called with the device's lock held; changes nothing in the graph.
 */

/* Scratch for ordering: one block for each node, edges as lists of users. */
struct ordering {
	size_t *missing;   /* by node: dependencies not placed yet */
	size_t *first_use; /* by node: where its users begin in `users` */
	size_t *users;     /* node indices */
	size_t *ready;     /* node indices, in no order */
	size_t ready_count;
};

static uint64_t mix_bits(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

static size_t edge_count(const struct host_graph *graph)
{
	size_t edges = 0;

	for (size_t i = 0; i < graph->nodes.count; i++)
		edges += graph->nodes.items[i]->deps.count;
	return edges;
}

static int ordering_open(struct ordering *order, const struct host_graph *graph)
{
	size_t count = graph->nodes.count;
	size_t words = 3 * count + 2 + edge_count(graph);

	order->missing = calloc(words, sizeof(size_t));
	if (!order->missing)
		return 0;
	order->ready = order->missing + count;
	order->first_use = order->ready + count;
	order->users = order->first_use + count + 2;
	order->ready_count = 0;
	return 1;
}

/* Turns the nodes' lists of dependencies into lists of users. */
static void list_users(struct ordering *order, const struct host_graph *graph)
{
	size_t count = graph->nodes.count;
	size_t *place = order->first_use + 1; /* ends up shifted into shape */

	for (size_t i = 0; i < count; i++) {
		const struct host_nodes *deps = &graph->nodes.items[i]->deps;

		order->missing[i] = deps->count;
		for (size_t k = 0; k < deps->count; k++)
			place[deps->items[k]->index + 1]++;
	}
	for (size_t i = 1; i < count; i++)
		place[i] += place[i - 1];
	for (size_t i = 0; i < count; i++) {
		const struct host_nodes *deps = &graph->nodes.items[i]->deps;

		for (size_t k = 0; k < deps->count; k++)
			order->users[place[deps->items[k]->index]++] = i;
	}
}

static size_t take_ready(struct ordering *order, uint64_t seed)
{
	size_t pick = mix_bits(seed) % order->ready_count;
	size_t node = order->ready[pick];

	order->ready[pick] = order->ready[--order->ready_count];
	return node;
}

int host_order(const struct host_graph *graph, uint64_t seed, size_t *position)
{
	size_t count = graph->nodes.count;
	struct ordering order;

	if (!ordering_open(&order, graph))
		return 0;
	list_users(&order, graph);
	for (size_t i = 0; i < count; i++)
		if (!order.missing[i])
			order.ready[order.ready_count++] = i;
	for (size_t place = 0; place < count; place++) {
		size_t node = take_ready(&order, mix_bits(seed) + place);

		position[node] = place;
		for (size_t k = order.first_use[node];
		     k < order.first_use[node + 1]; k++)
			if (!--order.missing[order.users[k]])
				order.ready[order.ready_count++] =
					order.users[k];
	}
	free(order.missing);
	return 1;
}
