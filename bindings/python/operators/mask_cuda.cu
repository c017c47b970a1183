/*
 * bindings/python/operators/mask_cuda.cu - kernels of the masked operators
 */
#include "bindings/python/operators/mask.h"

#include <limits>
#include <cuda_runtime.h>

namespace philox
{

namespace
{

const unsigned block = 256;

/* A thread strides over elements: 2^16 blocks are enough for any GPU. */
unsigned grid(uint64_t n)
{
	uint64_t blocks = (n + block - 1) / block;

	return blocks < 65536 ? static_cast<unsigned>(blocks) : 65536;
}

template <typename T> __device__ void poison(T *out)
{
	narrow(static_cast<decltype(widen(T()))>(nan("")), out);
}

template <typename T, typename Wide>
__global__ void mask_kernel(const T *x, T *out, uint64_t n,
			    struct philox_rng rng, mask<Wide> mask)
{
	struct philox_state state = philox_resolve(rng);
	uint64_t i = static_cast<uint64_t>(blockIdx.x) * block + threadIdx.x;

	for (; i < n; i += static_cast<uint64_t>(gridDim.x) * block) {
		uint64_t element = mask.first + i / mask.inner;

		if (philox_is_poison(state))
			poison(&out[i]);
		else
			mask_element(x[i], philox_word_at(state, element), mask,
				     &out[i]);
	}
}

template <typename T>
__global__ void bernoulli_kernel(const T *p, T *out, uint64_t n,
				 struct philox_rng rng, uint64_t first)
{
	struct philox_state state = philox_resolve(rng);
	uint64_t i = static_cast<uint64_t>(blockIdx.x) * block + threadIdx.x;

	for (; i < n; i += static_cast<uint64_t>(gridDim.x) * block) {
		if (philox_is_poison(state))
			poison(&out[i]);
		else
			bernoulli_element(widen(p[i]),
					  philox_word_at(state, first + i),
					  &out[i]);
	}
}

struct philox_rng at(const struct philox_state *state)
{
	struct philox_rng rng = {};

	rng.cell = state;
	return rng;
}

const char *launched()
{
	cudaError_t error = cudaGetLastError();

	return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

} // namespace

template <typename T, typename Wide>
const char *launch_mask(const T *x, T *out, uint64_t n,
			const struct philox_state *state, mask<Wide> mask,
			cudaStream_t stream)
{
	mask_kernel<<<grid(n), block, 0, stream>>>(x, out, n, at(state), mask);
	return launched();
}

template <typename T>
const char *launch_bernoulli(const T *p, T *out, uint64_t n,
			     const struct philox_state *state, uint64_t first,
			     cudaStream_t stream)
{
	bernoulli_kernel<<<grid(n), block, 0, stream>>>(p, out, n, at(state),
							first);
	return launched();
}

#define FOR(T, Wide)                                                           \
	template const char *launch_mask<T, Wide>(const T *, T *, uint64_t,    \
						  const struct philox_state *, \
						  mask<Wide>, cudaStream_t);   \
	template const char *launch_bernoulli<T>(const T *, T *, uint64_t,     \
						 const struct philox_state *,  \
						 uint64_t, cudaStream_t);
FOR(float, float)
FOR(double, double)
FOR(bf16, float)
FOR(f16, float)

} // namespace philox
