/*
 * tests/first_hour/sampler.c - tokens of requests that share batches
 *
 * Requests come and go in the slots of a server; each has a seed of its own.
 * One captured graph runs the model and samples a token for each slot in use.
 * The tokens of a request must not depend on its slot or on the others: they
 * are compared with those of the request alone, in one slot, without a graph.
 */
#include <string.h>
#include "try.h"

enum { REQUESTS = 9, SLOTS = 4, VOCAB = 100, LENGTH = 16 };

/* Device memory; on the host device, kernels are callbacks. */
struct slots {
	float logits[SLOTS][VOCAB];
	int32_t tokens[SLOTS], last[SLOTS];
	uint8_t is_used[SLOTS];
};

/* A model whose scores depend on the token before. */
static void run_model(const void *args)
{
	struct slots *s = *(struct slots *const *)args;

	for (int i = 0; i < SLOTS; i++)
		for (int v = 0; v < VOCAB; v++)
			s->logits[i][v] =
				(float)((s->last[i] * 31 + v * 17) % 23) / 8;
}

/* One round: a token for each slot in use. */
static void round_of(struct philox_device *device, struct philox_rows *rows,
		     philox_stream stream, struct slots *s)
{
	struct philox_row_list list = PHILOX_INIT(struct philox_row_list);
	struct philox_sample_desc sample =
		PHILOX_INIT(struct philox_sample_desc);

	list.count = SLOTS;
	list.mask = s->is_used;
	sample.logits = s->logits;
	sample.dtype = PHILOX_DTYPE_F32;
	sample.vocab = VOCAB;
	sample.pitch = VOCAB;
	sample.temperature = 0.8;
	sample.tokens = s->tokens;
	TRY(philox_stream_launch_host(device, stream, run_model, &s,
				      sizeof(s)));
	TRY(philox_sample_rows(rows, stream, &list, &sample));
}

static void seat(struct philox_rows *rows, philox_stream stream,
		 struct slots *s, uint32_t slot, int request)
{
	const struct philox_state state = {.seed = 500 + (uint64_t)request};

	TRY(philox_rows_set(rows, stream, &slot, &state, 1));
	s->is_used[slot] = 1;
	s->last[slot] = request;
}

/* All requests; `slots` of them at a time, in as many slots from the last. */
static void serve(uint32_t slots, int is_captured,
		  int32_t tokens[REQUESTS][LENGTH])
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct philox_device *device;
	struct philox_context *context;
	struct philox_rows *rows;
	struct philox_graph *graph = NULL;
	struct slots *s;
	philox_stream stream;
	void *memory;
	int request[SLOTS], length[SLOTS], next = 0, done = 0;

	TRY(philox_device_open("host", &device));
	TRY(philox_context_create(device, &context));
	TRY(philox_stream_create(device, 0, &stream));
	options.name = "slots";
	options.count = SLOTS;
	TRY(philox_rows_create(context, &options, &rows));
	TRY(philox_memory_alloc(device, sizeof(*s), &memory));
	TRY(philox_memory_set(device, stream, memory, 0, sizeof(*s)));
	TRY(philox_stream_synchronize(device, stream));
	s = memory;
	if (is_captured) {
		TRY(philox_capture_begin(context, stream));
		round_of(device, rows, stream, s);
		TRY(philox_capture_end(context, stream, &graph));
	}
	while (done < REQUESTS) {
		for (uint32_t i = SLOTS - slots; i < SLOTS; i++)
			if (!s->is_used[i] && next < REQUESTS) {
				length[i] = 0;
				request[i] = next;
				seat(rows, stream, s, i, next++);
			}
		if (graph)
			TRY(philox_graph_launch(graph, stream, NULL, 0));
		else
			round_of(device, rows, stream, s);
		TRY(philox_stream_synchronize(device, stream));
		for (uint32_t i = 0; i < SLOTS; i++) {
			if (!s->is_used[i])
				continue;
			s->last[i] = s->tokens[i];
			tokens[request[i]][length[i]++] = s->tokens[i];
			/* requests have different lengths */
			if (length[i] == LENGTH - request[i]) {
				s->is_used[i] = 0;
				done++;
			}
		}
	}
	TRY(philox_context_destroy(context));
	TRY(philox_memory_free(device, memory));
	TRY(philox_stream_destroy(device, stream));
	TRY(philox_device_close(device));
}

int main(void)
{
	static int32_t alone[REQUESTS][LENGTH], together[REQUESTS][LENGTH];
	int different = 0;

	serve(1, 0, alone);
	serve(SLOTS, 1, together);
	if (memcmp(alone, together, sizeof(alone))) {
		puts("the tokens of a request depend on the others");
		return 1;
	}
	for (int i = 1; i < REQUESTS; i++)
		different += memcmp(alone[0], alone[i], sizeof(alone[0])) != 0;
	printf("%d requests have tokens of their own, in any batch\n",
	       different + 1);
	return different != REQUESTS - 1;
}
