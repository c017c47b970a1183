/*
 * lib/sample/host.h - what the loops of samples have in common
 */
#ifndef LIB_SAMPLE_HOST_H
#define LIB_SAMPLE_HOST_H

#include "lib/fill/simd/tables.h"
#include "lib/rows/host.h"
#include "lib/change/change.h"
#include "lib/sample/filter.h"

/* sample_columns() returns the columns of an entry; `size` is a logit's. */
struct simd_columns sample_columns(const struct sample_args *args,
				   const struct sample_row *row, uint64_t entry,
				   unsigned size);

/* sample_across() returns the greatest key of an entry's columns, by vectors. */
uint64_t sample_across(const struct simd_loops *loops, enum kernel kernel,
		       const struct sample_args *args,
		       const struct sample_row *row, uint64_t entry,
		       unsigned size);

/* --- columns: those of an entry that is filtered ------------------------- */

enum {
	FILTER_ROOM = 4096,   /* keys of a list */
	FILTER_SPAN = 256,    /* columns that are fetched at a time */
	FILTER_CHANGED = 2048 /* that are changed at a time, for vectors */
};

#define FILTER_TOP SAMPLE_NO_TOKEN /* above all keys */

/* Fetches the logits of n columns from `from` on, whatever their dtype. */
typedef void filter_fetch(const struct sample_args *args, uint64_t entry,
			  uint32_t from, uint32_t n, float *logits);

/* An entry that is filtered. */
struct filter_job {
	const struct sample_args *args;
	uint64_t entry;
	filter_fetch *fetch;
	enum kernel kernel;             /* of SAMPLE_LIST */
	size_t size;                    /* bytes of a logit */
	const struct simd_loops *loops; /* NULL: no vectors */
	struct simd_columns columns;    /* for them */
	const struct change *change;    /* NULL: logits are as they are */
	uint64_t first;                 /* the greatest key, if it is known */
	struct filter_row row;
	uint64_t least, most; /* all keys from one to the other are listed */
	uint32_t n;
	uint64_t *keys; /* FILTER_ROOM of them */
};

/* filter_logits() writes n logits from column `from` on, with what changes. */
void filter_logits(const struct filter_job *job, uint32_t from, uint32_t n,
		   float *logits);

/* The columns of a job for vectors: all, or some that are changed. */
struct filter_part {
	struct simd_columns columns;
	enum kernel kernel;
	uint32_t at; /* where the next part begins */
	float logits[FILTER_CHANGED];
};

/* filter_take_part() makes a part: FILTER_CHANGED columns at most, if changed. */
void filter_take_part(const struct filter_job *job, uint32_t from, uint32_t n,
		      struct filter_part *part);

/* filter_next_part() makes the next part; `at` begins with 0; 0 after the last. */
int filter_next_part(const struct filter_job *job, struct filter_part *part);

/* filter_best() returns the greatest key of a job's columns, by vectors. */
uint64_t filter_best(const struct filter_job *job);

/* filter_keys() writes the keys of n columns; 0 where none may be drawn. */
void filter_keys(const struct filter_job *job, uint32_t from, uint32_t n,
		 uint64_t *keys);

/* filter_is_listed() says whether all keys from `least` to `most` are listed. */
int filter_is_listed(const struct filter_job *job, uint64_t least,
		     uint64_t most);

/*
 * filter_some() writes the next keys of an entry, in the order of columns, that
 * include all from `least` to `most`, and returns how many there are; 0 after
 * the last. *at begins with 0. Where they are not listed they are those of
 * FILTER_SPAN columns, but for the last, and *at is where the next begin.
 */
uint32_t filter_some(const struct filter_job *job, uint64_t least,
		     uint64_t most, uint32_t *at, const uint64_t **keys,
		     uint64_t room[FILTER_SPAN]);

/* filter_first() returns the greatest key: that of a NaN if there is one. */
uint64_t filter_first(const struct filter_job *job);

/*
 * filter_kept_of() says how many keys there are from a cut on, and the last, and
 * writes their tokens where the sample wants them.
 */
struct filter_kept filter_kept_of(const struct filter_job *job, uint64_t cut);

/* filter_below() returns the number below the logit of a key. */
float filter_below(uint64_t key);

/*
 * filter_list() lists all keys from one to another, if there is room; says
 * whether it did.
 */
int filter_list(struct filter_job *job, uint64_t least, uint64_t most);

/* --- masses: what filters do, for those who draw by other rules ----------- */

/* What an entry keeps. */
struct masses {
	uint64_t cut; /* the key of the last token; SAMPLE_NO_TOKEN: nothing */
	struct filter_sum all;
	struct filter_job job;
};

/*
 * masses_open_<dtype>() begins with an entry whose greatest key is `first`; it
 * is looked for if that is 0, and then in job.first. *row must be valid, and
 * *change (NULL: logits are as they are) outlive the masses. `keys` has room for
 * FILTER_ROOM; after it is used for another entry, only filter_keys() may be
 * called. job.row makes masses of keys.
 */
#define MASSES_OPEN(name, type)                                               \
	void masses_open_##name(struct masses *masses, uint64_t *keys,        \
				const struct sample_args *args,               \
				uint64_t entry, const struct sample_row *row, \
				const struct change *change, uint64_t first);
SAMPLE_LIST(MASSES_OPEN)
#undef MASSES_OPEN

typedef void masses_open(struct masses *masses, uint64_t *keys,
			 const struct sample_args *args, uint64_t entry,
			 const struct sample_row *row,
			 const struct change *change, uint64_t first);

/*
 * masses_keep() finds what the filters of an entry keep, and the sum of its
 * masses: at temperature 0 the first token.
 */
void masses_keep(struct masses *masses, const struct sample_row *row);

/* masses_sum() adds up the masses of all keys from a cut on, in halves. */
void masses_sum(struct masses *masses, uint64_t cut, uint64_t sums[2]);

/* masses_sum_of() does so for n columns from `from` on. */
void masses_sum_of(struct masses *masses, uint64_t cut, uint32_t from,
		   uint32_t n, uint64_t sums[2]);

/* masses_draw() returns the greatest key of what row->cut keeps: 0 if none. */
uint64_t masses_draw(struct masses *masses, const struct sample_row *row);

/*
 * masses_top() writes the first n keys from a cut on, in any order, and returns
 * how many there are; n is at most LOGPROB_TOP_MAX.
 */
uint32_t masses_top(struct masses *masses, uint64_t cut, uint32_t n,
		    uint64_t *keys);

#endif
