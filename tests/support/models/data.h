/*
 * tests/support/models/data.h - a run through sources, one position after the
 * other: an oracle for philox/mixture.h that keeps every array it speaks of
 */
#ifndef TESTS_SUPPORT_DATA_MODEL_H
#define TESTS_SUPPORT_DATA_MODEL_H

#include <philox/data.h>

enum { DATA_SOURCES = 6 };

/* A source, and where its reader is. */
struct data_walker {
	struct philox_source_desc of;
	uint64_t quota, seed;
	uint64_t epoch, next; /* the next draw is order[next] of the epoch */
	uint64_t *order;      /* of the epoch */
};

struct data_model {
	struct data_walker sources[DATA_SOURCES];
	unsigned n;
	uint64_t key, block, position;
	struct philox_mixture_sample *slots; /* of the block */
};

/* The sum of weights times block has to be below 2^64. */
void model_data_open(struct data_model *model, struct philox_state state,
		     const struct philox_source_desc *sources, unsigned n,
		     uint64_t block);
void model_data_close(struct data_model *model);

/* What is read at the next position. */
struct philox_mixture_sample model_data_next(struct data_model *model);

/* Quotas alone. */
void model_data_quotas(const struct philox_source_desc *sources, unsigned n,
		       uint64_t block, uint64_t *quotas);

/* Random sources, up to DATA_SOURCES: returns how many, with a fit block. */
unsigned model_data_draw(uint64_t seed, struct philox_source_desc *sources,
			 uint64_t *block);

#endif
