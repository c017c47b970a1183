/*
 * examples/quantize/main.c - the product of two matrices that are rounded to
 * NVFP4, with a random Hadamard transform and without
 *
 * Both are rounded by the kernel of kernel.h, and again by the library: the
 * bits must be the same. Then the product of what was rounded is compared with
 * that of the matrices, and so is its mean over many steps. Rounded to nearest,
 * the product has the same error at each step, and so has the mean. Rounded
 * stochastically, the mean has less and less of it. What stays is what was cut
 * off: NVFP4's scale of a block is itself rounded to nearest, so the block's
 * largest number may be beyond 6. With the transform that number is another one
 * at each step, as the signs are new ones.
 *
 * Runs on a GPU if there is one and the program was compiled with nvcc's object
 * (-DWITH_CUDA, kernel.cu), else on the host device, with the same numbers.
 */
#include <math.h>
#include <string.h>
#include "../try.h"
#include "kernel.h"

enum { ROWS = 32, COLS = 128, COUNT = ROWS * COLS, STEPS = 256 };
enum { OUT_BYTES = COUNT / 2, SCALES = COUNT / BLOCK };
enum { LEFT, RIGHT };                         /* the operands */
enum { SIGNS, ROUND_LEFT, ROUND_RIGHT, OPS }; /* the operators */

/* What rounding gives, own or the library's. */
struct rounded {
	uint8_t out[OUT_BYTES], scales[SCALES];
	float number; /* the tensor's scale; own: the largest number */
};

/* An operand, in device memory. */
struct operand {
	uint64_t cut_off; /* how many numbers were beyond 6 */
	float x[COUNT], transformed[COUNT];
	struct rounded own, by_library;
};

struct run {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *region;
	philox_stream stream;
	struct operand *operands; /* two, in device memory */
};

/* One way to round. */
struct way {
	const char *name;
	int is_transformed, to_nearest;
};

/* --- rounding ------------------------------------------------------------- */

static void launch(const struct run *run, enum quantize_part part,
		   const struct quantize *args)
{
#ifdef WITH_CUDA
	if (!philox_device_is_host(run->device)) {
		if (quantize_cuda(run->stream, part, args))
			exit(1);
		return;
	}
#endif
	TRY(quantize_host(run->device, run->stream, part, args));
}

static void round_own(const struct run *run, const struct quantize *args)
{
	TRY(philox_memory_set(run->device, run->stream, args->largest, 0,
			      sizeof(*args->largest)));
	launch(run, QUANTIZE_LARGEST, args);
	launch(run, QUANTIZE_ROUND, args);
}

static void round_by_library(const struct run *run,
			     const struct philox_pass *pass, uint32_t op,
			     const struct quantize *args, struct operand *o)
{
	struct rounded *to = &o->by_library;
	struct philox_quantize_desc tensor =
		PHILOX_INIT(struct philox_quantize_desc);

	tensor.op = op;
	tensor.span = philox_span_rows(0, ROWS, COLS, COLS);
	tensor.in_dtype = PHILOX_DTYPE_F32;
	tensor.format = PHILOX_FORMAT_E2M1;
	tensor.rule = PHILOX_ROUND_EXACT;
	tensor.scaling = PHILOX_SCALING_NVFP4;
	tensor.in = args->is_transformed ? args->transformed : args->x;
	tensor.out = to->out;
	tensor.scales = to->scales;
	tensor.tensor_scale = &to->number;
	tensor.saturated = &o->cut_off;
	if (args->is_transformed)
		launch(run, QUANTIZE_TRANSFORM, args);
	TRY(philox_tensor_scale(run->device, run->stream, PHILOX_DTYPE_F32,
				tensor.in, COUNT, &to->number));
	TRY(philox_pass_quantize(pass, &tensor, 1));
}

/* Rounds an operand twice, by the same numbers. */
static void round_operand(const struct run *run, const struct philox_pass *pass,
			  int operand, const struct way *way)
{
	const uint32_t op = operand == LEFT ? ROUND_LEFT : ROUND_RIGHT;
	struct operand *o = &run->operands[operand];
	struct quantize args = {.rows = ROWS,
				.cols = COLS,
				.is_transformed = way->is_transformed,
				.to_nearest = way->to_nearest,
				.x = o->x,
				.largest = &o->own.number,
				.transformed = o->transformed,
				.out = o->own.out,
				.scales = o->own.scales};

	TRY(philox_pass_rng(pass, SIGNS, 0, &args.signs));
	TRY(philox_pass_rng(pass, op, 0, &args.roundings));
	round_own(run, &args);
	round_by_library(run, pass, op, &args, o);
}

/* --- products ------------------------------------------------------------- */

static void expand(const struct rounded *r, float scale, float *x)
{
	for (uint32_t i = 0; i < COUNT; i++) {
		const uint32_t code = r->out[i / 2] >> i % 2 * 4 & 0xf;

		x[i] = philox_format_to_f32(PHILOX_FORMAT_E2M1, code) *
		       philox_nvfp4_scale_to_f32(r->scales[i / BLOCK], scale);
	}
}

/* Adds left times the transpose of right. */
static void add_product(const float *left, const float *right, double *sum)
{
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < ROWS; j++)
			for (int k = 0; k < COLS; k++)
				sum[i * ROWS + j] +=
					(double)left[i * COLS + k] *
					(double)right[j * COLS + k];
}

/* The error of a mean of n products, of the size of the true one. */
static double error_of(const double *sum, int n, const double *truth)
{
	double errors = 0, size = 0;

	for (int i = 0; i < ROWS * ROWS; i++) {
		const double error = sum[i] / n - truth[i];

		errors += error * error;
		size += truth[i] * truth[i];
	}
	return sqrt(errors / size);
}

/* --- steps ---------------------------------------------------------------- */

static int is_same(const struct rounded *own, const struct rounded *by_library)
{
	const float scale = philox_nvfp4_tensor_scale(own->number);

	return !memcmp(own->out, by_library->out, OUT_BYTES) &&
	       !memcmp(own->scales, by_library->scales, SCALES) &&
	       !memcmp(&scale, &by_library->number, sizeof(scale));
}

/*
 * Rounds both operands, adds their product, and returns how many numbers have
 * been cut off so far.
 */
static uint64_t step(const struct run *run, const struct way *way, double *sum)
{
	static struct operand operands[2];
	static float x[2][COUNT];
	struct philox_pass pass;

	TRY(philox_forward_begin(run->region, run->stream,
				 PHILOX_PASS_INFERENCE, &pass));
	round_operand(run, &pass, LEFT, way);
	round_operand(run, &pass, RIGHT, way);
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_memory_copy(run->device, run->stream, operands,
			       run->operands, sizeof(operands)));
	TRY(philox_stream_synchronize(run->device, run->stream));
	for (int i = LEFT; i <= RIGHT; i++) {
		const struct operand *o = &operands[i];

		if (!way->to_nearest && !is_same(&o->own, &o->by_library)) {
			printf("own numbers are not the library's\n");
			exit(1);
		}
		expand(&o->own, philox_nvfp4_tensor_scale(o->own.number), x[i]);
	}
	add_product(x[LEFT], x[RIGHT], sum);
	return operands[LEFT].cut_off + operands[RIGHT].cut_off;
}

/* Returns the error of the mean of all steps. */
static double steps(const struct run *run, const struct way *way,
		    const double *truth, uint64_t *cut_off)
{
	const uint64_t before = *cut_off;
	double sum[ROWS * ROWS] = {0};

	printf("%-28s", way->name);
	for (int n = 1; n <= STEPS; n++) {
		*cut_off = step(run, way, sum);
		if (n == 1 || n == 16 || n == STEPS)
			printf(" %8.4f", error_of(sum, n, truth));
	}
	printf(" %8.2f%%\n",
	       (double)(*cut_off - before) / (2.0 * COUNT * STEPS) * 100);
	return error_of(sum, STEPS, truth);
}

/* --- the run -------------------------------------------------------------- */

static struct philox_device *open_device(void)
{
	struct philox_device *device;

#ifdef WITH_CUDA
	if (philox_device_open("cuda", &device) == PHILOX_OK)
		return device;
	printf("%s\n", philox_error_message());
#endif
	TRY(philox_device_open("host", &device));
	return device;
}

/* Normal numbers, of which one in 23 is much larger, on host and device. */
static void fill(struct run *run, struct operand *operands)
{
	void *memory;

	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t e = 0; e < COUNT; e++)
			operands[i].x[e] =
				philox_normal_at((struct philox_state){i, 0},
						 e) *
				(e % 23 ? 1 : 20);
	TRY(philox_memory_alloc(run->device, 2 * sizeof(*operands), &memory));
	TRY(philox_memory_copy(run->device, run->stream, memory, operands,
			       2 * sizeof(*operands)));
	TRY(philox_stream_synchronize(run->device, run->stream));
	run->operands = memory;
}

static void begin(struct run *run, struct operand *operands)
{
	static const char *const ops[OPS] = {"signs", "left", "right"};

	run->device = open_device();
	TRY(philox_context_create(run->device, &run->context));
	TRY(philox_region_create_named(run->context, "product", ops, OPS,
				       &run->region));
	TRY(philox_stream_create(run->device, 0, &run->stream));
	fill(run, operands);
}

static void end(struct run *run)
{
	philox_context_destroy(run->context);
	TRY(philox_memory_free(run->device, run->operands));
	TRY(philox_stream_destroy(run->device, run->stream));
	TRY(philox_device_close(run->device));
}

int main(void)
{
	static const struct way ways[] = {
		{"to nearest", 0, 1},
		{"to nearest, transformed", 1, 1},
		{"stochastically", 0, 0},
		{"stochastically, transformed", 1, 0}};
	static struct operand operands[2];
	double truth[ROWS * ROWS] = {0}, errors[4];
	uint64_t cut_off = 0;
	struct run run;

	begin(&run, operands);
	add_product(operands[LEFT].x, operands[RIGHT].x, truth);
	printf("error of the mean of products:\n%-28s %8d %8d %8d %9s\n",
	       "rounded", 1, 16, STEPS, "cut off");
	for (int i = 0; i < 4; i++)
		errors[i] = steps(&run, &ways[i], truth, &cut_off);
	end(&run);
	printf("own kernel and library: the same bits\n");
	return errors[3] > errors[2] || errors[2] > errors[1] ||
	       errors[1] > errors[0];
}
