/*
 * tests/mesh/agree.c - ranks that do not run one program are told what differs;
 * those that do are not
 *
 * The mesh is data 2 x stage 2 x tensor 2, so rank 5 is at data 1, stage 0,
 * tensor 1; its neighbours are rank 4 along tensor and rank 1 along data.
 */
#include <stdio.h>
#include <stdlib.h>
#include "lib/state/state.h"
#include "tests/support/allocations.h"
#include "tests/support/ranks/ranks.h"
#include "tests/support/support.h"

enum { ODD = 5 };

static const struct philox_axis axes[] = {
	{.name = "data", .n_ranks = 2},
	{.name = "stage", .n_ranks = 2, .flags = PHILOX_AXIS_STAGES},
	{.name = "tensor", .n_ranks = 2}};

static const char *const data[] = {"data"};
static const char *const both[] = {"tensor", "data"};

static const struct philox_op_desc plain_ops[] = {{"mask", 1, 4},
						  {"noise", 2, 8}};

/* The regions of a rank, which faults reach by name. */
struct recipe {
	const char *name;
	unsigned flags;
	const char *const *differs;
	size_t n_differs;
	int stage; /* or -1: all */
};

static const struct recipe recipes[] = {
	{"block", 0, NULL, 0, -1},
	{"noise", 0, data, 1, -1},
	{"own", 0, both, 2, -1},
	{"in order", PHILOX_REGION_SHARED, NULL, 0, -1},
	{"embedding", 0, NULL, 0, 0},
	{"head", 0, NULL, 0, 1}};

enum { RECIPES = sizeof(recipes) / sizeof(recipes[0]), PENDING_MOST = 16 };

struct rank {
	struct philox_context *context;
	struct philox_generator *generator; /* the second one */
	struct philox_region *regions[RECIPES];
	struct philox_rows *rows;
};

struct world {
	struct ranks_bed bed;
	struct rank ranks[8];
};

static struct philox_region_desc options_of(const struct recipe *recipe)
{
	return (struct philox_region_desc){
		.size = sizeof(struct philox_region_desc),
		.name = recipe->name,
		.ops = plain_ops,
		.n_ops = 2,
		.flags = recipe->flags,
		.differs = recipe->differs,
		.n_differs = recipe->n_differs};
}

static struct philox_ticket forward_of(struct philox_region *region)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, NULL, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

static void backward_of(struct philox_region *region,
			struct philox_ticket ticket, unsigned flags)
{
	struct philox_pass pass;

	OK(philox_backward_begin(region, NULL, ticket, flags, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
}

static void make_table(struct rank *rank, uint32_t count)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "requests", .count = count};

	OK(philox_rows_create(rank->context, &options, &rank->rows));
}

/* In another order and with other room on each rank, and other numbers of
 * forwards where ranks differ. */
static void make_rank(struct world *world, unsigned number)
{
	struct rank *rank = &world->ranks[number];
	const uint32_t stage = ranks_at(&world->bed, number, "stage");
	const uint32_t at_data = ranks_at(&world->bed, number, "data");
	const uint32_t at_tensor = ranks_at(&world->bed, number, "tensor");

	rank->context = world->bed.contexts[number];
	OK(philox_generator_create(rank->context, 7, &rank->generator));
	for (unsigned k = 0; k < RECIPES; k++) {
		const unsigned i = number % 2 ? RECIPES - 1 - k : k;
		struct philox_region_desc options = options_of(&recipes[i]);
		unsigned forwards = 2;

		if (recipes[i].stage >= 0 && recipes[i].stage != (int)stage)
			continue;
		if (recipes[i].differs)
			forwards += at_data;
		if (recipes[i].n_differs > 1)
			forwards += 2 * at_tensor;
		options.pending = 8 + number;
		OK(philox_region_create(rank->context, &options,
					&rank->regions[i]));
		while (forwards--)
			forward_of(rank->regions[i]);
	}
	if (stage == 1)
		make_table(rank, 4);
}

static void make_world(struct world *world, struct philox_device *device)
{
	memset(world, 0, sizeof(*world));
	ranks_open(&world->bed, device, axes, 3);
	for (unsigned rank = 0; rank < world->bed.n; rank++)
		make_rank(world, rank);
}

static struct philox_region *region_of(const struct rank *rank,
				       const char *name)
{
	for (unsigned i = 0; i < RECIPES; i++)
		if (!strcmp(recipes[i].name, name))
			return rank->regions[i];
	cr_assert_fail("no region %s", name);
	return NULL;
}

static struct philox_ticket ticket_of(const struct rank *rank, const char *name,
				      uint64_t serial)
{
	struct philox_ticket tickets[PENDING_MOST];
	size_t n;

	OK(philox_region_tickets(region_of(rank, name), tickets, PENDING_MOST,
				 &n));
	for (size_t i = 0; i < n; i++)
		if (tickets[i].serial == serial)
			return tickets[i];
	cr_assert_fail("no ticket");
	return tickets[0];
}

/* Destroys a region and makes another of that name. */
static void make_again(struct rank *rank, const char *name,
		       const struct philox_region_desc *options)
{
	struct philox_region *made;

	OK(philox_region_destroy(region_of(rank, name)));
	OK(philox_region_create(rank->context, options, &made));
	for (unsigned i = 0; i < RECIPES; i++)
		if (!strcmp(recipes[i].name, name))
			rank->regions[i] = made;
}

static const struct recipe *recipe_of(const char *name)
{
	for (unsigned i = 0; i < RECIPES; i++)
		if (!strcmp(recipes[i].name, name))
			return &recipes[i];
	cr_assert_fail("no region %s", name);
	return NULL;
}

/* --- faults --------------------------------------------------------------- */

static void one_call_ahead(struct rank *rank)
{
	forward_of(region_of(rank, "block"));
}

static void one_inference_ahead(struct rank *rank)
{
	struct philox_pass pass;

	OK(philox_forward_begin(region_of(rank, "block"), NULL,
				PHILOX_PASS_INFERENCE, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
}

static void another_seed(struct rank *rank)
{
	OK(philox_generator_seed(philox_context_generator(rank->context), 99));
}

static void another_offset(struct rank *rank)
{
	OK(philox_generator_advance(rank->generator, 8, NULL));
}

static void a_generator_more(struct rank *rank)
{
	struct philox_generator *made;

	OK(philox_generator_create(rank->context, 0, &made));
}

static void a_generator_less(struct rank *rank)
{
	OK(philox_generator_destroy(rank->generator));
}

/* ... in the place of the one that the others have. */
static void a_generator_that_differs(struct rank *rank)
{
	OK(philox_generator_destroy(rank->generator));
	OK(philox_generator_create_flags(
		rank->context, 7, PHILOX_GENERATOR_DIFFERS, &rank->generator));
}

static void a_region_missing(struct rank *rank)
{
	OK(philox_region_destroy(region_of(rank, "block")));
}

static void a_region_more(struct rank *rank)
{
	static const char *const op = "x";
	struct philox_region *made;

	OK(philox_region_create_named(rank->context, "spare", &op, 1, &made));
}

static void a_ticket_released(struct rank *rank)
{
	OK(philox_ticket_release(region_of(rank, "block"), NULL,
				 ticket_of(rank, "block", 1)));
}

static void a_ticket_used_up(struct rank *rank)
{
	backward_of(region_of(rank, "block"), ticket_of(rank, "block", 2), 0);
}

static void a_ticket_retained(struct rank *rank)
{
	backward_of(region_of(rank, "block"), ticket_of(rank, "block", 2),
		    PHILOX_PASS_RETAIN);
}

static void other_op(struct rank *rank, size_t n_ops, struct philox_op_desc op)
{
	struct philox_region_desc options = options_of(recipe_of("head"));
	struct philox_op_desc ops[3] = {plain_ops[0], op, {"third", 1, 4}};

	if (rank->regions[5]) {
		options.ops = ops;
		options.n_ops = n_ops;
		make_again(rank, "head", &options);
	}
}

static void other_calls(struct rank *rank)
{
	other_op(rank, 2, (struct philox_op_desc){"noise", 3, 8});
}

static void other_advance(struct rank *rank)
{
	other_op(rank, 2, (struct philox_op_desc){"noise", 2, 4});
}

static void other_name(struct rank *rank)
{
	other_op(rank, 2, (struct philox_op_desc){"mask", 2, 8});
}

static void no_name(struct rank *rank)
{
	other_op(rank, 2, (struct philox_op_desc){NULL, 2, 8});
}

static void an_op_more(struct rank *rank)
{
	other_op(rank, 3, plain_ops[1]);
}

static void an_op_less(struct rank *rank)
{
	other_op(rank, 1, plain_ops[1]);
}

static void other_flags(struct rank *rank)
{
	struct philox_region_desc options = options_of(recipe_of("block"));

	options.flags = PHILOX_REGION_SHARED;
	make_again(rank, "block", &options);
}

static void other_generator(struct rank *rank)
{
	struct philox_region_desc options = options_of(recipe_of("block"));

	options.name = "new";
	options.generator = rank->generator;
	OK(philox_region_create(rank->context, &options,
				&(struct philox_region *){NULL}));
}

static void same_but_the_generator(struct rank *rank)
{
	struct philox_region_desc options = options_of(recipe_of("block"));

	options.name = "new";
	OK(philox_region_create(rank->context, &options,
				&(struct philox_region *){NULL}));
}

static void differs_here(struct rank *rank)
{
	struct philox_region_desc options = options_of(recipe_of("block"));

	options.differs = both;
	options.n_differs = 1;
	make_again(rank, "block", &options);
}

static void differs_more(struct rank *rank)
{
	struct philox_region_desc options = options_of(recipe_of("noise"));

	options.differs = both;
	options.n_differs = 2;
	make_again(rank, "noise", &options);
}

static void differs_less(struct rank *rank)
{
	struct philox_region_desc options = options_of(recipe_of("noise"));

	options.n_differs = 0;
	make_again(rank, "noise", &options);
}

static void noise_ahead(struct rank *rank)
{
	forward_of(region_of(rank, "noise"));
}

static void a_forward_open(struct rank *rank)
{
	struct philox_pass pass;

	OK(philox_forward_begin(region_of(rank, "block"), NULL, 0, &pass));
}

static void a_forward_open_in_order(struct rank *rank)
{
	struct philox_pass pass;

	OK(philox_forward_begin(region_of(rank, "in order"), NULL,
				PHILOX_PASS_WARMUP, &pass));
}

static void a_recompute_open(struct rank *rank)
{
	struct philox_pass pass;

	OK(philox_backward_begin(region_of(rank, "block"), NULL,
				 ticket_of(rank, "block", 2),
				 PHILOX_PASS_RETAIN, &pass));
}

static void a_backward_open(struct rank *rank)
{
	struct philox_pass pass;

	OK(philox_backward_begin(region_of(rank, "block"), NULL,
				 ticket_of(rank, "block", 2), 0, &pass));
}

/* A consuming backward that ends while a recompute is still open. */
static void a_ticket_done(struct rank *rank)
{
	a_recompute_open(rank);
	a_ticket_used_up(rank);
}

static void no_table(struct rank *rank)
{
	OK(philox_rows_destroy(rank->rows));
}

static void a_table_more(struct rank *rank)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "spare", .count = 1};

	OK(philox_rows_create(rank->context, &options,
			      &(struct philox_rows *){NULL}));
}

static void a_larger_table(struct rank *rank)
{
	if (rank->rows) {
		no_table(rank);
		make_table(rank, 5);
	}
}

static void a_table_of_another_generator(struct rank *rank)
{
	struct philox_rows_desc options = {.size = sizeof(options),
					   .name = "requests",
					   .count = 4,
					   .generator = rank->generator};

	if (rank->rows) {
		no_table(rank);
		OK(philox_rows_create(rank->context, &options, &rank->rows));
	}
}

#define ALONG(axis) "ranks do not agree along axis '" axis "': "

static const struct fault {
	void (*make)(struct rank *rank); /* on rank `odd` */
	unsigned odd;
	const char *words;
	void (*all)(struct rank *rank); /* before that, on all others */
} faults[] = {
	{one_call_ahead, ODD,
	 ALONG("tensor") "region 'block': the serial of its next forward is 3 "
			 "on ranks 0, 1 and 4, 4 on rank 5",
	 NULL},
	{one_inference_ahead, 0,
	 ALONG("tensor") "region 'block': the offset of its next forward is "
			 "24 on rank 0, 16 on ranks 1, 4 and 5",
	 NULL},
	{another_seed, ODD,
	 ALONG("tensor") "generator 0: seed is 0x0000000000000000 on ranks 0, "
			 "1, 2 and 4 others, 0x0000000000000063 on rank 5",
	 NULL},
	{another_offset, 7,
	 ALONG("tensor") "generator 1: offset is 0 on ranks 0, 1, 2 and 4 "
			 "others, 8 on rank 7",
	 NULL},
	{a_generator_more, 2,
	 ALONG("stage") "generators: their number is 2 on ranks 0, 1, 3 and 4 "
			"others, 3 on rank 2",
	 NULL},
	{a_generator_less, ODD,
	 ALONG("tensor") "generators: their number is 2 on ranks 0, 1, 2 and 4 "
			 "others, 1 on rank 5",
	 NULL},
	{a_generator_that_differs, ODD,
	 ALONG("tensor") "generator 1: between ranks it is shared on ranks 0, "
			 "1, 2 and 4 others, differs on rank 5",
	 NULL},
	{a_region_missing, ODD,
	 ALONG("tensor") "region 'block': it is there on ranks 0, 1 and 4, "
			 "missing on rank 5",
	 NULL},
	{a_region_more, 4,
	 ALONG("data") "region 'spare': it is missing on ranks 0, 1 and 5, "
		       "there on rank 4",
	 NULL},
	{a_ticket_released, ODD,
	 ALONG("tensor") "region 'block', ticket 1: it is pending on ranks 0, "
			 "1 and 4, gone on rank 5",
	 NULL},
	{a_ticket_used_up, ODD,
	 ALONG("tensor") "region 'block', ticket 2: it is pending on ranks 0, "
			 "1 and 4, gone on rank 5",
	 NULL},
	{a_ticket_retained, ODD,
	 ALONG("tensor") "region 'block', ticket 2: it is gone on ranks 0, 1 "
			 "and 4, pending on rank 5",
	 a_ticket_used_up},
	{other_calls, 7,
	 ALONG("tensor") "region 'head', op 1 ('noise'): calls is 2 on ranks "
			 "2, 3 and 6, 3 on rank 7",
	 NULL},
	{other_advance, 7,
	 ALONG("tensor") "region 'head', op 1 ('noise'): advance is 8 on ranks "
			 "2, 3 and 6, 4 on rank 7",
	 NULL},
	{other_name, 7,
	 ALONG("tensor") "region 'head', op 1: the name is 'noise' on ranks 2, "
			 "3 and 6, 'mask' on rank 7",
	 NULL},
	{no_name, 7,
	 ALONG("tensor") "region 'head', op 1: the name is 'noise' on ranks 2, "
			 "3 and 6, (unnamed) on rank 7",
	 NULL},
	{an_op_more, 7,
	 ALONG("tensor") "region 'head': the number of ops is 2 on ranks 2, 3 "
			 "and 6, 3 on rank 7",
	 NULL},
	{an_op_less, 7,
	 ALONG("tensor") "region 'head': the number of ops is 2 on ranks 2, 3 "
			 "and 6, 1 on rank 7",
	 NULL},
	{other_flags, ODD,
	 ALONG("tensor") "region 'block': flags is 0 on ranks 0, 1 and 4, 1 on "
			 "rank 5",
	 NULL},
	{other_generator, ODD,
	 ALONG("tensor") "region 'new': generator is 0 on ranks 0, 1 and 4, 1 "
			 "on rank 5",
	 same_but_the_generator},
	{differs_here, ODD,
	 ALONG("tensor") "region 'block': along axis 'tensor' it is shared on "
			 "ranks 0, 1 and 4, differs on rank 5",
	 NULL},
	{differs_more, ODD,
	 ALONG("tensor") "region 'noise': along axis 'tensor' it is shared on "
			 "ranks 0, 1 and 4, differs on rank 5",
	 NULL},
	{differs_less, ODD,
	 ALONG("tensor") "region 'noise': along axis 'data' it differs on "
			 "ranks 0, 1 and 4, is shared on rank 5",
	 NULL},
	{noise_ahead, ODD,
	 ALONG("tensor") "region 'noise': the serial of its next forward is 4 "
			 "on rank 4, 5 on rank 5",
	 NULL},
	{a_forward_open, ODD,
	 ALONG("tensor") "region 'block', ticket 3: it is pending on ranks 0, "
			 "1 and 4, open on rank 5",
	 one_call_ahead},
	{a_forward_open_in_order, ODD,
	 ALONG("tensor") "region 'in order': a forward of it is not open on "
			 "ranks 0, 1 and 4, open on rank 5",
	 NULL},
	{a_recompute_open, ODD,
	 ALONG("tensor") "region 'block', ticket 2: the number of its open "
			 "passes is 0 on ranks 0, 1 and 4, 1 on rank 5",
	 NULL},
	{a_backward_open, ODD,
	 ALONG("tensor") "region 'block', ticket 2: it is being read on ranks "
			 "0, 1 and 4, used up by a pass on rank 5",
	 a_recompute_open},
	{a_ticket_done, ODD,
	 ALONG("tensor") "region 'block', ticket 2: it is pending on ranks 0, "
			 "1 and 4, used up, but read on rank 5",
	 a_recompute_open},
	{no_table, 6,
	 ALONG("data") "rows 'requests': they are there on ranks 2, 3 and 7, "
		       "missing on rank 6",
	 NULL},
	{a_table_more, 5,
	 ALONG("tensor") "rows 'spare': they are missing on ranks 0, 1 and 4, "
			 "there on rank 5",
	 NULL},
	{a_larger_table, 6,
	 ALONG("data") "rows 'requests': count is 4 on ranks 2, 3 and 7, 5 on "
		       "rank 6",
	 NULL},
	{a_table_of_another_generator, 6,
	 ALONG("data") "rows 'requests': generator is 0 on ranks 2, 3 and 7, 1 "
		       "on rank 6",
	 NULL},
};

/* --- found ---------------------------------------------------------------- */

PROMISE(mesh_agree, finds_each_fault_and_names_it)
{
	struct world world;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct fault *fault = &faults[i];

		make_world(&world, f->device);
		ranks_do_agree(&world.bed);
		for (unsigned rank = 0; fault->all && rank < 8; rank++)
			if (rank != fault->odd)
				fault->all(&world.ranks[rank]);
		fault->make(&world.ranks[fault->odd]);
		ranks_do_not_agree(&world.bed, fault->words);
		ranks_close(&world.bed);
	}
}

/* What one does, the others may do, too; but not forget what they drew. */
PROMISE(mesh_agree, is_content_when_all_make_the_same_mistake)
{
	struct world world;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (faults[i].make == differs_less)
			continue;
		make_world(&world, f->device);
		for (unsigned rank = 0; rank < 8; rank++)
			faults[i].make(&world.ranks[rank]);
		ranks_do_agree(&world.bed);
		ranks_close(&world.bed);
	}
}

/* Neither its seed nor its offset; but regions are compared as any others. */
PROMISE(mesh_agree, does_not_compare_generators_that_differ)
{
	struct world world;
	char *text;

	make_world(&world, f->device);
	for (unsigned i = 0; i < 8; i++) {
		struct rank *rank = &world.ranks[i];

		a_generator_that_differs(rank);
		OK(philox_generator_seed(rank->generator, i % 3));
		OK(philox_generator_advance(rank->generator, 4 * i, NULL));
	}
	ranks_do_agree(&world.bed);
	OK(philox_context_rank_describe(world.ranks[4].context, &text, NULL));
	cr_assert(!strncmp(text, "philox ranks 2\n", 15), "%s", text);
	cr_assert(strstr(text, "\ngenerator 1 state 0000000000000001 "
			       "0000000000000010 differs\n"),
		  "%s", text);
	free(text);
	another_seed(&world.ranks[0]);
	ranks_do_not_agree(&world.bed,
			   ALONG("tensor") "generator 0: seed is "
					   "0x0000000000000063 on rank 0, "
					   "0x0000000000000000 on ranks 1, 2, "
					   "3 and 4 others");
	OK(philox_generator_seed(
		philox_context_generator(world.ranks[0].context), 0));
	ranks_close(&world.bed);

	make_world(&world, f->device);
	for (unsigned i = 0; i < 8; i++) {
		struct philox_region_desc options =
			options_of(recipe_of("block"));

		a_generator_that_differs(&world.ranks[i]);
		OK(philox_generator_seed(world.ranks[i].generator, i == ODD));
		options.name = "read";
		options.generator = world.ranks[i].generator;
		OK(philox_region_create(world.ranks[i].context, &options,
					&(struct philox_region *){NULL}));
	}
	FAILS(ranks_compare(&world.bed), PHILOX_ERROR_MISMATCH);
	FAILS(ranks_explain(&world.bed), PHILOX_ERROR_MISMATCH);
	NAMES("region 'read': the seed of its next forward is 0x");
	ranks_close(&world.bed);
}

/* A name goes on where it was, which is elsewhere on each rank along data. */
PROMISE(mesh_agree, forgets_destroyed_names_until_they_are_made_again)
{
	struct world world;

	make_world(&world, f->device);
	for (unsigned rank = 0; rank < 8; rank++)
		OK(philox_region_destroy(
			region_of(&world.ranks[rank], "noise")));
	ranks_do_agree(&world.bed);
	for (unsigned rank = 0; rank < 8; rank++) {
		struct philox_region_desc options =
			options_of(recipe_of("noise"));

		options.n_differs = 0;
		OK(philox_region_create(world.ranks[rank].context, &options,
					&(struct philox_region *){NULL}));
	}
	ranks_do_not_agree(&world.bed,
			   ALONG("data") "region 'noise': the serial of its "
					 "next forward is 3 on ranks 0 and 1, "
					 "4 on ranks 4 and 5");
	ranks_close(&world.bed);
}

/* --- rules of the digest -------------------------------------------------- */

static struct philox_rank_digest digest_of(struct philox_context *context)
{
	struct philox_rank_digest digest =
		PHILOX_INIT(struct philox_rank_digest);

	OK(philox_context_rank_digest(context, &digest));
	return digest;
}

PROMISE(mesh_agree, has_a_digest_for_each_axis_that_is_there)
{
	struct world world;
	struct philox_rank_digest before, after;

	make_world(&world, f->device);
	before = digest_of(world.ranks[ODD].context);
	cr_assert_eq(before.size, sizeof(before));
	cr_assert_eq(before.rank, ODD);
	for (unsigned i = 0; i < PHILOX_MESH_AXES; i++)
		cr_assert_eq(before.along[i] != 0, i < 3, "axis %u", i);
	cr_assert_eq(before.mesh, digest_of(world.ranks[0].context).mesh);
	/* of a region that differs along data and tensor no axis asks */
	forward_of(region_of(&world.ranks[ODD], "own"));
	after = digest_of(world.ranks[ODD].context);
	cr_assert(!memcmp(&before, &after, sizeof(before)));
	/* of one that differs along data, the axis tensor does */
	forward_of(region_of(&world.ranks[ODD], "noise"));
	after = digest_of(world.ranks[ODD].context);
	cr_assert_eq(before.along[0], after.along[0]);
	cr_assert_eq(before.along[1], after.along[1]);
	cr_assert_neq(before.along[2], after.along[2]);
	before = after;
	/* stages are asked for generators only */
	forward_of(region_of(&world.ranks[ODD], "block"));
	after = digest_of(world.ranks[ODD].context);
	cr_assert_neq(before.along[0], after.along[0]);
	cr_assert_eq(before.along[1], after.along[1]);
	another_offset(&world.ranks[ODD]);
	cr_assert_neq(digest_of(world.ranks[ODD].context).along[1],
		      after.along[1]);
	ranks_close(&world.bed);
}

/* Of a context with one generator more than it began with, and 8 or 9 others:
 * what a region of the last adds to its digest. */
static uint64_t region_of_last(struct philox_device *device, int destroyed)
{
	struct philox_region_desc options = options_of(&recipes[0]);
	struct philox_generator *made[10];
	struct philox_region *region;
	struct ranks_bed bed;
	uint64_t sums[2];

	ranks_open(&bed, device, axes, 3);
	for (int i = 0; i < 10; i++)
		if (destroyed || i != 4)
			OK(philox_generator_create(bed.contexts[0], 7,
						   &made[i]));
	if (destroyed)
		OK(philox_generator_destroy(made[4]));
	for (int with = 0; with < 2; with++) {
		options.generator = made[9];
		if (with)
			OK(philox_region_create(bed.contexts[0], &options,
						&region));
		sums[with] = digest_of(bed.contexts[0]).along[0];
	}
	ranks_close(&bed);
	return sums[1] - sums[0];
}

PROMISE(mesh_agree, does_not_count_a_destroyed_generator)
{
	cr_assert_eq(region_of_last(f->device, 1), region_of_last(f->device, 0));
}

/* A context without a mesh is that of a world of one rank. */
PROMISE(mesh_agree, is_content_without_a_mesh)
{
	struct ranks_bed bed = {.device = f->device,
				.mesh = {.size = sizeof(bed.mesh)},
				.n = 1,
				.contexts = {f->context}};

	make_region(f, "layer");
	ranks_do_agree(&bed);
	cr_assert_eq(digest_of(f->context).rank, 0);
	cr_assert_eq(digest_of(f->context).along[0], 0);
	OK(philox_mesh_compare(
		&bed.mesh,
		&(struct philox_rank_digest){
			.size = sizeof(struct philox_rank_digest),
			.mesh = digest_of(f->context).mesh},
		1));
}

static void no_events(void *user, const struct philox_log_entry *entry)
{
	*(int *)user |= entry != NULL;
}

/* Nor does it wait, allocate for a digest, or say anything of its own. */
PROMISE(mesh_agree, leaves_no_trace)
{
	struct world world;
	struct philox_rank_digest digest =
		PHILOX_INIT(struct philox_rank_digest);
	uint64_t before, after, made;
	char *text;
	int said = 0;

	make_world(&world, f->device);
	philox_context_set_log(world.ranks[0].context, no_events, &said);
	allocations_watch(f->device);
	OK(philox_context_digest(world.ranks[0].context, &before));
	made = allocations();
	OK(philox_context_rank_digest(world.ranks[0].context, &digest));
	cr_assert_eq(allocations(), made);
	ranks_do_agree(&world.bed);
	OK(philox_context_rank_describe(world.ranks[0].context, &text, NULL));
	free(text);
	OK(philox_context_digest(world.ranks[0].context, &after));
	cr_assert_eq(before, after);
	cr_assert_not(said);
	ranks_close(&world.bed);
}

/* Captures and graphs are no part of it; their launches are. */
GRAPH_PROMISE(mesh_agree, is_legal_during_capture)
{
	const struct philox_axis axis = {.name = "data", .n_ranks = 2};
	struct philox_launch_pass use = {{0}, 0, 0};
	struct philox_context *own;
	struct philox_graph *graph;
	struct ranks_bed bed;
	struct philox_region *regions[2];
	uint32_t *array;

	ranks_open(&bed, f->device, &axis, 1);
	own = bed.contexts[0];
	bed.contexts[0] = f->context;
	OK(philox_context_set_mesh(f->context, &bed.mesh));
	for (unsigned rank = 0; rank < 2; rank++)
		regions[rank] =
			make_region_of(bed.contexts[rank], "layer", 0, NULL);
	array = make_array(f);
	record_begin(f);
	captured_forward(f, regions[0], 0, array);
	ranks_do_agree(&bed);
	graph = record_end(f);
	ranks_do_agree(&bed);
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	FAILS(ranks_compare(&bed), PHILOX_ERROR_MISMATCH);
	forward_of(regions[1]);
	ranks_do_agree(&bed);
	OK(philox_device_synchronize(f->device));
	OK(philox_graph_destroy(graph));
	bed.contexts[0] = own;
	ranks_close(&bed);
}
