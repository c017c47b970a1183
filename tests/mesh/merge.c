/*
 * tests/mesh/merge.c - what another mesh makes of a set, rule by rule
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/ranks/set.h"
#include "tools/tools.h"

static const struct along along_none = {{NULL}, 0};
static const struct along along_data = {{"data"}, 1};
static const struct along along_tensor = {{"tensor"}, 1};
static const struct along along_both = {{"tensor", "data"}, 2};

/* A bed of a mesh whose ranks all have one region. */
struct one {
	struct bed bed;
	struct philox_region *region[BED_RANKS];
};

static void open_one_of(struct one *one, struct fixture *f,
			const struct philox_mesh *mesh,
			const struct along *along)
{
	bed_open(&one->bed, f, mesh, 5);
	for (unsigned i = 0; i < one->bed.n; i++)
		one->region[i] =
			make_along(one->bed.context[i], "noise", along);
}

static void open_one(struct one *one, struct fixture *f, const char *mesh,
		     const struct along *along)
{
	struct philox_mesh of = mesh_of(mesh);

	open_one_of(one, f, &of, along);
}

static void skip_forwards(struct philox_region *region, unsigned n)
{
	while (n--) {
		struct philox_ticket ticket;
		struct philox_pass pass;

		OK(philox_forward_begin(region, NULL, 0, &pass));
		OK(philox_pass_commit(&pass, 0, &ticket));
		OK(philox_ticket_release(region, NULL, ticket));
	}
}

/* The region's next forward has the numbers of its seed at an offset. */
static void next_is(struct fixture *f, struct philox_region *region,
		    const struct philox_mesh *mesh, const struct along *along,
		    uint64_t offset, uint64_t serial)
{
	struct forward next = forward(f, region);

	SAME(next.saw,
	     model_numbers(model_region(5, "noise", mesh, along), offset),
	     "not at offset %d", (int)offset);
	cr_assert_eq(next.ticket.serial, serial);
}

#define CONTEXT(one, rank) ((one).bed.context[rank])

/* --- agreement ------------------------------------------------------------ */

/* Two stages: other texts that differ so are not sealed. */
PROMISE(mesh_merge, refuses_texts_that_do_not_agree_about_a_region)
{
	struct philox_mesh mesh = mesh_of("data=0/2");
	struct one old, new;

	enter_set();
	mesh.axes[0].flags = PHILOX_AXIS_STAGES;
	open_one_of(&old, f, &mesh, &along_none);
	open_one(&new, f, "data=0/1", &along_none);
	skip_forwards(old.region[1], 1);
	save_bed(&old.bed, "set");
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("'set': region 'noise': the serial of its next forward is 1 in "
	      "the text of rank 0, 2 in that of rank 1");
	forward(f, old.region[0]); /* pending here only */
	save_bed(&old.bed, "set");
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("region 'noise', ticket 1: it is pending in the text of rank 0, "
	      "gone in that of rank 1");
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

PROMISE(mesh_merge, refuses_texts_that_do_not_agree_about_generators)
{
	struct philox_mesh mesh = mesh_of("data=0/3");
	struct one old, new;

	enter_set();
	mesh.axes[0].flags = PHILOX_AXIS_STAGES;
	open_one_of(&old, f, &mesh, &along_data);
	open_one(&new, f, "data=0/1", &along_data);
	OK(philox_generator_advance(philox_context_generator(CONTEXT(old, 2)),
				    8, NULL));
	save_bed(&old.bed, "set");
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("generator 0: offset is 0 in the text of rank 0, 8 in that of "
	      "rank 2");
	bed_close(&old.bed);
	open_one(&old, f, "data=0/3", &along_data);
	load_bed(&old.bed, "set"); /* each its own: it is the same mesh */
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

static struct philox_rows *make_table(struct philox_context *context,
				      const char *name, uint32_t count)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct philox_rows *rows;

	options.name = name;
	options.count = count;
	OK(philox_rows_create(context, &options, &rows));
	return rows;
}

static struct philox_state row_state(struct fixture *f,
				     struct philox_rows *rows, uint32_t row)
{
	struct philox_state state;

	OK(philox_rows_get(rows, NULL, row, 1, &state));
	OK(philox_device_synchronize(f->device));
	return state;
}

static void set_row(struct fixture *f, struct philox_rows *rows, uint32_t row,
		    uint64_t offset)
{
	struct philox_state state = row_state(f, rows, row);

	state.offset = offset;
	OK(philox_rows_set(rows, NULL, &row, &state, 1));
}

static uint64_t offset_of_row(struct fixture *f, struct philox_rows *rows,
			      uint32_t row)
{
	return row_state(f, rows, row).offset;
}

PROMISE(mesh_merge, wants_tables_to_agree_row_by_row)
{
	struct one old, new;
	struct philox_rows *tables[2], *table;

	enter_set();
	open_one(&old, f, "data=0/2", &along_none);
	open_one(&new, f, "data=0/1", &along_none);
	table = make_table(CONTEXT(new, 0), "requests", 3);
	for (int i = 0; i < 2; i++) {
		tables[i] = make_table(CONTEXT(old, i), "requests", 3);
		set_row(f, tables[i], 1, 40);
		set_row(f, tables[i], 2, 16);
	}
	save_bed(&old.bed, "set");
	OK(philox_context_load_ranks(CONTEXT(new, 0), "set"));
	cr_assert_eq(offset_of_row(f, table, 1), 40);
	set_row(f, tables[1], 2, 20);
	save_bed(&old.bed, "set");
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("rows 'requests', row 2: offset is 16 in the text of rank 0, 20 "
	      "in that of rank 1");
	load_bed(&old.bed, "set"); /* the same mesh: each its own */
	cr_assert_eq(offset_of_row(f, tables[0], 2), 16);
	cr_assert_eq(offset_of_row(f, tables[1], 2), 20);
	make_table(CONTEXT(old, 0), "others", 1);
	FAILS(philox_context_load_ranks(CONTEXT(old, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("rows 'others' are in no text of the set");
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

PROMISE(mesh_merge, wants_one_shape_of_a_region)
{
	struct philox_mesh mesh = mesh_of("data=0/2");
	const struct philox_op_desc ops[] = {{"first", 1, 4}};
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_region *other;
	struct bed old;
	struct one new;

	enter_set();
	bed_open(&old, f, &mesh, 5);
	open_one(&new, f, "data=0/1", &along_data);
	options.name = "noise";
	options.ops = ops;
	options.n_ops = 1;
	make_along(old.context[0], "noise", &along_data);
	OK(philox_region_create(old.context[1], &options, &other));
	save_bed(&old, "set");
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("region 'noise': along axis 'data' it differs in the text of "
	      "rank 0, is shared in that of rank 1");
	OK(philox_region_destroy(other));
	options.differs = along_data.names;
	options.n_differs = 1;
	OK(philox_region_create(old.context[1], &options, &other));
	save_bed(&old, "set");
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("region 'noise'");
	NAMES("in the text of rank 0");
	bed_close(&old);
	bed_close(&new.bed);
	leave_set();
}

PROMISE(mesh_merge, wants_a_region_to_differ_along_the_same_axes)
{
	struct one old, shared, both;

	enter_set();
	open_one(&old, f, "data=0/2 tensor=0/2", &along_data);
	save_bed(&old.bed, "set");
	open_one(&shared, f, "data=0/2 tensor=0/1", &along_none);
	FAILS(philox_context_load_ranks(CONTEXT(shared, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("region 'noise': differs along axis 'data' in the text of rank "
	      "0, and is not to be loaded as one that differs along it");
	open_one(&both, f, "data=0/2 tensor=0/1", &along_both);
	FAILS(philox_context_load_ranks(CONTEXT(both, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("region 'noise': is shared along axis 'tensor' in the text");
	bed_close(&old.bed);
	bed_close(&shared.bed);
	bed_close(&both.bed);
	leave_set();
}

PROMISE(mesh_merge, names_a_region_that_no_text_has)
{
	struct one old, new;

	enter_set();
	open_one(&old, f, "data=0/2", &along_none);
	open_one(&new, f, "data=0/1", &along_none);
	make_region_of(CONTEXT(new, 0), "more", 0, NULL);
	save_bed(&old.bed, "set");
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("region 'more' is in no text of the set");
	for (int i = 0; i < 2; i++)
		OK(philox_region_destroy(old.region[i]));
	save_bed(&old.bed, "set");
	bed_close(&new.bed);
	open_one(&new, f, "data=0/1", &along_none);
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("region 'noise' is destroyed in the set");
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

/* --- tickets and fresh coordinates ---------------------------------------- */

struct log {
	unsigned fresh;
	char text[512], region[64];
};

static void keep_log(void *user, const struct philox_log_entry *entry)
{
	struct log *log = user;

	if (strcmp(entry->event, "fresh"))
		return;
	cr_assert_eq(entry->level, PHILOX_LOG_INFO);
	log->fresh++;
	snprintf(log->text, sizeof(log->text), "%s", entry->text);
	snprintf(log->region, sizeof(log->region), "%s", entry->region);
}

PROMISE(mesh_merge, says_which_regions_start_fresh)
{
	struct one old, new;

	enter_set();
	open_one(&old, f, "data=0/2", &along_data);
	skip_forwards(old.region[0], 2);
	skip_forwards(old.region[1], 5);
	save_bed(&old.bed, "set");
	open_one(&new, f, "data=0/3", &along_data);
	for (unsigned i = 0; i < 3; i++) {
		struct log log = {0};

		OK(philox_context_set_log(CONTEXT(new, i), keep_log, &log));
		OK(philox_context_load_ranks(CONTEXT(new, i), "set"));
		OK(philox_context_set_log(CONTEXT(new, i), NULL, NULL));
		cr_assert_eq(log.fresh, i == 2);
		if (i < 2)
			continue;
		cr_assert_str_eq(log.region, "noise");
		cr_assert_str_eq(log.text,
				 "region 'noise' starts fresh at offset 20: "
				 "the set has no coordinate 2 along axis "
				 "'data'");
	}
	load_bed(&new.bed, "set");
	next_is(f, new.region[0], &new.bed.mesh[0], &along_data, 8, 3);
	next_is(f, new.region[1], &new.bed.mesh[1], &along_data, 20, 6);
	next_is(f, new.region[2], &new.bed.mesh[2], &along_data, 20, 6);
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

PROMISE(mesh_merge, moves_tickets_whole_and_divides_none)
{
	struct one old, new;
	struct forward owed;

	enter_set();
	open_one(&old, f, "data=0/2 tensor=0/2", &along_tensor);
	forward(f, old.region[0]);
	forward(f, old.region[2]); /* the same coordinate of tensor */
	owed = forward(f, old.region[1]);
	forward(f, old.region[3]);
	save_bed(&old.bed, "set");
	open_one(&new, f, "data=0/3 tensor=0/2", &along_tensor);
	load_bed(&new.bed, "set");
	owed.region = new.region[5];
	backward(f, &owed, 0);
	bed_close(&new.bed);
	open_one(&new, f, "data=0/2 tensor=0/1", &along_tensor);
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("region 'noise' differs along axis 'tensor', whose size was 2 "
	      "and is 1: 1 ticket that is pending in the text of rank 0 cannot "
	      "be divided");
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

/* 4, then 2, then 4 again: the numbers of 2 and 3 are not drawn again. */
PROMISE(mesh_merge, never_repeats_numbers_of_coordinates_that_were_gone)
{
	struct one four, two, again;
	char *text;

	enter_set();
	open_one(&four, f, "data=0/4", &along_data);
	skip_forwards(four.region[0], 1);
	skip_forwards(four.region[1], 2);
	skip_forwards(four.region[3], 9);
	save_bed(&four.bed, "four");
	open_one(&two, f, "data=0/2", &along_data);
	load_bed(&two.bed, "four");
	text = context_text(CONTEXT(two, 0));
	cr_assert(strstr(text, "\nissued 36 serial 10\n"), "%s", text);
	free(text);
	save_bed(&two.bed, "two");
	open_one(&again, f, "data=0/4", &along_data);
	load_bed(&again.bed, "two");
	next_is(f, again.region[0], &again.bed.mesh[0], &along_data, 4, 2);
	next_is(f, again.region[2], &again.bed.mesh[2], &along_data, 36, 10);
	next_is(f, again.region[3], &again.bed.mesh[3], &along_data, 36, 10);
	bed_close(&four.bed);
	bed_close(&two.bed);
	bed_close(&again.bed);
	leave_set();
}

/* The axis has gone, and the region is shared for a while. */
PROMISE(mesh_merge, remembers_what_an_axis_that_is_gone_has_issued)
{
	struct one four, one, again;

	enter_set();
	open_one(&four, f, "data=0/4", &along_data);
	skip_forwards(four.region[3], 9);
	save_bed(&four.bed, "four");
	open_one(&one, f, "tensor=0/2", &along_none);
	load_bed(&one.bed, "four");
	next_is(f, one.region[1], NULL, &along_none, 0, 1);
	OK(philox_ticket_release(one.region[1], NULL,
				 (struct philox_ticket){fnv1a("noise"), 1}));
	skip_forwards(one.region[0], 1);
	save_bed(&one.bed, "one");
	open_one(&again, f, "data=0/4", &along_data);
	load_bed(&again.bed, "one");
	next_is(f, again.region[3], &again.bed.mesh[3], &along_data, 36, 10);
	bed_close(&four.bed);
	bed_close(&one.bed);
	bed_close(&again.bed);
	leave_set();
}

PROMISE(mesh_merge, takes_another_name_for_another_axis)
{
	struct philox_mesh mesh = mesh_of("model=1/2");
	const struct along along_model = {{"model"}, 1};
	struct one old, new;

	enter_set();
	open_one(&old, f, "tensor=0/2", &along_tensor);
	skip_forwards(old.region[0], 1);
	skip_forwards(old.region[1], 3);
	save_bed(&old.bed, "set");
	open_one(&new, f, "model=0/2", &along_model);
	load_bed(&new.bed, "set");
	next_is(f, new.region[0], NULL, &along_none, 4, 2);
	next_is(f, new.region[1], &mesh, &along_model, 12, 4);
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

/* --- names ---------------------------------------------------------------- */

PROMISE(mesh_merge, keeps_names_that_nobody_wants)
{
	struct philox_mesh mesh = mesh_of("data=0/1");
	struct philox_region *region;
	struct one old;
	struct bed new;

	enter_set();
	open_one(&old, f, "data=0/3", &along_none);
	for (unsigned i = 0; i < 3; i++)
		skip_forwards(old.region[i], 1 + 4 * (i == 1));
	OK(philox_region_destroy(old.region[1]));
	OK(philox_region_destroy(old.region[2]));
	save_bed(&old.bed, "set"); /* alive in one, destroyed in two */
	bed_open(&new, f, &mesh, 5);
	OK(philox_context_load_ranks(new.context[0], "set"));
	region = make_along(new.context[0], "noise", &along_none);
	next_is(f, region, NULL, &along_none, 20, 6);
	bed_close(&old.bed);
	bed_close(&new);
	leave_set();
}

PROMISE(mesh_merge, keeps_names_of_the_own_text_on_the_same_mesh)
{
	struct philox_mesh mesh = mesh_of("data=0/2");
	struct philox_region *region;
	struct one old;
	struct bed new;

	enter_set();
	open_one(&old, f, "data=0/2", &along_data);
	skip_forwards(old.region[0], 1);
	skip_forwards(old.region[1], 5);
	save_bed(&old.bed, "set");
	bed_open(&new, f, &mesh, 5);
	load_bed(&new, "set");
	region = make_along(new.context[0], "noise", &along_data);
	next_is(f, region, &new.mesh[0], &along_data, 4, 2);
	bed_close(&old.bed);
	bed_close(&new);
	leave_set();
}

/* --- the same mesh -------------------------------------------------------- */

PROMISE(mesh_merge, reads_one_text_on_the_same_mesh)
{
	struct one old, again;
	struct philox_mesh mesh;

	enter_set();
	open_one(&old, f, "data=0/2 tensor=0/2", &along_both);
	skip_forwards(old.region[2], 3);
	save_bed(&old.bed, "set");
	cr_assert(!unlink("set.0") && !unlink("set.1") && !unlink("set.3"));
	/* in another order, with a third axis and stages: it is the same */
	mesh = mesh_of("tensor=0/2 seq=0/1 data=0/2");
	mesh.axes[0].flags = PHILOX_AXIS_STAGES;
	bed_open(&again.bed, f, &mesh, 5);
	for (unsigned i = 0; i < 4; i++)
		again.region[i] =
			make_along(CONTEXT(again, i), "noise", &along_both);
	OK(philox_context_load_ranks(CONTEXT(again, 1),
				     "set")); /* data 1, tensor 0 */
	next_is(f, again.region[1], &again.bed.mesh[1], &along_both, 12, 4);
	FAILS(philox_context_load_ranks(CONTEXT(again, 0), "set"),
	      PHILOX_ERROR_FILE);
	NAMES("'set.0'");
	bed_close(&old.bed);
	bed_close(&again.bed);
	leave_set();
}

PROMISE(mesh_merge, finds_regions_that_have_moved_to_another_stage)
{
	struct philox_mesh mesh = mesh_of("pipe=0/2");
	struct philox_region *region;
	struct forward owed;
	struct bed old, new;

	enter_set();
	bed_open(&old, f, &mesh, 5);
	region = make_along(old.context[0], "noise", &along_none);
	make_region_of(old.context[1], "block", 0, NULL);
	owed = forward(f, region);
	save_bed(&old, "set");
	bed_open(&new, f, &mesh, 5);
	make_region_of(new.context[0], "block", 0, NULL);
	owed.region = make_along(new.context[1], "noise", &along_none);
	load_bed(&new, "set");
	backward(f, &owed, 0);
	next_is(f, owed.region, NULL, &along_none, 4, 2);
	bed_close(&old);
	bed_close(&new);
	leave_set();
}

/* All that have it are read, not the first only. */
PROMISE(mesh_merge, wants_all_texts_to_agree_about_what_has_moved)
{
	struct philox_mesh mesh = mesh_of("pipe=0/3");
	struct one old, new;

	enter_set();
	mesh.axes[0].flags = PHILOX_AXIS_STAGES;
	open_one_of(&old, f, &mesh, &along_none);
	skip_forwards(old.region[1], 2);
	OK(philox_region_destroy(old.region[2]));
	save_bed(&old.bed, "set");
	open_one(&new, f, "pipe=0/3", &along_none);
	FAILS(philox_context_load_ranks(CONTEXT(new, 2), "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("region 'noise': the serial of its next forward is 1 in the text "
	      "of rank 0, 3 in that of rank 1");
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

static struct philox_region *make_sequential(struct philox_context *context)
{
	struct philox_op_desc op = {"op", 0, 0};
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_region *region;

	options.name = "sequential";
	options.ops = &op;
	options.n_ops = 1;
	options.flags = PHILOX_REGION_SHARED;
	OK(philox_region_create(context, &options, &region));
	return region;
}

/* Its serials go on after those of the name that was destroyed elsewhere. */
PROMISE(mesh_merge, marks_nothing_as_issued_of_a_sequential_region)
{
	struct one old, new;
	struct philox_region *of[2], *made;
	char *text;

	enter_set();
	open_one(&old, f, "data=0/2", &along_none);
	open_one(&new, f, "data=0/1", &along_none);
	for (unsigned i = 0; i < 2; i++)
		of[i] = make_sequential(CONTEXT(old, i));
	made = make_sequential(CONTEXT(new, 0));
	skip_forwards(of[0], 3);
	skip_forwards(of[1], 3);
	OK(philox_region_destroy(of[1]));
	of[1] = make_sequential(CONTEXT(old, 1));
	skip_forwards(of[1], 4);
	OK(philox_region_destroy(of[1]));
	skip_forwards(of[0], 4);
	of[1] = make_sequential(CONTEXT(old, 1));
	OK(philox_region_destroy(of[1]));
	save_bed(&old.bed, "set");
	OK(philox_context_load_ranks(CONTEXT(new, 0), "set"));
	OK(philox_context_save_text(CONTEXT(new, 0), &text, NULL));
	cr_assert(!strstr(text, "issued"), "%s", text);
	OK(philox_context_load_text(CONTEXT(new, 0), text, strlen(text)));
	free(text);
	skip_forwards(made, 1);
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

/* A text without a mesh may name axes; along them nothing has differed yet. */
PROMISE(mesh_merge, takes_what_differed_without_a_mesh_as_shared)
{
	struct philox_region *region;
	struct one new;
	struct forward made;

	enter_set();
	OK(philox_generator_seed(philox_context_generator(f->context), 5));
	region = make_along(f->context, "noise", &along_data);
	skip_forwards(region, 3);
	made = forward(f, region);
	OK(philox_context_save(f->context, "set"));
	open_one(&new, f, "data=0/2", &along_none);
	for (unsigned i = 0; i < 2; i++) {
		OK(philox_context_load_ranks(CONTEXT(new, i), "set"));
		made.region = new.region[i];
		backward(f, &made, 0);
		next_is(f, new.region[i], &new.bed.mesh[i], &along_none, 16, 5);
	}
	bed_close(&new.bed);
	leave_set();
}

PROMISE(mesh_merge, refuses_to_move_what_differs_to_another_coordinate)
{
	struct philox_mesh mesh = mesh_of("pipe=0/2");
	const struct along along_pipe = {{"pipe"}, 1};
	struct bed old, new;

	enter_set();
	bed_open(&old, f, &mesh, 5);
	make_along(old.context[0], "noise", &along_pipe);
	save_bed(&old, "set");
	bed_open(&new, f, &mesh, 5);
	make_along(new.context[1], "noise", &along_pipe);
	FAILS(philox_context_load_ranks(new.context[1], "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("region 'noise' differs along axis 'pipe', and no text that has "
	      "it is at the place of rank 1");
	bed_close(&old);
	bed_close(&new);
	leave_set();
}

/* --- one text ------------------------------------------------------------- */

PROMISE(mesh_merge, takes_the_text_of_a_single_process)
{
	struct philox_region *region = make_region(f, "noise");
	struct one ranks;
	struct log log = {0};
	char *text;

	enter_set();
	skip_forwards(region, 3);
	OK(philox_context_save(f->context, "alone"));
	text = file_text("alone");
	cr_assert(!strncmp(text, "philox context 1\n", 17));
	free(text);
	open_one(&ranks, f, "data=0/2 tensor=0/2", &along_data);
	for (unsigned i = 0; i < 4; i++)
		OK(philox_generator_seed(
			philox_context_generator(CONTEXT(ranks, i)), 99));
	OK(philox_context_set_log(CONTEXT(ranks, 3), keep_log, &log));
	load_bed(&ranks.bed, "alone");
	cr_assert_eq(log.fresh, 1);
	for (unsigned i = 0; i < 4; i++) {
		struct forward next = forward(f, ranks.region[i]);

		SAME(next.saw,
		     model_numbers(model_region(0, "noise", &ranks.bed.mesh[i],
						&along_data),
				   12),
		     "rank %u", i);
	}
	bed_close(&ranks.bed);
	leave_set();
}

PROMISE(mesh_merge, goes_on_shared_with_tickets_from_a_single_process)
{
	struct philox_region *region = make_region(f, "noise");
	struct forward owed = forward(f, region);
	struct one ranks;

	enter_set();
	make_table(f->context, "requests", 2); /* version 2 */
	OK(philox_context_save(f->context, "alone"));
	open_one(&ranks, f, "data=0/2", &along_none);
	for (unsigned i = 0; i < 2; i++) {
		make_table(CONTEXT(ranks, i), "requests", 2);
		OK(philox_context_load_ranks(CONTEXT(ranks, i), "alone"));
		owed.region = ranks.region[i];
		backward(f, &owed, 0);
	}
	bed_close(&ranks.bed);
	open_one(&ranks, f, "data=0/2", &along_data);
	FAILS(philox_context_load_ranks(CONTEXT(ranks, 0), "alone"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("cannot be divided");
	bed_close(&ranks.bed);
	leave_set();
}

PROMISE(mesh_merge, refuses_one_text_of_many_and_other_files)
{
	struct one old, new;

	enter_set();
	open_one(&old, f, "data=0/2", &along_none);
	open_one(&new, f, "data=0/1", &along_none);
	save_bed(&old.bed, "set");
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set.1"),
	      PHILOX_ERROR_MISMATCH);
	NAMES("'set.1': the text of rank 1 of 2: load the manifest");
	put_text("other", "something else\n");
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "other"),
	      PHILOX_ERROR_INVALID);
	NAMES("'other': line 1");
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

/* --- texts that say the same ---------------------------------------------- */

/* The ranks of a set whose texts are there no more. */
static void unlink_texts(const char *ranks)
{
	for (; *ranks; ranks++) {
		char path[8] = "set.?";

		path[4] = *ranks;
		cr_assert(!unlink(path), "%s", path);
	}
}

PROMISE(mesh_merge, reads_one_of_the_texts_that_say_the_same)
{
	struct one old, new;

	enter_set();
	open_one(&old, f, "data=0/2 tensor=0/3", &along_tensor);
	open_one(&new, f, "data=0/4 tensor=0/3", &along_tensor);
	for (unsigned i = 0; i < 6; i++)
		skip_forwards(old.region[i], 1 + i % 3);
	save_bed(&old.bed, "set");
	unlink_texts("345");
	load_bed(&new.bed, "set");
	for (unsigned i = 0; i < new.bed.n; i++)
		next_is(f, new.region[i], &new.bed.mesh[i], &along_tensor,
			4 * (1 + i % 3), 2 + i % 3);
	make_older("set");
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_FILE);
	NAMES("'set.3'");
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

/* The one that is read is still that of the set. */
PROMISE(mesh_merge, checks_the_texts_that_it_reads)
{
	char *inspect[] = {"inspect", "set"};
	struct one old, new;
	char *text;

	enter_set();
	open_one(&old, f, "data=0/2", &along_none);
	open_one(&new, f, "data=0/1", &along_none);
	skip_forwards(old.region[0], 1);
	skip_forwards(old.region[1], 1);
	save_bed(&old.bed, "set");
	text = file_text("set.1");
	put_bytes("set.1", text, 100);
	OK(philox_context_load_ranks(CONTEXT(new, 0), "set"));
	cr_assert_eq(quietly(tool_inspect, 2, inspect), 1);
	put_text("set.1", text);
	cr_assert_eq(quietly(tool_inspect, 2, inspect), 0);
	put_bytes("set.0", text, 100);
	FAILS(philox_context_load_ranks(CONTEXT(new, 0), "set"),
	      PHILOX_ERROR_INVALID);
	NAMES("'set.0': line ");
	free(text);
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}

/* Two places of a region with one seed, as no program makes them. */
PROMISE(mesh_merge, reads_a_text_that_says_the_same_of_another_place)
{
	struct one old, new;
	char *first, *own, *second, *state;

	enter_set();
	open_one(&old, f, "data=0/2", &along_data);
	save_bed(&old.bed, "set");
	first = file_text("set.0");
	state = strstr(first, " next ");
	own = strndup(state, 6 + 16);
	second = changed_text(first, "axis \"data\" size 2 at 0",
			      "axis \"data\" size 2 at 1");
	put_text("set.1", second);
	OK(philox_mesh_seal(&old.bed.mesh[0], "set"));
	for (int older = 0; older < 2; older++) {
		open_one(&new, f, "data=0/2 tensor=0/2", &along_data);
		if (older)
			make_older("set");
		load_bed(&new.bed, "set");
		for (unsigned i = 0; i < 4; i++) {
			char *text = context_text(CONTEXT(new, i));

			cr_assert(strstr(text, own), "rank %u: %s", i, text);
			free(text);
		}
		bed_close(&new.bed);
	}
	free(second);
	free(own);
	free(first);
	bed_close(&old.bed);
	leave_set();
}

/* A rank of another mesh takes no outputs. */
PROMISE(mesh_merge, does_not_mind_outputs_of_other_ranks)
{
	struct one old, new;
	char *text, *five, *both, outputs[128];

	enter_set();
	open_one(&old, f, "data=0/3", &along_none);
	open_one(&new, f, "data=0/1", &along_none);
	for (unsigned i = 0; i < 3; i++) {
		char path[8];

		OK(philox_context_save_rank(CONTEXT(old, i), "set"));
		snprintf(path, sizeof(path), "set.%u", i);
		text = file_text(path);
		five = changed_text(text, "context 4", "context 5");
		snprintf(outputs, sizeof(outputs),
			 "\noutputs \"r\" digest 000000000000000%u\nchecksum ",
			 i);
		both = changed_text(five, "\nchecksum ", outputs);
		put_text(path, i ? both : text);
		free(both);
		free(five);
		free(text);
	}
	OK(philox_mesh_seal(&old.bed.mesh[0], "set"));
	unlink_texts("12");
	OK(philox_context_load_ranks(CONTEXT(new, 0), "set"));
	bed_close(&old.bed);
	bed_close(&new.bed);
	leave_set();
}
