/*
 * lib/sample/filter.cu - samples with filters, and logprobs, on the GPU
 *
 * See Note [Kept tokens are a prefix] in lib/sample/filter.h.
 */
#include "lib/sample/best.cuh"
#include "lib/sample/change.h"
#include "lib/sample/logprob.h"

/* Tokens that are few enough to be listed. */
#define FILTER_FEW 128

/* Quads that a thread loads before it looks at the first; those past the end
 * have columns of -infinity. */
#define FILTER_AHEAD 2

/* Tokens that are changed without being seen are marked, by their lower bits. */
#define CHANGE_MARKS 8192

/* What a block knows of the filters of its entry; shared by its threads. */
struct filter_block {
	filter_buckets buckets;
	filter_bucket groups[FILTER_GROUPS];
	uint64_t keys[FILTER_FEW];
	uint64_t upper, lower; /* of the sum of all masses */
	uint32_t listed;
	int is_valid;
	int raw;        /* the mask does not matter */
	uint64_t first; /* the greatest key of what may be drawn */
	double ln;      /* of the total */
	filter_row row;
	filter entry;
	filter_search search;
	filter_work work;
	int is_changed; /* some logits are */
	struct change change;
	uint32_t marks[CHANGE_MARKS / 32];
};

/* --- changes -------------------------------------------------------------- */

static __device__ __forceinline__ void mark(filter_block *block, int32_t v)
{
	const uint32_t at = (uint32_t)v % CHANGE_MARKS;

	if (v >= 0)
		CHANGE_OR(&block->marks[at / 32], (uint32_t)1 << at % 32);
}

/*
 * Looks up what changes the logits of an entry, for all threads of a block; says
 * whether its penalties are in range.
 */
static __device__ __forceinline__ int begin_change(const sample_args *args,
						   uint32_t entry,
						   uint64_t index,
						   filter_block *block)
{
	const struct change *change = &block->change;

	__syncthreads();
	if (threadIdx.x == 0) {
		block->is_changed = change_is_asked(args) && index != ROWS_NONE;
		block->is_valid =
			!block->is_changed ||
			change_begin(args, entry, index, &block->change);
	}
	for (uint32_t i = threadIdx.x; i < CHANGE_MARKS / 32;
	     i += SAMPLE_THREADS)
		block->marks[i] = 0;
	__syncthreads();
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
	const filter_block *block;
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
static __device__ __forceinline__ int begin_filters(const sample_args *args,
						    uint32_t entry,
						    filter_block *block)
{
	__syncthreads();
	if (threadIdx.x == 0)
		block->is_valid =
			filter_begin(&args->filters, entry, &block->entry);
	__syncthreads();
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

/* Adds up the masses of all threads, in halves, for thread 0. */
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
}

/* Ends a level whose columns are counted. */
static __device__ __forceinline__ void end_level(filter_block *block)
{
	__syncthreads();
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

/* Ends a search whose tokens are listed. */
static __device__ __forceinline__ void end_list(filter_block *block)
{
	const uint32_t i = threadIdx.x;

	__syncthreads();
	const uint32_t n =
		block->listed < FILTER_FEW ? block->listed : FILTER_FEW;

	if (i < n &&
	    filter_is_last(&block->search, &block->row, block->keys, n, i)) {
		block->search.low = block->keys[i];
		block->search.done = 1;
	}
	__syncthreads();
}

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
	__shared__ int is_last;

	__syncthreads();
	if (threadIdx.x == 0)
		is_last = ROWS_ARRIVE(&control->done) == gridDim.x - 1;
	__syncthreads();
	if (!is_last)
		return;
	for (uint64_t i = threadIdx.x; i < args->list.n; i += SAMPLE_THREADS)
		change_note_drawn(args, i);
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	control->done = 0;
	rows_end(control);
}

/*
 * One block has an entry, and reads its logits once for the highest, once for
 * each level of a search or list, and once to draw.
 */
#define FILTER_KERNEL(name, type)                                              \
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
	template <class Take>                                                  \
	static __device__ __forceinline__ void each_key_##name(                \
		const sample_args *args, uint32_t entry, int raw,              \
		const filter_block *block, Take take)                          \
	{                                                                      \
		const uint32_t quads = sample_quads(args);                     \
		const uint32_t first = sample_first_quad(args);                \
		const changed change = {args, block, raw};                     \
                                                                               \
		for (uint32_t q = threadIdx.x; q < quads;                      \
		     q += FILTER_AHEAD * SAMPLE_THREADS) {                     \
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
	static __device__ void sum_##name(const sample_args *args,             \
					  uint32_t entry, uint64_t base,       \
					  filter_block *block)                 \
	{                                                                      \
		const filter_row row = block->row;                             \
		uint64_t upper = 0, lower = 0;                                 \
                                                                               \
		each_key_##name(args, entry, block->raw, block,                \
				[&](uint64_t key) {                            \
					if (key < base)                        \
						return;                        \
					const uint64_t mass =                  \
						filter_mass_of(&row, key);     \
                                                                               \
					upper += filter_upper(mass);           \
					lower += filter_lower(mass);           \
				});                                            \
		end_sum(block, upper, lower);                                  \
	}                                                                      \
                                                                               \
	static __device__ void level_##name(                                   \
		const sample_args *args, uint32_t entry, filter_block *block)  \
	{                                                                      \
		const filter_search search = block->search;                    \
		const filter_row row = block->row;                             \
                                                                               \
		filter_clear(&block->buckets, threadIdx.x, SAMPLE_THREADS);    \
		__syncthreads();                                               \
		each_key_##name(                                               \
			args, entry, block->raw, block, [&](uint64_t key) {    \
				if (filter_is_in(&search, key))                \
					filter_count(&search, &row, key,       \
						     &block->buckets);         \
			});                                                    \
		end_level(block);                                              \
	}                                                                      \
                                                                               \
	static __device__ void list_##name(                                    \
		const sample_args *args, uint32_t entry, filter_block *block)  \
	{                                                                      \
		const filter_search search = block->search;                    \
                                                                               \
		if (threadIdx.x == 0)                                          \
			block->listed = 0;                                     \
		__syncthreads();                                               \
		each_key_##name(args, entry, block->raw, block,                \
				[&](uint64_t key) {                            \
					if (filter_is_in(&search, key))        \
						list_key(block, block->keys,   \
							 FILTER_FEW, key);     \
				});                                            \
		end_list(block);                                               \
	}                                                                      \
                                                                               \
	/* Goes on with the searches of an entry, and returns its cut. */      \
	static __device__ uint64_t find_##name(                                \
		const sample_args *args, uint32_t entry, filter_block *block)  \
	{                                                                      \
		filter_work work;                                              \
                                                                               \
		proceed(block);                                                \
		while ((work = work_of(block)) != FILTER_DONE) {               \
			if (work == FILTER_TOTAL) {                            \
				sum_##name(args, entry, block->search.base,    \
					   block);                             \
				if (threadIdx.x == 0)                          \
					filter_know_total(&block->search,      \
							  block->upper,        \
							  block->lower);       \
			} else if (work == FILTER_LIST)                        \
				list_##name(args, entry, block);               \
			else                                                   \
				level_##name(args, entry, block);              \
			proceed(block);                                        \
		}                                                              \
		return block->entry.cut;                                       \
	}                                                                      \
                                                                               \
	/* Writes the indices of what is kept; returns how many there are. */  \
	static __device__ uint32_t keep_##name(const sample_args *args,        \
					       uint32_t entry, uint64_t cut,   \
					       const filter_block *block)      \
	{                                                                      \
		const uint32_t quads = sample_quads(args);                     \
		const changed change = {args, block, 0};                       \
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
		const changed change = {args, block, 0};                       \
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
		const type *logits =                                           \
			(const type *)args->logits + entry * args->pitch;      \
                                                                               \
		if (v < 0 || column >= args->vocab)                            \
			return logprob_none();                                 \
		float logit = sample_widen_##name(logits[column]);             \
                                                                               \
		if (!block->raw &&                                             \
		    !sample_is_allowed(args, entry, (uint32_t)v))              \
			return logprob_lowest();                               \
		if (!block->raw && block->is_changed)                          \
			logit = changed_logit(&block->change, (uint32_t)v,     \
					      logit);                          \
		return logprob_of(of, sample_key(logit, (uint32_t)v));         \
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
		if (cut && !args->allowed && !block->is_changed) {             \
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
			row.valid &=                                           \
				begin_change(&args, i, row.index, &block);     \
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
