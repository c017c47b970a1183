/*
 * tests/support/beds/runner.c - see tests/support/beds/runner.h
 */
#include <stdio.h>
#include "tests/support/beds/runner.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

struct philox_runner *make_runner_of(struct fixture *f, const char *name,
				     uint32_t pool_flags)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_runner *runner;

	options.name = name;
	options.pool_flags = pool_flags;
	options.pool_range = pool_flags & PHILOX_POOL_EXPANDABLE ? 1 << 30 : 0;
	OK(philox_runner_create(f->context, &options, &runner));
	return runner;
}

static void on_runner(const char *device, uint32_t flags,
		      void (*promise)(struct fixture *, struct philox_runner *))
{
	struct fixture f;

	fixture_open(&f, device);
	promise(&f, make_runner_of(&f, "runner", flags));
	fixture_close(&f);
}

void on_runners(void (*promise)(struct fixture *f, struct philox_runner *r))
{
	if (named_device()) {
		on_runner(named_device(), 0, promise);
		return;
	}
	on_runner("host:sync", 0, promise);
	on_runner("host:strict", PHILOX_POOL_EXPANDABLE, promise);
}

/* --- layers --------------------------------------------------------------- */

#define TRY(call)                          \
	do {                               \
		enum philox_status tried_; \
                                           \
		tried_ = (call);           \
		if (tried_ != PHILOX_OK)   \
			return tried_;     \
	} while (0)

enum philox_status draw_or_fail(const struct philox_pass *pass, uint32_t *array)
{
	static const uint32_t sites[SITES][2] = {
		{0, 0}, {1, 0}, {1, 1}, {2, 0}};

	for (unsigned i = 0; i < SITES; i++) {
		struct philox_fill_desc fill =
			PHILOX_INIT(struct philox_fill_desc);

		fill.dist = PHILOX_DIST_BITS;
		fill.dtype = PHILOX_DTYPE_U32;
		fill.span.count = COUNT;
		fill.out = array + i * COUNT;
		TRY(philox_pass_fill(pass, sites[i][0], sites[i][1], &fill));
	}
	return PHILOX_OK;
}

static enum philox_status draw_pass(struct layer *layer, struct philox_run *run,
				    uint32_t *y)
{
	struct philox_ticket none = {0, 0};
	struct philox_pass pass;

	if (layer->backward)
		TRY(philox_run_backward_begin(run, layer->region, none, 0,
					      &pass));
	else
		TRY(philox_run_forward_begin(run, layer->region, 0, &pass));
	TRY(draw_or_fail(&pass, y));
	return layer->backward ? philox_pass_commit(&pass, 0, NULL)
			       : philox_pass_commit(&pass, 0, &none);
}

enum philox_status layer_body(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	struct philox_device *device = layer->f->device;
	philox_stream stream = philox_run_stream(run);
	void *x, *y, *echo, *between;

	layer->bodies++;
	TRY(philox_run_input(run, 0, &x, NULL));
	TRY(philox_run_alloc(run, BYTES, 0, "y", &y));
	TRY(philox_run_alloc(run, BYTES, 0, "echo", &echo));
	TRY(philox_run_alloc(run, BYTES, 0, "between", &between));
	TRY(draw_pass(layer, run, y));
	if (layer->hook)
		TRY(layer->hook(layer, run));
	TRY(philox_memory_copy(device, stream, between, x, BYTES));
	TRY(philox_memory_copy(device, stream, echo, between, BYTES));
	TRY(philox_run_free(run, between));
	TRY(philox_run_output(run, 0, y, BYTES));
	TRY(philox_run_output(run, 1, echo, BYTES));
	return layer->returns;
}

struct philox_function_desc layer_options(const char *name, struct layer *layer)
{
	static const struct philox_input_desc x = {.name = "x",
						   .kind = PHILOX_INPUT_STATIC,
						   .origin = PHILOX_ORIGIN};
	static const struct philox_output_desc outputs[] = {
		{.name = "y", .origin = "layer.c:1"}, {.name = "echo"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = name;
	options.mode =
		layer->backward ? PHILOX_MODE_BACKWARD : PHILOX_MODE_FORWARD;
	options.body = layer_body;
	options.user = layer;
	options.inputs = &x;
	options.n_inputs = 1;
	options.outputs = outputs;
	options.n_outputs = 2;
	return options;
}

struct layer make_layer(struct fixture *f, struct philox_runner *r,
			const char *name)
{
	return (struct layer){
		.f = f, .runner = r, .region = make_region(f, name)};
}

void make_function_of(struct layer *layer, struct philox_runner *r,
		      const struct philox_function_desc *options)
{
	layer->runner = r;
	OK(philox_function_create(r, options, &layer->function));
}

void make_function(struct layer *layer, struct philox_runner *r,
		   const char *name)
{
	struct philox_function_desc options = layer_options(name, layer);

	make_function_of(layer, r, &options);
}

/* --- calls ---------------------------------------------------------------- */

static const uint32_t keys[] = {0, 1, 2, 3, 4, 5, 6, 7};

struct layer_call new_call(struct layer *layer, const void *x, uint32_t key)
{
	struct layer_call made = {.call = PHILOX_INIT(struct philox_call),
				  .x = {.bytes = BYTES}};

	made.x.address = (void *)(uintptr_t)x;
	made.call.stream = layer->f->stream;
	made.call.key = &keys[key];
	made.call.key_bytes = sizeof(keys[key]);
	made.call.n_inputs = 1;
	made.call.n_passes = 1;
	made.call.n_outputs = 2;
	return made;
}

enum philox_status try_call(struct layer *layer, struct layer_call *call)
{
	call->call.inputs = &call->x;
	call->call.passes = &call->use;
	call->call.outputs = call->call.n_outputs ? call->outputs : NULL;
	return philox_function_call(layer->function, &call->call);
}

void release_outputs(struct layer *layer, struct layer_call *call)
{
	for (int i = 0; i < 2; i++)
		OK(philox_output_release(layer->runner, layer->f->stream,
					 &call->outputs[i]));
}

static void echoes(struct layer *layer, struct layer_call *call)
{
	SAME(read_numbers(layer->f, call->outputs[1].address),
	     read_numbers(layer->f, call->x.address), "x did not come through");
}

struct forward call_forward(struct layer *layer, const void *x, uint32_t key)
{
	struct layer_call call = new_call(layer, x, key);
	struct forward made = {.region = layer->region};

	OK(try_call(layer, &call));
	made.ticket = call.use.ticket;
	made.saw = read_numbers(layer->f, call.outputs[0].address);
	echoes(layer, &call);
	release_outputs(layer, &call);
	return made;
}

/* The forward's ticket is released. */
enum philox_call_kind kind_of_call(struct layer *layer, const void *x,
				   uint32_t key)
{
	struct layer_call call = new_call(layer, x, key);

	OK(try_call(layer, &call));
	echoes(layer, &call);
	release_outputs(layer, &call);
	if (!layer->backward)
		OK(philox_ticket_release(layer->region, layer->f->stream,
					 call.use.ticket));
	return (enum philox_call_kind)call.call.kind;
}

struct philox_function_stats counts_of(struct layer *layer)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);

	OK(philox_function_get_stats(layer->function, &counts));
	return counts;
}

/* --- words ---------------------------------------------------------------- */

struct numbers all_words(uint32_t word)
{
	struct numbers numbers;

	for (unsigned i = 0; i < WORDS; i++)
		numbers.word[i] = word;
	return numbers;
}

uint32_t *make_words(struct fixture *f, uint32_t word)
{
	struct numbers numbers = all_words(word);

	return upload(f, &numbers, sizeof(numbers));
}

/* --- the log -------------------------------------------------------------- */

static char texts[1 << 16];

static void keep_text(void *user, const struct philox_log_entry *entry)
{
	size_t length = strlen(texts);

	(void)user;
	snprintf(texts + length, sizeof(texts) - length, "%s|%s|%s|%s\n",
		 entry->event, entry->kind ? entry->kind : "-",
		 entry->input ? entry->input : "-", entry->text);
}

void log_texts(struct fixture *f)
{
	texts[0] = '\0';
	OK(philox_context_set_log(f->context, keep_text, NULL));
}

const char *logged_texts(void)
{
	return texts;
}
