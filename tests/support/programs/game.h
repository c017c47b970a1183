/*
 * tests/support/programs/game.h - random programs of calls of runners
 *
 * A program is a number, its seed, and a list of steps. It plays on two
 * contexts: in "ours" functions of two runners are called, in "plain" the same
 * recipes (tests/support/programs/recipe.h) are followed by plain passes and
 * plain code. Each step draws its chances from the seed and its own number, so
 * that a program can be played with steps left out.
 *
 * What a step does: the calls of a plan, a small DAG of functions whose inputs
 * are places in memory or outputs of calls before, with a fault now and then;
 * or something beside calls, see enum game_event.
 */
#ifndef TESTS_SUPPORT_RUNNER_GAME_H
#define TESTS_SUPPORT_RUNNER_GAME_H

#include "tests/support/programs/recipe.h"

enum {
	GAME_STEPS = 800,
	GAME_RUNNERS = 2,
	GAME_REGIONS = 4,
	GAME_FUNCTIONS = 10,
	GAME_KEYS = 3,
	GAME_PLANS = 6,
	GAME_NODES = 7,
	GAME_PLACES = 9, /* of inputs in memory of the caller */
	GAME_STORAGES = 128,
	GAME_HANDLES = 96,
	GAME_BOUND = 12, /* that go with a ticket, at most */
	GAME_KEPT = 8,   /* handles that outlive their plan, at most */
	GAME_HELD = 30,
	GAME_CHECKS = 48
};

/* What happens in a program, counted. */
enum game_event {
	/* calls that succeeded, by enum philox_call_kind */
	GAME_EAGER,
	GAME_WARMUP,
	GAME_RECORD,
	GAME_REPLAY,
	/* of them */
	GAME_INPUT_HANDLE, /* with an input that is an output, told by handle */
	GAME_INPUT_FOREIGN, /* ... of the other runner */
	GAME_INPUT_SAVED,   /* ... that goes with the call's ticket */
	GAME_INPUT_MISALIGNED,
	GAME_INPUT_WRITTEN, /* a mutated one */
	GAME_INPUT_WRITTEN_BACK,
	GAME_OUTPUT_ALIAS,    /* outputs that share memory with other handles */
	GAME_OUTPUTS_DROPPED, /* without outputs */
	GAME_VALUES,
	GAME_RETAINED, /* uses */
	GAME_SIDE,
	GAME_LEGACY,
	GAME_SWITCHED, /* to another stream than the call before, by the runner
			  alone */
	GAME_SAVED_FROM_FAILURE, /* succeeded although a device call failed */
	/* calls of functions with each pattern of passes */
	GAME_PATTERN,
	/* calls that failed */
	GAME_FAILED_BODY = GAME_PATTERN + PATTERNS,
	GAME_FAILED_DEVICE,
	GAME_FAILED_REFUSED, /* refused, or broken, and the policy is an error */
	GAME_FAILED_DIFFERENT,
	GAME_FAILED_MOVED,
	GAME_FAILED_ARGUMENTS,
	GAME_FAILED_DISORDERED, /* after a failure, on another stream */
	GAME_FAILED_FREED,      /* other memory where it was recorded */
	GAME_BURNT,             /* forwards of them */
	/* bodies that */
	GAME_BROKE,
	GAME_REFUSED,
	GAME_AGAIN,
	/* beside calls */
	GAME_KEPT_LONG, /* outputs that outlive their plan */
	GAME_TIED,      /* outputs, to a ticket */
	GAME_ATTACHED,
	GAME_UNBOUND,  /* ... that went with it */
	GAME_RELEASED, /* tickets */
	GAME_STEPS_BEGUN,
	GAME_STEPS_ENDED, /* with PHILOX_STEP_RELEASE_ALL */
	GAME_STEPS_OWED,  /* that left outputs */
	GAME_PREPARED,    /* calls with a recording after it */
	GAME_STALE,       /* handles that are over */
	GAME_FAILED_RELEASE,
	GAME_RESEEDED,
	GAME_REFILLED, /* places */
	GAME_LOADED,
	GAME_LOADED_LATE, /* a text from some steps ago */
	GAME_LOADED_ANEW, /* into other contexts, with other runners */
	GAME_PLANNED,     /* ... which had the plans of the first ones */
	GAME_FUNCTION_REMADE,
	GAME_REGION_REMADE,
	GAME_RUNNER_REMADE,
	GAME_POOL_CHECKED,
	GAME_COMPARED, /* outputs, with the model */
	GAME_DIGESTS,  /* of both contexts, compared */
	/* of functions, when they end */
	GAME_MISSED_NEW,
	GAME_MISSED_MOVED,
	GAME_MISSED_LIVE,
	GAME_MISSED_STALE,
	GAME_MISSED_EVICTED,
	GAME_MISSED_BOUND,
	GAME_MISSED_REFUSED,
	GAME_MISSED_EAGER,
	GAME_COPIES,
	GAME_DRY,
	GAME_KEYS_DROPPED,
	GAME_VERIFIED, /* replays */
	GAME_UNVERIFIED,
	GAME_EVENTS
};

extern const char *const game_event_names[GAME_EVENTS];

/* A program, and what a failure is told with. */
struct game_program {
	const char *device;
	uint64_t seed;
	unsigned n_steps;
	int verify; /* replays, those that are of a function's policy */
	unsigned char left_out[GAME_STEPS];
	unsigned step; /* that is or was played */
	uint64_t counts[GAME_EVENTS];
	/* called with the message of a failure; does not return */
	void (*failed)(const struct game_program *program, const char *message);
};

void game_play(struct game_program *program);

#endif
