/*
 * graph/runner/snapshot/runner_reason.c - reasons in the snapshot of a runner
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "graph/runner/snapshot/runner_reason.h"

/* How many bytes at `from` are an address: "0x" and 7 digits at least. */
static size_t address_length(const char *from)
{
	size_t length = 2;

	if (strncmp(from, "0x", 2) != 0)
		return 0;
	while (isxdigit((unsigned char)from[length]))
		length++;
	return length >= 9 ? length : 0;
}

/* ... are the id of a block, which counts those of the process. */
static size_t block_length(const char *from)
{
	return strncmp(from, "block ", 6) == 0
		       ? 6 + strspn(from + 6, "0123456789")
		       : 0;
}

/*
 * From the first address of inputs that moved on: to the next part of the reason,
 * or its end. The list may be cut, wherever its addresses let it.
 */
static const char *skip_moves(const char *from)
{
	const char *next;

	while ((next = strstr(from, "; ")) &&
	       strncmp(next + 2, "input '", 7) == 0)
		from = next + 2;
	return next ? next : from + strlen(from);
}

/* Appends a reason's next word to `to`; returns what is after it. */
static const char *copy_word(char **to, const char *from)
{
	size_t length = block_length(from);

	if (length > 6) {
		*to = stpcpy(*to, "block #");
		return from + length;
	}
	length = address_length(from);
	if (length) {
		*to = stpcpy(*to, "0x..");
		return from + length;
	}
	if (strncmp(from, "from 0x", 7) == 0) {
		*to = stpcpy(*to, "from 0x..");
		return skip_moves(from);
	}
	*(*to)++ = *from++;
	return from;
}

void reason_copy(char to[256], const char *from)
{
	char made[2 * 256], *at = made;

	while (*from)
		from = copy_word(&at, from);
	*at = '\0';
	snprintf(to, 256, "%.255s", made);
}
