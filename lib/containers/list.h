/*
 * lib/containers/list.h - a list that things join and leave in one step each
 *
 * What is listed has two members, `struct T *next`, the one that joined before
 * it, and `struct T **link`, what points to it: the head of the list or another
 * one's `next`. A head that is NULL is an empty list, which is walked by `next`,
 * the newest first. What is in two lists has members of other names for one.
 */
#ifndef LIB_CONTAINERS_LIST_H
#define LIB_CONTAINERS_LIST_H

#include <stddef.h>

#define LIST_ADD_AS(head, item, next, link)                  \
	do {                                                 \
		(item)->next = *(head);                      \
		(item)->link = (head);                       \
		if ((item)->next)                            \
			(item)->next->link = &(item)->next;  \
		*(head) = (item);                            \
	} while (0)

/* pre: it is in the list. */
#define LIST_REMOVE_AS(item, next, link)                     \
	do {                                                 \
		if ((item)->next)                            \
			(item)->next->link = (item)->link;   \
		*(item)->link = (item)->next;                \
	} while (0)

#define LIST_ADD(head, item) LIST_ADD_AS(head, item, next, link)
#define LIST_REMOVE(item)    LIST_REMOVE_AS(item, next, link)

#endif
