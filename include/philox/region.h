/*
 * philox/region.h - regions and their operators
 *
 * A region is a unit whose forward runs as a whole, and its backward too: a
 * layer, a compiled function, a pipeline stage. It is made in one call from a
 * table of operators, its random sites, each of which gets its own key:
 *
 *   region seed   = fold(generator seed, FNV-1a(name))
 *   operator seed = fold(region seed, op index, call)
 *
 * (but see PHILOX_REGION_SHARED), so two regions, two operators and two calls
 * of one operator never share numbers, and none of them depends on the order of
 * creation. A region that differs along axes of a mesh has their coordinates
 * folded into its seed, too (philox/mesh.h).
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
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

/* struct philox_op_desc describes one operator: one random site of a region. */
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
 * struct philox_region_desc describes a region. Begin with PHILOX_INIT().
 *
 * Ops may grow like structs with a size (philox/status.h): `op_size` is the
 * size of one, and so the distance from one to the next in `ops`. A smaller
 * one, not below sizeof(const char *), lacks fields, which are taken as 0; a
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
	uint32_t pending; /* most forwards owed at once; 0 means 64 */
	uint32_t flags;   /* enum philox_region_flags */
	/* names of axes of the context's mesh along which the region's numbers
	 * differ, n_differs of them in any order; copied. Along all others they
	 * are shared. Without a mesh any names will do, and change nothing */
	const char *const *differs;
	size_t n_differs; /* 0 .. PHILOX_MESH_AXES */
};

/*
 * philox_region_create() makes a region. One made again under the name of a
 * destroyed region continues after the highest offset and serial issued under
 * that name, so no numbers repeat; it must use the same generator, unless that
 * was destroyed, and may differ along other axes. The region advances by its
 * largest operator's `advance` per forward; with PHILOX_REGION_SHARED the
 * generator advances, by the sum over all calls. Memory for `pending` tickets
 * is allocated now. Errors: PHILOX_ERROR_INVALID (names the field; for an axis
 * that the context's mesh lacks or that is named twice, the axis; and for one
 * that differs and is PHILOX_REGION_SHARED), PHILOX_ERROR_EXISTS (a region of
 * this name, or of a name with the same hash, is alive), PHILOX_ERROR_MISMATCH
 * (another generator than before), PHILOX_ERROR_MEMORY. The region is destroyed
 * by philox_region_destroy() or with the context. Legal during capture.
 */
PHILOX_API enum philox_status philox_region_create(
	struct philox_context *context,
	const struct philox_region_desc *options,
	struct philox_region **region);

/*
 * philox_region_create_named() makes a region of n_ops operators that each draw
 * once and advance by 4, named op_names[0] and so on (NULL: no name), on the
 * context's default generator, with room for 64 pending tickets and without
 * flags: for all who need no other options. Errors and the rest as
 * philox_region_create(). Legal during capture.
 */
PHILOX_API enum philox_status philox_region_create_named(
	struct philox_context *context, const char *name,
	const char *const *op_names, size_t n_ops,
	struct philox_region **region);

/*
 * philox_region_destroy() destroys a region; NULL is allowed. Pending tickets
 * are dropped, their saved contexts released (with the null stream) and their
 * number reported through the log. Graphs that hold passes of the region can no
 * longer be launched (PHILOX_ERROR_STALE); passes still open can only be
 * aborted. Legal during capture.
 */
PHILOX_API enum philox_status philox_region_destroy(
	struct philox_region *region);

/*
 * philox_region_name() returns a region's name, which lives as long as the
 * context; "" for NULL. Legal during capture.
 */
PHILOX_API const char *philox_region_name(const struct philox_region *region);

/*
 * philox_region_pending_count() writes how many tickets of a region are pending
 * (retained ones and open forwards included). Errors: PHILOX_ERROR_INVALID,
 * PHILOX_ERROR_STALE. Legal during capture.
 */
PHILOX_API enum philox_status philox_region_pending_count(
	struct philox_region *region, size_t *pending);

/*
 * philox_region_cell_count() returns how many cells a pass of the region has:
 * the sum of its operators' calls. philox_region_cell_index() returns the index
 * of the cell of one call of one operator in the array that
 * philox_pass_states() gives: cells are in order of operator, then call. With
 * one call each, the index is the operator's. It is SIZE_MAX if op or call is
 * out of range, or the region is destroyed (then there are 0 cells). Legal
 * during capture.
 */
PHILOX_API size_t philox_region_cell_count(const struct philox_region *region);
PHILOX_API size_t philox_region_cell_index(const struct philox_region *region,
					   uint32_t op, uint32_t call);

#ifdef __cplusplus
}
#endif
#endif
