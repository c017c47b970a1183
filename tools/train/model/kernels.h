/*
 * tools/train/model/kernels.h - the computation of a training step, element by
 * element
 *
 * Each kernel is a function of its arguments and an index. The host runs it in
 * a loop (host.c), a GPU in as many threads (cuda.cu), so both compute the
 * same. Every sum has one fixed order and no index writes what another reads:
 * results do not depend on the launch shape.
 *
 * All matrices are row-major. The arguments are plain data and the same at
 * every step; values that change from step to step are in device memory.
 */
#ifndef TOOLS_TRAIN_MODEL_KERNELS_H
#define TOOLS_TRAIN_MODEL_KERNELS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <philox/kernel.h>
#include "tools/train/model/update.h"

#define TRAIN_CONTEXT 8  /* bytes the model sees */
#define TRAIN_EMBED   16 /* numbers a byte is embedded in */
#define TRAIN_WIDTH   (TRAIN_CONTEXT * TRAIN_EMBED) /* of every hidden layer */
#define TRAIN_BATCH   32 /* samples of a micro-batch */
#define TRAIN_SLOTS   4  /* micro-batches of a step */
#define TRAIN_EXTRA   16 /* elements an extra operator draws */
#define TRAIN_RATE    4e-3f
#define TRAIN_DECAY   0.01f /* of the weights */

/* The kernels, one line each: name, and what its index counts. */
#define TRAIN_KERNEL_LIST(X)                                    \
	X(scale)         /* elements */                         \
	X(gather)        /* elements of the embedded context */ \
	X(bias_tanh)     /* elements */                         \
	X(softmax)       /* samples */                          \
	X(mean)          /* one */                              \
	X(tanh_backward) /* elements */                         \
	X(column_sum)    /* columns */                          \
	X(scatter)       /* elements of the embedding */        \
	X(reduce)        /* parameters */                       \
	X(adamw)         /* parameters */                       \
	X(adamw_block)   /* blocks of a set of parameters */    \
	X(narrow)        /* parameters */                       \
	X(finish)        /* one */                              \
	X(add_rows)      /* columns */                          \
	X(compare)       /* elements */                         \
	X(place)         /* parameters */

enum train_kernel {
#define TRAIN_KERNEL_ENUM(name) TRAIN_##name,
	TRAIN_KERNEL_LIST(TRAIN_KERNEL_ENUM)
#undef TRAIN_KERNEL_ENUM
		TRAIN_KERNELS
};

/* x *= factor */
struct train_scale {
	float *x;
	float factor;
};

PHILOX_FN void train_scale(const struct train_scale *a, size_t i)
{
	a->x[i] *= a->factor;
}

/*
 * Where the samples of a micro-batch are in the text: sample b begins at
 * words[b], 32 random bits, scaled to the number of places a sample may begin.
 */
struct train_samples {
	const uint8_t *text; /* indices of the vocabulary */
	const uint32_t *words;
	uint32_t places;
};

PHILOX_FN const uint8_t *train_sample(struct train_samples s, size_t b)
{
	return s.text + philox_mulhi(s.words[b], s.places);
}

/* out[b] = the embeddings of sample b's context, side by side */
struct train_gather {
	struct train_samples samples;
	const float *embedding;
	float *out;
};

PHILOX_FN void train_gather(const struct train_gather *a, size_t i)
{
	size_t sample = i / TRAIN_WIDTH, column = i % TRAIN_WIDTH;
	const uint8_t *text = train_sample(a->samples, sample);
	size_t symbol = text[column / TRAIN_EMBED];

	a->out[i] = a->embedding[symbol * TRAIN_EMBED + column % TRAIN_EMBED];
}

/* x = tanh(x + bias) */
struct train_bias_tanh {
	float *x;
	const float *bias;
	size_t columns;
};

PHILOX_FN void train_bias_tanh(const struct train_bias_tanh *a, size_t i)
{
	a->x[i] = tanhf(a->x[i] + a->bias[i % a->columns]);
}

/*
 * Softmax and cross-entropy of one sample: writes its loss, and replaces its
 * logits by the gradient of the mean loss of the micro-batch. Columns beyond
 * the vocabulary pad the matrix; their gradient is 0.
 */
struct train_softmax {
	struct train_samples samples;
	float *logits;
	const float *bias;
	float *losses;
	size_t symbols; /* of the vocabulary */
	size_t columns; /* of the matrix */
};

PHILOX_FN void train_softmax(const struct train_softmax *a, size_t i)
{
	float *row = a->logits + i * a->columns;
	size_t target = train_sample(a->samples, i)[TRAIN_CONTEXT];
	float largest = -INFINITY, sum = 0, right;

	for (size_t j = 0; j < a->symbols; j++) {
		row[j] += a->bias[j];
		largest = fmaxf(largest, row[j]);
	}
	right = row[target] - largest;
	for (size_t j = 0; j < a->symbols; j++) {
		row[j] = expf(row[j] - largest);
		sum += row[j];
	}
	a->losses[i] = logf(sum) - right;
	for (size_t j = 0; j < a->symbols; j++)
		row[j] *= 1 / (sum * TRAIN_BATCH);
	row[target] -= 1.0f / TRAIN_BATCH;
	for (size_t j = a->symbols; j < a->columns; j++)
		row[j] = 0;
}

/* *out = the mean of a micro-batch's losses */
struct train_mean {
	const float *losses;
	float *out;
};

PHILOX_FN void train_mean(const struct train_mean *a, size_t i)
{
	float sum = 0;

	for (size_t b = 0; b < TRAIN_BATCH; b++)
		sum += a->losses[b];
	a->out[i] = sum / TRAIN_BATCH;
}

/* gradient *= tanh'(x), by the tanh that the forward kept */
struct train_tanh_backward {
	float *gradient;
	const float *tanh;
};

PHILOX_FN void train_tanh_backward(const struct train_tanh_backward *a,
				   size_t i)
{
	a->gradient[i] *= 1 - a->tanh[i] * a->tanh[i];
}

/* out[j] = the sum of column j of a micro-batch's matrix */
struct train_column_sum {
	const float *in;
	float *out;
	size_t columns;
};

PHILOX_FN void train_column_sum(const struct train_column_sum *a, size_t i)
{
	float sum = 0;

	for (size_t b = 0; b < TRAIN_BATCH; b++)
		sum += a->in[b * a->columns + i];
	a->out[i] = sum;
}

/* The gradient of the embedding: sums over every place of its symbol. */
struct train_scatter {
	struct train_samples samples;
	const float *gradient; /* of the embedded context */
	float *out;
};

PHILOX_FN void train_scatter(const struct train_scatter *a, size_t i)
{
	size_t symbol = i / TRAIN_EMBED, part = i % TRAIN_EMBED;
	float sum = 0;

	for (size_t b = 0; b < TRAIN_BATCH; b++) {
		const uint8_t *text = train_sample(a->samples, b);
		const float *row = a->gradient + b * TRAIN_WIDTH + part;

		for (size_t c = 0; c < TRAIN_CONTEXT; c++)
			if (text[c] == symbol)
				sum += row[c * TRAIN_EMBED];
	}
	a->out[i] = sum;
}

/* out = the mean of the micro-batches' gradients, always in the same order */
struct train_reduce {
	const float *parts[TRAIN_SLOTS];
	float *out;
};

PHILOX_FN void train_reduce(const struct train_reduce *a, size_t i)
{
	float sum = 0;

	for (size_t slot = 0; slot < TRAIN_SLOTS; slot++)
		sum += a->parts[slot][i];
	a->out[i] = sum / TRAIN_SLOTS;
}

/* The end of a step: writes its losses down and moves the clock. */
struct train_finish {
	struct train_clock *clock;
	const uint64_t *step; /* the clock's, or where else it is */
	const float *losses;  /* TRAIN_SLOTS */
	float *history;       /* TRAIN_SLOTS per step */
	uint64_t steps;       /* room in history */
};

PHILOX_FN void train_finish(const struct train_finish *a, size_t i)
{
	struct train_clock clock = a->clock[i];
	const uint64_t step = *a->step;
	float *history;

	if (step >= a->steps)
		return;
	history = a->history + step * TRAIN_SLOTS;
	for (size_t slot = 0; slot < TRAIN_SLOTS; slot++)
		history[slot] = a->losses[slot];
	clock.step++;
	clock.power[0] *= TRAIN_BETA1;
	clock.power[1] *= TRAIN_BETA2;
	for (int k = 0; k < 2; k++)
		clock.correction[k] = (float)(1 / (1 - clock.power[k]));
	a->clock[i] = clock;
}

/* total += every row, modulo 2^32: the numbers of the extra operators */
struct train_add_rows {
	const uint32_t *rows;
	size_t n_rows;
	uint32_t *total;
};

PHILOX_FN void train_add_rows(const struct train_add_rows *a, size_t i)
{
	uint32_t sum = a->total[i];

	for (size_t row = 0; row < a->n_rows; row++)
		sum = 31 * sum + a->rows[row * TRAIN_EXTRA + i];
	a->total[i] = sum;
}

/* *differs = 1 if two arrays differ in a bit anywhere */
struct train_compare {
	const uint32_t *a, *b;
	uint32_t *differs;
};

PHILOX_FN void train_compare(const struct train_compare *a, size_t i)
{
	if (a->a[i] != a->b[i])
		*a->differs = 1;
}

/* What a micro-batch in the body of a loop says beside its gradient. */
struct train_micro {
	float loss;
	uint32_t more; /* the loop's condition */
};

/*
 * The end of a micro-batch in the body of a loop: its gradient and its loss go
 * where those of its iteration belong, and `more` says whether others follow.
 */
struct train_place {
	const uint32_t *iteration;
	const float *gradient;
	struct train_micro *micro;
	float *gradients; /* TRAIN_SLOTS arrays, one after the other */
	size_t stride;
	float *losses; /* TRAIN_SLOTS */
};

PHILOX_FN void train_place(const struct train_place *a, size_t i)
{
	size_t slot = *a->iteration;

	if (slot < TRAIN_SLOTS)
		a->gradients[slot * a->stride + i] = a->gradient[i];
	if (slot < TRAIN_SLOTS && i == 0)
		a->losses[slot] = a->micro->loss;
	if (i == 0)
		a->micro->more = slot + 1 < TRAIN_SLOTS;
}

#endif
