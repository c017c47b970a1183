/*
 * tools/plan/plan.h - what philox inspect and philox diff say of plans
 */
#ifndef TOOLS_PLAN_PLAN_H
#define TOOLS_PLAN_PLAN_H

#include <stdio.h>
#include "graph/runner/plan/plan.h"
#include "tools/cli/cli.h"

/* A key in words: its bytes in hex, and as text if they are one. */
struct key_words {
	char text[96];
};
struct key_words plan_key_words(const struct plan_key *key);

/* A step of a script in words. */
struct step_words {
	char text[400];
};
struct step_words plan_step_words(const struct plan_function *function,
				  const struct step *step);

/*
 * plan_print() sums a plan up in words; plan_json() adds all of it to an open
 * object. Both return 0.
 */
int plan_print(const struct plan *plan, FILE *out);
int plan_json(const struct plan *plan, struct json *json);

/*
 * plan_diff() names the first difference of two plans and returns 1, or says
 * that there is none and returns 0; 2, after saying so: out of memory.
 */
int plan_diff(const struct plan *a, const struct plan *b);

#endif
