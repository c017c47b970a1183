/*
 * tools/train/model/host.c - the kernels on the host device
 *
 * Loops over kernels.h, and matrix products in tiles whose sums stay in
 * registers. Vectors are explicit because gcc -O2 would not find them. Every
 * sum has one order, so a run repeats in every bit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/train/model/model.h"

/* --- kernels -------------------------------------------------------------- */

#define ARGS_MAX 160

/* A stream's copy of a launch. */
struct host_call {
	size_t count;
	_Alignas(8) unsigned char args[ARGS_MAX];
};

#define HOST_KERNEL(name)                                               \
	_Static_assert(sizeof(struct train_##name) <= ARGS_MAX, #name); \
	static void each_##name(const void *data)                       \
	{                                                               \
		const struct host_call *call = data;                    \
		const void *args = call->args;                          \
                                                                        \
		for (size_t i = 0; i < call->count; i++)                \
			train_##name(args, i);                          \
	}
TRAIN_KERNEL_LIST(HOST_KERNEL)
#undef HOST_KERNEL

/*
 * The embedding's gradient, as in train_scatter(), but with one pass over the
 * samples instead of one per symbol; each element is the same sum in the same
 * order.
 */
static void walk_scatter(const void *data)
{
	const struct host_call *call = data;
	const void *args = call->args;
	const struct train_scatter *a = args;

	memset(a->out, 0, call->count * sizeof(*a->out));
	for (size_t i = 0; i < TRAIN_BATCH * TRAIN_CONTEXT; i++) {
		const uint8_t *text =
			train_sample(a->samples, i / TRAIN_CONTEXT);
		const float *from = a->gradient + i * TRAIN_EMBED;
		float *to = a->out + text[i % TRAIN_CONTEXT] * TRAIN_EMBED;

		for (size_t part = 0; part < TRAIN_EMBED; part++)
			to[part] += from[part];
	}
}

static void (*const host_kernels[TRAIN_KERNELS])(const void *) = {
#define HOST_ENTRY(name) [TRAIN_##name] = each_##name,
	TRAIN_KERNEL_LIST(HOST_ENTRY)
#undef HOST_ENTRY
};

/* --- matrix products ------------------------------------------------------ */

typedef float vector __attribute__((vector_size(16), may_alias));

static inline const vector *vectors(const float *x)
{
	return (const vector *)x;
}

/* Written out: where C computes in double, `x` times a vector is no C. */
static inline vector all(float x)
{
	return (vector){x, x, x, x};
}

/*
 * One tile of 4 rows and 8 columns: right [depth, columns] row by row, left by
 * the given distances between its rows and between its columns, so that it may
 * be transposed.
 */
static void plain_tile(size_t depth, const float *restrict left, size_t row,
		       size_t step, const float *restrict right, size_t columns,
		       float *restrict out)
{
	vector a0 = {0}, a1 = {0}, b0 = {0}, b1 = {0};
	vector c0 = {0}, c1 = {0}, d0 = {0}, d1 = {0};

	for (size_t k = 0; k < depth; k++) {
		const vector *r = vectors(right + k * columns);
		const float *l = left + k * step;

		a0 += all(l[0]) * r[0];
		a1 += all(l[0]) * r[1];
		b0 += all(l[row]) * r[0];
		b1 += all(l[row]) * r[1];
		c0 += all(l[2 * row]) * r[0];
		c1 += all(l[2 * row]) * r[1];
		d0 += all(l[3 * row]) * r[0];
		d1 += all(l[3 * row]) * r[1];
	}
	((vector *)out)[0] = a0;
	((vector *)out)[1] = a1;
	((vector *)(out + columns))[0] = b0;
	((vector *)(out + columns))[1] = b1;
	((vector *)(out + 2 * columns))[0] = c0;
	((vector *)(out + 2 * columns))[1] = c1;
	((vector *)(out + 3 * columns))[0] = d0;
	((vector *)(out + 3 * columns))[1] = d1;
}

static void plain_product(const struct train_product *p)
{
	int turned = p->form == TRAIN_LEFT_TURN;
	size_t row = turned ? 1 : p->depth, step = turned ? p->rows : 1;

	for (size_t i = 0; i < p->rows; i += 4)
		for (size_t j = 0; j < p->columns; j += 8)
			plain_tile(p->depth, p->left + i * row, row, step,
				   p->right + j, p->columns,
				   p->out + i * p->columns + j);
}

static inline float sum_of(vector v)
{
	return (v[0] + v[1]) + (v[2] + v[3]);
}

/* One tile of 2 rows and 4 columns: both sides are read along their rows. */
static void turned_tile(size_t depth, const float *restrict left,
			const float *restrict right, size_t columns,
			float *restrict out)
{
	vector a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0};
	vector b0 = {0}, b1 = {0}, b2 = {0}, b3 = {0};

	for (size_t k = 0; k < depth; k += 4) {
		vector l0 = *vectors(left + k);
		vector l1 = *vectors(left + depth + k);
		vector r0 = *vectors(right + k);
		vector r1 = *vectors(right + depth + k);
		vector r2 = *vectors(right + 2 * depth + k);
		vector r3 = *vectors(right + 3 * depth + k);

		a0 += l0 * r0;
		a1 += l0 * r1;
		a2 += l0 * r2;
		a3 += l0 * r3;
		b0 += l1 * r0;
		b1 += l1 * r1;
		b2 += l1 * r2;
		b3 += l1 * r3;
	}
	((vector *)out)[0] =
		(vector){sum_of(a0), sum_of(a1), sum_of(a2), sum_of(a3)};
	((vector *)(out + columns))[0] =
		(vector){sum_of(b0), sum_of(b1), sum_of(b2), sum_of(b3)};
}

static void turned_product(const struct train_product *p)
{
	for (size_t i = 0; i < p->rows; i += 2)
		for (size_t j = 0; j < p->columns; j += 4)
			turned_tile(p->depth, p->left + i * p->depth,
				    p->right + j * p->depth, p->columns,
				    p->out + i * p->columns + j);
}

static void run_product(const void *data)
{
	const struct train_product *p = data;

	if (p->form == TRAIN_RIGHT_TURN)
		turned_product(p);
	else
		plain_product(p);
}

/* --- the backend ---------------------------------------------------------- */

struct host_backend {
	struct train_backend base;
	struct philox_device *device;
};

static const char *launch(struct train_backend *base, philox_stream stream,
			  void (*fn)(const void *), const void *args,
			  size_t size)
{
	struct host_backend *backend = (struct host_backend *)base;

	if (philox_stream_launch_host(backend->device, stream, fn, args, size))
		return philox_error_message();
	return NULL;
}

static const char *host_kernel(struct train_backend *base, philox_stream stream,
			       enum train_kernel kernel, const void *args,
			       size_t size, size_t count)
{
	void (*fn)(const void *) = host_kernels[kernel];
	struct host_call call = {.count = count};

	memcpy(call.args, args, size);
	if (kernel == TRAIN_scatter)
		fn = walk_scatter;
	return launch(base, stream, fn, &call,
		      offsetof(struct host_call, args) + size);
}

static const char *host_product(struct train_backend *base,
				philox_stream stream,
				const struct train_product *product)
{
	return launch(base, stream, run_product, product, sizeof(*product));
}

static void host_close(struct train_backend *base)
{
	free(base);
}

struct train_backend *train_host_open(
	struct philox_device *device,
	const philox_stream streams[TRAIN_STREAMS], char *message, size_t size)
{
	struct host_backend *backend = calloc(1, sizeof(*backend));

	(void)streams; /* each stream does what it needs itself */
	if (!backend) {
		snprintf(message, size, "out of memory");
		return NULL;
	}
	backend->base = (struct train_backend){host_kernel, host_product,
					       host_close, NULL};
	backend->device = device;
	return &backend->base;
}
