/*
 * graph/verify/internal.h - what the parts of verification ask of each other
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#ifndef GRAPH_VERIFY_INTERNAL_H
#define GRAPH_VERIFY_INTERNAL_H

#include "graph/verify/verify.h"

/* What memory of the eager form begins with, in all runs but the last. */
#define VERIFY_FILL       0xbb
#define VERIFY_FILL_OTHER 0x44

static inline struct philox_device *verify_device(
	const struct philox_verify *verify)
{
	return verify->graph->context->device;
}

/* verify_first() keeps the first error, however many there are. */
static inline enum philox_status verify_first(enum philox_status status,
					      enum philox_status then)
{
	return status == PHILOX_OK ? then : status;
}

/*
 * --- graph/verify/memory.c
 * --------------------------------------------------
 */

/*
 * verify_take() takes memory of the second pool, verify_copy() copies on a
 * stream: what there is no memory for is noted. verify_keep_on() keeps what memory holds at a point of a
 * stream, and verify_make_copy() copies that for a run.
 */
enum philox_status verify_take(struct philox_verify *verify,
			       philox_stream stream, size_t bytes,
			       size_t alignment, void **address);
enum philox_status verify_copy(const struct philox_verify *verify,
			       philox_stream stream, void *to, const void *from,
			       size_t bytes);
enum philox_status verify_keep_on(struct philox_verify *verify,
				  philox_stream stream,
				  const struct verify_memory *memory);
enum philox_status verify_make_copy(struct philox_verify *verify,
				    struct verify_memory *memory);

/*
 * --- graph/verify/memory.c
 * ----------------------------------------------------
 */

/*
 * verify_rows_touch() is the trial's `touch`. verify_rows_undo() keeps what a run
 * has made of tables, and has them be as before; verify_rows_set() has them be as
 * before, or as the launch has left them. verify_rows_add() adds them to what is
 * compared, and verify_rows_place() says where the latest run's are.
 */
enum philox_status verify_rows_touch(struct trial *trial,
				     struct philox_rows *rows,
				     philox_stream stream);
enum philox_status verify_rows_undo(struct philox_verify *verify);
enum philox_status verify_rows_set(struct philox_verify *verify, int played);
enum philox_status verify_rows_add(struct philox_verify *verify);
void verify_rows_place(struct philox_verify *verify);

/*
 * --- graph/verify/memory.c
 * --------------------------------------------------
 */

/*
 * verify_compare_with() compares the first run with the latest one (`again`), or
 * with the launch: see verify_compare().
 */
enum philox_status verify_compare_with(struct philox_verify *verify, int again,
				       const struct verify_item **item,
				       uint64_t *place);

/*
 * --- graph/verify/verify.c
 * ----------------------------------------------------------
 */

/* verify_run() runs the eager form on trial, and has tables be as before. */
enum philox_status verify_run(struct philox_verify *verify);

#endif
