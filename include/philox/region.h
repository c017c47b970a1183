/*
 * philox/region.h - regions and their operators
 *
 * A region is a unit whose forward runs as a whole, and so does its backward: a
 * layer, a compiled function, a pipeline stage. One call makes it from a table
 * of operators, its random sites. Each operator gets a key:
 *
 *   region seed   = fold(generator seed, FNV-1a(name))
 *   operator seed = fold(region seed, op index, call)
 *
 * (but see PHILOX_REGION_SHARED). So two regions, two operators and two calls
 * of one operator never share numbers, and no key depends on the order of
 * creation. A region that differs along axes of a mesh has their coordinates
 * folded into its seed, too (philox/mesh.h).
 */
#ifndef PHILOX_REGION_H
#define PHILOX_REGION_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_region;

/* One operator: a random site of a region. */
struct philox_op_desc {
	const char *name; /* for messages; NULL for none; copied */
	uint32_t calls;   /* how often it draws per pass; 0 means 1 */
	uint64_t advance; /* 32-bit words a call consumes, a multiple of 4, at
			     most 2^56 (all calls of a region
			     together 2^60); 0 means 4 */
};

enum philox_region_flags {
	/* All ops draw from one stream, the generator's own, in the order of
	 * their table, each `calls` times: eager and captured runs equal a
	 * plain sequential program that draws from that generator. So the order
	 * of forwards matters, and of all such regions of a generator only one
	 * forward may be open at a time (PHILOX_ERROR_BUSY). */
	PHILOX_REGION_SHARED = 1
};

/*
 * Describes a region. Begin with PHILOX_INIT().
 *
 * Ops may grow like structs with a size (philox/status.h): `op_size` is the
 * size of one, and so the distance from one to the next in `ops`. A smaller
 * one, not below sizeof(const char *), lacks fields, which are taken as 0. A
 * larger one must be 0 where this library does not know it.
 */
struct philox_region_desc {
	size_t size;                      /* sizeof(this struct) */
	const char *name;                 /* unique in the context; copied */
	const struct philox_op_desc *ops; /* table of n_ops operators; copied */
	size_t n_ops;                     /* 1 .. 2^20, calls counted */
	size_t op_size; /* sizeof(struct philox_op_desc), a multiple of its
			   alignment; 0: as in the header that `size` tells,
			   which must not be newer than the library */
	struct philox_generator *generator; /* NULL: the context's default */
	uint32_t pending; /* most forwards owed at once; 0 means 64; see
			     philox_region_raise_pending() */
	uint32_t flags;   /* enum philox_region_flags */
	/* names of axes of the context's mesh along which the region's numbers
	 * differ, n_differs of them in any order; copied. Along all others they
	 * are shared. Without a mesh any names will do, and change nothing */
	const char *const *differs;
	size_t n_differs; /* 0 .. PHILOX_MESH_AXES */
};

/*
 * Create a region.
 *
 *   context    the context
 *   options    describes the region; copied
 *   region     written: the region; its context destroys it at the latest
 *
 * A region advances by its largest operator's `advance` for each forward. With
 * PHILOX_REGION_SHARED the generator advances, by the sum over all calls.
 * Memory for `pending` tickets is allocated now.
 *
 * A region created under the name of a destroyed one continues after the
 * highest offset and serial issued under that name, so no numbers repeat. It
 * must use the same generator, unless that was destroyed, and may differ along
 * other axes.
 *
 * A region whose name is unclaimed, of a text that was loaded ahead of it
 * (PHILOX_LOAD_AHEAD, philox/save.h), is the saved one, tickets included.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID    names the field; an axis that the context's mesh
 *                           lacks, or that is named twice; a region that
 *                           differs and is PHILOX_REGION_SHARED
 *   PHILOX_ERROR_EXISTS     a region of this name, or of a name with the same
 *                           hash, exists
 *   PHILOX_ERROR_MISMATCH   another generator than before; an unclaimed region
 *                           that is not like this one, the message names the
 *                           first difference
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_region_create(
	struct philox_context *context,
	const struct philox_region_desc *options,
	struct philox_region **region);

/*
 * Create a region of operators that each draw once and advance by 4.
 *
 *   context    the context, whose default generator it uses
 *   name       unique in the context; copied
 *   op_names   the operators' names, copied; NULL: none has a name
 *   n_ops      how many operators, 1 .. 2^20
 *   region     written: the region, with room for 64 pending tickets
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors: those of philox_region_create()
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_region_create_named(
	struct philox_context *context, const char *name,
	const char *const *op_names, size_t n_ops,
	struct philox_region **region);

/*
 * Destroy a region.
 *
 *   region     the region; NULL is allowed
 *
 * Its pending tickets are dropped: their saved contexts are released with the
 * null stream, and the log has their number. Graphs with passes of the region
 * can no longer be launched (PHILOX_ERROR_STALE). Open passes can only be
 * aborted.
 *
 * Returns PHILOX_OK, or an error; then the region is as it was.
 * Errors:
 *   PHILOX_ERROR_STALE   the region was destroyed
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_region_destroy(
	struct philox_region *region);

/*
 * Return the name of a region.
 *
 *   region     the region; NULL: "". The name lives as long as the context
 *
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API const char *philox_region_name(const struct philox_region *region);

/*
 * Write how many tickets of a region are pending.
 *
 *   region     the region
 *   pending    written: the number, retained tickets and open forwards included
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_STALE     the region was destroyed
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_region_pending_count(
	struct philox_region *region, size_t *pending);

/*
 * Raise how many tickets a region has room for.
 *
 *   region     the region
 *   pending    most forwards owed at once: what `pending` of its options was,
 *              or more. As many as now is allowed at any time, and changes
 *              nothing
 *
 * All tickets stay, with their states and their saved contexts. Graphs that
 * have passes of the region use the new room from their next launch on. Memory
 * for all of it is allocated now: while the region lives the room never grows
 * by itself, and never becomes smaller. It changes no numbers, and is in no
 * text: a load needs enough room for the tickets of the text, however the
 * context got it.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   region is NULL; pending is below what it is, or
 *                          above 2^28
 *   PHILOX_ERROR_STALE     the region was destroyed
 *   PHILOX_ERROR_STATE     a pass of the region is open (with INFERENCE or
 *                          WARMUP only if the region is SHARED); or in the
 *                          context a capture neither became a graph nor was
 *                          dropped, or a graph is between prologue and
 *                          epilogue. The message says which
 *   PHILOX_ERROR_MEMORY
 * During capture: not legal, if the capture has a pass of the context or
 * philox_capture_begin() or a runner began it: PHILOX_ERROR_STATE, and the
 * capture continues.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_region_raise_pending(
	struct philox_region *region, uint32_t pending);

/*
 * Return the number of cells that a pass of a region has.
 *
 *   region     the region; a destroyed one has 0
 *
 * It is the sum of the operators' calls.
 *
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API size_t philox_region_cell_count(const struct philox_region *region);

/*
 * Return the index of an operator's call among the cells of a pass.
 *
 *   region     the region
 *   op         the operator, in the order of the table
 *   call       below the operator's `calls`
 *
 * The array of philox_pass_states() is in order of operator, then call. If each
 * operator has one call, the index is the operator's. It is SIZE_MAX if op or
 * call is out of range or the region was destroyed.
 *
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API size_t philox_region_cell_index(const struct philox_region *region,
					   uint32_t op, uint32_t call);

#ifdef __cplusplus
}
#endif
#endif
