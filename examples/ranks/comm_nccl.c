/*
 * examples/ranks/comm_nccl.c - what ranks of one axis send each other, by NCCL
 *
 * NCCL is loaded when it is asked for, so that neither headers nor library have
 * to be there where this is built: the types below are those of nccl.h, which
 * have been the same since NCCL 2.7. It queues its work on the stream, like a
 * kernel. MPI brings the ranks together.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "comm.h"
#include "world.h"

/* --- NCCL's interface ----------------------------------------------------- */

typedef struct ncclComm *nccl_comm;
struct nccl_id {
	char internal[128];
};
enum { NCCL_FLOAT = 7 };

/* Its functions: member, its name there, its arguments; all return an int. */
#define NCCL_LIST(X)                                                          \
	X(get_id, "ncclGetUniqueId", (struct nccl_id *))                      \
	X(init, "ncclCommInitRank", (nccl_comm *, int, struct nccl_id, int))  \
	X(destroy, "ncclCommDestroy", (nccl_comm))                            \
	X(begin, "ncclGroupStart", (void))                                    \
	X(end, "ncclGroupEnd", (void))                                        \
	X(broadcast, "ncclBroadcast",                                         \
	  (const void *, void *, size_t, int, int, nccl_comm, philox_stream)) \
	X(send, "ncclSend",                                                   \
	  (const void *, size_t, int, int, nccl_comm, philox_stream))         \
	X(receive, "ncclRecv",                                                \
	  (void *, size_t, int, int, nccl_comm, philox_stream))

struct nccl {
	struct comm comm;
	nccl_comm along[AXES]; /* NULL: one rank */
	void *library;
	const char *(*error)(int);
#define NCCL_MEMBER(member, name, arguments) int(*member) arguments;
	NCCL_LIST(NCCL_MEMBER)
#undef NCCL_MEMBER
};

static int find(void *library, const char *name, void *pointer, size_t size)
{
	void *symbol = dlsym(library, name);

	memcpy(pointer, &symbol, size);
	return symbol != NULL;
}

/* Returns what is missing, or NULL. */
static const char *load_nccl(struct nccl *nccl)
{
	const char *named = getenv("RANKS_NCCL");
	const char *library = named ? named : "libnccl.so.2";

	nccl->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!nccl->library)
		return dlerror();
	if (!find(nccl->library, "ncclGetErrorString", &nccl->error,
		  sizeof(nccl->error)))
		return "ncclGetErrorString() is not in the library";
#define NCCL_FIND(member, name, arguments)                                   \
	if (!find(nccl->library, name, &nccl->member, sizeof(nccl->member))) \
		return name "() is not in the library";
	NCCL_LIST(NCCL_FIND)
#undef NCCL_FIND
	return NULL;
}

static void check(const struct nccl *nccl, int error)
{
	if (error)
		world_fail("NCCL: %s", nccl->error(error));
}

/* --- what ranks send each other ------------------------------------------- */

/* Parts of different sizes: a broadcast of each, in one group. */
static void gather_nccl(struct comm *comm, enum axis axis, float *all,
			const size_t *counts)
{
	struct nccl *nccl = (struct nccl *)comm;

	check(nccl, nccl->begin());
	for (uint32_t i = 0; i < comm->place->size[axis]; i++) {
		check(nccl,
		      nccl->broadcast(all, all, counts[i], NCCL_FLOAT, (int)i,
				      nccl->along[axis], comm->stream));
		all += counts[i];
	}
	check(nccl, nccl->end());
}

static void swap_nccl(struct comm *comm, uint32_t stage, const float *send,
		      float *receive, size_t n)
{
	struct nccl *nccl = (struct nccl *)comm;

	check(nccl, nccl->begin());
	if (send)
		check(nccl, nccl->send(send, n, NCCL_FLOAT, (int)stage,
				       nccl->along[PIPELINE], comm->stream));
	if (receive)
		check(nccl, nccl->receive(receive, n, NCCL_FLOAT, (int)stage,
					  nccl->along[PIPELINE], comm->stream));
	check(nccl, nccl->end());
}

static void close_nccl(struct comm *comm)
{
	struct nccl *nccl = (struct nccl *)comm;

	TRY(philox_stream_synchronize(comm->device, comm->stream));
	for (int i = 0; i < AXES; i++)
		if (nccl->along[i])
			nccl->destroy(nccl->along[i]);
	dlclose(nccl->library);
	free(nccl);
}

/* --- bringing the ranks together ------------------------------------------ */

/* The first rank along the axis makes the id, MPI tells it to the others. */
static void join_axis(struct nccl *nccl, enum axis axis)
{
	const struct place *place = nccl->comm.place;
	const int at = (int)place->at[axis], n = (int)place->size[axis];
	struct nccl_id id;
	MPI_Comm ranks;

	if (n == 1)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, place_line(place, axis), at, &ranks);
	if (at == 0)
		check(nccl, nccl->get_id(&id));
	MPI_Bcast(&id, (int)sizeof(id), MPI_BYTE, 0, ranks);
	check(nccl, nccl->init(&nccl->along[axis], n, id, at));
	MPI_Comm_free(&ranks);
}

static void join_nccl(struct comm *comm)
{
	for (int i = 0; i < AXES; i++)
		join_axis((struct nccl *)comm, (enum axis)i);
}

struct comm *comm_open_nccl(const struct place *place,
			    struct philox_device *device, philox_stream stream,
			    char message[200])
{
	struct nccl *nccl = calloc(1, sizeof(*nccl));
	const char *missing;

	if (!nccl)
		world_fail("out of memory");
	nccl->comm = (struct comm){.place = place,
				   .device = device,
				   .stream = stream,
				   .join = join_nccl,
				   .gather = gather_nccl,
				   .swap = swap_nccl,
				   .close = close_nccl};
	missing = load_nccl(nccl);
	if (!missing)
		return &nccl->comm;
	snprintf(message, 200, "--comm nccl: %.130s (--comm mpi needs no NCCL)",
		 missing);
	free(nccl);
	return NULL;
}
