/*
 * lib/save/differ.h - the first difference of two texts, in words
 *
 * Two texts of ranks, or of saved contexts, were read; these functions compare
 * what both have, and leave it to the caller to say whose the values are:
 *
 *   region 'a', op 2 ('dropout'): calls is 1 on ranks 0 and 1, 2 on rank 2
 *   `---------- place ----------' `-what-' `value'             `value'
 *
 * They return 1 and say the first difference, or return 0 if there is none.
 * Long names are cut, so that a place, two values and as many words around them
 * fit into a message.
 */
#ifndef LIB_SAVE_DIFFER_H
#define LIB_SAVE_DIFFER_H

struct saved;
struct saved_region;
struct saved_table;

struct difference {
	char place[128];
	char what[64];
	char values[2][48];
};

/* What of a region or table is compared. */
enum differ_parts {
	/* alive or destroyed, generator, flags, axes, operators; of a table
	 * generator and count */
	DIFFER_SHAPE = 1,
	/* serial and state of the next forward, what other coordinates have
	 * issued, tickets, open passes; of a table its rows */
	DIFFER_STATES = 2
};

/* Names, sizes and flags of the axes; coordinates may differ. */
int save_differ_mesh(const struct saved *a, const struct saved *b,
		     struct difference *found);

int save_differ_generators(const struct saved *a, const struct saved *b,
			   struct difference *found);

/* Two regions of one name, and two tables of one name. */
int save_differ_region(const struct saved *a, const struct saved_region *in_a,
		       const struct saved *b, const struct saved_region *in_b,
		       unsigned parts, struct difference *found);
int save_differ_table(const struct saved *a, const struct saved_table *in_a,
		      const struct saved *b, const struct saved_table *in_b,
		      unsigned parts, struct difference *found);

/* A "region" or "rows" that only one of them has: always 1. */
int save_differ_missing(const char *kind, const char *name, int in_a,
			struct difference *found);

#endif
