/*
 * tests/support/ranks/ranks.h - the contexts of all ranks of a mesh, in one
 * process
 *
 * Each rank has a context on one device. ranks_agree() runs a thread for each,
 * joined by an allgather of shared memory and barriers: a rank that calls it
 * more or less often than the others, or with another size, is noticed.
 */
#ifndef TESTS_SUPPORT_RANKS_BED_H
#define TESTS_SUPPORT_RANKS_BED_H

#include <stddef.h>
#include <stdint.h>
#include <philox.h>

enum { RANKS_BED_MAX = 160 };

struct ranks_bed {
	struct philox_device *device;
	struct philox_mesh mesh; /* of rank 0 */
	unsigned n;
	struct philox_context *contexts[RANKS_BED_MAX];
};

/* What a rank's philox_context_agree() gave. */
struct ranks_answer {
	enum philox_status status;
	char message[512];
	unsigned calls;     /* of gather */
	size_t first, most; /* bytes: in the first of them, and at most */
};

/* What goes wrong on one rank while ranks_agree() runs. */
struct ranks_trouble {
	unsigned rank;
	uint64_t allocation; /* that fails, counted from 1; 0: none */
	unsigned
		changes_at; /* a call of gather in which `change` runs; 0: none */
	void (*change)(struct philox_context *context);
	unsigned fails_at; /* a call that fails, on all ranks; 0: none */
	unsigned lies_at;  /* a call in which it sends `lie`; 0: none */
	uint64_t lie;      /* ... for the first number of its digest */
};

void ranks_open(struct ranks_bed *bed, struct philox_device *device,
		const struct philox_axis *axes, uint32_t n_axes);
void ranks_close(struct ranks_bed *bed);

/* The coordinate of a rank along an axis. */
uint32_t ranks_at(const struct ranks_bed *bed, unsigned rank, const char *axis);

/* Of all ranks, in the order of their numbers. */
enum philox_status ranks_compare(const struct ranks_bed *bed);
enum philox_status ranks_explain(const struct ranks_bed *bed);
void ranks_agree(const struct ranks_bed *bed,
		 const struct ranks_trouble *trouble,
		 struct ranks_answer answers[]);

/* All three ways say so; or do not, and explain it with these words. */
void ranks_do_agree(const struct ranks_bed *bed);
void ranks_do_not_agree(const struct ranks_bed *bed, const char *words);

#endif
