/*
 * lib/device/host/work.c - the work of graph nodes and queue entries
 *
 * Work is a value. Its arguments are copied once and then shared: a reference
 * is taken by host_work_share() and released by host_work_drop(), both under
 * the device's lock; the bytes never change, so running needs no lock.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/base/float_mode.h"
#include "lib/device/host/host.h"

enum philox_status host_work_call(struct host_work *work,
				  enum host_work_kind kind,
				  void (*function)(const void *),
				  const void *args, size_t size)
{
	struct host_args *copy;

	if (size > SIZE_MAX - 2 * sizeof(*copy))
		return host_no_memory("arguments");
	/* aligned_alloc() needs a multiple of the alignment. */
	copy = aligned_alloc(alignof(struct host_args),
			     (sizeof(*copy) + size + sizeof(*copy) - 1) /
				     sizeof(*copy) * sizeof(*copy));
	if (!copy)
		return host_no_memory("arguments");
	copy->refs = 1;
	memcpy(copy->bytes, args, size);
	*work = (struct host_work){
		.kind = kind, .function = function, .args = copy};
	return PHILOX_OK;
}

enum philox_status host_work_kernel(struct host_work *work,
				    const struct kernel_call *call)
{
	return host_work_call(work, HOST_KERNEL, kernels_host[call->kernel],
			      call->args, call->size);
}

struct host_work host_work_share(const struct host_work *work)
{
	if (work->args)
		work->args->refs++;
	return *work;
}

void host_work_drop(struct host_device *device, struct host_work *work)
{
	if (work->args && !--work->args->refs)
		free(work->args);
	if (work->replay)
		host_replay_free(device, work->replay);
	*work = (struct host_work){.kind = HOST_NOTHING};
}

/* The numbers must not depend on how a caller's thread rounds. */
static void run_function(const struct host_work *work)
{
	struct float_mode mode = float_mode_set();

	work->function(work->args->bytes);
	float_mode_restore(mode);
}

void host_work_run(const struct host_work *work)
{
	switch (work->kind) {
	case HOST_NOTHING:
		break;
	case HOST_KERNEL:
	case HOST_CALL:
		run_function(work);
		break;
	case HOST_COPY:
		memmove(work->destination, work->source, work->size);
		break;
	case HOST_SET:
		memset(work->destination, work->value, work->size);
		break;
	case HOST_REPLAY:
		host_replay_run(work->replay);
		break;
	}
}
