/*
 * tools/bench/quantize.c - tensors rounded stochastically to 8 and 4 bits
 *
 * Beside a copy that moves as many bytes, and beside PyTorch's conversion of
 * the same tensor to nearest, which has no scales.
 */
#include <math.h>
#include <stdio.h>
#include <philox/quantize.h>
#include "tools/bench/bench.h"
#include "tools/cli/cli.h"

#define BUDGET 0.5e9 /* nanoseconds of one race, about */
enum { COLUMNS = 4096, ROWS_CPU = 1024, ROWS_GPU = 16384, ROWS_QUICK = 16 };

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* A tensor of bf16, and what it is rounded to. */
static const struct kind {
	const char *name;
	const char *torch; /* the dtype, or NULL */
	uint32_t format, rule, bits, scaling, flags;
} kinds[] = {
	{"e4m3/32", "e4m3", PHILOX_FORMAT_E4M3, PHILOX_ROUND_FIXED, 32, 0, 0},
	{"e4m3/8", "e4m3", PHILOX_FORMAT_E4M3, PHILOX_ROUND_FIXED, 8, 0, 0},
	{"e4m3/exact", "e4m3", PHILOX_FORMAT_E4M3, PHILOX_ROUND_EXACT, 8, 0, 0},
	{"e5m2/16", "e5m2", PHILOX_FORMAT_E5M2, PHILOX_ROUND_FIXED, 16, 0, 0},
	{"mxfp8/8", "e4m3", PHILOX_FORMAT_E4M3, PHILOX_ROUND_FIXED, 8,
	 PHILOX_SCALING_MX_UP, 0},
	{"nvfp4/8", NULL, PHILOX_FORMAT_E2M1, PHILOX_ROUND_FIXED, 8,
	 PHILOX_SCALING_NVFP4, 0},
	{"nvfp4/transposed", NULL, PHILOX_FORMAT_E2M1, PHILOX_ROUND_FIXED, 8,
	 PHILOX_SCALING_NVFP4, PHILOX_QUANTIZE_TRANSPOSED},
};

struct quantize_bench {
	struct bench *bench;
	struct philox_quantize_desc tensor;
	const struct kind *kind;
	uint64_t elements;
	size_t moved; /* bytes: read and written, by two */
	void *in, *out, *scales, *scale;
	struct torch *torch; /* NULL: missing, and why is in note */
	char note[RACE_NOTE_MAX];
};

/* --- work ----------------------------------------------------------------- */

static enum philox_status round_tensor(void *user)
{
	const struct quantize_bench *of = user;
	const struct philox_rng rng = {{1, 0}, NULL};

	return philox_rng_quantize(of->bench->device, of->bench->stream, &rng,
				   &of->tensor, 1);
}

static enum philox_status copy_bytes(void *user)
{
	const struct quantize_bench *of = user;

	return philox_memory_copy(of->bench->device, of->bench->stream, of->out,
				  of->in, of->moved);
}

static int run_ours(struct racer *racer, int times, struct race_time *time)
{
	const struct quantize_bench *of = racer->of;

	return race_note(racer, race_repeat(of->bench, times, round_tensor,
					    racer->of, time));
}

static int run_copied(struct racer *racer, int times, struct race_time *time)
{
	const struct quantize_bench *of = racer->of;

	return race_note(racer, race_repeat(of->bench, times, copy_bytes,
					    racer->of, time));
}

static int run_torch(struct racer *racer, int times, struct race_time *time)
{
	const struct quantize_bench *of = racer->of;
	char line[80];

	snprintf(line, sizeof(line), "convert %s %llu %d", of->kind->torch,
		 (unsigned long long)of->elements, times);
	return torch_ask(of->torch, line, time, racer->note);
}

/* --- rows ----------------------------------------------------------------- */

static void describe_kind(struct quantize_bench *of, const struct kind *kind)
{
	const uint64_t rows = of->elements / COLUMNS;

	of->kind = kind;
	of->tensor = (struct philox_quantize_desc){
		.size = sizeof(of->tensor),
		.span = philox_span_rows(0, rows, COLUMNS, COLUMNS),
		.in_dtype = PHILOX_DTYPE_BF16,
		.format = kind->format,
		.rule = kind->rule,
		.bits = kind->bits,
		.scaling = kind->scaling,
		.flags = kind->flags | PHILOX_QUANTIZE_SATURATE,
		.in = of->in,
		.out = of->out,
		.scales = of->scales,
		.tensor_scale = of->scale};
	of->moved =
		of->elements * (kind->format == PHILOX_FORMAT_E2M1 ? 5 : 6) / 4;
}

/* The rate counts what is read and written, but for scales. */
static void print_peer(const struct quantize_bench *of, const char *name,
		       const struct racer *ours, const struct racer *peer)
{
	const double bytes = 2.0 * (double)of->moved;
	const struct bench_row row = {
		.name = name,
		.value = bytes / ours->median.whole,
		.unit = "GB/s",
		.peer = peer->name,
		.peer_value = peer->out ? NAN : bytes / peer->median.whole,
		.note = peer->out                ? peer->note
			: peer->run == run_torch ? of->note
						 : NULL};

	bench_print(of->bench, &row);
}

static int race_kind(struct quantize_bench *of, const struct kind *kind)
{
	const char *name = bench_name("quantize/%s", kind->name);
	struct racer racers[] = {{.name = "philox", .run = run_ours, .of = of},
				 {.name = "copy", .run = run_copied, .of = of},
				 {.name = "torch", .run = run_torch, .of = of}};

	describe_kind(of, kind);
	if (!of->torch)
		snprintf(racers[2].note, RACE_NOTE_MAX, "%s", of->note);
	else if (!kind->torch)
		snprintf(racers[2].note, RACE_NOTE_MAX, "it has no such dtype");
	race(racers, N(racers), of->bench->quick ? 0 : BUDGET);
	if (racers[0].out) {
		complain("bench", "%s", racers[0].note);
		return -1;
	}
	for (size_t i = 1; i < N(racers); i++)
		print_peer(of, name, &racers[0], &racers[i]);
	return 0;
}

/* --- all ------------------------------------------------------------------ */

static int is_wanted(const struct bench *bench, size_t i)
{
	return bench_wants(bench, bench_name("quantize/%s", kinds[i].name));
}

static int measure_kind(void *user, size_t i)
{
	return race_kind(user, &kinds[i]);
}

static const struct bench_series series = {
	.n = N(kinds), .wanted = is_wanted, .measure = measure_kind};

size_t bench_quantize_steps(const struct bench *bench)
{
	return bench_series_steps(bench, &series);
}

/* A copy needs as much room on both sides. */
static int allocate(struct quantize_bench *of)
{
	struct philox_device *device = of->bench->device;
	const size_t bytes = 2 * of->elements;

	return bench_try("in", philox_memory_alloc(device, bytes, &of->in)) ||
	       bench_try("out", philox_memory_alloc(device, bytes, &of->out)) ||
	       bench_try("scales",
			 philox_memory_alloc(device, of->elements / 16,
					     &of->scales)) ||
	       bench_try("scale", philox_memory_alloc(device, 4, &of->scale));
}

static int make_input(const struct quantize_bench *of)
{
	const struct philox_rng rng = {{2, 0}, NULL};
	const struct philox_fill_desc fill = {
		.size = sizeof(fill),
		.dist = PHILOX_DIST_NORMAL,
		.dtype = PHILOX_DTYPE_BF16,
		.span = philox_span_elements(0, of->elements),
		.std = 1,
		.out = of->in};

	return bench_try("input",
			 philox_rng_fill(of->bench->device, of->bench->stream,
					 rng, &fill)) ||
	       bench_try("scale", philox_tensor_scale(
					  of->bench->device, of->bench->stream,
					  PHILOX_DTYPE_BF16, of->in,
					  of->elements, of->scale)) ||
	       bench_try("wait", bench_wait(of->bench));
}

int bench_quantize(struct bench *bench)
{
	const int is_host = philox_device_is_host(bench->device);
	struct quantize_bench of = {.bench = bench};
	int failed;

	of.elements = (uint64_t)COLUMNS * (bench->quick ? ROWS_QUICK
					   : is_host    ? ROWS_CPU
							: ROWS_GPU);
	failed = allocate(&of) || make_input(&of);
	if (!failed) {
		of.torch = torch_open(bench->device, bench->threads, of.note);
		failed = bench_series_run(bench, &series, &of);
		torch_close(of.torch);
	}
	philox_memory_free(bench->device, of.in);
	philox_memory_free(bench->device, of.out);
	philox_memory_free(bench->device, of.scales);
	philox_memory_free(bench->device, of.scale);
	return failed ? -1 : 0;
}
