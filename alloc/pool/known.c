/*
 * alloc/pool/known.c - see alloc/pool/known.h
 */
#include <stdlib.h>
#include "alloc/pool/known.h"

struct known *known_create(void)
{
	return calloc(1, sizeof(struct known));
}

void known_free(struct known *known)
{
	if (known)
		table_finish(&known->table);
	free(known);
}

int known_reserve(struct known *known, size_t count)
{
	return table_reserve(&known->table, count);
}

/* Whether a change is to be made in the table, too. */
static int is_followed(struct known *known)
{
	if (!known->is_current || known->unasked++ <= known->table.count)
		return known->is_current;
	known->is_current = 0;
	table_clear(&known->table);
	return 0;
}

void known_born(struct known *known, struct block *block)
{
	if (is_followed(known))
		table_put(&known->table, block->id, block);
}

void known_dead(struct known *known, const struct block *block)
{
	if (is_followed(known))
		table_remove(&known->table, block->id);
}

struct block *known_find(struct known *known, const struct blocks *blocks,
			 uint64_t id)
{
	struct block *block = known->is_current ? NULL : blocks->first;
	struct table_entry *entry;

	for (; block; block = block->after)
		if (block->id)
			table_put(&known->table, block->id, block);
	known->is_current = 1;
	known->unasked = 0;
	entry = table_find(&known->table, id);
	return entry ? entry->value : NULL;
}
