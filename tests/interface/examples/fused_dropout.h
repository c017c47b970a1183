/*
 * examples/fused_dropout.h - bias, GELU and dropout in one kernel of your own
 *
 *   forward    y  = dropout(gelu(x + bias))
 *   backward   dx = dropout(dy) * gelu'(x + bias), with the forward's mask
 *
 * No mask is stored: both draw it from the state that philox_pass_rng() gives
 * their pass. The work on elements is written once, here, for the kernel
 * (fused_dropout.cu) and for the host device's loop (fused_dropout_host.c).
 */
#ifndef EXAMPLES_FUSED_DROPOUT_H
#define EXAMPLES_FUSED_DROPOUT_H

#include <math.h>
#include <philox.h>

#ifdef __cplusplus
extern "C" {
#endif

/* struct fused_dropout is the argument of a launch; both copy it. */
struct fused_dropout {
	struct philox_rng rng; /* a state, or in a graph the address of one */
	uint64_t threshold;    /* philox_threshold(p) */
	float scale;           /* philox_dropout_scale(p) */
	uint64_t count, cols;  /* elements; length of a row and of the bias */
	const float *x, *bias; /* device memory, as are the next two */
	const float *dy;       /* the backward's input; NULL in the forward */
	float *out;            /* y, or dx */
};

PHILOX_FN float gelu(float z)
{
	return 0.5f * z * (1.0f + erff(0.707106781f * z));
}

PHILOX_FN float gelu_slope(float z)
{
	return 0.5f * (1.0f + erff(0.707106781f * z)) +
	       0.398942280f * z * expf(-0.5f * z * z);
}

/* Elements 4 * block .. 4 * block + 3, or fewer at the end. */
PHILOX_FN void fused_dropout_block(const struct fused_dropout *f,
				   struct philox_state state, uint64_t block)
{
	uint64_t first = 4 * block;
	int n = f->count - first < 4 ? (int)(f->count - first) : 4;
	struct philox_f32x4 v = {{0, 0, 0, 0}};

	for (int i = 0; i < n; i++) {
		float z = f->x[first + i] + f->bias[(first + i) % f->cols];

		v.v[i] = f->dy ? f->dy[first + i] * gelu_slope(z) : gelu(z);
	}
	v = philox_dropout4(state, block, v, f->threshold, f->scale);
	for (int i = 0; i < n; i++)
		f->out[first + i] = v.v[i];
}

/*
 * Puts the work on a stream; a kernel's status is a cudaError_t. CUDA loads a
 * kernel at its first use, which not every driver allows during a capture: use
 * it once before, or call cudaFuncGetAttributes().
 */
int fused_dropout_cuda(philox_stream stream, const struct fused_dropout *args);
enum philox_status fused_dropout_host(struct philox_device *device,
				      philox_stream stream,
				      const struct fused_dropout *args);

#ifdef __cplusplus
}
#endif
#endif
