/*
 * tests/data/object.c - data of a context: made, moved, read, refused
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/models/data.h"
#include "tests/support/support.h"

static const struct philox_source_desc three[] = {
	{50, 3, 0}, {7, 1, 2}, {1000, 6, 64}};

static struct philox_data_desc options_of(
	const char *name, const struct philox_source_desc *sources, size_t n,
	uint64_t block)
{
	struct philox_data_desc options = PHILOX_INIT(struct philox_data_desc);

	options.name = name;
	options.sources = sources;
	options.n_sources = n;
	options.source_size = sizeof(*sources);
	options.block = block;
	return options;
}

static struct philox_data *make(struct fixture *f, const char *name)
{
	struct philox_data_desc options = options_of(name, three, 3, 20);
	struct philox_data *data;

	OK(philox_data_create(f->context, &options, &data));
	return data;
}

static uint64_t position_of(struct philox_data *data)
{
	uint64_t position;

	OK(philox_data_position(data, &position));
	return position;
}

static uint64_t fold_data(uint64_t seed, uint64_t index)
{
	return philox_fold(seed, 0x800000000000000bULL, index);
}

/* --- reading -------------------------------------------------------------- */

PROMISE(data, samples_are_those_of_generator_name_and_sources_alone)
{
	enum { POSITIONS = 700 };
	struct philox_mixture_sample got[POSITIONS];
	struct data_model model;
	struct philox_data *data;

	OK(philox_generator_seed(philox_context_generator(f->context), 42));
	data = make(f, "train");
	model_data_open(&model,
			(struct philox_state){fold_data(42, fnv1a("train")), 0},
			three, 3, 20);
	OK(philox_data_read(data, 0, POSITIONS, got));
	for (int i = 0; i < POSITIONS; i++) {
		struct philox_mixture_sample next = model_data_next(&model);

		cr_assert(!memcmp(&got[i], &next, sizeof(next)), "position %d",
			  i);
	}
	model_data_close(&model);
	OK(philox_data_destroy(data));
}

/* Any ranks and any batches: parts of one sequence. */
PROMISE(data, ranks_and_batches_of_any_size_read_one_sequence)
{
	enum { POSITIONS = 5040 };
	static struct philox_mixture_sample whole[POSITIONS], parts[POSITIONS];
	struct philox_data *data = make(f, "train");
	uint64_t before;

	OK(philox_data_read(data, 0, POSITIONS, whole));
	for (unsigned ranks = 1; ranks <= 64; ranks++)
		for (unsigned mine = 1; mine <= 7; mine += 3) {
			OK(philox_data_seek(data, 0));
			memset(parts, 0, sizeof(parts));
			while (position_of(data) + ranks * mine <= POSITIONS) {
				OK(philox_data_advance(data, ranks * mine,
						       &before));
				for (unsigned r = ranks; r-- > 0;)
					OK(philox_data_read(
						data, before + r * mine, mine,
						parts + before + r * mine));
			}
			cr_assert(!memcmp(whole, parts,
					  position_of(data) * sizeof(*whole)),
				  "%u ranks of %u", ranks, mine);
		}
	OK(philox_data_destroy(data));
}

PROMISE(data, a_sample_is_found_where_it_was_read)
{
	struct philox_data *data = make(f, "train");
	struct philox_mixture_sample read[500];
	uint64_t position;

	OK(philox_data_read(data, UINT64_C(1) << 50, 500, read));
	for (unsigned i = 0; i < 500; i++) {
		OK(philox_data_find(data, &read[i], &position));
		cr_assert_eq(position, (UINT64_C(1) << 50) + i);
	}
	OK(philox_data_destroy(data));
}

PROMISE(data, a_new_seed_begins_data_again)
{
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_data *data = make(f, "train"), *other = NULL;
	struct philox_mixture_sample first[40], again[40];
	struct philox_state state = {7, 400};
	struct philox_mixture mixture;

	OK(philox_data_read(data, 0, 40, first));
	OK(philox_data_advance(data, 40, NULL));
	OK(philox_generator_seed(generator, 7));
	cr_assert_eq(position_of(data), 0);
	OK(philox_data_read(data, 0, 40, again));
	cr_assert(memcmp(first, again, sizeof(first)));
	OK(philox_data_mixture(data, &mixture));
	cr_assert_eq(mixture.key, fold_data(fold_data(7, fnv1a("train")), 0));
	/* the same seed: the generator moves alone */
	OK(philox_data_seek(data, 13));
	OK(philox_generator_set_state(generator, state));
	cr_assert_eq(position_of(data), 13);
	/* another generator's data do not follow */
	OK(philox_generator_create(f->context, 0, &generator));
	struct philox_data_desc options = options_of("other", three, 3, 20);

	options.generator = generator;
	OK(philox_data_create(f->context, &options, &other));
	OK(philox_generator_fold(generator, 3));
	cr_assert_eq(position_of(data), 13);
	OK(philox_data_mixture(other, &mixture));
	cr_assert_eq(mixture.key,
		     fold_data(fold_data(philox_fold(0, PHILOX_FOLD_RANK, 3),
					 fnv1a("other")),
			       0));
	FAILS(philox_generator_destroy(generator), PHILOX_ERROR_BUSY);
	NAMES("data");
	OK(philox_data_destroy(other));
	OK(philox_generator_destroy(generator));
	OK(philox_data_destroy(data));
}

PROMISE(data, does_not_move_while_its_thread_records)
{
	struct philox_data *data = make(f, "train");
	struct philox_graph *graph;
	uint64_t position;

	OK(philox_data_advance(data, 40, NULL));
	OK(philox_capture_begin(f->context, f->stream));
	FAILS(philox_data_advance(data, 1, NULL),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	NAMES("move data between launches");
	FAILS(philox_data_seek(data, 0), PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	OK(philox_data_position(data, &position));
	cr_assert_eq(position, 40);
	OK(philox_capture_end(f->context, f->stream, &graph));
	OK(philox_data_seek(data, 7));
	OK(philox_graph_destroy(graph));
	OK(philox_data_destroy(data));
}

PROMISE(data, names_have_orders_of_their_own)
{
	struct philox_data *one = make(f, "one"), *other = make(f, "other");
	struct philox_mixture_sample a[60], b[60];

	cr_assert_str_eq(philox_data_name(one), "one");
	cr_assert_str_eq(philox_data_name(NULL), "");
	OK(philox_data_read(one, 0, 60, a));
	OK(philox_data_read(other, 0, 60, b));
	cr_assert(memcmp(a, b, sizeof(a)));
	OK(philox_data_destroy(one));
	one = make(f, "one");
	OK(philox_data_read(one, 0, 60, b));
	cr_assert(!memcmp(a, b, sizeof(a)));
	OK(philox_data_destroy(one));
	OK(philox_data_destroy(other));
	OK(philox_data_destroy(NULL));
}

/* --- a source alone, windows, weights ------------------------------------- */

PROMISE(data, a_source_alone_has_one_order_whatever_its_block_and_weight)
{
	const struct philox_source_desc one = {100, 1, 0}, same = {100, 9, 100};
	struct philox_data_desc options = options_of("a", &one, 1, 0);
	struct philox_mixture_sample a[300], b[300];
	struct philox_mixture mixture, of_same;
	struct philox_data *data;

	OK(philox_data_create(f->context, &options, &data));
	OK(philox_data_read(data, 0, 300, a));
	OK(philox_data_mixture(data, &mixture));
	cr_assert_eq(mixture.block, 1);
	for (unsigned i = 0; i < 300; i++)
		cr_assert_eq(a[i].epoch, i / 100);
	cr_assert_eq(philox_mixture_hash(&mixture), 0x8593a0fd38f3d8a4ULL);
	OK(philox_data_destroy(data));
	options = options_of("a", &same, 1, 77);
	OK(philox_data_create(f->context, &options, &data));
	OK(philox_data_read(data, 0, 300, b));
	OK(philox_data_mixture(data, &of_same));
	cr_assert(!memcmp(a, b, sizeof(a)));
	cr_assert_eq(philox_mixture_hash(&of_same), 0x8593a0fd38f3d8a4ULL);
	OK(philox_data_destroy(data));
}

PROMISE(data, the_default_block_is_as_the_header_says)
{
	struct philox_data_desc options = options_of("a", three, 3, 0);
	struct philox_mixture mixture;
	struct philox_data *data;

	OK(philox_data_create(f->context, &options, &data));
	OK(philox_data_mixture(data, &mixture));
	cr_assert_eq(mixture.block, 65536);
	cr_assert_eq(mixture.sources[0].quota, 19661); /* 19660.8 */
	cr_assert_eq(mixture.sources[1].quota, 6554);  /* 6553.6: a tie */
	cr_assert_eq(mixture.sources[2].quota, 39321); /* 39321.6 */
	OK(philox_data_destroy(data));
}

/* --- refusals ------------------------------------------------------------- */

static void refused(struct fixture *f, struct philox_data_desc options,
		    enum philox_status status, const char *says)
{
	struct philox_data *data = (struct philox_data *)f;

	FAILS(philox_data_create(f->context, &options, &data), status);
	NAMES(says);
	cr_assert_eq((void *)data, (void *)f);
}

PROMISE(data, options_that_are_wrong_are_refused_by_name)
{
	const struct philox_source_desc none = {0, 1, 0};
	const struct philox_source_desc many = {(UINT64_C(1) << 63) + 1, 1, 0};
	const struct philox_source_desc light[] = {{5, 1, 0}, {5, 0, 0}};
	struct philox_data_desc options = options_of("a", three, 3, 20);
	struct philox_data *data = make(f, "taken");

	refused(f, options_of("taken", three, 3, 20), PHILOX_ERROR_EXISTS,
		"data 'taken': data of this name are alive");
	refused(f, options_of(NULL, three, 3, 20), PHILOX_ERROR_INVALID,
		"name is NULL");
	refused(f, options_of("", three, 3, 20), PHILOX_ERROR_INVALID,
		"name is empty");
	refused(f, options_of("a\nb", three, 3, 20), PHILOX_ERROR_INVALID,
		"control character");
	refused(f, options_of("a", &none, 1, 0), PHILOX_ERROR_INVALID,
		"data 'a': source 0: samples is 0");
	refused(f, options_of("a", &many, 1, 0), PHILOX_ERROR_INVALID,
		"source 0: samples is 9223372036854775809");
	refused(f, options_of("a", light, 2, 0), PHILOX_ERROR_INVALID,
		"source 1: weight is 0");
	refused(f, options_of("a", three, 0, 0), PHILOX_ERROR_INVALID,
		"n_sources is 0");
	refused(f, options_of("a", three, (1 << 20) + 1, 0),
		PHILOX_ERROR_INVALID, "n_sources is 1048577");
	refused(f, options_of("a", three, 3, (UINT64_C(1) << 62) + 1),
		PHILOX_ERROR_INVALID, "block is 4611686018427387905");
	options.sources = NULL;
	refused(f, options, PHILOX_ERROR_INVALID, "sources is NULL");
	options = options_of("a", three, 3, 20);
	options.source_size = 20;
	refused(f, options, PHILOX_ERROR_INVALID, "source_size is 20");
	options = options_of("a", three, 3, 20);
	options.size = 3;
	refused(f, options, PHILOX_ERROR_INVALID, "size is 3");
	OK(philox_data_destroy(data));
}

PROMISE(data, a_generator_of_others_is_refused)
{
	struct philox_data_desc options = options_of("a", three, 3, 20);
	struct philox_context *context;

	OK(philox_context_create(f->device, &context));
	options.generator = philox_context_generator(context);
	refused(f, options, PHILOX_ERROR_INVALID,
		"data 'a': generator is of another context");
	philox_context_destroy(context);
	OK(philox_generator_create_flags(
		f->context, 1, PHILOX_GENERATOR_DIFFERS, &options.generator));
	refused(f, options, PHILOX_ERROR_INVALID,
		"data 'a': generator differs between ranks");
}

/* The block that a message names is enough, and for two sources no more. */
PROMISE(data,
	a_source_without_a_position_is_refused_with_a_block_that_is_enough)
{
	const struct philox_source_desc sources[] = {
		{9, 1000003, 0}, {9, 2, 0}, {9, 70, 0}};
	const struct philox_source_desc never[] = {{9, UINT64_MAX, 0},
						   {9, 1, 0}};
	struct philox_data_desc options = options_of("a", sources, 3, 1000);
	struct philox_data *data;

	refused(f, options, PHILOX_ERROR_INVALID,
		"data 'a': source 1: its weight's share of a block of 1000 is "
		"0 positions; a block of 500038 is large enough");
	options.block = 500038;
	OK(philox_data_create(f->context, &options, &data));
	OK(philox_data_destroy(data));
	refused(f, options_of("a", never, 2, 0), PHILOX_ERROR_INVALID,
		"source 1: its weight's share of a block of 65536 is 0 "
		"positions, and no block is large enough");
	refused(f, options_of("a", three, 3, 2), PHILOX_ERROR_INVALID,
		"a block of 10 is large enough");
}

PROMISE(data, a_position_ends_at_2_to_the_63)
{
	const uint64_t end = UINT64_C(1) << 63;
	struct philox_mixture_sample read[3] = {{9, 9, 9, 9}};
	struct philox_data *data = make(f, "a");
	uint64_t before = 5;

	FAILS(philox_data_seek(data, end + 1), PHILOX_ERROR_OVERFLOW);
	NAMES("data 'a': position 9223372036854775809 is above 2^63");
	OK(philox_data_seek(data, end - 2));
	FAILS(philox_data_advance(data, 3, &before), PHILOX_ERROR_OVERFLOW);
	FAILS(philox_data_advance(data, UINT64_MAX, &before),
	      PHILOX_ERROR_OVERFLOW);
	cr_assert_eq(before, 5);
	cr_assert_eq(position_of(data), end - 2);
	FAILS(philox_data_read(data, end - 2, 3, read), PHILOX_ERROR_OVERFLOW);
	FAILS(philox_data_read(data, end + 1, 0, read), PHILOX_ERROR_OVERFLOW);
	cr_assert_eq(read[0].epoch, 9);
	OK(philox_data_read(data, end - 2, 2, read));
	OK(philox_data_read(data, end, 0, NULL));
	OK(philox_data_advance(data, 2, &before));
	cr_assert_eq(before, end - 2);
	cr_assert_eq(position_of(data), end);
	FAILS(philox_data_advance(data, 1, NULL), PHILOX_ERROR_OVERFLOW);
	OK(philox_data_destroy(data));
}

PROMISE(data, a_sample_that_is_not_there_is_not_found)
{
	struct philox_mixture_sample at = {.source = 3};
	struct philox_data *data = make(f, "a");
	uint64_t position = 5;

	FAILS(philox_data_find(data, &at, &position), PHILOX_ERROR_INVALID);
	NAMES("data 'a': source 3 is not one of 3");
	at = (struct philox_mixture_sample){.source = 1, .sample = 7};
	FAILS(philox_data_find(data, &at, &position), PHILOX_ERROR_INVALID);
	NAMES("sample 7 of source 1 is not one of 7");
	at = (struct philox_mixture_sample){.epoch = UINT64_C(1) << 60};
	FAILS(philox_data_find(data, &at, &position), PHILOX_ERROR_OVERFLOW);
	NAMES("epoch 1152921504606846976 of source 0");
	cr_assert_eq(position, 5);
	OK(philox_data_destroy(data));
}

PROMISE(data, null_is_refused)
{
	struct philox_data_desc options = options_of("a", three, 3, 20);
	struct philox_mixture_source made[3];
	struct philox_mixture_sample sample = {0};
	struct philox_mixture mixture;
	struct philox_data *data = make(f, "b");
	uint64_t position;

	FAILS(philox_data_create(NULL, &options, &data), PHILOX_ERROR_INVALID);
	FAILS(philox_data_create(f->context, NULL, &data),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_data_create(f->context, &options, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_data_quotas(NULL, made), PHILOX_ERROR_INVALID);
	FAILS(philox_data_quotas(&options, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_data_mixture(NULL, &mixture), PHILOX_ERROR_INVALID);
	FAILS(philox_data_mixture(data, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_data_position(NULL, &position), PHILOX_ERROR_INVALID);
	FAILS(philox_data_position(data, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_data_seek(NULL, 0), PHILOX_ERROR_INVALID);
	FAILS(philox_data_advance(NULL, 0, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_data_read(NULL, 0, 1, &sample), PHILOX_ERROR_INVALID);
	FAILS(philox_data_read(data, 0, 1, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_data_find(NULL, &sample, &position), PHILOX_ERROR_INVALID);
	FAILS(philox_data_find(data, NULL, &position), PHILOX_ERROR_INVALID);
	FAILS(philox_data_find(data, &sample, NULL), PHILOX_ERROR_INVALID);
	OK(philox_data_destroy(data));
}

/* --- journals ------------------------------------------------------------- */

PROMISE(data, a_journal_has_how_data_are_made_and_moved)
{
	char path[] = "/tmp/philox-data-XXXXXX", expected[512], line[512];
	const int descriptor = mkstemp(path);
	struct philox_data *data;
	struct philox_mixture mixture;
	struct philox_state state;
	uint64_t order;
	FILE *file;
	int found = 0;

	cr_assert_geq(descriptor, 0);
	close(descriptor);
	OK(philox_generator_get_state(philox_context_generator(f->context),
				      &state));
	OK(philox_context_set_journal(f->context, path));
	data = make(f, "train");
	OK(philox_data_mixture(data, &mixture));
	order = philox_mixture_hash(&mixture);
	OK(philox_data_seek(data, 5));
	OK(philox_data_advance(data, 7, NULL));
	OK(philox_data_destroy(data));
	OK(philox_context_set_journal(f->context, NULL));
	snprintf(expected, sizeof(expected),
		 " data \"train\" generator 0 sources 3 block 20 order "
		 "%016" PRIx64 " seed %016" PRIx64 "\n",
		 order, fold_data(state.seed, fnv1a("train")));
	file = fopen(path, "r");
	while (fgets(line, sizeof(line), file)) {
		found += strstr(line, " data-create") && strstr(line, expected);
		found += strstr(line,
				" data-seek data \"train\" position 5\n") !=
			 NULL;
		found += strstr(line,
				" data-advance data \"train\" position 12\n") !=
			 NULL;
		found +=
			strstr(line, " data-destroy") && strstr(line, expected);
	}
	fclose(file);
	unlink(path);
	cr_assert_eq(found, 4, "%d lines, and not %s", found, expected);
}
