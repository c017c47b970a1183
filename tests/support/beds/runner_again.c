/*
 * tests/support/beds/runner_again.c - see tests/support/beds/runner_again.h
 */
#include "tests/support/beds/runner_again.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void again_make(struct fixture *f, struct philox_runner *r, struct layer *layer,
		const struct philox_policy *policy, uint32_t *x[AGAIN_PLACES])
{
	for (uint32_t i = 0; i < AGAIN_PLACES; i++)
		x[i] = make_words(f, 100 + i);
	*layer = make_layer(f, r, "layer");
	make_function_under(layer, r, "layer", policy);
}

char *plan_of(struct philox_runner *r)
{
	size_t size = 0;
	char *text;

	OK(philox_plan_save_text(r, &text, &size));
	cr_assert_eq(strlen(text), size, "no NUL at %zu", size);
	return text;
}

void again_fixture(struct again *again, struct fixture *f)
{
	fixture_open(&again->f, philox_device_name(f->device));
	make_words(&again->f, 1); /* so that nothing is where it was */
	again->r = make_runner_of(&again->f, "runner", 0);
}

void again_load(struct again *again, struct fixture *f, struct philox_runner *r)
{
	char *plan = plan_of(r), *saved, *loaded;
	size_t size;

	OK(philox_context_save_text(f->context, &saved, &size));
	OK(philox_context_load_text(again->f.context, saved, size));
	OK(philox_plan_load_text(again->r, plan, strlen(plan)));
	loaded = plan_of(again->r);
	cr_assert_str_eq(loaded, plan, "a plan that was loaded is another one");
	free(plan);
	free(saved);
	free(loaded);
}

void again_open(struct again *again, struct fixture *f, struct philox_runner *r,
		const struct philox_policy *policy)
{
	again_fixture(again, f);
	again_make(&again->f, again->r, &again->layer, policy, again->x);
	again_load(again, f, r);
}

void again_close(struct again *again)
{
	fixture_close(&again->f);
}

void plan_refused(struct philox_runner *r, const char *text, size_t size,
		  enum philox_status expected)
{
	char *before = plan_of(r), *after;

	FAILS(philox_plan_load_text(r, text, size), expected);
	after = plan_of(r);
	cr_assert_str_eq(after, before, "the runner changed");
	free(before);
	free(after);
}

/* --- texts ---------------------------------------------------------------- */

enum { TEXT_ROOM = 1 << 16 };

const char *plan_signed(const char *lines)
{
	static char made[TEXT_ROOM];
	int size = snprintf(made, sizeof(made),
			    "%schecksum %016" PRIx64 " bytes %zu\n", lines,
			    fnv1a(lines), strlen(lines));

	cr_assert(size > 0 && (size_t)size < sizeof(made));
	return made;
}

const char *plan_changed(const char *text, const char *from, const char *to)
{
	static char made[TEXT_ROOM];
	const char *found = strstr(text, from);
	char *last;
	int size;

	cr_assert(found, "no '%s' in\n%s", from, text);
	size = snprintf(made, sizeof(made), "%.*s%s%s", (int)(found - text),
			text, to, found + strlen(from));
	cr_assert(size > 0 && (size_t)size < sizeof(made));
	last = strstr(made, "checksum ");
	if (last)
		*last = '\0';
	return plan_signed(made);
}
