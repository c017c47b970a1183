/*
 * bindings/python/operators/filters.h - a sampler's filters, as Python gives them
 */
#ifndef BINDINGS_PYTHON_OPERATORS_FILTERS_H
#define BINDINGS_PYTHON_OPERATORS_FILTERS_H

#include <cstdint>
#include <philox.h>

namespace philox
{

/* Sets the filters that leave tokens out: not top_k 0, top_p 1 or min_p 0. All
 * other values go to the library, which refuses those that cannot be. */
inline void set_filters(struct philox_sample_desc *sample, int64_t top_k,
			double top_p, double min_p)
{
	if (top_k > 0) {
		sample->filters |= PHILOX_FILTER_TOP_K;
		sample->top_k = static_cast<uint32_t>(top_k);
	}
	if (top_p != 1) {
		sample->filters |= PHILOX_FILTER_TOP_P;
		sample->top_p = top_p;
	}
	if (min_p != 0) {
		sample->filters |= PHILOX_FILTER_MIN_P;
		sample->min_p = min_p;
	}
}

} // namespace philox
#endif
