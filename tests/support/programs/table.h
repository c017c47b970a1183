/*
 * tests/support/programs/table.h - the state of a random program of calls
 *
 * See tests/support/programs/game.h. Memory that inputs and outputs are in is a
 * storage, of which the model knows the content; an output is a handle, and
 * several handles may be of one storage.
 */
#ifndef TESTS_SUPPORT_RUNNER_TABLE_H
#define TESTS_SUPPORT_RUNNER_TABLE_H

#include "tests/support/programs/game.h"

struct storage {
	int used;
	unsigned handles;
	int runner; /* whose pool it is in; -1: a place of the caller */
	uint32_t *address;
	struct numbers now;
};

struct handle {
	int used;
	struct philox_output output;
	unsigned storage, word; /* where it begins there */
	int runner;             /* whose handle it is */
	int kept;               /* outlives its plan */
	uint64_t bound;         /* to the ticket of that id; 0: to none */
	uint64_t attached;      /* of the saved context that releases it */
	uint64_t path;          /* of calls that read each other's outputs */
};

struct held_ticket {
	uint64_t id; /* never that of another */
	unsigned region;
	struct philox_ticket ours, plain;
	struct numbers saw;
	int runner;    /* of the call that gave it */
	uint64_t path; /* of that call */
	int loaded;    /* since then, so that it may be forgotten */
	struct tied_path {
		int runner;
		uint64_t path;
	} tied[8]; /* of outputs that were tied to it; the first of n_tied */
	unsigned n_tied;
};

/* A copy of what was in memory when it was queued, and what it should be. */
struct check {
	struct numbers expected;
	unsigned words, step;
	char what[80];
};

struct game_function {
	char name[32];
	int runner;
	unsigned regions[2];
	struct recipe_shape shape;
	struct recipe recipes[GAME_KEYS];
	struct philox_policy policy;
	uint32_t flags;
	struct recipe_run run;
	struct philox_function *function;
	int known[GAME_KEYS]; /* what its body does is compared */
};

struct game_region {
	struct philox_region *ours, *plain;
};

/* An input of a node: a place, or the output of a node before. */
struct source {
	int node; /* -1: a place */
	unsigned index;
};

struct plan {
	unsigned n;
	struct {
		unsigned function, key;
		struct source sources[RECIPE_INPUTS];
	} nodes[GAME_NODES];
};

/* Both contexts as texts, and the tickets that are pending there. */
struct snapshot {
	char *text;
	size_t size;
	struct held_ticket held[GAME_HELD];
	unsigned n_held;
};

struct game {
	struct game_program *program;
	struct chance chance; /* of this step */
	struct fixture ours, plain;
	uint32_t *array;      /* of plain */
	struct numbers *room; /* of ours: for checks */
	uint32_t
		*contents; /* of ours: WORDS words for each place and version */
	philox_event event;
	struct philox_runner *runners[GAME_RUNNERS];
	struct philox_function *islands[GAME_RUNNERS]; /* that do nothing */
	struct game_region regions[GAME_REGIONS];
	struct game_function functions[GAME_FUNCTIONS];
	struct plan plans[GAME_PLANS];
	struct storage storages[GAME_STORAGES];
	struct handle handles[GAME_HANDLES];
	struct held_ticket held[GAME_HELD];
	unsigned n_held;
	uint64_t tickets, paths; /* ever */
	struct check checks[GAME_CHECKS];
	unsigned n_checks;
	struct snapshot snapshot;
	philox_stream last; /* that the call before was on */
	int last_runner;    /* whose call it was */
	int loose;          /* work of our own came after it */
	/* the device failed where the pool notes which stream it is on */
	int disordered[GAME_RUNNERS];
	int freed; /* a runner was destroyed, with memory that was an input */
	struct philox_output over; /* a handle that was released */
	int over_runner;
};

/* --- failures of the program ---------------------------------------------- */

void game_fail(struct game *game, const char *where, int line,
	       const char *format, ...)
	__attribute__((format(printf, 4, 5), noreturn));

#define MUST(game, holds, ...)                              \
	do {                                                \
		if (!(holds))                               \
			game_fail(game, __FILE__, __LINE__, \
				  #holds ": " __VA_ARGS__); \
	} while (0)

#define GIVES(game, call, expected)                                          \
	do {                                                                 \
		enum philox_status status_ = (call), expected_ = (expected); \
		MUST(game, status_ == expected_, "%s, not %s: %s",           \
		     philox_status_name(status_),                            \
		     philox_status_name(expected_), philox_error_message()); \
	} while (0)

#define GOES(game, call) GIVES(game, call, PHILOX_OK)

void game_count(struct game *game, enum game_event event);
unsigned game_pick(struct game *game, unsigned n);
int game_one_in(struct game *game, unsigned n);
int game_rarely(struct game *game, unsigned n);

/* --- memory (tests/support/programs/table.c) ------------------------------ */

/* Comparing: queued in order of the last call, done when there are many. */
void game_check(struct game *game, unsigned storage, unsigned word,
		const char *what);
void game_settle_checks(struct game *game);

/* The next call is to be on a stream, of a runner: after our own work. */
void game_order(struct game *game, philox_stream stream, int runner);
void game_wait(struct game *game);

unsigned game_new_handle(struct game *game, const struct philox_output *output,
			 int runner, unsigned storage, unsigned word);
unsigned game_new_storage(struct game *game, int runner, uint32_t *address,
			  const struct numbers *now);
/* Compares an output, and releases it. */
void game_release(struct game *game, unsigned handle);
void game_release_all(struct game *game);
/* A place gets other content. */
void game_refill(struct game *game, unsigned place);
void game_open_places(struct game *game);

/* --- calls (tests/support/programs/play.c, failed.c) ---------------------- */

/* All outputs of a runner go whose paths are not owed a backward. */
void game_begin_step(struct game *game, int runner);
void game_prepare(struct game *game, const struct plan *plan);
void game_play_plan(struct game *game, const struct plan *plan);
/* After a failure of the device: a runner's pool is on no stream. */
void game_order_pool(struct game *game, int runner);
/* Both contexts have the same future; `what` was done. */
void game_same_digest(struct game *game, const char *what);

/* --- what there is (tests/support/programs/setup.c) ----------------------- */

void game_design(struct game *game);
void game_set_up(struct game *game);
void game_put_away(struct game *game);
void game_remake_region(struct game *game);
void game_remake_runner(struct game *game);
void game_check_pools(struct game *game);
void game_remake_function(struct game *game, struct game_function *f);

/* --- tickets (tests/support/programs/table.c) ----------------------------- */

void game_hold(struct game *game, const struct held_ticket *made);
/* The output goes when the ticket goes: tied, or by its saved context. */
int game_bind(struct game *game, unsigned handle);
/* Before a ticket may go: outputs that may go with it are compared. */
void game_check_bound(struct game *game, uint64_t id);
/* It went, or all did (0): so its outputs did. */
void game_unbind(struct game *game, uint64_t id);
void game_drop_ticket(struct game *game, unsigned index); /* of the list */
void game_release_ticket(struct game *game, unsigned index);

#endif
