/*
 * lib/state/trial.h - work that is done on trial
 *
 * Note [Trial]
 * ~~~~~~~~~~~~
 * The eager form of a graph is run with the numbers of a launch that comes
 * after it (philox/verify.h), and must leave nothing behind. What it draws in
 * passes is given to it, and they hold nothing. What it does beside passes goes
 * through the trial that its thread is in:
 *
 *  - A generator that it moves, it moves in the trial alone: what an eager run
 *    would see is a copy, made when it is first asked for. It cannot seed one,
 *    which would restart regions that others draw from.
 *  - A copy of a generator's state to device memory is of the state that the
 *    launch will copy there: `reads`, in order.
 *  - A table of rows is on the device, and is not destroyed in a trial. Before a trial's first work on one,
 *    `touch` is called, which keeps the table's states, and puts them back
 *    later.
 *
 * A trial is a thread's, from trial_begin() to trial_end(); other threads draw
 * as ever.
 */
#ifndef LIB_STATE_TRIAL_H
#define LIB_STATE_TRIAL_H

#include <stddef.h>
#include <philox/kernel.h>
#include "lib/state/context.h"

struct philox_rows;

/* A generator, as the trial sees it. */
struct trial_generator {
	const struct philox_generator *generator;
	struct philox_state state;
};

struct trial {
	struct trial *outer; /* that this one is within, or NULL */
	struct philox_context *context;
	philox_stream stream; /* of its work */
	struct trial_generator *generators;
	size_t n_generators;
	const struct philox_state *const *reads; /* of the launch */
	size_t n_reads, next_read;
	enum philox_status (*touch)(struct trial *trial,
				    struct philox_rows *rows,
				    philox_stream stream);
	const char
		*refused; /* what it has tried and may not do; NULL: nothing */
};

/*
 * trial_begin() has this thread's calls be the trial's, of which context,
 * stream, reads and touch are set; trial_end() ends that, and forgets its generators.
 */
void trial_begin(struct trial *trial);
void trial_end(struct trial *trial);

/* trial_here() returns the trial of a context that this thread is in, or NULL. */
struct trial *trial_here(const struct philox_context *context);

/*
 * trial_refuse() refuses a call that has effects a trial cannot undo, a literal,
 * and has the trial know: ERROR_UNSUPPORTED.
 */
enum philox_status trial_refuse(struct trial *trial, const char *what);

/*
 * trial_generator() finds a generator's copy, with the context's lock:
 * ERROR_MEMORY. Outside of trials it is the generator's state itself.
 */
enum philox_status trial_generator(struct philox_generator *generator,
				   struct philox_state **state);

/*
 * trial_read() writes the state that the next copy of one is of, with the
 * context's lock; ERROR_MISMATCH: the launch makes no such copy.
 */
enum philox_status trial_read(struct trial *trial, struct philox_state *state);

#endif
