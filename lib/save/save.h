/*
 * lib/save/save.h - saving and loading a context: its contents, its text
 */
#ifndef LIB_SAVE_SAVE_H
#define LIB_SAVE_SAVE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <philox/mesh.h>
#include <philox/state.h>
#include "lib/base/base.h"
#include "lib/save/part.h"
#include "lib/state/state.h"
#include "lib/text/text.h"

/* --- text: the text of a saved context, and writing it -------------------- */

/*
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
 * Lines end with a line feed, words are separated by one space; there are no
 * blank lines and no comments. The same contents have only one spelling, so
 * that two texts differ where their contexts do. All lines:
 *
 *  philox context V   The version: the lowest that has all lines of the text, 7
 *                     if there are data, else 6 if a generator differs, else 5
 *                     if there are outputs, else 4 if there is a mesh, a region
 *                     that differs or a line "issued", else 3 if a ticket has
 *                     iterations, else 2 if there are tables of rows, else 1. A
 *                     reader refuses a newer one, after which anything may
 *                     follow.
 *  axis NAME size N at C [stages]
 *                     The axes of the context's mesh, in its order, and where
 *                     the context is (version 4).
 *  generator N state STATE [differs]
 *                     Numbered from 0 in order of creation; which ranks move
 *                     each for itself (version 6).
 *  region NAME alive|destroyed generator N|none [flags F] next STATE serial S
 *                     In ascending order of their bytes. The state is what the
 *                     region itself holds for its next forward (a SHARED one
 *                     draws from its generator instead), the serial is that of
 *                     its next forward. Only a destroyed region may have lost
 *                     its generator, and only one that is alive has flags.
 *  differs NAME       An axis along which the region above differs, in
 *                     ascending order of their bytes (version 4). Only a region
 *                     that is alive has such lines.
 *  issued O serial S  After these lines: the highest offset and serial that
 *                     coordinates that are gone had for their next forward, of
 *                     the region above, which is alive and not shared, where
 *                     one of them is above its own (version 4). It may have
 *                     lost the axes along which it differed.
 *  op NAME|- calls C advance A
 *                     The operators of the region above, at least one if it is
 *                     alive; "-" has no name.
 *  ticket S state STATE [iterations I]
 *                     The tickets pending or retained in the region above, in
 *                     ascending order of serial; how many iterations it has, if
 *                     more than one (version 3).
 *  rows NAME generator N count C
 *                     A table of rows (version 2). Tables come after regions,
 *                     in ascending order of their bytes.
 *  row STATE          The C rows of the table above, in order.
 *  data NAME generator N sources C block B order H seed S position P
 *                     Data (version 7): how many sources and positions of a
 *                     block they have, philox_mixture_hash(), the seed of their
 *                     mixture, and how far they have come, at most 2^63. They
 *                     come after tables, in ascending order of their bytes.
 *  outputs NAME digest H
 *                     A runner whose outputs were saved just before, and the
 *                     checksum of that file, 16 hex digits (version 5): see Note
 *                     [Saved outputs] in graph/runner/outputs/outputs.h. These
 *                     lines come last, in ascending order of their bytes.
 *  checksum H bytes B FNV-1a, 64 bits, of everything above this line, and how
 *                     many bytes that is. Nothing follows.
 *
 * Numbers are decimal, without leading zeros. A state is two numbers of 16 hex
 * digits, seed and offset; a serial is in 1 .. 2^63 - 1, that of a ticket below
 * its region's. Names are in quotation marks; in them a quotation mark, a
 * backslash and every byte that is not printable ASCII is written \xHH.
 *
 * A single changed byte always changes FNV-1a: its step is a bijection of the
 * hash for every byte, and of the byte for every hash.
 */

struct saved;

#define SAVE_START         "philox context "
#define SAVE_VERSION       7
#define SAVE_VERSION_ROWS  2 /* the first with tables of rows */
#define SAVE_VERSION_LOOPS 3 /* the first with tickets of loops */
#define SAVE_VERSION_MESH  4 /* the first with meshes */
#define SAVE_VERSION_KEPT  5 /* the first with outputs of runners */
#define SAVE_VERSION_OWN   6 /* the first with generators that differ */
#define SAVE_VERSION_DATA  7 /* the first with data */
#define SAVE_RANKS         3 /* of the texts of ranks, the newest */
#define SAVE_RANKS_OWN     2 /* the first with generators that differ */
#define SAVE_RANKS_DATA    3 /* the first with data */
#define SAVE_NO_GENERATOR  UINT32_MAX

/*
 * save_write() writes what a context has as a text: ERROR_MEMORY.
 * save_write_rank() writes it as the text of a rank, see Note [Text of a rank]
 * in lib/ranks/ranks.h.
 */
enum philox_status save_write(const struct saved *saved, struct text *text);
enum philox_status save_write_rank(const struct saved *saved,
				   struct text *text);

/* --- read: the text of a context, read ------------------------------------ */

struct saved_generator {
	struct philox_state state;
	uint32_t flags;
};

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

struct saved_data {
	char *name;
	uint32_t generator;
	uint32_t sources; /* how many */
	uint64_t block, order, seed, position;
};

struct saved {
	struct philox_mesh mesh; /* its names are the text's own */
	struct saved_generator *generators;
	char **axes; /* along which regions differ */
	struct saved_region *regions;
	struct saved_op *ops;
	struct saved_ticket *tickets;
	struct saved_table *tables;
	struct philox_state *rows;
	struct saved_data *data;
	struct saved_outputs *outputs; /* of runners */
	size_t n_generators, n_regions, n_ops, n_tickets, n_tables, n_rows;
	size_t n_axes, n_outputs, n_data;
};

/*
 * save_read() reads a text and checks all that can be checked without a
 * context: ERROR_INVALID, ERROR_UNSUPPORTED, ERROR_MEMORY. The memory it takes
 * is in proportion to the text.
 */
enum philox_status save_read(const char *text, size_t size,
			     struct saved *saved);

/* Its file, for file_read(). */
extern const struct file_kind save_file;

/*
 * save_read_rank() reads the text of a rank in the same way, see Note [Text of
 * a rank] in lib/ranks/ranks.h. Its tables have no rows.
 */
enum philox_status save_read_rank(const char *text, size_t size,
				  struct saved *saved);
void saved_finish(struct saved *saved);

/* --- saved: putting the contents of a text together ----------------------- */

/*
 * What is added goes to the end; the caller keeps the order that a text has.
 * All names are copied. ERROR_MEMORY: then nothing was added.
 */

/* saved_init() begins with nothing; saved_finish() is in lib/save/save.h. */
void saved_init(struct saved *saved);

enum philox_status saved_add_generator(struct saved *saved,
				       struct saved_generator generator);

/*
 * saved_add_region() adds a region without axes, ops and tickets, which are
 * added to the region that was added last.
 */
enum philox_status saved_add_region(struct saved *saved,
				    const struct saved_region *like);
enum philox_status saved_add_axis(struct saved *saved, const char *name);
enum philox_status saved_add_op(struct saved *saved, const struct saved_op *op);
enum philox_status saved_add_ticket(struct saved *saved,
				    const struct saved_ticket *ticket);

/* saved_add_table() adds a table with its rows; NULL: without them. */
enum philox_status saved_add_table(struct saved *saved,
				   const struct saved_table *like,
				   const struct philox_state *rows);

enum philox_status saved_add_data(struct saved *saved,
				  const struct saved_data *like);

/* saved_add_outputs() adds outputs of a runner, saved_copy_outputs() all. */
enum philox_status saved_add_outputs(struct saved *saved,
				     const struct saved_outputs *like);
enum philox_status saved_copy_outputs(struct saved *saved,
				      const struct saved *from);

/*
 * saved_copy_ops() and saved_copy_tickets() add those of a region of another
 * text, saved_copy_region() the region with all it has.
 */
enum philox_status saved_copy_ops(struct saved *saved, const struct saved *from,
				  const struct saved_region *region);
enum philox_status saved_copy_tickets(struct saved *saved,
				      const struct saved *from,
				      const struct saved_region *region);
enum philox_status saved_copy_region(struct saved *saved,
				     const struct saved *from,
				     const struct saved_region *region);

/*
 * saved_find_twins() finds two regions whose names have the same hash; two NULL
 * if there are none.
 */
enum philox_status saved_find_twins(const struct saved *saved,
				    const struct saved_region *twins[2]);

/*
 * saved_item() is a region, a table of rows or data of a text, NULL after the
 * last; all begin with their name, saved_name().
 */
const void *saved_item(const struct saved *saved, enum save_item item,
		       size_t i);
const char *saved_name(const void *item);

/*
 * saved_next_pair() moves to the next name that two texts have, or one of
 * them, in order: 0 after the last.
 */
struct saved_pair {
	const struct saved *a, *b;
	enum save_item item;
	size_t i, j; /* of the next ones */
	const void *in_a, *in_b;
};

int saved_next_pair(struct saved_pair *pair);

/* --- saved.c: the contents of a context, in a reliable order -------------- */

struct philox_rows;

/*
 * Generators are in order of creation, regions in an order that the caller
 * chooses, tables of rows and data by name.
 */
struct save_lists {
	struct philox_generator **generators;
	struct philox_region **regions;
	struct philox_rows **rows;
	struct philox_data **data;
	size_t n_generators;
	size_t n_regions;
	size_t n_rows;
	size_t n_data;
};

/*
 * save_lists_init() lists what a context holds, its regions sorted by
 * `compare`, a function for qsort(). With the context's lock held.
 */
enum philox_status save_lists_init(struct save_lists *lists,
				   const struct philox_context *context,
				   int (*compare)(const void *, const void *));
void save_lists_finish(struct save_lists *lists);

/* save_compare_names() is a function to sort regions with: by name. */
int save_compare_names(const void *a, const void *b);

/* save_number() is a generator's number, SAVE_NO_GENERATOR for NULL. */
uint32_t save_number(const struct philox_generator *generator);

/* --- save: saving and loading a context, for all public forms of it ------- */

/*
 * `call` is the public function, for messages. Without the context's lock.
 */

/* A text of a context, its rank, and the digest of what it says, for traces. */
struct written_text {
	struct text text;
	uint64_t rank;
	uint64_t digest;
	int has_digest;
};

/*
 * save_text() saves a context as a text that the caller puts somewhere;
 * save_trace() says so in its trace, when the text has reached its place.
 */
enum philox_status save_text(struct philox_context *context, const char *call,
			     struct written_text *out);
void save_trace(struct philox_context *context,
		const struct written_text *saved);

/*
 * save_apply() loads what was read into a context, all or nothing; flags are
 * enum philox_load_flags.
 */
enum philox_status save_apply(struct philox_context *context, const char *call,
			      const struct saved *saved, uint32_t flags);

/*
 * What lines say: that of an axis of a mesh, of one with a place on it, of an
 * op, of what others have issued, of a ticket but for its passes, of a row, of
 * data, of outputs.
 */
extern const struct field save_axis_fields[], save_placed_axis_fields[],
	save_op_fields[], save_issued_fields[], save_ticket_fields[],
	save_state_fields[], save_data_fields[], save_outputs_fields[];

/*
 * save_write_mesh() writes the axes of a mesh, and where on them a rank is if
 * it is `placed`; save_read_axis() reads the rest of a line that begins with
 * "axis ", of a text or of another text about a mesh.
 */
void save_write_mesh(FILE *out, const struct philox_mesh *mesh, int placed);
void save_read_axis(struct reader *reader, struct philox_mesh *mesh,
		    int placed);

/* --- collect: what a context has, as the contents of a text --------------- */

/*
 * save_collect() copies all that the text of a quiet context says, with its
 * lock held: ERROR_MEMORY, ERROR_STATE for a row that is not a state, errors of
 * the device. On an error there is nothing to free.
 */
enum philox_status save_collect(const struct philox_context *context,
				struct saved *saved);

/*
 * save_collect_shape() begins with the shape of one region, without its
 * tickets, as that of the only one: saved_finish().
 */
enum philox_status save_collect_shape(struct saved *saved,
				      const struct philox_region *region);

/* save_data_of() is what a text says of data, whose name it borrows. */
struct saved_data save_data_of(const struct philox_data *data);

/* save_read_rows() reads the states of a table into new memory. */
enum philox_status save_read_rows(const struct philox_rows *rows,
				  struct philox_state **states);

/*
 * save_collect_wanted() copies what merge_init() (lib/ranks/ranks.h) takes: the
 * mesh, names and axes of the regions that are alive, tables without rows,
 * data.
 */
enum philox_status save_collect_wanted(const struct philox_context *context,
				       struct saved *saved);

/*
 * save_write_part() writes the text of a rank with a part of its items, see
 * Note [Text of a rank] in lib/ranks/ranks.h, whether or not passes are open;
 * with the lock held. ERROR_MEMORY.
 */
enum philox_status save_write_part(const struct philox_context *context,
				   const struct save_part *part,
				   struct text *text);

/* --- load: putting a text that was read into a context -------------------- */

struct save_place;

/* The changes that a load will make, and afterwards those it has replaced. */
struct save_plan {
	struct philox_context *context;
	const struct saved *saved;
	struct save_lists lists; /* regions sorted by key */
	struct save_place *places;
	int ahead;                  /* regions of the text may be unclaimed */
	struct philox_region *made; /* records of names it has never had */
	size_t n_made;
	struct saved outputs;       /* nothing else in it */
};

/*
 * save_plan_init() compares a context with a text (ERROR_MISMATCH) and takes
 * all memory that the load needs; flags are enum philox_load_flags.
 * save_plan_commit() loads, and cannot fail. Both with the lock held.
 * save_plan_finish(), without, releases the saved contexts of what was replaced,
 * or undoes what was prepared.
 */
enum philox_status save_plan_init(struct save_plan *plan,
				  struct philox_context *context,
				  const struct saved *saved, uint32_t flags);
void save_plan_commit(struct save_plan *plan);
void save_plan_finish(struct save_plan *plan);

/* save_fits() is the hook `fits` of lib/state/state.h. */
enum philox_status save_fits(const struct philox_region *unclaimed,
			     const struct philox_region *made);

/* --- differ: the first difference of two texts ---------------------------- */

/*
 * Two texts of ranks, or of saved contexts, were read; these functions compare
 * what both have. They return 1 and tell the first difference, or return 0 if
 * there is none. Its names are those of the texts.
 */
struct difference {
	const char *object;        /* "mesh", "generator", "region", "rows",
				      "data", "outputs" */
	const char *name;          /* of a region, table, data or runner */
	const char *part;          /* "axis", "op", "ticket", "row", or NULL */
	const char *part_name;     /* of an axis or op, or NULL */
	uint64_t number;           /* of a generator or part */
	const struct field *field; /* what differs */
	uint64_t numbers[2];
	const char *names[2]; /* of a FIELD_NAME; NULL: none */
	const char *alone; /* what is so in one only, before which; or NULL */
	int in_b;          /* so: which is the second */
};

/* What is compared, any of these. */
enum differ_parts {
	/* alive or destroyed, generator, flags, axes, operators; of a table
	 * generator and count; of data all but seed and position; of generators
	 * their number, and which differ */
	DIFFER_SHAPE = 1,
	/* serial and state of the next forward, what other coordinates have
	 * issued, tickets, open passes; of a table its rows; of data seed and
	 * position; of generators that do not differ their states */
	DIFFER_STATES = 2,
	/* as the lines of the texts say it and in their order, and so where on
	 * the mesh they are; else coordinates may differ */
	DIFFER_LINES = 4
};

/* Names, sizes and flags of the axes; and generators. */
int differ_mesh(const struct philox_mesh *a, const struct philox_mesh *b,
		unsigned parts, struct difference *found);
int differ_generators(const struct saved *a, const struct saved *b,
		      unsigned parts, struct difference *found);

/* Two regions of one name, two tables of one name, and two data. */
int differ_region(const struct saved *a, const struct saved_region *in_a,
		  const struct saved *b, const struct saved_region *in_b,
		  unsigned parts, struct difference *found);
int differ_table(const struct saved *a, const struct saved_table *in_a,
		 const struct saved *b, const struct saved_table *in_b,
		 unsigned parts, struct difference *found);

int differ_data(const struct saved_data *a, const struct saved_data *b,
		unsigned parts, struct difference *found);

/* Two of one kind, of which one may be missing. */
int differ_pair(const struct saved_pair *pair, unsigned parts,
		struct difference *found);

/* All that two saved contexts say. */
int differ_lines(const struct saved *a, const struct saved *b,
		 struct difference *found);

/*
 * A difference in words, of which the caller says whose the values are:
 *
 *   region 'a', op 2 ('dropout'): calls is 1 on ranks 0 and 1, 2 on rank 2
 *   `---------- place ----------' `-what-' `value'             `value'
 *
 * Long names are cut, so that a place, two values and as many words around them
 * fit into a message.
 */
struct difference_words {
	char place[128];
	char what[64];
	char values[2][48];
};

struct difference_words difference_words(const struct difference *found);

/* --- inspect: the digest of a context for the library's own use ----------- */

/*
 * Called with the context's lock held.
 */

/* inspect_digest() is philox_context_digest(). */
enum philox_status inspect_digest(const struct philox_context *context,
				  uint64_t *digest);

#endif
