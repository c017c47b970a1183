/*
 * philox/mixture.h - the order of training data, without memory
 *
 *   struct philox_mixture mixture = philox_mixture_of(state, from, 3);
 *   struct philox_mixture_sample read = philox_mixture_at(&mixture, position);
 *
 * A run reads samples one after the other; the number of a read, 0, 1, 2 and so
 * on, is its position. For each position these functions compute which sample
 * of which source is read there, and in which epoch of that source. Nothing
 * else decides it: not how many positions a batch has, how many ranks read
 * them, nor what was read before. philox_mixture_find() is the inverse: it
 * finds the position at which a sample is read in an epoch.
 *
 * philox/data.h makes mixtures from weights, and keeps the position of a run in
 * the text of a context. These are the same numbers for a kernel, which needs
 * the sources in memory that it can read.
 *
 * Positions are in blocks of B, the sum of all quotas, and each block has as
 * many positions of a source as its quota says, exactly. The B positions of
 * block number b are permuted by an order of its own. Where `place` is the
 * place of a position in that order,
 *
 *   the source   is that whose first <= place < first + quota
 *   draw         = b quota + (place - first), counted from 0 for each source
 *   epoch        = draw / samples, rounded down
 *   the sample   is that at place draw mod samples of the epoch's order
 *
 * So each epoch of a source has each of its samples once. An epoch's order is
 * made of windows of `window` samples, of which the last may be shorter: the
 * samples of a window stay in it, and each window has an order of its own. A
 * window of 0, or of more than `samples`, is the whole source; with a window of
 * 1 samples keep their own order. A reader that goes through a source in
 * sequence has to hold few samples at once: with a single source one window,
 * and in a mixture as many windows as `quota` samples touch, for the order of a
 * block also exchanges a source's own draws.
 *
 * A single source has quota 1, and so blocks of 1 position: the draw is the
 * position.
 *
 * Orders are those of philox_permute() (philox/permute.h). With fold() for
 * philox_fold() in the plane PHILOX_FOLD_DATA,
 *
 *   key = fold(state.seed, state.offset / 4)
 *
 *   place  = philox_permute({key, 4 b}, B, position mod B)
 *   sample = w window + philox_permute({fold(fold(key, source), epoch), 4 w},
 *            length of window w, place in window w)
 *
 * Positions are below 2^63. What is not there, such as the sample at a later
 * position, or the position of an epoch after the last, is all-ones. A poisoned
 * state (philox_is_poison()) gives all-ones, too.
 *
 * Cost: O(1) on average for a position, in both directions, and O(log(sources))
 * to find the source. An order is not secret.
 *
 * During capture: all functions here are legal.
 * Threads: any, at any time.
 */
#ifndef PHILOX_MIXTURE_H
#define PHILOX_MIXTURE_H

#include <philox/state.h>
#include <philox/permute.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A source of a mixture. philox_data_quotas() (philox/data.h) fills in an array
 * of them; who does it by hand keeps to these ranges.
 */
struct philox_mixture_source {
	uint64_t samples; /* 1 .. 2^63 */
	uint64_t window;  /* samples of a window; 0: all */
	uint64_t quota;   /* positions of each block, >= 1; 1 if it is alone */
	uint64_t first;   /* the sum of the quotas of all sources before it */
};

/*
 * A mixture. Who copies its `n_sources` sources, for a kernel, may set the
 * copy's address; its other members are nobody's business.
 */
struct philox_mixture {
	const struct philox_mixture_source *sources;
	uint64_t key;
	uint64_t block;  /* positions of a block */
	uint64_t poison; /* all-ones for a poisoned state, else 0 */
	uint32_t n_sources;
	uint32_t reserved;
};

/* What is read at a position. */
struct philox_mixture_sample {
	uint64_t epoch;    /* of the source, from 0 */
	uint64_t sample;   /* of the source, below `samples` */
	uint32_t source;   /* its index */
	uint32_t reserved; /* 0 */
};

/* No position, epoch or sample; for a source it is its lower half. */
#define PHILOX_MIXTURE_NONE 0xffffffffffffffffULL

/* --- sources -------------------------------------------------------------- */

/*
 * Return the mixture that a state has of sources.
 *
 *   state      the state; the next offset has another mixture
 *   sources    the sources, which have to stay
 *   n_sources  how many, at least 1
 */
PHILOX_FN struct philox_mixture philox_mixture_of(
	struct philox_state state, const struct philox_mixture_source *sources,
	uint32_t n_sources)
{
	const struct philox_mixture_source *last = sources + (n_sources - 1);
	struct philox_mixture mixture;

	mixture.sources = sources;
	mixture.key =
		philox_fold(state.seed, PHILOX_FOLD_DATA, state.offset / 4);
	mixture.block = last->first + last->quota;
	mixture.poison = 0 - PHILOX_CAST(uint64_t, philox_is_poison(state));
	mixture.n_sources = n_sources;
	mixture.reserved = 0;
	return mixture;
}

/* Return how many samples a window of a source has, but for its last one. */
PHILOX_FN uint64_t
philox_mixture_window(const struct philox_mixture_source *source)
{
	return source->window - 1 < source->samples ? source->window
						    : source->samples;
}

/* Return the source that a place of a block is of. */
PHILOX_FN uint32_t
philox_mixture_source_at(const struct philox_mixture *mixture, uint64_t place)
{
	uint32_t low = 0, high = mixture->n_sources - 1;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (mixture->sources[middle].first <= place)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* --- orders --------------------------------------------------------------- */

/* Return the order of a block; that of 1 position is the only one. */
PHILOX_FN struct philox_permutation philox_mixture_block(
	const struct philox_mixture *mixture, uint64_t block)
{
	struct philox_state state;

	state.seed = mixture->key;
	state.offset = mixture->block > 1 ? 4 * block : 0;
	state.offset |= mixture->poison & 1;
	return philox_permutation_of(state, mixture->block);
}

/* Return the order of a window of an epoch. */
PHILOX_FN struct philox_permutation philox_mixture_order(
	const struct philox_mixture *mixture, uint32_t source, uint64_t epoch,
	uint64_t number)
{
	const struct philox_mixture_source *of = mixture->sources + source;
	uint64_t window = philox_mixture_window(of);
	uint64_t left = of->samples - number * window;
	struct philox_state state;

	state.seed = philox_fold(mixture->key, PHILOX_FOLD_DATA, source);
	state.seed = philox_fold(state.seed, PHILOX_FOLD_DATA, epoch);
	state.offset = window > 1 ? 4 * number : 0;
	return philox_permutation_of(state, left < window ? left : window);
}

/* Return what is read where there is nothing to read. */
PHILOX_FN struct philox_mixture_sample philox_mixture_nothing(void)
{
	struct philox_mixture_sample none;

	none.epoch = none.sample = PHILOX_MIXTURE_NONE;
	none.source = 0xffffffffu;
	none.reserved = 0;
	return none;
}

/* Return the sample that a draw of a source is. */
PHILOX_FN struct philox_mixture_sample philox_mixture_draw(
	const struct philox_mixture *mixture, uint32_t source, uint64_t draw)
{
	const struct philox_mixture_source *of = mixture->sources + source;
	uint64_t window = philox_mixture_window(of);
	struct philox_mixture_sample made;
	struct philox_permutation order;
	uint64_t place = draw % of->samples;

	if (mixture->poison)
		return philox_mixture_nothing();
	made.epoch = draw / of->samples;
	made.sample = place;
	made.source = source;
	made.reserved = 0;
	if (window == 1)
		return made;
	order = philox_mixture_order(mixture, source, made.epoch,
				     place / window);
	made.sample = place / window * window +
		      philox_permuted(&order, place % window);
	return made;
}

/* --- positions ------------------------------------------------------------ */

/*
 * Return what is read at a position of a block whose order is there.
 *
 *   mixture    the mixture
 *   order      that of the block, of philox_mixture_block()
 *   position   the position; from 2^63 on nothing is read
 */
PHILOX_FN struct philox_mixture_sample philox_mixture_in_block(
	const struct philox_mixture *mixture,
	const struct philox_permutation *order, uint64_t position)
{
	uint64_t block = position / mixture->block;
	uint64_t place = philox_permuted(order, position % mixture->block);
	const struct philox_mixture_source *of = mixture->sources;
	uint32_t source;

	if (mixture->poison || position >> 63)
		return philox_mixture_nothing();
	source = philox_mixture_source_at(mixture, place);
	of += source;
	return philox_mixture_draw(mixture, source,
				   block * of->quota + (place - of->first));
}

/*
 * Return what is read at a position.
 *
 *   mixture    the mixture
 *   position   the position; from 2^63 on nothing is read
 */
PHILOX_FN struct philox_mixture_sample philox_mixture_at(
	const struct philox_mixture *mixture, uint64_t position)
{
	struct philox_permutation order =
		philox_mixture_block(mixture, position / mixture->block);

	return philox_mixture_in_block(mixture, &order, position);
}

/* Return the number of a sample's draw, or PHILOX_MIXTURE_NONE. */
PHILOX_FN uint64_t
philox_mixture_undraw(const struct philox_mixture *mixture,
		      const struct philox_mixture_sample *sample)
{
	const struct philox_mixture_source *of =
		mixture->sources + sample->source;
	uint64_t window = philox_mixture_window(of);
	uint64_t number = sample->sample / window;
	uint64_t place = sample->sample % window;
	struct philox_permutation order;

	if (sample->sample >= of->samples ||
	    sample->epoch >
		    (PHILOX_MIXTURE_NONE - (of->samples - 1)) / of->samples)
		return PHILOX_MIXTURE_NONE;
	if (window > 1) {
		order = philox_mixture_order(mixture, sample->source,
					     sample->epoch, number);
		place = philox_permuted_inverse(&order, place);
	}
	return sample->epoch * of->samples + number * window + place;
}

/*
 * Return the position at which a sample is read: the inverse of
 * philox_mixture_at().
 *
 *   mixture    the mixture
 *   sample     source, epoch and sample
 *
 * It is PHILOX_MIXTURE_NONE for what is read at no position.
 */
PHILOX_FN uint64_t
philox_mixture_find(const struct philox_mixture *mixture,
		    const struct philox_mixture_sample *sample)
{
	const struct philox_mixture_source *of;
	struct philox_permutation order;
	uint64_t draw, block, place;

	if (mixture->poison || sample->source >= mixture->n_sources)
		return PHILOX_MIXTURE_NONE;
	of = mixture->sources + sample->source;
	draw = philox_mixture_undraw(mixture, sample);
	block = draw / of->quota;
	if (block > (PHILOX_MIXTURE_NONE >> 1) / mixture->block)
		return PHILOX_MIXTURE_NONE;
	order = philox_mixture_block(mixture, block);
	place = philox_permuted_inverse(&order, of->first + draw % of->quota);
	place += block * mixture->block;
	return place >> 63 ? PHILOX_MIXTURE_NONE : place;
}

/* --- what decides an order ------------------------------------------------ */

/* Return a hash that goes on with the eight bytes of a number, lowest first. */
PHILOX_FN uint64_t philox_mixture_add(uint64_t hash, uint64_t number)
{
	for (int i = 0; i < 8; i++) {
		hash = (hash ^ (number & 255)) * 0x100000001b3ULL;
		number >>= 8;
	}
	return hash;
}

/*
 * Return the hash of all that decides the order of a mixture, but its state.
 *
 *   mixture    the mixture
 *
 * It is FNV-1a, 64 bits, of these numbers, each as 8 bytes with the lowest
 * first: B; how many sources; and of each source its samples, its quota and its
 * window, where a window of the whole source is `samples`.
 */
PHILOX_FN uint64_t philox_mixture_hash(const struct philox_mixture *mixture)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	hash = philox_mixture_add(hash, mixture->block);
	hash = philox_mixture_add(hash, mixture->n_sources);
	for (uint32_t i = 0; i < mixture->n_sources; i++) {
		const struct philox_mixture_source *of = mixture->sources + i;

		hash = philox_mixture_add(hash, of->samples);
		hash = philox_mixture_add(hash, of->quota);
		hash = philox_mixture_add(hash, philox_mixture_window(of));
	}
	return hash;
}

#ifdef __cplusplus
}
#endif
#endif
