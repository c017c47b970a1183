/*
 * tests/ledger/refusals.c - every error of regions, generators, contexts
 *
 * After each refusal the ledger is checked: no ticket was gained or lost, and
 * the next forward draws the numbers it would have drawn.
 */
#include "tests/support/support.h"

/* --- regions -------------------------------------------------------------- */

static struct philox_region_desc good_options(void)
{
	static const struct philox_op_desc op = {"only", 1, 0};
	struct philox_region_desc options = {
		.size = sizeof(options), .name = "new", .ops = &op, .n_ops = 1};

	return options;
}

static void refuses(struct fixture *f, const struct philox_region_desc *options,
		    enum philox_status expected, const char *thing)
{
	struct philox_region *region = NULL;

	FAILS(philox_region_create(f->context, options, &region), expected);
	NAMES(thing);
	cr_assert_null(region, "outputs are written on success only");
}

PROMISE(refusals, bad_region_options)
{
	static struct philox_op_desc many[3] = {
		{"a", 1u << 19, 0}, {"b", 1u << 19, 0}, {"c", 1, 0}};
	struct philox_region_desc options = good_options();
	struct philox_region *region = NULL;

	/* the first version had no axes */
	for (size_t size = 0;
	     size < offsetof(struct philox_region_desc, differs); size++) {
		options.size = size;
		refuses(f, &options, PHILOX_ERROR_INVALID, "size");
	}
	options = good_options();
	options.name = NULL;
	refuses(f, &options, PHILOX_ERROR_INVALID, "name");
	options = good_options();
	options.ops = NULL;
	refuses(f, &options, PHILOX_ERROR_INVALID, "ops");
	options = good_options();
	options.n_ops = 0;
	refuses(f, &options, PHILOX_ERROR_INVALID, "n_ops");
	options.n_ops = ((size_t)1 << 20) + 1;
	refuses(f, &options, PHILOX_ERROR_INVALID, "n_ops");
	options.n_ops = SIZE_MAX;
	refuses(f, &options, PHILOX_ERROR_INVALID, "n_ops");
	options.ops = many;
	options.n_ops = 3;
	refuses(f, &options, PHILOX_ERROR_INVALID, "calls");
	options.n_ops = 2;
	OK(philox_region_create(f->context, &options, &region));
	cr_assert_eq(philox_region_cell_count(region), 1u << 20);
}

/* --- ops of other versions ------------------------------------------------ */

/* Ops as a later version might have them, and as an earlier one. */
struct later_op {
	struct philox_op_desc op;
	uint64_t later;
};

struct earlier_op {
	const char *name;
	uint32_t calls;
	uint32_t padding;
};

static struct philox_region *create_with(struct fixture *f, const char *name,
					 const void *ops, size_t n_ops,
					 size_t op_size)
{
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_region *region;

	options.name = name;
	options.ops = ops;
	options.n_ops = n_ops;
	options.op_size = op_size;
	OK(philox_region_create(f->context, &options, &region));
	return region;
}

/* The offset of the next forward. */
static uint64_t next_offset(struct fixture *f, struct philox_region *region)
{
	struct philox_pass pass;
	uint64_t offset;

	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	offset = pass.state.offset;
	OK(philox_pass_commit(&pass, 0, NULL));
	return offset;
}

PROMISE(refusals, ops_of_other_versions_are_read)
{
	static const struct later_op later[] = {{{"a", 2, 8}, 0},
						{{"b", 3, 12}, 0}};
	static const struct earlier_op earlier[] = {{"a", 2, 0}, {"b", 3, 0}};
	struct philox_region *region;

	region = create_with(f, "later", later, 2, sizeof(later[0]));
	cr_assert_eq(philox_region_cell_count(region), 5);
	cr_assert_eq(philox_region_cell_index(region, 1, 2), 4);
	next_offset(f, region);
	cr_assert_eq(next_offset(f, region), 12, "the largest advance");
	region = create_with(f, "earlier", earlier, 2, sizeof(earlier[0]));
	cr_assert_eq(philox_region_cell_count(region), 5);
	next_offset(f, region);
	cr_assert_eq(next_offset(f, region), 4, "an op advances by 4");
}

PROMISE(refusals, ops_of_a_wrong_size)
{
	struct later_op later[] = {{{"a", 1, 4}, 0}, {{"b", 1, 4}, 1}};
	struct philox_region_desc options = good_options();

	for (size_t size = 1; size < 2 * sizeof(struct philox_op_desc);
	     size++) {
		if (size % sizeof(uint64_t) == 0)
			continue;
		options.op_size = size;
		refuses(f, &options, PHILOX_ERROR_INVALID,
			"region 'new': op_size is");
	}
	options.op_size = SIZE_MAX / 8 * 8;
	refuses(f, &options, PHILOX_ERROR_INVALID, "op_size");
	options.op_size = sizeof(later[0]);
	options.ops = &later[0].op;
	options.n_ops = 2;
	refuses(f, &options, PHILOX_ERROR_INVALID,
		"region 'new', op 1: size is 32 and byte 24 is set");
}

/* Of options from a later header it is not known how large their ops are. */
PROMISE(refusals, ops_of_a_later_version_say_their_size)
{
	struct {
		struct philox_region_desc options;
		uint64_t later;
	} new = {good_options(), 0};
	struct philox_region *region;

	new.options.size = sizeof(new);
	refuses(f, &new.options, PHILOX_ERROR_INVALID, "op_size is 0");
	new.options.op_size = sizeof(struct philox_op_desc);
	OK(philox_region_create(f->context, &new.options, &region));
}

PROMISE(refusals, a_region_made_from_names)
{
	static const char *const names[] = {"dropout", NULL, "noise"};
	static const struct philox_op_desc ops[] = {
		{.name = "dropout"}, {0}, {.name = "noise"}};
	struct philox_region *named, *plain;
	struct philox_pass pass[2];

	OK(philox_region_create_named(f->context, "named", names, 3, &named));
	plain = create_with(f, "plain", ops, 3, sizeof(ops[0]));
	cr_assert_str_eq(philox_region_name(named), "named");
	cr_assert_eq(philox_region_cell_count(named), 3);
	cr_assert_eq(next_offset(f, named), next_offset(f, plain));
	cr_assert_eq(next_offset(f, named), next_offset(f, plain));
	for (int i = 0; i < 64; i++)
		OK(philox_forward_begin(named, f->stream, 0, &pass[0]));
	FAILS(philox_forward_begin(named, f->stream, 0, &pass[1]),
	      PHILOX_ERROR_LIMIT);
	FAILS(philox_pass_bits(&pass[0], 2, PHILOX_DTYPE_F64,
			       philox_span_elements(0, 1), f->scratch),
	      PHILOX_ERROR_INVALID);
	NAMES("op 2 'noise'");
}

PROMISE(refusals, bad_names_of_ops)
{
	static const char *const names[] = {"dropout"};
	struct philox_region *region = NULL;

	FAILS(philox_region_create_named(NULL, "layer", names, 1, &region),
	      PHILOX_ERROR_INVALID);
	NAMES("context");
	FAILS(philox_region_create_named(f->context, NULL, names, 1, &region),
	      PHILOX_ERROR_INVALID);
	NAMES("name");
	FAILS(philox_region_create_named(f->context, "layer", NULL, 1, &region),
	      PHILOX_ERROR_INVALID);
	NAMES("op_names");
	FAILS(philox_region_create_named(f->context, "layer", names, 0,
					 &region),
	      PHILOX_ERROR_INVALID);
	NAMES("n_ops");
	FAILS(philox_region_create_named(f->context, "layer", names, 1, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("region");
	OK(philox_region_create_named(f->context, "layer", names, 1, &region));
	FAILS(philox_region_create_named(f->context, "layer", names, 1,
					 &region),
	      PHILOX_ERROR_EXISTS);
}

PROMISE(refusals, null_arguments_of_regions)
{
	struct philox_region_desc options = good_options();
	struct philox_region *region = make_region(f, "layer");
	size_t count;

	FAILS(philox_region_create(NULL, &options, &region),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_region_create(f->context, NULL, &region),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_region_create(f->context, &options, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_region_pending_count(NULL, &count), PHILOX_ERROR_INVALID);
	FAILS(philox_region_pending_count(region, NULL), PHILOX_ERROR_INVALID);
	OK(philox_region_destroy(NULL));
	OK(philox_region_create(f->context, &options, &region));
}

PROMISE(refusals, two_regions_of_one_name)
{
	struct philox_region_desc options = good_options();
	struct philox_region *region = make_region(f, "new");
	struct ledger_view before = look(f, region);
	struct philox_context *other;

	refuses(f, &options, PHILOX_ERROR_EXISTS, "new");
	unchanged(f, region, &before);
	OK(philox_context_create(f->device, &other));
	make_region_of(other, "new", 0, NULL);
	philox_context_destroy(other);
	OK(philox_region_destroy(region));
	OK(philox_region_create(f->context, &options, &region));
}

/*
 * Two names with one hash: nothing would tell their numbers and tickets apart.
 */
PROMISE(refusals, a_name_with_the_hash_of_another_alive_or_destroyed)
{
	struct philox_region_desc options = good_options();
	struct philox_region *region = make_region(f, "8yn0iYCKYHlIj4-BwPqk");
	struct ledger_view before = look(f, region);

	options.name = "GReLUrM4wMqfg9yzV3KQ";
	refuses(f, &options, PHILOX_ERROR_EXISTS, "8yn0iYCKYHlIj4-BwPqk");
	NAMES("of a living region");
	unchanged(f, region, &before);
	OK(philox_region_destroy(region));
	refuses(f, &options, PHILOX_ERROR_EXISTS, "8yn0iYCKYHlIj4-BwPqk");
	NAMES("used before, has the same hash");
	options.name = "8yn0iYCKYHlIj4-BwPqk";
	OK(philox_region_create(f->context, &options, &region));
	cr_assert_str_eq(philox_region_name(region), options.name);
}

PROMISE(refusals, calls_that_together_advance_too_far)
{
	struct philox_op_desc ops[2] = {{"a", 16, 1ULL << 56}, {"b", 1, 0}};
	struct philox_region_desc options = good_options();
	struct philox_region *region = NULL;

	options.ops = ops;
	OK(philox_region_create(f->context, &options, &region));
	options.name = "too far";
	options.n_ops = 2;
	ops[1].advance = 4;
	refuses(f, &options, PHILOX_ERROR_INVALID, "2^60");
	options.n_ops = 1;
	ops[0].calls = 17;
	refuses(f, &options, PHILOX_ERROR_INVALID, "2^60");
	ops[0].calls = 1u << 20;
	refuses(f, &options, PHILOX_ERROR_INVALID, "2^60");
}

PROMISE(refusals, a_generator_of_another_context)
{
	struct philox_region_desc options = good_options();
	struct philox_region *region;
	struct philox_context *other;

	OK(philox_context_create(f->device, &other));
	options.generator = philox_context_generator(other);
	FAILS_EITHER(philox_region_create(f->context, &options, &region),
		     PHILOX_ERROR_INVALID, PHILOX_ERROR_MISMATCH);
	philox_context_destroy(other);
}

PROMISE(refusals, an_advance_that_would_leave_odd_offsets)
{
	const struct philox_op_desc op = {"odd", 1, 6};
	struct philox_region_desc options = good_options();

	options.ops = &op;
	refuses(f, &options, PHILOX_ERROR_INVALID, "advance");
}

/* --- generators ----------------------------------------------------------- */

PROMISE(refusals, offsets_that_are_not_multiples_of_four)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *region = make_region(f, "layer");
	struct ledger_view before;
	struct philox_state state = {3, 8}, got;

	OK(philox_generator_set_state(root, state));
	forward(f, region);
	before = look(f, region);
	for (uint64_t odd = 1; odd < 4; odd++) {
		struct philox_state bad = {4, 1000 + odd};

		FAILS(philox_generator_set_state(root, bad),
		      PHILOX_ERROR_INVALID);
		FAILS(philox_generator_advance(root, odd, &got),
		      PHILOX_ERROR_INVALID);
	}
	OK(philox_generator_get_state(root, &got));
	cr_assert(got.seed == 3 && got.offset == 8);
	unchanged(f, region, &before);
}

PROMISE(refusals, a_generator_beyond_its_last_offset)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_state end = {1, UINT64_MAX - 7}, got = {9, 9};

	OK(philox_generator_set_state(root, end));
	OK(philox_generator_advance(root, 4, &got));
	cr_assert_eq(got.offset, UINT64_MAX - 7);
	got.offset = 5;
	FAILS(philox_generator_advance(root, 8, &got), PHILOX_ERROR_OVERFLOW);
	FAILS(philox_generator_advance(root, UINT64_MAX - 3, &got),
	      PHILOX_ERROR_OVERFLOW);
	cr_assert_eq(got.offset, 5, "outputs are written on success only");
	OK(philox_generator_get_state(root, &got));
	cr_assert_eq(got.offset, UINT64_MAX - 3);
}

PROMISE(refusals, destroying_a_generator_in_use)
{
	struct philox_generator *own;
	struct philox_region *region;

	OK(philox_generator_create(f->context, 1, &own));
	region = make_region_of(f->context, "layer", 0, own);
	FAILS(philox_generator_destroy(own), PHILOX_ERROR_BUSY);
	SAME(forward(f, region).saw, predict(1, "layer", 0), "alive");
	OK(philox_region_destroy(region));
	OK(philox_generator_destroy(own));
	FAILS(philox_generator_destroy(NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_generator_destroy(philox_context_generator(f->context)),
	      PHILOX_ERROR_INVALID);
	forward(f, make_region(f, "other"));
}

PROMISE(refusals, null_arguments_of_generators)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_state state = {0, 0};

	FAILS(philox_generator_create(NULL, 0, &root), PHILOX_ERROR_INVALID);
	FAILS(philox_generator_create(f->context, 0, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_generator_seed(NULL, 0), PHILOX_ERROR_INVALID);
	FAILS(philox_generator_get_state(NULL, &state), PHILOX_ERROR_INVALID);
	FAILS(philox_generator_get_state(root, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_generator_set_state(NULL, state), PHILOX_ERROR_INVALID);
	FAILS(philox_generator_advance(NULL, 4, &state), PHILOX_ERROR_INVALID);
}

/* --- contexts ------------------------------------------------------------- */

PROMISE(refusals, null_arguments_of_contexts)
{
	struct philox_context *other = NULL;

	FAILS(philox_context_create(NULL, &other), PHILOX_ERROR_INVALID);
	FAILS(philox_context_create(f->device, NULL), PHILOX_ERROR_INVALID);
	cr_assert_null(other);
	FAILS(philox_context_set_log(NULL, NULL, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_context_check(NULL, NULL), PHILOX_ERROR_INVALID);
	cr_assert_eq(philox_context_device(f->context), f->device);
	philox_context_destroy(NULL);
}
