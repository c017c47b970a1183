/*
 * tests/data/known.c - known answers, which tests/data/known.py makes from the
 * comments of the headers and which share nothing with the library
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/support.h"

#define PATH "tests/data/known.txt"

enum { SOURCES_MOST = 64 };

struct known {
	struct philox_state state;
	uint64_t block;
	unsigned n;
	struct philox_source_desc sources[SOURCES_MOST];
	uint64_t quotas[SOURCES_MOST];
	struct philox_mixture_source made[SOURCES_MOST];
	struct philox_mixture mixture;
	unsigned mixtures, positions;
};

static void read_sources(FILE *file, struct known *known)
{
	char line[256];

	for (unsigned i = 0; i < known->n; i++) {
		struct philox_source_desc *source = &known->sources[i];

		cr_assert_not_null(fgets(line, sizeof(line), file));
		cr_assert_eq(sscanf(line,
				    "%" SCNu64 " %" SCNu64 " %" SCNu64
				    " %" SCNu64,
				    &source->samples, &source->weight,
				    &source->window, &known->quotas[i]),
			     4);
	}
}

static void make_mixture(struct known *known)
{
	struct philox_data_desc options = PHILOX_INIT(struct philox_data_desc);

	options.sources = known->sources;
	options.n_sources = known->n;
	options.source_size = sizeof(*known->sources);
	options.block = known->block;
	OK(philox_data_quotas(&options, known->made));
	for (unsigned i = 0; i < known->n; i++)
		cr_assert_eq(known->made[i].quota, known->quotas[i],
			     "mixture %u, source %u: quota %" PRIu64
			     ", not %" PRIu64,
			     known->mixtures, i, known->made[i].quota,
			     known->quotas[i]);
	known->mixture = philox_mixture_of(known->state, known->made, known->n);
	known->mixtures++;
}

static void check_position(struct known *known, const char *line)
{
	struct philox_mixture_sample at, expected = {0};
	uint64_t position;

	cr_assert_eq(sscanf(line, "%" SCNu64 " %u %" SCNu64 " %" SCNu64,
			    &position, &expected.source, &expected.epoch,
			    &expected.sample),
		     4, "%s", line);
	at = philox_mixture_at(&known->mixture, position);
	cr_assert(at.source == expected.source && at.epoch == expected.epoch &&
			  at.sample == expected.sample,
		  "mixture %u, position %" PRIu64 ": %u %" PRIu64 " %" PRIu64,
		  known->mixtures, position, at.source, at.epoch, at.sample);
	cr_assert_eq(philox_mixture_find(&known->mixture, &expected), position);
	known->positions++;
}

Test(data_known, mixtures_are_those_of_the_comments)
{
	static struct known known;
	FILE *file = fopen(PATH, "r");
	uint64_t order;
	char line[256];

	cr_assert_not_null(file, "%s: run the tests from the top of the tree",
			   PATH);
	while (fgets(line, sizeof(line), file)) {
		if (*line == '#')
			continue;
		if (sscanf(line,
			   "mixture %" SCNx64 " %" SCNu64 " %" SCNu64 " %u",
			   &known.state.seed, &known.state.offset, &known.block,
			   &known.n) == 4) {
			cr_assert_leq(known.n, SOURCES_MOST);
			read_sources(file, &known);
			make_mixture(&known);
		} else if (sscanf(line, "order %" SCNx64, &order) == 1) {
			cr_assert_eq(philox_mixture_hash(&known.mixture),
				     order);
		} else {
			check_position(&known, line);
		}
	}
	fclose(file);
	cr_assert_geq(known.mixtures, 22);
	cr_assert_geq(known.positions, 900);
}
