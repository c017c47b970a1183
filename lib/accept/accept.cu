/*
 * lib/accept/accept.cu - accepting drafts, on the GPU
 *
 * One block has a position, also one after the end of its entry, which nobody
 * knows yet; the last block finds the ends.
 */
#include "lib/accept/accept.h"
#include "lib/sample/filter.cuh"

#define WARPS (SAMPLE_THREADS / 32)

/* What a block knows of its position; shared by its threads. */
struct accept_block {
	filter_block filter; /* of the draft first, then of the target */
	change_block draft_changes;
	accept_position of;
	int takes_part, is_accepted;
	/* a draw: weights of parts of the columns from `low` to `high` */
	wide sums[WARPS];
	wide goal;
	uint32_t low, high;
	int has_goal;
};

/* --- positions ------------------------------------------------------------ */

/* Looks a position up for all threads of a block: as begin_entry(). */
static __device__ __forceinline__ int begin_position(const accept_args *args,
						     uint32_t entry,
						     uint32_t position,
						     accept_block *block)
{
	__syncthreads();
	if (threadIdx.x == 0)
		block->takes_part =
			accept_begin(args, entry, position, &block->of);
	__syncthreads();
	return block->takes_part;
}

/* The drafts before a position, which changes count. */
static __device__ __forceinline__ void begin_drafts(const accept_args *args,
						    uint32_t entry,
						    accept_block *block)
{
	change_block *changes = &block->filter.changes;

	if (!changes->is_changed)
		return;
	if (threadIdx.x == 0)
		accept_change_begin(args, entry, &block->of, &changes->change);
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < changes->change.n_drafts;
	     i += SAMPLE_THREADS)
		mark(changes, changes->change.drafts[i]);
	__syncthreads();
}

/* The target's changes follow those of the draft, which are needed again. */
static __device__ __forceinline__ void keep_changes(accept_block *block)
{
	__syncthreads(); /* all have begun the changes */
	if (threadIdx.x == 0) {
		block->draft_changes.is_changed =
			block->filter.changes.is_changed;
		block->draft_changes.change = block->filter.changes.change;
	}
	for (uint32_t i = threadIdx.x; i < CHANGE_MARKS / 32;
	     i += SAMPLE_THREADS)
		block->draft_changes.marks[i] = block->filter.changes.marks[i];
	__syncthreads();
}

/* --- draws ---------------------------------------------------------------- */

/* The sum of a warp's; all of its threads take part. */
static __device__ __forceinline__ wide warp_wide(wide x)
{
	for (int apart = 16; apart; apart /= 2) {
		wide other;

		WIDE_EACH(i)
		other.w[i] = __shfl_xor_sync(0xffffffffu,
					     (unsigned long long)x.w[i], apart);
		x = wide_plus(x, other);
	}
	return x;
}

static __device__ __forceinline__ void begin_draw(const sample_args *target,
						  accept_block *block)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		block->low = 0;
		block->high = target->vocab;
		block->has_goal = 0;
	}
	__syncthreads();
}

/* How many columns each warp has of those that are left. */
static __device__ __forceinline__ uint32_t each_warp(const accept_block *block)
{
	return (block->high - block->low - 1) / WARPS + 1;
}

/*
 * Knows the goal when all weights are added up for the first time; 0 if there
 * are none, so that those of the target are next.
 */
static __device__ int find_goal(accept_block *block)
{
	wide all = {{0, 0, 0, 0}};

	if (block->has_goal)
		return 1;
	for (int i = 0; i < WARPS; i++)
		all = wide_plus(all, block->sums[i]);
	if (wide_is_zero(all)) {
		/* twice only if somebody writes logits meanwhile */
		if (block->of.from == ACCEPT_NO_DRAFT)
			block->low = block->high;
		accept_forget_draft(&block->of);
		return 0;
	}
	block->goal = accept_goal(all, block->of.rest);
	block->has_goal = 1;
	return 1;
}

/* Goes on with the columns of one warp, for thread 0. */
static __device__ __noinline__ void narrow(accept_block *block)
{
	const uint32_t each = each_warp(block);
	uint32_t warp = 0;

	if (!find_goal(block))
		return;
	while (warp < WARPS && !wide_is_less(block->goal, block->sums[warp])) {
		block->goal = wide_minus(block->goal, block->sums[warp]);
		warp++;
	}
	/* past the last only if somebody writes logits meanwhile */
	block->low = warp < WARPS ? block->low + warp * each : block->high;
	if (block->high - block->low > each)
		block->high = block->low + each;
}

/* --- entries -------------------------------------------------------------- */

/* As end_launch(), but the last block finds where each entry ends. */
static __device__ __forceinline__ void end_entries(const accept_args *args)
{
	rows_control *control = args->target.table.control;

	if (!is_last_block(control))
		return;
	for (uint64_t i = threadIdx.x; i < args->target.list.n;
	     i += SAMPLE_THREADS)
		if (rows_of_entry(&args->target.list, i) != ROWS_NONE)
			accept_end(args, i);
	end_last_block(control);
}

/* --- kernels -------------------------------------------------------------- */

#define ACCEPT_KERNEL(name, type)                                                  \
	/* Finds what one side keeps, if its penalties are in range. */            \
	static __device__ __forceinline__ void keep_side_##name(                   \
		const sample_args *args, uint32_t entry,                           \
		const sample_row *of_side, accept_block *block,                    \
		accept_side *side)                                                 \
	{                                                                          \
		const changed change = {args, &block->filter.changes, 0};          \
		sample_row row = *of_side;                                         \
		const int is_greedy = row.inverse == 0.0f;                         \
		uint64_t first, cut;                                               \
                                                                                   \
		if (!row.valid ||                                                  \
		    !begin_filters<one_block>(args, entry, &block->filter))        \
			return;                                                    \
		row.inverse = 0.0f;                                                \
		first = share_key(block_max(                                       \
			best_of_##name<0>(args, &row, entry, {0, 1}, change)       \
				.key));                                            \
		if (philox_sample_token(first) < 0)                                \
			return;                                                    \
		begin_searches(of_side, first, &block->filter);                    \
		__syncthreads();                                                   \
		cut = is_greedy ? first                                            \
				: find_##name<one_block>(args, entry,              \
							 &block->filter);          \
		sum_##name<one_block>(args, entry, cut, &block->filter);           \
		if (threadIdx.x == 0) {                                            \
			side->row = block->filter.row;                             \
			side->cut = cut;                                           \
			side->all = filter_join(block->filter.upper,               \
						block->filter.lower);              \
		}                                                                  \
		__syncthreads();                                                   \
	}                                                                          \
                                                                                   \
	/* Finds what both keep, the draft's first. */                             \
	static __device__ __forceinline__ void keep_sides_##name(                  \
		const accept_args *args, uint32_t entry, accept_block *block)      \
	{                                                                          \
		accept_position *of = &block->of;                                  \
                                                                                   \
		_Pragma("unroll 1") for (int k = 0; k < 2; k++)                    \
		{                                                                  \
			const sample_args *args_k =                                \
				k ? &args->target : &args->draft;                  \
			const uint32_t entry_k =                                   \
				(uint32_t)(k ? of->target : of->draft);            \
			const sample_row *row = k ? &of->p_row : &of->q_row;       \
                                                                                   \
			if (k == 1 && threadIdx.x == 0)                            \
				accept_check_draft(of);                            \
			if (k == 0 && of->from != ACCEPT_LOGITS)                   \
				continue;                                          \
			if (!begin_change<one_block>(args_k, entry_k,              \
						     of->index,                    \
						     &block->filter.changes))      \
				continue;                                          \
			begin_drafts(args, entry, block);                          \
			if (k == 0)                                                \
				keep_changes(block);                               \
			keep_side_##name(args_k, entry_k, row, block,              \
					 k ? &of->p : &of->q);                     \
		}                                                                  \
	}                                                                          \
                                                                                   \
	static __device__ __forceinline__ int judge_##name(                        \
		const accept_args *args, accept_block *block)                      \
	{                                                                          \
		const accept_position *of = &block->of;                            \
                                                                                   \
		__syncthreads();                                                   \
		if (threadIdx.x == 0) {                                            \
			uint64_t p_key = 0, q_key = 0;                             \
                                                                                   \
			if (of->from != ACCEPT_NO_DRAFT)                           \
				p_key = key_of_##name(&args->target,               \
						      of->target, 0,               \
						      &block->filter.changes,      \
						      (uint32_t)of->token);        \
			if (of->from == ACCEPT_LOGITS)                             \
				q_key = key_of_##name(&args->draft, of->draft,     \
						      0,                           \
						      &block->draft_changes,       \
						      (uint32_t)of->token);        \
			block->is_accepted = accept_judge(of, p_key, q_key);       \
		}                                                                  \
		__syncthreads();                                                   \
		return block->is_accepted;                                         \
	}                                                                          \
                                                                                   \
	/* The sum of the weights of a warp's columns. */                          \
	static __device__ __forceinline__ wide weigh_##name(                       \
		const accept_args *args, const accept_block *block)                \
	{                                                                          \
		const accept_position *of = &block->of;                            \
		const uint32_t each = each_warp(block);                            \
		const uint64_t begin =                                             \
			block->low + (uint64_t)(threadIdx.x / 32) * each;          \
		const uint64_t end = begin + each < block->high ? begin + each     \
								: block->high;     \
		wide sum = {{0, 0, 0, 0}};                                         \
                                                                                   \
		for (uint64_t c = begin + threadIdx.x % 32; c < end;               \
		     c += 32) {                                                    \
			const uint32_t v = args->target.first + (uint32_t)c;       \
			const uint64_t p_key =                                     \
				key_of_##name(&args->target, of->target, 0,        \
					      &block->filter.changes, v);          \
			uint64_t q_key = 0;                                        \
                                                                                   \
			if (p_key < of->p.cut)                                     \
				continue;                                          \
			if (of->from == ACCEPT_LOGITS)                             \
				q_key = key_of_##name(                             \
					&args->draft, of->draft, 0,                \
					&block->draft_changes, v);                 \
			sum = wide_plus(sum, accept_weight_of(of, (int32_t)v,      \
							      p_key, q_key));      \
		}                                                                  \
		return warp_wide(sum);                                             \
	}                                                                          \
                                                                                   \
	/* The token that is drawn: a warp's part of the columns, and of that,   \
	 * until one is left. Not inlined: most positions need no registers      \
	 * for it. */ \
	static __device__ __noinline__ int32_t draw_##name(                        \
		const accept_args *args, accept_block *block)                      \
	{                                                                          \
		begin_draw(&args->target, block);                                  \
		while (block->high - block->low > 1) {                             \
			const wide sum = weigh_##name(args, block);                \
                                                                                   \
			if (threadIdx.x % 32 == 0)                                 \
				block->sums[threadIdx.x / 32] = sum;               \
			__syncthreads();                                           \
			if (threadIdx.x == 0)                                      \
				narrow(block);                                     \
			__syncthreads();                                           \
		}                                                                  \
		return block->low < block->high                                    \
			       ? (int32_t)(args->target.first + block->low)        \
			       : -1;                                               \
	}                                                                          \
                                                                                   \
	static __device__ __forceinline__ int32_t token_of_##name(                 \
		const accept_args *args, uint32_t entry, accept_block *block)      \
	{                                                                          \
		keep_sides_##name(args, entry, block);                             \
		if (block->of.p.cut == SAMPLE_NO_TOKEN)                            \
			return -1;                                                 \
		if (judge_##name(args, block))                                     \
			return block->of.token;                                    \
		return draw_##name(args, block);                                   \
	}                                                                          \
                                                                                   \
	extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)               \
		philox_kernel_accept_##name(                                       \
			__grid_constant__ const accept_args args)                  \
	{                                                                          \
		__shared__ accept_block block;                                     \
		const uint32_t positions = accept_positions(&args);                \
		const uint32_t all = (uint32_t)args.target.list.n * positions;     \
                                                                                   \
		for (uint32_t i = blockIdx.x; i < all; i += gridDim.x) {           \
			const uint32_t entry = i / positions;                      \
			int32_t token;                                             \
                                                                                   \
			if (!begin_position(&args, entry, i % positions,           \
					    &block))                               \
				continue;                                          \
			token = token_of_##name(&args, entry, &block);             \
			if (threadIdx.x == 0)                                      \
				args.tokens[i] = token;                            \
		}                                                                  \
		end_entries(&args);                                                \
	}

SAMPLE_LIST(ACCEPT_KERNEL)
#undef ACCEPT_KERNEL
