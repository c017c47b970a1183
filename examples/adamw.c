/*
 * examples/adamw.c - an optimiser in 4 bytes a weight, captured once
 *
 * The weights are bf16, without a copy in f32. Rounded to nearest they stay
 * where they are: a step is less than half of what bf16 can tell apart. Rounded
 * stochastically they move, as in f32, by the mean of many steps. AdamW's two
 * averages are rounded stochastically, too:
 *
 *   weights    bf16       2 bytes
 *   average 1  E4M3, MX   1 byte, and 1/32 for the scale of its block
 *   average 2  E5M2, MX   1 byte, and 1/32
 *
 * A block of 32 elements has a scale. It depends on this block alone: a shard
 * of whole blocks needs no maximum over ranks. It is a power of two, so
 * dividing by it rounds nothing, and it is rounded up, so no element is beyond
 * the largest number. Average 2 is one of squares, whose range is twice as
 * wide: in E4M3 its small elements become 0, and the step divides by them. E5M2
 * has the range.
 *
 * A capture would freeze a step's learning rate and corrections if the kernel
 * took them by value. The kernel reads them from a cell, which the graph brings
 * up to date at each launch; eager code fills a cell of its own, for the same
 * kernel.
 *
 * A number depends only on its state and its index in the tensor. So 1, 2, 3
 * and 8 ranks, each with a shard, have the bits of one that steps eagerly.
 */
#include <math.h>
#include <string.h>
#include "try.h"

enum { N = 1000, STEPS = 300, BLOCK = PHILOX_MX_BLOCK };

/* The operators of the optimiser: what is rounded. */
enum { WEIGHTS, AVERAGE1, AVERAGE2, OPS };

static const struct philox_rounding roundings[OPS] = {
	[WEIGHTS] = {PHILOX_FORMAT_BF16, PHILOX_ROUND_EXACT, 16, 0},
	[AVERAGE1] = {PHILOX_FORMAT_E4M3, PHILOX_ROUND_EXACT, 8, 1},
	[AVERAGE2] = {PHILOX_FORMAT_E5M2, PHILOX_ROUND_EXACT, 8, 1}};

/* --- the kernel ----------------------------------------------------------- */

/* An array of rounded numbers, in device memory. */
struct rounded {
	struct philox_rng rng; /* in a graph the address of a state */
	struct philox_rounding how;
	int nearest; /* 1: to the nearest instead */
	void *codes;
	uint8_t *scales; /* of blocks, or NULL */
};

static float load(const struct rounded *r, uint64_t i)
{
	const uint32_t code = r->how.format == PHILOX_FORMAT_BF16
				      ? ((const uint16_t *)r->codes)[i]
				      : ((const uint8_t *)r->codes)[i];
	const float x = philox_format_to_f32(r->how.format, code);

	return r->scales ? x * philox_mx_scale_to_f32(r->scales[i / BLOCK]) : x;
}

/* Returns the scale of a block, and stores it. */
static float scale_of(const struct rounded *r, uint64_t i, uint64_t n,
		      const float *x)
{
	uint32_t code;
	float amax = 0;

	if (!r->scales)
		return 1;
	for (uint64_t k = 0; k < n; k++)
		amax = fmaxf(amax, fabsf(x[k]));
	code = philox_mx_scale(r->how.format, 1, amax);
	r->scales[i / BLOCK] = (uint8_t)code;
	return philox_mx_scale_to_f32(code);
}

/* Element i of the array is element first + i of the tensor: its draw. */
static void store_block(const struct rounded *r, uint64_t first, uint64_t i,
			uint64_t n, const float *x)
{
	const struct philox_state state = philox_resolve(r->rng);
	const float scale = scale_of(r, i, n, x);

	for (uint64_t k = 0; k < n; k++) {
		const float y = philox_scaled_down(x[k], scale);
		const uint32_t code =
			r->nearest ? philox_round_nearest(r->how.format, y)
				   : philox_round_at(state, first + i + k, y,
						     r->how);

		if (r->how.format == PHILOX_FORMAT_BF16)
			((uint16_t *)r->codes)[i + k] = (uint16_t)code;
		else
			((uint8_t *)r->codes)[i + k] = (uint8_t)code;
	}
}

/* What changes with each step: a launch parameter. */
struct step {
	float rate, correction1, correction2;
};

struct adamw {
	struct philox_span span; /* of the tensor: a shard */
	const struct step *step; /* in device memory */
	float *gradients;
	struct rounded arrays[OPS];
};

static void adamw_block(const struct adamw *a, uint64_t i)
{
	const struct step step = *a->step;
	const uint64_t left = a->span.count - i,
		       n = left < BLOCK ? left : BLOCK;
	float x[OPS][BLOCK];

	for (uint64_t k = 0; k < n; k++) {
		const float g = a->gradients[i + k];
		const float w = load(&a->arrays[WEIGHTS], i + k);
		const float m =
			0.9f * load(&a->arrays[AVERAGE1], i + k) + 0.1f * g;
		const float v = 0.95f * load(&a->arrays[AVERAGE2], i + k) +
				0.05f * g * g;

		x[WEIGHTS][k] =
			w - step.rate * (0.01f * w +
					 m / step.correction1 /
						 (sqrtf(v / step.correction2) +
						  1e-8f));
		x[AVERAGE1][k] = m;
		x[AVERAGE2][k] = v;
	}
	for (int op = 0; op < OPS; op++)
		store_block(&a->arrays[op], a->span.first, i, n, x[op]);
}

/*
 * On a GPU this is a kernel, with a thread or a warp for each block. Threads
 * that have several elements of a block of words draw it once: philox_draw4()
 * and philox_round_of().
 */
static void adamw(const void *args)
{
	const struct adamw *a = args;

	for (uint64_t i = 0; i < a->span.count; i += BLOCK)
		adamw_block(a, i);
}

/* --- what is trained ------------------------------------------------------ */

/* The weights begin at 1, and are to become these, from 1 to 1.5. */
static float target(uint64_t element)
{
	return 1 + 0.5f * (float)(element * 619 % N) / N;
}

/* Of half the sum of squares of the distances. */
static void gradients(const void *args)
{
	const struct adamw *a = args;

	for (uint64_t i = 0; i < a->span.count; i++)
		a->gradients[i] = load(&a->arrays[WEIGHTS], i) -
				  target(a->span.first + i);
}

static struct step step_of(int number)
{
	const double warm_up = number < 5 ? (number + 1) / 5.0 : 1;
	const double decay = 1 - (double)number / STEPS;

	return (struct step){.rate = (float)(0.0035 * warm_up * decay),
			     .correction1 = (float)(1 - pow(0.9, number + 1)),
			     .correction2 = (float)(1 - pow(0.95, number + 1))};
}

/* --- a rank --------------------------------------------------------------- */

/* Here one after the other in one process, with memory of the host device. */
struct rank {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *region;
	philox_stream stream;
	void *memory, *cell;
	struct adamw args;
};

/* Shards begin and end at blocks; the last block of the tensor is shorter. */
static struct philox_span shard(int rank, int ranks)
{
	const int blocks = (N + BLOCK - 1) / BLOCK;
	const int first = BLOCK * (blocks * rank / ranks);
	const int last = BLOCK * (blocks * (rank + 1) / ranks);

	return philox_span_elements((uint64_t)first,
				    (uint64_t)((last < N ? last : N) - first));
}

/* Lays the shard's arrays out, and returns where they end. */
static char *lay_out(struct adamw *a, char *memory)
{
	const size_t n = a->span.count;

	a->gradients = (float *)(void *)memory;
	memory += n * sizeof(*a->gradients);
	for (int op = 0; op < OPS; op++) {
		a->arrays[op].how = roundings[op];
		a->arrays[op].codes = memory;
		memory += n * (op == WEIGHTS ? 2 : 1);
	}
	for (int op = AVERAGE1; op < OPS; op++) {
		a->arrays[op].scales = (uint8_t *)memory;
		memory += (n + BLOCK - 1) / BLOCK;
	}
	return memory;
}

/* Averages and their scales begin as zeros. */
static void fill(struct rank *rank)
{
	static _Alignas(8) char memory[16 * N];
	const size_t bytes = (size_t)(lay_out(&rank->args, memory) - memory);
	uint16_t *weights = rank->args.arrays[WEIGHTS].codes;

	memset(memory, 0, sizeof(memory));
	for (uint64_t i = 0; i < rank->args.span.count; i++)
		weights[i] = 0x3f80; /* 1 */
	TRY(philox_memory_alloc(rank->device, bytes, &rank->memory));
	TRY(philox_memory_copy(rank->device, rank->stream, rank->memory, memory,
			       bytes));
	TRY(philox_stream_synchronize(rank->device, rank->stream));
	lay_out(&rank->args, rank->memory);
}

static void begin(struct rank *rank, struct philox_span span, int nearest)
{
	static const char *const ops[OPS] = {"weights", "average 1",
					     "average 2"};

	*rank = (struct rank){.args = {.span = span}};
	TRY(philox_device_open("host", &rank->device));
	TRY(philox_context_create(rank->device, &rank->context));
	TRY(philox_region_create_named(rank->context, "adamw", ops, OPS,
				       &rank->region));
	TRY(philox_stream_create(rank->device, 0, &rank->stream));
	TRY(philox_memory_alloc(rank->device, PHILOX_PARAM_BYTES, &rank->cell));
	fill(rank);
	for (int op = 0; op < OPS; op++)
		rank->args.arrays[op].nearest = nearest;
}

static void end(struct rank *rank, uint16_t *weights)
{
	TRY(philox_memory_copy(rank->device, rank->stream,
			       weights + rank->args.span.first,
			       rank->args.arrays[WEIGHTS].codes,
			       rank->args.span.count * sizeof(*weights)));
	TRY(philox_stream_synchronize(rank->device, rank->stream));
	philox_context_destroy(rank->context);
	TRY(philox_memory_free(rank->device, rank->cell));
	TRY(philox_memory_free(rank->device, rank->memory));
	TRY(philox_stream_destroy(rank->device, rank->stream));
	TRY(philox_device_close(rank->device));
}

/* The work of a step, the same in eager code and in a capture. */
static void update(const struct rank *rank, const void *step)
{
	struct adamw args = rank->args;
	struct philox_pass pass;

	args.step = step;
	TRY(philox_forward_begin(rank->region, rank->stream,
				 PHILOX_PASS_INFERENCE, &pass));
	for (uint32_t op = 0; op < OPS; op++)
		TRY(philox_pass_rng(&pass, op, 0, &args.arrays[op].rng));
	TRY(philox_stream_launch_host(rank->device, rank->stream, gradients,
				      &args, sizeof(args)));
	TRY(philox_stream_launch_host(rank->device, rank->stream, adamw, &args,
				      sizeof(args)));
	TRY(philox_pass_commit(&pass, 0, NULL));
}

/* --- training ------------------------------------------------------------- */

static void train_eagerly(int nearest, uint16_t *weights)
{
	struct rank rank;

	begin(&rank, shard(0, 1), nearest);
	for (int i = 0; i < STEPS; i++) {
		const struct step step = step_of(i);

		TRY(philox_param_write(rank.context, rank.stream, rank.cell,
				       &step, sizeof(step)));
		update(&rank, rank.cell);
	}
	end(&rank, weights);
}

static void train_captured(struct philox_span span, uint16_t *weights)
{
	struct step step = step_of(0);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_graph *graph;
	struct rank rank;
	size_t index;
	void *cell;

	begin(&rank, span, 0);
	TRY(philox_capture_begin(rank.context, rank.stream));
	TRY(philox_capture_param(rank.context, rank.stream, "step", &step,
				 sizeof(step), &cell));
	update(&rank, cell);
	TRY(philox_capture_end(rank.context, rank.stream, &graph));
	TRY(philox_graph_param_index(graph, "step", &index));
	for (int i = 0; i < STEPS; i++) {
		step = step_of(i);
		TRY(philox_graph_set_param(graph, index, &step, sizeof(step)));
		TRY(philox_graph_launch(graph, rank.stream, &use, 1));
	}
	end(&rank, weights);
}

static double mean_distance(const uint16_t *weights)
{
	double sum = 0;

	for (uint64_t i = 0; i < N; i++) {
		const float w = philox_bf16_to_f32(weights[i]);

		sum += fabs((double)w - (double)target(i));
	}
	return sum / N;
}

int main(void)
{
	static const int worlds[] = {1, 2, 3, 8};
	static uint16_t nearest[N], eager[N], captured[N];

	train_eagerly(1, nearest);
	train_eagerly(0, eager);
	printf("mean distance after %d steps: %.4f rounded to nearest, %.4f "
	       "stochastically\n",
	       STEPS, mean_distance(nearest), mean_distance(eager));
	for (int i = 0; i < 4; i++) {
		memset(captured, 0, sizeof(captured));
		for (int rank = 0; rank < worlds[i]; rank++)
			train_captured(shard(rank, worlds[i]), captured);
		if (memcmp(eager, captured, sizeof(eager)))
			return 1;
	}
	printf("captured once, on 1, 2, 3 and 8 ranks: the bits of eager "
	       "steps\n");
	return mean_distance(eager) > 0.02 || mean_distance(nearest) < 0.2;
}
