/*
 * lib/save/save.h - the text of a saved context, as it is written, read and loaded
 *
 * Note [Saved context]
 * ~~~~~~~~~~~~~~~~~~~~
 *   philox context 1
 *   generator 0 state 000000000000002a 0000000000000000
 *   region "block.0" alive generator 0 flags 0 next 9f86... 0000... serial 4
 *   op "dropout" calls 1 advance 4
 *   op - calls 2 advance 4
 *   ticket 2 state 9f86d081884c7d65 0000000000000004
 *   region "old" destroyed generator none next 6030... 0000... serial 9
 *   rows "requests" generator 0 count 2
 *   row 52ab3b1e4ffec8d5 0000000000000008
 *   row 4f1a7af0b34dd6ac 0000000000000000
 *   checksum 0123456789abcdef bytes 397
 *
 * Lines end with a line feed, words are parted by one space; there are no blank
 * lines and no comments. The same contents have one spelling only, so that two
 * texts differ where their contexts do. All lines:
 *
 *  philox context V   The version: the lowest that has all lines of the text, 2
 *                     if there are tables of rows, else 1. A reader refuses a
 *                     newer one; what comes behind it may be anything then.
 *  generator N state STATE
 *                     Numbered from 0 in order of creation.
 *  region NAME alive|destroyed generator N|none [flags F] next STATE serial S
 *                     In ascending order of their bytes. The state is what the
 *                     region itself holds for its next forward (a SHARED one
 *                     draws from its generator instead), the serial is that of
 *                     its next forward. Only a destroyed region may have no
 *                     generator any more, and only one that is alive has flags.
 *  op NAME|- calls C advance A
 *                     The operators of the region above, at least one if it is
 *                     alive; "-" has no name.
 *  ticket S state STATE
 *                     What is pending or retained in the region above, in
 *                     ascending order of serial.
 *  rows NAME generator N count C
 *                     A table of rows (version 2). Tables come last, in
 *                     ascending order of their bytes.
 *  row STATE          The C rows of the table above, in order.
 *  checksum H bytes B FNV-1a, 64 bits, of everything above this line, and how
 *                     many bytes that is. Nothing follows.
 *
 * Numbers are decimal, without leading zeros. A state is two numbers of 16 hex
 * digits, seed and offset; a serial is in 1 .. 2^63 - 1, that of a ticket below
 * its region's. Names stand in quotation marks; in them a quotation mark, a
 * backslash and every byte that is not printable ASCII is written \xHH.
 *
 * A single changed byte always changes FNV-1a: its step is a bijection of the
 * hash for every byte, and of the byte for every hash.
 */
#ifndef LIB_SAVE_SAVE_H
#define LIB_SAVE_SAVE_H

#include <stdio.h>
#include <philox/save.h>
#include "lib/state/region.h"
#include "lib/rows/rows.h"

#define SAVE_VERSION      2
#define SAVE_VERSION_ROWS 2 /* the first with tables of rows */
#define SAVE_NO_GENERATOR UINT32_MAX

/* --- what a context holds ------------------------------------------------- */

/*
 * Generators in order of creation, regions in an order of one's choice, tables
 * of rows by name.
 */
struct save_lists {
	struct philox_generator **generators;
	struct philox_region **regions;
	struct philox_rows **rows;
	size_t n_generators;
	size_t n_regions;
	size_t n_rows;
};

/*
 * save_lists_init() lists what a context holds, its regions sorted by
 * `compare`, a function for qsort(). With the context's lock held.
 */
enum philox_status save_lists_init(struct save_lists *lists,
				   const struct philox_context *context,
				   int (*compare)(const void *, const void *));
void save_lists_finish(struct save_lists *lists);

/* save_lists_number() is a generator's number, SAVE_NO_GENERATOR for NULL. */
uint32_t save_lists_number(const struct save_lists *lists,
			   const struct philox_generator *generator);

/*
 * save_pending() lists the pending entries of a ledger in order of serial, in
 * memory that the caller frees. With the context's lock held.
 */
enum philox_status save_pending(const struct ledger *ledger,
				const struct ledger_entry ***entries,
				size_t *n);

/* save_write_name() and save_write_state() spell a name and a state. */
void save_write_name(FILE *out, const char *name);
void save_write_state(FILE *out, struct philox_state state);

/*
 * save_write_rows() writes the tables of rows, which are copied from the device
 * for it: ERROR_STATE for a row that is no state.
 */
enum philox_status save_write_rows(FILE *out, const struct save_lists *lists);

/* save_write() writes a quiet context as a text; with the lock held. */
enum philox_status save_write(const struct philox_context *context, char **text,
			      size_t *size);

/* --- a text that was read ------------------------------------------------- */

struct saved_op {
	char *name; /* or NULL */
	uint32_t calls;
	uint64_t advance;
};

struct saved_ticket {
	uint64_t serial;
	struct philox_state state;
};

struct saved_region {
	char *name;
	uint64_t key; /* hash of the name */
	size_t line;
	int alive;
	uint32_t generator; /* number, or SAVE_NO_GENERATOR */
	uint32_t flags;
	struct philox_state state;
	uint64_t serial;
	uint64_t calls;           /* of all ops */
	size_t op, n_ops;         /* the first of them, and how many */
	size_t ticket, n_tickets; /* the same */
};

struct saved_table {
	char *name;
	uint32_t generator;
	uint64_t count;     /* of its rows, as its line says */
	size_t row, n_rows; /* the first of them, and how many came */
};

struct saved {
	struct philox_state *generators;
	struct saved_region *regions;
	struct saved_op *ops;
	struct saved_ticket *tickets;
	struct saved_table *tables;
	struct philox_state *rows;
	size_t n_generators, n_regions, n_ops, n_tickets, n_tables, n_rows;
};

/*
 * save_read() reads a text and verifies all that can be said without a context:
 * ERROR_INVALID, ERROR_UNSUPPORTED, ERROR_MEMORY. The memory it takes is in
 * proportion to the text.
 */
enum philox_status save_read(const char *text, size_t size,
			     struct saved *saved);
void saved_finish(struct saved *saved);

/* --- loading -------------------------------------------------------------- */

/* What a load is going to do, and afterwards what it has replaced. */
struct save_plan {
	struct philox_context *context;
	const struct saved *saved;
	struct save_lists lists; /* regions sorted by key */
	struct save_place *places;
	struct philox_region *made; /* records of destroyed names */
};

/*
 * save_plan_init() compares a context with a text (ERROR_MISMATCH) and takes
 * all memory that the load needs; save_plan_commit() loads, and cannot fail.
 * Both with the lock held. save_plan_finish(), without, releases the saved
 * contexts of what was replaced, or takes back what was prepared.
 */
enum philox_status save_plan_init(struct save_plan *plan,
				  struct philox_context *context,
				  const struct saved *saved);
void save_plan_commit(struct save_plan *plan);
void save_plan_finish(struct save_plan *plan);

/*
 * save_compare_rows() compares the tables of rows of a context with those of a
 * text (ERROR_MISMATCH); save_load_rows() then loads them into device memory,
 * all or none of them.
 */
enum philox_status save_compare_rows(const struct save_plan *plan);
enum philox_status save_load_rows(const struct save_plan *plan);

/* --- files ---------------------------------------------------------------- */

/* save_file_write() replaces a file, whole or not at all: ERROR_FILE. */
enum philox_status save_file_write(const char *path, const char *text,
				   size_t size);

/* save_file_read() reads a regular file into memory that the caller frees. */
enum philox_status save_file_read(const char *path, char **text, size_t *size);

#endif
