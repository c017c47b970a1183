/*
 * lib/containers/array.c - see lib/containers/array.h
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"

/* The room of an array of so many items, which are SIZE_MAX / 2 at most. */
static size_t room_of(size_t n)
{
	size_t room = 1;

	while (room < n)
		room *= 2;
	return room;
}

void *array_grow(void *array, size_t n, size_t more, size_t size)
{
	const size_t most = SIZE_MAX / 2 / size;
	char *items;

	if (n > most || more > most - n)
		return NULL;
	memcpy(&items, array, sizeof(items));
	if (!items || room_of(n) < n + more) {
		items = realloc(items, room_of(n + more) * size);
		if (!items)
			return NULL;
		memcpy(array, &items, sizeof(items));
	}
	return memset(items + n * size, 0, more * size);
}
