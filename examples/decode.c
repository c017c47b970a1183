/*
 * examples/decode.c - a decode loop: slots that come and go, drafts included
 *
 * Six requests share three slots. Each round samples a slot's next four
 * positions at once, with the draws that four rounds would have made, and keeps
 * as many as a draft had guessed, and one more; how many, only the device
 * knows. A round is one captured graph, which reads the parameters of each
 * request: a seed, a temperature, top-k, top-p and penalties. A grammar says
 * which tokens may follow another, so each position has a mask. The tokens of
 * each request, and their logprobs, are those of decoding it alone, token by
 * token.
 */
#include <string.h>
#include "try.h"

enum { REQUESTS = 6, SLOTS = 3, STEPS = 4, ENTRIES = SLOTS * STEPS };
enum { VOCAB = 8, LENGTH = 20, ROOM = LENGTH + STEPS, NONE = -1 };

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
	float repetition[ENTRIES], presence[ENTRIES];
	uint32_t top_k[ENTRIES];
	uint32_t allowed[ENTRIES];      /* by the token before */
	int32_t drafts[ENTRIES][STEPS]; /* before a position, or NONE */
	uint32_t counts[SLOTS][VOCAB];  /* what a slot has had */
	uint32_t seen[SLOTS];
	uint32_t kept[SLOTS];
	int32_t request[SLOTS], length[SLOTS];
	struct token out[SLOTS][ROOM];
};

/* Stands for a model: the score of a token at a position of a request. */
static float score(int request, int position, int token)
{
	return (float)((request * 7 + position * 3 + token * 5) % VOCAB) / 2;
}

/* The tokens that may follow another, or begin: bit v is that of token v. */
static uint32_t grammar(int32_t before)
{
	return before == NONE ? 0xff
			      : 0xff & ~(1u << before | 1u << before / 2);
}

/* A draft's guess: the likeliest token that is allowed. */
static int32_t guess(const float *logits, uint32_t allowed)
{
	int32_t token = NONE;

	for (int v = 0; v < VOCAB; v++)
		if (allowed >> v & 1 &&
		    (token == NONE || logits[v] > logits[token]))
			token = v;
	return token;
}

static int32_t last_token(const struct shared *on, uint32_t slot)
{
	return on->length[slot] ? on->out[slot][on->length[slot] - 1].id : NONE;
}

/* Position `step` after what a slot has, if the draft has guessed so far. */
static void run_position(struct shared *on, uint32_t slot, int step)
{
	const uint32_t i = slot * STEPS + (uint32_t)step;
	const int32_t *before = on->drafts[i];

	for (int v = 0; v < VOCAB; v++)
		on->logits[i][v] =
			score(on->request[slot], on->length[slot] + step, v);
	on->allowed[i] =
		grammar(step ? before[step - 1] : last_token(on, slot));
	for (int k = step + 1; k < STEPS; k++) /* of the positions after it */
		on->drafts[slot * STEPS + (uint32_t)k][step] =
			guess(on->logits[i], on->allowed[i]);
}

static void run_model(const void *args)
{
	struct shared *on = *(struct shared *const *)args;

	for (uint32_t slot = 0; slot < SLOTS; slot++)
		for (int step = 0; step < STEPS; step++)
			run_position(on, slot, step);
}

/* A wrong guess ends what is kept. */
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
		} while (on->tokens[i] ==
				 guess(on->logits[i], on->allowed[i]) &&
			 ++i < end);
		on->kept[slot] = (uint32_t)kept;
	}
}

/* Which tokens the slots have had. */
static struct philox_history history_of(struct shared *on)
{
	return (struct philox_history){.size = sizeof(struct philox_history),
				       .counts = on->counts[0],
				       .counts_pitch = VOCAB,
				       .seen = on->seen,
				       .seen_pitch = 1,
				       .rows = SLOTS,
				       .vocab = VOCAB};
}

static struct philox_penalty_desc penalties_of(
	const struct shared *on, const struct philox_history *history)
{
	return (struct philox_penalty_desc){
		.size = sizeof(struct philox_penalty_desc),
		.history = history,
		.repetitions = on->repetition,
		.presences = on->presence};
}

/* A token for each of some entries, by the parameters of its request. */
static struct philox_sample_desc sample_of(
	struct shared *on, const struct philox_penalty_desc *penalties,
	const struct philox_logprob_desc *logprobs)
{
	return (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.logits = on->logits,
		.dtype = PHILOX_DTYPE_F32,
		.vocab = VOCAB,
		.pitch = VOCAB,
		.temperatures = on->temperature,
		.allowed = on->allowed,
		.allowed_pitch = 1,
		.penalties = penalties,
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
	const struct philox_history history = history_of(on);
	const struct philox_token_list kept = {.size = sizeof(kept),
					       .tokens = on->tokens,
					       .pitch = STEPS,
					       .counts = on->kept,
					       .count = STEPS};
	struct philox_penalty_desc penalties = penalties_of(on, &history);
	struct philox_sample_desc sample = sample_of(on, &penalties, &logprobs);
	struct philox_graph *graph;

	penalties.drafts = on->drafts[0];
	penalties.n_drafts = STEPS;
	sample.flags = PHILOX_ROWS_KEEP;
	TRY(philox_capture_begin(context, stream));
	TRY(philox_stream_launch_host(device, stream, run_model, &on,
				      sizeof(on)));
	TRY(philox_sample_rows(rows, stream, &drafts, &sample));
	TRY(philox_stream_launch_host(device, stream, verify, &on, sizeof(on)));
	TRY(philox_rows_advance_by(rows, stream, &slots, 4, on->kept));
	TRY(philox_history_add(device, stream, &history, &slots, &kept));
	TRY(philox_capture_end(context, stream, &graph));
	return graph;
}

/* A request gets a slot, whose row begins with its seed and no tokens. */
static void seat(struct philox_rows *rows, philox_stream stream,
		 struct shared *on, uint32_t slot, int request)
{
	const struct philox_state state = {.seed = 1000 + (uint64_t)request};

	TRY(philox_rows_set(rows, stream, &slot, &state, 1));
	on->request[slot] = request;
	on->length[slot] = 0;
	on->slot_runs[slot] = 1;
	on->seen[slot] = 0;
	memset(on->counts[slot], 0, sizeof(on->counts[slot]));
	for (uint32_t i = slot * STEPS; i < (slot + 1) * STEPS; i++) {
		on->entry_runs[i] = 1;
		on->temperature[i] = 0.5f + 0.1f * (float)request;
		on->top_k[i] = request % 2 ? 5 : 0; /* 0: all */
		on->top_p[i] = 1 - 0.05f * (float)request;
		on->repetition[i] = 1 + 0.1f * (float)(request % 3);
		on->presence[i] = 0.2f * (float)request;
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
	const struct philox_history history = history_of(on);
	const struct philox_penalty_desc penalties = penalties_of(on, &history);
	const struct philox_sample_desc sample =
		sample_of(on, &penalties, &logprobs);

	seat(rows, stream, on, 0, request);
	for (int position = 0; position < LENGTH; position++) {
		for (int v = 0; v < VOCAB; v++)
			on->logits[0][v] = score(request, position, v);
		on->allowed[0] =
			grammar(position ? out[position - 1].id : NONE);
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
		for (uint32_t k = 0; k < STEPS; k++)
			on->drafts[i][k] = NONE;
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
