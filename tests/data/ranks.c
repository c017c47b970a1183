/*
 * tests/data/ranks.c - ranks read parts of one sequence, agree on how far they
 * are, and go on at the same position on another mesh
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/ranks/ranks.h"
#include "tests/support/ranks/set.h"
#include "tests/support/support.h"

static const struct philox_source_desc sources[] = {
	{1000, 2, 0}, {50, 1, 8}, {77, 5, 0}};

static struct philox_data *make_of(struct philox_context *context,
				   const char *name, size_t n, uint64_t block)
{
	struct philox_data_desc options = PHILOX_INIT(struct philox_data_desc);
	struct philox_data *data;

	options.name = name;
	options.sources = sources;
	options.n_sources = n;
	options.source_size = sizeof(*sources);
	options.block = block;
	OK(philox_data_create(context, &options, &data));
	return data;
}

static struct philox_data *make(struct philox_context *context)
{
	return make_of(context, "train", 3, 16);
}

static uint64_t position_of(struct philox_data *data)
{
	uint64_t position;

	OK(philox_data_position(data, &position));
	return position;
}

/* --- agreement ------------------------------------------------------------ */

#define ALONG "ranks do not agree along axis 'data': "

static const struct philox_axis axes[] = {
	{.name = "data", .n_ranks = 2},
	{.name = "stage", .n_ranks = 2, .flags = PHILOX_AXIS_STAGES}};

struct world {
	struct ranks_bed bed;
	struct philox_data *data[4];
};

/* Ranks 0 and 2, and 1 and 3, are of one stage. */
static void open_world(struct world *world, struct fixture *f)
{
	ranks_open(&world->bed, f->device, axes, 2);
	for (unsigned i = 0; i < 4; i++)
		world->data[i] = make(world->bed.contexts[i]);
}

PROMISE(data_ranks, that_are_at_one_position_agree)
{
	struct world world;

	open_world(&world, f);
	ranks_do_agree(&world.bed);
	for (unsigned i = 0; i < 4; i++)
		OK(philox_data_advance(world.data[i], 64, NULL));
	ranks_do_agree(&world.bed);
	ranks_close(&world.bed);
}

PROMISE(data_ranks, do_not_agree_at_two_positions)
{
	struct world world;

	open_world(&world, f);
	OK(philox_data_advance(world.data[2], 64, NULL));
	ranks_do_not_agree(&world.bed,
			   ALONG "data 'train': position is 0 on rank 0, "
				 "64 on rank 2");
	OK(philox_data_advance(world.data[0], 64, NULL));
	ranks_do_agree(&world.bed); /* stages may be apart for a while */
	ranks_close(&world.bed);
}

PROMISE(data_ranks, do_not_agree_about_two_orders_or_with_data_of_some)
{
	struct world world;

	open_world(&world, f);
	OK(philox_data_destroy(world.data[3]));
	ranks_do_not_agree(&world.bed,
			   ALONG "data 'train': they are there on rank "
				 "1, missing on rank 3");
	make_of(world.bed.contexts[3], "train", 3, 17);
	ranks_do_not_agree(&world.bed,
			   ALONG "data 'train': block is 16 on rank 1, "
				 "17 on rank 3");
	OK(philox_data_destroy(world.data[1]));
	make_of(world.bed.contexts[1], "train", 3, 17);
	ranks_do_agree(&world.bed);
	make_of(world.bed.contexts[2], "more", 2, 0);
	ranks_do_not_agree(&world.bed,
			   ALONG "data 'more': they are missing on rank "
				 "0, there on rank 2");
	ranks_close(&world.bed);
}

PROMISE(data_ranks, the_text_of_a_rank_has_a_version_of_its_own)
{
	struct philox_data *data = make(f->context);
	char *text;

	OK(philox_context_rank_describe(f->context, &text, NULL));
	cr_assert(!strncmp(text, "philox ranks 3\n", 15), "%s", text);
	free(text);
	OK(philox_data_destroy(data));
	OK(philox_context_rank_describe(f->context, &text, NULL));
	cr_assert(!strncmp(text, "philox ranks 1\n", 15), "%s", text);
	free(text);
}

/* --- other meshes --------------------------------------------------------- */

/* A run of batches of 48 positions, of which each rank reads its part. */
static void read_steps(struct bed *bed, struct philox_data *const *data,
		       unsigned steps, struct philox_mixture_sample *samples)
{
	const uint64_t mine = 48 / bed->n;

	for (unsigned step = 0; step < steps; step++)
		for (unsigned rank = 0; rank < bed->n; rank++) {
			uint64_t before;

			OK(philox_data_advance(data[rank], 48, &before));
			OK(philox_data_read(data[rank], before + rank * mine,
					    mine,
					    samples + before + rank * mine));
		}
}

static void open_run(struct bed *bed, struct fixture *f, const char *of,
		     struct philox_data **data)
{
	struct philox_mesh mesh = mesh_of(of);

	bed_open(bed, f, &mesh, 42);
	for (unsigned i = 0; i < bed->n; i++)
		data[i] = make(bed->context[i]);
}

/* Whatever the mesh, and also where it changes between steps. */
PROMISE(data_ranks, a_run_on_any_mesh_reads_one_sequence)
{
	static const char *const meshes[] = {"data=0/1",
					     "data=0/2",
					     "data=0/3 tensor=0/2",
					     "data=0/16",
					     "data=0/4 tensor=0/2",
					     "tensor=0/1"};
	enum { STEPS = 4, BATCH = 48, RUNS = 6 };
	static struct philox_mixture_sample got[RUNS * STEPS * BATCH],
		expected[RUNS * STEPS * BATCH];
	struct philox_data *data[BED_RANKS];
	struct bed bed;

	enter_set();
	open_run(&bed, f, "data=0/1", data);
	OK(philox_data_read(data[0], 0, RUNS * STEPS * BATCH, expected));
	save_bed(&bed, "set0");
	bed_close(&bed);
	for (unsigned i = 0; i < RUNS; i++) {
		char from[16], to[16];

		snprintf(from, sizeof(from), "set%u", i);
		snprintf(to, sizeof(to), "set%u", i + 1);
		open_run(&bed, f, meshes[i], data);
		load_bed(&bed, from);
		for (unsigned rank = 0; rank < bed.n; rank++)
			cr_assert_eq(position_of(data[rank]),
				     i * STEPS * BATCH);
		read_steps(&bed, data, STEPS, got);
		save_bed(&bed, to);
		bed_close(&bed);
	}
	cr_assert(!memcmp(got, expected, sizeof(got)));
	leave_set();
}

/* A rank whose save is late: its text is of an earlier step. */
PROMISE(data_ranks, texts_of_two_positions_are_not_sealed)
{
	struct philox_mesh mesh = mesh_of("data=0/2");
	struct philox_data *data[BED_RANKS];
	struct bed bed;

	enter_set();
	open_run(&bed, f, "data=0/2", data);
	save_bed(&bed, "set");
	OK(philox_data_advance(data[0], 48, NULL));
	OK(philox_context_save_rank(bed.context[0], "set"));
	FAILS(philox_mesh_seal(&mesh, "set"), PHILOX_ERROR_MISMATCH);
	NAMES("'set.0' and 'set.1' are not of one step: data 'train': the "
	      "position is 48 in one, 0 in the other");
	bed_close(&bed);
	leave_set();
}

/* Stages are sealed apart; another mesh wants them to agree. */
PROMISE(data_ranks, another_mesh_wants_one_position)
{
	struct philox_mesh mesh = mesh_of("stage=0/2");
	struct philox_data *data[2], *one[BED_RANKS];
	struct bed old, new;

	enter_set();
	mesh.axes[0].flags = PHILOX_AXIS_STAGES;
	bed_open(&old, f, &mesh, 42);
	for (unsigned i = 0; i < 2; i++)
		data[i] = make(old.context[i]);
	OK(philox_data_seek(data[1], 5));
	save_bed(&old, "set");
	open_run(&new, f, "data=0/1", one);
	FAILS(philox_context_load_ranks(new.context[0], "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("data 'train': position is 0 in the text of rank 0, 5 in that "
	      "of rank 1");
	load_bed(&old, "set"); /* the same mesh: each its own */
	cr_assert_eq(position_of(data[0]), 0);
	cr_assert_eq(position_of(data[1]), 5);
	/* a stage that had none, which the other one has now */
	OK(philox_data_destroy(data[1]));
	save_bed(&old, "set");
	data[1] = make(old.context[1]);
	OK(philox_data_seek(data[0], 7));
	load_bed(&old, "set");
	cr_assert_eq(position_of(data[0]), 0);
	make_of(new.context[0], "more", 1, 0);
	FAILS(philox_context_load_ranks(new.context[0], "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("data 'more' are in no text of the set");
	bed_close(&old);
	bed_close(&new);
	leave_set();
}

/* philox merge, which knows no program. */
PROMISE(data_ranks, merge_gives_all_new_ranks_the_position)
{
	char *arguments[] = {"merge", "--mesh", "data=3", "set", "new", NULL};
	struct philox_data *data[BED_RANKS];
	struct bed bed;

	enter_set();
	open_run(&bed, f, "data=0/2", data);
	for (unsigned i = 0; i < 2; i++)
		OK(philox_data_advance(data[i], 96, NULL));
	save_bed(&bed, "set");
	bed_close(&bed);
	cr_assert_eq(quiet_merge(5, arguments), 0);
	open_run(&bed, f, "data=0/3", data);
	load_bed(&bed, "new");
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(position_of(data[i]), 96);
	bed_close(&bed);
	leave_set();
}
