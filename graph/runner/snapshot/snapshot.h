/*
 * graph/runner/snapshot/snapshot.h - a runner, copied, and as a text
 */
#ifndef GRAPH_RUNNER_SNAPSHOT_SNAPSHOT_H
#define GRAPH_RUNNER_SNAPSHOT_SNAPSHOT_H

#include <stdio.h>
#include <philox/runner.h>
#include "graph/capture/capture.h"
#include "graph/pool/pool.h"
#include "lib/base/base.h"
#include "lib/text/text.h"

/* --- lines: the snapshot of a runner, and writing it as a text ------------ */

/*
 * Note [Runner snapshot]
 * ~~~~~~~~~~~~~~~~~~~~~~
 *   philox runner 2
 *   runner "model" mode plain calls 9 made 2 functions 1 live 1
 *   function 1 "layer" there forward flags 0 inputs 1 outputs 1 values 0
 *       keys 1 recordings 2
 *   policy refused eager recordings 64 warm-ups 1 dry 0 retry 16 keys 0
 *       verify 0 differs error bytes 68719476736
 *   calls eager 0 warm-up 1 record 2 replay 6 failed 0
 *   bodies 3 dry 0 checking 0 prepared 0
 *   misses new 1 moved 1 live 0 stale 0 evicted 0 bound 0 refused 0 eager 0
 *       agreed 0
 *   verified 0 differed 0 unverified 0
 *   kept dropped 0 evicted 0 unplayed 0 bytes 4096 pool 0 copies 0
 *   reason "its inputs moved: input 'x' from 0x.. to 0x.."
 *   input "x" static flags 0 alignment 16 elements 3 origin "model.c:12"
 *   output "y" elements 3 origin ""
 *   key 1 size 2 0a00 calls 9 warm-ups 0 dry 0 wait 0 refused ""
 *   recording 1 key 1 replays 5 by call bytes 2048 passes 1 writes 1024
 *       ranges 1
 *   from memory 0 static
 *   range segment 0 offset 0 bytes 1024
 *   recording 2 key 1 replays 1 by call bytes 2048 passes 1 writes 1024
 *       ranges 1
 *   from function 1 output 1 recording 1 static
 *   range segment 0 offset 1024 bytes 1024
 *   live function 1 output 1 recording 2 block 1 size 1000 call 9 tied to
 *       "layer" serial 4
 *   ticket "layer" serial 4 keeps 2 bytes 1512 function 1 recording 2 call 9
 *   keep "mask" function "" elements 1 bytes 512
 *   keep "y" function "layer" elements 3 bytes 1000
 *   program 1 takes 1 steps 5 lost 0 nodes 2
 *   takes 1000
 *   step alloc 1 bytes 1000 alignment 0 tag "y" segment 0 offset 0
 *   step forward 0 region "layer" flags 0
 *   step draw 0 op 0 named "drop" call 0 draws dropout of f32 first 0
 *       count 250 with 3fb999999999999a and 0000000000000000
 *   step commit 0 flags 0
 *   step output 1 bytes 1000 alloc 1 offset 0
 *   nodes 1 of kernel named "dropout_f32"
 *   nodes 1 of kernel named "head"
 *   ...
 *   begin pool
 *   philox pool 1
 *   ...
 *   end pool
 *   checksum 0123456789abcdef bytes 1443
 *
 * Lines are as in Note [Saved context]: words with one space between, numbers
 * without leading zeros, names in quotation marks, one spelling for the same
 * contents (some lines are broken here). There are places and no addresses,
 * numbers of the text's own, and times only if they are asked for: so the same
 * calls give the same text on each device, but for what Note [Snapshot] says of
 * the pool, and for `bytes` of recordings, of which a device may need some for
 * itself. All lines:
 *
 *  philox runner V    The version, 2. A reader refuses a newer one, after which
 *                     anything may follow, and version 1, whose policy had other
 *                     fields.
 *  runner NAME mode plain|eager|verify calls C made M functions F live L
 *                     PHILOX_RUNNER when it was made; the calls that began, the
 *                     recordings that were ever made; how many functions and
 *                     live outputs follow.
 *  function N NAME there|gone forward|backward|inference flags F inputs I
 *      outputs O values V keys K recordings R
 *                     In order of making, from 1; one that was destroyed is
 *                     gone, and has neither keys nor recordings. The lines below
 *                     down to `reason` follow each, then its inputs, outputs,
 *                     values, keys and recordings.
 *  policy ...         As it is in force (struct philox_policy): `never` is
 *                     PHILOX_NEVER.
 *  calls ... bodies ... misses ... verified ... kept ...
 *                     As in struct philox_function_stats.
 *  reason TEXT        Why the last call that ran the body did so, "" if there was
 *                     none. What is no number of this text is left out of it:
 *                     addresses are "0x..", blocks "block #".
 *  input NAME static|copied|automatic flags F alignment A elements E origin O
 *  output NAME elements E origin O
 *  value NAME bytes B
 *                     As described; numbered from 1 in this order.
 *  key K size S [HEX] calls C warm-ups W dry D wait N refused TEXT [label L]
 *                     In order of making, from 1: its S bytes; calls that
 *                     succeeded; warm-ups that are to come; calls until
 *                     recording is tried again, or `never`, and why the last
 *                     one was refused, in the words of `reason`. A label
 *                     that calls have given it.
 *  recording N key K replays R by call|prepare bytes B passes P writes W
 *      ranges G       In order of N, which counts those of the runner from 1.
 *                     Bytes are those of struct philox_function_stats; W are
 *                     bytes of the pool, in G ranges.
 *  from memory I static|copied
 *  from function F output O recording N static|copied
 *                     Each input of the recording above, in order: other memory
 *                     with its id, or an output. Recording N, which is older
 *                     and of that function, handed that out, and may be gone;
 *                     0: an eager call.
 *  range segment S offset O bytes B
 *                     Memory of the pool that the recording writes, in order of
 *                     place. Ranges do not touch.
 *  live function F output O recording N block B size S call C untied|tied
 *      [to REGION serial S]
 *                     An output that is not released, in order of their places
 *                     in the runner's table: handed out by call C, which
 *                     launched recording N or, 0, ran the body. Its S bytes are
 *                     in live block B of the pool below; 0: in an input. Then
 *                     the pending ticket that it is tied to.
 *  ticket REGION serial S keeps N bytes B [function F] [recording R] [call C]
 *                     A pending ticket that a call gave out, or to which an
 *                     output is tied, and that keeps something, in order of
 *                     region and serial: N items of B bytes in all, which
 *                     follow. Call C of function F gave it out: it launched
 *                     recording R or, without R, ran the body. Without F no
 *                     such call is known. Tickets that keep nothing have no
 *                     line.
 *  keep NAME function F elements E bytes B
 *                     An item of the ticket above (struct philox_kept_item):
 *                     of its saved context, where F is "", or an output.
 *  program N takes I steps S lost L nodes G
 *                     Of each recording, in the order above, or of none: what
 *                     its body did while it was recorded. I inputs, S steps and
 *                     G lines of nodes follow; L further steps were not kept.
 *  takes BYTES        The size of an input.
 *  step forward P region NAME flags F [iterations I]
 *  step backward P region NAME flags F [of P]
 *  step commit P flags F
 *                     Passes, by their number in the capture, from 0. A backward
 *                     repeats another one, or is named at launch.
 *  step draw P op O named NAME call C [iteration I] draws DIST of DTYPE first F
 *      count N [rows R stride S] with HEX and HEX [low HEX] [high HEX]
 *      [layout L]
 *                     A fill of a pass: the bits of its parameters in the order
 *                     of struct philox_fill_desc, doubles or integers; the third
 *                     and the fourth if there are any. Iteration 2^32 - 1 is
 *                     told by a word.
 *  step cell P op O named NAME call C [iteration I]
 *  step states P [iteration I]
 *                     States that were handed out.
 *  step generator G   A copy of a generator's state.
 *  step value NAME bytes B
 *  step body B node N of if|while|switch limit L
 *  step end B         What is between is in a body of a conditional node.
 *  step alloc N bytes B alignment A tag NAME segment S offset O
 *  step free N
 *  step buffer I bytes B segment S offset O
 *                     Allocations, from 1, and memory for a copy of an input.
 *  step output O bytes B alloc N|input I offset O
 *  step call NAME
 *  step inner NAME bytes B [alloc N] offset O
 *  step return NAME   A function that the body calls, with its outputs.
 *  nodes N of KIND named NAME [body B]
 *                     N nodes of one kind and name, in their order: those of
 *                     the graph, then those in each body.
 *  times of plans loads T
 *  times of function N create T ... verify T
 *  times of recording N body T end T instantiate T checkpoint T first T
 *      replay T [device-first T] [device-replay T of N]
 *                     On request: nanoseconds of the host, of all functions and
 *                     recordings in order; of a function's launches, "device T
 *                     of N", and of a recording's also those of the device, if
 *                     it timed some.
 *  begin pool
 *  end pool           Between them the pool, as in Note [Snapshot], without its
 *                     checksum. It has been made to agree with the live outputs,
 *                     as it is before a body runs.
 *  checksum H bytes B As in a saved context. Nothing follows.
 */

#define RUNNER_TEXT_VERSION  2
#define RUNNER_TEXT_KEY_MAX  4096
#define RUNNER_TEXT_PART_MAX (1u << 20) /* inputs, outputs, values */

/* Lines of one kind that belong to a line above them. */
struct text_part_of {
	size_t first, n;
};

enum text_part_kind { TEXT_INPUT, TEXT_OUTPUT, TEXT_VALUE };

struct text_part {
	enum text_part_kind is;
	char *name, *origin; /* of a value: no origin */
	uint32_t kind, flags, elements;
	uint64_t alignment; /* of a value: its bytes */
};

#define TEXT_REASON 512

struct text_key {
	unsigned char *bytes;
	size_t size;
	char label[64]; /* "": none */
	uint64_t calls;
	uint32_t warmups, dry, wait;
	char refused[TEXT_REASON];
};

/* Of an input: function 0 is other memory. */
struct text_source {
	uint64_t function, output, recording, id;
	int copied;
};

struct text_range {
	uint64_t segment, offset, bytes;
};

struct text_recording {
	uint64_t number;
	size_t function; /* its index */
	size_t key;      /* within the function, from 1 */
	uint64_t replays, bytes, passes, writes;
	int prepared;
	struct text_part_of sources, ranges;
};

struct text_function {
	char name[64];
	int destroyed;
	uint32_t mode, flags;
	struct philox_policy policy;
	struct philox_function_stats counts; /* without times */
	char reason[TEXT_REASON];
	struct text_part_of inputs, outputs, values, keys, recordings;
};

struct text_output {
	uint64_t function, output, recording, block, bytes, call;
	int tied;
	char *region; /* of the ticket that it is tied to; NULL: not known */
	uint64_t serial;
};

struct text_ticket {
	char *region;
	uint64_t serial, bytes;
	struct text_part_of items;
	uint64_t function, recording, call; /* 0: not known; none; not known */
};

/* --- program.c: what recordings do, step by step -------------------------- */

/*
 * A step of a program. What its kind does not have is 0; numbers that count
 * begin at 0 in `pass`, `op`, `call`, `generator` and `body`, and at 1 in
 * `index` and `input`.
 */
struct text_step {
	uint32_t kind; /* enum program_kind */
	uint32_t pass; /* of the capture; STATE: the generator; BODY: its
			  number */
	uint32_t of;   /* BACKWARD: the pass that it repeats, UINT32_MAX: named
			  at launch */
	uint32_t flags, op, call, iteration, iterations, dist, dtype, layout;
	uint32_t node;
	char *name; /* of the region, operator, parameter, tag; NULL: none */
	char *pool; /* ALLOC, FREE: its name; NULL: the runner's, as in texts */
	uint64_t first, count, rows, stride;
	uint64_t with[4];
	uint64_t index; /* of the allocation, the output, the input */
	uint64_t from;  /* OUTPUT: the allocation; 0: an input */
	uint64_t input; /* OUTPUT: that it is in; 0: none */
	uint64_t bytes, alignment, segment, offset, limit;
};

/* Nodes of one kind and name, of the graph or of a body in it. */
struct text_node {
	uint32_t kind; /* enum device_node_kind */
	uint32_t body; /* of the capture; UINT32_MAX: in none */
	uint64_t n;
	char *name;
};

/* The program of a recording. */
struct text_program {
	uint64_t recording;
	uint64_t lost; /* steps that were not kept */
	struct text_part_of takes, steps, nodes;
};

struct program_text {
	struct text_program *programs;
	uint64_t *takes; /* bytes of each input */
	struct text_step *steps;
	struct text_node *nodes;
	size_t n_programs, n_takes, n_steps, n_nodes;
};

/* By kind: the words of a line, and its fields. */
#define TEXT_STEPS (PROGRAM_RETURN + 1)
extern const struct text_line text_steps[TEXT_STEPS];
extern const struct field text_program_fields[], text_node_fields[];

struct body_steps;

/* Where an address of the pool is: its segment, and the offset in it. */
struct program_places {
	void (*find)(const void *user, uintptr_t address, uint64_t *segment,
		     uint64_t *offset);
	const void *user;
};

/*
 * program_copy() appends the steps of a capture (NULL: it had none), with those
 * of a body (NULL: none) where they were, and the nodes of a native graph and
 * of the bodies in it (NULL: they are not listed). The context is not locked. 0:
 * no memory.
 */
int program_copy(struct program_text *text, struct text_program *program,
		 struct philox_context *context, const struct capture *capture,
		 const struct body_steps *steps,
		 philox_native_graph native,
		 const struct program_places *places);

/* program_write() writes the lines of all programs; program_finish() frees. */
void program_write(FILE *out, const struct program_text *text);
void program_finish(struct program_text *text);

/* --- what a text says ----------------------------------------------------- */

enum text_mode { TEXT_PLAIN, TEXT_EAGER, TEXT_VERIFY };

/* Times of a recording, in nanoseconds of the host. */
struct text_times {
	uint64_t recording; /* its number */
	uint64_t body, end, instantiate, checkpoint, first, replay;
	uint64_t device_first, device_replay, device_replays; /* if timed */
};

/* What a text says: its functions in order, and what they refer to. */
struct runner_text {
	char name[64];
	enum text_mode mode;
	uint64_t calls, made;
	struct text_function *functions;
	struct text_part *parts;
	struct text_key *keys;
	struct text_recording *recordings;
	struct text_source *sources;
	struct text_range *ranges;
	struct text_output *live;
	struct text_ticket *tickets;
	struct philox_kept_item *items; /* that they keep */
	size_t n_functions, n_parts, n_keys, n_recordings, n_sources, n_ranges,
		n_live, n_tickets, n_items;
	struct program_text program;
	int timed;                /* it has times */
	uint64_t load_ns;         /* loading plans */
	struct text_times *times; /* of each recording */
	size_t n_times;
	struct snapshot pool;
};

/*
 * The fields of its lines. A line of counts has a word, or is the rest of the
 * one before; of a part, by its kind.
 */
#define TEXT_COUNTS 6
extern const struct text_line text_counts[TEXT_COUNTS], text_parts[3];
extern const struct field text_runner_fields[], text_function_fields[],
	text_reason_fields[], text_key_fields[], text_label_fields[],
	text_recording_fields[], text_source_fields[], text_copied_fields[],
	text_range_fields[], text_live_fields[], text_tie_fields[],
	text_ticket_fields[], text_kept_fields[], text_loads_fields[],
	text_spent_fields[], text_times_fields[];

/* runner_text_finish() frees what a text holds. */
void runner_text_finish(struct runner_text *text);

/* runner_text_write() writes it out: ERROR_MEMORY. */
enum philox_status runner_text_write(const struct runner_text *text,
				     struct text *written);

/* --- snapshot.c: the snapshot of a runner, copied ------------------------- */

/*
 * runner_text_take() copies what a runner has, with times or without, for
 * runner_text_finish(), also after an error: ERROR_BUSY, ERROR_MEMORY, those of
 * the device.
 */
enum philox_status runner_text_take(struct philox_runner *runner, int timed,
				    struct runner_text *text);

/* --- snapshot.c: reasons in the snapshot of a runner ---------------------- */

/*
 * reason_copy() copies a reason, of less than TEXT_REASON bytes, without what is
 * another in the next run, or on another device: addresses, and ids of blocks.
 */
void reason_copy(char to[TEXT_REASON], const char *from);

#endif
