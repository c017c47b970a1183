/*
 * tests/support/ranks/mesh.h - meshes, ranks that are contexts of one process,
 * and the numbers of regions that differ, computed from philox/mesh.h alone
 *
 * Keys are derived here by a Philox of its own, which shares no code with
 * philox/state.h.
 */
#ifndef TESTS_SUPPORT_MESH_BED_H
#define TESTS_SUPPORT_MESH_BED_H

#include "tests/support/support.h"

enum { BED_RANKS = 24 };

/* The axes that a region differs along, in the order in which it names them. */
struct along {
	const char *names[PHILOX_MESH_AXES];
	size_t n;
};

/* SplitMix64: Steele, Lea, Flood. */
uint64_t bed_random(uint64_t *random);
uint32_t bed_below(uint64_t *random, uint32_t bound);

/* --- meshes --------------------------------------------------------------- */

/* "data=1/4 tensor=0/2"; the names live as long as the process. */
struct philox_mesh mesh_of(const char *text);

/*
 * A mesh of at most `world` ranks, with 1 to 8 axes, and coordinates of 0;
 * axes of size 1 are among them, and names that bytes and chars order in two
 * ways.
 */
struct philox_mesh random_mesh(uint64_t *random, uint32_t world);
/* The same mesh with its axes in another order. */
struct philox_mesh shuffled(uint64_t *random, const struct philox_mesh *mesh);
/* Some axes of it, in any order. */
struct along random_along(uint64_t *random, const struct philox_mesh *mesh);

/* The next rank, in the order of philox/mesh.h; 0 after the last one. */
int next_place(struct philox_mesh *mesh);

/* Whether two places have the same coordinates along some axes. */
int same_place(const struct philox_mesh *a, const struct philox_mesh *b,
	       const struct along *along);

/* --- keys and numbers ----------------------------------------------------- */

uint64_t model_fold(uint64_t seed, uint64_t plane, uint64_t index);
/* The seed of a region that differs; mesh NULL: there is none. */
uint64_t model_region(uint64_t seed, const char *name,
		      const struct philox_mesh *mesh,
		      const struct along *along);
uint64_t model_op(uint64_t region, uint32_t op, uint32_t call);
/* Elements first .. first + n - 1 of what an operator draws from a state. */
void model_words(uint64_t seed, uint64_t offset, uint64_t first, uint64_t n,
		 uint32_t *words);
/* The numbers of a forward of make_region(), from the region's seed. */
struct numbers model_numbers(uint64_t region, uint64_t offset);

/* --- regions and ranks ---------------------------------------------------- */

/* As make_region_of(). */
struct philox_region *make_along(struct philox_context *context,
				 const char *name, const struct along *along);
/* The same with options that may be wrong. */
enum philox_status try_along(struct philox_context *context, const char *name,
			     uint32_t flags, const char *const *differs,
			     size_t n, struct philox_region **region);

/* All ranks of a mesh, at most BED_RANKS, with one seed. */
struct bed {
	struct philox_context *context[BED_RANKS];
	struct philox_mesh mesh[BED_RANKS];
	unsigned n;
	struct fixture *f;
	struct philox_context *own; /* the fixture's, which is put back */
};

void bed_open(struct bed *bed, struct fixture *f,
	      const struct philox_mesh *mesh, uint64_t seed);
void bed_close(struct bed *bed);
/* The fixture's functions work on this rank's context from now on. */
void bed_go(struct bed *bed, unsigned rank);

#endif
