/*
 * tests/tools/train/save.c - wrong files of interrupted trainings
 *
 * tests/scripts/tool/resume.sh proves that a resumed run ends with the same
 * bits and that damaged files are refused. Here the checksum is right and the
 * contents are wrong: such a file must be refused, too.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/text/text.h"
#include "tools/train/train.h"

#define TEXT  600
#define STEPS 3

static char path[] = "/tmp/philox-train-XXXXXX";
static uint8_t symbols[TEXT];
static const struct train_text text = {.symbols = symbols,
				       .size = TEXT,
				       .vocabulary = 3,
				       .hash = 0x1234,
				       .entropy = 1};
static struct train_options options = {.file = "the text",
				       .device = "host:sync",
				       .steps = STEPS,
				       .seed = 7,
				       .dropout = 0.25,
				       .save_at = 2,
				       .save = path,
				       .resume = path};
static struct train_saved saved;
static float losses[STEPS * TRAIN_SLOTS];
static char message[1024];

static void open_model(struct train_model *model,
		       const struct train_saved *from)
{
	memset(model, 0, sizeof(*model));
	model->options = &options;
	model->text = &text;
	model->saved = from;
	train_model_open(model);
	cr_assert_eq(model->status, PHILOX_OK, "%s", model->message);
}

static void save(void)
{
	static struct train_model model;
	struct train_result result = {.losses = losses};

	for (size_t i = 0; i < TEXT; i++)
		symbols[i] = (uint8_t)(i * i / 7 % text.vocabulary);
	close(mkstemp(path));
	open_model(&model, NULL);
	train_run_to_save(&model, &result);
	cr_assert_eq(model.status, PHILOX_OK, "%s", model.message);
	train_model_close(&model);
}

static void finish(void)
{
	unlink(path);
}

/* Reads the file again, as with a command line without options. */
static int read_saved(void)
{
	*message = '\0';
	return train_saved_read(&options, &text, &saved, message,
				sizeof(message));
}

static char *read_whole(size_t *size)
{
	static const char *const starts[] = {TRAIN_SAVE_MAGIC, NULL};
	const struct file_kind kind = {starts, UINT64_MAX};
	struct text read;

	cr_assert_eq(file_read(path, &kind, &read), PHILOX_OK);
	*size = read.size;
	return read.bytes;
}

/* Replaces the first `from` in the file by `to`, and sets the checksum right */
static void forge(const char *from, const char *to)
{
	char *bytes, *forged, *place, foot[TRAIN_SAVE_FOOT_SIZE + 1];
	size_t size, before, after;

	bytes = read_whole(&size);
	place = memmem(bytes, size, from, strlen(from));
	cr_assert_not_null(place, "no '%s' in the file", from);
	before = (size_t)(place - bytes);
	after = size - TRAIN_SAVE_FOOT_SIZE - before - strlen(from);
	size = before + strlen(to) + after;
	forged = malloc(size + sizeof(foot));
	cr_assert_not_null(forged);
	memcpy(forged, bytes, before);
	memcpy(forged + before, to, strlen(to));
	memcpy(forged + before + strlen(to), place + strlen(from), after);
	train_save_foot(foot, forged, size);
	memcpy(forged + size, foot, TRAIN_SAVE_FOOT_SIZE);
	size += TRAIN_SAVE_FOOT_SIZE;
	cr_assert_eq(file_write(path, FILE_FOR_OWNER, forged, size), PHILOX_OK);
	free(forged);
	free(bytes);
}

/* The part of the head that a row replaces, and a part of the refusal. */
static const struct {
	const char *from, *to, *says;
} heads[] = {
	{"text 0000000000001234", "text 0000000000001235", "another text"},
	{"bytes 600\n", "bytes 601\n", "another text"},
	{"text 0000", "text 000", "malformed"},
	{"text ", "next ", "malformed"},
	{"device host", "device a-very-long-name", "malformed"},
	{"dropout 0x1p-2", "dropout 0.25", "malformed"},
	{"dropout 0x1p-2", "dropout nan", "malformed"},
	{"dropout 0x1p-2", "dropout 0x1p+1", "malformed"},
	{"dropout 0x1p-2", "dropout -0x1p-2", "malformed"},
	{"seed 7", "seed 07", "malformed"},
	{"seed 7", "seed -7", "malformed"},
	{"seed 7", "seed 18446744073709551623", "malformed"},
	{"ops 0", "ops 100001", "malformed"},
	{"steps 3", "steps 10000001", "malformed"},
	{"steps 3", "steps 1", "malformed"},
	{"step 2", "step 0", "malformed"},
	{"step 2", "step 4", "malformed"},
	{"step 2", "step  2", "malformed"},
	{" context 1", " context 2", "malformed"},
	{" context 1", " context 1844674407370955", "malformed"},
	{" payload ", " payload 1", "malformed"},
	{" payload ", " payload -", "malformed"},
};

Test(train_save, a_wrong_head_is_refused, .init = save, .fini = finish)
{
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		size_t size;
		char *bytes = read_whole(&size);

		forge(heads[i].from, heads[i].to);
		cr_expect_eq(read_saved(), 1, "'%s'", heads[i].to);
		cr_expect(strstr(message, heads[i].says), "'%s': %s",
			  heads[i].to, message);
		cr_expect_null(saved.bytes);
		cr_expect_eq(options.seed, 7);
		cr_assert_eq(file_write(path, FILE_FOR_OWNER, bytes, size), PHILOX_OK);
		free(bytes);
	}
	cr_expect_eq(read_saved(), 0, "%s", message);
	train_saved_free(&saved);
}

/* Loads a file that can be read, with the reason why it does not fit. */
static void expect_no_fit(const char *says)
{
	static struct train_model model;
	struct train_result result = {.losses = losses};

	cr_assert_eq(read_saved(), 0, "%s", message);
	open_model(&model, &saved);
	train_load_check(&model);
	train_run_resumed(&model, &result);
	cr_expect_neq(model.status, PHILOX_OK);
	cr_expect(model.file_failed);
	cr_expect(strstr(model.message, says), "%s", model.message);
	train_model_close(&model);
	train_saved_free(&saved);
}

Test(train_save, the_other_kind_of_device_is_refused, .init = save,
     .fini = finish)
{
	forge("device host", "device cuda");
	expect_no_fit("saved on a CUDA device");
}

Test(train_save, a_payload_of_another_size_is_refused, .init = save,
     .fini = finish)
{
	forge("step 2", "step 1");
	expect_no_fit("model of another size");
}

Test(train_save, a_wrong_context_is_refused, .init = save, .fini = finish)
{
	forge("calls 1", "calls 2");
	expect_no_fit(path);
}

Test(train_save, a_saved_run_can_be_resumed, .init = save, .fini = finish)
{
	static struct train_model model;
	struct train_result result = {.losses = losses};

	options.seed = 1;
	options.dropout = 0;
	cr_assert_eq(read_saved(), 0, "%s", message);
	cr_expect_eq(options.seed, 7);
	cr_expect_eq(options.dropout, 0.25);
	open_model(&model, &saved);
	train_load_check(&model);
	train_run_resumed(&model, &result);
	cr_expect_eq(model.status, PHILOX_OK, "%s", model.message);
	cr_expect(result.retained_same);
	cr_expect_eq(result.steps, 2);
	train_model_close(&model);
	train_saved_free(&saved);
}
