/*
 * lib/rows/rows.h - tables of rows: a state for each row of a batch
 */
#ifndef LIB_ROWS_ROWS_H
#define LIB_ROWS_ROWS_H

#include <stdatomic.h>
#include <stdint.h>
#include <philox/rows.h>
#include "lib/base/base.h"
#include "lib/device/kernels.h"
#include "lib/state/state.h"

/* --- memory: the device memory of tables of rows -------------------------- */

struct rows_notice;

/* What launches have reported: see struct philox_rows_report. */
struct rows_seen {
	uint64_t launches;
	uint64_t outside;
	uint64_t used_up;
};

/*
 * rows_seed() returns the table's seed, made from its generator's current one;
 * rows_seeding() the launch that seeds all states with it. With the context's
 * lock held.
 */
uint64_t rows_seed(const struct philox_rows *rows);
struct kernel_call rows_seeding(const struct philox_rows *rows,
				struct rows_seed_args *args);

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

/* --- rows: tables of rows as the library's parts see them ----------------- */

/*
 * A table's device memory is one piece: control block, states, turns (see Note
 * [Rows that advance once] in lib/device/kernels.h). Graphs that captured
 * work on it hold a reference; a table that is destroyed before them goes to its
 * context's list of dead ones until a later create or destroy finds that they
 * are gone. A reference may be released on any thread and must not call the
 * device, so a release only counts.
 *
 * The lists are guarded by the context's lock, and so are leaving, marks,
 * holder and seen. Memory is freed without it: a free waits for the device,
 * where a function of the host may be waiting for the lock.
 */

#define ROWS_COUNT_MAX (1u << 24)

/* Freed with the last reference, by the table or a graph. */
struct rows_life {
	atomic_uint references;
};

struct philox_rows {
	struct philox_context *context;
	struct philox_rows *next, **link; /* in one of the context's lists */
	char *name;
	uint64_t key; /* hash of the name */
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

/* --- arrays: the arrays of one call, and whether they overlap ------------- */

/*
 * A call collects its arrays, those that are NULL or empty left out, and checks
 * them before it is queued. Addresses are compared, nothing is read: so memory
 * of every device is checked alike.
 */

struct kernel_arrays;
struct rows_list;
struct rows_table;

/*
 * `n` pieces of `size` bytes, `pitch` bytes from one to the next. `name` is
 * what messages call it: a literal, as "fill: out".
 */
struct rows_array {
	const char *name;
	const void *start;
	uint64_t n;
	uint64_t size;
	uint64_t pitch; /* >= size where n > 1 */
	uint64_t room;  /* bytes of the last piece, if that is not its size */
	int written;    /* by the kernel */
	int ours;       /* the library's own memory */
};

/* Enough for any call: a sample from seeds has the most. */
#define ROWS_ARRAYS_MAX 34

struct rows_arrays {
	struct rows_array array[ROWS_ARRAYS_MAX];
	unsigned count;
};

/* rows_arrays_add() adds an array in pieces. */
void rows_arrays_add(struct rows_arrays *arrays, struct rows_array array);

/* These add an array of n elements of `size` bytes. */
void rows_arrays_read(struct rows_arrays *arrays, const char *name,
		      const void *start, uint64_t n, uint64_t size);
void rows_arrays_written(struct rows_arrays *arrays, const char *name,
			 const void *start, uint64_t n, uint64_t size);

/* These add the arrays of a list, and the memory of a table. */
void rows_arrays_add_list(struct rows_arrays *arrays,
			  const struct rows_list *list);
void rows_arrays_add_table(struct rows_arrays *arrays,
			   const struct rows_table *table);

/*
 * rows_arrays_check() gives ERROR_INVALID, with the names of the two, if an
 * array that is written overlaps another.
 */
enum philox_status rows_arrays_check(const struct rows_arrays *arrays);

/* rows_arrays_list() lists those of the caller for a device. */
void rows_arrays_list(const struct rows_arrays *arrays,
		      struct kernel_arrays *list);

/* --- draw.c: checks of arguments, for draws and samples ------------------- */

/*
 * All return ERROR_INVALID, with a text that names the field, unless they say
 * otherwise.
 */

struct rows_list;

/*
 * rows_check_list() checks a list (NULL: all rows) of a table with `count` rows
 * and converts it for kernels. `row` is what a message calls one.
 */
enum philox_status rows_check_list(const char *row, uint64_t count,
				   const struct philox_row_list *list,
				   struct rows_list *out);

/*
 * rows_check_flags() refuses flags that enum philox_rows_flags lacks, and steps
 * in a list of rows that advance.
 */
enum philox_status rows_check_flags(const char *what, uint32_t flags,
				    const struct rows_list *list);

/*
 * rows_check_extent() gives ERROR_OVERFLOW unless n entries of `count` elements
 * of a dtype, `pitch` elements apart, fit the address space. `what` and `name`
 * are the names of the description and its count.
 */
enum philox_status rows_check_extent(const char *what, uint64_t n,
				     const char *name, uint64_t count,
				     uint64_t pitch, enum philox_dtype dtype);

/* --- across: draws by vectors that go across rows ------------------------- */

/*
 * Where rows draw few numbers, vectors along a row would be empty. So the
 * blocks of many entries are collected, and a vector has one of them in each
 * lane, with a key of its own (lib/fill/simd/keyed.h). An entry's remaining
 * numbers come from a fill where they are many.
 */

/*
 * rows_draw_across() does a launch that draws the fill `kernel`, whose elements
 * have `size` bytes. Returns 0, with nothing done, if no vectors are in use.
 */
int rows_draw_across(const struct rows_draw_args *args, enum kernel kernel,
		     unsigned size);

#endif
