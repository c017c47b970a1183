/*
 * graph/runner/explain/explain.h - recordings as programs that people read
 */
#ifndef GRAPH_RUNNER_EXPLAIN_EXPLAIN_H
#define GRAPH_RUNNER_EXPLAIN_EXPLAIN_H

#include <stdio.h>
#include "graph/runner/snapshot/snapshot.h"

/* --- write.c: one program, printed ---------------------------------------- */

/*
 * Note [Program]
 * ~~~~~~~~~~~~~~
 *   recording 1 of function 'layer' (forward), key 1 {01000000} 'batch 32'
 *     %1 = input 'x'  16384 bytes f32[4096]  static, memory 7
 *     %2 = alloc 16384 bytes  'y'  segment 0 [0, 16384)
 *     %3 = forward region 'block.0'
 *     %4 = draw dropout f32 [0, 4096) p=0.1  region 'block.0' op 1 'drop'
 *          cells %3
 *     %5 = commit %3
 *     %6 = output 'y'  16384 bytes f32[4096]  %2
 *     nodes: kernel head, kernel dropout_f32
 *     replays: 3
 *     alive: 'y' of call 5, tied to ticket 4 of region 'block.0'
 *     ticket 4 of region 'block.0', given out by call 5, keeps 2 items, 16896
 *          bytes
 *       'mask'  512 bytes
 *       'y' of function 'layer'  16384 bytes f32[4096]
 *     times (ns): body 9000, capture end 200, instantiate 4000, ...
 *
 * A line for each input, then for each step in the order in which it was asked
 * for (a line is broken here). Each has a number, by which later ones name it:
 * a draw, a commit and a backward their pass, a free and an output their
 * allocation. What is in the body of a conditional node, or of a function that
 * the body calls, is indented. A line with nodes ends what is theirs: the nodes
 * of a body come before its end. So the text of a program is a function of its
 * snapshot. What a plan has of it are steps without draws, commits and places.
 *
 * Pending tickets that keep something, with what they keep, are below the
 * recording whose launch gave them out. Those of calls that ran the body, and
 * of recordings that were dropped, are below their function. Those that no call
 * is known to have given out are below all functions. If a key or a recording
 * is chosen, only those below recordings are printed.
 *
 * A graph that the user captured may have memory of several pools, which are
 * named, and may free what was allocated before it, which has no line:
 *   %1 = alloc 64 bytes  'x'  pool 'pool'  segment 0 [0, 64)
 *   %2 = free 1000 bytes  'before'  pool 'pool'  segment 0 [512, 1512)
 */
struct explained {
	const struct text_part *parts; /* inputs, outputs, parameters */
	size_t n_inputs, n_outputs, n_params;
	const struct text_source *sources; /* of the inputs; NULL: not known */
	const char *const *functions;      /* names, for the sources */
	const uint64_t *takes;             /* bytes of each; NULL: not known */
	const struct text_step *steps;
	const struct text_node *nodes; /* of the graph, and of its bodies */
	size_t n_steps, n_nodes;
	uint64_t lost;
	int placed; /* allocations have places */
};

/* explain_program() prints inputs, steps and nodes: 0: no memory. */
int explain_program(FILE *out, const struct explained *program);

/*
 * explain_words() prints a text of other words with what is not printable as
 * "\x0a", and explain_name() a name in quotation marks of one stroke.
 */
void explain_words(FILE *out, const char *words);
void explain_name(FILE *out, const char *name);

/* explain_size() prints "16384 bytes f32[4096]", by a dtype's number plus 1. */
void explain_size(FILE *out, uint64_t bytes, uint32_t elements);

/* explain_key() prints a key, "{0a00}" or "{}", and its label if it has one. */
void explain_key(FILE *out, const unsigned char *bytes, size_t size,
		 const char *label);

/* --- runner.c: programs of a runner --------------------------------------- */

/* Which programs are printed: those that are all of this. */
struct explain_choice {
	const char *function; /* NULL: any */
	const void *key;      /* NULL: any */
	size_t key_bytes;
	uint64_t key_number; /* of the function, from 1; 0: any */
	uint64_t recording;  /* 0: any */
	int times;           /* those of phases, too */
	int bare;            /* for a comparison: without what recordings of one
				program differ in, numbers, replays, outputs */
};

/*
 * explain_runner() prints programs, and of a key without a recording why there
 * is none: how many, or -1: no memory.
 */
long explain_runner(FILE *out, const struct runner_text *text,
		    const struct explain_choice *choice);

#endif
