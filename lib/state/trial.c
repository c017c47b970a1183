/*
 * lib/state/trial.c - work that is done on trial
 *
 * See Note [Trial] in lib/state/state.h.
 */
#include <stdlib.h>
#include "lib/containers/array.h"
#include "lib/state/state.h"

static _Thread_local struct trial *here;

void trial_begin(struct trial *trial)
{
	trial->generators = NULL;
	trial->n_generators = trial->next_read = 0;
	trial->refused = NULL;
	trial->outer = here;
	here = trial;
}

void trial_end(struct trial *trial)
{
	here = trial->outer;
	free(trial->generators);
	trial->generators = NULL;
	trial->n_generators = 0;
}

struct trial *trial_here(const struct philox_context *context)
{
	struct trial *trial = here;

	while (trial && trial->context != context)
		trial = trial->outer;
	return trial;
}

enum philox_status trial_refuse(struct trial *trial, const char *what)
{
	trial->refused = what;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "%s, which cannot be undone: what does so cannot be "
			  "verified",
			  what);
}

static enum philox_status add_generator(
	struct trial *trial, const struct philox_generator *generator,
	struct philox_state **state)
{
	struct trial_generator *added = array_grow(
		&trial->generators, trial->n_generators, 1, sizeof(*added));

	if (!added)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a generator on trial");
	trial->n_generators++;
	*added = (struct trial_generator){generator, generator->state};
	*state = &added->state;
	return PHILOX_OK;
}

enum philox_status trial_generator(struct philox_generator *generator,
				   struct philox_state **state)
{
	struct trial *trial = trial_here(generator->context);

	*state = &generator->state;
	if (!trial)
		return PHILOX_OK;
	for (size_t i = 0; i < trial->n_generators; i++)
		if (trial->generators[i].generator == generator) {
			*state = &trial->generators[i].state;
			return PHILOX_OK;
		}
	return add_generator(trial, generator, state);
}

enum philox_status trial_read(struct trial *trial, struct philox_state *state)
{
	if (trial->next_read >= trial->n_reads)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "generator state: the graph copies %zu "
				  "state%s, and its eager form more",
				  trial->n_reads, status_s(trial->n_reads));
	*state = *trial->reads[trial->next_read++];
	return PHILOX_OK;
}
