/*
 * tests/simulated/gpu.h - the GPUs at work
 *
 * One scheduler for all GPUs. It has no time of its own: it works inside the
 * calls of the program, which thread it is, so that the seed alone decides what
 * has run when a call returns. Work that may run - the oldest of each stream,
 * every node of a launched graph whose dependencies have ended - runs together,
 * piece by piece: some threads of one kernel up to their next memory accesses,
 * then a piece of a copy, then another kernel.
 */
#ifndef TESTS_SIMULATED_GPU_H
#define TESTS_SIMULATED_GPU_H

#include "lib/device/host/host.h"

/*
 * For each node of a graph, the nodes that wait for it, as instantiated. The
 * graph and what is made of it keep it alive (queue.c).
 */
struct gpu_edges {
	size_t count;    /* of nodes */
	size_t *missing; /* by node: how many it waits for */
	size_t *first;   /* by node: where its users begin; count + 1 */
	size_t *users;
};

void gpu_add(struct host_device *device);

/*
 * Every call of the runtime begins with this: the GPU goes on for a while, or
 * not, and the thread may stall.
 */
void gpu_call(void);

/* New work was submitted. The device's lock may be held. */
void gpu_has_work(void);

/* One piece of work; 0: there is none. No lock is held. */
int gpu_go_on(void);

/* [lost-fault] Whether a kernel of a GPU has made a fault. */
int gpu_is_lost(const struct host_device *device);

/* The edges of a program that was made of a graph (queue.c). */
const struct gpu_edges *gpu_edges_of(const struct host_program *program);

/* --- late.c --------------------------------------------------------------- */

/*
 * Calls `destroy` on a thread of its own, after this call and usually after
 * some more.
 */
void late_release(void (*destroy)(void *), void *object);

/* A call that destroys ends: now and then it waits for all releases. */
void late_destroyed(void);

void late_call(void);   /* a call of the runtime begins */
int late_is_here(void); /* on the thread that releases */

#endif
