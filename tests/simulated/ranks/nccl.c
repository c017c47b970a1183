/*
 * tests/simulated/ranks/nccl.c - a NCCL for ranks on simulated GPUs
 *
 * A library with those functions of NCCL that examples/ranks loads, by MPI: for
 * RANKS_NCCL. What is called within a group runs at its end, when the work that
 * is on the stream before it has ended. What would hang with NCCL hangs here: a
 * send waits for its receive.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

/* Of the program (kernels.cpp): after the work that is on the stream */
int simulated_copy(void *to, const void *from, size_t size, void *stream);

enum { CALLS_MAX = 64, FLOAT = 7, SUCCESS = 0, INVALID = 4 };
enum kind { BROADCAST, SEND, RECEIVE };

struct ncclComm {
	MPI_Comm ranks;
	int rank, size;
};

struct call {
	enum kind kind;
	float *at;
	int count, other;
	struct ncclComm *comm;
	void *stream;
};

struct id {
	char internal[128];
};

static struct call calls[CALLS_MAX];
static int n_calls, depth;

const char *ncclGetErrorString(int error)
{
	return error == INVALID ? "invalid argument" : "error";
}

/* All ranks of the world join a communicator at the same time. */
int ncclGetUniqueId(struct id *id)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), "%d", rank);
	return SUCCESS;
}

int ncclCommInitRank(struct ncclComm **comm, int n, struct id id, int rank)
{
	struct ncclComm *made = calloc(1, sizeof(*made));

	if (!made)
		return INVALID;
	MPI_Comm_split(MPI_COMM_WORLD, atoi(id.internal), rank, &made->ranks);
	MPI_Comm_rank(made->ranks, &made->rank);
	MPI_Comm_size(made->ranks, &made->size);
	*comm = made;
	return made->size == n && made->rank == rank ? SUCCESS : INVALID;
}

int ncclCommDestroy(struct ncclComm *comm)
{
	MPI_Comm_free(&comm->ranks);
	free(comm);
	return SUCCESS;
}

/* --- one group ------------------------------------------------------------ */

int ncclGroupStart(void)
{
	depth++;
	return SUCCESS;
}

static int add(struct call call, size_t count, int type)
{
	if (!depth || n_calls == CALLS_MAX || type != FLOAT || !call.at ||
	    call.other < 0 || call.other >= call.comm->size)
		return INVALID;
	call.count = (int)count;
	calls[n_calls++] = call;
	return SUCCESS;
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
		  struct ncclComm *comm, void *stream)
{
	if (from != to)
		return INVALID;
	return add((struct call){BROADCAST, to, 0, root, comm, stream}, count,
		   type);
}

int ncclSend(const void *from, size_t count, int type, int peer,
	     struct ncclComm *comm, void *stream)
{
	void *at = NULL;

	memcpy(&at, &from, sizeof(at));
	return add((struct call){SEND, at, 0, peer, comm, stream}, count, type);
}

int ncclRecv(void *to, size_t count, int type, int peer, struct ncclComm *comm,
	     void *stream)
{
	return add((struct call){RECEIVE, to, 0, peer, comm, stream}, count,
		   type);
}

/* Begins a call on a copy in memory of the process. */
static MPI_Request begin_call(const struct call *call, float *copy)
{
	MPI_Request request = MPI_REQUEST_NULL;

	if (call->kind == BROADCAST)
		MPI_Ibcast(copy, call->count, MPI_FLOAT, call->other,
			   call->comm->ranks, &request);
	else if (call->kind == SEND)
		MPI_Issend(copy, call->count, MPI_FLOAT, call->other, 0,
			   call->comm->ranks, &request);
	else
		MPI_Irecv(copy, call->count, MPI_FLOAT, call->other, 0,
			  call->comm->ranks, &request);
	return request;
}

int ncclGroupEnd(void)
{
	MPI_Request requests[CALLS_MAX];
	float *copies[CALLS_MAX];
	const int n = n_calls;

	depth--;
	for (int i = 0; i < n; i++) {
		const struct call *call = &calls[i];
		size_t size = (size_t)call->count * sizeof(float);

		copies[i] = malloc(size);
		if (!copies[i] ||
		    simulated_copy(copies[i], call->at, size, call->stream))
			return INVALID;
		requests[i] = begin_call(call, copies[i]);
	}
	MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < n; i++) {
		size_t size = (size_t)calls[i].count * sizeof(float);

		if (calls[i].kind != SEND &&
		    simulated_copy(calls[i].at, copies[i], size,
				   calls[i].stream))
			return INVALID;
		free(copies[i]);
	}
	n_calls = 0;
	return SUCCESS;
}
