/*
 * tools/matrix/model/forms.h - graphs with branches and loops, and what they
 * must do
 *
 * A form is such a graph, written as a program:
 *
 *   F G I   a forward; in the next region; with PHILOX_INFERENCE
 *   B R     a backward, a recompute of the last forward before it
 *   N K L   a backward, a recompute that is named at launch; a backward
 *           linked to the last such pass
 *   *       after F: begun for LOOP_LIMIT iterations
 *   ~       after B: PHILOX_REVERSED
 *   @       after a pass: it also draws the iteration that a word says
 *   .1      after a pass: it also draws iteration 1
 *   ?( )    IF; ?( )( ) with two bodies; s( )( ) a SWITCH
 *   3( )    WHILE, its limit
 *
 * The digits of a launch are what its device memory says, in the order in which
 * the device asks: how often a WHILE wants to run its body this time, the
 * condition of an IF or a SWITCH, and the iterations for "@".
 *
 * What each run of each pass must see follows from the rules of
 * philox/conditional.h alone: form_play() runs the program like a plain
 * sequential one.
 */
#ifndef TOOLS_MATRIX_MODEL_FORMS_H
#define TOOLS_MATRIX_MODEL_FORMS_H

#include <stdint.h>

enum {
	FORM_COUNT = 37,
	FORM_SPOILED = 6, /* each sixth is captured with a failure, too */
	FORM_OPS = 24,
	FORM_PASSES = 4, /* most passes */
	FORM_BODIES = 5, /* most bodies, and what is in none */
	FORM_DEPTH = 2,  /* of bodies in bodies */
	FORM_TAPES = 4,
	FORM_TAPE = 16, /* words that are read from a tape, at most */
	FORM_VIEWS = 4, /* of a pass, and the pass itself */
	FORM_SEEN = 20, /* most that a launch draws */
	FORM_DIGITS = 16,
	FORM_LOOP = 3,    /* iterations of a forward with "*" */
	FORM_OUTSIDE = 0, /* the body of what is in none */
	FORM_NAMED = 255  /* the forward is named at launch */
};

/* What a program does next. */
struct form_op {
	char what; /* a pass: P; a node: ? s w; its bodies: ( ); its end: e */
	uint8_t pass;   /* which */
	uint8_t body;   /* "(": which */
	uint8_t tape;   /* of a node: where its conditions are */
	uint8_t bodies; /* of a node */
	uint8_t limit;  /* of a WHILE */
};

struct form_pass {
	char what;
	uint8_t body;
	uint8_t iterations; /* of a forward, or those it may need of one */
	uint8_t forward;    /* which of the program's, or FORM_NAMED */
	uint8_t source;     /* the pass it is linked to, or FORM_NAMED */
	uint8_t is_forward, consumes, loop, reversed;
	uint8_t word, tape; /* "@", and where its iterations are */
	uint8_t views, view[FORM_VIEWS];
};

struct form {
	const char *program, *choices; /* launches: digits, with blanks */
	unsigned n_ops, n_passes, n_tapes, n_bodies;
	struct form_op op[FORM_OPS];
	struct form_pass pass[FORM_PASSES];
	uint8_t parent[FORM_BODIES]; /* of a body */
	uint8_t limit[FORM_BODIES];
	unsigned forwards;   /* that draw */
	unsigned first[2];   /* their passes */
	unsigned makes;      /* tickets */
	unsigned last_named; /* of its passes that is named at launch */
	unsigned named;      /* a ticket is named at launch */
	unsigned needs;      /* iterations of that */
	unsigned consumes;   /* that ticket is used up */
};

const struct form *form_of(unsigned number);

/* form_choices() returns how many launches of a form there are to choose. */
unsigned form_choices(const struct form *form);

/* form_digits() writes the digits of one of these. */
void form_digits(const struct form *form, unsigned choice,
		 char digits[FORM_DIGITS]);

/*
 * form_is_with_source() says whether a pass repeats what the one that it is
 * linked to draws in the same run, because that is in its body or around it.
 */
int form_is_with_source(const struct form *form, const struct form_pass *pass);

/* One thing that is drawn in a launch. */
struct form_seen {
	uint8_t pass;
	uint8_t view; /* 0: the pass itself */
	uint8_t fresh;
	uint8_t iteration; /* of its forward */
	uint8_t poison;
	uint32_t number; /* of the run of its body; 0 outside of bodies */
};

struct form_play {
	unsigned n;
	struct form_seen seen[FORM_SEEN];
	unsigned beyond; /* that philox_check() must report */
	uint32_t tape[FORM_TAPES][FORM_TAPE];
};

/*
 * form_play() finds what a launch with these digits must do. `untold`: philox
 * was not told about it; `named`: iterations of the ticket named at launch.
 */
void form_play(const struct form *form, const char *digits, int untold,
	       unsigned named, struct form_play *play);

#endif
