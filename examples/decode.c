/*
 * examples/decode.c - a decode loop: slots that come and go, drafts included
 *
 * Six requests share three slots. Each round samples a slot's next four
 * positions at once, with the draws that four rounds would have made, and keeps
 * as many as a draft had guessed, and one more; how many, only the device
 * knows. A round is one captured graph, which reads the parameters of each
 * request: a seed, a temperature, top-k and top-p. The tokens of each request,
 * and their logprobs, are those of decoding it alone, token by token.
 */
#include <string.h>
#include "try.h"

enum { REQUESTS = 6, SLOTS = 3, STEPS = 4, ENTRIES = SLOTS * STEPS };
enum { VOCAB = 8, LENGTH = 20, ROOM = LENGTH + STEPS };

/* What a request gets. */
struct token {
	int32_t id;
	float logprob;
};

/* All that kernels read and write: on the host device, callbacks. */
struct shared {
	float logits[ENTRIES][VOCAB];
	int32_t tokens[ENTRIES];
	float logprobs[ENTRIES];
	uint32_t slot_of[ENTRIES], step_of[ENTRIES];
	uint8_t entry_runs[ENTRIES], slot_runs[SLOTS];
	float temperature[ENTRIES], top_p[ENTRIES];
	uint32_t top_k[ENTRIES];
	uint32_t kept[SLOTS];
	int32_t request[SLOTS], length[SLOTS];
	struct token out[SLOTS][ROOM];
};

/* Stands for a model: the score of a token at a position of a request. */
static float score(int request, int position, int token)
{
	return (float)((request * 7 + position * 3 + token * 5) % VOCAB) / 2;
}

static int32_t best(const float *logits)
{
	int token = 0;

	for (int v = 1; v < VOCAB; v++)
		if (logits[v] > logits[token])
			token = v;
	return token;
}

static void run_model(const void *args)
{
	struct shared *on = *(struct shared *const *)args;

	for (int i = 0; i < ENTRIES; i++) {
		uint32_t slot = on->slot_of[i], step = on->step_of[i];

		for (int v = 0; v < VOCAB; v++)
			on->logits[i][v] =
				score(on->request[slot],
				      on->length[slot] + (int)step, v);
	}
}

/* The draft guessed the likeliest tokens: a wrong guess ends what is kept. */
static void verify(const void *args)
{
	struct shared *on = *(struct shared *const *)args;

	for (int slot = 0; slot < SLOTS; slot++) {
		int i = slot * STEPS, end = i + STEPS, kept = 0;

		if (!on->slot_runs[slot])
			continue;
		do {
			on->out[slot][on->length[slot]++] =
				(struct token){on->tokens[i], on->logprobs[i]};
			kept++;
		} while (on->tokens[i] == best(on->logits[i]) && ++i < end);
		on->kept[slot] = (uint32_t)kept;
	}
}

/* A token for each of some entries, by the parameters of its request. */
static struct philox_sample_desc sample_of(
	struct shared *on, const struct philox_logprob_desc *logprobs)
{
	return (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.logits = on->logits,
		.dtype = PHILOX_DTYPE_F32,
		.vocab = VOCAB,
		.pitch = VOCAB,
		.temperatures = on->temperature,
		.filters = PHILOX_FILTER_TOP_K | PHILOX_FILTER_TOP_P,
		.filter_order = PHILOX_FILTER_ORDER_KPM,
		.top_ks = on->top_k,
		.top_ps = on->top_p,
		.logprobs = logprobs,
		.tokens = on->tokens};
}

/* One round for all slots that run. */
static struct philox_graph *capture(struct philox_context *context,
				    struct philox_rows *rows,
				    philox_stream stream, struct shared *on)
{
	struct philox_device *device = philox_context_device(context);
	const struct philox_row_list drafts = {.size = sizeof(drafts),
					       .indices = on->slot_of,
					       .mask = on->entry_runs,
					       .count = ENTRIES,
					       .steps = on->step_of};
	const struct philox_row_list slots = {
		.size = sizeof(slots), .mask = on->slot_runs, .count = SLOTS};
	const struct philox_logprob_desc logprobs = {.size = sizeof(logprobs),
						     .drawn = on->logprobs};
	struct philox_sample_desc sample = sample_of(on, &logprobs);
	struct philox_graph *graph;

	sample.flags = PHILOX_ROWS_KEEP;
	TRY(philox_capture_begin(context, stream));
	TRY(philox_stream_launch_host(device, stream, run_model, &on,
				      sizeof(on)));
	TRY(philox_sample_rows(rows, stream, &drafts, &sample));
	TRY(philox_stream_launch_host(device, stream, verify, &on, sizeof(on)));
	TRY(philox_rows_advance_by(rows, stream, &slots, 4, on->kept));
	TRY(philox_capture_end(context, stream, &graph));
	return graph;
}

/* A request gets a slot, whose row begins with the request's own seed. */
static void seat(struct philox_rows *rows, philox_stream stream,
		 struct shared *on, uint32_t slot, int request)
{
	const struct philox_state state = {.seed = 1000 + (uint64_t)request};

	TRY(philox_rows_set(rows, stream, &slot, &state, 1));
	on->request[slot] = request;
	on->length[slot] = 0;
	on->slot_runs[slot] = 1;
	for (uint32_t i = slot * STEPS; i < (slot + 1) * STEPS; i++) {
		on->entry_runs[i] = 1;
		on->temperature[i] = 0.5f + 0.1f * (float)request;
		on->top_k[i] = request % 2 ? 5 : 0; /* 0: all */
		on->top_p[i] = 1 - 0.05f * (float)request;
	}
}

static void leave(struct shared *on, uint32_t slot)
{
	on->slot_runs[slot] = 0;
	memset(&on->entry_runs[slot * STEPS], 0, STEPS);
}

/* All requests through the slots; returns the number of rounds. */
static int serve(struct philox_device *device, struct philox_rows *rows,
		 philox_stream stream, struct philox_graph *round,
		 struct shared *on, struct token out[REQUESTS][LENGTH])
{
	int next = 0, done = 0, rounds = 0;

	while (done < REQUESTS) {
		for (uint32_t slot = 0; slot < SLOTS && next < REQUESTS; slot++)
			if (!on->slot_runs[slot])
				seat(rows, stream, on, slot, next++);
		TRY(philox_graph_launch(round, stream, NULL, 0));
		TRY(philox_stream_synchronize(device, stream));
		rounds++;
		for (uint32_t slot = 0; slot < SLOTS; slot++) {
			if (!on->slot_runs[slot] || on->length[slot] < LENGTH)
				continue;
			memcpy(out[on->request[slot]], on->out[slot],
			       sizeof(out[0]));
			leave(on, slot);
			done++;
		}
	}
	return rounds;
}

/* A request by itself, one token after the other. */
static void decode_alone(struct philox_device *device, struct philox_rows *rows,
			 philox_stream stream, struct shared *on, int request,
			 struct token out[LENGTH])
{
	const struct philox_row_list first = {.size = sizeof(first),
					      .count = 1};
	const struct philox_logprob_desc logprobs = {.size = sizeof(logprobs),
						     .drawn = on->logprobs};
	const struct philox_sample_desc sample = sample_of(on, &logprobs);

	seat(rows, stream, on, 0, request);
	for (int position = 0; position < LENGTH; position++) {
		for (int v = 0; v < VOCAB; v++)
			on->logits[0][v] = score(request, position, v);
		TRY(philox_sample_rows(rows, stream, &first, &sample));
		TRY(philox_stream_synchronize(device, stream));
		out[position] = (struct token){on->tokens[0], on->logprobs[0]};
	}
}

int main(void)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "slots", .count = SLOTS};
	static struct token together[REQUESTS][LENGTH];
	static struct token alone[REQUESTS][LENGTH];
	struct philox_device *device;
	struct philox_context *context;
	struct philox_rows *rows;
	struct philox_graph *round;
	philox_stream stream;
	void *memory;
	struct shared *on;
	int rounds;

	/* Host and callbacks share memory; on a GPU these would be copies */
	TRY(philox_device_open("host", &device));
	TRY(philox_context_create(device, &context));
	TRY(philox_rows_create(context, &options, &rows));
	TRY(philox_stream_create(device, 0, &stream));
	TRY(philox_memory_alloc(device, sizeof(*on), &memory));
	on = memset(memory, 0, sizeof(*on));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		on->slot_of[i] = i / STEPS;
		on->step_of[i] = i % STEPS;
	}

	round = capture(context, rows, stream, on);
	rounds = serve(device, rows, stream, round, on, together);
	for (int i = 0; i < REQUESTS; i++)
		decode_alone(device, rows, stream, on, i, alone[i]);
	if (memcmp(together, alone, sizeof(alone)))
		return 1;
	printf("%d tokens in %d rounds of %d slots, each as if decoded alone\n",
	       REQUESTS * LENGTH, rounds, SLOTS);

	philox_context_destroy(context);
	TRY(philox_memory_free(device, memory));
	TRY(philox_stream_destroy(device, stream));
	TRY(philox_device_close(device));
	return 0;
}
