/*
 * examples/ranks/kernels_ends.h - the kernels of the embedding, the loss and the
 * update; see kernels.h
 */
#ifndef RANKS_KERNELS_ENDS_H
#define RANKS_KERNELS_ENDS_H

#include <stddef.h>
#include <stdint.h>
#include <philox.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- the ends of the model ------------------------------------------------ */

/* Which bytes a micro-batch has: sample s begins at text[begins[s]]. */
struct batch {
	const uint8_t *text;
	const uint32_t *begins;
	size_t places; /* of a sample */
};

PHILOX_FN size_t byte_at(const struct batch *batch, size_t row, size_t ahead)
{
	return batch->text[batch->begins[row / batch->places] +
			   row % batch->places + ahead];
}

/* out[row] = tokens[byte] + positions[place] */
struct embed {
	struct batch batch;
	const float *tokens, *positions;
	float *out;
	size_t width;
};

PHILOX_FN void kernel_embed(const struct embed *a, size_t i)
{
	size_t row = i / a->width, column = i % a->width;
	size_t byte = byte_at(&a->batch, row, 0);
	size_t place = row % a->batch.places;

	a->out[i] = a->tokens[byte * a->width + column] +
		    a->positions[place * a->width + column];
}

/* The gradients of both tables, of each sample. */
struct scatter {
	struct batch batch;
	const float *gradient; /* of the embedded rows */
	float *tokens, *positions;
	size_t width, bytes; /* that there are */
	size_t stride;       /* from sample to sample */
};

PHILOX_FN void kernel_scatter(const struct scatter *a, size_t i)
{
	size_t sample = i / (a->bytes * a->width);
	size_t element = i % (a->bytes * a->width);
	size_t byte = element / a->width, column = element % a->width;
	size_t row = sample * a->batch.places;
	float sum = 0;

	for (size_t t = 0; t < a->batch.places; t++)
		if (byte_at(&a->batch, row + t, 0) == byte)
			sum += a->gradient[(row + t) * a->width + column];
	a->tokens[sample * a->stride + element] = sum;
	if (byte) /* byte 0 also copies the positions' gradient */
		return;
	for (size_t t = 0; t < a->batch.places; t++)
		a->positions[sample * a->stride + t * a->width + column] =
			a->gradient[(row + t) * a->width + column];
}

/* losses[row] = cross-entropy; the logits become their gradient times scale */
struct cross_entropy {
	struct batch batch;
	float *logits, *losses;
	size_t bytes;
	float scale;
};

PHILOX_FN void kernel_cross_entropy(const struct cross_entropy *a, size_t i)
{
	float *row = a->logits + i * a->bytes;
	size_t target = byte_at(&a->batch, i, 1);
	float largest = row[0], sum = 0, right;

	for (size_t j = 1; j < a->bytes; j++)
		largest = philox_greater(largest, row[j]);
	right = row[target] - largest;
	for (size_t j = 0; j < a->bytes; j++) {
		row[j] = philox_exp_f32(row[j] - largest);
		sum += row[j];
	}
	a->losses[i] = philox_ln_f32(sum) - right;
	for (size_t j = 0; j < a->bytes; j++)
		row[j] = row[j] / sum * a->scale;
	row[target] -= a->scale;
}

/* out[s] = the mean of sample s's losses */
struct mean_loss {
	const float *losses;
	float *out;
	size_t places;
};

PHILOX_FN void kernel_mean_loss(const struct mean_loss *a, size_t i)
{
	float sum = 0;

	for (size_t t = 0; t < a->places; t++)
		sum += a->losses[i * a->places + t];
	a->out[i] = sum / (float)a->places;
}

/* --- parameters ----------------------------------------------------------- */

/* total += the gradients of all samples, in their order */
struct accumulate {
	const float *gradients;
	float *total;
	size_t samples, stride;
};

PHILOX_FN void kernel_accumulate(const struct accumulate *a, size_t i)
{
	float sum = a->total[i];

	for (size_t s = 0; s < a->samples; s++)
		sum += a->gradients[s * a->stride + i];
	a->total[i] = sum;
}

/* Adam (Kingma, Ba, 2014); total is 0 afterwards, for the next step */
struct adam {
	float *parameters, *total, *first, *second;
	float rate, correction[2]; /* 1 / (1 - beta^step) */
};

#define ADAM_BETA1 0.9f
#define ADAM_BETA2 0.98f

PHILOX_FN void kernel_adam(const struct adam *a, size_t i)
{
	float g = a->total[i];
	float m = ADAM_BETA1 * a->first[i] + (1 - ADAM_BETA1) * g;
	float v = ADAM_BETA2 * a->second[i] + (1 - ADAM_BETA2) * g * g;
	float root = philox_root(v * a->correction[1]);

	a->first[i] = m;
	a->second[i] = v;
	a->parameters[i] -= a->rate * (m * a->correction[0] / (root + 1e-8f));
	a->total[i] = 0;
}

#ifdef __cplusplus
}
#endif
#endif
