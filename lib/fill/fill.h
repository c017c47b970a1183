/*
 * lib/fill/fill.h - fills: checked, and run on a CPU
 */
#ifndef LIB_FILL_FILL_H
#define LIB_FILL_FILL_H

#include <philox/fill.h>
#include "lib/base/base.h"
#include "lib/device/contract.h"
#include "lib/device/kernels.h"
#include "lib/fill/simd/tables.h"

/* --- fill: fills: checked, turned into a kernel call, put on a stream ----- */

/*
 * A caller's fill and its layout, as this version knows them: fields that the
 * structs of an older version lack are 0. Unless it is NULL, fill.layout points
 * to this layout, so the struct must not move.
 */
struct fill_taken {
	struct philox_fill_desc fill;
	struct philox_layout_desc layout;
};

/*
 * A fill as a kernel call, which points into the struct: it must not move.
 * Without a layout only the fill's arguments are used.
 */
struct fill_launch {
	struct fill_taken taken;
	struct kernel_call call;
	struct kernel_arrays arrays;
	struct layout_args args;
};

/*
 * fill_args() makes the kernel's arguments of a checked fill; its threads are
 * 1.
 */
void fill_args(const struct philox_fill_desc *fill, struct philox_rng rng,
	       struct fill_args *args);

/*
 * fill_prepare() takes a caller's fill, checks it and makes a kernel call of
 * it, whatever the rounding mode of the caller's thread; errors are those of
 * philox_rng_fill().
 */
enum philox_status fill_prepare(const struct philox_device *device,
				struct philox_rng rng,
				const struct philox_fill_desc *fill,
				struct fill_launch *launch);

/*
 * What fills and tensors that are rounded have in common. `what` begins the
 * messages: "fill". fill_check_rows() refuses rows that overlap, fill_check_rng()
 * a state that is none. fill_find_last() writes the last element of a span that
 * is not empty, or returns 0 if that is past 2^64.
 */
static inline uint64_t fill_rows(const struct philox_span *span)
{
	return span->rows ? span->rows : 1;
}
enum philox_status fill_check_rows(const char *what,
				   const struct philox_span *span);
int fill_find_last(const struct philox_span *span, uint64_t *last);
enum philox_status fill_check_rng(const char *what,
				  const struct philox_rng *rng);

/*
 * fill_overlap() says whether two arrays overlap. fill_check_overlap() refuses
 * arrays of which one is written and overlaps another. Those that are written
 * come first; names are "WHAT: MEMBER", of one WHAT.
 */
int fill_overlap(const struct kernel_array *a, const struct kernel_array *b);
enum philox_status fill_check_overlap(const struct kernel_array *arrays,
				      uint32_t n);

/* fill_put() puts a prepared fill on a stream. */
enum philox_status fill_put(struct philox_device *device, philox_stream stream,
			    const struct fill_launch *launch);

/* --- host.c: many keys at once, on the host ------------------------------- */

/*
 * keys_fold() makes out[i] = philox_fold(seed[i], high[i], low[i]) of the first
 * n blocks, n <= SIMD_KEYED_MAX: `high` is the plane and `low` the index. What
 * it leaves in the rest of `out` is of no use.
 */
void keys_fold(const struct simd_keyed *blocks, unsigned n,
	       uint64_t out[SIMD_KEYED_MAX]);

/* --- host: a fill on the host device -------------------------------------- */

/*
 * An array is cut into parts for the threads, regardless of its rows' bounds,
 * and rows into chunks for the vector loops (lib/fill/simd). A chunk of which
 * only a part lies in the row is made in a separate buffer.
 */

/* fill_host_run() does a fill, on the calling thread and on helpers. */
void fill_host_run(enum kernel kernel, const struct fill_args *args);

/*
 * fill_host_plain() does it without vectors and threads: the reference that
 * everything else is compared with.
 */
void fill_host_plain(enum kernel kernel, const struct fill_args *args);

/*
 * fill_host_parts() returns into how many parts a fill is cut, 0 or 1 for none:
 * at most one for each of its threads and each MiB of output.
 */
unsigned fill_host_parts(enum kernel kernel, const struct fill_args *args);

/* Parts begin at multiples of this many elements of the array. */
#define FILL_PART_UNIT 4096

/* Elements [begin, end) of an array, whose rows follow each other. */
struct fill_part {
	uint64_t begin, end;
};

/*
 * fill_host_part() returns part i of n. Parts cover the elements once, in
 * order, and differ by one unit at most; with n units or more none is empty.
 */
struct fill_part fill_host_part(uint64_t elements, unsigned i, unsigned n);

#endif
