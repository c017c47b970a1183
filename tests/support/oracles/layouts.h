/*
 * tests/support/oracles/layouts.h - golden values of other libraries, and fills
 * to compare
 *
 * A table of tests/golden is a text: lines `case name=value ...`, each followed
 * by `advance`, `digest`, and lines of an element and the bits of its value.
 */
#ifndef TESTS_SUPPORT_LAYOUTS_H
#define TESTS_SUPPORT_LAYOUTS_H

#include <stdio.h>
#include <philox.h>
#include "tests/support/oracles/libraries.h"

enum { LAYOUT_VALUES_MAX = 64 };

/* A case of a table, and its expected values. */
struct layout_answers {
	struct layout_case c;
	int has_advance, has_digest;
	uint64_t advance, digest; /* digest: FNV-1a of all elements' bytes */
	size_t n;
	uint64_t element[LAYOUT_VALUES_MAX], bits[LAYOUT_VALUES_MAX];
};

struct layout_table {
	const char *path;
	FILE *file;
	char line[512]; /* the next case's, or "" */
};

/* A table is closed by layout_table_next() returning 0 after the last case. */
void layout_table_open(struct layout_table *table, const char *path);
int layout_table_next(struct layout_table *table,
		      struct layout_answers *answers);

/* A case in philox's terms; the fill refers to the layout. */
struct layout_op {
	struct philox_layout_desc layout;
	struct philox_fill_desc fill;
	struct philox_state state;
	size_t size; /* of an element */
};

void layout_op_of(const struct layout_case *c, struct layout_op *op);

/* Element `index` of an array, as bits and as a number. */
uint64_t layout_bits(const struct layout_op *op, const void *array,
		     uint64_t index);
double layout_value(const struct layout_op *op, uint64_t bits);

/* Writes the inputs of elements first, first + 1, ... into an array. */
void layout_write_inputs(const struct layout_op *op, void *array,
			 uint64_t first, uint64_t count);

uint64_t layout_digest(const void *bytes, size_t size);

/* For messages: the case in a line. The string is static. */
const char *layout_text(const struct layout_case *c);

/* A device that runs work in the calling thread: memory may be read at once. */
struct philox_device *layout_device(void);

/* Draws a span of an op into `out`; its inputs are in `in`. */
void layout_draw_span(struct philox_device *device, const struct layout_op *op,
		      struct philox_span span, const void *in, void *out);

/* Draws plain elements, with the inputs of their indices; to be freed. */
void *layout_draw_elements(struct philox_device *device,
			   const struct layout_op *op, uint64_t first,
			   uint64_t count);

/* A case of 3000 elements. */
struct layout_case layout_case_of(const char *layout, const char *dist,
				  const char *dtype);

#endif
