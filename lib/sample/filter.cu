/*
 * lib/sample/filter.cu - samples with filters, and logprobs, on the GPU
 *
 * See Note [Kept tokens are a prefix] in lib/sample/filter.h, and Note [Blocks
 * that share an entry] in lib/sample/cluster.cuh.
 */
#include "lib/dist/places.cuh"
#include "lib/sample/filter.cuh"
#include "lib/sample/logprob.h"

/* An entry as its blocks know it. */
struct shared_entry {
	sample_row row;
	int takes_part;
	int32_t token; /* that is drawn */
};

static __device__ __forceinline__ uint32_t places_of(uint32_t n, uint32_t *sum)
{
	__shared__ uint32_t of_warp[SAMPLE_THREADS / 32];

	return block_places(n, sum, of_warp);
}

/* As begin_entry(), of all blocks that have the entry. */
static __device__ __forceinline__ int begin_shared(const sample_args *args,
						   uint64_t launch,
						   uint64_t entry,
						   shared_entry *found)
{
	__syncthreads();
	if (threadIdx.x == 0 && cluster::rank() == 0)
		found->takes_part = sample_begin(
			args, launch, sample_others(args), entry, &found->row);
	share_values<cluster>(found);
	return found->takes_part;
}

/* Nothing is kept, unless more is found. */
static __device__ __forceinline__ void begin_kept(filter_block *block)
{
	if (threadIdx.x != 0)
		return;
	block->kept.last = SAMPLE_NO_TOKEN;
	block->kept.count = 0;
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

/* Joins what the blocks have counted; `before` is what those before it have. */
static __device__ __forceinline__ uint32_t join_counts(uint32_t n,
						       uint32_t *before,
						       filter_block *block)
{
	uint32_t all = 0;

	if (threadIdx.x == 0)
		block->listed = n;
	cluster::sync();
#pragma unroll 1
	for (uint32_t k = 0; k < cluster::size(); k++) {
		n = *cluster::of(&block->listed, k);
		*before += k < cluster::rank() ? n : 0;
		all += n;
	}
	cluster::sync();
	return all;
}

/* Begins a search for the last of the first n. */
static __device__ __forceinline__ void begin_top(uint64_t cut, uint32_t n,
						 filter_block *block)
{
	if (threadIdx.x == 0)
		logprob_begin_top(cut, n, &block->entry, &block->search);
}

#define FILTER_KERNEL(name, type)                                               \
	/* Counts what is kept of a block's part of the columns, of which the \
	 * parts are one after the other, and writes the indices, after those \
	 * of `before` others; returns how many there are then. */ \
	static __device__ uint32_t keep_part_##name(                            \
		const sample_args *args, uint32_t entry, uint64_t cut,          \
		int writes, uint32_t before, const filter_block *block)         \
	{                                                                       \
		const uint32_t quads = sample_quads(args);                      \
		const uint32_t each =                                           \
			((quads - 1) / (SAMPLE_THREADS * cluster::size()) +     \
			 1) *                                                   \
			SAMPLE_THREADS;                                         \
		const uint32_t begin = cluster::rank() * each;                  \
		const uint32_t end =                                            \
			begin + each < quads ? begin + each : quads;            \
		const changed change = {args, &block->changes, 0};              \
                                                                                \
		for (uint32_t q = begin; q < end; q += SAMPLE_THREADS) {        \
			const uint32_t quad =                                   \
				sample_first_quad(args) + q + threadIdx.x;      \
			uint32_t kept = 0, n = 0, sum, place;                   \
                                                                                \
			take_four_##name(                                       \
				args, sample_##name##_load(args, entry, quad),  \
				quad,                                           \
				(sample_allowed(args, entry, quad) & 15) |      \
					change.bits(quad) << 4,                 \
				change, [&](uint64_t key) {                     \
					kept = kept << 1 | (key >= cut);        \
					n += key >= cut;                        \
				});                                             \
			place = before + places_of(n, &sum);                 \
			before += sum;                                          \
			for (uint32_t i = 0; i < 4; i++)                        \
				if (writes && kept >> (3 - i) & 1)              \
					filter_keep(&args->filters, entry,      \
						    place++, quad * 4 + i);     \
		}                                                               \
		return before;                                                  \
	}                                                                       \
                                                                                \
	/* Writes the indices of what is kept; returns how many there are. */   \
	static __device__ uint32_t keep_##name(const sample_args *args,         \
					       uint32_t entry, uint64_t cut,    \
					       filter_block *block)             \
	{                                                                       \
		uint32_t before = 0, n;                                         \
                                                                                \
		if (cluster::size() == 1)                                       \
			return keep_part_##name(args, entry, cut, 1, 0,         \
						block);                         \
		n = keep_part_##name(args, entry, cut, 0, 0, block);            \
		n = join_counts(n, &before, block);                             \
		keep_part_##name(args, entry, cut, 1, before, block);           \
		return n;                                                       \
	}                                                                       \
                                                                                \
	/* Finds what an entry with a cut keeps. */                             \
	static __device__ __noinline__ void keep_all_##name(                    \
		const sample_args *args, uint32_t entry, uint64_t cut,          \
		filter_block *block)                                            \
	{                                                                       \
		filter_kept kept = {SAMPLE_NO_TOKEN, 0};                        \
                                                                                \
		if (args->filters.cuts) {                                       \
			each_key_##name<cluster>(                               \
				args, entry, 0, block, [&](uint64_t key) {      \
					if (key >= cut && key < kept.last)      \
						kept.last = key;                \
				});                                             \
			kept.last = ~blocks_max<cluster>(~kept.last,            \
							 &block->of_block);     \
		}                                                               \
		if (args->filters.kept_counts)                                  \
			kept.count = keep_##name(args, entry, cut, block);      \
		if (threadIdx.x == 0)                                           \
			block->kept = kept;                                     \
	}                                                                       \
                                                                                \
	/* The key of an entry's token: thread 0's. */                          \
	static __device__ __forceinline__ uint64_t filtered_##name(             \
		const sample_args *args, shared_entry *found, uint32_t entry,   \
		filter_block *block)                                            \
	{                                                                       \
		const share mine = {cluster::rank(), cluster::size()};          \
		const changed change = {args, &block->changes, 0};              \
		const int is_greedy = found->row.inverse == 0.0f;               \
		sample_row look = found->row;                                   \
		uint64_t first;                                                 \
		int is_all;                                                     \
                                                                                \
		if (!begin_filters<cluster>(args, entry, block))                \
			return SAMPLE_NO_TOKEN;                                 \
		is_all = filter_keeps_all(&block->entry) &&                     \
			 !logprob_needs_cut(args);                              \
		look.inverse = is_all ? look.inverse : 0.0f;                    \
		first = share_key(blocks_max<cluster>(                          \
			best_of_##name<0>(args, &look, entry, mine, change)     \
				.key,                                           \
			&block->of_block));                                     \
		if (is_all || philox_sample_token(first) < 0 ||                 \
		    (is_greedy && !logprob_needs_cut(args)))                    \
			return first;                                           \
		begin_searches(&found->row, first, block);                      \
		find_##name<cluster>(args, entry, block);                       \
		if (threadIdx.x == 0)                                           \
			found->row.cut = block->entry.cut;                      \
		__syncthreads();                                                \
		if (filter_is_asked(&args->filters))                            \
			keep_all_##name(args, entry, found->row.cut, block);    \
		if (is_greedy)                                                  \
			return block->first;                                    \
		look = found->row;                                              \
		return blocks_max<cluster>(                                     \
			best_of_##name<1>(args, &look, entry, mine, change)     \
				.key,                                           \
			&block->of_block);                                      \
	}                                                                       \
                                                                                \
	static __device__ __forceinline__ void top_##name(                      \
		const sample_args *args, const sample_logprobs *to,             \
		uint32_t entry, const logprob *of, filter_block *block)         \
	{                                                                       \
		uint64_t *keys = block->buckets.upper; /* free after it */      \
		uint64_t cut;                                                   \
		uint32_t n;                                                     \
                                                                                \
		begin_top(of->cut, to->n_top, block);                           \
		cut = find_##name<cluster>(args, entry, block);                 \
		if (threadIdx.x == 0)                                           \
			block->listed = 0;                                      \
		__syncthreads();                                                \
		each_key_##name<cluster>(                                       \
			args, entry, block->raw, block, [&](uint64_t key) {     \
				if (key >= cut)                                 \
					list_key(block, keys, LOGPROB_TOP_MAX,  \
						 key);                          \
			});                                                     \
		n = join_list<cluster>(block, &keys, block->buckets.lower,      \
				       LOGPROB_TOP_MAX);                        \
		if (cluster::rank() == 0)                                       \
			logprob_end_top(to, entry, of, keys, n, threadIdx.x,    \
					SAMPLE_THREADS);                        \
		__syncthreads();                                                \
	}                                                                       \
                                                                                \
	static __device__ __forceinline__ float logprob_##name(                 \
		const sample_args *args, uint32_t entry, const logprob *of,     \
		const filter_block *block, int32_t v)                           \
	{                                                                       \
		const uint32_t column = (uint32_t)v - args->first;              \
                                                                                \
		if (v < 0 || column >= args->vocab)                             \
			return logprob_none();                                  \
		return logprob_of(of, key_of_##name(args, entry, block->raw,    \
						    &block->changes,            \
						    (uint32_t)v));              \
	}                                                                       \
                                                                                \
	/* Writes the logprobs of an entry; its cut is 0 if it has none. */     \
	static __device__ __forceinline__ void logprobs_##name(                 \
		const sample_args *args, const sample_logprobs *to,             \
		uint32_t entry, uint64_t cut, const shared_entry *found,        \
		filter_block *block)                                            \
	{                                                                       \
		const uint64_t at = (uint64_t)entry * to->n_ids;                \
		logprob of;                                                     \
                                                                                \
		if (!cut) {                                                     \
			if (cluster::rank() == 0)                               \
				logprob_end_none(to, entry, threadIdx.x,        \
						 SAMPLE_THREADS);               \
			return;                                                 \
		}                                                               \
		sum_##name<cluster>(args, entry, cut, block);                   \
		end_logprob_total(block);                                       \
		of.row = block->row;                                            \
		of.cut = cut;                                                   \
		of.ln = block->ln;                                              \
		if (to->drawn && threadIdx.x == 0 && cluster::rank() == 0)      \
			to->drawn[entry] = logprob_##name(                      \
				args, entry, &of, block, found->token);         \
		for (uint32_t i =                                               \
			     cluster::rank() * SAMPLE_THREADS + threadIdx.x;    \
		     i < to->n_ids; i += cluster::size() * SAMPLE_THREADS)      \
			to->of_ids[at + i] = logprob_##name(                    \
				args, entry, &of, block, to->ids[at + i]);      \
		if (to->n_top)                                                  \
			top_##name(args, to, entry, &of, block);                \
	}                                                                       \
                                                                                \
	/* Begins raw logprobs, after the others of a cut; returns theirs. */   \
	static __device__ __forceinline__ uint64_t raw_cut_##name(              \
		const sample_args *args, uint32_t entry, uint64_t cut,          \
		filter_block *block)                                            \
	{                                                                       \
		uint64_t first = 0;                                             \
                                                                                \
		if (cut && !args->allowed && !block->changes.is_changed) {      \
			first = block->first;                                   \
		} else {                                                        \
			each_key_##name<cluster>(                               \
				args, entry, 1, block, [&](uint64_t key) {      \
					first = key > first ? key : first;      \
				});                                             \
			first = share_key(                                      \
				blocks_max<cluster>(first, &block->of_block));  \
		}                                                               \
		begin_raw(first, block);                                        \
		return philox_sample_token(first) < 0 ? 0 : LOGPROB_ALL;        \
	}                                                                       \
                                                                                \
	/* All logprobs of an entry. */                                         \
	static __device__ __forceinline__ void all_logprobs_##name(             \
		const sample_args *args, uint32_t entry,                        \
		const shared_entry *found, filter_block *block)                 \
	{                                                                       \
		uint64_t cut = found->row.cut;                                  \
                                                                                \
		_Pragma("unroll 1") for (int raw = 0; raw < 2; raw++)           \
		{                                                               \
			const sample_logprobs *to =                             \
				raw ? &args->raw : &args->logprobs;             \
                                                                                \
			if (!logprob_are_wanted(to))                            \
				continue;                                       \
			if (raw)                                                \
				cut = raw_cut_##name(args, entry, cut, block);  \
			logprobs_##name(args, to, entry, cut, found, block);    \
		}                                                               \
	}                                                                       \
                                                                                \
	extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)            \
		philox_kernel_filter_##name(                                    \
			__grid_constant__ const sample_args args)               \
	{                                                                       \
		__shared__ filter_block block;                                  \
		__shared__ shared_entry found;                                  \
                                                                                \
		for (uint32_t i = blockIdx.x / cluster::size();                 \
		     i < (uint32_t)args.list.n;                                 \
		     i += gridDim.x / cluster::size()) {                        \
			uint64_t best = SAMPLE_NO_TOKEN;                        \
                                                                                \
			if (!begin_shared(&args, sample_launch(&args), i,       \
					  &found))                              \
				continue;                                       \
			begin_kept(&block);                                     \
			if (begin_change<cluster>(&args, i, found.row.index,    \
						  &block.changes) &&            \
			    found.row.valid)                                    \
				best = filtered_##name(&args, &found, i,        \
						       &block);                 \
			if (threadIdx.x == 0)                                   \
				found.token = philox_sample_token(best);        \
			if (threadIdx.x == 0 && cluster::rank() == 0) {         \
				filter_end(&args.filters, i, &block.kept);      \
				sample_end(&args, sample_launch(&args),         \
					   sample_others(&args), i,             \
					   &found.row, best);                   \
			}                                                       \
			if (logprob_are_wanted(&args.logprobs) ||               \
			    logprob_are_wanted(&args.raw))                      \
				all_logprobs_##name(&args, i, &found, &block);  \
		}                                                               \
		if (args.change.notes)                                          \
			end_notes(&args);                                       \
		else if (args.table.control)                                    \
			end_launch(args.table.control);                         \
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
