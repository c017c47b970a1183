/*
 * examples/ranks/digest.h - FNV-1a of an array's bytes
 */
#ifndef RANKS_DIGEST_H
#define RANKS_DIGEST_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t digest_of(const void *array, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)array;
	uint64_t digest = 0xcbf29ce484222325;

	for (size_t i = 0; i < size; i++)
		digest = (digest ^ bytes[i]) * 0x100000001b3;
	return digest;
}

#endif
