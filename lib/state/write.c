/*
 * lib/state/write.c - states that the host has, written to device memory
 *
 * They are parameters of kernels: copied by the call, and written in the order
 * of the stream. A capture would keep them by value, and is refused.
 */
#include <inttypes.h>
#include "lib/state/state.h"

struct write {
	struct philox_state *to;
	const struct philox_state *states;
	size_t n;
};

/* --- checks --------------------------------------------------------------- */

static enum philox_status check_pointers(const struct write *write)
{
	if (!write->to || !write->states)
		return status_set(PHILOX_ERROR_INVALID,
				  "write states: %s is NULL",
				  write->to ? "states" : "to");
	if ((uintptr_t)write->to % 8)
		return status_set(PHILOX_ERROR_INVALID,
				  "write states: to (%p) is not aligned to 8 "
				  "bytes",
				  (void *)write->to);
	if (write->n > SIZE_MAX / sizeof(*write->to))
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "write states: n_states %zu is past 2^64 "
				  "bytes",
				  write->n);
	return PHILOX_OK;
}

/* Where both are memory of the host, the first kernel may have run already. */
static enum philox_status check_apart(const struct write *write)
{
	uintptr_t to = (uintptr_t)write->to, from = (uintptr_t)write->states;
	size_t bytes = write->n * sizeof(*write->to);

	if (to > from ? to - from >= bytes : from - to >= bytes)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "write states: to (%p) and states (%p) overlap",
			  (void *)write->to, (const void *)write->states);
}

static enum philox_status check_source(struct philox_device *device,
				       const struct write *write)
{
	if (!device_is_memory(device, write->states))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "write states: states (%p) is memory of device %s, "
			  "which the host cannot read: copy it",
			  (const void *)write->states,
			  philox_device_name(device));
}

static enum philox_status check_offsets(const struct write *write)
{
	for (size_t i = 0; i < write->n; i++)
		if (write->states[i].offset % 4)
			return status_set(PHILOX_ERROR_INVALID,
					  "write states: states[%zu].offset is "
					  "%" PRIu64 ", not a multiple of 4",
					  i, write->states[i].offset);
	return PHILOX_OK;
}

/* None needs no arrays. */
static enum philox_status check_arrays(struct philox_device *device,
				       const struct write *write)
{
	enum philox_status status;

	if (!write->n)
		return PHILOX_OK;
	status = check_pointers(write);
	if (status == PHILOX_OK)
		status = check_apart(write);
	if (status == PHILOX_OK)
		status = check_source(device, write);
	return status == PHILOX_OK ? check_offsets(write) : status;
}

static enum philox_status check_stream(struct philox_device *device,
				       philox_stream stream)
{
	struct capture_info info;
	enum philox_status status = device_ask_capture(device, stream, &info);

	if (status != PHILOX_OK)
		return status_prefix(status, "write states: ");
	if (info.status == PHILOX_CAPTURE_NONE)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			  "write states: the stream is in capture %" PRIu64
			  ", whose launches would all write these states: "
			  "write them before each launch",
			  info.id);
}

/* --- writing -------------------------------------------------------------- */

/* All of the array is listed, so that the first launch refuses it or none. */
static enum philox_status write_some(struct philox_device *device,
				     philox_stream stream,
				     const struct write *write, size_t first)
{
	struct rows_set_args args = {.states = write->to + first};
	struct kernel_arrays arrays = {.count = 0};
	struct kernel_call call = {.kernel = KERNEL_rows_set,
				   .args = &args,
				   .size = sizeof(args),
				   .arrays = &arrays};

	for (size_t i = first; i < write->n && args.n < ROWS_SET_MAX; i++) {
		args.row[args.n] = (uint32_t)args.n;
		args.seed[args.n] = write->states[i].seed;
		args.offset[args.n++] = write->states[i].offset;
	}
	call.work = args.n;
	kernel_writes(&arrays, "write states: to", write->to,
		      write->n * sizeof(*write->to));
	return device_launch(device, stream, &call);
}

enum philox_status philox_context_write_states(
	struct philox_context *context, philox_stream stream,
	struct philox_state *to, const struct philox_state *states,
	size_t n_states)
{
	const struct write write = {to, states, n_states};
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	NEED_PROCESS(context);
	status = check_arrays(context->device, &write);
	if (status == PHILOX_OK)
		status = check_stream(context->device, stream);
	for (size_t i = 0; status == PHILOX_OK && i < n_states;
	     i += ROWS_SET_MAX)
		status = write_some(context->device, stream, &write, i);
	context_broken(context, stream, status, __func__, "(none)");
	return context_report(context, status, NULL);
}
