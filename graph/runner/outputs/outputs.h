/*
 * graph/runner/outputs/outputs.h - outputs that are not released, as a file
 */
#ifndef GRAPH_RUNNER_OUTPUTS_OUTPUTS_H
#define GRAPH_RUNNER_OUTPUTS_OUTPUTS_H

#include "graph/runner/state/state.h"
#include "lib/text/text.h"

/* --- format: what a file of outputs is ------------------------------------ */

/*
 * Note [Saved outputs]
 * ~~~~~~~~~~~~~~~~~~~~
 *   philox outputs 1
 *   runner "model"
 *   block bytes 4096 alignment 512 tag "y" from 0 saved 4000
 *   block bytes 64 alignment 1024 tag "loss" from 0 saved 4
 *   output "layer" "y" label "micro 2" block 0 at 0 bytes 4000 elements 1
 *       path 1 digest 9f86d081884c7d65 tie "block.0" 12
 *   output "layer" "loss" label "" block 1 at 0 bytes 4 elements 1 path 1
 *       digest 4d25767f9dce13f5
 *   output "back" "grad" label "" block none at 0 bytes 400 elements 1 path 2
 *       digest cbf29ce484222325
 *   owed "block.0" 12 path 1
 *   data 4004
 *   ... so many bytes, and a line feed ...
 *   checksum 0123456789abcdef bytes 4420
 *
 * Lines are as in Note [Saved context], lib/save/save.h: words with one space
 * between, numbers without leading zeros, names in quotation marks, one
 * spelling for the same contents. There is no address in it. All lines (the
 * longest are broken here), in this order:
 *
 *  philox outputs V   The version, 1. A reader refuses a newer one, after which
 *                     anything may follow.
 *  runner NAME        The runner, and so its pool.
 *  block bytes B alignment A tag T from F saved S
 *                     A block of the pool with outputs, numbered from 0 in the
 *                     order in which these name blocks first: its size, how its
 *                     place was aligned, and which bytes of it are in the data:
 *                     from the first one of its outputs to the end of the last.
 *  output FUNCTION NAME label L block N|none at A bytes B elements E path P
 *      digest H [tie REGION SERIAL]
 *                     An output that is not released, the one that was handed
 *                     out first comes first. It begins at byte A of its block.
 *                     Paths are numbered from 1 in the order in which outputs
 *                     name them (Note [Runner]). The digest is FNV-1a of its
 *                     bytes. One of no block is in memory that is not the
 *                     pool's: its caller's, where it stays; it has no bytes
 *                     here.
 *  owed REGION SERIAL path P
 *                     A pending ticket for which a path keeps its outputs, in
 *                     ascending order of path, region and serial.
 *  data N             The bytes of the blocks follow, one after the other, N of
 *                     them, and a line feed.
 *  checksum H bytes B As in a saved context, of all above it, data too. Nothing
 *                     follows. H is the digest of the file: the text of the
 *                     context that is saved next has it.
 *
 * Saving. The outputs are saved first, the context then. The runner remembers
 * the digest, what outputs it had and the context's digest. As long as all that
 * is the same, a text of the context names the file. A call, a release, a tie,
 * a label, or a pass of any region ends that. What the caller writes to outputs
 * itself is not noticed.
 *
 * Loading. The context was loaded from a text that names the file, and is as it
 * was then. First all is found that could be missing: functions and outputs by
 * name, regions, tickets. Then blocks are taken in a session of the pool and
 * filled, which is waited for, outputs are handed out and tied, and the session
 * is ended. An error on the way undoes that: handles were given to nobody.
 */

#define OUTPUTS_START   "philox outputs "
#define OUTPUTS_VERSION  1
#define OUTPUTS_NO_BLOCK UINT64_MAX

struct outputs_block {
	uint64_t bytes, alignment;
	char *tag;
	uint64_t first, saved; /* which of its bytes are in the data */
	const char *data;      /* these, if the file was read */
	const char *address;   /* of the block, if it is to be written */
};

struct outputs_item {
	char *function, *output, *label;
	uint64_t block; /* its number, or OUTPUTS_NO_BLOCK */
	uint64_t at, bytes;
	uint32_t elements;
	uint64_t path;
	uint64_t digest;
	char *region; /* of its tie; NULL: none */
	uint64_t serial;
};

struct outputs_owed {
	char *region;
	uint64_t serial, path;
};

struct outputs_file {
	char *runner;
	struct outputs_block *blocks;
	struct outputs_item *items;
	struct outputs_owed *owed;
	size_t n_blocks, n_items, n_owed;
	size_t data;       /* bytes */
	uint64_t checksum; /* of the last line, if it was read */
	int borrowed;      /* all names are the runner's, but for tags */
};

extern const struct field outputs_block_fields[], outputs_item_fields[],
	outputs_owed_fields[];

/*
 * outputs_file_write() writes a file whose data is at `data`, and sets the digests of
 * its outputs and the checksum: ERROR_MEMORY.
 */
enum philox_status outputs_file_write(struct outputs_file *file,
				      const char *data, struct text *text);

/*
 * outputs_file_read() reads a file and checks all that can be checked without a
 * runner: ERROR_INVALID, which names the line, ERROR_UNSUPPORTED, ERROR_MEMORY.
 * The data stays in the text. The memory it takes is in proportion to that.
 */
enum philox_status outputs_file_read(const char *text, size_t size,
				     struct outputs_file *file);
void outputs_file_finish(struct outputs_file *file);

/* outputs_owed_order() is negative, 0 or positive, as one comes before another. */
int outputs_owed_order(const struct outputs_owed *one,
		       const struct outputs_owed *other);
enum philox_status outputs_no_room(void);

/* --- take: what a runner has ---------------------------------------------- */

/*
 * outputs_file_take() makes the file of a runner, whose pool is settled, without its
 * data: ERROR_MEMORY. outputs_mark() is a number that changes with which
 * outputs there are, and with calls.
 */
enum philox_status outputs_file_take(struct philox_runner *runner,
				     struct outputs_file *file);
uint64_t outputs_mark(const struct philox_runner *runner);

/* outputs_by_order() compares two struct output_slot * by their order. */
int outputs_by_order(const void *one, const void *other);

/* --- check: may a file be loaded ------------------------------------------ */

/* Where an output goes. */
struct outputs_target {
	struct philox_function *function;
	size_t output;
	struct philox_region *region; /* of its tie; NULL: none */
};

/*
 * outputs_file_check() checks that a file may be loaded into a runner, and writes
 * where each output goes, and the region of each ticket that is owed:
 * ERROR_MISMATCH, ERROR_STATE, ERROR_RELEASED, ERROR_NOT_FOUND, ERROR_MEMORY.
 */
enum philox_status outputs_file_check(const struct outputs_file *file,
				      struct philox_runner *runner,
				      struct outputs_target *targets,
				      struct philox_region **owed);

/* --- save.c: context texts ------------------------------------------------ */

/*
 * outputs_list() is the hook `outputs` of a context. NOT_READY: a reader of a
 * runner's pool is in that runner.
 */
enum philox_status outputs_list(struct philox_context *context,
				struct saved_outputs **list, size_t *n);

/*
 * outputs_remember() notes the file that the outputs of a runner were saved to,
 * or loaded from.
 */
enum philox_status outputs_remember(struct philox_runner *runner,
				    uint64_t digest);

#endif
