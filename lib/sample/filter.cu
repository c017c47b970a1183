/*
 * lib/sample/filter.cu - samples with filters, and logprobs, on the GPU
 *
 * See Note [Kept tokens are a prefix] in lib/sample/filter.h.
 */
#include "lib/sample/filter.cuh"
#include "lib/sample/logprob.h"

/*
 * How much the threads before this one have, and the sum of the block's; all of
 * its threads take part.
 */
static __device__ __forceinline__ uint32_t block_places(uint32_t n,
							uint32_t *sum)
{
	__shared__ uint32_t of_warp[SAMPLE_THREADS / 32];
	const uint32_t warp = threadIdx.x / 32;
	uint32_t before = 0, all = n;

	for (uint32_t apart = 1; apart < 32; apart *= 2) {
		const uint32_t others =
			__shfl_xor_sync(0xffffffffu, all, apart);

		before += threadIdx.x & apart ? others : 0;
		all += others;
	}
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		of_warp[warp] = all;
	__syncthreads();
	*sum = 0;
	for (uint32_t i = 0; i < SAMPLE_THREADS / 32; i++) {
		before += i < warp ? of_warp[i] : 0;
		*sum += of_warp[i];
	}
	return before;
}

/* Begins raw logprobs; `first` is the greatest key of the logits. */
static __device__ __forceinline__ void begin_raw(uint64_t first,
						 filter_block *block)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		block->raw = 1;
		block->row.most = filter_logit(first);
		block->row.inverse = 1.0f;
	}
	__syncthreads();
}

/* Knows the logarithm of a sum of masses. */
static __device__ __forceinline__ void end_logprob_total(filter_block *block)
{
	if (threadIdx.x == 0)
		block->ln = logprob_ln(filter_join(block->upper, block->lower));
	__syncthreads();
}

/* Begins a search for the last of the first n. */
static __device__ __forceinline__ void begin_top(uint64_t cut, uint32_t n,
						 filter_block *block)
{
	if (threadIdx.x == 0)
		logprob_begin_top(cut, n, &block->entry, &block->search);
}

/* One block has an entry. */
#define FILTER_KERNEL(name, type)                                              \
	/* Writes the indices of what is kept; returns how many there are. */  \
	static __device__ uint32_t keep_##name(const sample_args *args,        \
					       uint32_t entry, uint64_t cut,   \
					       const filter_block *block)      \
	{                                                                      \
		const uint32_t quads = sample_quads(args);                     \
		const changed change = {args, &block->changes, 0};             \
		uint32_t before = 0;                                           \
                                                                               \
		for (uint32_t q = 0; q < quads; q += SAMPLE_THREADS) {         \
			const uint32_t quad =                                  \
				sample_first_quad(args) + q + threadIdx.x;     \
			uint32_t kept = 0, n = 0, sum, place;                  \
                                                                               \
			take_four_##name(                                      \
				args, sample_##name##_load(args, entry, quad), \
				quad,                                          \
				(sample_allowed(args, entry, quad) & 15) |     \
					change.bits(quad) << 4,                \
				change, [&](uint64_t key) {                    \
					kept = kept << 1 | (key >= cut);       \
					n += key >= cut;                       \
				});                                            \
			place = before + block_places(n, &sum);                \
			before += sum;                                         \
			for (uint32_t i = 0; i < 4; i++)                       \
				if (kept >> (3 - i) & 1)                       \
					filter_keep(&args->filters, entry,     \
						    place++, quad * 4 + i);    \
		}                                                              \
		return before;                                                 \
	}                                                                      \
                                                                               \
	/* What an entry with a cut keeps: thread 0's. */                      \
	static __device__ filter_kept kept_of_##name(                          \
		const sample_args *args, uint32_t entry, uint64_t cut,         \
		const filter_block *block)                                     \
	{                                                                      \
		filter_kept kept = {SAMPLE_NO_TOKEN, 0};                       \
                                                                               \
		if (args->filters.cuts) {                                      \
			each_key_##name(                                       \
				args, entry, 0, block, [&](uint64_t key) {     \
					if (key >= cut && key < kept.last)     \
						kept.last = key;               \
				});                                            \
			kept.last = ~block_max(~kept.last);                    \
		}                                                              \
		if (args->filters.kept_counts)                                 \
			kept.count = keep_##name(args, entry, cut, block);     \
		return kept;                                                   \
	}                                                                      \
                                                                               \
	/* The key of an entry's token, and what it keeps: thread 0's. */      \
	static __device__ __forceinline__ uint64_t filtered_##name(            \
		const sample_args *args, sample_row *row, uint32_t entry,      \
		filter_block *block, filter_kept *kept)                        \
	{                                                                      \
		sample_row look = *row;                                        \
		const changed change = {args, &block->changes, 0};             \
		uint64_t first;                                                \
		int is_all;                                                    \
                                                                               \
		if (!begin_filters(args, entry, block))                        \
			return SAMPLE_NO_TOKEN;                                \
		is_all = filter_keeps_all(&block->entry) &&                    \
			 !logprob_needs_cut(args);                             \
		look.inverse = is_all ? row->inverse : 0.0f;                   \
		first = share_key(block_max(                                   \
			best_of_##name<0>(args, &look, entry, 0, change)       \
				.key));                                        \
		if (is_all || philox_sample_token(first) < 0 ||                \
		    (row->inverse == 0.0f && !logprob_needs_cut(args)))        \
			return first;                                          \
		begin_searches(row, first, block);                             \
		row->cut = find_##name(args, entry, block);                    \
		if (filter_is_asked(&args->filters))                           \
			*kept = kept_of_##name(args, entry, row->cut, block);  \
		if (row->inverse == 0.0f)                                      \
			return first;                                          \
		return block_max(                                              \
			best_of_##name<1>(args, row, entry, 0, change).key);   \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ void top_##name(                     \
		const sample_args *args, const sample_logprobs *to,            \
		uint32_t entry, const logprob *of, filter_block *block)        \
	{                                                                      \
		uint64_t *keys = block->buckets.upper; /* free after it */     \
		uint64_t cut;                                                  \
                                                                               \
		begin_top(of->cut, to->n_top, block);                          \
		cut = find_##name(args, entry, block);                         \
		if (threadIdx.x == 0)                                          \
			block->listed = 0;                                     \
		__syncthreads();                                               \
		each_key_##name(                                               \
			args, entry, block->raw, block, [&](uint64_t key) {    \
				if (key >= cut)                                \
					list_key(block, keys, LOGPROB_TOP_MAX, \
						 key);                         \
			});                                                    \
		__syncthreads();                                               \
		logprob_end_top(to, entry, of, keys, block->listed,            \
				threadIdx.x, SAMPLE_THREADS);                  \
		__syncthreads();                                               \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ float logprob_##name(                \
		const sample_args *args, uint32_t entry, const logprob *of,    \
		const filter_block *block, int32_t v)                          \
	{                                                                      \
		const uint32_t column = (uint32_t)v - args->first;             \
                                                                               \
		if (v < 0 || column >= args->vocab)                            \
			return logprob_none();                                 \
		return logprob_of(of, key_of_##name(args, entry, block->raw,   \
						    &block->changes,           \
						    (uint32_t)v));             \
	}                                                                      \
                                                                               \
	/* Writes the logprobs of an entry; its cut is 0 if it has none. */    \
	static __device__ __forceinline__ void logprobs_##name(                \
		const sample_args *args, const sample_logprobs *to,            \
		uint32_t entry, uint64_t cut, int32_t token,                   \
		filter_block *block)                                           \
	{                                                                      \
		const uint64_t at = (uint64_t)entry * to->n_ids;               \
		logprob of;                                                    \
                                                                               \
		if (!cut) {                                                    \
			logprob_end_none(to, entry, threadIdx.x,               \
					 SAMPLE_THREADS);                      \
			return;                                                \
		}                                                              \
		sum_##name(args, entry, cut, block);                           \
		end_logprob_total(block);                                      \
		of.row = block->row;                                           \
		of.cut = cut;                                                  \
		of.ln = block->ln;                                             \
		if (to->drawn && threadIdx.x == 0)                             \
			to->drawn[entry] = logprob_##name(args, entry, &of,    \
							  block, token);       \
		for (uint32_t i = threadIdx.x; i < to->n_ids;                  \
		     i += SAMPLE_THREADS)                                      \
			to->of_ids[at + i] = logprob_##name(                   \
				args, entry, &of, block, to->ids[at + i]);     \
		if (to->n_top)                                                 \
			top_##name(args, to, entry, &of, block);               \
	}                                                                      \
                                                                               \
	/* Begins raw logprobs, after the others of a cut; returns theirs. */  \
	static __device__ __forceinline__ uint64_t raw_cut_##name(             \
		const sample_args *args, uint32_t entry, uint64_t cut,         \
		filter_block *block)                                           \
	{                                                                      \
		uint64_t first = 0;                                            \
                                                                               \
		if (cut && !args->allowed && !block->changes.is_changed) {     \
			first = block->first;                                  \
		} else {                                                       \
			each_key_##name(                                       \
				args, entry, 1, block, [&](uint64_t key) {     \
					first = key > first ? key : first;     \
				});                                            \
			first = share_key(block_max(first));                   \
		}                                                              \
		begin_raw(first, block);                                       \
		return philox_sample_token(first) < 0 ? 0 : LOGPROB_ALL;       \
	}                                                                      \
                                                                               \
	/* All logprobs of an entry, whose key thread 0 has. */                \
	static __device__ __forceinline__ void all_logprobs_##name(            \
		const sample_args *args, uint32_t entry, uint64_t cut,         \
		uint64_t key, filter_block *block)                             \
	{                                                                      \
		const int32_t token = philox_sample_token(share_key(key));     \
                                                                               \
		_Pragma("unroll 1") for (int raw = 0; raw < 2; raw++)          \
		{                                                              \
			const sample_logprobs *to =                            \
				raw ? &args->raw : &args->logprobs;            \
                                                                               \
			if (!logprob_are_wanted(to))                           \
				continue;                                      \
			if (raw)                                               \
				cut = raw_cut_##name(args, entry, cut, block); \
			logprobs_##name(args, to, entry, cut, token, block);   \
		}                                                              \
	}                                                                      \
                                                                               \
	extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)           \
		philox_kernel_filter_##name(                                   \
			__grid_constant__ const sample_args args)              \
	{                                                                      \
		__shared__ filter_block block;                                 \
		const uint64_t launch = sample_launch(&args);                  \
                                                                               \
		for (uint32_t i = blockIdx.x; i < (uint32_t)args.list.n;       \
		     i += gridDim.x) {                                         \
			const sample_row *found =                              \
				begin_entry(&args, launch, i);                 \
			uint64_t best = SAMPLE_NO_TOKEN;                       \
			filter_kept kept = {SAMPLE_NO_TOKEN, 0};               \
                                                                               \
			if (!found)                                            \
				continue;                                      \
			sample_row row = *found;                               \
			row.valid &= begin_change(&args, i, row.index,         \
						  &block.changes);             \
			if (row.valid)                                         \
				best = filtered_##name(&args, &row, i, &block, \
						       &kept);                 \
			if (threadIdx.x == 0) {                                \
				filter_end(&args.filters, i, &kept);           \
				sample_end(&args, launch,                      \
					   sample_others(&args), i, &row,      \
					   best);                              \
			}                                                      \
			if (logprob_are_wanted(&args.logprobs) ||              \
			    logprob_are_wanted(&args.raw))                     \
				all_logprobs_##name(&args, i, row.cut, best,   \
						    &block);                   \
		}                                                              \
		if (args.change.notes)                                         \
			end_notes(&args);                                      \
		else if (args.table.control)                                   \
			end_launch(args.table.control);                        \
	}
SAMPLE_LIST(FILTER_KERNEL)
#undef FILTER_KERNEL

/* --- histories ------------------------------------------------------------ */

extern "C" __global__ void philox_kernel_sample_note(
	__grid_constant__ const sample_note_args args)
{
	const uint64_t all = args.list.n * args.n;

	for (uint64_t i = thread_number(); i < all; i += thread_count()) {
		const uint64_t entry = i / args.n;
		const uint32_t k = (uint32_t)(i - entry * args.n);

		if (k < change_note_count(&args, entry))
			change_note_given(&args, entry, k);
	}
}
