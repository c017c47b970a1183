/*
 * tests/support/beds/runner_resume.h - a run that stops in the middle of a step
 *
 * A step has MICROS forwards, each with a backward whose numbers are added to a
 * gradient. Outputs of a forward have the label "micro N" and are tied to its
 * ticket; the gradient's is "grad". Another fixture stands in for another
 * process, as in tests/support/beds/runner_again.h.
 */
#ifndef TESTS_SUPPORT_RUNNER_RESUME_H
#define TESTS_SUPPORT_RUNNER_RESUME_H

#include "tests/support/beds/runner_scene.h"

enum { MICROS = 4 };

struct accum {
	struct fixture *f;
	struct philox_runner *r;
	struct layer forth, back;
	struct philox_function *zero, *add;
	uint32_t *x[MICROS];
	struct philox_output y[MICROS], echo[MICROS];
	struct philox_ticket ticket[MICROS];
	struct philox_output grad;
};

/* The functions are made of the train where it is. */
void accum_make(struct accum *t, struct fixture *f, struct philox_runner *r);

/* The parts of a step. accum_end() reads and releases the gradient. */
void accum_begin(struct accum *t);
void accum_forward(struct accum *t, int micro);
void accum_backward(struct accum *t, int micro);
struct numbers accum_end(struct accum *t);

/* A whole step, and one that stops after three forwards and a backward. */
struct numbers accum_step(struct accum *t);
void accum_stop(struct accum *t);
struct numbers accum_go_on(struct accum *t);

/* Finds what is there after a stop. */
void accum_find(struct accum *t);

/* What a run leaves to be resumed. */
struct stopped {
	char *outputs, *context, *plan;
	size_t bytes; /* of the outputs */
};

/* Saves all of it: outputs, context, plan. */
void stopped_save(struct stopped *stopped, struct accum *t);
void stopped_free(struct stopped *stopped);

/* A fixture with a train, in another process. */
struct resumed {
	struct fixture f;
	struct accum t;
};

void resumed_open(struct resumed *resumed, struct fixture *like,
		  uint32_t pool_flags);
void resumed_close(struct resumed *resumed);

/* Outputs that are loaded, and that are refused and change nothing. */
enum philox_status try_outputs(struct accum *t, const struct stopped *stopped);
void outputs_refused(struct accum *t, const char *text, size_t bytes,
		     enum philox_status expected);

/*
 * Changes outputs, so that their lines have `to` instead of `from`, and the
 * context's text too, which then names them.
 */
void stopped_change(struct stopped *stopped, const char *from, const char *to);

#endif
