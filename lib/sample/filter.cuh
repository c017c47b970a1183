/*
 * lib/sample/filter.cuh - which tokens of an entry are kept, for blocks of
 * a GPU
 *
 * See Note [Kept tokens are a prefix] in lib/sample/filter.h, and Note [Blocks
 * that share an entry] in lib/sample/cluster.cuh.
 */
#ifndef LIB_SAMPLE_FILTER_CUH
#define LIB_SAMPLE_FILTER_CUH

#include "lib/change/change.h"
#include "lib/sample/cluster.cuh"
#include "lib/sample/filter.h"

/* Tokens that are few enough to be listed. */
#define FILTER_FEW 128

/* Quads that a thread loads before it looks at the first; those past the end
 * have columns of -infinity. */
#define FILTER_AHEAD 2

/* Tokens that are changed without being seen are marked, by their lower bits. */
#define CHANGE_MARKS 8192

/* What a block knows of what changes its entry; shared by its threads. */
struct change_block {
	int is_changed; /* some logits are */
	int is_valid;   /* penalties are in range */
	struct change change;
	uint32_t marks[CHANGE_MARKS / 32];
};

/* The same of its filters. */
struct filter_block {
	filter_buckets buckets;
	filter_bucket groups[FILTER_GROUPS];
	uint64_t keys[FILTER_FEW];
	uint64_t all_keys[FILTER_FEW]; /* of all blocks */
	uint64_t upper, lower;         /* of the sum of all masses */
	uint64_t of_block;             /* see blocks_max() */
	uint32_t listed;
	int is_valid;
	int raw;        /* the mask does not matter */
	uint64_t first; /* the greatest key of what may be drawn */
	double ln;      /* of the total */
	filter_row row;
	filter entry;
	filter_search search;
	filter_work work;
	filter_kept kept;
	change_block changes;
};

/* --- changes -------------------------------------------------------------- */

static __device__ __forceinline__ void mark(change_block *block, int32_t v)
{
	const uint32_t at = (uint32_t)v % CHANGE_MARKS;

	if (v >= 0)
		CHANGE_OR(&block->marks[at / 32], (uint32_t)1 << at % 32);
}

/*
 * Looks up what changes the logits of an entry, for all threads of a block; says
 * whether its penalties are in range.
 */
template <class Blocks>
static __device__ __forceinline__ int begin_change(const sample_args *args,
						   uint32_t entry,
						   uint64_t index,
						   change_block *block)
{
	const struct change *change = &block->change;

	__syncthreads();
	if (threadIdx.x == 0 && Blocks::rank() == 0) {
		block->is_changed = change_is_asked(args) && index != ROWS_NONE;
		block->is_valid =
			!block->is_changed ||
			change_begin(args, entry, index, &block->change);
	}
	for (uint32_t i = threadIdx.x; i < CHANGE_MARKS / 32;
	     i += SAMPLE_THREADS)
		block->marks[i] = 0;
	share_values<Blocks>(&block->is_changed, &block->is_valid,
			     &block->change);
	const int is_valid = block->is_valid;

	if (!block->is_changed)
		return is_valid;
	for (uint32_t i = threadIdx.x; i < change->n_biases;
	     i += SAMPLE_THREADS)
		mark(block, change->ids[i]);
	for (uint32_t i = threadIdx.x; change->seen && i < change->n_drafts;
	     i += SAMPLE_THREADS)
		mark(block, change->drafts[i]);
	__syncthreads();
	return is_valid;
}

/* Of few tokens: not inlined, so they take no registers. */
static __device__ __noinline__ float changed_logit(const struct change *change,
						   uint32_t v, float logit)
{
	return change_logit(change, v, logit);
}

/* Those of a quad that have a bit. */
static __device__ __noinline__ quad_logits
changed_quad(const struct change *change, quad_logits logits, uint32_t quad,
	     uint32_t bits)
{
	for (uint32_t i = 0; i < 4; i++)
		if (bits >> i & 1)
			logits.v[i] =
				change_logit(change, quad * 4 + i, logits.v[i]);
	return logits;
}

/* Logits of an entry with what changes them. */
struct changed {
	const sample_args *args;
	const change_block *block;
	int raw; /* as they are, after all */

	/* A bit for each column of a quad that may be changed. */
	__device__ __forceinline__ uint32_t bits(uint32_t quad) const
	{
		const uint32_t place = quad % (CHANGE_MARKS / 4);
		uint32_t bits;

		if (raw || !block->is_changed ||
		    quad - sample_first_quad(args) >= sample_quads(args))
			return 0;
		bits = block->marks[place / 8] >> place % 8 * 4;
		if (block->change.seen)
			bits |= block->change.seen[quad / 8] >> quad % 8 * 4;
		return bits & 15;
	}

	__device__ __forceinline__ quad_logits change(quad_logits logits,
						      uint32_t quad,
						      uint32_t bits) const
	{
		if (!bits)
			return logits;
		for (uint32_t i = 0; i < 4; i++) /* no column of others */
			if (quad * 4 + i - args->first >= args->vocab)
				bits &= ~(1u << i);
		return changed_quad(&block->change, logits, quad, bits);
	}
};

/* --- searches ------------------------------------------------------------- */

/* All threads of a block learn what thread 0 has written; it may write again. */
static __device__ __forceinline__ filter_work work_of(const filter_block *block)
{
	__syncthreads();
	const filter_work work = block->work;

	__syncthreads();
	return work;
}

static __device__ __forceinline__ void proceed(filter_block *block)
{
	if (threadIdx.x == 0)
		block->work = filter_proceed(&block->entry, &block->row,
					     &block->search, FILTER_FEW);
}

/*
 * Looks the filters of an entry up, once for all threads of a block; says
 * whether they are in range.
 */
template <class Blocks>
static __device__ __forceinline__ int begin_filters(const sample_args *args,
						    uint32_t entry,
						    filter_block *block)
{
	__syncthreads();
	if (threadIdx.x == 0 && Blocks::rank() == 0)
		block->is_valid =
			filter_begin(&args->filters, entry, &block->entry);
	share_values<Blocks>(&block->is_valid, &block->entry);
	return block->is_valid;
}

/* Begins the searches of an entry whose greatest key is `first`. */
static __device__ __forceinline__ void begin_searches(const sample_row *row,
						      uint64_t first,
						      filter_block *block)
{
	if (threadIdx.x != 0)
		return;
	block->raw = 0;
	block->first = first;
	block->row.most = filter_logit(first);
	block->row.inverse = row->inverse == 0.0f ? 1.0f : row->inverse;
	block->search.done = 1;
	block->search.needs_total = 0;
}

/* The sum of a warp's; all of its threads take part. */
static __device__ __forceinline__ uint64_t warp_sum(uint64_t x)
{
	for (int apart = 16; apart; apart /= 2)
		x += __shfl_xor_sync(0xffffffffu, (unsigned long long)x, apart);
	return x;
}

/* Joins what the blocks have added up, for thread 0 of each. */
template <class Blocks>
static __device__ __forceinline__ void join_sum(filter_block *block)
{
	uint64_t upper = 0, lower = 0;

	if (Blocks::size() == 1)
		return;
	Blocks::sync();
#pragma unroll 1
	for (uint32_t i = 0; threadIdx.x == 0 && i < Blocks::size(); i++) {
		upper += *Blocks::of(&block->upper, i);
		lower += *Blocks::of(&block->lower, i);
	}
	Blocks::sync();
	if (threadIdx.x == 0) {
		block->upper = upper;
		block->lower = lower;
	}
}

/* Adds up the masses of all threads, in halves, for thread 0 of each block. */
template <class Blocks>
static __device__ __forceinline__ void end_sum(filter_block *block,
					       uint64_t upper, uint64_t lower)
{
	if (threadIdx.x == 0)
		block->upper = block->lower = 0;
	upper = warp_sum(upper);
	lower = warp_sum(lower);
	__syncthreads();
	if (threadIdx.x % 32 == 0) {
		FILTER_ADD(&block->upper, upper);
		FILTER_ADD(&block->lower, lower);
	}
	__syncthreads();
	join_sum<Blocks>(block);
}

/*
 * Joins the buckets of the blocks: each adds up a part of them, then takes the
 * other parts from the others.
 */
template <class Blocks>
static __device__ __noinline__ void join_buckets(filter_block *block)
{
	const uint32_t each = FILTER_BUCKETS / Blocks::size();
	filter_buckets *mine = &block->buckets;

	if (Blocks::size() == 1)
		return;
	Blocks::sync();
#pragma unroll 1
	for (uint32_t i = threadIdx.x; i < each; i += SAMPLE_THREADS) {
		const uint32_t at = Blocks::rank() * each + i;
		filter_bucket sum = {0, 0, 0};

		for (uint32_t k = 0; k < Blocks::size(); k++) {
			const filter_buckets *of = Blocks::of(mine, k);

			sum.upper += of->upper[at];
			sum.lower += of->lower[at];
			sum.count += of->count[at];
		}
		mine->upper[at] = sum.upper;
		mine->lower[at] = sum.lower;
		mine->count[at] = sum.count;
	}
	Blocks::sync();
#pragma unroll 1
	for (uint32_t at = threadIdx.x; at < FILTER_BUCKETS;
	     at += SAMPLE_THREADS) {
		const filter_buckets *of = Blocks::of(mine, at / each);

		if (at / each == Blocks::rank())
			continue;
		mine->upper[at] = of->upper[at];
		mine->lower[at] = of->lower[at];
		mine->count[at] = of->count[at];
	}
	Blocks::sync();
}

/* Ends a level whose columns are counted. */
template <class Blocks>
static __device__ __forceinline__ void end_level(filter_block *block)
{
	__syncthreads();
	join_buckets<Blocks>(block);
	if (threadIdx.x < FILTER_GROUPS)
		block->groups[threadIdx.x] =
			filter_group(&block->buckets, threadIdx.x);
	__syncthreads();
	if (threadIdx.x == 0)
		filter_level_end(&block->search, &block->row, &block->buckets,
				 block->groups);
}

/*
 * Adds a key to a list. There is room for all, unless somebody writes logits
 * meanwhile.
 */
static __device__ __forceinline__ void list_key(filter_block *block,
						uint64_t *keys, uint32_t room,
						uint64_t key)
{
	const uint32_t place = atomicAdd(&block->listed, 1u);

	if (place < room)
		keys[place] = key;
}

/*
 * Joins the lists of the blocks, and returns how many keys that are. They are
 * then in *keys: for one block where they were, else in `all`.
 */
template <class Blocks>
static __device__ __forceinline__ uint32_t
join_list(filter_block *block, uint64_t **keys, uint64_t *all, uint32_t room)
{
	uint32_t n = 0;

	Blocks::sync();
	if (Blocks::size() == 1)
		return block->listed < room ? block->listed : room;
#pragma unroll 1
	for (uint32_t k = 0; k < Blocks::size(); k++) {
		const uint32_t listed = *Blocks::of(&block->listed, k);
		const uint32_t left = room - n;
		const uint64_t *of = Blocks::of(*keys, k);
		const uint32_t n_of = listed < left ? listed : left;

		for (uint32_t i = threadIdx.x; i < n_of; i += SAMPLE_THREADS)
			all[n + i] = of[i];
		n += n_of;
	}
	*keys = all;
	Blocks::sync();
	return n;
}

/* Ends a search whose tokens are listed. */
template <class Blocks>
static __device__ __forceinline__ void end_list(filter_block *block)
{
	const uint32_t i = threadIdx.x;
	uint64_t *keys = block->keys;
	const uint32_t n =
		join_list<Blocks>(block, &keys, block->all_keys, FILTER_FEW);

	if (i < n && filter_is_last(&block->search, &block->row, keys, n, i)) {
		block->search.low = keys[i];
		block->search.done = 1;
	}
	__syncthreads();
}

/* A key of thread 0 for all threads of a block. */
static __device__ __forceinline__ uint64_t share_key(uint64_t key)
{
	__shared__ uint64_t shared;

	__syncthreads();
	if (threadIdx.x == 0)
		shared = key;
	__syncthreads();
	return shared;
}

/* As end_launch(), but the last block notes the tokens that are drawn. */
static __device__ __forceinline__ void end_notes(const sample_args *args)
{
	rows_control *control = args->table.control;

	if (!is_last_block(control))
		return;
	for (uint64_t i = threadIdx.x; i < args->list.n; i += SAMPLE_THREADS)
		change_note_drawn(args, i);
	end_last_block(control);
}

/*
 * Blocks that have an entry read its logits once for the highest, once for each
 * level of a search or list, and once to draw.
 */
#define FILTER_SEARCHES(name, type)                                            \
	template <class Take>                                                  \
	static __device__ __forceinline__ void take_four_##name(               \
		const sample_args *args, sample_four_##name four,              \
		uint32_t quad, uint32_t allowed, changed change, Take take)    \
	{                                                                      \
		const quad_logits logits = change.change(                      \
			widen_##name(sample_##name##_of(args, four, allowed)), \
			quad, allowed & allowed >> 4);                         \
                                                                               \
		for (uint32_t i = 0; i < 4; i++)                               \
			take(sample_key(logits.v[i], quad * 4 + i));           \
	}                                                                      \
                                                                               \
	/* The keys of a block's part of the columns. */                       \
	template <class Blocks, class Take>                                    \
	static __device__ __forceinline__ void each_key_##name(                \
		const sample_args *args, uint32_t entry, int raw,              \
		const filter_block *block, Take take)                          \
	{                                                                      \
		const uint32_t quads = sample_quads(args);                     \
		const uint32_t first = sample_first_quad(args);                \
		const uint32_t each = FILTER_AHEAD * SAMPLE_THREADS;           \
		const changed change = {args, &block->changes, raw};           \
                                                                               \
		for (uint32_t q = Blocks::rank() * each + threadIdx.x;         \
		     q < quads; q += Blocks::size() * each) {                  \
			sample_four_##name four[FILTER_AHEAD];                 \
			uint32_t allowed[FILTER_AHEAD];                        \
                                                                               \
			_Pragma("unroll") for (int k = 0; k < FILTER_AHEAD;    \
					       k++)                            \
			{                                                      \
				const uint32_t quad =                          \
					first + q + k * SAMPLE_THREADS;        \
                                                                               \
				four[k] = sample_##name##_load(args, entry,    \
							       quad);          \
				allowed[k] = raw ? 15                          \
						 : sample_allowed(args, entry, \
								  quad) &      \
							     15;               \
				allowed[k] |= change.bits(quad) << 4;          \
			}                                                      \
			_Pragma("unroll") for (int k = 0; k < FILTER_AHEAD;    \
					       k++)                            \
				take_four_##name(args, four[k],                \
						 first + q +                   \
							 k * SAMPLE_THREADS,   \
						 allowed[k], change, take);    \
		}                                                              \
	}                                                                      \
                                                                               \
	/* The key of one column, that of token v. */                          \
	static __device__ __forceinline__ uint64_t key_of_##name(              \
		const sample_args *args, uint64_t entry, int raw,              \
		const change_block *changes, uint32_t v)                       \
	{                                                                      \
		const type *logits =                                           \
			(const type *)args->logits + entry * args->pitch;      \
		const changed change = {args, changes, raw};                   \
		float logit = sample_widen_##name(logits[v - args->first]);    \
                                                                               \
		if (!raw && !sample_is_allowed(args, entry, v))                \
			return 0;                                              \
		if (change.bits(v / 4) >> v % 4 & 1)                           \
			logit = changed_logit(&changes->change, v, logit);     \
		return sample_key(logit, v);                                   \
	}                                                                      \
                                                                               \
	template <class Blocks>                                                \
	static __device__ void sum_##name(const sample_args *args,             \
					  uint32_t entry, uint64_t base,       \
					  filter_block *block)                 \
	{                                                                      \
		const filter_row row = block->row;                             \
		uint64_t upper = 0, lower = 0;                                 \
                                                                               \
		each_key_##name<Blocks>(                                       \
			args, entry, block->raw, block, [&](uint64_t key) {    \
				if (key < base)                                \
					return;                                \
				const uint64_t mass =                          \
					filter_mass_of(&row, key);             \
                                                                               \
				upper += filter_upper(mass);                   \
				lower += filter_lower(mass);                   \
			});                                                    \
		end_sum<Blocks>(block, upper, lower);                          \
	}                                                                      \
                                                                               \
	template <class Blocks>                                                \
	static __device__ void level_##name(                                   \
		const sample_args *args, uint32_t entry, filter_block *block)  \
	{                                                                      \
		const filter_search search = block->search;                    \
		const filter_row row = block->row;                             \
                                                                               \
		filter_clear(&block->buckets, threadIdx.x, SAMPLE_THREADS);    \
		__syncthreads();                                               \
		each_key_##name<Blocks>(                                       \
			args, entry, block->raw, block, [&](uint64_t key) {    \
				if (filter_is_in(&search, key))                \
					filter_count(&search, &row, key,       \
						     &block->buckets);         \
			});                                                    \
		end_level<Blocks>(block);                                      \
	}                                                                      \
                                                                               \
	template <class Blocks>                                                \
	static __device__ void list_##name(                                    \
		const sample_args *args, uint32_t entry, filter_block *block)  \
	{                                                                      \
		const filter_search search = block->search;                    \
                                                                               \
		if (threadIdx.x == 0)                                          \
			block->listed = 0;                                     \
		__syncthreads();                                               \
		each_key_##name<Blocks>(                                       \
			args, entry, block->raw, block, [&](uint64_t key) {    \
				if (filter_is_in(&search, key))                \
					list_key(block, block->keys,           \
						 FILTER_FEW, key);             \
			});                                                    \
		end_list<Blocks>(block);                                       \
	}                                                                      \
                                                                               \
	/* Goes on with the searches of an entry, and returns its cut. */      \
	template <class Blocks>                                                \
	static __device__ uint64_t find_##name(                                \
		const sample_args *args, uint32_t entry, filter_block *block)  \
	{                                                                      \
		filter_work work;                                              \
                                                                               \
		proceed(block);                                                \
		while ((work = work_of(block)) != FILTER_DONE) {               \
			if (work == FILTER_TOTAL) {                            \
				sum_##name<Blocks>(args, entry,                \
						   block->search.base, block); \
				if (threadIdx.x == 0)                          \
					filter_know_total(&block->search,      \
							  block->upper,        \
							  block->lower);       \
			} else if (work == FILTER_LIST)                        \
				list_##name<Blocks>(args, entry, block);       \
			else                                                   \
				level_##name<Blocks>(args, entry, block);      \
			proceed(block);                                        \
		}                                                              \
		return block->entry.cut;                                       \
	}
SAMPLE_LIST(FILTER_SEARCHES)
#undef FILTER_SEARCHES

#endif
