/*
 * tools/diff/passes.h - what took place in a journal, as Note [By passes] in
 * tools/diff/diff.h sees it
 */
#ifndef TOOLS_DIFF_PASSES_H
#define TOOLS_DIFF_PASSES_H

#include "tools/common/written.h"

enum step_kind { STEP_FORWARD, STEP_BACKWARD, STEP_OTHER };

/* A pass, or an event that is compared as it is. */
struct step {
	const struct written_event *event;
	enum step_kind kind;
	struct written_word region;       /* of a pass; no text: of no other */
	struct written_word seed, offset; /* no text: not in the journal */
	uint64_t ticket;                  /* 0: none */
	int flags_known, inference, retain;

	/* While the journal is read. */
	int open, left_out;
	uint64_t use;              /* its number in its launch */
	struct written_word graph; /* no text: eager */
	size_t launch;             /* of which event; eager: 0 */
};

struct step_list {
	struct step *steps; /* context by context */
	size_t n, n_passes;
};

/* steps_read() returns 0, or -1: out of memory. steps_finish() frees. */
int steps_read(const struct written *journal, struct step_list *steps);
void steps_finish(struct step_list *steps);

#endif
