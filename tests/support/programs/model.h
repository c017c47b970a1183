/*
 * tests/support/programs/model.h - which kind each call of a function is
 *
 * As philox/runner.h and philox/runner.h say it, written for its own sake and
 * without a line of the library. For functions with one input, whose outputs
 * are released at once and whose body may refuse to be recorded, as a call
 * says.
 */
#ifndef TESTS_SUPPORT_RUNNER_MODEL_H
#define TESTS_SUPPORT_RUNNER_MODEL_H

#include <philox.h>

enum {
	MODEL_KEYS = 5,
	MODEL_PLACES = 6,
	MODEL_SETS, /* of addresses: a place each; one if it is copied */
	MODEL_BARRED = 64
};

/* The recordings of a key, by set. */
enum model_recorded { NOT_RECORDED, UNPLAYED, PLAYED, PREPARED };

struct model_key {
	int there;
	uint64_t used;
	unsigned calls, bodies;
	uint32_t warmups, dry, wait, wasted, patience;
	enum model_recorded recorded[MODEL_SETS];
	uint64_t set_used[MODEL_SETS]; /* by the model's clock */
	unsigned set_calls[MODEL_SETS]; /* the key's calls before that */
	int on_trial[MODEL_SETS];       /* made while there was patience */
	unsigned moves; /* in a row, to where no recording is */
	int copied;
	int known; /* what the body does */
	/* of a plan */
	int cold;
	unsigned owed[PREPARED + 1]; /* recordings to be made again, by kind */
};

struct model_function {
	struct philox_policy policy; /* as it was given */
	enum philox_input_kind input;
	int backward;
	struct model_key keys[MODEL_KEYS];
	/* so far */
	unsigned bodies, dropped;
	unsigned evictions, holds, refusals; /* of bodies */
};

struct model {
	uint64_t clock;
	uint64_t barred[MODEL_BARRED]; /* serials, the newest of them */
	unsigned n_barred;
};

struct model_call {
	unsigned key, place;
	int refuses;     /* the body, if it is run */
	uint64_t ticket; /* of a backward; 0: a forward */
};

/*
 * model_call() is one call that succeeds: its kind. *bars: the ticket that it
 * gives is barred, and then model_bar() is to be called with that.
 * model_prepare() is a call that is prepared: whether it was recorded now.
 * model_reload() is a plan that is saved and loaded in another process.
 * model_again() is how many bodies more run there, at most, before they ran:
 * one for each key that was warmed up, one for each recording.
 */
enum philox_call_kind model_call(struct model *model,
				 struct model_function *function,
				 const struct model_call *call, int *bars);
int model_prepare(struct model *model, struct model_function *function,
		  const struct model_call *call);
void model_bar(struct model *model, uint64_t serial);
void model_reload(struct model_function *function);
unsigned model_again(const struct model_function *function);

#endif
