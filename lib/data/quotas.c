/*
 * lib/data/quotas.c - weights made into quotas, by the largest remainders
 *
 * A source of weight w gets w B / W of a block of B positions, where W is the
 * sum of all weights: the whole part of it, and one more if its remainder is
 * among the largest. All of it fits into 128 bits: w is below 2^64, B at most
 * 2^62, and W below 2^84.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/data/data.h"

__extension__ typedef unsigned __int128 wide;

/* A source, and what the whole part of its share leaves. */
struct remainder {
	wide left;
	size_t source;
};

/* --- the sources of options ----------------------------------------------- */

#define SOURCE_SIZE_FIRST OPTIONS_FIRST(struct philox_source_desc, window)
OPTIONS_NO_PADDING(struct philox_source_desc, window);

/* Without source_size, sources have the size that they have in this version. */
static enum philox_status check_size(const struct philox_data_desc *options)
{
	const size_t known = sizeof(struct philox_source_desc);

	if (!options->source_size && options->size <= sizeof(*options))
		return PHILOX_OK;
	if (options->source_size >= SOURCE_SIZE_FIRST &&
	    options->source_size <= OPTIONS_SIZE_MAX &&
	    options->source_size % _Alignof(struct philox_source_desc) == 0)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "source_size is %zu, not that of struct "
			  "philox_source_desc (%zu)",
			  options->source_size, known);
}

static enum philox_status take_source(const struct philox_data_desc *options,
				      size_t i,
				      struct philox_source_desc *source)
{
	const size_t size =
		options->source_size ? options->source_size : sizeof(*source);
	char what[40];

	snprintf(what, sizeof(what), "source %zu", i);
	return options_copy(what, (const char *)options->sources + i * size,
			    size, SOURCE_SIZE_FIRST, sizeof(*source), source);
}

/* A source has no member `size`: what a later version adds has to be 0. */
static enum philox_status check_source(const struct philox_source_desc *source,
				       size_t i)
{
	if (!source->samples || source->samples > UINT64_C(1) << 63)
		return status_set(PHILOX_ERROR_INVALID,
				  "source %zu: samples is %" PRIu64
				  ", not in 1 .. 2^63",
				  i, source->samples);
	if (!source->weight)
		return status_set(PHILOX_ERROR_INVALID,
				  "source %zu: weight is 0", i);
	return PHILOX_OK;
}

static enum philox_status check_sources(const struct philox_data_desc *options)
{
	if (!options->sources)
		return status_set(PHILOX_ERROR_INVALID, "sources is NULL");
	if (!options->n_sources || options->n_sources > DATA_SOURCES_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "n_sources is %zu, not in 1 .. 2^20",
				  options->n_sources);
	if (options->block > DATA_BLOCK_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "block is %" PRIu64 ", above 2^62",
				  options->block);
	return check_size(options);
}

/* --- quotas --------------------------------------------------------------- */

/* The weights are in `quota` until they are replaced. */
static enum philox_status take_sources(const struct philox_data_desc *options,
				       struct philox_mixture_source *sources)
{
	struct philox_source_desc source;

	for (size_t i = 0; i < options->n_sources; i++) {
		enum philox_status status = take_source(options, i, &source);

		if (status == PHILOX_OK)
			status = check_source(&source, i);
		if (status != PHILOX_OK)
			return status;
		sources[i] = (struct philox_mixture_source){
			.samples = source.samples,
			.window = source.window,
			.quota = source.weight};
	}
	return PHILOX_OK;
}

/* The largest remainder first, of equal ones the lowest source. */
static int compare_remainders(const void *a, const void *b)
{
	const struct remainder *one = a, *other = b;

	if (one->left != other->left)
		return one->left < other->left ? 1 : -1;
	return one->source < other->source ? -1 : 1;
}

static void share(struct philox_mixture_source *sources, size_t n,
		  uint64_t block, wide total, struct remainder *remainders)
{
	uint64_t left = block;

	for (size_t i = 0; i < n; i++) {
		const wide part = (wide)sources[i].quota * block;

		sources[i].quota = (uint64_t)(part / total);
		left -= sources[i].quota;
		remainders[i] = (struct remainder){part % total, i};
	}
	qsort(remainders, n, sizeof(*remainders), compare_remainders);
	for (size_t i = 0; i < left; i++)
		sources[remainders[i].source].quota++;
}

/* `enough` positions give each source one at least. */
static enum philox_status refuse_source(size_t source, uint64_t block,
					wide enough)
{
	if (enough > DATA_BLOCK_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "source %zu: its weight's share of a block "
				  "of %" PRIu64 " is 0 positions, and no block "
				  "is large enough",
				  source, block);
	return status_set(PHILOX_ERROR_INVALID,
			  "source %zu: its weight's share of a block of "
			  "%" PRIu64 " is 0 positions; a block of %" PRIu64
			  " is large enough",
			  source, block, (uint64_t)enough);
}

static enum philox_status sum_quotas(struct philox_mixture_source *sources,
				     size_t n, uint64_t block, wide enough)
{
	uint64_t first = 0;

	for (size_t i = 0; i < n; i++) {
		if (!sources[i].quota)
			return refuse_source(i, block, enough);
		sources[i].first = first;
		first += sources[i].quota;
	}
	return PHILOX_OK;
}

static enum philox_status make_quotas(const struct philox_data_desc *options,
				      struct philox_mixture_source *sources,
				      struct remainder *remainders)
{
	const size_t n = options->n_sources;
	uint64_t block = options->block ? options->block : PHILOX_DATA_BLOCK;
	enum philox_status status = take_sources(options, sources);
	uint64_t least = UINT64_MAX;
	wide total = 0;

	if (status != PHILOX_OK)
		return status;
	for (size_t i = 0; i < n; i++) {
		total += sources[i].quota;
		if (sources[i].quota < least)
			least = sources[i].quota;
	}
	if (n == 1)
		block = 1;
	share(sources, n, block, total, remainders);
	return sum_quotas(sources, n, block, (total + least - 1) / least);
}

enum philox_status data_quotas(const struct philox_data_desc *options,
			       struct philox_mixture_source **sources)
{
	enum philox_status status = check_sources(options);
	struct philox_mixture_source *made;
	struct remainder *remainders;

	if (status != PHILOX_OK)
		return status;
	made = calloc(options->n_sources, sizeof(*made));
	remainders = calloc(options->n_sources, sizeof(*remainders));
	status = made && remainders ? make_quotas(options, made, remainders)
				    : status_set(PHILOX_ERROR_MEMORY,
						 "no memory for %zu sources",
						 options->n_sources);
	free(remainders);
	if (status == PHILOX_OK)
		*sources = made;
	else
		free(made);
	return status;
}
