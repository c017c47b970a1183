/*
 * graph/runner/function/runner_debt.c - see graph/runner/function/runner_debt.h
 */
#include "graph/runner/function/runner_debt.h"

/*
 * A key with neither debts nor recordings is recorded, unless it is early: then
 * its body runs all the same.
 */
int debt_warms_up(const struct key *key, const struct philox_policy *policy)
{
	return key->cold && policy->warmups && !policy->dry &&
	       (key->debt.n || policy->after <= 1);
}

/* While a key waits its body runs in any case. */
void debt_dry(struct key *key, const struct philox_policy *policy)
{
	if (!key->cold || key->wait || !policy->dry)
		return;
	key->cold = 0;
	key->dry = 1;
}

/* Those that count least for `limit` come first. */
void debt_pay(struct recording *recording)
{
	struct key_debt *debt = &recording->key->debt;
	uint64_t bytes;

	if (!debt->n)
		return;
	bytes = debt->bytes / debt->n;
	if (recording->prepared) {
		if (debt->prepared)
			debt->prepared--;
		else if (debt->unplayed == debt->n)
			debt->unplayed--;
	} else if (debt->n > debt->unplayed + debt->prepared) {
		recording->repaid = 1;
	} else if (debt->prepared) {
		debt->prepared--;
		recording->prepared = 1;
	} else {
		debt->unplayed--;
	}
	debt->n--;
	debt->bytes -= bytes;
	recording->function->debt_bytes -= bytes;
}

void debt_end(struct key *key, struct philox_function *function)
{
	function->debt_bytes -= key->debt.bytes;
	key->debt = (struct key_debt){0};
}
