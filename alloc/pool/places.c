/*
 * alloc/pool/places.c - see alloc/pool/places.h
 */
#include <stdlib.h>
#include <string.h>
#include "alloc/pool/places.h"
#include "lib/containers/slab.h"

#define CAPACITY_LEAST 64

void places_finish(struct places *places)
{
	free(places->chains);
	*places = (struct places){0};
}

void places_clear(struct places *places)
{
	if (places->count)
		memset(places->chains, 0,
		       places->capacity * sizeof(*places->chains));
	places->count = 0;
}

static void move_chain(struct places *to, struct block *block)
{
	struct block *next;

	for (; block; block = next) {
		next = block->chain;
		places_put(to, block);
	}
}

int places_enlarge(struct places *places, size_t count)
{
	struct places larger = {.capacity = CAPACITY_LEAST, .shift = 64};

	if (count > SIZE_MAX / 8 / sizeof(*larger.chains))
		return 0;
	while (larger.capacity / 3 * 2 < count)
		larger.capacity *= 2;
	for (size_t left = larger.capacity; left >>= 1;)
		larger.shift--;
	larger.chains = slab_memory(larger.capacity * sizeof(*larger.chains));
	if (!larger.chains)
		return 0;
	memset(larger.chains, 0, larger.capacity * sizeof(*larger.chains));
	for (size_t i = 0; i < places->capacity; i++)
		move_chain(&larger, places->chains[i]);
	free(places->chains);
	*places = larger;
	return 1;
}
