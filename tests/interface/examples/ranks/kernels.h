/*
 * examples/ranks/kernels.h - the arithmetic of the model, element by element
 *
 * Each kernel is a function of its arguments and an index: the host runs it in
 * a loop (kernels_host.c), a GPU in as many threads (kernels.cu). Both give the
 * same bits, because
 *
 *  - every sum has one order, and no index writes what another one reads;
 *  - a product is rounded before it is added: compile with -ffp-contract=off,
 *    and nvcc with -fmad=false;
 *  - exponential function, logarithm and root are philox's (philox/kernel.h).
 *
 * A row is a place in a sample: row s * places + t is place t of sample s.
 */
#ifndef RANKS_KERNELS_H
#define RANKS_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <philox.h>
#include "kernels_ends.h"
#include "kernels_layers.h"

#ifdef __FAST_MATH__
#error "compile without -ffast-math: every mesh is to give the same bits"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The kernels, one line each: name, and what its index counts. */
#define KERNEL_LIST(X)                                         \
	X(product)       /* elements of out */                 \
	X(embed)         /* elements of out */                 \
	X(scatter)       /* samples x elements of the table */ \
	X(norm)          /* rows */                            \
	X(norm_back)     /* rows */                            \
	X(norm_gain)     /* samples x columns */               \
	X(attend)        /* samples x heads x places */        \
	X(attend_back)   /* samples x heads x places */        \
	X(silu)          /* elements */                        \
	X(silu_back)     /* elements */                        \
	X(sum_blocks)    /* elements */                        \
	X(add)           /* elements */                        \
	X(cross_entropy) /* rows */                            \
	X(mean_loss)     /* samples */                         \
	X(accumulate)    /* parameters */                      \
	X(adam)          /* parameters */

enum kernel {
#define KERNEL_ENUM(name) KERNEL_##name,
	KERNEL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
		KERNELS
};

/*
 * Puts kernel `kernel` on a stream, for `count` indices; `args` are `size`
 * bytes, a struct of its name. Returns NULL, or what is wrong.
 * kernels_load() loads them all: CUDA may not do it during a capture.
 */
const char *kernel_launch_host(struct philox_device *device,
			       philox_stream stream, enum kernel kernel,
			       const void *args, size_t size, size_t count);
const char *kernel_launch_cuda(philox_stream stream, enum kernel kernel,
			       const void *args, size_t count);
const char *kernels_load_cuda(struct philox_device *device);

/* --- products ------------------------------------------------------------- */

/* A matrix for each pair of batch indices, by the distances in its memory. */
struct matrix {
	float *at;
	size_t batch[2], row, column;
};

/*
 * out[a][b] = left[a][b] times right[a][b], of rows x depth and depth x columns
 * numbers, for all a < batches[0] and b < batches[1]. Sums begin with 0 and go
 * along depth.
 */
struct product {
	struct matrix out, left, right;
	size_t batches[2], rows, columns, depth;
};

PHILOX_FN float *element_of(const struct matrix *m, size_t a, size_t b,
			    size_t row, size_t column)
{
	return m->at + a * m->batch[0] + b * m->batch[1] + row * m->row +
	       column * m->column;
}

PHILOX_FN void kernel_product(const struct product *p, size_t i)
{
	size_t column = i % p->columns, row = i / p->columns % p->rows;
	size_t pair = i / p->columns / p->rows;
	size_t a = pair / p->batches[1], b = pair % p->batches[1];
	const float *left = element_of(&p->left, a, b, row, 0);
	const float *right = element_of(&p->right, a, b, 0, column);
	float sum = 0;

	for (size_t k = 0; k < p->depth; k++)
		sum += left[k * p->left.column] * right[k * p->right.row];
	*element_of(&p->out, a, b, row, column) = sum;
}

#ifdef __cplusplus
}
#endif
#endif
