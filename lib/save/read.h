/*
 * lib/save/read.h - the text of a context, read
 */
#ifndef LIB_SAVE_READ_H
#define LIB_SAVE_READ_H

#include <stddef.h>
#include <stdint.h>
#include <philox/mesh.h>
#include <philox/state.h>
#include "lib/base/status.h"
#include "lib/save/text.h"

struct saved_op {
	char *name; /* or NULL */
	uint32_t calls;
	uint64_t advance;
};

struct saved_ticket {
	uint64_t serial;
	struct philox_state state;
	uint32_t iterations;
	uint32_t phase;     /* enum ledger_phase; pending in a saved context */
	uint32_t readers;   /* 0 in a saved context */
	uint32_t consuming; /* enum ledger_use; 0 in a saved context */
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
	int open;                 /* shared, with a forward that is open */
	uint64_t calls;           /* of all ops */
	size_t axis, n_axes;      /* the first along which it differs */
	uint64_t issued;          /* by other coordinates: an offset */
	uint64_t issued_serial;   /* the same */
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
	struct philox_mesh mesh; /* its names are the text's own */
	struct philox_state *generators;
	char **axes; /* along which regions differ */
	struct saved_region *regions;
	struct saved_op *ops;
	struct saved_ticket *tickets;
	struct saved_table *tables;
	struct philox_state *rows;
	size_t n_generators, n_regions, n_ops, n_tickets, n_tables, n_rows;
	size_t n_axes;
};

/*
 * save_read() reads a text and checks all that can be checked without a
 * context: ERROR_INVALID, ERROR_UNSUPPORTED, ERROR_MEMORY. The memory it takes
 * is in proportion to the text.
 */
enum philox_status save_read(const char *text, size_t size,
			     struct saved *saved);

/*
 * save_read_rank() reads the text of a rank in the same way, see Note [Text of
 * a rank] in lib/ranks/agree.h. Its tables have no rows.
 */
enum philox_status save_read_rank(const char *text, size_t size,
				  struct saved *saved);
void saved_finish(struct saved *saved);

#endif
