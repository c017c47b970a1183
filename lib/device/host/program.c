/*
 * lib/device/host/program.c - graphs as they were instantiated
 *
 * A program is a list of work that never changes, in an order that respects all
 * edges. The body of a conditional node is a program in that of its graph.
 * Guarded by the device's lock, except for running, which needs none: launches
 * of one program run one after the other.
 */
#include <stdlib.h>
#include "lib/device/host/host.h"

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
