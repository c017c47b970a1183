/*
 * graph/runner/plan/plan.h - plans: what a runner has learned, as a text
 */
#ifndef GRAPH_RUNNER_PLAN_PLAN_H
#define GRAPH_RUNNER_PLAN_PLAN_H

#include <string.h>
#include "graph/runner/state/state.h"
#include "lib/containers/map.h"
#include "lib/text/text.h"

/* --- plan: what a plan is -------------------------------------------------- */

/*
 * Note [Plan]
 * ~~~~~~~~~~~
 *   philox plan 2
 *   library "0.1.0"
 *   runner live 8192 mapped 2097152
 *   function "attention" forward flags 0
 *   input "x" static flags 0 alignment 16 elements 1
 *   output "y" elements 1
 *   value "rate" bytes 4
 *   policy refused eager recordings 64 warmups 1 dry 0 retry 16 keys 0 verify 0
 *       differs error bytes 68719476736
 *   waste wasted 0 patience 0
 *   script 0
 *   step forward "block.0" flags 0
 *   step alloc 4096 alignment 512
 *   step value 0
 *   step output 0 bytes 4096
 *   key 20000000 script 0 calls 7 warmups 0 dry 0 wasted 0 patience 0
 *       recordings 2 unplayed 1 prepared 0 bytes 6144 wait 0 label "batch 32"
 *   takes 4096 moves 0
 *   key 40000000 script none calls 3 warmups 0 dry 0 wasted 0 patience 0
 *       recordings 0 unplayed 0 prepared 0 bytes 0 wait 14
 *       refused "it is of another size"
 *   takes 8192 moves 0
 *   barred 9f86d081884c7d65 41 by "attention" alive for "it is of another size"
 *   checksum 0123456789abcdef bytes 910
 *
 * Lines are as in Note [Saved context], lib/save/save.h: words with one space
 * between, numbers without leading zeros, names in quotation marks, one
 * spelling for the same contents. There is no address in it, no graph and no
 * number of a device. All lines (the longest are broken here), in this order:
 *
 *  philox plan V      The version, 2. A reader refuses a newer one, after which
 *                     anything may follow, and reads version 1, see below.
 *  library VERSION    The library that wrote it, as philox_version() says. No
 *                     other one loads it, but any can read it.
 *  runner live L mapped M
 *                     The peaks of the pool, in bytes: of live blocks, and taken
 *                     from the device.
 *  function NAME forward|backward|inference flags F
 *                     In ascending order of their bytes. Functions that were
 *                     destroyed are left out. What belongs to one follows it:
 *  input NAME static|copied|automatic flags F alignment A elements E
 *  output NAME elements E
 *  value NAME bytes B As the function was made, in order, without origins.
 *  policy refused eager|error recordings R warmups W dry D retry R keys K
 *      verify V differs error|eager bytes B
 *                     The whole policy, with the defaults put in: there 0 in
 *                     `warmups` is what PHILOX_NEVER meant, and "never" stands
 *                     for 2^32 - 1 in `recordings` and `retry`.
 *  waste wasted W patience P
 *                     What the function wastes: struct waste.
 *  script N           What a body does under keys: different ones, numbered from
 *                     0 in the order in which the keys below name them first.
 *  step forward REGION flags F
 *  step backward REGION [of P] flags F
 *  step alloc BYTES alignment A
 *  step free N
 *  step output N bytes B
 *  step value N       The steps of the script above, if it has any: a backward
 *                     that repeats its pass P, or is named at launch; N counts
 *                     its allocations, or the outputs or values of the function,
 *                     from 0, as P counts its passes.
 *  step call NAME
 *  step gives NAME bytes B
 *  step reads NAME
 *  step return NAME   A function that the body calls, and its return. The steps
 *                     between are those of its body, whose outputs and values
 *                     have their names; passes and allocations count on.
 *  key HEX|- script N|none calls C warmups W dry D wasted W patience P
 *      recordings R unplayed U prepared P bytes B wait 0|N|never [refused WHY]
 *      [label L]
 *                     A key, the one that was called longest ago first; "-" has
 *                     no bytes. How many calls succeeded, how many warm-ups and
 *                     dry ones are still to come, what the key wastes, its
 *                     recordings, at most as many as the policy says, those of
 *                     them that were never replayed nor prepared, and those that
 *                     were prepared, the bytes they take. With `wait` other than
 *                     0 it says why the key waits for its next recording. A
 *                     label that a call has given it. Keys that no call came to
 *                     are left out: the first one to fail there found nothing.
 *  takes BYTES moves M [copied|pinned]
 *                     The inputs of the key above, in order, each: its size, how
 *                     often in a row it moved to where no recording had it, and
 *                     whether an automatic one is copied, or must not be since
 *                     an output is in it.
 *  barred REGION SERIAL by NAME alive|destroyed for WHY
 *                     Tickets of forwards that were not recorded, for a reason
 *                     that reaches their backwards: the oldest first, 64 at
 *                     most. The region's key is in hex; the function is one of
 *                     those above, unless it was destroyed.
 *  checksum H bytes B As in a saved context. Nothing follows.
 *
 * Loading. As long as the body of a key has not run in this process, a call
 * that would be recorded, or would have been replayed, first warms it up (`dry`
 * of the policy, or `warmups`). Recordings of the plan are expected of their
 * key: a call without a recording is recorded as long as one is, whatever is
 * wasted and whatever is FIXED, and that recording counts as one that was
 * replayed, then as one that was prepared, then as one that was not replayed, as
 * many as there were of each. None are expected any more when the recordings
 * that they stand for would have been retired.
 *
 * Version 1. It has "limited L" in place of what a key wastes, no "waste" and no
 * "pinned". Its policy has other fields (struct policy_1): see policy_of_1() for
 * what they become. Its moves were counted otherwise, and begin at 0. A key that
 * had more recordings than the policy says now has as many as that.
 */

#define PLAN_START     "philox plan "
#define PLAN_VERSION   2
#define PLAN_NO_SCRIPT SIZE_MAX
#define PLAN_MOST      (UINT64_MAX / 2)

struct plan_script {
	struct step *steps; /* their regions are the plan's, or the runner's */
	size_t n;
};

struct plan_key {
	unsigned char *bytes;
	size_t size;
	size_t script; /* PLAN_NO_SCRIPT: none */
	uint64_t calls;
	uint32_t warmups, dry, wait;
	uint32_t limited; /* of version 1, and means nothing now */
	struct waste waste;
	struct expected expected; /* its recordings */
	char *refused;            /* why it waits; NULL: it does not */
	char label[64];           /* "": none */
};

struct plan_function {
	char *name;
	uint32_t mode, flags;
	struct philox_input_desc *inputs; /* without origins */
	struct philox_output_desc *outputs;
	struct philox_param_desc *params;
	size_t n_inputs, n_outputs, n_params;
	struct philox_policy policy;
	struct waste waste;
	struct plan_script *scripts;
	struct plan_key *keys;
	struct key_input *takes; /* the inputs of all keys */
	size_t n_scripts, n_keys, n_takes;
};

struct plan_barred {
	struct philox_ticket ticket;
	char *function;
	int alive;
	char *reason;
};

/* What a text says, in its order. */
struct plan {
	char *library;
	uint64_t live, mapped;
	struct plan_function *functions;
	struct plan_barred *barred;
	size_t n_functions, n_barred;
	int borrowed; /* all names and bytes are the runner's */
};

/* Inputs, outputs or values of a function, each a line. */
struct plan_part {
	const char *word;
	const struct field *fields;
	size_t size, items; /* of one; where the function has their address */
	struct field count; /* of the function */
};

#define PLAN_PARTS 3

extern const struct plan_part plan_parts[PLAN_PARTS];
size_t plan_part_count(const struct plan_part *part,
		       const struct plan_function *function);
const void *plan_part_at(const struct plan_part *part,
			 const struct plan_function *function, size_t index);

/* The lines of steps, by their kinds; the fields of the other lines. */
#define PLAN_STEPS (STEP_RETURN + 1)
extern const struct text_line plan_steps[PLAN_STEPS];
extern const struct field plan_peak_fields[], plan_function_fields[],
	plan_waste_fields[], plan_script_fields[], plan_key_fields[],
	plan_key_1_fields[], plan_refused_fields[], plan_label_fields[],
	plan_input_fields[], plan_barred_fields[];

/*
 * plan_functions_differ() finds the first difference of two functions, but for
 * what they have learned: of themselves, of a part, or of their policies.
 */
struct plan_difference {
	const struct field *field;
	const struct plan_part *part; /* NULL: of the function */
	size_t index;                 /* of the part */
	const void *one, *other;      /* what has the field */
	int of_policy;
};

int plan_functions_differ(const struct plan_function *one,
			  const struct plan_function *other,
			  struct plan_difference *difference);

/*
 * plan_finish() frees what a plan holds. plan_no_room() is the error of those
 * below that find no memory.
 */
void plan_finish(struct plan *plan);
enum philox_status plan_no_room(void);

/* Of an index of things that are found by a hash. */
struct plan_index {
	struct map numbers; /* of things, by hash, each and one */
	const void *things;
	/* whether two things, by number, are the same */
	int (*same)(const void *things, size_t one, size_t other);
};

/*
 * plan_index_put() finds the thing that is the same as the `number`-th, or puts
 * that in: *found is which one is in the index then. ERROR_MEMORY.
 */
enum philox_status plan_index_put(struct plan_index *index, uint64_t hash,
				  size_t number, size_t *found);

/* For these: the same keys, and the same scripts, of a function. */
int plan_same_keys(const void *function, size_t one, size_t other);
int plan_same_scripts(const void *function, size_t one, size_t other);
uint64_t plan_hash_script(const struct plan_script *script);

/* --- lines: a plan, written and read --------------------------------------- */

/*
 * plan_write() writes a plan as a text: ERROR_MEMORY.
 */
enum philox_status plan_write(const struct plan *plan, struct text *text);

/*
 * plan_read() reads a text and checks all that can be checked without a runner:
 * ERROR_INVALID, which names the line, ERROR_UNSUPPORTED, ERROR_MEMORY. The
 * memory it takes is in proportion to the text.
 */
enum philox_status plan_read(const char *text, size_t size, struct plan *plan);

/* --- take: the plan of a runner --------------------------------------------- */

/*
 * plan_take() makes the plan of a runner, to be written before the runner
 * changes: ERROR_MEMORY.
 */
enum philox_status plan_take(struct philox_runner *runner, struct plan *plan);

/*
 * plan_list_functions() lists the functions of a runner that were not
 * destroyed, in order of name, for the caller to free; NULL: no memory.
 * plan_signature() is one without its keys.
 */
struct philox_function **plan_list_functions(const struct philox_runner *runner,
					     size_t *n);
struct plan_function plan_signature(const struct philox_function *function);

/* --- check: may a plan be loaded --------------------------------------------- */

/*
 * plan_check() checks that a plan may be loaded into a runner, and writes the
 * function here for each of the plan's: ERROR_STATE, ERROR_UNSUPPORTED,
 * ERROR_MISMATCH, ERROR_MEMORY.
 */
enum philox_status plan_check(const struct plan *plan,
			      const struct philox_runner *runner,
			      struct philox_function **functions);

/* --- apply: a plan, loaded --------------------------------------------------- */

/*
 * plan_apply() loads a plan that was checked: all of it, or nothing.
 * ERROR_MEMORY. plan_forget() frees what a runner that ends keeps of one.
 */
enum philox_status plan_apply(const struct plan *plan,
			      struct philox_runner *runner,
			      struct philox_function *const *functions);
void plan_forget(struct philox_runner *runner);

#endif
