/*
 * tests/simulated/simulated.h - a GPU that is not there
 *
 * The library's CUDA code without a GPU. Its kernels are compiled as C++ for
 * the CPU (device_code.h) and run thread by thread (grid.c), by a CUDA runtime
 * (runtime.c, runtime_graph.c) that uses its own host device for streams,
 * events, captures and graphs, with the part of the driver that decides which
 * context is current (runtime_context.c). So the grids, the indices, the
 * barriers and atomics of the kernels, the table of kernels, the files of the
 * CUDA device, and the tests of every device, run anywhere:
 *
 *   make simulated && build/tests/simulated/philox selftest --device cuda
 *
 * At barriers, shuffles and fences another thread, chosen at random from all
 * blocks, goes on. This cannot show how nvcc compiles the source, in which
 * order memory is accessed where no fence orders it, and how fast anything is.
 */
#ifndef TESTS_SIMULATED_SIMULATED_H
#define TESTS_SIMULATED_SIMULATED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One kernel. A launch packs its parameters into `size` bytes. */
struct simulated_kernel {
	const void *function; /* as cudaLaunchKernel() takes it */
	size_t size;
	void (*pack)(void *packed, void *const *parameters);
	void (*thread)(const void *packed); /* runs one thread */
	struct simulated_kernel *next;
};

/* Registers a kernel; `kernel` lives as long as the program. */
void simulated_register(struct simulated_kernel *kernel);

/* Returns the kernel of a function, or NULL. */
const struct simulated_kernel *simulated_find(const void *function);

/* A launch with its arguments; the packed parameters follow. */
struct simulated_launch {
	const struct simulated_kernel *kernel;
	unsigned blocks, threads; /* of the grid, of a block */
	unsigned long long reserved;
};

/* Runs all threads of a launch. One launch runs at a time. */
void simulated_run(const void *launch);

/*
 * --- functions for device code -----------------------------------------------
 */

struct simulated_place {
	unsigned x, y, z;
};

extern struct simulated_place simulated_thread, simulated_block;
extern struct simulated_place simulated_threads, simulated_blocks;

/* A barrier of the block: all threads that have not ended, at one place. */
void simulated_barrier(const char *file, int line);

/* Lets other threads go on. */
void simulated_fence(void);

/* A shuffle: the value of lane `lane ^ apart` of the warp. */
unsigned long long simulated_shuffle(unsigned mask, unsigned long long value,
				     unsigned apart, const char *file,
				     int line);

#ifdef __cplusplus
}
#endif
#endif
