/*
 * lib/names/names.h - things that are found by their names
 *
 * Names are kept by their hashes in a map, and compared.
 */
#ifndef LIB_NAMES_NAMES_H
#define LIB_NAMES_NAMES_H

#include <string.h>
#include "lib/base/base.h"
#include "lib/containers/map.h"

static inline uint64_t names_key(const char *name)
{
	return hash_text(name, strlen(name));
}

/* NULL: there is none of this name. */
static inline void *names_find(const struct map *names, const char *name,
			       const char *(*name_of)(const void *thing))
{
	const struct map_entry *entry = map_find(names, names_key(name));

	while (entry && strcmp(name_of(entry->value), name) != 0)
		entry = map_find_next(names, entry);
	return entry ? entry->value : NULL;
}

/* Makes room for one more; 0: no memory. */
static inline int names_reserve(struct map *names)
{
	return map_reserve(names, names->count + 1);
}

#endif
