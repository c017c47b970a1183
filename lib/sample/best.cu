/*
 * lib/sample/best.cu - samples without filters on the GPU
 *
 * As those of lib/rows/cuda.cu these kernels take their arguments by value, call
 * the inline functions that the loops of lib/sample/host.c call, and end with
 * end_launch() where they draw from a table.
 */
#include "lib/sample/best.cuh"

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

#define SAMPLE_KERNEL(name, type)                                            \
	extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)         \
		philox_kernel_sample_##name(                                 \
			__grid_constant__ const sample_args args)            \
	{                                                                    \
		const uint64_t launch = sample_launch(&args);                \
		const uint32_t items = (uint32_t)args.list.n * args.parts;   \
                                                                             \
		for (uint32_t i = blockIdx.x; i < items; i += gridDim.x) {   \
			const uint32_t entry = i / args.parts;               \
			const uint32_t part = i % args.parts;                \
			const sample_row *found =                            \
				begin_entry(&args, launch, entry);           \
			uint64_t best = SAMPLE_NO_TOKEN;                     \
                                                                             \
			if (!found)                                          \
				continue;                                    \
			const sample_row row = *found;                       \
			if (row.valid)                                       \
				best = best_of_##name<0>(&args, &row, entry, \
							 {part, args.parts}, \
							 unchanged())        \
					       .key;                         \
			best = block_max(best);                              \
			if (threadIdx.x == 0)                                \
				sample_part_end(&args, launch, entry, &row,  \
						best);                       \
		}                                                            \
		if (args.parts > 1)                                          \
			end_parts(&args);                                    \
		else if (args.table.control)                                 \
			end_launch(args.table.control);                      \
	}
SAMPLE_LIST(SAMPLE_KERNEL)
#undef SAMPLE_KERNEL
