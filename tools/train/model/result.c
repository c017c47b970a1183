/*
 * tools/train/model/result.c - the results of a run: losses, checksums, debts
 */
#include <stdlib.h>
#include "lib/base/base.h"
#include "tools/train/model/model.h"

double train_step_loss(const struct train_result *result, uint64_t step)
{
	double sum = 0;

	for (int slot = 0; slot < TRAIN_SLOTS; slot++)
		sum += (double)result->losses[step * TRAIN_SLOTS + slot];
	return sum / TRAIN_SLOTS;
}

size_t train_count_pending(struct train_model *model)
{
	size_t sum = 0;

	for (int layer = 0; layer < TRAIN_REGIONS && !model->status; layer++) {
		size_t pending = 0;

		if (model->regions[layer])
			train_check(model,
				    philox_region_pending_count(
					    model->regions[layer], &pending));
		sum += pending;
	}
	return sum;
}

uint64_t train_hash(const void *bytes, size_t size)
{
	return hash_text(bytes, size);
}

/* hash_device() returns the hash of device memory, 0 after a failure. */
static uint64_t hash_device(struct train_model *model, const void *memory,
			    size_t size)
{
	void *copy = malloc(size);
	uint64_t hash = 0;

	if (!copy) {
		train_fail(model, "no memory for %zu bytes", size);
		return 0;
	}
	train_download(model, copy, memory, size);
	if (!model->status)
		hash = train_hash(copy, size);
	free(copy);
	return hash;
}

uint64_t train_fingerprint(struct train_model *model)
{
	const struct train_activations *a = &model->arrays.activations[0];
	uint32_t words[TRAIN_BATCH] = {0};
	float dropped[TRAIN_BATCH * TRAIN_WIDTH] = {0};
	uint64_t hash;

	train_download(model, words, a->words, sizeof(words));
	train_download(model, dropped, a->dropped[TRAIN_HIDDEN1],
		       sizeof(dropped));
	hash = train_hash(words, sizeof(words));
	for (size_t i = 0; i < TRAIN_BATCH * TRAIN_WIDTH; i++) {
		unsigned char mask = dropped[i] == 0;

		hash = hash_more(hash, (const char *)&mask, 1);
	}
	return hash;
}

/* At the end no backward may be owed, and no launch unannounced. */
static void check_clean(struct train_model *model,
			const struct train_result *result)
{
	if (!model->status)
		train_check(model, philox_context_check(model->context, NULL));
	if (!model->status && train_count_pending(model))
		train_fail(model, "the %s run left backwards owed",
			   result->name);
}

void train_finish_result(struct train_model *model, struct train_result *result)
{
	size_t losses = model->options->steps * TRAIN_SLOTS * sizeof(float);
	size_t extra = TRAIN_EXTRA * sizeof(uint32_t);
	uint32_t differs = 0;

	train_download(model, result->losses, model->history, losses);
	train_download(model, &differs, model->retained_differs,
		       sizeof(differs));
	result->retained_same = !differs;
	result->loss_checksum = train_hash(result->losses, losses);
	result->parameter_checksum = hash_device(
		model, model->parameters, model->n_parameters * sizeof(float));
	result->extra_checksum = hash_device(model, model->extra[0], extra);
	result->extra_paired = hash_device(model, model->extra[1], extra) ==
			       result->extra_checksum;
	check_clean(model, result);
}
