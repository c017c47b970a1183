/*
 * lib/ranks/load.h - what can be loaded into a mesh: a set, or one text
 *
 * The text of a context whose world has one rank is as good as a set of it.
 */
#ifndef LIB_RANKS_LOAD_H
#define LIB_RANKS_LOAD_H

#include "lib/ranks/merge.h"
#include "lib/ranks/set.h"

struct source {
	const char *path; /* the caller's */
	int is_set;
	struct set set;
	struct saved single; /* if it is none */
};

/*
 * source_open() reads the file at a path: ERROR_FILE, ERROR_INVALID,
 * ERROR_UNSUPPORTED; ERROR_MISMATCH for the text of one rank of many;
 * ERROR_MEMORY. Each names the file.
 */
enum philox_status source_open(const char *path, struct source *source);
void source_close(struct source *source);

/* source_mesh() is the mesh that it was saved by, at any place. */
const struct philox_mesh *source_mesh(const struct source *source);

/* source_world() is how many texts it has. */
uint64_t source_world(const struct source *source);

/*
 * source_text() reads the text of a rank; in a set it must be the one that the
 * manifest names. The caller ends with saved_finish().
 */
enum philox_status source_text(const struct source *source, uint64_t rank,
			       struct saved *saved);

/*
 * source_merge() makes what a rank has in another mesh (merge_init()), from as
 * many of the texts as it needs, one at a time. *merge says which regions start
 * fresh; the caller finishes it if all went well. Errors: those of
 * source_text() and of lib/ranks/merge.h; all name the file.
 */
enum philox_status source_merge(const struct source *source,
				const struct saved *wanted, struct merge *merge,
				struct saved *made);

#endif
