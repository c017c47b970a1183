/*
 * tests/sample/known.h - the cases of filters.txt, as calls
 *
 * The oracle of what is kept is filters.py, the law in integers and fractions;
 * its answers are in filters.txt: how many are kept, and the last.
 */
#ifndef TESTS_SAMPLE_KNOWN_H
#define TESTS_SAMPLE_KNOWN_H

#include <stdio.h>
#include <philox/rows.h>
#include "tests/support/support.h"

enum { KNOWN_LISTED = 64 };

/* A line of filters.txt, and what it says. */
struct known {
	uint32_t kind, seed, vocab, first, mask, order, filters, k;
	enum philox_dtype dtype;
	float temperature, p, m;
	uint32_t kept;
	int64_t last;
	uint32_t listed[KNOWN_LISTED]; /* logits of kind 7 */
	float *logits;
	uint32_t *allowed; /* of the whole vocabulary; NULL: all */
	int line;
};

/* Device memory of one call. */
struct known_memory {
	struct philox_state state;
	uint64_t cut;
	uint32_t k, kept;
	float temperature, p, m;
	int32_t token;
};

/* Random numbers: below n, and about normal, with digits that fit a dtype. */
uint32_t known_below(uint32_t *x, uint32_t n);
float known_bell(uint32_t *x, enum philox_dtype dtype);

/* known_next() reads the next case and makes its row; 0 after the last. */
int known_next(FILE *file, struct known *of);

/* known_make() makes the logits and the mask of a row, for known_free(). */
void known_make(struct known *of);
void known_free(struct known *of);

/* known_logit() returns column c's, or -infinity if it may not be drawn. */
float known_logit(const struct known *of, uint32_t c);

/*
 * known_describe() returns a sample of one entry, with arrays in device memory,
 * which known_undescribe() frees.
 */
struct philox_sample_desc known_describe(struct fixture *f,
					 const struct known *of,
					 struct known_memory *memory);
void known_undescribe(struct fixture *f,
		      const struct philox_sample_desc *sample);

/* known_run() makes such a sample, and waits for it. */
void known_run(struct fixture *f, const struct known_memory *memory,
	       const struct philox_sample_desc *sample);

/* --- whole calls ---------------------------------------------------------- */

/* known_rows() makes a table; known_sample() logits for it, about normal. */
struct philox_rows *known_rows(struct fixture *f, uint32_t count);
struct philox_sample_desc known_sample(struct fixture *f, uint32_t entries,
				       uint32_t vocab);

#endif
