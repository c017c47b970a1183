/*
 * tests/support/fills.h - every kind of fill, for tests that try them all
 */
#ifndef TESTS_SUPPORT_FILLS_H
#define TESTS_SUPPORT_FILLS_H

#include "tests/support/support.h"

struct fill_name {
	const char *name;
	enum philox_dist dist;
	enum philox_dtype dtype;
	size_t in_size, size; /* of an element */
	int bits;             /* of a draw: 32 or 64 */
};

extern const struct fill_name fill_names[];
extern const size_t n_fill_names;

/* Dists from 0 on, among them unknown ones. */
#define SOME_DISTS 64

/* A fill of a kind with plain parameters, without arrays. */
struct philox_fill_desc plain_fill(const struct fill_name *name);

/*
 * The sums of the categories of plain_fill(), in memory of the host: of weights
 * of which many are 0, in a total above 2^63, so that many draws are rejected.
 * give_sums() makes their copy on the device `in`, if the fill is of them.
 */
#define PLAIN_CATEGORIES 1501
const uint64_t *plain_sums(void);
void give_sums(struct fixture *f, struct philox_fill_desc *fill);

/* Whether that fill has an element: a permutation ends. */
int has_element(const struct fill_name *name, uint64_t element);

/* Bytes that form numbers of every kind, the same each time. */
void scatter(void *bytes, size_t size);

#endif
