/*
 * lib/rows/cuda.cu - the kernels of lib/device/kernels.h on the GPU
 *
 * Each takes its arguments by value and calls the inline functions that the
 * loops of lib/rows/host.c call. Those that draw from a table end with
 * end_launch(): see Note [Rows that advance once] in lib/device/kernels.h.
 */
#include "lib/rows/sample_elements.h"

/* The thread's number in the grid, and how many there are. */
static __device__ __forceinline__ uint64_t thread_number(void)
{
	return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ uint64_t thread_count(void)
{
	return (uint64_t)gridDim.x * blockDim.x;
}

/*
 * Called by all threads of a block when they are done: the last block ends the
 * launch.
 */
static __device__ __forceinline__ void end_launch(rows_control *control)
{
	__syncthreads();
	if (threadIdx.x != 0 || ROWS_ARRIVE(&control->done) != gridDim.x - 1)
		return;
	control->done = 0;
	rows_end(control);
}

/* --- rows ----------------------------------------------------------------- */

extern "C" __global__ void philox_kernel_rows_seed(
	__grid_constant__ const rows_seed_args args)
{
	for (uint64_t i = thread_number(); i < args.count; i += thread_count())
		args.states[i] = rows_derive(args.seed, i);
}

extern "C" __global__ void philox_kernel_rows_set(
	__grid_constant__ const rows_set_args args)
{
	for (uint64_t i = thread_number(); i < args.n; i += thread_count())
		rows_set(&args, i);
}

extern "C" __global__ void philox_kernel_rows_advance(
	__grid_constant__ const rows_draw_args args)
{
	const int others = rows_others(&args.list, args.words, 0);
	const uint64_t launch = rows_launch(&args.table);

	for (uint64_t i = thread_number(); i < args.list.n; i += thread_count())
		rows_advance_entry(&args, launch, others, i);
	end_launch(args.table.control);
}

/* --- draws ---------------------------------------------------------------- */

/*
 * All threads go round as often, so that those of a warp meet where they have
 * read their rows: a row without `others` is advanced by one of the lanes that
 * read it.
 */
#define DRAW_KERNEL(name, type, size)                                         \
	extern "C" __global__ void philox_kernel_rows_##name(                 \
		__grid_constant__ const rows_draw_args args)                  \
	{                                                                     \
		const uint64_t launch = rows_launch(&args.table);             \
		const uint64_t units = rows_units(&args, size);               \
		const uint32_t n = (uint32_t)args.list.n;                     \
		rows_share share =                                            \
			rows_share_of(&args, units, rows_lanes_shift(units),  \
				      (uint32_t)thread_number(),              \
				      (uint32_t)thread_count(), 32);          \
                                                                              \
		for (uint32_t done = 0; done < n; done += share.groups) {     \
			rows_entry e;                                         \
			int begun =                                           \
				share.entry < n &&                            \
				rows_begin(&args, launch, share.others, size, \
					   share.entry, share.unit, &e);      \
                                                                              \
			__syncwarp();                                         \
			if (begun)                                            \
				rows_##name##_units(&args, launch,            \
						    share.others, &e,         \
						    share.unit, share.step);  \
			share.entry += share.groups;                          \
		}                                                             \
		end_launch(args.table.control);                               \
	}
ROWS_DRAW_LIST(DRAW_KERNEL)
#undef DRAW_KERNEL

/* --- samples -------------------------------------------------------------- */

static __device__ __forceinline__ uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The greatest key of a warp; all of its threads take part. */
static __device__ __forceinline__ uint64_t warp_max(uint64_t key)
{
	for (int apart = 16; apart; apart /= 2)
		key = greater(key,
			      __shfl_xor_sync(0xffffffffu,
					      (unsigned long long)key, apart));
	return key;
}

/* The greatest key of a block; thread 0 has it. May be called again at once. */
static __device__ __forceinline__ uint64_t block_max(uint64_t key)
{
	__shared__ uint64_t of_warp[SAMPLE_THREADS / 32];

	key = warp_max(key);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		of_warp[threadIdx.x / 32] = key;
	__syncthreads();
	if (threadIdx.x < 32)
		key = warp_max(threadIdx.x < SAMPLE_THREADS / 32
				       ? of_warp[threadIdx.x]
				       : 0);
	return key;
}

/*
 * Looks an entry up once for all threads of a block: its mask and its state
 * must not differ between them. Returns null if the entry does not take part,
 * or its row, which is shared until the next entry.
 */
static __device__ __forceinline__ const sample_row *
begin_entry(const sample_args *args, uint64_t launch, uint64_t entry)
{
	__shared__ sample_row found;
	__shared__ int takes_part;

	__syncthreads();
	if (threadIdx.x == 0)
		takes_part = sample_begin(args, launch, sample_others(args),
					  entry, &found);
	__syncthreads();
	return takes_part ? &found : nullptr;
}

/* As end_launch(), but the last block ends the entries, too. */
static __device__ __forceinline__ void end_parts(const sample_args *args)
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
		sample_gather(args, sample_launch(args), i);
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	control->done = 0;
	rows_end(control);
}

/*
 * A block has a part of an entry; its threads take quads in turn. What few of
 * them need more is not inlined, and takes no registers from the others.
 */
#define SAMPLE_KERNEL(name, type)                                              \
	static __device__ __noinline__ uint64_t small_of_##name(               \
		const sample_args *args, const sample_row *row,                \
		uint32_t entry, uint32_t part)                                 \
	{                                                                      \
		const uint32_t first = sample_first_quad(args);                \
                                                                               \
		return sample_##name##_small(                                  \
			args, row, entry,                                      \
			first + part * SAMPLE_THREADS + threadIdx.x,           \
			first + sample_quads(args),                            \
			args->parts * SAMPLE_THREADS);                         \
	}                                                                      \
                                                                               \
	extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)           \
		philox_kernel_sample_##name(                                   \
			__grid_constant__ const sample_args args)              \
	{                                                                      \
		const uint64_t launch = sample_launch(&args);                  \
		const uint32_t first = sample_first_quad(&args);               \
		const uint32_t quads = sample_quads(&args);                    \
		const uint32_t step = args.parts * SAMPLE_THREADS;             \
		const uint32_t items = (uint32_t)args.list.n * args.parts;     \
                                                                               \
		for (uint32_t i = blockIdx.x; i < items; i += gridDim.x) {     \
			const uint32_t entry = i / args.parts;                 \
			const uint32_t part = i % args.parts;                  \
			const sample_row *found =                              \
				begin_entry(&args, launch, entry);             \
			uint64_t best = 0;                                     \
			int small = 0;                                         \
                                                                               \
			if (!found)                                            \
				continue;                                      \
			const sample_row row = *found;                         \
			for (uint32_t q = part * SAMPLE_THREADS + threadIdx.x; \
			     row.valid && q < quads; q += step)                \
				best = greater(best, sample_##name##_quad(     \
							     &args, &row,      \
							     entry, first + q, \
							     &small));         \
			if (small)                                             \
				best = greater(best, small_of_##name(          \
							     &args, found,     \
							     entry, part));    \
			best = block_max(row.valid ? best : SAMPLE_NO_TOKEN);  \
			if (threadIdx.x == 0)                                  \
				sample_part_end(&args, launch, entry, &row,    \
						best);                         \
		}                                                              \
		if (args.parts > 1)                                            \
			end_parts(&args);                                      \
		else if (args.table.control)                                   \
			end_launch(args.table.control);                        \
	}
SAMPLE_LIST(SAMPLE_KERNEL)
#undef SAMPLE_KERNEL
