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
 * It is to be as harsh as a GPU may be. What may run at the same time does: the
 * streams, the branches of a graph, several graphs, piece by piece (gpu.c),
 * with switches at barriers, fences and any access of memory (switches.c).
 * Calls return before or after the GPU has done anything, user objects are
 * released late (late.c), kernels are loaded at their first use. SIMULATED_SEED
 * chooses, and repeats, an order (chance.h); SIMULATED_DRIVER=12000 is the
 * driver of CUDA 12.0. assumptions.txt lists each of these, and others, with
 * what is known of real GPUs; in the source such a place has the name of its
 * row: [gpu-stall].
 *
 * This cannot show how nvcc compiles the source, in which order memory is
 * accessed where no fence orders it, and how fast anything is.
 */
#ifndef TESTS_SIMULATED_SIMULATED_H
#define TESTS_SIMULATED_SIMULATED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One kernel. A launch packs its parameters into `packed` bytes. */
struct simulated_kernel {
	const void *function; /* as cudaLaunchKernel() takes it */
	const char *name;     /* as in the source */
	size_t size;          /* of its parameters, for the limit */
	const char *module;   /* those of one are loaded together */
	unsigned loaded;      /* a bit for each GPU */
	size_t packed;
	void (*pack)(void *packed, void *const *parameters);
	void (*thread)(const void *packed); /* runs one thread */
	struct simulated_kernel *next;
};

/* The host device that stands for a GPU; NULL: there is none, or none yet. */
struct host_device *simulated_gpu(unsigned index);

/* How often all GPUs' streams have been asked whether they are capturing. */
unsigned long long simulated_queries(void);

/* Registers a kernel; `kernel` lives as long as the program. */
void simulated_register(struct simulated_kernel *kernel);

/* Returns the kernel of a function, or NULL. */
struct simulated_kernel *simulated_find(const void *function);

/* The most bytes of parameters that a kernel of its module has. */
size_t simulated_largest_with(const struct simulated_kernel *kernel);

/* A launch with its arguments; the packed parameters follow. */
struct simulated_launch {
	const struct simulated_kernel *kernel;
	unsigned blocks, threads; /* of the grid, of a block */
	unsigned cluster;         /* blocks of one */
	unsigned reserved;
};

/*
 * Begins a launch, which stays alive; then runs it up to `pieces` times until a
 * thread ends or gives way: 1 if all threads have ended, and the grid is gone;
 * -1 if one has made a fault. simulated_drop() ends a launch that has not ended.
 * One thread at a time.
 */
struct simulated_grid *simulated_begin(const void *launch);
int simulated_advance(struct simulated_grid *grid, size_t pieces);
void simulated_drop(struct simulated_grid *grid);

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

/* The same of a cluster. */
void simulated_cluster_barrier(const char *file, int line);

/* How many blocks the cluster has, and which of them this thread's is. */
unsigned simulated_cluster_size(void);
unsigned simulated_cluster_rank(void);

/* Shared memory of the cluster's block `rank` that `mine` is in this one's. */
void *simulated_shared_of(const void *mine, unsigned rank);

/* Lets other threads go on. */
void simulated_fence(void);

/* switches.c counts memory accesses down from this, and switches at 0. */
extern unsigned simulated_accesses;
void simulated_switch(void);

/* cudaGraphSetConditional() */
void simulated_set_condition(unsigned long long condition, unsigned value);

/* A shuffle: the value of lane `lane ^ apart` of the warp. */
unsigned long long simulated_shuffle(unsigned mask, unsigned long long value,
				     unsigned apart, const char *file,
				     int line);

#ifdef __cplusplus
}
#endif
#endif
