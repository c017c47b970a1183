/*
 * tools/matrix/search.h - a search and its workers
 */
#ifndef TOOLS_MATRIX_SEARCH_H
#define TOOLS_MATRIX_SEARCH_H

#include "tools/matrix/model/model.h"

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

#endif
