/*
 * tests/support/programs/recipe.h - random bodies of functions of a runner
 *
 * A recipe is a list of operations on registers, each of WORDS words: the
 * inputs, which a body may write to if they are mutated, and pieces of memory
 * that the body takes and frees. recipe_body() does them as the body of a
 * function; recipe_plain() does the same to arrays of the host, with plain
 * passes of another context.
 */
#ifndef TESTS_SUPPORT_RUNNER_RECIPE_H
#define TESTS_SUPPORT_RUNNER_RECIPE_H

#include "tests/support/support.h"

enum {
	RECIPE_BYTES = WORDS * 4,
	RECIPE_INPUTS = 3,
	RECIPE_VALUES = 2,
	RECIPE_TEMPS = 8,
	RECIPE_REGISTERS = RECIPE_INPUTS + RECIPE_TEMPS,
	RECIPE_OUTPUTS = 3,
	RECIPE_PASSES = 3,
	RECIPE_OPS = 64
};

/* --- chance --------------------------------------------------------------- */

struct chance {
	uint64_t state;
};

/* Programs of one seed have as many independent series as they like. */
struct chance chance_of(uint64_t seed, uint64_t series);
unsigned pick(struct chance *chance, unsigned n); /* of 0 .. n - 1 */
int one_in(struct chance *chance, unsigned n);

/* --- recipes -------------------------------------------------------------- */

/* What a function takes and gives, under all of its keys. */
struct recipe_shape {
	unsigned n_inputs, n_values, n_outputs;
	struct philox_input_desc inputs[RECIPE_INPUTS];
	struct philox_param_desc values[RECIPE_VALUES];
};

enum recipe_pattern {
	PASSES_NONE,
	PASSES_FORWARD,
	PASSES_BACKWARD,     /* named by the call */
	PASSES_OWN,          /* a forward, and its backward */
	PASSES_OWN_RETAINED, /* which keeps the ticket */
	PASSES_TWO_FORWARDS, /* of two regions, or of one */
	PASSES_LINKED, /* a backward named by the call, and a second one */
	PASSES_BACK_AND_FORTH, /* a backward named by the call, and a forward */
	PASSES_INFERENCE,
	PASSES_TWO_BACKWARDS, /* both named by the call */
	PASSES_FIRST_OF_TWO,  /* two forwards, and the backward of the first */
	PATTERNS
};

struct recipe_pass {
	unsigned backward;
	unsigned region; /* 0 or 1 of the function's */
	int source;      /* the pass that it repeats; -1: it has an entry */
	unsigned flags;
};

enum recipe_op_kind {
	RECIPE_ALLOC,   /* `to`, of `bytes` */
	RECIPE_FREE,    /* `to` */
	RECIPE_COPY,    /* `words` from `from` to `to` */
	RECIPE_SET,     /* all of `to` */
	RECIPE_VALUE,   /* the 4 words of value `from` to `to` */
	RECIPE_BEGIN,   /* pass `from` */
	RECIPE_DRAW,    /* all numbers of pass `from` to `to` */
	RECIPE_COMMIT,  /* pass `from` */
	RECIPE_DECLARE, /* `to` as output `from`, from `to_word` on */
	/* for faults */
	RECIPE_LITERAL, /* `words` of a given array, from `from_word`, to `to` */
	RECIPE_RUNS     /* how often the body has run, to all of `to` */
};

struct recipe_op {
	enum recipe_op_kind kind;
	unsigned to, from, to_word, from_word, words;
	size_t bytes;
};

struct recipe {
	enum recipe_pattern pattern;
	struct recipe_pass passes[RECIPE_PASSES];
	unsigned n_passes, n_entries;
	struct recipe_op ops[RECIPE_OPS];
	unsigned n_ops;
	struct {
		unsigned from, word; /* register, and where it begins there */
	} outputs[RECIPE_OUTPUTS];
};

void recipe_shape_make(struct chance *chance, struct recipe_shape *shape);
void recipe_make(struct chance *chance, const struct recipe_shape *shape,
		 enum recipe_pattern pattern, struct recipe *recipe);

int recipe_writes(const struct recipe_shape *shape, unsigned input);
/* Whether an output lies in an input. */
int recipe_aliases(const struct recipe *recipe,
		   const struct recipe_shape *shape, unsigned input);
/* Whether a backward of the body uses up the ticket of a forward of it. */
int recipe_uses_up(const struct recipe *recipe, unsigned pass);
/*
 * How a forward begins: in a launch one that is used up in the body has no
 * serial, as one of PHILOX_PASS_INFERENCE has none.
 */
unsigned recipe_flags(const struct recipe *recipe, unsigned pass, int launched);
/* The pass that takes an entry of the uses. */
const struct recipe_pass *recipe_entry(const struct recipe *recipe,
				       unsigned entry);

/* --- cooked by a runner --------------------------------------------------- */

enum recipe_fault {
	FAULT_NONE,
	FAULT_RETURN, /* an error of its own */
	FAULT_BREAK,  /* waits, in a capture */
	FAULT_REFUSE,
	FAULT_AGAIN, /* asks for one more warm-up, if it can */
	FAULT_DIFFER /* takes memory that it did not take before */
};

#define FAULT_STATUS PHILOX_ERROR_NOT_FOUND /* of FAULT_RETURN */

/* What the body of a function is to do, and what it did. */
struct recipe_run {
	struct philox_device *device;
	const struct recipe_shape *shape;
	const struct recipe *recipe;
	const struct recipe
		*recorded;       /* in captures, instead; NULL: the same */
	const uint32_t *literal; /* on the device */
	struct philox_region *regions[2];
	enum recipe_fault fault;
	unsigned fault_at; /* before this operation */
	unsigned bodies;
	int faulted;     /* it came to the fault */
	int asked_again; /* the last body did */
	enum philox_call_kind kind;
	unsigned began; /* forwards of the last body; none while recording */
	const struct recipe_pass *forwards[RECIPE_PASSES];
};

enum philox_status recipe_body(void *user, struct philox_run *run);

/* --- and by plain code ---------------------------------------------------- */

struct recipe_plain {
	struct fixture *f;
	uint32_t *array; /* of its device, which is host:sync */
	struct philox_region *regions[2];
	const struct recipe_shape *shape;
	const struct recipe *recipe;
	int launched; /* a graph's launch is to be matched */
	const struct numbers *literal;
	const struct philox_call_param *values;
	struct philox_launch_pass uses[RECIPE_PASSES]; /* of entries: tickets of
						  forwards are written */
	struct numbers registers[RECIPE_REGISTERS];    /* inputs are given */
	struct numbers drawn[RECIPE_PASSES];
};

enum philox_status recipe_plainly(struct recipe_plain *plain);

#endif
