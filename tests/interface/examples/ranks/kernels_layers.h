/*
 * examples/ranks/kernels_layers.h - the kernels of layers; see kernels.h
 */
#ifndef RANKS_KERNELS_LAYERS_H
#define RANKS_KERNELS_LAYERS_H

#include <stddef.h>
#include <stdint.h>
#include <philox.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- norms ---------------------------------------------------------------- */

/* out = x / rms(x) * gain, row by row; inverse[row] = 1 / rms(x) */
struct norm {
	const float *x, *gain;
	float *out, *inverse;
	size_t width;
};

PHILOX_FN void kernel_norm(const struct norm *a, size_t i)
{
	const float *x = a->x + i * a->width;
	float sum = 0, inverse;

	for (size_t j = 0; j < a->width; j++)
		sum += x[j] * x[j];
	inverse = 1 / philox_root(sum / (float)a->width + 1e-5f);
	for (size_t j = 0; j < a->width; j++)
		a->out[i * a->width + j] = x[j] * inverse * a->gain[j];
	a->inverse[i] = inverse;
}

/* out = above + the gradient of x, for the gradient `gradient` of norm's out */
struct norm_back {
	const float *x, *gain, *inverse, *gradient;
	const float *above; /* NULL: 0 */
	float *out;
	size_t width;
};

PHILOX_FN void kernel_norm_back(const struct norm_back *a, size_t i)
{
	const float *x = a->x + i * a->width;
	const float *gradient = a->gradient + i * a->width;
	const float inverse = a->inverse[i];
	float sum = 0;

	for (size_t j = 0; j < a->width; j++)
		sum += gradient[j] * a->gain[j] * x[j];
	sum = sum / (float)a->width * inverse * inverse;
	for (size_t j = 0; j < a->width; j++) {
		float of_x = (gradient[j] * a->gain[j] - x[j] * sum) * inverse;
		size_t at = i * a->width + j;

		a->out[at] = a->above ? a->above[at] + of_x : of_x;
	}
}

/* out[s][j] = the gradient of gain[j] by sample s */
struct norm_gain {
	const float *x, *inverse, *gradient;
	float *out;
	size_t width, places, stride; /* from sample to sample */
};

PHILOX_FN void kernel_norm_gain(const struct norm_gain *a, size_t i)
{
	size_t sample = i / a->width, j = i % a->width;
	float sum = 0;

	for (size_t t = 0; t < a->places; t++) {
		size_t row = sample * a->places + t;

		sum += a->gradient[row * a->width + j] *
		       (a->x[row * a->width + j] * a->inverse[row]);
	}
	a->out[sample * a->stride + j] = sum;
}

/* --- attention ------------------------------------------------------------ */

/* scores[s][h][i][j] become softmax(scale * scores) over j <= i, and 0 beyond */
struct attend {
	float *scores;
	size_t places;
	float scale;
};

PHILOX_FN void kernel_attend(const struct attend *a, size_t i)
{
	float *row = a->scores + i * a->places;
	size_t n = i % a->places + 1;
	float largest = row[0], sum = 0;

	for (size_t j = 1; j < n; j++)
		largest = philox_greater(largest, row[j]);
	for (size_t j = 0; j < n; j++) {
		row[j] = philox_exp_f32((row[j] - largest) * a->scale);
		sum += row[j];
	}
	for (size_t j = 0; j < n; j++)
		row[j] /= sum;
	for (size_t j = n; j < a->places; j++)
		row[j] = 0;
}

/* gradient[s][h][i][j], of the weights, becomes that of the scores */
struct attend_back {
	const float *weights;
	float *gradient;
	size_t places;
	float scale;
};

PHILOX_FN void kernel_attend_back(const struct attend_back *a, size_t i)
{
	const float *weights = a->weights + i * a->places;
	float *gradient = a->gradient + i * a->places;
	float sum = 0;

	for (size_t j = 0; j < a->places; j++)
		sum += gradient[j] * weights[j];
	for (size_t j = 0; j < a->places; j++)
		gradient[j] = weights[j] * (gradient[j] - sum) * a->scale;
}

/* --- elements ------------------------------------------------------------- */

PHILOX_FN float sigmoid(float x)
{
	return 1 / (1 + philox_exp_f32(-x));
}

/* out = x sigmoid(x) */
struct silu {
	const float *x;
	float *out;
};

PHILOX_FN void kernel_silu(const struct silu *a, size_t i)
{
	a->out[i] = a->x[i] * sigmoid(a->x[i]);
}

/* gradient, of out, becomes that of x */
struct silu_back {
	const float *x;
	float *gradient;
};

PHILOX_FN void kernel_silu_back(const struct silu_back *a, size_t i)
{
	float x = a->x[i], s = sigmoid(x);

	a->gradient[i] = a->gradient[i] * (s * (1 + x * (1 - s)));
}

/* out = the sum of all blocks' parts, in their order */
struct sum_blocks {
	const float *parts;
	float *out;
	size_t blocks, count; /* elements of a part */
};

PHILOX_FN void kernel_sum_blocks(const struct sum_blocks *a, size_t i)
{
	float sum = 0;

	for (size_t b = 0; b < a->blocks; b++)
		sum += a->parts[b * a->count + i];
	a->out[i] = sum;
}

/* out = x + y */
struct add {
	const float *x, *y;
	float *out;
};

PHILOX_FN void kernel_add(const struct add *a, size_t i)
{
	a->out[i] = a->x[i] + a->y[i];
}

#ifdef __cplusplus
}
#endif
#endif
