/*
 * tools/matrix/matrix.h - searches of runs, and orders of stages
 */
#ifndef TOOLS_MATRIX_MATRIX_H
#define TOOLS_MATRIX_MATRIX_H

#include <stddef.h>
#include <stdint.h>
#include "tools/matrix/model/model.h"

/* --- search: a search and its workers ------------------------------------- */

/* One search: of all runs up to `length`, or of `random` ones of it. */
struct search {
	const char *name;
	unsigned classes;
	unsigned regions, shared, generators;
	unsigned forwards, open;
	unsigned length, longer;  /* by default, and with --long */
	unsigned random;          /* 0: all */
	double cost, longer_cost; /* compared with other searches, about */
	uint64_t forms;           /* graphs with bodies, as bits */
};

/* The report of a worker. */
struct report {
	struct matrix_total total;
	unsigned shortest;     /* length of the first mismatch; 0: none */
	unsigned search;       /* the current one */
	const char *device;    /* of that */
	double part;           /* of that which is done, from 0 to 1, about */
	struct matrix_run run; /* the current one */
	int finished;
};

struct worker {
	const struct matrix_options *options;
	struct report *reports; /* of all workers */
	unsigned number, workers;
	const struct search *search;
	const struct search *table;
	struct matrix_shape shape;
	struct matrix_bed *bed;
	unsigned prefixes;            /* met so far at this length */
	unsigned prefixes_before;     /* at the length before; 0: not known */
	struct matrix_event *choices; /* MATRIX_CHOICES for each depth */
};

static inline struct report *report_of(const struct worker *worker)
{
	return &worker->reports[worker->number];
}

/* search_run() makes this worker's runs of its search. */
int search_run(struct worker *worker);

/* --- orders: the orders of passes that training engines use --------------- */

/*
 * A schedule says in which order one stage of a pipeline runs its passes. An
 * order is a list of actions: F a forward, B a backward, I the input-gradient
 * half of one and W its weight-gradient half, R a recompute; of a chunk (the
 * part of the model, where a stage holds several) and a microbatch.
 */

enum {
	SCHEDULE_STAGES_MAX = 16,
	SCHEDULE_MICROBATCHES_MAX = 24,
	SCHEDULE_CHUNKS_MAX = 2,
	SCHEDULE_ACTIONS_MAX = 8 * SCHEDULE_MICROBATCHES_MAX
};

struct schedule_action {
	char what;     /* F, B, I, W or R */
	uint8_t chunk; /* from 0 */
	uint8_t microbatch;
};

struct schedule_order {
	unsigned n;
	struct schedule_action actions[SCHEDULE_ACTIONS_MAX];
};

/* The place that an order is for. */
struct schedule_place {
	unsigned stages, stage; /* stage below stages */
	unsigned microbatches;
	unsigned group; /* interleaved: microbatches in a row; 0: stages */
};

struct schedule {
	const char *name;
	const char *text; /* its description, in a line */
	unsigned chunks;
	void (*make)(const struct schedule_place *place,
		     struct schedule_order *order);
};

/* All of them; the last has a NULL name. */
extern const struct schedule schedules[];

/* schedule_find() finds one by name; NULL if there is none. */
const struct schedule *schedule_find(const char *name);

/*
 * schedule_names() lists them all, with `wrap` wherever a line of 76 is full.
 */
const char *schedule_names(const char *wrap);

/*
 * schedule_text() writes an order in the usual form: "F0 B0", or with chunks,
 * counted from 1, "F1.0 B1.0".
 */
void schedule_text(const struct schedule *schedule,
		   const struct schedule_order *order, char *text, size_t size);

#endif
