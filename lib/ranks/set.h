/*
 * lib/ranks/set.h - the texts of all ranks of a mesh as one set
 *
 * Note [Set of texts]
 * ~~~~~~~~~~~~~~~~~~~
 * The text of rank R is the file PATH.R (Note [Saved context]); the manifest,
 * PATH itself, is a text like it:
 *
 *   philox set 1
 *   axis "data" size 2
 *   axis "stage" size 2 stages
 *   text 0 checksum 0123456789abcdef bytes 397
 *   text 1 checksum 8b51f0cdfe2ae5ee bytes 401
 *   text 2 checksum 0c13ffa3b86c9d10 bytes 397
 *   text 3 checksum 63ae0b48e3a4f9c2 bytes 401
 *   checksum 3f2e3b1c5d60a98e bytes 231
 *
 *  philox set V       The version, 1.
 *  axis NAME size N [stages]
 *                     The axes of the mesh, in order; none for a single rank
 *                     without a mesh.
 *  text R checksum H bytes B
 *                     For each rank from 0 on: what the last line of its text
 *                     says.
 *  checksum H bytes B That of the manifest.
 *
 * A manifest is written when all texts were found whole, to be those of its
 * mesh and their ranks, and of one step (Note [Texts of one step]). A text that was saved afterwards, or is of another set,
 * ends otherwise: so a set is read only if nothing has changed since. A save
 * that is killed leaves texts without a manifest. Since the manifest says how
 * texts end, they need not be read to know that they are those of the set, but
 * they are read whole before anything is done with them.
 */
#ifndef LIB_RANKS_SET_H
#define LIB_RANKS_SET_H

#include <stddef.h>
#include <stdint.h>
#include <philox/mesh.h>
#include "lib/base/status.h"

struct saved;

#define SET_VERSION 1
#define SET_START   "philox set "

/* What the last line of a text says. */
struct set_end {
	uint64_t checksum;
	uint64_t bytes;
};

struct set {
	struct philox_mesh mesh; /* at rank 0; its names are its own */
	struct set_end *ends;    /* one for each rank */
	size_t n;
};

/*
 * set_read() reads a manifest: ERROR_INVALID, ERROR_UNSUPPORTED, ERROR_MEMORY.
 * The memory it takes is in proportion to the text. set_write() writes one.
 */
enum philox_status set_read(const char *text, size_t size, struct set *set);
enum philox_status set_write(const struct set *set, char **text, size_t *size);
void set_finish(struct set *set);

/* set_path() makes the path of a rank's text, for free(); NULL: no memory. */
char *set_path(const char *path, uint64_t rank);

/*
 * set_read_text() reads the text of a rank, which must be whole, of that rank
 * of the mesh, and end as `expected` says, unless that is NULL. *end is how it
 * ends; NULL if nobody asks. Every error names the file: ERROR_FILE,
 * ERROR_INVALID for a text that is damaged or not the expected one,
 * ERROR_UNSUPPORTED, ERROR_MISMATCH for one of another mesh or rank,
 * ERROR_MEMORY.
 */
enum philox_status set_read_text(const char *path, uint64_t rank,
				 const struct philox_mesh *mesh,
				 const struct set_end *expected,
				 struct saved *saved, struct set_end *end);

/*
 * set_seal() reads the texts of all ranks of a mesh that was taken without its
 * coordinates, and writes the manifest: the errors of philox_mesh_seal().
 */
enum philox_status set_seal(const struct philox_mesh *mesh, const char *path);

#endif
