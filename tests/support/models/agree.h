/*
 * tests/support/models/agree.h - what ranks ought to agree on, modelled
 *
 * A model of a rank's context follows events as they are applied to it, without
 * asking the library, and model_disputes() says about which things any two
 * ranks do not agree, by the rules of Note [Agreement] between any two of them;
 * the library compares along one axis at a time.
 */
#ifndef TESTS_SUPPORT_AGREE_MODEL_H
#define TESTS_SUPPORT_AGREE_MODEL_H

#include <philox.h>
#include "tests/support/ranks/ranks.h"

enum {
	MODEL_REGIONS = 5, /* named "a" and so on */
	MODEL_TABLES = 2,  /* named "A" and so on */
	MODEL_GENERATORS = 4,
	MODEL_TICKETS = 24, /* of a region */
	MODEL_SHAPES = 4
};

enum event_kind {
	MAKE,
	DESTROY,
	FORWARD,
	INFER,
	ABORT,
	LEAVE_OPEN, /* a forward */
	BACKWARD,
	RETAIN,
	LEAVE_READ, /* a recompute, open */
	LEAVE_USED, /* a backward, open */
	RELEASE,
	SEED,
	ADVANCE,
	GENERATOR,
	TABLE,
	NO_TABLE,
	EVENT_KINDS
};

struct event {
	enum event_kind kind;
	unsigned which;   /* region, table or generator */
	unsigned of;      /* generator of what is made; which ticket */
	unsigned shape;   /* of a region; rows of a table; a seed */
	unsigned flags;   /* of a region or generator */
	unsigned differs; /* of a region: bits of axes */
	uint32_t pending; /* of a region: room */
};

struct model_ticket {
	uint64_t serial, seed, offset;
	int open, readers, used;
};

struct model_region {
	int alive, known; /* known: has had a life */
	unsigned of, shape, flags, differs;
	uint64_t serial, offset, seed;
	struct model_ticket tickets[MODEL_TICKETS];
	unsigned n;
};

struct model_rank {
	uint32_t at[PHILOX_MESH_AXES];
	uint64_t seeds[MODEL_GENERATORS], offsets[MODEL_GENERATORS];
	unsigned own[MODEL_GENERATORS]; /* it differs between ranks */
	unsigned n_generators;
	struct model_region regions[MODEL_REGIONS];
	struct {
		int alive;
		unsigned of, count;
	} tables[MODEL_TABLES];
	int open_in_order[MODEL_GENERATORS]; /* SHARED, a forward is open */

	struct philox_context *context;
	struct philox_generator *generators[MODEL_GENERATORS];
	struct philox_region *made[MODEL_REGIONS];
	struct philox_rows *rows[MODEL_TABLES];
};

void model_open(struct model_rank *rank, const struct ranks_bed *bed,
		unsigned number);

/* Whether an event can happen there, and to make it happen. */
int model_can(const struct model_rank *rank, const struct event *event);
void model_apply(struct model_rank *rank, const struct event *event);

/* Things that ranks do not agree about. */
struct model_disputes {
	int generators;
	int regions[MODEL_REGIONS];
	int tables[MODEL_TABLES];
	int any;
};

struct model_disputes model_disputes(const struct ranks_bed *bed,
				     const struct model_rank *ranks);

#endif
