/*
 * lib/rows/cuda.cu - the kernels of lib/device/kernels.h on the GPU
 *
 * Each takes its arguments by value and calls the inline functions that the
 * loops of lib/rows/host.c call. Those that draw from a table end with
 * end_launch(): see Note [Rows that advance once] in lib/device/kernels.h.
 */
#include "lib/rows/cuda.cuh"

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
