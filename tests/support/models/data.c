/*
 * tests/support/models/data.c - a run through sources, position by position
 */
#include <stdlib.h>
#include <string.h>
#include "tests/support/models/data.h"
#include "tests/support/models/rows.h"

#define FOLD_DATA 0x800000000000000bULL

static uint64_t fold_data(uint64_t seed, uint64_t index)
{
	uint32_t word[4];

	model_block(seed, index, FOLD_DATA, word);
	return (uint64_t)word[1] << 32 | word[0];
}

/* --- quotas --------------------------------------------------------------- */

/*
 * What is left goes to one source after the other: to that whose quota lacks
 * most of its share, as quota sum < weight block by the most.
 */
void model_data_quotas(const struct philox_source_desc *sources, unsigned n,
		       uint64_t block, uint64_t *quotas)
{
	uint64_t sum = 0, left = block;

	for (unsigned i = 0; i < n; i++)
		sum += sources[i].weight;
	for (unsigned i = 0; i < n; i++) {
		quotas[i] = 0;
		while ((quotas[i] + 1) * sum <= sources[i].weight * block) {
			quotas[i]++;
			left--;
		}
	}
	for (; left; left--) {
		unsigned most = 0;
		int64_t lacks = INT64_MIN;

		for (unsigned i = 0; i < n; i++) {
			int64_t is = (int64_t)(sources[i].weight * block -
					       quotas[i] * sum);

			if (is > lacks) {
				lacks = is;
				most = i;
			}
		}
		quotas[most]++;
	}
}

/* --- one source ----------------------------------------------------------- */

/* The order of the walker's epoch, window by window. */
static void begin_epoch(struct data_walker *walker)
{
	const uint64_t samples = walker->of.samples;
	const uint64_t window = walker->of.window ? walker->of.window : samples;
	struct philox_state state = {fold_data(walker->seed, walker->epoch), 0};

	for (uint64_t begin = 0; begin < samples; begin += window) {
		uint64_t size = samples - begin;

		if (size > window)
			size = window;
		for (uint64_t i = 0; i < size; i++)
			walker->order[begin + i] =
				begin + philox_permute(state, size, i);
		state.offset += 4;
	}
	walker->next = 0;
}

static struct philox_mixture_sample draw(struct data_walker *walker,
					 uint32_t source)
{
	struct philox_mixture_sample drawn = {
		walker->epoch, walker->order[walker->next], source, 0};

	if (++walker->next == walker->of.samples) {
		walker->epoch++;
		begin_epoch(walker);
	}
	return drawn;
}

/* --- all of them ---------------------------------------------------------- */

/* The draws of a block in the order of sources, put where its order says. */
static void begin_block(struct data_model *model, uint64_t number)
{
	const size_t size = model->block * sizeof(*model->slots);
	struct philox_mixture_sample *draws = malloc(size), *next = draws;
	const struct philox_state state = {model->key, 4 * number};

	for (unsigned i = 0; i < model->n; i++)
		for (uint64_t k = 0; k < model->sources[i].quota; k++)
			*next++ = draw(&model->sources[i], i);
	for (uint64_t slot = 0; slot < model->block; slot++)
		model->slots[slot] =
			draws[philox_permute(state, model->block, slot)];
	free(draws);
}

void model_data_open(struct data_model *model, struct philox_state state,
		     const struct philox_source_desc *sources, unsigned n,
		     uint64_t block)
{
	uint64_t quotas[DATA_SOURCES];

	memset(model, 0, sizeof(*model));
	model->n = n;
	model->block = n > 1 ? block : 1;
	model->key = fold_data(state.seed, state.offset / 4);
	model->slots = calloc(model->block, sizeof(*model->slots));
	model_data_quotas(sources, n, model->block, quotas);
	for (unsigned i = 0; i < n; i++) {
		struct data_walker *walker = &model->sources[i];

		walker->of = sources[i];
		walker->quota = quotas[i];
		walker->seed = fold_data(model->key, i);
		walker->order = calloc(sources[i].samples, sizeof(uint64_t));
		begin_epoch(walker);
	}
}

void model_data_close(struct data_model *model)
{
	for (unsigned i = 0; i < model->n; i++)
		free(model->sources[i].order);
	free(model->slots);
}

struct philox_mixture_sample model_data_next(struct data_model *model)
{
	const uint64_t slot = model->position % model->block;

	if (!slot)
		begin_block(model, model->position / model->block);
	model->position++;
	return model->slots[slot];
}

/* --- random sources ------------------------------------------------------- */

unsigned model_data_draw(uint64_t seed, struct philox_source_desc *sources,
			 uint64_t *block)
{
	uint32_t word[4], sum = 0, least = UINT32_MAX;
	unsigned n;

	model_block(seed, 0, 0, word);
	n = word[0] % DATA_SOURCES + 1;
	for (unsigned i = 0; i < n; i++) {
		uint32_t of[4];

		model_block(seed, i, 1, of);
		sources[i].samples = of[0] % (of[3] % 2 ? 60 : 9) + 1;
		sources[i].weight = of[1] % (of[3] % 3 ? 5 : 40) + 1;
		sources[i].window = of[2] % 4 ? of[2] / 4 % 30 : 0;
		sum += (uint32_t)sources[i].weight;
		if (sources[i].weight < least)
			least = (uint32_t)sources[i].weight;
	}
	/* from the least block that is surely enough to three times that */
	*block = (sum + least - 1) / least;
	*block += word[1] % (2 * *block + 1);
	return n;
}
