/*
 * graph/runner/function/runner_debt.h - recordings of a plan that are to be made again
 *
 * See Loading in Note [Plan], graph/runner/plan/plan.h.
 */
#ifndef GRAPH_RUNNER_FUNCTION_RUNNER_DEBT_H
#define GRAPH_RUNNER_FUNCTION_RUNNER_DEBT_H

#include "graph/runner/state/runner.h"

/*
 * debt_warms_up() tells whether a call, which is not barred and has no
 * recording that could be replayed, is to be a warm-up since its key is cold.
 * debt_dry() has a cold key warmed up dry, if the policy has dry warm-ups and the
 * key does not wait.
 */
int debt_warms_up(const struct key *key, const struct philox_policy *policy);
void debt_dry(struct key *key, const struct philox_policy *policy);

/*
 * debt_pay() has a new recording, which is not linked yet, pay a debt of its
 * key. debt_end() forgets those that a key has.
 */
void debt_pay(struct recording *recording);
void debt_end(struct key *key, struct philox_function *function);

#endif
