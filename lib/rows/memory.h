/*
 * lib/rows/memory.h - the device memory of tables of rows
 */
#ifndef LIB_ROWS_MEMORY_H
#define LIB_ROWS_MEMORY_H

#include <stdint.h>
#include <philox/rows.h>
#include "lib/base/status.h"

struct rows_notice;

/* What launches have reported: see struct philox_rows_report. */
struct rows_seen {
	uint64_t launches;
	uint64_t outside;
	uint64_t used_up;
};

/*
 * rows_seed() returns the table's seed, made from its generator's current one;
 * with the context's lock held.
 */
uint64_t rows_seed(const struct philox_rows *rows);

/*
 * rows_memory_init() allocates a table's device memory and fills it.
 * rows_memory_free() frees it, also after a failure; it waits for work that may
 * use it and is unsafe during capture except in relaxed mode.
 */
enum philox_status rows_memory_init(struct philox_rows *rows);
enum philox_status rows_memory_free(struct philox_rows *rows);

/*
 * rows_read() and rows_write() copy all states of a table from and to the host
 * and wait; the device must have nothing else to do.
 */
enum philox_status rows_read(const struct philox_rows *rows,
			     struct philox_state *states);
enum philox_status rows_write(const struct philox_rows *rows,
			      const struct philox_state *states);

/*
 * rows_read_notice() returns what all launches have reported so far, while
 * others may be reporting: see struct rows_notice.
 */
struct rows_seen rows_read_notice(const struct rows_notice *notice);

#endif
