/*
 * philox/testing.h - what tests and measurements ask of a device
 *
 * How often each operation of a device was called, and failures that are made
 * to order: a test can ask what a call costs, and see what its own program does
 * when the device fails.
 *
 * The names of the operations: mem_alloc, mem_free, mapped_alloc, mapped_free,
 * mem_info, space_granularity, space_reserve, space_map, space_unmap,
 * space_release, copy, set, stream_create, stream_destroy, stream_sync,
 * stream_query, device_sync, event_create, event_destroy, event_record,
 * event_wait, event_sync, event_query, capture_begin, capture_begin_to,
 * capture_end, capture_info, capture_tips, capture_depend, capture_after,
 * capture_mode, graph_add_kernel, graph_set_kernel, condition_create,
 * graph_add_conditional, graph_retain, graph_nodes, node_deps, graph_destroy,
 * exec_create, exec_set_kernel, exec_launch, exec_destroy, launch, launch_host.
 *
 * Errors and thread rule: as in philox/device.h.
 */
#ifndef PHILOX_TESTING_H
#define PHILOX_TESTING_H

#include <stdint.h>
#include <philox/device.h>
#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * philox_device_calls() returns how often an operation was called on this
 * device since it was opened, failed calls included, or all of them together
 * when the name is NULL. An unknown name gives 0. Legal during capture.
 */
PHILOX_API uint64_t philox_device_calls(const struct philox_device *device,
					const char *operation);

/*
 * philox_device_fail() makes one later operation fail with `status` without
 * being carried out: the n-th from now (1 is the next) of those named
 * `operation`, or of all when it is NULL. n = 0 takes an order back. Legal
 * during capture.
 */
PHILOX_API enum philox_status philox_device_fail(struct philox_device *device,
						 const char *operation,
						 uint64_t n,
						 enum philox_status status);

/*
 * philox_device_limit_memory() lets a host device have `bytes` of memory, which
 * its allocations (in units of 256 bytes) and mapped pieces of pools share: a
 * call that needs more gives PHILOX_ERROR_MEMORY, and
 * philox_device_memory_info() shows the limit and what is left of it. Memory
 * that is in use stays, even if it is more. 0 takes the limit back. Errors:
 * PHILOX_ERROR_UNSUPPORTED (a cuda device). Legal during capture.
 */
PHILOX_API enum philox_status philox_device_limit_memory(
	struct philox_device *device, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
