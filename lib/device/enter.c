/*
 * lib/device/enter.c - counting the operations of a device, and failing them
 *
 * Every operation passes through device_enter() before it is carried out.
 * Counters and the ordered failure are atomic; nothing else here is shared.
 */
#include <string.h>
#include <philox/device.h>
#include "lib/device/device.h"

static const char *const operation_names[DEVICE_OP_COUNT] = {
#define OPERATION_NAME(name, arguments) #name,
	DEVICE_OP_LIST(OPERATION_NAME)
#undef OPERATION_NAME
};

/* The failure ordered for this operation, if it is due now. */
static enum philox_status take_failure(struct philox_device *device,
				       enum device_op op)
{
	uint_fast64_t after = atomic_load(&device->fail_after);
	int wanted = atomic_load(&device->fail_op);

	if (!after || (wanted != -1 && wanted != (int)op))
		return PHILOX_OK;
	while (after && after != PHILOX_FAIL_ALWAYS &&
	       !atomic_compare_exchange_weak(&device->fail_after, &after,
					     after - 1))
		;
	if (after != 1 && after != PHILOX_FAIL_ALWAYS)
		return PHILOX_OK;
	return status_set(
		(enum philox_status)atomic_load(&device->fail_status),
		"%s on device %s: failed by order of philox_device_fail",
		operation_names[op], device->name);
}

enum philox_status device_enter(struct philox_device *device, enum device_op op,
				int offered)
{
	enum philox_status status;

	if (fork_is_child(device))
		return fork_refuse(device);
	atomic_fetch_add_explicit(&device->calls[op], 1, memory_order_relaxed);
	status = take_failure(device, op);
	if (status != PHILOX_OK || offered)
		return status;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "device %s does not offer %s", device->name,
			  operation_names[op]);
}

/* --- the public call ------------------------------------------------------ */

static _Thread_local const char *public_call;

const char *device_within(const char *call)
{
	const char *before = public_call;

	public_call = call;
	return before;
}

const char *device_caller(const char *operation)
{
	return public_call ? public_call : operation;
}

/* --- memory that is free -------------------------------------------------- */

static _Thread_local struct free_use free_use;

void device_mark_free(struct philox_device *device, struct range range,
		      const char *why)
{
	if (!range_is_empty(range))
		device->ops->mem_mark(device, range, why);
}

void device_mark_used(struct philox_device *device, struct range range)
{
	if (!range_is_empty(range))
		device->ops->mem_mark(device, range, NULL);
}

struct free_use device_use_free(struct free_use use)
{
	const struct free_use before = free_use;

	free_use = use;
	return before;
}

struct range device_free_used(struct range range, int written)
{
	const int named_for = written ? free_use.writes : free_use.reads;

	for (size_t i = 0; named_for && i < free_use.n; i++) {
		const struct range *named = &free_use.ranges[i];

		if (range.begin < named->begin || range.begin >= named->end)
			continue;
		if (range.end > named->end)
			range.end = named->end;
		return range;
	}
	range.end = range.begin;
	return range;
}

/* --- what is offered to tests -------------------------------------------- */

static int find_operation(const char *name)
{
	for (int op = 0; op < DEVICE_OP_COUNT; op++)
		if (!strcmp(operation_names[op], name))
			return op;
	return -1;
}

uint64_t philox_device_call_count(const struct philox_device *device,
				  const char *operation)
{
	uint64_t calls = 0;

	if (!device)
		return 0;
	for (int op = 0; op < DEVICE_OP_COUNT; op++)
		if (!operation || !strcmp(operation_names[op], operation))
			calls += atomic_load(&device->calls[op]);
	return calls;
}

enum philox_status philox_device_fail(struct philox_device *device,
				      const char *operation, uint64_t nth,
				      enum philox_status status)
{
	int op = operation ? find_operation(operation) : -1;

	NEED_POINTER(device);
	if (operation && op < 0)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: there is no operation \"%s\"", __func__,
				  operation);
	if (nth && (status == PHILOX_OK ||
		    !strcmp(philox_status_name(status), "PHILOX_?")))
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: status %d is not an error", __func__,
				  (int)status);
	atomic_store(&device->fail_after, 0); /* no mix of two orders */
	atomic_store(&device->fail_op, op);
	atomic_store(&device->fail_status, (int)status);
	atomic_store(&device->fail_after, nth);
	return PHILOX_OK;
}

enum philox_status philox_device_limit_memory(struct philox_device *device,
					      size_t bytes)
{
	NEED_POINTER(device);
	if (fork_is_child(device))
		return fork_refuse(device);
	if (!device->is_host)
		return status_set(PHILOX_ERROR_UNSUPPORTED,
				  "%s: device %s has the memory that it has",
				  __func__, device->name);
	atomic_store(&device->memory_limit, bytes);
	return PHILOX_OK;
}
