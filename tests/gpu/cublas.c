/*
 * tests/gpu/cublas.c - cuBLAS in functions that a runner records
 *
 * A layer's products are cuBLAS's, in a workspace that the body takes from the
 * runner, and so a recording's launches use that memory, which other calls have
 * meanwhile. A forward and a backward, each a product and a dropout pass, are
 * called in turn; with a runner that records and with an eager one all results
 * are the same, bit for bit, and they are those of the host, up to rounding.
 *
 *   build/tests/gpu-cublas           77 if there is no GPU or no cuBLAS, 1 if
 *                                    something is wrong
 *   build/tests/gpu-cublas DEPTH     with products of so many terms (8192)
 *
 * It is C, and C++ for the simulated GPU (tests/simulated/blas).
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox.h>
#include "tools/train/model/cublas.h"

/*
 * Few results of many terms: cuBLAS divides the terms among blocks then, whose
 * sums are in the workspace. 32 MiB is what its documentation advises for the
 * largest GPUs (cublasSetWorkspace()).
 */
enum { SIDE = 64, STEPS = 6, WORKSPACE = 32 << 20, SCRATCH = 48 << 20 };
enum { RESULT = SIDE * SIDE * sizeof(float) };

#define TRY(call)                                                            \
	do {                                                                 \
		if ((call) != PHILOX_OK) {                                   \
			fprintf(stderr, "gpu-cublas: %s:%d: %s\n", __FILE__, \
				__LINE__, philox_error_message());           \
			exit(1);                                             \
		}                                                            \
	} while (0)

/* In a body. */
#define DO(call)                                   \
	do {                                       \
		enum philox_status done_ = (call); \
                                                   \
		if (done_ != PHILOX_OK)            \
			return done_;              \
	} while (0)

/* --- cuBLAS, as it is found ----------------------------------------------- */

struct blas {
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*set_stream)(void *handle, philox_stream stream);
	int (*set_workspace)(void *handle, void *workspace, size_t size);
	int (*set_math)(void *handle, int mode);
	int (*sgemm)(void *handle, int turn_a, int turn_b, int m, int n, int k,
		     const float *alpha, const float *a, int stride_a,
		     const float *b, int stride_b, const float *beta, float *c,
		     int stride_c);
	void *handle;
	char name[256];
};

static int find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static int find_blas(void *data, const char *name)
{
	struct blas *blas = (struct blas *)data;
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -1;
	if (find(library, "cublasCreate_v2", &blas->create) &&
	    find(library, "cublasDestroy_v2", &blas->destroy) &&
	    find(library, "cublasSetStream_v2", &blas->set_stream) &&
	    find(library, "cublasSetWorkspace_v2", &blas->set_workspace) &&
	    find(library, "cublasSetMathMode", &blas->set_math) &&
	    find(library, "cublasSgemm_v2", &blas->sgemm)) {
		snprintf(blas->name, sizeof(blas->name), "%s", name);
		return 0;
	}
	dlclose(library);
	return -1;
}

/* --- functions ------------------------------------------------------------ */

struct bed {
	struct blas *blas;
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *region;
	struct philox_runner *runner;
	struct philox_function *forward, *backward, *scribble;
	philox_stream stream;
	int depth;
	float *x, *w; /* depth x SIDE each, stored by columns */
	float *ones;
};

/* What went through: that of the k-th step. */
struct result {
	float y[SIDE * SIDE], back[SIDE * SIDE];
	uint32_t kinds[2];
};

/*
 * out = x^T w, in a workspace of this run. Setting the stream takes a workspace
 * away, so that comes first.
 */
static enum philox_status multiply(struct bed *bed, struct philox_run *run,
				   const float *x, const float *w, float *out)
{
	const float one = 1, zero = 0;
	struct blas *blas = bed->blas;
	void *workspace;
	int failed;

	DO(philox_run_alloc(run, WORKSPACE, 256, "workspace", &workspace));
	failed = blas->set_stream(blas->handle, philox_run_stream(run));
	if (!failed)
		failed =
			blas->set_workspace(blas->handle, workspace, WORKSPACE);
	if (!failed)
		failed = blas->sgemm(blas->handle, 1, 0, SIDE, SIDE, bed->depth,
				     &one, x, bed->depth, w, bed->depth, &zero,
				     out, SIDE);
	if (failed) {
		fprintf(stderr, "gpu-cublas: cuBLAS: status %d\n", failed);
		return PHILOX_ERROR_DEVICE;
	}
	return philox_run_free(run, workspace);
}

static enum philox_status drop(const struct philox_pass *pass, const float *in,
			       float *out)
{
	return philox_pass_dropout(pass, 0, PHILOX_DTYPE_F32,
				   philox_span_elements(0, SIDE * SIDE), 0.5,
				   in, out);
}

static enum philox_status forward(void *user, struct philox_run *run)
{
	struct bed *bed = (struct bed *)user;
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *x, *w, *y;

	DO(philox_run_input(run, 0, &x, NULL));
	DO(philox_run_input(run, 1, &w, NULL));
	DO(philox_run_alloc(run, RESULT, 0, "y", &y));
	DO(multiply(bed, run, (float *)x, (float *)w, (float *)y));
	DO(philox_run_forward_begin(run, bed->region, 0, &pass));
	DO(drop(&pass, (float *)y, (float *)y));
	DO(philox_pass_commit(&pass, 0, &ticket));
	return philox_run_output(run, 0, y, RESULT);
}

/* The forward's mask, on the same product. */
static enum philox_status backward(void *user, struct philox_run *run)
{
	const struct philox_ticket named_by_call = {0, 0};
	struct bed *bed = (struct bed *)user;
	struct philox_pass pass;
	void *x, *w, *mask, *out;

	DO(philox_run_input(run, 0, &x, NULL));
	DO(philox_run_input(run, 1, &w, NULL));
	DO(philox_run_alloc(run, RESULT, 0, "mask", &mask));
	DO(philox_run_alloc(run, RESULT, 0, "out", &out));
	DO(philox_run_backward_begin(run, bed->region, named_by_call, 0,
				     &pass));
	DO(drop(&pass, bed->ones, (float *)mask));
	DO(multiply(bed, run, (float *)x, (float *)w, (float *)out));
	DO(drop(&pass, (float *)out, (float *)out));
	DO(philox_pass_commit(&pass, 0, NULL));
	DO(philox_run_output(run, 0, mask, RESULT));
	return philox_run_output(run, 1, out, RESULT);
}

/* Has the memory of the others, and leaves NaN in it. */
static enum philox_status scribble(void *user, struct philox_run *run)
{
	struct bed *bed = (struct bed *)user;
	void *scratch;

	DO(philox_run_alloc(run, SCRATCH, 0, "scratch", &scratch));
	return philox_memory_set(bed->device, philox_run_stream(run), scratch,
				 0xff, SCRATCH);
}

static struct philox_function *make(
	struct bed *bed, const char *name, enum philox_function_mode mode,
	enum philox_status (*body)(void *user, struct philox_run *run),
	size_t n_inputs, size_t n_outputs)
{
	struct philox_input_desc inputs[2];
	struct philox_output_desc outputs[2];
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	memset(inputs, 0, sizeof(inputs));
	memset(outputs, 0, sizeof(outputs));
	inputs[0].name = "x";
	inputs[1].name = "w";
	outputs[0].name = "first";
	outputs[1].name = "second";
	options.name = name;
	options.mode = mode;
	options.body = body;
	options.user = bed;
	options.inputs = inputs;
	options.n_inputs = n_inputs;
	options.outputs = outputs;
	options.n_outputs = n_outputs;
	TRY(philox_function_create(bed->runner, &options, &function));
	return function;
}

/* --- a bed ---------------------------------------------------------------- */

/* -2 .. 1.7, in steps whose sums are rounded: another order has other bits. */
static float element(size_t i, unsigned salt)
{
	return (float)((i * 2654435761u + salt) >> 9 & 63) / 17 - 2;
}

static float *make_matrix(struct bed *bed, size_t n, unsigned salt)
{
	float *values = (float *)malloc(n * sizeof(*values));
	void *array;

	if (!values)
		abort();
	for (size_t i = 0; i < n; i++)
		values[i] = salt ? element(i, salt) : 1;
	TRY(philox_memory_alloc(bed->device, n * sizeof(*values), &array));
	TRY(philox_memory_copy(bed->device, bed->stream, array, values,
			       n * sizeof(*values)));
	TRY(philox_stream_synchronize(bed->device, bed->stream));
	free(values);
	return (float *)array;
}

static void begin(struct bed *bed)
{
	const char *op = "dropout";
	const size_t n = (size_t)bed->depth * SIDE;
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);

	TRY(philox_context_create(bed->device, &bed->context));
	TRY(philox_region_create_named(bed->context, "layer", &op, 1,
				       &bed->region));
	TRY(philox_stream_create(bed->device, 0, &bed->stream));
	bed->x = make_matrix(bed, n, 1);
	bed->w = make_matrix(bed, n, 1000003);
	bed->ones = make_matrix(bed, SIDE * SIDE, 0);
	options.name = "runner";
	TRY(philox_runner_create(bed->context, &options, &bed->runner));
	bed->forward = make(bed, "forward", PHILOX_MODE_FORWARD, forward, 2, 1);
	bed->backward =
		make(bed, "backward", PHILOX_MODE_BACKWARD, backward, 2, 2);
	bed->scribble =
		make(bed, "scribble", PHILOX_MODE_INFERENCE, scribble, 0, 0);
}

static void end(struct bed *bed)
{
	TRY(philox_device_synchronize(bed->device));
	philox_context_destroy(bed->context);
	TRY(philox_memory_free(bed->device, bed->x));
	TRY(philox_memory_free(bed->device, bed->w));
	TRY(philox_memory_free(bed->device, bed->ones));
	TRY(philox_stream_destroy(bed->device, bed->stream));
}

/* --- calls ---------------------------------------------------------------- */

/* Takes the last output, and releases all. */
static uint32_t call(struct bed *bed, struct philox_function *function,
		     struct philox_launch_pass *use,
		     struct philox_output *outputs, size_t n)
{
	const size_t bytes = (size_t)bed->depth * SIDE * sizeof(float);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_call_input inputs[2];

	memset(inputs, 0, sizeof(inputs));
	inputs[0].address = bed->x;
	inputs[1].address = bed->w;
	inputs[0].bytes = inputs[1].bytes = bytes;
	call.stream = bed->stream;
	call.inputs = inputs;
	call.n_inputs = use ? 2 : 0;
	call.passes = use;
	call.n_passes = use != NULL;
	call.outputs = outputs;
	call.n_outputs = n;
	TRY(philox_function_call(function, &call));
	return call.kind;
}

static void take(struct bed *bed, const struct philox_output *output,
		 float *values)
{
	TRY(philox_memory_copy(bed->device, bed->stream, values,
			       output->address, RESULT));
	TRY(philox_output_release(bed->runner, bed->stream, output));
}

/* One forward and its backward; the first results are kept by the caller. */
static void step(struct bed *bed, struct result *result,
		 float mask[SIDE * SIDE])
{
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_output y, back[2];

	result->kinds[0] = call(bed, bed->forward, &use, &y, 1);
	take(bed, &y, result->y);
	call(bed, bed->scribble, NULL, NULL, 0);
	result->kinds[1] = call(bed, bed->backward, &use, back, 2);
	take(bed, &back[0], mask);
	take(bed, &back[1], result->back);
	call(bed, bed->scribble, NULL, NULL, 0);
	TRY(philox_stream_synchronize(bed->device, bed->stream));
}

/* --- what is expected ----------------------------------------------------- */

static int wrong;

static void check(int holds, int number, const char *what)
{
	if (holds)
		return;
	wrong = 1;
	printf("step %d: %s\n", number, what);
}

/* The product of the host, in double; it is stored by columns. */
static void multiply_on_host(int depth, double *product)
{
	for (int i = 0; i < SIDE * SIDE; i++) {
		const size_t row = (size_t)(i % SIDE) * (size_t)depth;
		const size_t column = (size_t)(i / SIDE) * (size_t)depth;

		product[i] = 0;
		for (int k = 0; k < depth; k++)
			product[i] += (double)element(row + (size_t)k, 1) *
				      element(column + (size_t)k, 1000003);
	}
}

/* The mask drops and doubles; all but rounding is as on the host. */
static int is_product(const float *got, const float *mask,
		      const double *product, int depth)
{
	for (int i = 0; i < SIDE * SIDE; i++)
		if (!(fabs(got[i] - mask[i] * product[i]) <=
		      1e-4 * (1 + fabs(product[i])) + 1e-6 * depth))
			return 0;
	return 1;
}

static int is_mask(const float *mask)
{
	int kept = 0;

	for (int i = 0; i < SIDE * SIDE; i++) {
		if (mask[i] != 0 && mask[i] != 2)
			return 0;
		kept += mask[i] != 0;
	}
	return kept > SIDE * SIDE / 3 && kept < SIDE * SIDE * 2 / 3;
}

static void run(struct bed *bed, struct result *results, const double *product)
{
	static float mask[2][SIDE * SIDE];

	begin(bed);
	for (int i = 0; i < STEPS; i++) {
		step(bed, &results[i], mask[i % 2]);
		check(is_mask(mask[i % 2]), i, "the mask is none");
		check(i == 0 || memcmp(mask[0], mask[1], RESULT) != 0, i,
		      "the mask is that of the step before");
		check(is_product(results[i].y, mask[i % 2], product,
				 bed->depth),
		      i, "the forward's product is not the host's");
		check(memcmp(results[i].y, results[i].back, RESULT) == 0, i,
		      "the backward's product and mask are not the forward's");
	}
	end(bed);
}

static void compare(const struct result *recorded, const struct result *eager)
{
	for (int i = 0; i < STEPS; i++) {
		check(memcmp(recorded[i].y, eager[i].y, RESULT) == 0, i,
		      "the forward has other bits than an eager one");
		check(memcmp(recorded[i].back, eager[i].back, RESULT) == 0, i,
		      "the backward has other bits than an eager one");
		for (int k = 0; k < 2; k++) {
			check(i < 2 || recorded[i].kinds[k] ==
					       PHILOX_CALL_REPLAY,
			      i, "a call was not replayed");
			check(eager[i].kinds[k] == PHILOX_CALL_EAGER, i,
			      "a call was not eager");
		}
	}
}

static int leave(const char *why)
{
	fprintf(stderr, "gpu-cublas: %s\n", why);
	return 77;
}

static int compare_both(struct bed *bed)
{
	static struct result recorded[STEPS], eager[STEPS];
	static double product[SIDE * SIDE];

	multiply_on_host(bed->depth, product);
	unsetenv("PHILOX_RUNNER");
	run(bed, recorded, product);
	setenv("PHILOX_RUNNER", "eager", 1);
	run(bed, eager, product);
	compare(recorded, eager);
	printf("%s: %d steps recorded and replayed, %s\n", bed->blas->name,
	       STEPS, wrong ? "with mistakes" : "the bits of eager ones");
	return wrong;
}

int main(int argc, char **argv)
{
	static struct blas blas;
	static struct bed bed;

	bed.blas = &blas;
	bed.depth = argc > 1 ? atoi(argv[1]) : 8192;
	if (argc > 2 || bed.depth < 1 || bed.depth > 1 << 20) {
		fprintf(stderr, "usage: gpu-cublas [DEPTH], 1 .. 1048576\n");
		return 2;
	}
	if (philox_device_open("cuda", &bed.device) != PHILOX_OK)
		return leave(philox_error_message());
	if (train_cublas_search(find_blas, &blas))
		return leave("no cuBLAS was found");
	/* CUBLAS_PEDANTIC_MATH: never TF32 */
	if (blas.create(&blas.handle) || blas.set_math(blas.handle, 2)) {
		fprintf(stderr, "gpu-cublas: %s gives no handle\n", blas.name);
		return 1;
	}
	compare_both(&bed);
	blas.destroy(blas.handle);
	TRY(philox_device_close(bed.device));
	return wrong;
}
