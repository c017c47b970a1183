/*
 * tools/explain/explain.h - recordings as programs: printed, compared
 */
#ifndef TOOLS_EXPLAIN_EXPLAIN_H
#define TOOLS_EXPLAIN_EXPLAIN_H

#include <stdio.h>
#include "graph/runner/explain/explain.h"
#include "graph/runner/plan/plan.h"

/* --- plan.c: what a plan has of programs ----------------------------------- */

/*
 * plan_explain() prints the steps of keys, by what is chosen: how many keys, or
 * -1: out of memory. A plan has no recordings by number.
 */
long plan_explain(FILE *out, const struct plan *plan,
		  const struct explain_choice *choice);

/* --- compare.c: two texts side by side ------------------------------------- */

/*
 * compare_programs() prints two texts of programs side by side, line by line:
 * "<" marks a line that only A has, ">" one that only B has, "|" a pair that
 * differs. Numbers of lines are no difference: what they name is. `heads`: the
 * first lines are headings, and not compared. Returns how many lines differ, or
 * -1: out of memory.
 */
long compare_programs(FILE *out, const char *a, const char *b, int heads);

#endif
