/*
 * examples/ranks/digest.h - FNV-1a of an array's bytes
 */
#ifndef RANKS_DIGEST_H
#define RANKS_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_OF_NOTHING UINT64_C(0xcbf29ce484222325)

/* Of what `digest` is of, with an array behind it. */
static inline uint64_t digest_more(uint64_t digest, const void *array,
				   size_t size)
{
	const unsigned char *bytes = (const unsigned char *)array;

	for (size_t i = 0; i < size; i++)
		digest = (digest ^ bytes[i]) * 0x100000001b3;
	return digest;
}

static inline uint64_t digest_of(const void *array, size_t size)
{
	return digest_more(DIGEST_OF_NOTHING, array, size);
}

#endif
