/*
 * tests/fuzz/load.c - any bytes as the text of a context
 *
 * `make fuzz` builds it with clang's libFuzzer and sanitizers and runs it for a
 * while, starting from tests/fuzz/corpus.
 *
 * An input is loaded as it is, and again with the checksum that makes its lines
 * valid, into a context with tables of rows, into one with data, into one
 * without either, into one that is a rank of a mesh and, ahead of regions, into
 * one that has none. A text that is refused must leave the context as it was;
 * one that is loaded must be what the context saves, whether regions are claimed
 * or refused. It is taken for the text of a rank, too: alone it agrees with
 * itself, and twice it is of one rank.
 * tests/save/load.c runs the corpus.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox.h>
#include "lib/state/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum setting { PLAIN, ROWS, DATA, MESH, AHEAD, SETTINGS };

/* Anything that fails here is a finding. */
static void must(int holds)
{
	if (!holds)
		abort();
}

static enum philox_status create(struct philox_context *context,
				 const char *name,
				 struct philox_generator *generator,
				 uint32_t flags, const char *const *differs,
				 size_t n_differs,
				 struct philox_region **region)
{
	const struct philox_op_desc ops[] = {{"dropout", 2, 8}, {NULL, 1, 4}};
	const struct philox_region_desc options = {.size = sizeof(options),
						   .name = name,
						   .ops = ops,
						   .n_ops = 2,
						   .generator = generator,
						   .pending = 4,
						   .flags = flags,
						   .differs = differs,
						   .n_differs = n_differs};

	return philox_region_create(context, &options, region);
}

static void make_region(struct philox_context *context, const char *name,
			struct philox_generator *generator, uint32_t flags,
			const char *const *differs, size_t n_differs)
{
	struct philox_region *region;
	struct philox_pass pass;
	struct philox_ticket ticket;

	must(!create(context, name, generator, flags, differs, n_differs,
		     &region));
	for (int i = 0; i < 3; i++) {
		must(!philox_forward_begin(region, NULL, 0, &pass));
		must(!philox_pass_commit(&pass, 0, &ticket));
	}
	must(!philox_ticket_release(region, NULL, ticket));
	if (!strcmp(name, "gone"))
		must(!philox_region_destroy(region));
}

static void make_rows(struct philox_context *context, const char *name,
		      struct philox_generator *generator, uint32_t count)
{
	const struct philox_rows_desc options = {.size = sizeof(options),
						 .name = name,
						 .count = count,
						 .generator = generator};
	struct philox_rows *rows;

	must(!philox_rows_create(context, &options, &rows));
}

static void make_data(struct philox_context *context, const char *name,
		      struct philox_generator *generator, size_t n_sources)
{
	const struct philox_source_desc sources[] = {{10, 1, 0}, {100, 3, 16}};
	const struct philox_data_desc options = {.size = sizeof(options),
						 .name = name,
						 .sources = sources,
						 .n_sources = n_sources,
						 .block = 12,
						 .generator = generator};
	struct philox_data *data;

	must(!philox_data_create(context, &options, &data));
	must(!philox_data_seek(data, 7));
}

static void join_mesh(struct philox_context *context)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	mesh.n_axes = 2;
	mesh.axes[0] = (struct philox_axis){
		.name = "data", .n_ranks = 2, .coordinate = 1};
	mesh.axes[1] = (struct philox_axis){.name = "tensor",
					    .n_ranks = 3,
					    .coordinate = 2,
					    .flags = PHILOX_AXIS_STAGES};
	must(!philox_context_set_mesh(context, &mesh));
}

static struct philox_context *make_context(struct philox_device *device,
					   enum setting setting)
{
	static const char *const axes[] = {"tensor", "data"};
	struct philox_context *context;
	struct philox_generator *generator;

	must(!philox_context_create(device, &context));
	must(!philox_generator_create(context, 7, &generator));
	if (setting == AHEAD)
		return context;
	if (setting == MESH)
		join_mesh(context);
	make_region(context, "layer", NULL, 0, NULL, 0);
	make_region(context, "shared", generator, PHILOX_REGION_SHARED, NULL,
		    0);
	make_region(context, "gone", NULL, 0, axes, setting == MESH);
	if (setting == MESH)
		make_region(context, "noise", NULL, 0, axes, 2);
	if (setting == ROWS) {
		make_rows(context, "requests", NULL, 2);
		make_rows(context, "spare", generator, 1);
	}
	if (setting == DATA) {
		make_data(context, "one", generator, 1);
		make_data(context, "train", NULL, 2);
	}
	return context;
}

/* Regions that are made of what is unclaimed change nothing of the text. */
static void claim(struct philox_context *context, const char *text)
{
	struct philox_region *region;
	const char *names[4];
	enum philox_status status;
	char *after;
	size_t n;

	must(!philox_context_unclaimed(context, names, 4, &n));
	for (size_t i = 0; i < n && i < 4; i++) {
		status = create(context, names[i], NULL, 0, NULL, 0, &region);
		must(!status || status == PHILOX_ERROR_MISMATCH);
	}
	must(!philox_context_save_text(context, &after, NULL));
	must(!strcmp(after, text));
	free(after);
}

static void load(struct philox_context *context, const char *text, size_t size,
		 uint32_t flags)
{
	enum philox_status status;
	char *before, *after, *again;

	must(!philox_context_save_text(context, &before, NULL));
	status = philox_context_load_text_flags(context, text, size, flags);
	must(!philox_context_save_text(context, &after, NULL));
	if (status == PHILOX_OK) {
		must(!philox_context_load_text_flags(context, after,
						     strlen(after), flags));
		must(!philox_context_save_text(context, &again, NULL));
		must(!strcmp(after, again));
		free(again);
		claim(context, after);
	} else {
		must(status != PHILOX_ERROR_MEMORY && !strcmp(before, after));
	}
	free(before);
	free(after);
}

static void load_into(struct philox_device *device, enum setting setting,
		      const char *text, size_t size)
{
	struct philox_context *context = make_context(device, setting);

	load(context, text, size, setting == AHEAD ? PHILOX_LOAD_AHEAD : 0);
	philox_context_destroy(context);
}

static void explain(const char *text, size_t size)
{
	const char *const texts[2] = {text, text};
	const size_t sizes[2] = {size, size};
	const enum philox_status alone = philox_mesh_explain(texts, sizes, 1);

	must(alone != PHILOX_ERROR_MEMORY && alone != PHILOX_ERROR_MISMATCH);
	must(philox_mesh_explain(texts, sizes, 2) ==
	     (alone == PHILOX_OK ? PHILOX_ERROR_INVALID : alone));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct philox_device *device;
	char *text = malloc(size + 64);
	size_t signed_size;

	must(text && (device || !philox_device_open("host:sync", &device)));
	memcpy(text, data, size);
	signed_size =
		size + (size_t)snprintf(text + size, 64,
					"checksum %016" PRIx64 " bytes %zu\n",
					hash_text(text, size), size);
	explain(text, size);
	explain(text, signed_size);
	for (enum setting setting = PLAIN; setting < SETTINGS; setting++) {
		load_into(device, setting, text, size);
		load_into(device, setting, text, signed_size);
	}
	free(text);
	return 0;
}
