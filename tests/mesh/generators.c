/*
 * tests/mesh/generators.c - generators of the ranks of a set: of one step, or
 * each for itself
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/ranks/set.h"

/* Ranks with a second generator. */
struct ranks {
	struct bed bed;
	struct philox_generator *second[BED_RANKS];
};

static void open_ranks_of(struct ranks *ranks, struct fixture *f,
			  const struct philox_mesh *mesh, uint32_t flags)
{
	bed_open(&ranks->bed, f, mesh, 5);
	for (unsigned i = 0; i < ranks->bed.n; i++)
		OK(philox_generator_create_flags(ranks->bed.context[i], 9,
						 flags, &ranks->second[i]));
}

static void open_ranks(struct ranks *ranks, struct fixture *f, const char *mesh,
		       uint32_t flags)
{
	struct philox_mesh of = mesh_of(mesh);

	open_ranks_of(ranks, f, &of, flags);
}

static void are_at(const struct ranks *ranks, const uint64_t *offsets)
{
	for (unsigned i = 0; i < ranks->bed.n; i++) {
		struct philox_state state;

		OK(philox_generator_get_state(ranks->second[i], &state));
		cr_assert_eq(state.seed, 9);
		cr_assert_eq(state.offset, offsets[i], "rank %u: %" PRIu64, i,
			     state.offset);
	}
}

/* --- of one step ---------------------------------------------------------- */

/* The seal names both files, the generator and its offsets. */
static void refuses_seal(const struct ranks *ranks, const char *says)
{
	FAILS(philox_mesh_seal(&ranks->bed.mesh[0], "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES(says);
}

static void infer(struct philox_region *region)
{
	struct philox_pass pass;

	OK(philox_forward_begin(region, NULL, PHILOX_PASS_INFERENCE, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
}

/* Forwards of a SHARED region that owe no backward move its generator only. */
static void infer_on(struct ranks *ranks, unsigned rank, unsigned n)
{
	const struct philox_op_desc op = {"draw", 1, 8};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "in order",
					     .ops = &op,
					     .n_ops = 1,
					     .flags = PHILOX_REGION_SHARED};
	struct philox_region *made;

	options.generator = ranks->second[rank];
	OK(philox_region_create(ranks->bed.context[rank], &options, &made));
	while (n--)
		infer(made);
	OK(philox_context_save_rank(ranks->bed.context[rank], "set"));
}

PROMISE(mesh_generators, a_step_apart_are_not_sealed)
{
	struct ranks ranks;

	enter_set();
	open_ranks(&ranks, f, "data=0/2 tensor=0/2", 0);
	for (unsigned rank = 0; rank < 4; rank++)
		infer_on(&ranks, rank, 2 + (rank == 3));
	refuses_seal(&ranks, "'set.0' and 'set.3' are not of one step: "
			     "generator 1: its offset is 16 in one, 24 in the "
			     "other");
	cr_assert(!file_is_there("set"));
	bed_close(&ranks.bed);
	leave_set();
}

PROMISE(mesh_generators, a_step_apart_are_sealed_if_they_differ)
{
	struct ranks ranks;

	enter_set();
	open_ranks(&ranks, f, "data=0/2 tensor=0/2", PHILOX_GENERATOR_DIFFERS);
	for (unsigned rank = 0; rank < 4; rank++)
		infer_on(&ranks, rank, rank);
	OK(philox_mesh_seal(&ranks.bed.mesh[0], "set"));
	load_bed(&ranks.bed, "set");
	are_at(&ranks, (const uint64_t[]){0, 8, 16, 24});
	bed_close(&ranks.bed);
	leave_set();
}

/* Each stage for itself, as its regions. */
PROMISE(mesh_generators, of_other_stages_are_sealed)
{
	struct philox_mesh mesh = mesh_of("pipe=0/2 tensor=0/2");
	struct ranks ranks;

	enter_set();
	mesh.axes[0].flags = PHILOX_AXIS_STAGES;
	open_ranks_of(&ranks, f, &mesh, 0);
	OK(philox_generator_advance(ranks.second[2], 8, NULL));
	OK(philox_generator_advance(ranks.second[3], 8, NULL));
	save_bed(&ranks.bed, "set");
	OK(philox_generator_advance(ranks.second[2], 4, NULL));
	OK(philox_context_save_rank(ranks.bed.context[2], "set"));
	refuses_seal(&ranks, "'set.2' and 'set.3' are not of one step: "
			     "generator 1: its offset is 12 in one, 8 in the");
	bed_close(&ranks.bed);
	leave_set();
}

/* Neither the first, nor those that have been seeded alike. */
PROMISE(mesh_generators, of_another_seed_are_compared_among_themselves)
{
	struct ranks ranks;

	enter_set();
	open_ranks(&ranks, f, "data=0/4", 0);
	OK(philox_generator_advance(ranks.second[0], 8, NULL));
	for (unsigned rank = 1; rank < 4; rank++)
		OK(philox_generator_seed(ranks.second[rank], 10));
	save_bed(&ranks.bed, "set");
	OK(philox_generator_advance(ranks.second[2], 4, NULL));
	OK(philox_context_save_rank(ranks.bed.context[2], "set"));
	refuses_seal(&ranks, "'set.1' and 'set.2' are not of one step: "
			     "generator 1: its offset is 0 in one, 4 in the");
	bed_close(&ranks.bed);
	leave_set();
}

/* --- that differ, loaded -------------------------------------------------- */

static void make_apart(struct ranks *ranks, struct fixture *f)
{
	open_ranks(ranks, f, "data=0/3", PHILOX_GENERATOR_DIFFERS);
	OK(philox_generator_advance(ranks->second[0], 8, NULL));
	OK(philox_generator_advance(ranks->second[1], 24, NULL));
	OK(philox_generator_advance(ranks->second[2], 16, NULL));
	save_bed(&ranks->bed, "set");
}

PROMISE(mesh_generators, that_differ_go_on_each_for_itself)
{
	struct ranks ranks, again;

	enter_set();
	make_apart(&ranks, f);
	open_ranks(&again, f, "data=0/3", PHILOX_GENERATOR_DIFFERS);
	load_bed(&again.bed, "set");
	are_at(&again, (const uint64_t[]){8, 24, 16});
	bed_close(&again.bed);
	bed_close(&ranks.bed);
	leave_set();
}

PROMISE(mesh_generators, that_differ_go_on_after_all_on_another_mesh)
{
	char *merge[] = {"merge", "set", "new", "--mesh", "data=2,tensor=2"};
	const uint64_t highest[] = {24, 24, 24, 24};
	struct ranks ranks, fewer, merged;

	enter_set();
	make_apart(&ranks, f);
	open_ranks(&fewer, f, "data=0/2", PHILOX_GENERATOR_DIFFERS);
	load_bed(&fewer.bed, "set");
	are_at(&fewer, highest);
	cr_assert_eq(quiet_merge(5, merge), 0);
	open_ranks(&merged, f, "data=0/2 tensor=0/2", PHILOX_GENERATOR_DIFFERS);
	load_bed(&merged.bed, "new");
	are_at(&merged, highest);
	for (unsigned i = 0; i < 4; i++) {
		char path[16], *text, *loaded;

		snprintf(path, sizeof(path), "new.%u", i);
		text = file_text(path);
		loaded = context_text(merged.bed.context[i]);
		cr_assert_str_eq(text, loaded);
		cr_assert(strstr(text, " differs\n"), "%s", text);
		free(loaded);
		free(text);
	}
	bed_close(&merged.bed);
	bed_close(&fewer.bed);
	bed_close(&ranks.bed);
	leave_set();
}

/* On the same mesh neither a load nor philox merge minds, whatever moves. */
PROMISE(mesh_generators, that_differ_have_one_seed_on_another_mesh)
{
	char *other[] = {"merge", "set", "new", "--mesh", "data=2"};
	char *same[] = {"merge",  "set",     "new",         "--mesh",
			"data=3", "--place", "moves=data:2"};
	struct ranks ranks, fewer;

	enter_set();
	make_apart(&ranks, f);
	make_along(ranks.bed.context[1], "moves",
		   &(const struct along){{NULL}, 0});
	OK(philox_generator_seed(ranks.second[1], 10));
	save_bed(&ranks.bed, "set");
	open_ranks(&fewer, f, "data=0/2", PHILOX_GENERATOR_DIFFERS);
	FAILS(philox_context_load_ranks(fewer.bed.context[0], "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("'set': generator 1: it differs between ranks, and its seed is "
	      "0x0000000000000009 in the text of rank 0, 0x000000000000000a in "
	      "that of rank 1");
	cr_assert_eq(quiet_merge(5, other), 1);
	make_along(ranks.bed.context[2], "moves",
		   &(const struct along){{NULL}, 0});
	OK(philox_context_load_ranks(ranks.bed.context[2], "set"));
	cr_assert_eq(quiet_merge(7, same), 0);
	bed_close(&fewer.bed);
	bed_close(&ranks.bed);
	leave_set();
}

PROMISE(mesh_generators, differ_in_all_texts_or_in_none)
{
	struct ranks ranks, fewer;
	struct philox_generator *made;

	enter_set();
	open_ranks(&ranks, f, "data=0/3", 0);
	open_ranks(&fewer, f, "data=0/2", 0);
	OK(philox_generator_destroy(ranks.second[1]));
	OK(philox_generator_create_flags(ranks.bed.context[1], 9,
					 PHILOX_GENERATOR_DIFFERS, &made));
	save_bed(&ranks.bed, "set");
	FAILS(philox_context_load_ranks(fewer.bed.context[0], "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("generator 1: between ranks it is shared in the text of rank 0, "
	      "differs in that of rank 1");
	bed_close(&fewer.bed);
	bed_close(&ranks.bed);
	leave_set();
}
