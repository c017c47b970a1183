/*
 * examples/ranks/comm_mpi.c - what ranks of one axis send each other, by MPI
 *
 * MPI knows nothing of streams: the host waits for the work that is queued. On
 * a GPU arrays take the way through memory of the process, so that any MPI will
 * do, and several ranks on one GPU.
 */
#include <mpi.h>
#include <stdlib.h>
#include "comm.h"
#include "world.h"

struct mpi {
	struct comm comm;
	MPI_Comm along[AXES];
	int host;
	float *staged[2]; /* GPU: for what is sent and what is received */
	size_t room[2];
};

/* Where MPI finds n numbers of an array, before and after it. */
static float *stage_array(struct mpi *mpi, int which, size_t n)
{
	if (n > mpi->room[which]) {
		free(mpi->staged[which]);
		mpi->staged[which] = malloc(n * sizeof(float));
		mpi->room[which] = n;
	}
	if (!mpi->staged[which])
		world_fail("out of memory");
	return mpi->staged[which];
}

static void copy_array(struct mpi *mpi, float *to, const float *from, size_t n)
{
	TRY(philox_memory_copy(mpi->comm.device, mpi->comm.stream, to, from,
			       n * sizeof(float)));
}

static void wait_for_stream(struct mpi *mpi)
{
	TRY(philox_stream_synchronize(mpi->comm.device, mpi->comm.stream));
}

static int *places_of(const size_t *counts, uint32_t n, int **sizes)
{
	int *places = malloc(2 * n * sizeof(int));
	size_t at = 0;

	if (!places)
		world_fail("out of memory");
	*sizes = places + n;
	for (uint32_t i = 0; i < n; i++) {
		places[i] = (int)at;
		at += counts[i];
		world_count(at);
		(*sizes)[i] = (int)counts[i];
	}
	return places;
}

static void gather_mpi(struct comm *comm, enum axis axis, float *all,
		       const size_t *counts)
{
	struct mpi *mpi = (struct mpi *)comm;
	const uint32_t n = comm->place->size[axis], at = comm->place->at[axis];
	int *sizes, *places = places_of(counts, n, &sizes);
	size_t total = (size_t)places[n - 1] + counts[n - 1];
	float *array = mpi->host ? all : stage_array(mpi, 0, total);

	if (!mpi->host)
		copy_array(mpi, array + places[at], all + places[at],
			   counts[at]);
	wait_for_stream(mpi);
	MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, array, sizes, places,
		       MPI_FLOAT, mpi->along[axis]);
	if (!mpi->host) {
		copy_array(mpi, all, array, total);
		wait_for_stream(mpi); /* the array is used again */
	}
	free(places);
}

static void swap_mpi(struct comm *comm, uint32_t stage, const float *send,
		     float *receive, size_t n)
{
	struct mpi *mpi = (struct mpi *)comm;
	MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	float *out = NULL, *in = receive;
	const void *from = send;

	if (send && !mpi->host) {
		out = stage_array(mpi, 0, n);
		copy_array(mpi, out, send, n);
		from = out;
	}
	if (receive && !mpi->host)
		in = stage_array(mpi, 1, n);
	wait_for_stream(mpi);
	if (receive)
		MPI_Irecv(in, world_count(n), MPI_FLOAT, (int)stage, 0,
			  mpi->along[PIPELINE], &requests[0]);
	if (send)
		MPI_Isend(from, world_count(n), MPI_FLOAT, (int)stage, 0,
			  mpi->along[PIPELINE], &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	if (receive && !mpi->host) {
		copy_array(mpi, receive, in, n);
		wait_for_stream(mpi);
	}
}

static void close_mpi(struct comm *comm)
{
	struct mpi *mpi = (struct mpi *)comm;

	for (int i = 0; i < AXES; i++)
		MPI_Comm_free(&mpi->along[i]);
	free(mpi->staged[0]);
	free(mpi->staged[1]);
	free(mpi);
}

static void join_mpi(struct comm *comm)
{
	struct mpi *mpi = (struct mpi *)comm;

	for (int i = 0; i < AXES; i++)
		MPI_Comm_split(MPI_COMM_WORLD,
			       place_line(comm->place, (enum axis)i),
			       (int)comm->place->at[i], &mpi->along[i]);
}

struct comm *comm_open_mpi(const struct place *place,
			   struct philox_device *device, philox_stream stream)
{
	struct mpi *mpi = calloc(1, sizeof(*mpi));

	if (!mpi)
		world_fail("out of memory");
	mpi->comm = (struct comm){.place = place,
				  .device = device,
				  .stream = stream,
				  .join = join_mpi,
				  .gather = gather_mpi,
				  .swap = swap_mpi,
				  .close = close_mpi};
	mpi->host = philox_device_is_host(device);
	return &mpi->comm;
}
