/*
 * tools/cli/kinds.h - every kind of fill: a distribution in a dtype
 *
 * Found in the library's own table, so that a new one is measured, checked and
 * drawn without a line here.
 */
#ifndef TOOLS_CLI_KINDS_H
#define TOOLS_CLI_KINDS_H

#include <philox/fill.h>

struct fill_kind {
	enum philox_dist dist;
	enum philox_dtype dtype;
	const char *dist_name, *dtype_name;
	int reads;            /* it has an input */
	size_t in_size, size; /* of an element */
};

/*
 * fill_kinds() returns all kinds, those of a distribution together; after the
 * last is one whose size is 0. Two threads must not make the first call at
 * once.
 */
const struct fill_kind *fill_kinds(void);

/* fill_kind_of() returns one of them, NULL if it does not exist. */
const struct fill_kind *fill_kind_of(enum philox_dist dist,
				     enum philox_dtype dtype);

#endif
