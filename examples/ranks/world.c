/*
 * examples/ranks/world.c - all ranks: what they say to each other by MPI
 */
#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "world.h"

static int my_rank;

void world_begin(int *argc, char ***argv, uint64_t *rank, uint64_t *size)
{
	int ranks;

	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	*rank = (uint64_t)my_rank;
	*size = (uint64_t)ranks;
}

void world_end(void)
{
	MPI_Finalize();
}

void world_barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

unsigned world_local_rank(void)
{
	MPI_Comm machine;
	int rank;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, my_rank,
			    MPI_INFO_NULL, &machine);
	MPI_Comm_rank(machine, &rank);
	MPI_Comm_free(&machine);
	return (unsigned)rank;
}

int world_count(size_t n)
{
	if (n > INT_MAX)
		world_fail("%zu is more than MPI can send at once", n);
	return (int)n;
}

enum philox_status world_gather(void *user, const void *mine, size_t size,
				void *all)
{
	(void)user;
	MPI_Allgather(mine, world_count(size), MPI_BYTE, all, (int)size,
		      MPI_BYTE, MPI_COMM_WORLD);
	return PHILOX_OK;
}

void world_tell(void *bytes, size_t size)
{
	MPI_Bcast(bytes, world_count(size), MPI_BYTE, 0, MPI_COMM_WORLD);
}

void world_send(uint64_t to, const void *from, size_t size)
{
	MPI_Send(from, world_count(size), MPI_BYTE, (int)to, 0, MPI_COMM_WORLD);
}

void world_receive(uint64_t from, void *to, size_t size)
{
	MPI_Recv(to, world_count(size), MPI_BYTE, (int)from, 0, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
}

int world_is_well(const char *message)
{
	int ranks, first, mine;

	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	mine = *message ? my_rank : ranks;
	MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (*message && first == my_rank)
		fprintf(stderr, "ranks: %s\n", message);
	return first == ranks;
}

void world_fail(const char *format, ...)
{
	char message[1000];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	/* in one piece: other ranks write there, too */
	fprintf(stderr, "ranks: rank %d: %s\n", my_rank, message);
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}
