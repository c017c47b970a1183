/*
 * examples/generate.c - the whole answer to a prompt in one launch
 *
 * The graph has a WHILE node, whose body is a step of decoding: the model, the
 * sampler, and a kernel that looks for the end token. How many steps a prompt
 * needs, only the device knows: nothing is copied or launched in between.
 *
 * First each prompt is a launch of its own, and the forward in the body gets a
 * ticket: from it an eager pass draws the same tokens again, step by step, and
 * so does another context that has never seen a graph. Then one launch decodes
 * all prompts together, from a table of rows, until the last of them has ended;
 * their tokens are those of decoding them one at a time.
 */
#include <math.h>
#include <string.h>
#include "try.h"

enum { PROMPTS = 5, VOCAB = 16, END = 0, LIMIT = 32 };

struct text {
	int32_t length;
	int32_t tokens[LIMIT];
};

/* All that kernels read and write: on the host device, callbacks. */
struct shared {
	float logits[PROMPTS][VOCAB];
	int32_t tokens[PROMPTS], last[PROMPTS];
	uint32_t row[PROMPTS];
	uint8_t runs[PROMPTS];
	struct text texts[PROMPTS];
	int32_t first; /* these two are for eager steps: */
	uint32_t step; /* a graph has its own */
	uint32_t more;
};

struct work {
	struct shared *on;
	const int32_t *first; /* prompt of the batch */
	const uint32_t *step; /* number of the present one */
	int n;                /* prompts in the batch */
};

struct run {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *sampler;
	struct philox_rows *rows;
	philox_stream stream;
	struct shared *on;
};

static void take_prompts(const void *args)
{
	const struct work *w = args;
	struct shared *on = w->on;

	for (int i = 0; i < w->n; i++) {
		on->row[i] = (uint32_t)(*w->first + i);
		on->last[i] = 1 + *w->first + i;
		on->texts[on->row[i]].length = 0;
		on->runs[i] = 1;
	}
}

/* Stands for a model. It never lets the last prompt end. */
static void run_model(const void *args)
{
	const struct work *w = args;
	struct shared *on = w->on;

	for (int i = 0; i < w->n; i++) {
		float end = 0.4f * (float)*w->step - 3;

		for (int v = 0; v < VOCAB; v++)
			on->logits[i][v] =
				(float)((on->last[i] * 7 + v * 5) % VOCAB) / 8;
		on->logits[i][END] =
			on->row[i] == PROMPTS - 1 ? -INFINITY : end;
	}
}

/* A text ends with the end token, and with its last step: so does the loop. */
static void append(const void *args)
{
	const struct work *w = args;
	struct shared *on = w->on;

	on->more = 0;
	for (int i = 0; i < w->n; i++) {
		struct text *text = &on->texts[on->row[i]];

		if (!on->runs[i])
			continue;
		text->tokens[text->length++] = on->last[i] = on->tokens[i];
		on->runs[i] = on->last[i] != END && *w->step + 1 < LIMIT;
		on->more |= on->runs[i];
	}
}

/* The work of a step, eager or in a body: from a pass, or else from rows. */
static void step(const struct run *run, philox_stream stream,
		 const struct work *work, const struct philox_pass *pass)
{
	struct shared *on = run->on;
	const struct philox_sample_desc sample = {.size = sizeof(sample),
						  .logits = on->logits,
						  .dtype = PHILOX_DTYPE_F32,
						  .vocab = VOCAB,
						  .pitch = VOCAB,
						  .temperature = 0.8,
						  .filters =
							  PHILOX_FILTER_TOP_P,
						  .top_p = 0.95,
						  .tokens = on->tokens};
	const struct philox_row_list list = {.size = sizeof(list),
					     .indices = on->row,
					     .mask = on->runs,
					     .count = (uint32_t)work->n};
	const struct philox_state *states;

	TRY(philox_stream_launch_host(run->device, stream, run_model, work,
				      sizeof(*work)));
	if (pass) {
		TRY(philox_pass_states(pass, &states));
		TRY(philox_sample_states(run->device, stream, states,
					 (uint32_t)work->n, &sample));
	} else {
		TRY(philox_sample_rows(run->rows, stream, &list, &sample));
	}
	TRY(philox_stream_launch_host(run->device, stream, append, work,
				      sizeof(*work)));
}

/* --- in a graph ----------------------------------------------------------- */

static void capture_body(const struct run *run, struct philox_conditional *loop,
			 philox_stream body, struct work work, int from_rows)
{
	struct philox_ticket placeholder;
	struct philox_pass pass;

	TRY(philox_conditional_body(loop, 0, body));
	TRY(philox_conditional_iteration(loop, 0, &work.step));
	if (from_rows) {
		step(run, body, &work, NULL);
	} else {
		TRY(philox_forward_begin(run->sampler, body, 0, &pass));
		step(run, body, &work, &pass);
		TRY(philox_pass_commit(&pass, 0, &placeholder));
	}
	TRY(philox_conditional_set(loop, body, &run->on->more));
}

/* A graph that decodes `n` prompts, from the one that a value names. */
static struct philox_graph *capture(const struct run *run, int n, int from_rows)
{
	const struct philox_conditional_desc options = {
		.size = sizeof(options),
		.kind = PHILOX_CONDITIONAL_WHILE,
		.limit = LIMIT};
	struct philox_conditional loop;
	const int32_t first = 0;
	struct work work = {.on = run->on, .n = n};
	struct philox_graph *graph;
	philox_stream body;
	void *cell;

	TRY(philox_stream_create(run->device, 0, &body));
	TRY(philox_capture_begin(run->context, run->stream));
	TRY(philox_capture_param(run->context, run->stream, "first", &first,
				 sizeof(first), &cell));
	work.first = cell;
	TRY(philox_stream_launch_host(run->device, run->stream, take_prompts,
				      &work, sizeof(work)));
	TRY(philox_conditional_begin(run->context, run->stream, &options,
				     &loop));
	capture_body(run, &loop, body, work, from_rows);
	TRY(philox_conditional_end(&loop));
	TRY(philox_capture_end(run->context, run->stream, &graph));
	TRY(philox_stream_destroy(run->device, body));
	return graph;
}

/* A launch for each prompt, one after the other without a wait. */
static void launch_each(const struct run *run,
			struct philox_ticket tickets[PROMPTS])
{
	struct philox_graph *graph = capture(run, 1, 0);

	for (int32_t i = 0; i < PROMPTS; i++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};

		TRY(philox_graph_set_param(graph, 0, &i, sizeof(i)));
		TRY(philox_graph_launch(graph, run->stream, &use, 1));
		tickets[i] = use.ticket;
	}
	TRY(philox_stream_synchronize(run->device, run->stream));
}

/* One launch for all prompts. */
static void launch_together(const struct run *run)
{
	struct philox_graph *graph = capture(run, PROMPTS, 1);

	TRY(philox_graph_launch(graph, run->stream, NULL, 0));
	TRY(philox_stream_synchronize(run->device, run->stream));
}

/* --- step by step --------------------------------------------------------- */

/* A prompt, with one iteration of a pass for each step; or from its row. */
static void decode(const struct run *run, int32_t prompt,
		   const struct philox_pass *pass)
{
	struct shared *on = run->on;
	const struct work work = {
		.on = on, .first = &on->first, .step = &on->step, .n = 1};
	struct philox_pass at;

	on->first = prompt;
	on->step = 0;
	take_prompts(&work);
	do {
		if (pass)
			TRY(philox_pass_at(pass, on->step, &at));
		step(run, run->stream, &work, pass ? &at : NULL);
		TRY(philox_stream_synchronize(run->device, run->stream));
		on->step++;
	} while (on->more);
}

/* The forwards that the launches made, in a context without graphs. */
static void decode_each(const struct run *run)
{
	for (int32_t i = 0; i < PROMPTS; i++) {
		struct philox_ticket ticket;
		struct philox_pass pass;

		TRY(philox_forward_begin_loop(run->sampler, run->stream,
					      PHILOX_PASS_ON_DEVICE, LIMIT,
					      &pass));
		decode(run, i, &pass);
		TRY(philox_pass_commit(&pass, 0, &ticket));
	}
}

static void decode_again(const struct run *run,
			 const struct philox_ticket tickets[PROMPTS])
{
	for (int32_t i = PROMPTS - 1; i >= 0; i--) {
		struct philox_pass pass;

		TRY(philox_backward_begin(run->sampler, run->stream, tickets[i],
					  PHILOX_PASS_ON_DEVICE, &pass));
		decode(run, i, &pass);
		TRY(philox_pass_commit(&pass, 0, NULL));
	}
}

static void decode_rows(const struct run *run)
{
	for (int32_t i = 0; i < PROMPTS; i++)
		decode(run, i, NULL);
}

/* --- both ----------------------------------------------------------------- */

static void begin(struct run *run)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "prompts", .count = PROMPTS};
	const char *op = "token";
	void *memory;

	/* Host and callbacks share memory; on a GPU these would be copies */
	TRY(philox_device_open("host", &run->device));
	TRY(philox_context_create(run->device, &run->context));
	TRY(philox_region_create_named(run->context, "sampler", &op, 1,
				       &run->sampler));
	TRY(philox_rows_create(run->context, &options, &run->rows));
	TRY(philox_stream_create(run->device, 0, &run->stream));
	TRY(philox_memory_alloc(run->device, sizeof(*run->on), &memory));
	run->on = memset(memory, 0, sizeof(*run->on));
}

static void end(struct run *run)
{
	TRY(philox_context_check(run->context,
				 NULL)); /* no step beyond the limit */
	philox_context_destroy(run->context);
	TRY(philox_memory_free(run->device, run->on));
	TRY(philox_stream_destroy(run->device, run->stream));
	TRY(philox_device_close(run->device));
}

/* The texts of a run, which then has none. */
static void take(const struct run *run, struct text texts[PROMPTS])
{
	memcpy(texts, run->on->texts, sizeof(run->on->texts));
	memset(run->on->texts, 0, sizeof(run->on->texts));
}

/* All but the last end with the end token, before the limit. */
static int print_lengths(const struct text texts[PROMPTS])
{
	int right = 1;

	for (int i = 0; i < PROMPTS; i++) {
		int ended = texts[i].tokens[texts[i].length - 1] == END;

		printf("%d%s", (int)texts[i].length,
		       i < PROMPTS - 1 ? ", " : "");
		right &= ended == (i < PROMPTS - 1);
		right &= ended == (texts[i].length < LIMIT);
	}
	return right;
}

int main(void)
{
	static struct text each[PROMPTS], eager[PROMPTS], again[PROMPTS],
		together[PROMPTS], alone[PROMPTS];
	struct philox_ticket tickets[PROMPTS];
	struct run captured, steps;

	begin(&captured);
	launch_each(&captured, tickets);
	take(&captured, each);
	decode_again(&captured, tickets);
	take(&captured, again);
	launch_together(&captured);
	take(&captured, together);
	end(&captured);

	begin(&steps);
	decode_each(&steps);
	take(&steps, eager);
	decode_rows(&steps);
	take(&steps, alone);
	end(&steps);

	if (memcmp(each, eager, sizeof(each)) ||
	    memcmp(each, again, sizeof(each)) ||
	    memcmp(together, alone, sizeof(together)))
		return 1;
	if (!print_lengths(each))
		return 1;
	printf(" tokens in a launch each; ");
	if (!print_lengths(together))
		return 1;
	printf(" in one: as decoded step by step\n");
	return 0;
}
