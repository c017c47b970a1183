/*
 * lib/ranks/agree_words.h - what ranks do not agree on, as a message
 */
#ifndef LIB_RANKS_AGREE_WORDS_H
#define LIB_RANKS_AGREE_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <philox/mesh.h>
#include "lib/base/status.h"

struct difference;

enum { AGREE_NAMED = 4 };

/* The numbers of ranks, or of texts; the first are named. */
struct agree_numbers {
	uint64_t first[AGREE_NAMED];
	uint64_t n;
};

/* Who has the first value of a difference, the second, and who another. */
struct agree_sides {
	const char *of; /* "rank" or "text" */
	struct agree_numbers values[2], others;
};

/*
 * agree_count() adds one whose difference from the first of them is `own`, NULL
 * if there is none, where `found` is the one that is told.
 */
void agree_count(struct agree_sides *sides, uint64_t number,
		 const struct difference *own, const struct difference *found);

/* Along which axes two ranks of a mesh do not agree: how a message begins. */
void agree_say_along(const struct philox_mesh *a, const struct philox_mesh *b,
		     char *text, size_t size);

/* agree_say() is the message of a difference: ERROR_MISMATCH. */
enum philox_status agree_say(const char *begin, const struct difference *found,
			     const struct agree_sides *sides);

#endif
