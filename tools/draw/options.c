/*
 * tools/draw/options.c - the options of philox draw, one by one
 */
#include <stdio.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/draw/draw.h"
#include "lib/device/kernels.h"

static const char usage_before_dists[] =
	"usage: philox draw [OPTION]...\n"
	"\n"
	"Print the numbers of a state (seed, offset): elements E, E + 1, ...; or\n"
	"with --axis, a word of each of many states: numbers E, E + 1, ...\n"
	"\n"
	"  --device NAME  " HELP_DEVICE " (default host)\n"
	"  --seed S       the Philox key (default 0)\n"
	"  --offset O     in 32-bit words, a multiple of 4 (default 0)\n"
	"  --first E      index of the first element (default 0)\n"
	"  --count N      how many; 0: until element 2^64 - 1 (default 16)\n"
	"  --dist X       ";
static const char usage_after_dists[] =
	" (default bits)\n"
	"  --dtype T      u32, u64 for bits (default u32); u32, u64, i32, i64 for\n"
	"                 integers, permutation, categorical (default i64); else\n"
	"                 f32, f64, bf16, f16 (default f32); signs: u32, too, but\n"
	"                 no f64; truncated-normal: no f64\n"
	"  --low A, --high B   of uniform: [A, B) (default 0 and 1); of\n"
	"                 truncated-normal: [A, B] (default -2 and 2)\n"
	"  --mean M, --std S   of normal, log-normal, truncated-normal (default 0\n"
	"                 and 1)\n"
	"  --rate R       of exponential (default 1)\n"
	"  --from A, --to B    of integers: [A, B] (default 0 and 9)\n"
	"  --p P          of bernoulli, from 0 to 1 (default 0.5)\n"
	"  --n N          of permutation: how many items (default: up to the last\n"
	"                 one drawn); with --count 0 all of them are drawn\n"
	"  --weights W,W,...   of categorical: at most 1024 weights, that of\n"
	"                 category 0 first (default 1,1)\n"
	"  --axis A       element; or, with keys as in a region, across operators:\n"
	"                 op (E, E + 1, ...), call (of one operator), offset\n"
	"                 (O + 4 E, ...), seed (S + E, ...), row (of a table); or\n"
	"                 order (low 32 bits of each of 2^63 items), mask (32\n"
	"                 elements a word, p = 1/2) (default element)\n"
	"  --layout L     numbers of another library: curand_device, curand_host,\n"
	"                 pytorch, nvfuser, triton, jax (default: default)\n"
	"  --threads T    curand_device: of the grid (default 0: 4 words each)\n"
	"  --sms N        pytorch: multiprocessors of the GPU (default 132)\n"
	"  --threads-per-sm N  pytorch: threads of each (default 2048)\n"
	"  --elements N   of the whole tensor of another library (default: up to\n"
	"                 the last one)\n"
	"  --format F     text: a value per line, bits in hex, integers in\n"
	"                 decimal, others as C hex floats, bf16 and f16 widened;\n"
	"                 raw: little-endian (default text)\n"
	"  --help         " HELP_HELP "\n"
	"\n"
	"Whole numbers are decimal or 0x...; real ones may be C hex floats.\n"
	"Exit status: 0 done, 1 it failed, 2 the command line is wrong.\n";

/* --- names ---------------------------------------------------------------- */

static const char *const dtypes[] = {[PHILOX_DTYPE_U32] = "u32",
				     [PHILOX_DTYPE_U64] = "u64",
				     [PHILOX_DTYPE_F32] = "f32",
				     [PHILOX_DTYPE_BF16] = "bf16",
				     [PHILOX_DTYPE_F16] = "f16",
				     [PHILOX_DTYPE_F64] = "f64",
				     [PHILOX_DTYPE_I32] = "i32",
				     [PHILOX_DTYPE_I64] = "i64",
				     NULL};
const char *const draw_axes[] = {"element", "offset", "op",   "call", "seed",
				 "row",     "order",  "mask", NULL};
const char *const draw_layouts[] = {[PHILOX_LAYOUT_DEFAULT] = "default",
				    [PHILOX_LAYOUT_CURAND_DEVICE] =
					    "curand_device",
				    [PHILOX_LAYOUT_CURAND_HOST] = "curand_host",
				    [PHILOX_LAYOUT_PYTORCH] = "pytorch",
				    [PHILOX_LAYOUT_NVFUSER] = "nvfuser",
				    [PHILOX_LAYOUT_TRITON] = "triton",
				    [PHILOX_LAYOUT_JAX] = "jax",
				    NULL};
static const char *const formats[] = {"text", "raw", NULL};

/* Distributions that can be drawn: those without an input. */
#define DIST_ROOM(dist, name, function, parameters, kernels) +1
struct drawn_dists {
	enum philox_dist dist[FILL_DISTS(DIST_ROOM, )];
	const char *name[FILL_DISTS(DIST_ROOM, ) + 1]; /* ends with NULL */
};

static struct drawn_dists find_dists(void)
{
	struct drawn_dists dists = {.name = {NULL}};
	size_t n = 0;

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++) {
		if (kind->reads || (n && dists.dist[n - 1] == kind->dist))
			continue;
		dists.dist[n] = kind->dist;
		dists.name[n++] = kind->dist_name;
	}
	return dists;
}

static size_t add_text(char *text, size_t length, const char *more)
{
	strcpy(text + length, more);
	return length + strlen(more);
}

/* The names of the distributions, in lines one below the other. */
static size_t add_names(char *text, size_t length,
			const struct drawn_dists *dists)
{
	size_t column = 17;

	for (size_t i = 0; dists->name[i]; i++) {
		const char *between = !i ? "" : ", ";

		if (column + strlen(dists->name[i]) > 60) {
			between = ",\n                 ";
			column = 17;
		}
		length = add_text(text, length, between);
		length = add_text(text, length, dists->name[i]);
		column += strlen(dists->name[i]) + 2;
	}
	return length;
}

static const char *help_text(const struct drawn_dists *dists)
{
	static char text[sizeof(usage_before_dists) +
			 sizeof(usage_after_dists) +
			 (0 FILL_DISTS(DIST_ROOM, )) * 64];
	size_t length = add_text(text, 0, usage_before_dists);

	length = add_names(text, length, dists);
	add_text(text, length, usage_after_dists);
	return text;
}

static void set_defaults(struct draw *draw)
{
	*draw = (struct draw){.device_name = "host",
			      .fill = {.size = sizeof(draw->fill),
				       .span = {.count = 16},
				       .high = 1,
				       .std = 1,
				       .rate = 1,
				       .p = 0.5,
				       .to = 9},
			      .layout = {.size = sizeof(draw->layout),
					 .sms = 132,
					 .threads_per_sm = 2048}};
}

static int read_line(int argc, char **argv, struct draw_line *line,
		     const struct drawn_dists *dists)
{
	struct draw *draw = line->draw;
	struct philox_fill_desc *fill = &draw->fill;
	struct philox_layout_desc *layout = &draw->layout;
	const char **given = line->given;
	const uint64_t most = UINT64_MAX, most_32 = UINT32_MAX;
	const struct tool_option options[] = {
		{"device", TAKES_TEXT, .to = &draw->device_name},
		{"seed", TAKES_WHOLE, .to = &draw->state.seed, .most = most},
		{"offset", TAKES_WHOLE, .to = &draw->state.offset, .most = most,
		 .given = &given[GIVEN_OFFSET]},
		{"first", TAKES_WHOLE, .to = &fill->span.first, .most = most},
		{"count", TAKES_WHOLE, .to = &fill->span.count, .most = most,
		 .given = &given[GIVEN_COUNT]},
		{"dist", TAKES_NAME, .to = &line->dist, .names = dists->name},
		{"dtype", TAKES_NAME, .to = &line->dtype, .names = dtypes,
		 .given = &given[GIVEN_DTYPE]},
		{"low", TAKES_REAL, .to = &fill->low,
		 .given = &given[GIVEN_LOW]},
		{"high", TAKES_REAL, .to = &fill->high,
		 .given = &given[GIVEN_HIGH]},
		{"mean", TAKES_REAL, .to = &fill->mean,
		 .given = &given[GIVEN_MEAN]},
		{"std", TAKES_REAL, .to = &fill->std,
		 .given = &given[GIVEN_STD]},
		{"rate", TAKES_REAL, .to = &fill->rate,
		 .given = &given[GIVEN_RATE]},
		/* read when their dtype is known */
		{"from", TAKES_TEXT, .to = &given[GIVEN_FROM]},
		{"to", TAKES_TEXT, .to = &given[GIVEN_TO]},
		{"p", TAKES_PROBABILITY, .to = &fill->p,
		 .given = &given[GIVEN_P]},
		{"n", TAKES_WHOLE, .to = &fill->n, .least = 1, .most = most,
		 .given = &given[GIVEN_ITEMS]},
		{"weights", TAKES_TEXT, .to = &given[GIVEN_WEIGHTS]},
		{"axis", TAKES_NAME, .to = &draw->axis, .names = draw_axes},
		{"format", TAKES_NAME, .to = &draw->raw, .names = formats},
		{"layout", TAKES_NAME, .to = &line->layout,
		 .names = draw_layouts, .given = &given[GIVEN_LAYOUT]},
		{"threads", TAKES_WHOLE_32, .to = &layout->threads,
		 .most = most_32, .given = &given[GIVEN_THREADS]},
		{"sms", TAKES_WHOLE_32, .to = &layout->sms, .most = most_32,
		 .given = &given[GIVEN_SMS]},
		{"threads-per-sm", TAKES_WHOLE_32,
		 .to = &layout->threads_per_sm, .most = most_32,
		 .given = &given[GIVEN_THREADS_PER_SM]},
		{"elements", TAKES_WHOLE, .to = &layout->elements, .least = 1,
		 .most = most, .given = &given[GIVEN_ELEMENTS]},
		{0}};

	return read_options(argc, argv, options, help_text(dists), 0);
}

int draw_options(struct draw *draw, int argc, char **argv)
{
	struct draw_line line = {.draw = draw, .given[GIVEN_COUNT] = "16"};
	const struct drawn_dists dists = find_dists();
	int status;

	set_defaults(draw);
	status = read_line(argc, argv, &line, &dists);
	if (status >= 0)
		return status;
	draw->fill.dist = dists.dist[line.dist];
	draw->fill.dtype = (enum philox_dtype)line.dtype;
	draw->layout.kind = (enum philox_layout_kind)line.layout;
	if (line.given[GIVEN_LAYOUT])
		draw->fill.layout = &draw->layout;
	return draw_check(&line) ? 2 : -1;
}
