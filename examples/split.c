/*
 * examples/split.c - tokens of a vocabulary that is split over ranks, by MPI
 *
 *   mpirun -n 3 split
 *
 * Each rank makes the logits of its own columns. Any number of ranks prints the
 * same tokens and logprobs, to the last bit.
 */
#include <mpi.h>
#include <stdlib.h>
#include <philox/kernel.h>
#include "try.h"

enum { VOCAB = 20011, REQUESTS = 4, STEPS = 5 };

struct program {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_rows *rows;
	uint32_t first, columns; /* of this rank */
	float *logits, *logprobs;
	int32_t *tokens;
	uint64_t *staged; /* numbers on their way through MPI */
};

static void *take(struct program *p, size_t size)
{
	void *memory;

	TRY(philox_memory_alloc(p->device, size, &memory));
	return memory;
}

/* What a model would compute: here a number for each column of all. */
static void compute(struct program *p, int step)
{
	const size_t count = (size_t)REQUESTS * p->columns;
	float *logits = malloc(count * sizeof(*logits));

	if (!logits)
		exit(1);
	for (uint32_t r = 0; r < REQUESTS; r++)
		for (uint32_t c = 0; c < p->columns; c++) {
			const struct philox_state of = {
				(uint64_t)step * REQUESTS + r, 0};
			const struct philox_words words =
				philox_draw4(of, p->first + c);

			logits[r * p->columns + c] =
				8 * philox_uniform_f32(words.w[0]);
		}
	TRY(philox_memory_copy(p->device, NULL, p->logits, logits,
			       count * sizeof(*logits)));
	TRY(philox_stream_synchronize(p->device, NULL));
	free(logits);
}

/* Any allreduce will do; a GPU's would need no way through the host. */
static void reduce(struct program *p, uint64_t *numbers, uint64_t n, MPI_Op op)
{
	if (!n)
		return;
	TRY(philox_memory_copy(p->device, NULL, p->staged, numbers, 8 * n));
	TRY(philox_stream_synchronize(p->device, NULL));
	MPI_Allreduce(MPI_IN_PLACE, p->staged, (int)n, MPI_UINT64_T, op,
		      MPI_COMM_WORLD);
	TRY(philox_memory_copy(p->device, NULL, numbers, p->staged, 8 * n));
}

static void sample(struct program *p, struct philox_split_desc *split)
{
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);

	TRY(philox_split_plan(split, REQUESTS, &info));
	for (split->round = 0; split->round < info.n_rounds; split->round++) {
		TRY(philox_rows_sample_round(p->rows, NULL, NULL, split));
		TRY(philox_split_plan(split, REQUESTS, &info));
		reduce(p, info.sums, info.n_sums, MPI_SUM);
		reduce(p, info.maxima, info.n_maxima, MPI_MAX);
	}
}

static void print(struct program *p, int step)
{
	int32_t tokens[REQUESTS];
	float logprobs[REQUESTS];

	TRY(philox_memory_copy(p->device, NULL, tokens, p->tokens,
			       sizeof(tokens)));
	TRY(philox_memory_copy(p->device, NULL, logprobs, p->logprobs,
			       sizeof(logprobs)));
	TRY(philox_stream_synchronize(p->device, NULL));
	printf("step %d:", step);
	for (int r = 0; r < REQUESTS; r++)
		printf(" %5d %a", (int)tokens[r], (double)logprobs[r]);
	printf("\n");
}

static void begin(struct program *p, const char *device, int rank, int ranks)
{
	const struct philox_rows_desc desc = {
		.size = sizeof(desc), .name = "requests", .count = REQUESTS};

	p->first = (uint32_t)((uint64_t)VOCAB * rank / ranks);
	p->columns =
		(uint32_t)((uint64_t)VOCAB * (rank + 1) / ranks) - p->first;
	TRY(philox_device_open(device, &p->device));
	TRY(philox_context_create(p->device, &p->context));
	TRY(philox_generator_seed(philox_context_generator(p->context), 7));
	TRY(philox_rows_create(p->context, &desc, &p->rows));
	p->logits = take(p, sizeof(float) * REQUESTS * p->columns);
	p->logprobs = take(p, sizeof(float) * REQUESTS);
	p->tokens = take(p, sizeof(int32_t) * REQUESTS);
}

static void end(struct program *p)
{
	TRY(philox_rows_destroy(p->rows));
	TRY(philox_memory_free(p->device, p->tokens));
	TRY(philox_memory_free(p->device, p->logprobs));
	TRY(philox_memory_free(p->device, p->logits));
	philox_context_destroy(p->context);
	TRY(philox_device_close(p->device));
	free(p->staged);
}

/* The same on all ranks, but for the columns. */
static void run(struct program *p, int rank, int ranks)
{
	const struct philox_logprob_desc logprobs = {.size = sizeof(logprobs),
						     .drawn = p->logprobs};
	const struct philox_sample_desc described = {
		.size = sizeof(described),
		.logits = p->logits,
		.dtype = PHILOX_DTYPE_F32,
		.vocab = p->columns,
		.first = p->first,
		.pitch = p->columns,
		.temperature = 0.8,
		.filters = PHILOX_FILTER_TOP_K | PHILOX_FILTER_TOP_P,
		.filter_order = PHILOX_FILTER_ORDER_KPM,
		.top_k = 500,
		.top_p = 0.9,
		.tokens = p->tokens,
		.logprobs = &logprobs};
	struct philox_split_desc split = {.size = sizeof(split),
					  .sample = &described,
					  .vocab = VOCAB,
					  .n_parts = (uint32_t)ranks,
					  .part = (uint32_t)rank};
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);

	TRY(philox_split_plan(&split, REQUESTS, &info));
	p->staged = malloc(info.work_bytes);
	split.work = take(p, info.work_bytes);
	for (int step = 0; step < STEPS; step++) {
		compute(p, step);
		sample(p, &split);
		if (rank == 0)
			print(p, step);
	}
	TRY(philox_memory_free(p->device, split.work));
}

int main(int argc, char **argv)
{
	struct program program = {.first = 0};
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	begin(&program, argc > 1 ? argv[1] : "host", rank, ranks);
	run(&program, rank, ranks);
	end(&program);
	MPI_Finalize();
	return 0;
}
