/*
 * lib/device/host/work.c - the work of graph nodes and queue entries
 *
 * Work is a value. Its arguments are copied once and then shared: a reference
 * is taken by host_work_share() and released by host_work_drop(), both under
 * the device's lock; the bytes never change, so running needs no lock.
 *
 * A launch of an executable graph is work too, the replay of a program: a list
 * of work that never changes, in an order that respects all edges. The body of a
 * conditional node is a program in that of its graph. Launches of one program
 * run one after the other.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/base/float_mode.h"
#include "lib/device/host/host.h"

/* Arguments, and room for `n_arrays` arrays after them. */
static struct host_args *args_create(const void *bytes, size_t size,
				     uint32_t n_arrays)
{
	const size_t unit = alignof(struct host_args);
	size_t room = sizeof(struct host_args) +
		      n_arrays * sizeof(struct host_array) + 2 * unit;
	size_t place = (size + unit - 1) / unit * unit;
	struct host_args *args;

	if (size > SIZE_MAX - room)
		return NULL;
	/* aligned_alloc() needs a multiple of the alignment. */
	args = aligned_alloc(unit, (room + place) / unit * unit);
	if (!args)
		return NULL;
	args->refs = 1;
	args->n_arrays = n_arrays;
	args->arrays = (struct host_array *)(args->bytes + place);
	if (size)
		memcpy(args->bytes, bytes, size);
	return args;
}

static enum philox_status work_with_arrays(struct host_work *work,
					   const void *args, size_t size,
					   const struct kernel_arrays *arrays)
{
	const struct kernel_arrays *part;
	uint32_t count = 0;

	for (part = arrays; part; part = part->next)
		count += part->count;
	work->args = args_create(args, size, count);
	if (!work->args)
		return host_no_memory("arguments");
	count = 0;
	for (part = arrays; part; part = part->next)
		for (uint32_t i = 0; i < part->count; i++)
			work->args->arrays[count++] =
				(struct host_array){.of = part->items[i]};
	return PHILOX_OK;
}

/* A table of copies lists its arrays itself. */
static enum philox_status work_with_copies(struct host_work *work,
					   const struct copies_args *args)
{
	const uint32_t count = (uint32_t)args->count;

	work->args = args_create(args, sizeof(*args), 2 * count);
	if (!work->args)
		return host_no_memory("arguments");
	for (uint32_t i = 0; i < count; i++) {
		const struct copy_item *item = &args->items[i];

		work->args->arrays[2 * i] = (struct host_array){
			.of = {"copies: to", item->to, item->bytes, 1}};
		work->args->arrays[2 * i + 1] = (struct host_array){
			.of = {"copies: from", item->from, item->bytes, 0}};
	}
	return PHILOX_OK;
}

/* So does a table of comparisons. */
static enum philox_status work_with_compare(struct host_work *work,
					    const struct compare_args *args)
{
	const uint32_t count = (uint32_t)args->count;

	work->args = args_create(args, sizeof(*args), 3 * count);
	if (!work->args)
		return host_no_memory("arguments");
	for (uint32_t i = 0; i < count; i++) {
		const struct compare_item *item = &args->items[i];
		struct host_array *arrays = &work->args->arrays[3 * i];

		arrays[0] = (struct host_array){
			.of = {"compare: one", item->one, item->bytes, 0}};
		arrays[1] = (struct host_array){
			.of = {"compare: other", item->other, item->bytes, 0}};
		arrays[2] = (struct host_array){
			.of = {"compare: first", item->first,
			       sizeof(*item->first), 1}};
	}
	return PHILOX_OK;
}

enum philox_status host_work_call(struct host_work *work,
				  void (*function)(const void *),
				  const void *args, size_t size)
{
	*work = (struct host_work){.kind = HOST_CALL, .function = function};
	return work_with_arrays(work, args, size, NULL);
}

enum philox_status host_work_kernel(const struct host_device *device,
				    struct host_work *work,
				    const struct kernel_call *call)
{
	*work = (struct host_work){.kind = HOST_KERNEL,
				   .function = device->kernels[call->kernel]};
	if (call->kernel == KERNEL_COPIES)
		return work_with_copies(work, call->args);
	if (call->kernel == KERNEL_COMPARE)
		return work_with_compare(work, call->args);
	return work_with_arrays(work, call->args, call->size, call->arrays);
}

enum philox_status host_work_copy(struct host_work *work, void *destination,
				  const void *source, size_t size)
{
	struct kernel_arrays arrays = {.count = 0};

	*work = (struct host_work){.kind = HOST_COPY,
				   .destination = destination,
				   .source = source,
				   .size = size};
	kernel_writes(&arrays, "philox_memory_copy: destination", destination,
		      size);
	kernel_reads(&arrays, "philox_memory_copy: source", source, size);
	return work_with_arrays(work, NULL, 0, &arrays);
}

enum philox_status host_work_set(struct host_work *work, void *memory,
				 int value, size_t size)
{
	struct kernel_arrays arrays = {.count = 0};

	*work = (struct host_work){.kind = HOST_SET,
				   .destination = memory,
				   .value = value,
				   .size = size};
	kernel_writes(&arrays, "philox_memory_set: memory", memory, size);
	return work_with_arrays(work, NULL, 0, &arrays);
}

struct host_work host_work_share(const struct host_work *work)
{
	if (work->args)
		work->args->refs++;
	return *work;
}

/* --- dropping -------------------------------------------------------------- */

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

static void branch_free(struct host_device *device, struct host_branch *branch)
{
	for (uint32_t i = 0; i < branch->what.bodies; i++)
		if (branch->bodies[i])
			host_program_drop(device, branch->bodies[i]);
	free(branch);
}

void host_overrides_free(struct host_device *device,
			 struct host_overrides *overrides)
{
	for (size_t i = 0; i < overrides->count; i++)
		host_work_drop(device, &overrides->items[i].work);
	free(overrides->items);
}

static void replay_free(struct host_device *device, struct host_replay *replay)
{
	host_overrides_free(device, &replay->overrides);
	host_program_drop(device, replay->program);
	free(replay);
}

void host_work_drop(struct host_device *device, struct host_work *work)
{
	if (work->args && !--work->args->refs)
		free(work->args);
	if (work->kind == HOST_REPLAY && work->replay)
		replay_free(device, work->replay);
	if (work->kind == HOST_BRANCH && work->branch)
		branch_free(device, work->branch);
	*work = (struct host_work){.kind = HOST_NOTHING};
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

static void branch_run(const struct host_branch *branch)
{
	uint32_t body;

	while (host_branch_picks(branch, &body)) {
		body_run(branch->bodies[body]);
		if (branch->what.kind != CONDITIONAL_WHILE)
			break;
	}
}

const struct host_work *host_work_at(const struct host_program *program,
				     const struct host_overrides *overrides,
				     size_t position, size_t *next)
{
	if (*next < overrides->count &&
	    overrides->items[*next].position == position)
		return &overrides->items[(*next)++].work;
	return &program->works[position];
}

static void replay_run(const struct host_replay *replay)
{
	host_program_begin(replay->program);
	for (size_t i = 0, next = 0; i < replay->program->count; i++)
		host_work_run(host_work_at(replay->program, &replay->overrides,
					   i, &next));
}

/* The numbers must not depend on how a caller's thread rounds. */
static void run_function(const struct host_work *work)
{
	struct float_mode mode = float_mode_set();

	work->function(work->args->bytes);
	float_mode_restore(mode);
}

/* This thread runs a caller's function. */
static _Thread_local int in_call;

static void run_call(const struct host_work *work)
{
	in_call = 1;
	run_function(work);
	in_call = 0;
}

enum philox_status host_check_caller(const char *what)
{
	if (!in_call)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "%s: this thread runs a function for a stream, which "
			  "would wait for itself: such a function must not "
			  "wait or put work on a stream",
			  device_caller(what));
}

void host_work_run(const struct host_work *work)
{
	switch (work->kind) {
	case HOST_NOTHING:
		break;
	case HOST_KERNEL:
		run_function(work);
		break;
	case HOST_CALL:
		run_call(work);
		break;
	case HOST_COPY:
		memmove(work->destination, work->source, work->size);
		break;
	case HOST_SET:
		memset(work->destination, work->value, work->size);
		break;
	case HOST_REPLAY:
		replay_run(work->replay);
		break;
	case HOST_BRANCH:
		branch_run(work->branch);
		break;
	}
}
