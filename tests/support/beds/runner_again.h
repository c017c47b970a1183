/*
 * tests/support/beds/runner_again.h - a runner that goes on in another process
 *
 * Another fixture stands in for the other process: a device, a context and a
 * runner of their own, and all memory elsewhere.
 */
#ifndef TESTS_SUPPORT_RUNNER_AGAIN_H
#define TESTS_SUPPORT_RUNNER_AGAIN_H

#include "tests/support/beds/runner_scene.h"

/* A layer of a runner that goes on, and places for its input. */
enum { AGAIN_PLACES = 12 };

struct again {
	struct fixture f;
	struct philox_runner *r;
	struct layer layer; /* "layer" */
	uint32_t *x[AGAIN_PLACES];
};

/* Makes the layer here, with a policy. */
void again_make(struct fixture *f, struct philox_runner *r, struct layer *layer,
		const struct philox_policy *policy, uint32_t *x[AGAIN_PLACES]);

/*
 * Saves the context and the runner, opens another fixture, makes the layer
 * there, with the same policy, and loads both. The plan that the runner there
 * saves is the one that it was loaded from. again_close() ends it.
 */
void again_open(struct again *again, struct fixture *f, struct philox_runner *r,
		const struct philox_policy *policy);
void again_close(struct again *again);

/* The parts of it, for tests that make other functions. */
char *plan_of(struct philox_runner *r);
void again_fixture(struct again *again, struct fixture *f);
void again_load(struct again *again, struct fixture *f,
		struct philox_runner *r);

/* Loads a text that is to be refused, and nothing has changed. */
void plan_refused(struct philox_runner *r, const char *text, size_t size,
		  enum philox_status expected);
#define REFUSES(r, text, expected) plan_refused(r, text, strlen(text), expected)

/* A text with one thing replaced, and the checksum that makes it right. */
const char *plan_changed(const char *text, const char *from, const char *to);
const char *plan_signed(const char *lines);

#endif
