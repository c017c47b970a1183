/*
 * tests/support/ranks/agree.c - see tests/support/ranks/agree.h
 */
#include <stdio.h>
#include "tests/support/ranks/agree.h"

/* What the others ask with in this question. */
static uint32_t others_want(struct team *team)
{
	if (!team->each || !*team->each)
		return team->others;
	return (uint32_t)(*team->each++ - '0');
}

static enum philox_status fail(struct team *team)
{
	if (team->says)
		philox_region_pending_count(NULL, NULL);
	return team->fails;
}

static enum philox_status answer(void *user, uint32_t wanted, uint32_t *agreed)
{
	struct team *team = user;
	struct fixture *f = team->layer.f;
	const size_t n = strlen(team->asked);
	const uint32_t others = others_want(team);

	cr_assert_lt(n + 1, sizeof(team->asked));
	snprintf(team->asked + n, sizeof(team->asked) - n, "%u", wanted);
	team->bodies = team->layer.bodies;
	team->launched = philox_device_call_count(f->device, "exec_launch");
	if (team->hook)
		team->hook(team, wanted);
	if (team->spared) {
		team->spared--;
		*agreed = wanted;
		return PHILOX_OK;
	}
	if (team->fails != PHILOX_OK)
		return fail(team);
	if (!team->silent)
		*agreed = others < wanted || team->raw ? others : wanted;
	return PHILOX_OK;
}

struct philox_function_desc team_options(const char *name, struct team *team)
{
	struct philox_function_desc options = layer_options(name, &team->layer);

	options.flags = PHILOX_FUNCTION_COLLECTIVE;
	options.agree = answer;
	return options;
}

void make_fixed_team(struct team *team, struct fixture *f,
		     struct philox_runner *r, const char *name)
{
	static const struct philox_input_desc x = {
		.name = "x", .flags = PHILOX_INPUT_FIXED};
	struct philox_function_desc options;

	*team = (struct team){.layer = make_layer(f, r, name),
			      .others = PHILOX_CALL_REPLAY};
	options = team_options(name, team);
	options.inputs = &x;
	make_function_of(&team->layer, r, &options);
}

void make_team(struct team *team, struct fixture *f, struct philox_runner *r,
	       const char *name, const struct philox_policy *policy)
{
	struct philox_function_desc options;

	*team = (struct team){.layer = make_layer(f, r, name),
			      .others = PHILOX_CALL_REPLAY};
	options = team_options(name, team);
	if (policy)
		options.policy = *policy;
	make_function_of(&team->layer, r, &options);
}
