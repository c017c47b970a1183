/*
 * tools/merge/merge.h - philox merge: which ranks of another mesh have what
 *
 * Note [Placing]
 * ~~~~~~~~~~~~~~
 * A region, table of rows or data goes where its old ranks were, axis by axis.
 * An axis that a mesh lacks has size 1.
 *
 *  - All coordinates of the old axis become all of the new one.
 *  - A part of an axis whose size stays is the same part.
 *  - A part of an axis becomes coordinate 0 of one of size 1.
 *  - A part of an axis whose size changes otherwise has to be placed by --place,
 *    of which the last that fits wins, for every axis by itself. It may also
 *    move what would stay.
 *
 * This says for each axis by itself where something is, so its old ranks have
 * to be all that there are at those coordinates, or --place has to say for all
 * axes where it goes.
 */
#ifndef TOOLS_MERGE_MERGE_H
#define TOOLS_MERGE_MERGE_H

#include <stddef.h>
#include <stdint.h>
#include "lib/ranks/ranks.h"

/* "--place PATTERN=AXIS:0,2" or "--differs PATTERN=AXIS,AXIS" */
struct merge_rule {
	const char *given; /* the whole value */
	char *pattern;
	char **words; /* after the '=', between commas */
	size_t n_words;
	char *axis;            /* of --place: before the ':' */
	uint64_t *coordinates; /* of --place: the words, checked */
	int used;
};

struct merge_rules {
	struct merge_rule *rules;
	size_t n;
};

/* What one text or more have alive. */
struct merge_item {
	char *name;
	enum save_item kind;
	char **axes; /* of a region: along which it differs */
	size_t n_axes;
	unsigned char *old[PHILOX_MESH_AXES];  /* where it is, by coordinate */
	unsigned char *made[PHILOX_MESH_AXES]; /* where it goes */
	uint64_t ranks;                        /* that have it */
	uint64_t fresh;                        /* new ranks where it is so */
};

struct merge_job {
	const char *old_path, *new_path;
	const char *given_mesh;
	struct merge_rules places, differs;
	struct source source;
	struct philox_mesh to;    /* its names are its own */
	struct merge_item *items; /* regions, tables, data, by name */
	size_t n_items;
	struct keyed by_name; /* while texts are read: items */
	struct saved *texts; /* of all old ranks: each is read once */
	size_t n_texts;
};

/*
 * All return 0, or the exit status after saying what is wrong.
 *
 * merge_take_mesh() reads "data=2,pipe=4:stages"; merge_take_rule() adds the
 * value of an option, "place" or "differs".
 */
int merge_take_mesh(struct merge_job *job);
int merge_take_rule(struct merge_rules *rules, const char *option,
		    const char *value);
void merge_free_rules(struct merge_rules *rules);

/*
 * merge_survey() reads all texts and lists what they have, and where;
 * merge_free_items() frees both.
 */
int merge_survey(struct merge_job *job);
void merge_free_items(struct merge_job *job);

/* merge_place() decides where everything goes: Note [Placing]. */
int merge_place(struct merge_job *job);

/* merge_write() writes the new set, all of it or nothing. */
int merge_write(struct merge_job *job);

/*
 * merge_signal() is the signal that wants the command to end, or 0: it ends
 * when nothing of it is left. merge_progress() says how far it is: in which of
 * two parts of the work, 0 or 1, and after how many of its texts.
 */
int merge_signal(void);
void merge_progress(const char *name, int second, uint64_t n, uint64_t of);

/* The most ranks of a new mesh: each has a file of its own. */
#define MERGE_RANKS_MAX (UINT64_C(1) << 20)

#endif
