/*
 * tests/support/models/pool_game.h - a pool and its model, played side by side
 *
 * Numbers that somebody else chooses become operations, right ones and wrong
 * ones. Each is made on a pool and on a model of it
 * (tests/support/models/pool.h); results, places and figures must agree, and
 * what is written to a block must be there when it is freed. The first
 * difference ends the program.
 */
#ifndef TESTS_SUPPORT_POOL_GAME_H
#define TESTS_SUPPORT_POOL_GAME_H

#include "alloc/pool/pool.h"
#include "tests/support/models/pool.h"

#define GAME_CHECKPOINTS 6

struct game_checkpoint {
	struct pool_checkpoint *made; /* NULL: none */
	size_t *blocks;               /* numbers in the model */
	size_t n;
	uint64_t trims; /* by then */
};

/* A number below n > 0. */
typedef uint32_t game_chooser(void *user, uint32_t n);

struct pool_game {
	game_chooser *choose;
	void *user;
	struct philox_device *device;
	struct pool *pool;
	struct model model;
	struct pool_settings settings;
	struct game_checkpoint checkpoints[GAME_CHECKPOINTS];
	struct pool_checkpoint *foreign; /* of a pool that is gone */
	struct pool_figures expected;
	struct pool_session_figures session; /* of the open one */
	char *freed;   /* the address that was freed last */
	uint64_t seed; /* that led to it, to be named */
	uint64_t steps;
	uint64_t counts[32]; /* what happened how often, for the curious */
};

/* On a device of its own, with settings that `choose` chooses. */
void game_open(struct pool_game *game, game_chooser *choose, void *user);
void game_step(struct pool_game *game);
void game_close(struct pool_game *game);

#endif
