/*
 * bindings/python/operators/mask_cuda.h - the masked operators on a GPU
 */
#ifndef BINDINGS_PYTHON_OPERATORS_MASK_CUDA_H
#define BINDINGS_PYTHON_OPERATORS_MASK_CUDA_H

#include <stdexcept>
#include <torch/csrc/stable/accelerator.h>
#include "bindings/python/operators/mask.h"
#include "bindings/python/operators/tensors.h"

namespace philox
{

#ifdef PHILOX_WITH_CUDA
/* Puts a kernel on the stream; returns CUDA's error, or NULL. For each T of
 * float, double, bf16 and f16, with Wide = decltype(widen(T())). */
template <typename T, typename Wide>
const char *launch_mask(const T *x, T *out, uint64_t n,
			const struct philox_state *state, mask<Wide> mask,
			philox_stream stream);
template <typename T>
const char *launch_bernoulli(const T *p, T *out, uint64_t n,
			     const struct philox_state *state, uint64_t first,
			     philox_stream stream);
#else
template <typename T, typename Wide>
const char *launch_mask(const T *, T *, uint64_t, const struct philox_state *,
			mask<Wide>, philox_stream)
{
	return "this build has no CUDA kernels";
}
template <typename T>
const char *launch_bernoulli(const T *, T *, uint64_t,
			     const struct philox_state *, uint64_t,
			     philox_stream)
{
	return "this build has no CUDA kernels";
}
#endif

inline void check_launch(const char *error)
{
	if (error)
		throw std::runtime_error(std::string("philox: ") + error);
}

template <typename T, typename Wide>
void mask_on_cuda(const T *x, T *out, uint64_t n, const source &source,
		  const mask<Wide> &mask)
{
	torch::stable::accelerator::DeviceGuard guard(source.device_index());

	check_launch(launch_mask(x, out, n, source.address(), mask,
				 source.stream()));
}

template <typename T>
void bernoulli_on_cuda(const T *p, T *out, uint64_t n, const source &source,
		       uint64_t first)
{
	torch::stable::accelerator::DeviceGuard guard(source.device_index());

	check_launch(launch_bernoulli(p, out, n, source.address(), first,
				      source.stream()));
}

} // namespace philox
#endif
