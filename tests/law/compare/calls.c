/*
 * tests/law/compare/calls.c - functions of the headers that check.py calls
 *
 * It is built as a library, as words.c is.
 */
#include <philox/kernel.h>

void calls_mixture(struct philox_state state,
		   const struct philox_mixture_source *sources,
		   uint32_t n_sources, uint64_t first, uint32_t count,
		   struct philox_mixture_sample *samples);
void calls_mixture(struct philox_state state,
		   const struct philox_mixture_source *sources,
		   uint32_t n_sources, uint64_t first, uint32_t count,
		   struct philox_mixture_sample *samples)
{
	const struct philox_mixture mixture =
		philox_mixture_of(state, sources, n_sources);

	for (uint32_t i = 0; i < count; i++)
		samples[i] = philox_mixture_at(&mixture, first + i);
}

uint64_t calls_mixture_hash(const struct philox_mixture *mixture);
uint64_t calls_mixture_hash(const struct philox_mixture *mixture)
{
	return philox_mixture_hash(mixture);
}
