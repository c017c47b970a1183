/*
 * tests/save/generators.c - texts of version 6: generators that differ between
 * ranks
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/ranks/set.h"

static const char version_6[] =
	"philox context 6\n"
	"generator 0 state 0000000000000005 0000000000000000\n"
	"generator 1 state 0000000000000007 000000000000000c differs\n"
	"region \"layer\" alive generator 0 flags 0 next eba94568164108df "
	"0000000000000000 serial 1\n"
	"op \"first\" calls 1 advance 4\n"
	"op \"second\" calls 2 advance 4\n"
	"op \"third\" calls 1 advance 4\n";

/* The default generator, a second one with flags, a region. */
static struct philox_generator *set_up(struct fixture *f, uint32_t flags)
{
	struct philox_generator *made;

	OK(philox_device_synchronize(f->device));
	philox_context_destroy(f->context);
	OK(philox_context_create(f->device, &f->context));
	OK(philox_generator_seed(philox_context_generator(f->context), 5));
	OK(philox_generator_create_flags(f->context, 7, flags, &made));
	make_region(f, "layer");
	return made;
}

static enum philox_status load(struct fixture *f, const char *text)
{
	return philox_context_load_text(f->context, text, strlen(text));
}

static void has_text(struct fixture *f, const char *text)
{
	char *now = context_text(f->context);

	cr_assert_str_eq(now, text);
	free(now);
}

PROMISE(save_generators, that_differ_make_it_version_6)
{
	struct philox_generator *own = set_up(f, PHILOX_GENERATOR_DIFFERS);
	char *text = signed_again(version_6);

	OK(philox_generator_advance(own, 12, NULL));
	has_text(f, text);
	OK(philox_generator_seed(own, 8));
	OK(load(f, text));
	has_text(f, text);
	free(text);
}

PROMISE(save_generators, that_differ_make_it_version_6_whatever_else_it_has)
{
	struct philox_mesh mesh = mesh_of("data=1/2");
	struct philox_generator *made;
	char *text;

	OK(philox_context_set_mesh(f->context, &mesh));
	OK(philox_generator_create_flags(f->context, 7,
					 PHILOX_GENERATOR_DIFFERS, &made));
	text = context_text(f->context);
	cr_assert(!strncmp(text, "philox context 6\naxis ", 22), "%s", text);
	free(text);
	OK(philox_generator_destroy(made));
	text = context_text(f->context);
	cr_assert(!strncmp(text, "philox context 4\naxis ", 22), "%s", text);
	free(text);
}

static const struct {
	const char *from, *to, *says;
} malformed[] = {
	{"context 6", "context 5",
	 "line 3: this version has no generators that differ"},
	{"context 6", "context 1",
	 "line 3: this version has no generators that differ"},
	{" differs", "",
	 "a text without generators that differ is below version 6"},
	{" differs", " stages", "line 3: the end of the line expected"},
	{" differs", " differs differs", "line 3: the end of the line"},
	{" differs", "  differs", "line 3: the end of the line expected"},
	{"generator 1 state", "generator 1 differs state", "line 3: ' state "},
};

PROMISE(save_generators, that_are_misspelt_are_refused)
{
	set_up(f, PHILOX_GENERATOR_DIFFERS);
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		char *before = context_text(f->context);
		char *text = changed_text(version_6, malformed[i].from,
					  malformed[i].to);

		FAILS(load(f, text), PHILOX_ERROR_INVALID);
		NAMES(malformed[i].says);
		has_text(f, before);
		free(text);
		free(before);
	}
}

/* So a program may change it, and go on from its older texts. */
PROMISE(save_generators, differ_as_the_program_says_and_not_the_text)
{
	struct philox_generator *made = set_up(f, 0);
	struct philox_state state;
	char *text = signed_again(version_6), *plain;

	OK(load(f, text));
	OK(philox_generator_get_state(made, &state));
	cr_assert(state.seed == 7 && state.offset == 12);
	plain = context_text(f->context);
	cr_assert(!strncmp(plain, "philox context 1\n", 17), "%s", plain);
	set_up(f, PHILOX_GENERATOR_DIFFERS);
	OK(load(f, plain));
	has_text(f, text);
	free(plain);
	free(text);
}

/* As no number depends on it. */
PROMISE(save_generators, that_differ_have_no_other_digest)
{
	uint64_t with, without;

	set_up(f, PHILOX_GENERATOR_DIFFERS);
	OK(philox_context_digest(f->context, &with));
	set_up(f, 0);
	OK(philox_context_digest(f->context, &without));
	cr_assert_eq(with, without);
}

PROMISE(save_generators, have_flags_that_are_known)
{
	struct philox_generator *made = NULL;
	char *before = context_text(f->context);

	FAILS(philox_generator_create_flags(NULL, 1, 0, &made),
	      PHILOX_ERROR_INVALID);
	NAMES("context is NULL");
	FAILS(philox_generator_create_flags(f->context, 1, 0, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("generator is NULL");
	FAILS(philox_generator_create_flags(f->context, 1, 3, &made),
	      PHILOX_ERROR_INVALID);
	NAMES("flags 0x3 is not 0 or PHILOX_GENERATOR_DIFFERS");
	cr_assert_null(made);
	has_text(f, before);
	free(before);
}
