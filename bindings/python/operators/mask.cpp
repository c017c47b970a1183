/*
 * bindings/python/operators/mask.cpp - masks of whole channels and with other
 * values for what is dropped, and Bernoulli numbers of a tensor of probabilities
 */
#include "bindings/python/operators/mask.h"

#include <algorithm>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>
#include "bindings/python/operators/mask_cuda.h"
#include "bindings/python/operators/operators.h"

namespace philox
{

namespace
{

/* Words are drawn into memory of this many, which the first cache holds. */
const uint64_t chunk = 4096;

/* Elements that are worth a thread. */
const uint64_t grain = 1 << 18;

/* Calls f(begin, end) for parts of 0 .. n that begin at multiples of chunk. What
 * no thread can be had for, the caller's does. f does not throw. */
template <typename F> void in_parts(uint64_t n, const F &f)
{
	uint64_t parts = std::min<uint64_t>(n / grain + 1, threads());
	uint64_t size = (n / parts / chunk + 1) * chunk;
	uint64_t begin = std::min(n, size), rest = n;
	std::vector<std::thread> others;

	others.reserve(parts);
	try {
		for (; begin < n; begin += size)
			others.emplace_back(f, begin,
					    std::min(n, begin + size));
	} catch (const std::system_error &) {
		rest = begin;
	}
	f(0, std::min(n, size));
	if (rest < n)
		f(rest, n);
	for (std::thread &other : others)
		other.join();
}

/* Writes the words of the elements from `first` on. */
void words_of(struct philox_state state, uint64_t first, uint64_t n,
	      uint32_t *words)
{
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);

	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.span = philox_span_elements(first, n);
	fill.out = words;
	philox_state_fill(state, &fill, 1);
}

/* Calls f(begin, end, words) for runs of elements, a word for each. */
template <typename F>
void with_words(struct philox_state state, uint64_t first, uint64_t begin,
		uint64_t end, const F &f)
{
	uint32_t words[chunk];

	for (uint64_t i = begin; i < end; i += chunk) {
		uint64_t n = std::min(chunk, end - i);

		words_of(state, first + i, n, words);
		f(i, i + n, words);
	}
}

/* Calls f(begin, end, w) for runs of elements that share a word: `inner` each,
 * but for the first and the last. */
template <typename F>
void with_shared_words(struct philox_state state, uint64_t first,
		       uint64_t inner, uint64_t begin, uint64_t end, const F &f)
{
	uint64_t group = begin / inner, last = (end - 1) / inner;

	with_words(state, first, group, last + 1,
		   [&](uint64_t from, uint64_t to, const uint32_t *words) {
			   for (uint64_t g = from; g < to; g++)
				   f(std::max(begin, g * inner),
				     std::min(end, (g + 1) * inner),
				     words[g - from]);
		   });
}

template <typename T> void poison(T *out, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		narrow(std::numeric_limits<decltype(widen(T()))>::quiet_NaN(),
		       &out[i]);
}

/* Elements with a word each. By value, so that no write can change the mask. */
template <typename T, typename Wide>
void mask_each(const T *__restrict x, T *__restrict out, uint64_t n,
	       const uint32_t *__restrict words, const mask<Wide> mask)
{
	for (uint64_t i = 0; i < n; i++)
		mask_element(x[i], words[i], mask, &out[i]);
}

/* Elements that share a word. */
template <typename T, typename Wide>
void mask_run(const T *__restrict x, T *__restrict out, uint64_t n, uint32_t w,
	      const mask<Wide> mask)
{
	if (philox_keep(w, mask.threshold))
		for (uint64_t i = 0; i < n; i++)
			narrow(multiply_add(widen(x[i]), mask.scale,
					    mask.shift),
			       &out[i]);
	else
		for (uint64_t i = 0; i < n; i++)
			narrow(mask.dropped, &out[i]);
}

template <typename T, typename Wide>
void mask_part(const T *x, T *out, uint64_t begin, uint64_t end,
	       struct philox_state state, const mask<Wide> &mask)
{
	if (mask.inner == 1)
		with_words(state, mask.first, begin, end,
			   [&](uint64_t from, uint64_t to, const uint32_t *w) {
				   mask_each(x + from, out + from, to - from, w,
					     mask);
			   });
	else
		with_shared_words(state, mask.first, mask.inner, begin, end,
				  [&](uint64_t from, uint64_t to, uint32_t w) {
					  mask_run(x + from, out + from,
						   to - from, w, mask);
				  });
}

template <typename T, typename Wide>
void mask_on_host(const T *x, T *out, uint64_t n, struct philox_state state,
		  const mask<Wide> &mask)
{
	if (philox_is_poison(state))
		return poison(out, n);
	in_parts(n, [&](uint64_t begin, uint64_t end) {
		mask_part(x, out, begin, end, state, mask);
	});
}

template <typename T>
void bernoulli_on_host(const T *p, T *out, uint64_t n,
		       struct philox_state state, uint64_t first)
{
	if (philox_is_poison(state))
		return poison(out, n);
	in_parts(n, [&](uint64_t begin, uint64_t end) {
		with_words(state, first, begin, end,
			   [&](uint64_t from, uint64_t to, const uint32_t *w) {
				   for (uint64_t i = from; i < to; i++)
					   bernoulli_element(widen(p[i]),
							     w[i - from],
							     &out[i]);
			   });
	});
}

template <typename T>
void mask_as(const Tensor &x, const Tensor &out, const source &source,
	     const mask<double> &m)
{
	typedef decltype(widen(T())) Wide;
	mask<Wide> mask = {m.threshold,
			   static_cast<Wide>(m.scale),
			   static_cast<Wide>(m.shift),
			   static_cast<Wide>(m.dropped),
			   m.first,
			   m.inner};
	const T *from = static_cast<const T *>(x.data_ptr());
	T *to = static_cast<T *>(out.data_ptr());
	uint64_t n = static_cast<uint64_t>(x.numel());

	if (source.on_host)
		mask_on_host(from, to, n, source.rng.state, mask);
	else
		mask_on_cuda(from, to, n, source, mask);
}

template <typename T>
void bernoulli_as(const Tensor &p, const Tensor &out, const source &source,
		  uint64_t first)
{
	const T *from = static_cast<const T *>(p.data_ptr());
	T *to = static_cast<T *>(out.data_ptr());
	uint64_t n = static_cast<uint64_t>(p.numel());

	if (source.on_host)
		bernoulli_on_host(from, to, n, source.rng.state, first);
	else
		bernoulli_on_cuda(from, to, n, source, first);
}

/* Calls f(T()) with the type of the elements of a tensor. */
template <typename F>
void with_type(const Tensor &tensor, const char *op, const F &f)
{
	switch (dtype_of(tensor, op)) {
	case PHILOX_DTYPE_F32:
		return f(float());
	case PHILOX_DTYPE_F64:
		return f(double());
	case PHILOX_DTYPE_BF16:
		return f(bf16());
	case PHILOX_DTYPE_F16:
		return f(f16());
	default:
		require(false, op, "the dtype is not floating");
	}
}

/* Whole tensors only: a shard of rows is several calls. */
void require_plain(int64_t first, int64_t cols, int64_t stride, const char *op)
{
	require(first >= 0, op, "first is negative");
	require(!cols && !stride, op, "cols and stride are not 0");
}

} // namespace

Tensor masked(Tensor x, Tensor states, double p, double scale, double shift,
	      double dropped, int64_t inner, int64_t op, int64_t first,
	      int64_t cols, int64_t stride)
{
	Tensor in = in_order(x), out = new_like(x);
	source source(states, op, out, "masked");

	require_plain(first, cols, stride, "masked");
	require(p >= 0 && p <= 1, "masked", "p is not in [0, 1]");
	require(inner > 0, "masked", "inner is not positive");
	mask<double> mask = {philox_threshold(p),
			     scale,
			     shift,
			     dropped,
			     static_cast<uint64_t>(first),
			     static_cast<uint64_t>(inner)};

	if (!x.numel())
		return out;
	with_type(x, "masked", [&](auto type) {
		mask_as<decltype(type)>(in, out, source, mask);
	});
	return out;
}

Tensor bernoulli_of(Tensor p, Tensor states, int64_t op, int64_t first,
		    int64_t cols, int64_t stride)
{
	Tensor in = in_order(p), out = new_like(p);
	source source(states, op, out, "bernoulli_of");
	uint64_t from = static_cast<uint64_t>(first);

	require_plain(first, cols, stride, "bernoulli_of");
	if (!p.numel())
		return out;
	with_type(p, "bernoulli_of", [&](auto type) {
		bernoulli_as<decltype(type)>(in, out, source, from);
	});
	return out;
}

} // namespace philox
