/*
 * philox/verify.h - launches that are verified against their eager form
 *
 * philox_graph_launch_verified() is philox_graph_launch() for a graph that the
 * caller captured, with a check that the graph does what it is meant to do. It
 * is given the eager form of the graph, a callback that does the same work
 * without a capture. The callback runs first, with the numbers that the launch
 * is to draw, on copies of the arrays that the graph writes; then the graph
 * runs, and the arrays must be the same, bit for bit:
 *
 *   enum philox_status eager(void *user, struct philox_verify *verify)
 *   {
 *           philox_verify_address(verify, 0, &y);
 *           philox_verify_forward_begin(verify, region, 0, &pass);
 *           ... the kernels of the graph, on philox_verify_stream(verify) ...
 *           return philox_forward_commit(&pass, &ticket);
 *   }
 *
 *   struct philox_verify_array arrays[] = {{.name = "y", .address = y, ...}};
 *
 *   philox_graph_launch_verified(graph, stream, uses, n, &options);
 *
 * A runner does this by itself: see "Verification" in philox/runner.h, where
 * what is said of bodies holds for the callback.
 */
#ifndef PHILOX_VERIFY_H
#define PHILOX_VERIFY_H

#include <stddef.h>
#include <stdint.h>
#include <philox/graph.h>
#include <philox/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_verify;

/* An array that the graph writes. What else it reads must not change. */
struct philox_verify_array {
	const char *name; /* for messages */
	void *address;    /* of device memory, where the graph has it; no two
			     arrays may overlap */
	size_t bytes;
	uint32_t elements; /* for messages: PHILOX_ELEMENTS() of a dtype
			      (philox/fill.h); 0: bytes */
	uint32_t reserved; /* 0 */
};

/* struct philox_verify_options: begin with PHILOX_INIT(). */
struct philox_verify_options {
	size_t size;              /* sizeof(this struct) */
	struct philox_pool *pool; /* of the same context, for copies: twice the
				     arrays, and 16 KiB; not a pool that the
				     graph was captured with */
	const struct philox_verify_array *arrays;
	size_t n_arrays; /* at most 2^20 */
	enum philox_status (*eager)(void *user, struct philox_verify *verify);
	void *user;
};

/*
 * philox_graph_launch_verified() launches a graph and compares; it waits for
 * the stream. If the graph differs, the arrays and the tables of rows that the
 * callback drew from are put back as they were before, the launch has failed as
 * one that the device refused, and the message names the array, its first
 * element that differs with both values, and whether the eager form is not
 * deterministic, or the graph has something frozen. For that the callback is
 * called some more times. Errors: PHILOX_ERROR_DIFFERS; those of
 * philox_graph_launch(); what the callback returned, PHILOX_ERROR_STATE (it
 * left a pass open, or began others than the graph has), PHILOX_ERROR_INVALID
 * (names the field), PHILOX_ERROR_MISMATCH (the pool is of another context),
 * PHILOX_ERROR_BUSY (the pool is in use, or the graph's), PHILOX_ERROR_MEMORY,
 * PHILOX_ERROR_UNSUPPORTED (the callback seeds a generator or destroys a table
 * of rows). A pool that is in use, or has no memory for the arrays, is found
 * before numbers are taken. Where the device fails so that the pool cannot be
 * left, it is in use until the next call of this function with it. Not for
 * graphs with conditional nodes, or with forwards of several iterations:
 * PHILOX_ERROR_UNSUPPORTED. Thread rule: as philox_graph_launch(); not legal on
 * a thread that is capturing.
 */
PHILOX_API enum philox_status philox_graph_launch_verified(
	struct philox_graph *graph, philox_stream stream,
	struct philox_use *uses, size_t n,
	const struct philox_verify_options *options);

/*
 * The functions below are for the callback, on its thread, until it returns.
 *
 * philox_verify_stream() returns the stream for its work, that of the launch.
 *
 * philox_verify_address() writes where the callback finds the array `index`,
 * with what it holds before the launch. Errors: PHILOX_ERROR_INVALID.
 *
 * philox_verify_forward_begin() and philox_verify_backward_begin() begin the
 * passes of the graph, in their order, with the numbers of the launch; flags
 * and ticket are those that the capture was given, tickets of earlier passes
 * being those that this callback got. They are drawn with, committed and
 * aborted as any other, and change no ledger. One that is open when the
 * callback returns has ended: to end it later is PHILOX_ERROR_STATE, and
 * changes nothing. Errors: PHILOX_ERROR_INVALID, PHILOX_ERROR_MISMATCH (the
 * graph's next pass is another one, or there is none), PHILOX_ERROR_STALE.
 */
PHILOX_API philox_stream
philox_verify_stream(const struct philox_verify *verify);
PHILOX_API enum philox_status philox_verify_address(
	struct philox_verify *verify, size_t index, void **address);
PHILOX_API enum philox_status philox_verify_forward_begin(
	struct philox_verify *verify, struct philox_region *region,
	unsigned flags, struct philox_pass *pass);
PHILOX_API enum philox_status philox_verify_backward_begin(
	struct philox_verify *verify, struct philox_region *region,
	struct philox_ticket ticket, unsigned flags, struct philox_pass *pass);

#ifdef __cplusplus
}
#endif
#endif
