/*
 * lib/device/conditions.h - setting a condition of a graph
 *
 * A kernel sets a condition to the value of a word of device memory, as that is
 * when the kernel runs: see "Conditional nodes" in lib/device/contract.h. The
 * word is aligned to 4 bytes. The kernel may be anywhere in the graph of the
 * condition or in a body below; a host device refuses one anywhere else
 * (PHILOX_ERROR_INVALID), a GPU does something undefined. Two that may run at
 * the same time must not set the same condition. Errors do not name an object.
 */
#ifndef LIB_DEVICE_CONDITIONS_H
#define LIB_DEVICE_CONDITIONS_H

#include "lib/device/call.h"

/*
 * device_condition_record() records the kernel in the capture of a stream;
 * PHILOX_ERROR_STATE if there is none. Legal during capture.
 */
enum philox_status device_condition_record(struct philox_device *device,
					   philox_stream stream,
					   device_condition condition,
					   const uint32_t *word);

/*
 * device_condition_guard() records a kernel that takes 1 for a word that is
 * NULL, and sets 0 if *run, a word of device memory too, is `limit` or above;
 * `run` may be NULL.
 */
enum philox_status device_condition_guard(struct philox_device *device,
					  philox_stream stream,
					  device_condition condition,
					  const uint32_t *word,
					  const uint32_t *run, uint64_t limit);

/*
 * device_condition_add() adds the kernel to a graph, perhaps one that is being
 * captured, after n nodes. Legal during capture.
 */
enum philox_status device_condition_add(struct philox_device *device,
					philox_native_graph graph,
					const device_node *deps, size_t n,
					device_condition condition,
					const uint32_t *word,
					device_node *node);

#endif
