/*
 * lib/containers/intern.c - see lib/containers/intern.h
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/intern.h"

#define CAPACITY_LEAST 16 /* a power of two, as all capacities */

static uint32_t *bucket_of(struct tags *tags, const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ULL; /* FNV-1a */

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 0x100000001b3ULL;
	return &tags->buckets[(hash ^ hash >> 32) & (tags->capacity - 1)];
}

static void link_tag(struct tags *tags, uint32_t tag)
{
	uint32_t *bucket = bucket_of(tags, tags->items[tag].text);

	tags->items[tag].next = *bucket;
	*bucket = tag;
}

static int tags_enlarge(struct tags *tags)
{
	uint32_t capacity =
		tags->capacity ? tags->capacity * 2 : CAPACITY_LEAST;
	uint32_t *buckets = calloc(capacity, sizeof(*buckets));
	struct tag *items = realloc(tags->items, capacity * sizeof(*items));

	if (items)
		tags->items = items;
	if (!items || !buckets || !capacity) {
		free(buckets);
		return 0;
	}
	free(tags->buckets);
	tags->buckets = buckets;
	tags->capacity = capacity;
	for (uint32_t tag = 1; tag < tags->count; tag++)
		link_tag(tags, tag);
	return 1;
}

struct tags *tags_create(void)
{
	struct tags *tags = calloc(1, sizeof(*tags));

	if (!tags)
		return NULL;
	tags->holders = 1;
	if (!tags_enlarge(tags)) {
		tags_release(tags);
		return NULL;
	}
	tags->items[0] = (struct tag){.holders = 1};
	tags->count = 1;
	return tags;
}

void tags_share(struct tags *tags)
{
	tags->holders++;
}

void tags_release(struct tags *tags)
{
	if (!tags || --tags->holders)
		return;
	free(tags->items);
	free(tags->buckets);
	free(tags);
}

static uint32_t find_tag(struct tags *tags, const char *text)
{
	uint32_t tag = *bucket_of(tags, text);
	while (tag && strcmp(tags->items[tag].text, text) != 0)
		tag = tags->items[tag].next;
	return tag;
}

/* An item that is free; 0: no memory. */
static uint32_t new_tag(struct tags *tags)
{
	uint32_t tag = tags->spare;

	if (tag) {
		tags->spare = tags->items[tag].next;
		return tag;
	}
	/* All are in use, so all are linked again */
	if (tags->count == tags->capacity && !tags_enlarge(tags))
		return 0;
	return tags->count++;
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
		link_tag(tags, *tag);
	}
	tags_hold(tags, *tag);
	tags->recent = *tag;
	return 1;
}

void tags_forget(struct tags *tags, uint32_t tag)
{
	uint32_t *link = bucket_of(tags, tags->items[tag].text);

	while (*link != tag)
		link = &tags->items[*link].next;
	*link = tags->items[tag].next;
	tags->items[tag] = (struct tag){.next = tags->spare};
	tags->spare = tag;
	if (tags->recent == tag)
		tags->recent = 0;
}
