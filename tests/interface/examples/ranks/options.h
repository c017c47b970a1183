/*
 * examples/ranks/options.h - the command line
 */
#ifndef RANKS_OPTIONS_H
#define RANKS_OPTIONS_H

#include <stdint.h>

enum { BYTES = 256 }; /* that there are, and so columns of the logits */

#define NO_RANK UINT64_MAX

/* The model and its steps: what decides all losses and parameters. */
struct shape {
	uint64_t seed;
	uint64_t layers, heads, width, places; /* places of a sample */
	uint64_t samples, micro;               /* of a micro-batch; of a step */
	uint64_t head_width, hidden; /* columns of a block: a head has width /
					heads, a block of the MLP 4 times that */
	float dropout, rate;
};

struct options {
	struct shape shape;
	const char *mesh;          /* NULL: all ranks along data */
	const char *device;        /* philox_device_open() */
	const char *comm;          /* "mpi", "nccl" */
	const char *text;          /* a file */
	const char *save, *resume; /* folders, or NULL */
	uint64_t steps, every, agree, kill_at;
	uint64_t stray; /* rank that draws once too often, or NO_RANK */
	int eager, keep, help;
};

/*
 * Reads the command line for a world of so many ranks; every rank does, and all
 * find the same. Returns 0, or -1 and what is wrong in message[200].
 */
int options_read(struct options *options, int argc, char **argv, uint64_t world,
		 char message[200]);
void options_help(void);

#endif
