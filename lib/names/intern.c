/*
 * lib/names/intern.c - see lib/names/intern.h
 */
#include <stdlib.h>
#include <string.h>
#include "lib/base/base.h"
#include "lib/containers/array.h"
#include "lib/names/intern.h"

static uint64_t hash_of(const char *text)
{
	return hash_text(text, strlen(text));
}

struct tags *tags_create(void)
{
	struct tags *tags = calloc(1, sizeof(*tags));
	struct tag *none;

	if (!tags)
		return NULL;
	none = array_grow(&tags->items, 0, 1, sizeof(*none));
	if (!none) {
		free(tags);
		return NULL;
	}
	none->holders = 1;
	tags->count = 1;
	return tags;
}

void tags_destroy(struct tags *tags)
{
	if (!tags)
		return;
	map_finish(&tags->by_text);
	free(tags->items);
	free(tags);
}

static uint32_t find_tag(const struct tags *tags, const char *text)
{
	const struct map_entry *entry = map_find(&tags->by_text, hash_of(text));
	uint32_t tag;

	for (; entry; entry = map_find_next(&tags->by_text, entry)) {
		tag = (uint32_t)(uintptr_t)entry->value;
		if (strcmp(tags->items[tag].text, text) == 0)
			return tag;
	}
	return 0;
}

/* An item that is free; 0: no memory. */
static uint32_t new_tag(struct tags *tags)
{
	uint32_t tag = tags->spare;

	if (!map_reserve(&tags->by_text, tags->by_text.count + 1))
		return 0;
	if (tag) {
		tags->spare = tags->items[tag].next;
		return tag;
	}
	if (tags->count == UINT32_MAX ||
	    !array_grow(&tags->items, tags->count, 1, sizeof(struct tag)))
		return 0;
	return tags->count++;
}

static void *as_value(uint32_t tag)
{
	return (void *)(uintptr_t)tag;
}

/* As a rule the next block has the tag of the one before. */
static int is_recent(const struct tags *tags, const char *text)
{
	return text && tags->recent &&
	       !strncmp(tags->items[tags->recent].text, text, TAG_SIZE - 1);
}

int tags_take(struct tags *tags, const char *text, uint32_t *tag)
{
	char cut[TAG_SIZE];
	size_t length;

	*tag = tags->recent;
	if (is_recent(tags, text)) {
		tags_hold(tags, *tag);
		return 1;
	}
	length = text ? strnlen(text, sizeof(cut) - 1) : 0;
	*tag = 0;
	if (!length)
		return 1;
	memcpy(cut, text, length);
	cut[length] = '\0';
	*tag = find_tag(tags, cut);
	if (!*tag) {
		*tag = new_tag(tags);
		if (!*tag)
			return 0;
		tags->items[*tag] = (struct tag){.holders = 0};
		memcpy(tags->items[*tag].text, cut, length + 1);
		map_put(&tags->by_text, hash_of(cut), as_value(*tag));
	}
	tags_hold(tags, *tag);
	tags->recent = *tag;
	return 1;
}

void tags_forget(struct tags *tags, uint32_t tag)
{
	map_remove(&tags->by_text, hash_of(tags->items[tag].text),
		   as_value(tag));
	tags->items[tag] = (struct tag){.next = tags->spare};
	tags->spare = tag;
	if (tags->recent == tag)
		tags->recent = 0;
}
