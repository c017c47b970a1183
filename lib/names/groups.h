/*
 * lib/names/groups.h - which items of an array belong to a number
 *
 * Groups are put in order once, after all items were added, and then looked up.
 */
#ifndef LIB_NAMES_GROUPS_H
#define LIB_NAMES_GROUPS_H

#include <stddef.h>
#include <stdint.h>

struct group_member {
	uint64_t group;
	size_t index; /* of the item */
};

/* All zero: empty. For free(groups.members). */
struct groups {
	struct group_member *members;
	size_t n;
};

/* 0: no memory. */
int groups_add(struct groups *groups, uint64_t group, size_t index);
void groups_order(struct groups *groups);

/* The items of a group, in order of their indexes: *n of them. */
const struct group_member *groups_find(const struct groups *groups,
				       uint64_t group, size_t *n);

/* Whether it has any. */
int groups_has(const struct groups *groups, uint64_t group);

#endif
