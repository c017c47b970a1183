/*
 * examples/ranks/comm.h - what ranks of one axis send each other: arrays of
 * floats in device memory, in the order of the stream
 *
 * Nothing is ever added on the way: partial sums are gathered, and the kernels
 * add them in one order, whatever the mesh.
 */
#ifndef RANKS_COMM_H
#define RANKS_COMM_H

#include <stddef.h>
#include <philox.h>
#include "place.h"

struct comm {
	const struct place *place;
	struct philox_device *device;
	philox_stream stream;

	/* brings the ranks of each axis together; all ranks call it */
	void (*join)(struct comm *comm);
	/* see comm_gather() and comm_swap() */
	void (*gather)(struct comm *comm, enum axis axis, float *all,
		       const size_t *counts);
	void (*swap)(struct comm *comm, uint32_t stage, const float *send,
		     float *receive, size_t n);
	void (*close)(struct comm *comm);
};

/*
 * By MPI, on any device, and by NCCL, on GPUs; to be joined before they are
 * used. NULL: message[200] says why.
 */
struct comm *comm_open_mpi(const struct place *place,
			   struct philox_device *device, philox_stream stream);
struct comm *comm_open_nccl(const struct place *place,
			    struct philox_device *device, philox_stream stream,
			    char message[200]);

/*
 * The ranks along an axis gather an array: counts[i] numbers of rank i, one
 * after the other. Each has its own in their place already.
 */
static inline void comm_gather(struct comm *comm, enum axis axis, float *all,
			       const size_t *counts)
{
	if (comm->place->size[axis] > 1)
		comm->gather(comm, axis, all, counts);
}

/*
 * Sends n numbers to another stage and receives n from it at the same time;
 * either array may be NULL.
 */
static inline void comm_swap(struct comm *comm, uint32_t stage,
			     const float *send, float *receive, size_t n)
{
	comm->swap(comm, stage, send, receive, n);
}

#endif
