/*
 * lib/base/hash.h - the hash of names and of texts
 */
#ifndef LIB_BASE_HASH_H
#define LIB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_OF_NOTHING 0xcbf29ce484222325ULL

/* hash_more() is the hash of a text that goes on, from that of what was. */
static inline uint64_t hash_more(uint64_t hash, const char *bytes, size_t size)
{
	while (size--)
		hash = (hash ^ (unsigned char)*bytes++) * 0x100000001b3ULL;
	return hash;
}

/*
 * hash_text() is FNV-1a, 64 bits. Fowler, Noll, Vo; draft-eastlake-fnv,
 * section 5.
 */
static inline uint64_t hash_text(const char *bytes, size_t size)
{
	return hash_more(HASH_OF_NOTHING, bytes, size);
}

#endif
