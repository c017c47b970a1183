/*
 * lib/state/region.h - regions as the library's parts see them
 *
 * A region's record belongs to its name: it stays in its context when the
 * region is destroyed, with the offset and serial issued last, and is used
 * again when a region of that name is made. So numbers and serials never
 * repeat, and a pointer to a destroyed region is recognised as one. `life`
 * counts the lives of the name; passes and captured passes remember it.
 *
 * All functions here are called with the context's lock held.
 */
#ifndef LIB_STATE_REGION_H
#define LIB_STATE_REGION_H

#include <philox/region.h>
#include "lib/base/hash.h"
#include "lib/state/context.h"
#include "lib/state/ledger.h"

struct region_op {
	char *name; /* or NULL */
	uint32_t calls;
	uint32_t cell;    /* index of its first cell */
	uint64_t advance; /* of one call, in words */
	uint64_t shift;   /* SHARED: of its first call, from the forward's */
};

/*
 * The axes of a mesh along which a region differs, in ascending order of the
 * bytes of their names; and the highest offset and serial that coordinates that
 * are gone had for their next forward, as a set of texts has said
 * (lib/ranks/merge.h), or 0: a name that ends its life takes them for its own.
 */
struct region_axes {
	char **names;
	size_t n;
	uint64_t offset;
	uint64_t serial;
};

struct philox_region {
	struct philox_context *context;
	struct philox_region *next; /* in the context's list */
	char *name;
	uint64_t key; /* hash of the name */

	uint64_t life; /* 0: never made; counts up when made */
	int alive;
	struct philox_generator *generator; /* NULL: destroyed since */
	struct region_op *ops;
	uint32_t n_ops;
	uint32_t cells;
	uint32_t flags;
	uint64_t advance; /* of one forward, in words */
	struct ledger ledger;
	struct region_axes axes; /* along which it differs */

	struct philox_state state; /* of the next forward, unless SHARED */
	uint64_t serial;           /* of the next forward */
};

/* region_status() names a region in the message of a failure. */
enum philox_status region_status(const struct philox_region *region,
				 enum philox_status status);

/* region_check_alive() gives ERROR_STALE for a region that was destroyed. */
enum philox_status region_check_alive(const struct philox_region *region);

/* region_is_life() tells whether a region is alive in this life of its name. */
static inline int region_is_life(const struct philox_region *region,
				 uint64_t life)
{
	return region->alive && region->life == life;
}

/* region_check_life() gives it for a region that is not in that life. */
enum philox_status region_check_life(const struct philox_region *region,
				     uint64_t life);

/* region_cell_state() returns the state of one call of an op in a forward. */
struct philox_state region_cell_state(const struct philox_region *region,
				      struct philox_state forward, uint32_t op,
				      uint32_t call);

/* region_restart() derives the seed again and begins at offset 0. */
void region_restart(struct philox_region *region);

/* region_end_life() destroys a region; its saved contexts are in `dropped`. */
void region_end_life(struct philox_region *region, struct ledger *dropped);

/*
 * region_axes_check() checks the axes that options name, without a lock;
 * region_axes_find() whether the context's mesh has them. region_axes_init()
 * copies them, in order. region_axes_seed() folds the coordinates that a mesh
 * has along them into a seed. (lib/state/region_axes.c)
 */
enum philox_status region_axes_check(
	const struct philox_region_options *options);
enum philox_status region_axes_find(
	const struct philox_context *context,
	const struct philox_region_options *options);
enum philox_status region_axes_init(
	struct region_axes *axes, const struct philox_region_options *options);
void region_axes_finish(struct region_axes *axes);
uint64_t region_axes_seed(const struct region_axes *axes,
			  const struct philox_mesh *mesh, uint64_t seed);

/* region_free_ops() frees a table of operators; NULL is fine. */
void region_free_ops(struct region_op *ops, uint32_t n_ops);

/*
 * region_new() makes the record of a name that was never alive and is in no
 * list; NULL, with ERROR_MEMORY as the thread's status, if there is no memory.
 */
struct philox_region *region_new(struct philox_context *context,
				 const char *name);

/* region_free() frees a record and all it still holds; needs no lock. */
void region_free(struct philox_region *region);

/* region_find_cell() is philox_region_cell() with the lock held. */
size_t region_find_cell(const struct philox_region *region, uint32_t op,
			uint32_t call);

/* region_op_name() returns an operator's name for messages, never NULL. */
const char *region_op_name(const struct philox_region *region, uint32_t op);

/*
 * pass_begin_given() begins a pass that holds nothing, on a stream that does
 * not capture: it draws from a state that it is given, and reads no ticket.
 * pass_begin_dry() begins one that looks like a backward, of a body that is run
 * dry (graph/runner/state/runner.h), from the state of the region's next forward. The
 * caller, who is told of their end by the hook `ended`, gives their cells back.
 * (lib/pass/pass.c)
 */
enum philox_status pass_begin_given(struct philox_region *region,
				    philox_stream stream, int backward,
				    unsigned flags, struct philox_state state,
				    struct philox_pass *pass);
enum philox_status pass_begin_dry(struct philox_region *region,
				  philox_stream stream, unsigned flags,
				  struct philox_pass *pass);

#endif
