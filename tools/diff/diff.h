/*
 * tools/diff/diff.h - the first difference of two texts or journals
 */
#ifndef TOOLS_DIFF_DIFF_H
#define TOOLS_DIFF_DIFF_H

#include "tools/formats/formats.h"

/* --- diff: two ways to compare journals ----------------------------------- */

/*
 * Note [By passes]
 * ~~~~~~~~~~~~~~~~
 * One program that runs eagerly and again with its passes captured writes two
 * journals that have few lines in common, and yet all its passes must be the
 * same. So two journals may be compared by the passes that took place:
 *
 *  - An eager pass takes its place where it begins; one in a graph takes it at
 * each launch, where its use is written. In one launch and in one program
 * that is the same order.  - Compared are kind (forward, backward), region,
 * seed, offset and ticket, and    the flags "inference" of forwards and
 * "retain" of backwards, where both    journals have them: a forward whose
 * backward is in the same graph has no    ticket, and that backward no flags.
 * It has the state of its forward. As    such a forward takes no serial either,
 * tickets of its region are compared    by their states from then on.  -
 * Warm-ups are left out: they take no numbers. So are passes and launches
 * that were aborted: whatever numbers they burnt shows in the next offset.  -
 * Captures, the launches themselves, destroyed graphs, values that were set
 * and what happened in pools are left out. All other events (of generators,
 * regions, rows, tickets, contexts; launches that were not announced) are
 * compared as they are, at their place between the passes.
 */

/*
 * diff_events() compares event by event within each context, the first with the
 * first and so on: neither the order of events of different contexts nor the
 * numbers of contexts and events matter. It prints the first difference, or that
 * there is none, and returns the exit status.
 */
int diff_events(const struct written *a, const struct written *b);

/*
 * diff_passes() does so by Note [By passes], and says it; `why` is why, or NULL
 * if it was asked for.
 */
int diff_passes(const struct written *a, const struct written *b,
		const char *why);

/* diff_has_graphs() says whether a journal has captures or launches. */
int diff_has_graphs(const struct written *journal);

/* --- what both print ------------------------------------------------------ */

/* "context 0, event 9 of A and 184 of B: " */
void diff_print_place(const struct written_event *a,
		      const struct written_event *b);

/* The event as it is in the journal, on a line of its own. */
void diff_print_event(const char *name, const struct written_event *event);

/* ": seed 1 in A, 2 in B; ..." for the fields that are not the same. */
void diff_print_fields(const struct written_word *a,
		       const struct written_word *b, size_t n);

/* --- passes --------------------------------------------------------------- */

/*
 * What took place in a journal, as Note [By passes] in tools/diff/diff.h sees
 * it.
 */

enum diff_kind { DIFF_FORWARD, DIFF_BACKWARD, DIFF_OTHER };

/* A pass, or an event that is compared as it is. */
struct diff_step {
	const struct written_event *event;
	enum diff_kind kind;
	struct written_word region;       /* of a pass; no text: of no other */
	struct written_word seed, offset; /* no text: not in the journal */
	uint64_t ticket;                  /* 0: none */
	int flags_known, inference, retain;

	/* While the journal is read. */
	int left_out;
	size_t same;   /* the next older open pass like it; SIZE_MAX: none */
	size_t launch; /* its number, from 1; eager: 0 */
};

struct step_list {
	struct diff_step *steps; /* context by context */
	size_t n, n_passes;
};

/* steps_read() returns 0, or -1: out of memory. steps_finish() frees. */
int steps_read(const struct written *journal, struct step_list *steps);
void steps_finish(struct step_list *steps);

#endif
