/*
 * lib/split/split.cu - rounds of samples whose vocabulary is split, on the GPU
 *
 * See Note [Rounds] in lib/split/split.h. One block has an entry.
 */
#include "lib/sample/filter.cuh"
#include "lib/split/split.h"

/* What a block knows of its entry; shared by its threads. */
struct split_block {
	filter_block filter;
	split_entry e;
	sample_row row;
	uint32_t shifts[SPLIT_SEARCHES];
};

/* Those of a level are where other searches have theirs. */
static __device__ __forceinline__ uint64_t *buckets_of(split_block *block)
{
	static_assert(3 * SPLIT_BUCKETS <= FILTER_BUCKETS, "they fit");
	return block->filter.buckets.upper;
}

/* Knows the row of an entry, and what changes it, for all threads. */
static __device__ __forceinline__ void begin_row(const split_args *args,
						 uint32_t entry,
						 const sample_row *found,
						 split_block *block)
{
	const sample_args *sample = &args->sample;
	int is_valid = begin_change<one_block>(sample, entry, found->index,
					       &block->filter.changes);

	is_valid &= begin_filters<one_block>(sample, entry, &block->filter);
	if (threadIdx.x == 0) {
		block->row = *found;
		block->row.valid &= is_valid;
	}
	__syncthreads();
}

/* --- what came out of the round before ------------------------------------ */

/* The sums of a level, brought near to the thread that walks over them. */
static __device__ __forceinline__ void know_level(const split_args *args,
						  uint32_t entry,
						  const sample_row *row,
						  split_block *block)
{
	const uint64_t *sums = split_sums_of(args, &args->before, entry);
	const uint32_t n = (uint32_t)split_sums(args, &args->before);

	for (uint32_t i = threadIdx.x; i < n; i += SAMPLE_THREADS)
		buckets_of(block)[i] = sums[i];
	__syncthreads();
	if (threadIdx.x == 0)
		split_end_level(args, entry, row, buckets_of(block), &block->e);
}

/* Each thread writes some of the logprobs. */
static __device__ __forceinline__ void know_draw(const split_args *args,
						 uint32_t entry,
						 const sample_row *row,
						 split_block *block)
{
	if (threadIdx.x == 0)
		split_know_draw(args, entry, &block->e);
	__syncthreads();
	_Pragma("unroll 1") for (int raw = 0; raw < 2; raw++)
	{
		const logprob of = split_of(&block->e, row, raw);

		split_end_ids(args, entry, &of, raw, threadIdx.x,
			      SAMPLE_THREADS);
	}
}

/* Brings what is known of an entry up to this round, for all threads. */
static __device__ __forceinline__ void know(const split_args *args,
					    uint32_t entry,
					    const sample_row *row,
					    split_block *block)
{
	const uint32_t kind = args->before.kind;

	if (threadIdx.x == 0) {
		if (kind == SPLIT_BEGIN)
			split_begin(&block->e);
		else
			block->e = *split_entry_of(args, entry);
	}
	__syncthreads();
	if (kind == SPLIT_LEVEL)
		know_level(args, entry, row, block);
	else if (kind == SPLIT_DRAW)
		know_draw(args, entry, row, block);
	else if (threadIdx.x == 0 && kind == SPLIT_FIRST)
		split_know_first(args, entry, row, &block->e);
	else if (threadIdx.x == 0 && kind == SPLIT_TOKEN)
		split_know_token(args, entry, row, &block->e);
	if (threadIdx.x == 0) {
		split_end_searches(args, &block->e);
		*split_entry_of(args, entry) = block->e;
	}
	__syncthreads();
}

/* --- what this round writes ----------------------------------------------- */

/* Zeros, which change no sum and no maximum. */
static __device__ __forceinline__ void clear(const split_args *args,
					     uint32_t entry)
{
	uint64_t *sums = split_sums_of(args, &args->now, entry);
	uint64_t *maxima = split_maxima_of(args, &args->now, entry);
	const uint64_t n_sums = split_sums(args, &args->now);
	const uint64_t n_maxima = split_maxima(args, &args->now);

	for (uint64_t i = threadIdx.x; i < n_sums; i += SAMPLE_THREADS)
		sums[i] = 0;
	for (uint64_t i = threadIdx.x; i < n_maxima; i += SAMPLE_THREADS)
		maxima[i] = 0;
	__syncthreads();
}

/* Opens the searches of a level, whose buckets are zeros. */
static __device__ __forceinline__ void begin_level(const split_args *args,
						   split_block *block)
{
	if (threadIdx.x == 0)
		for (uint32_t by = 0; by < SPLIT_SEARCHES; by++) {
			if (args->now.level == 0 && split_is_by(&args->now, by))
				split_open(args, &block->e, by);
			block->shifts[by] = split_shift(&block->e.search[by]);
		}
	for (uint32_t i = threadIdx.x; i < 3 * SPLIT_BUCKETS;
	     i += SAMPLE_THREADS)
		buckets_of(block)[i] = 0;
	__syncthreads();
}

static __device__ __forceinline__ void end_level(const split_args *args,
						 uint32_t entry,
						 split_block *block)
{
	uint64_t *sums = split_sums_of(args, &args->now, entry);
	const uint32_t n = (uint32_t)split_sums(args, &args->now);

	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += SAMPLE_THREADS)
		sums[i] = buckets_of(block)[i];
	if (threadIdx.x == 0)
		*split_entry_of(args, entry) = block->e;
	__syncthreads();
}

/* The sums of masses of a block, for thread 0. */
static __device__ __forceinline__ void put_sum(const filter_block *block,
					       uint64_t sums[2])
{
	if (threadIdx.x == 0) {
		sums[0] = block->upper;
		sums[1] = block->lower;
	}
	__syncthreads();
}

/* What t of keys is made of, for the functions of filter.cuh. */
static __device__ __forceinline__ void set_row(filter_row row, int raw,
					       filter_block *block)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		block->row = row;
		block->raw = raw;
	}
	__syncthreads();
}

/* The last block of the last round notes the tokens that are drawn. */
static __device__ __forceinline__ void end_round(const split_args *args)
{
	const sample_args *sample = &args->sample;

	if (args->now.kind == SPLIT_END && sample->change.notes)
		end_notes(sample);
	else
		end_launch(sample->table.control);
}

/* --- kernels -------------------------------------------------------------- */

#define SPLIT_KERNEL(name, type)                                               \
	/* The greatest key, and that of the logits as they are. */            \
	static __device__ __forceinline__ void first_##name(                   \
		const split_args *args, uint32_t entry, const sample_row *row, \
		split_block *block)                                            \
	{                                                                      \
		const sample_args *sample = &args->sample;                     \
		uint64_t *maxima = split_maxima_of(args, &args->now, entry);   \
		const int is_wanted = logprob_are_wanted(&sample->raw);        \
		uint64_t first = 0;                                            \
                                                                               \
		_Pragma("unroll 1") for (int raw = 0; raw < 1 + is_wanted;     \
					 raw++)                                \
		{                                                              \
			first = raw || row->valid ? 0 : SAMPLE_NO_TOKEN;       \
			if (!first)                                            \
				each_key_##name<one_block>(                    \
					sample, entry, raw, &block->filter,    \
					[&](uint64_t key) {                    \
						first = greater(key, first);   \
					});                                    \
			first = block_max(first);                              \
			if (threadIdx.x == 0)                                  \
				maxima[raw] = first;                           \
		}                                                              \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ void level_round_##name(             \
		const split_args *args, uint32_t entry, const sample_row *row, \
		split_block *block)                                            \
	{                                                                      \
		const filter_row of = split_row(&block->e, row);               \
                                                                               \
		begin_level(args, block);                                      \
		each_key_##name<one_block>(                                    \
			&args->sample, entry, 0, &block->filter,               \
			[&](uint64_t key) {                                    \
				if (key)                                       \
					split_count(args, &block->e,           \
						    block->shifts, &of, key,   \
						    buckets_of(block));        \
			});                                                    \
		end_level(args, entry, block);                                 \
	}                                                                      \
                                                                               \
	/* The key of one column, that of token v; SPLIT_LOWEST if none. */    \
	static __device__ __forceinline__ uint64_t sent_##name(                \
		const sample_args *args, uint32_t entry,                       \
		const filter_block *block, uint32_t v)                         \
	{                                                                      \
		return split_sent(key_of_##name(args, entry, block->raw,       \
						&block->changes, v));          \
	}                                                                      \
                                                                               \
	/* The keys of ids, and of the first tokens from a cut on. */          \
	static __device__ __forceinline__ void ids_##name(                     \
		const split_args *args, uint32_t entry, uint64_t cut,          \
		filter_block *block)                                           \
	{                                                                      \
		const sample_args *sample = &args->sample;                     \
		const sample_logprobs *to =                                    \
			block->raw ? &sample->raw : &sample->logprobs;         \
		uint64_t *ids =                                                \
			split_ids_of(args, &args->now, entry, block->raw);     \
		uint64_t *top =                                                \
			ids + to->n_ids + (uint64_t)args->part * to->n_top;    \
		const uint64_t at = (uint64_t)entry * to->n_ids;               \
                                                                               \
		for (uint32_t i = threadIdx.x; i < to->n_ids;                  \
		     i += SAMPLE_THREADS) {                                    \
			const int32_t v = to->ids[at + i];                     \
			const uint32_t column = (uint32_t)v - sample->first;   \
                                                                               \
			if (v >= 0 && column < sample->vocab)                  \
				ids[i] = sent_##name(sample, entry, block,     \
						     (uint32_t)v);             \
		}                                                              \
		if (!to->n_top)                                                \
			return;                                                \
		if (threadIdx.x == 0) {                                        \
			logprob_begin_top(cut, to->n_top, &block->entry,       \
					  &block->search);                     \
			block->listed = 0;                                     \
		}                                                              \
		cut = find_##name<one_block>(sample, entry, block);            \
		if (threadIdx.x == 0)                                          \
			block->listed = 0;                                     \
		__syncthreads();                                               \
		each_key_##name<one_block>(                                    \
			sample, entry, block->raw, block, [&](uint64_t key) {  \
				if (key >= cut)                                \
					list_key(block, top, to->n_top, key);  \
			});                                                    \
		__syncthreads();                                               \
	}                                                                      \
                                                                               \
	/* The sum of masses from a cut on, and ids, of one kind. */           \
	static __device__ __forceinline__ void logprobs_##name(                \
		const split_args *args, uint32_t entry, filter_row row,        \
		int raw, uint64_t cut, uint64_t *sums, filter_block *block)    \
	{                                                                      \
		set_row(row, raw, block);                                      \
		sum_##name<one_block>(&args->sample, entry, cut, block);       \
		put_sum(block, sums);                                          \
		ids_##name(args, entry, cut, block);                           \
	}                                                                      \
                                                                               \
	/* How many are kept, and the last. */                                 \
	static __device__ __forceinline__ void kept_##name(                    \
		const split_args *args, uint32_t entry, uint64_t cut,          \
		uint64_t *last, uint64_t *count, filter_block *block)          \
	{                                                                      \
		uint64_t least = SAMPLE_NO_TOKEN, n = 0;                       \
                                                                               \
		each_key_##name<one_block>(                                    \
			&args->sample, entry, 0, block, [&](uint64_t key) {    \
				if (key < cut)                                 \
					return;                                \
				least = key < least ? key : least;             \
				n++;                                           \
			});                                                    \
		least = block_max(~least);                                     \
		end_sum<one_block>(block, n, 0);                               \
		if (threadIdx.x == 0 && args->sample.filters.cuts)             \
			*last = least;                                         \
		if (threadIdx.x == 0 && args->sample.filters.kept_counts)      \
			*count = block->upper;                                 \
		__syncthreads();                                               \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ uint64_t best_kept_##name(           \
		const split_args *args, uint32_t entry, const sample_row *row, \
		split_block *block)                                            \
	{                                                                      \
		const changed change = {&args->sample, &block->filter.changes, \
					0};                                    \
		sample_row of = *row;                                          \
                                                                               \
		if (!block->e.cut || row->inverse == 0.0f)                     \
			return block->e.first;                                 \
		of.cut = block->e.cut;                                         \
		return block_max(best_of_##name<1>(&args->sample, &of, entry,  \
						   {0, 1}, change)             \
					 .key);                                \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ void draw_##name(                    \
		const split_args *args, uint32_t entry, const sample_row *row, \
		split_block *block)                                            \
	{                                                                      \
		const sample_args *sample = &args->sample;                     \
		const int wants = logprob_are_wanted(&sample->logprobs);       \
		const int wants_raw = logprob_are_wanted(&sample->raw);        \
		uint64_t *sums = split_sums_of(args, &args->now, entry);       \
		uint64_t *maxima = split_maxima_of(args, &args->now, entry);   \
		uint64_t key;                                                  \
                                                                               \
		for (int raw = 0; raw < 2; raw++)                              \
			split_begin_top(args, entry, raw, threadIdx.x,         \
					SAMPLE_THREADS);                       \
		_Pragma("unroll 1") for (int raw = 0; raw < 2; raw++)          \
		{                                                              \
			const uint64_t cut =                                   \
				raw ? philox_sample_token(                     \
					      block->e.raw_first) < 0          \
						? 0                            \
						: LOGPROB_ALL                  \
				    : block->e.cut;                            \
                                                                               \
			if (cut && (raw ? wants_raw : wants))                  \
				logprobs_##name(                               \
					args, entry,                           \
					raw ? split_raw_row(&block->e)         \
					    : split_row(&block->e, row),       \
					raw, cut,                              \
					sums + (raw ? 2 * wants : 0),          \
					&block->filter);                       \
		}                                                              \
		if (block->e.cut && filter_is_asked(&sample->filters))         \
			kept_##name(args, entry, block->e.cut, maxima + 1,     \
				    sums + 2 * (wants + wants_raw),            \
				    &block->filter);                           \
		key = best_kept_##name(args, entry, row, block);               \
		if (threadIdx.x == 0)                                          \
			maxima[0] = key;                                       \
	}                                                                      \
                                                                               \
	/* The keys of the token that is drawn. */                             \
	static __device__ __forceinline__ void token_##name(                   \
		const split_args *args, uint32_t entry, split_block *block)    \
	{                                                                      \
		const sample_args *sample = &args->sample;                     \
		uint64_t *maxima = split_maxima_of(args, &args->now, entry);   \
		const int32_t v = philox_sample_token(block->e.key);           \
                                                                               \
		if (threadIdx.x != 0 || v < 0 ||                               \
		    (uint32_t)v - sample->first >= sample->vocab)              \
			return;                                                \
		for (int raw = 0; raw < 2; raw++) {                            \
			block->filter.raw = raw;                               \
			maxima[raw] = sent_##name(                             \
				sample, entry, &block->filter, (uint32_t)v);   \
		}                                                              \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ void round_##name(                   \
		const split_args *args, uint32_t entry, const sample_row *row, \
		split_block *block)                                            \
	{                                                                      \
		const uint32_t kind = args->now.kind;                          \
                                                                               \
		if (kind == SPLIT_FIRST)                                       \
			first_##name(args, entry, row, block);                 \
		else if (kind == SPLIT_LEVEL && block->e.cut)                  \
			level_round_##name(args, entry, row, block);           \
		else if (kind == SPLIT_DRAW)                                   \
			draw_##name(args, entry, row, block);                  \
		else if (kind == SPLIT_TOKEN)                                  \
			token_##name(args, entry, block);                      \
	}                                                                      \
                                                                               \
	/* With one block at a time no registers are spilled. */               \
	extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS, 1)        \
		philox_kernel_split_##name(                                    \
			__grid_constant__ const split_args args)               \
	{                                                                      \
		__shared__ split_block block;                                  \
		const sample_args *sample = &args.sample;                      \
		const uint64_t launch = sample_launch(sample);                 \
                                                                               \
		for (uint32_t i = blockIdx.x; i < (uint32_t)sample->list.n;    \
		     i += gridDim.x) {                                         \
			const sample_row *found =                              \
				begin_entry(sample, launch, i);                \
                                                                               \
			clear(&args, i);                                       \
			if (!found)                                            \
				continue;                                      \
			begin_row(&args, i, found, &block);                    \
			know(&args, i, &block.row, &block);                    \
			round_##name(&args, i, &block.row, &block);            \
			if (args.now.kind == SPLIT_END && threadIdx.x == 0)    \
				sample_end(sample, launch,                     \
					   sample_others(sample), i,           \
					   &block.row, block.e.key);           \
		}                                                              \
		end_round(&args);                                              \
	}

SAMPLE_LIST(SPLIT_KERNEL)
#undef SPLIT_KERNEL
