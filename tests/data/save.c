/*
 * tests/data/save.c - the text of a context keeps how far its data have come
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/ranks/set.h"
#include "tests/support/support.h"

static const struct philox_source_desc two[] = {{10, 1, 0}, {100, 3, 16}};
static const struct philox_source_desc other_samples[] = {{11, 1, 0},
							  {100, 3, 16}};
static const struct philox_source_desc other_quotas[] = {{10, 1, 0},
							 {100, 4, 16}};
static const struct philox_source_desc other_window[] = {{10, 1, 0},
							 {100, 3, 17}};
static const struct philox_source_desc same_order[] = {{10, 5, 10},
						       {100, 15, 16}};

static struct philox_data *make(struct philox_context *context,
				const char *name,
				const struct philox_source_desc *sources,
				size_t n, uint64_t block)
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

static uint64_t position_of(struct philox_data *data)
{
	uint64_t position;

	OK(philox_data_position(data, &position));
	return position;
}

/* A text of a context with data "train" at 37, under seed 5. */
static char *good_text(struct philox_device *device)
{
	struct philox_context *context;
	char *text;

	OK(philox_context_create(device, &context));
	OK(philox_data_seek(make(context, "train", two, 2, 12), 3));
	OK(philox_generator_seed(philox_context_generator(context), 5));
	OK(philox_data_advance(make(context, "a \"b\"", two, 1, 0), 8, NULL));
	text = context_text(context);
	cr_assert(strstr(text, " position 8\n"), "%s", text);
	philox_context_destroy(context);
	return text;
}

static uint64_t model_data_seed(uint64_t seed, const char *name)
{
	return model_fold(seed, 0x800000000000000bULL, fnv1a(name));
}

PROMISE(data_save, the_text_is_what_its_note_says)
{
	static const char format[] =
		"philox context 7\n"
		"generator 0 state 0000000000000005 0000000000000000\n"
		"data \"a \\x22b\\x22\" generator 0 sources 1 block 1 order "
		"%016" PRIx64 " seed %016" PRIx64 " position 8\n"
		"data \"train\" generator 0 sources 2 block 12 order "
		"%016" PRIx64 " seed %016" PRIx64 " position 0\n";
	char text[1024], *made = good_text(f->device);
	/* of tests/data/known.py: [(10, 1, 0)], 1; [(10, 1, 0), (100, 3, 16)],
	 * 12 */
	const uint64_t orders[] = {0xa556085c06cf2c64ULL,
				   0xee59d76da9d8ae35ULL};
	int size = snprintf(text, sizeof(text), format, orders[0],
			    model_data_seed(5, "a \"b\""), orders[1],
			    model_data_seed(5, "train"));

	snprintf(text + size, sizeof(text) - (size_t)size,
		 "checksum %016" PRIx64 " bytes %d\n", fnv1a(text), size);
	cr_assert_str_eq(made, text);
	free(made);
}

PROMISE(data_save, a_context_without_data_has_the_text_that_it_had_before)
{
	char *before = context_text(f->context), *after;
	struct philox_data *data = make(f->context, "train", two, 2, 12);

	cr_assert(!strncmp(before, "philox context 1\n", 17), "%s", before);
	OK(philox_data_destroy(data));
	after = context_text(f->context);
	cr_assert_str_eq(before, after);
	free(before);
	free(after);
}

PROMISE(data_save, a_resumed_run_reads_on_where_the_saved_one_was)
{
	struct philox_mixture_sample expected[200], got[200];
	struct philox_context *context;
	struct philox_data *data = make(f->context, "train", two, 2, 12);
	uint64_t before, digest, same;
	char *text, *again;

	OK(philox_generator_seed(philox_context_generator(f->context), 42));
	OK(philox_data_advance(data, 777, NULL));
	text = context_text(f->context);
	OK(philox_context_digest(f->context, &digest));
	OK(philox_data_advance(data, 200, &before));
	OK(philox_data_read(data, before, 200, expected));

	OK(philox_context_create(f->device, &context));
	data = make(context, "train", same_order, 2, 12);
	OK(philox_context_load_text(context, text, strlen(text)));
	again = context_text(context);
	cr_assert_str_eq(again, text);
	OK(philox_context_digest(context, &same));
	cr_assert_eq(digest, same);
	OK(philox_data_advance(data, 200, &before));
	cr_assert_eq(before, 777);
	OK(philox_data_read(data, before, 200, got));
	cr_assert(!memcmp(expected, got, sizeof(got)));
	OK(philox_context_digest(context, &same));
	cr_assert_neq(digest, same);
	philox_context_destroy(context);
	free(again);
	free(text);
}

/* The first position and the last, and one whose epoch is far away. */
PROMISE(data_save, every_position_is_kept)
{
	const uint64_t positions[] = {0, 1, UINT64_C(1) << 40,
				      (UINT64_C(1) << 63) - 1,
				      UINT64_C(1) << 63};
	struct philox_data *data = make(f->context, "train", two, 2, 0);

	for (size_t i = 0; i < sizeof(positions) / sizeof(positions[0]); i++) {
		char *text;

		OK(philox_data_seek(data, positions[i]));
		text = context_text(f->context);
		OK(philox_data_seek(data, 5));
		OK(philox_context_load_text(f->context, text, strlen(text)));
		cr_assert_eq(position_of(data), positions[i]);
		free(text);
	}
}

/* --- other data ----------------------------------------------------------- */

static void refuses(struct fixture *f, const char *text, const char *says)
{
	char *before = context_text(f->context), *after;

	FAILS(philox_context_load_text(f->context, text, strlen(text)),
	      PHILOX_ERROR_MISMATCH);
	NAMES(says);
	after = context_text(f->context);
	cr_assert_str_eq(before, after);
	free(before);
	free(after);
}

static void refuses_sources(struct fixture *f, const char *text,
			    const struct philox_source_desc *sources, size_t n,
			    uint64_t block, const char *says)
{
	struct philox_data *data = make(f->context, "train", sources, n, block);

	OK(philox_data_seek(data, 99));
	refuses(f, text, says);
	cr_assert_eq(position_of(data), 99);
	OK(philox_data_destroy(data));
}

PROMISE(data_save, data_of_another_order_are_refused_by_name)
{
	char *text = good_text(f->device);
	struct philox_data *one = make(f->context, "a \"b\"", two, 1, 0), *data;

	refuses_sources(f, text, two, 1, 12,
			"data 'train': the number of sources is 2 in the text, "
			"1 in the context");
	refuses_sources(f, text, two, 2, 16,
			"data 'train': block is 12 in the text, 16 in the "
			"context");
	refuses_sources(f, text, other_samples, 2, 12,
			"data 'train': the hash of samples, quotas and windows "
			"is ");
	refuses_sources(f, text, other_quotas, 2, 12, "the hash of samples");
	refuses_sources(f, text, other_window, 2, 12, "the hash of samples");
	refuses(f, text, "data 'train' of the text are not in the context");
	data = make(f->context, "train", same_order, 2, 12);
	OK(philox_context_load_text(f->context, text, strlen(text)));
	cr_assert_eq(position_of(one), 8);
	make(f->context, "more", two, 1, 0);
	refuses(f, text, "data 'more' of the context are not in the text");
	(void)data;
	free(text);
}

PROMISE(data_save, older_texts_load_without_data_and_not_with_them)
{
	char *older = context_text(f->context);
	struct philox_data *data;

	OK(philox_context_load_text(f->context, older, strlen(older)));
	data = make(f->context, "train", two, 2, 12);
	OK(philox_data_seek(data, 9));
	refuses(f, older, "data 'train' of the context are not in the text");
	cr_assert_eq(position_of(data), 9);
	free(older);
}

PROMISE(data_save, another_generator_is_a_mismatch)
{
	struct philox_data_desc options = PHILOX_INIT(struct philox_data_desc);
	struct philox_data *data = make(f->context, "train", two, 2, 12);
	struct philox_generator *made;
	char *text;

	OK(philox_generator_create(f->context, 3, &made));
	text = context_text(f->context);
	OK(philox_data_destroy(data));
	options.name = "train";
	options.sources = two;
	options.n_sources = 2;
	options.block = 12;
	options.generator = made;
	OK(philox_data_create(f->context, &options, &data));
	refuses(f, text,
		"data 'train': generator is 0 in the text, 1 in the context");
	free(text);
}

/* --- malformed lines ------------------------------------------------------ */

static const struct {
	const char *from, *to, *says;
} malformed[] = {
	{"context 7", "context 6", "line 3: this version has no data"},
	{"context 7", "context 1", "line 3: this version has no data"},
	{"data \"train\"", "data \"a\"",
	 "line 4: data 'a' come twice or not in order"},
	{"data \"train\"", "data \"\"", "line 4: data without a name"},
	{"\"train\" generator 0", "\"train\" generator 1",
	 "line 4: there is no generator 1"},
	{"sources 2", "sources 0", "line 4: "},
	{"sources 2", "sources 1048577", "line 4: "},
	{"block 12", "block 0", "line 4: "},
	{"block 12", "block 4611686018427387905", "line 4: "},
	{"position 8", "position 9223372036854775809", "line 3: "},
	{"position 8", "position 08", "line 3: "},
	{"position 8", "position 8 ", "line 3: the end of the line expected"},
	{" order", "", "line 3: "},
	{"data \"train\"", "row \"train\"",
	 "line 4: data or outputs of a runner expected"},
	{"state 0000000000000005 0000000000000000",
	 "state 0000000000000005 0000000000000000 differs",
	 "line 3: generator 0 differs between ranks"},
};

PROMISE(data_save, lines_that_are_misspelt_are_refused)
{
	char *good = good_text(f->device);

	make(f->context, "train", two, 2, 12);
	make(f->context, "a \"b\"", two, 1, 0);
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		char *before = context_text(f->context), *after;
		char *text =
			changed_text(good, malformed[i].from, malformed[i].to);

		FAILS(philox_context_load_text(f->context, text, strlen(text)),
		      PHILOX_ERROR_INVALID);
		NAMES(malformed[i].says);
		after = context_text(f->context);
		cr_assert_str_eq(before, after);
		free(before);
		free(after);
		free(text);
	}
	OK(philox_context_load_text(f->context, good, strlen(good)));
	free(good);
}

/* A version that a text does not need is another spelling of it. */
PROMISE(data_save, a_text_without_data_is_of_a_lower_version)
{
	char *plain = context_text(f->context);
	char *text = changed_text(plain, "context 1", "context 7");

	FAILS(philox_context_load_text(f->context, text, strlen(text)),
	      PHILOX_ERROR_INVALID);
	NAMES("a text without data is below version 7");
	free(plain);
	free(text);
}
