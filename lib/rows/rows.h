/*
 * lib/rows/rows.h - tables of rows as the library's parts see them
 *
 * A table's device memory is one piece: control block, states, turns (see Note
 * [Rows that advance once] in lib/device/rows_kernels.h). Graphs that captured
 * work on it hold a reference; a table that is destroyed before them stays in
 * its context's list, dead, until a later create or destroy finds that they are
 * gone. A reference may be released on any thread and must not call the device,
 * so a release only counts.
 *
 * The list is guarded by the context's lock, and so are alive, leaving, marks,
 * holder and seen. Memory is freed without it: a free waits for the device,
 * where a function of the host may be waiting for the lock.
 */
#ifndef LIB_ROWS_ROWS_H
#define LIB_ROWS_ROWS_H

#include <stdatomic.h>
#include <philox/rows.h>
#include "lib/device/kernels.h"
#include "lib/rows/memory.h"
#include "lib/state/context.h"

#define ROWS_COUNT_MAX (1u << 24)

/* Freed with the last reference, by the table or a graph. */
struct rows_life {
	atomic_uint references;
};

struct philox_rows {
	struct philox_context *context;
	struct philox_rows *next; /* in the context's list, newest first */
	char *name;
	uint64_t key; /* hash of the name */
	int alive;
	int leaving; /* alive, but its memory is being freed: not to be read */
	struct philox_generator *generator;

	struct rows_table table;    /* device addresses */
	void *memory;               /* the piece they are in */
	struct rows_notice *notice; /* host address, mapped */
	struct rows_seen seen;      /* what was reported, in all */
	struct rows_life *life;
	uint64_t holder;      /* capture that took the last reference */
	unsigned char *marks; /* a bit per row, all 0 between calls */
};

/*
 * rows_launch_on() puts a kernel on a stream where work on the table is wanted
 * (no kernel if the call is NULL or has no work): a capture of that stream
 * takes a reference.
 */
enum philox_status rows_launch_on(struct philox_rows *rows,
				  philox_stream stream,
				  const struct kernel_call *call);

/* rows_finish() frees all tables of a context that ends. */
void rows_finish(struct philox_context *context);

/* rows_report() ends a public call on a table: the message names it. */
enum philox_status rows_report(const struct philox_rows *rows,
			       enum philox_status status);

#endif
