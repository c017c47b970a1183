/*
 * examples/ranks/world.h - all ranks: what they say to each other by MPI, of
 * memory of the process
 *
 * Errors of MPI end the program, as MPI does by itself.
 */
#ifndef RANKS_WORLD_H
#define RANKS_WORLD_H

#include <stddef.h>
#include <stdint.h>
#include <philox.h>

void world_begin(int *argc, char ***argv, uint64_t *rank, uint64_t *size);
void world_end(void);
void world_barrier(void);

/* A count as MPI takes it; one that is above INT_MAX ends all ranks. */
int world_count(size_t n);

/* Which of the ranks of this machine this one is, counted from 0. */
unsigned world_local_rank(void);

/* Every rank's bytes to every rank: a philox_gather, for philox_mesh_agree(). */
enum philox_status world_gather(void *user, const void *mine, size_t size,
				void *all);

/* Rank 0's bytes to all. */
void world_tell(void *bytes, size_t size);

/* One rank's bytes to another one. */
void world_send(uint64_t to, const void *from, size_t size);
void world_receive(uint64_t from, void *to, size_t size);

/*
 * Whether all ranks are well: those that are not have a message, the others "".
 * The first of them says it, and all return 0.
 */
int world_is_well(const char *message);

/* Says what is wrong, and ends all ranks. */
__attribute__((format(printf, 1, 2), noreturn)) void world_fail(
	const char *format, ...);

#define TRY(call)                                                   \
	do {                                                        \
		if ((call) != PHILOX_OK)                            \
			world_fail("%s:%d: %s", __FILE__, __LINE__, \
				   philox_error_message());         \
	} while (0)

#endif
