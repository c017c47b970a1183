/*
 * tests/fuzz/outputs.c - any bytes as the saved outputs of a runner
 *
 * `make fuzz` builds it with clang's libFuzzer and sanitizers and runs it for a
 * while, starting from tests/fuzz/outputs.
 *
 * An input is loaded as it is, and again with the checksum that makes its lines
 * valid, into a context whose text names it. One that is refused must leave the
 * runner without outputs. One that is loaded has the outputs that it says, with
 * their bytes, and can be shown. tests/runner/resume/corpus.c runs the corpus
 * and many changes of it.
 */
#include "tests/fuzz/outputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox.h>
#include "graph/runner/outputs/outputs.h"
#include "lib/state/state.h"
#include "tools/outputs/outputs.h"

/* Anything that fails here is a finding. */
static void must(int holds)
{
	if (!holds)
		abort();
}

/* --- a runner ------------------------------------------------------------- */

/* It is never called. */
static enum philox_status fail(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_ERROR_NOT_FOUND;
}

static void make_function(struct philox_runner *runner, const char *name,
			  size_t outputs)
{
	const struct philox_output_desc described[] = {
		{.name = "y", .elements = 1}, {.name = "z"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = name;
	options.body = fail;
	options.outputs = described;
	options.n_outputs = outputs;
	must(!philox_function_create(runner, &options, &function));
}

static struct philox_runner *make_runner(struct philox_context *context)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_runner *runner;

	options.name = "runner";
	options.pool_limit = 4 << 20; /* whatever a block wants */
	must(!philox_runner_create(context, &options, &runner));
	make_function(runner, "a", 1);
	make_function(runner, "b", 2);
	return runner;
}

/* Region "layer", with tickets 1 to 3 pending. */
static struct philox_context *make_context(struct philox_device *device)
{
	const char *op = "op";
	struct philox_context *context;
	struct philox_region *region;

	must(!philox_context_create(device, &context));
	must(!philox_region_create_named(context, "layer", &op, 1, &region));
	for (int i = 0; i < 3; i++) {
		struct philox_ticket ticket;
		struct philox_pass pass;

		must(!philox_forward_begin(region, NULL, 0, &pass));
		must(!philox_pass_commit(&pass, 0, &ticket));
	}
	return context;
}

/* --- texts ---------------------------------------------------------------- */

/* The text of a context that names outputs of this digest. */
static void name_outputs(struct philox_context *context, uint64_t digest)
{
	char *text, *made, *last;
	size_t n;

	must(!philox_context_save_text(context, &text, NULL));
	made = malloc(strlen(text) + 256);
	must(made != NULL);
	last = strstr(text, "\nchecksum ");
	must(last && !strncmp(text, "philox context 1\n", 17));
	*last = '\0';
	n = (size_t)sprintf(made,
			    "philox context 5\n%s\noutputs \"runner\" digest "
			    "%016" PRIx64 "\n",
			    text + 17, digest);
	sprintf(made + n, "checksum %016" PRIx64 " bytes %zu\n",
		hash_text(made, n), n);
	must(!philox_context_load_text(context, made, strlen(made)));
	free(text);
	free(made);
}

/* The bytes with their checksum. */
static char *make_right(const uint8_t *data, size_t size, size_t *length)
{
	char *text = malloc(size + 128);

	must(text != NULL);
	memcpy(text, data, size);
	*length = size + (size_t)sprintf(text + size,
					 "checksum %016" PRIx64 " bytes %zu\n",
					 hash_text(text, size), size);
	return text;
}

/* --- loaded --------------------------------------------------------------- */

static void show(const struct outputs_file *file)
{
	static FILE *nowhere;
	struct json json;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	must(nowhere && !outputs_print(file, nowhere));
	json_begin(&json, nowhere);
	json_object(&json, NULL);
	must(!outputs_json(file, &json));
	json_close(&json);
	must(!json_end(&json));
}

/* Of several with these names, the one that is as far behind the others. */
static size_t index_of(const struct outputs_file *file, size_t i)
{
	const struct outputs_item *item = &file->items[i];
	size_t n = 0;

	while (i--) {
		const struct outputs_item *other = &file->items[i];

		n += other->block != OUTPUTS_NO_BLOCK &&
		     !strcmp(other->function, item->function) &&
		     !strcmp(other->output, item->output) &&
		     !strcmp(other->label, item->label);
	}
	return n;
}

static void must_have(struct philox_runner *runner,
		      const struct outputs_file *file, size_t i)
{
	const struct outputs_item *item = &file->items[i];
	const struct outputs_block *block;
	struct philox_output found;

	if (item->block == OUTPUTS_NO_BLOCK)
		return;
	block = &file->blocks[item->block];
	must(!philox_outputs_find(runner, item->function, item->output,
				  item->label, index_of(file, i), &found));
	must(found.bytes == item->bytes);
	must(!found.bytes ||
	     !memcmp(found.address, block->data + (item->at - block->first),
		     found.bytes));
}

static void must_have_all(struct philox_runner *runner, const char *text,
			  size_t size)
{
	struct outputs_file file;
	char *again;

	must(!outputs_file_read(text, size, &file));
	show(&file);
	for (size_t i = 0; i < file.n_items; i++)
		must_have(runner, &file, i);
	must(!philox_outputs_save_text(runner, NULL, &again, &size));
	outputs_file_finish(&file);
	must(!outputs_file_read(again, size, &file));
	outputs_file_finish(&file);
	free(again);
}

static void must_be_empty(struct philox_runner *runner)
{
	struct philox_pool_stats stats = PHILOX_INIT(struct philox_pool_stats);

	must(!philox_pool_get_stats(philox_runner_pool(runner), &stats));
	must(!stats.blocks);
}

static int load(struct philox_context *context, const char *text, size_t size)
{
	struct philox_runner *runner = make_runner(context);
	enum philox_status status =
		philox_outputs_load_text(runner, NULL, text, size);

	must(status != PHILOX_ERROR_MEMORY);
	if (status == PHILOX_OK) {
		must_have_all(runner, text, size);
		must(!philox_runner_step_begin(runner, NULL,
					       PHILOX_STEP_RELEASE_ALL, NULL));
	}
	must_be_empty(runner);
	must(!philox_runner_destroy(runner));
	return status == PHILOX_OK;
}

int fuzz_outputs(const uint8_t *data, size_t size)
{
	static struct philox_device *device;
	struct philox_context *context;
	size_t length;
	char *right = make_right(data, size, &length);
	int loaded;

	must(device || !philox_device_open("host:sync", &device));
	context = make_context(device);
	load(context, (const char *)data, size);
	name_outputs(context, hash_text(right, size));
	loaded = load(context, right, length);
	philox_context_destroy(context);
	free(right);
	return loaded;
}

#ifdef PHILOX_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_outputs(data, size);
	return 0;
}
#endif
