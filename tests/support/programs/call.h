/*
 * tests/support/programs/call.h - one call of a random program
 *
 * Chosen by tests/support/programs/choose.c, made by runner_play.c, and
 * compared by runner_done.c if it succeeded; runner_failed.c explains it if it
 * failed.
 */
#ifndef TESTS_SUPPORT_RUNNER_CALL_H
#define TESTS_SUPPORT_RUNNER_CALL_H

#include "tests/support/programs/table.h"

/* Ways to call with wrong arguments. */
enum wrong {
	WRONG_NOTHING,
	WRONG_FEW_USES,
	WRONG_MANY_USES,
	WRONG_TICKET,
	WRONG_HANDLE,
	WRONG_INPUTS,
	WRONG_VALUE,
	WRONGS
};

/* A call on its way. */
struct playing {
	struct game_function *f;
	const struct recipe *recipe;
	uint32_t key;
	struct philox_call call;
	struct philox_call_input inputs[RECIPE_INPUTS];
	struct philox_output handles[RECIPE_INPUTS]; /* that they come from */
	unsigned from[RECIPE_INPUTS]; /* of which they are copies */
	unsigned storages[RECIPE_INPUTS];
	struct philox_call_param values[RECIPE_VALUES];
	unsigned char bytes[RECIPE_VALUES][PHILOX_PARAM_BYTES + 1];
	struct philox_launch_pass uses[RECIPE_PASSES + 1];
	struct held_ticket held[RECIPE_PASSES]; /* of entries */
	struct philox_output outputs[RECIPE_OUTPUTS];
	int made[RECIPE_OUTPUTS]; /* handles; -1: none */
	enum wrong wrong;
	unsigned fails_at; /* a device call; 0: none */
	int failed_device;
	enum philox_status status;
	uint64_t path;     /* that it is on */
	int last_was_dry;  /* the body that ran last */
	uint64_t checking; /* runs of the body, to verify */
	struct recipe_plain plain;
};

/* A ticket of a use that was not written. */
#define CALL_UNTOUCHED ((struct philox_ticket){6, 6})

/* Whether an address is not aligned as the input's descriptor says. */
int call_misaligned(const struct playing *p, unsigned slot,
		    const void *address);
philox_stream call_choose_stream(struct game *game);
/* `made`: the handles of nodes before. */
void call_choose_input(struct game *game, struct playing *p, unsigned slot,
		       const struct source *source, int made[][RECIPE_OUTPUTS]);
/* Returns 0 if a ticket that the recipe needs is not there. */
int call_choose_uses(struct game *game, struct playing *p);
void call_choose(struct game *game, struct playing *p, philox_stream stream);
void call_choose_fault(struct game *game, struct playing *p);
/* Returns 0 if the call cannot be made wrong in that way. */
int call_make_wrong(struct game *game, struct playing *p, enum wrong wrong);

void call_failed(struct game *game, struct playing *p);
void call_succeeded(struct game *game, struct playing *p);

#endif
