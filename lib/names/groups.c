/*
 * lib/names/groups.c - see lib/names/groups.h
 */
#include <stdlib.h>
#include "lib/containers/array.h"
#include "lib/names/groups.h"

int groups_add(struct groups *groups, uint64_t group, size_t index)
{
	struct group_member *added =
		array_grow(&groups->members, groups->n, 1, sizeof(*added));

	if (!added)
		return 0;
	*added = (struct group_member){group, index};
	groups->n++;
	return 1;
}

static int compare_members(const void *a, const void *b)
{
	const struct group_member *left = a, *right = b;

	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	return (left->index > right->index) - (left->index < right->index);
}

void groups_order(struct groups *groups)
{
	if (groups->n)
		qsort(groups->members, groups->n, sizeof(*groups->members),
		      compare_members);
}

/* The first member of a group, or of a later one. */
static size_t first_of(const struct groups *groups, uint64_t group)
{
	size_t first = 0, end = groups->n;

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (groups->members[middle].group < group)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

const struct group_member *groups_find(const struct groups *groups,
				       uint64_t group, size_t *n)
{
	const size_t first = first_of(groups, group);

	*n = 0;
	while (first + *n < groups->n &&
	       groups->members[first + *n].group == group)
		++*n;
	return groups->n ? groups->members + first : NULL;
}

int groups_has(const struct groups *groups, uint64_t group)
{
	const size_t first = first_of(groups, group);

	return first < groups->n && groups->members[first].group == group;
}
