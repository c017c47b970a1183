/*
 * lib/names/intern.h - texts that many records share, each kept once
 *
 * A tag is a number; 0 is "". A text lives as long as its tag is held. One
 * thread at a time.
 */
#ifndef LIB_NAMES_INTERN_H
#define LIB_NAMES_INTERN_H

#include <stddef.h>
#include <stdint.h>
#include "lib/containers/map.h"

#define TAG_SIZE 32 /* with its NUL; longer ones are cut */

struct tag {
	char text[TAG_SIZE];
	uint32_t holders; /* 0: free */
	uint32_t next;    /* the next free one; 0: none */
};

struct tags {
	struct tag *items;
	uint32_t count;     /* items ever used */
	uint32_t spare;     /* the first free one of them; 0: none */
	uint32_t recent;    /* the tag that was asked for last */
	struct map by_text; /* the hash of a text to its tag */
};

/* An empty table; NULL: no memory. */
struct tags *tags_create(void);
void tags_destroy(struct tags *tags);

/* The tag of a text, cut to TAG_SIZE, held once more; 0: no memory. */
int tags_take(struct tags *tags, const char *text, uint32_t *tag);

static inline const char *tags_text(const struct tags *tags, uint32_t tag)
{
	return tags->items[tag].text;
}

static inline void tags_hold(struct tags *tags, uint32_t tag)
{
	tags->items[tag].holders++;
}

/* For a tag that nobody holds any longer. */
void tags_forget(struct tags *tags, uint32_t tag);

static inline void tags_drop(struct tags *tags, uint32_t tag)
{
	if (tag && !--tags->items[tag].holders)
		tags_forget(tags, tag);
}

#endif
