/*
 * tools/draw/options.c - the options of philox draw, each by itself
 */
#include <stdio.h>
#include "tools/common/complain.h"
#include "tools/draw/draw.h"
#include "tools/draw/line.h"

static const char usage[] =
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
	"  --dist X       bits, uniform, normal, bernoulli, log-normal,\n"
	"                 exponential, gumbel, integers (default bits)\n"
	"  --dtype T      u32, u64 for bits (default u32); u32, u64, i32, i64 for\n"
	"                 integers (default i64); else f32, f64, bf16, f16\n"
	"                 (default f32)\n"
	"  --low A, --high B   of uniform: [A, B) (default 0 and 1)\n"
	"  --mean M, --std S   of normal, log-normal (default 0 and 1)\n"
	"  --rate R       of exponential (default 1)\n"
	"  --from A, --to B    of integers: [A, B] (default 0 and 9)\n"
	"  --p P          of bernoulli, from 0 to 1 (default 0.5)\n"
	"  --axis A       element; or across operators, keys as in a region:\n"
	"                 op (E, E + 1, ...), call (offsets O + 4 E, ...),\n"
	"                 seed (S + E, ...) (default element)\n"
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

const char *const draw_dists[] = {"bits",      "uniform",    "normal",
				  "bernoulli", "log-normal", "exponential",
				  "gumbel",    "integers",   NULL};
static const enum philox_dist dist_of[] = {
	PHILOX_BITS,       PHILOX_UNIFORM,     PHILOX_NORMAL, PHILOX_BERNOULLI,
	PHILOX_LOG_NORMAL, PHILOX_EXPONENTIAL, PHILOX_GUMBEL, PHILOX_INTEGERS};
static const char *const dtypes[] = {"u32", "u64", "f32", "bf16", "f16",
				     "f64", "i32", "i64", NULL};
const char *const draw_axes[] = {"element", "op", "call", "seed", NULL};
const char *const draw_layouts[] = {
	"default", "curand_device", "curand_host", "pytorch",
	"nvfuser", "triton",        "jax",         NULL};
static const char *const formats[] = {"text", "raw", NULL};

static const struct option options[] = {
	{"device", required_argument, NULL, DEVICE},
	{"seed", required_argument, NULL, SEED},
	{"offset", required_argument, NULL, OFFSET},
	{"first", required_argument, NULL, FIRST},
	{"count", required_argument, NULL, COUNT},
	{"dist", required_argument, NULL, DIST},
	{"dtype", required_argument, NULL, DTYPE},
	{"low", required_argument, NULL, LOW},
	{"high", required_argument, NULL, HIGH},
	{"mean", required_argument, NULL, MEAN},
	{"std", required_argument, NULL, STD},
	{"rate", required_argument, NULL, RATE},
	{"from", required_argument, NULL, FROM},
	{"to", required_argument, NULL, TO},
	{"p", required_argument, NULL, P},
	{"axis", required_argument, NULL, AXIS},
	{"format", required_argument, NULL, FORMAT},
	{"layout", required_argument, NULL, LAYOUT},
	{"threads", required_argument, NULL, THREADS},
	{"sms", required_argument, NULL, SMS},
	{"threads-per-sm", required_argument, NULL, THREADS_PER_SM},
	{"elements", required_argument, NULL, ELEMENTS},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0}};

/* --- values --------------------------------------------------------------- */

static int take_number(const char *option, const char *text, uint64_t *number)
{
	return take_whole("draw", option, text, 0, UINT64_MAX, number);
}

static int take_u32(const char *option, const char *text, uint32_t *number)
{
	uint64_t wide = 0;
	int error = take_whole("draw", option, text, 0, UINT32_MAX, &wide);

	*number = (uint32_t)wide;
	return error;
}

static int parse_layout(struct draw *draw, int option, const char *value)
{
	struct philox_layout *layout = &draw->layout;
	int choice = 0, error;

	switch (option) {
	case LAYOUT:
		error = take_name("draw", "layout", value, draw_layouts,
				  &choice);
		layout->kind = (enum philox_layout_kind)choice;
		draw->fill.layout = layout;
		return error;
	case THREADS:
		return take_u32("threads", value, &layout->threads);
	case SMS:
		return take_u32("sms", value, &layout->sms);
	case THREADS_PER_SM:
		return take_u32("threads-per-sm", value,
				&layout->threads_per_sm);
	case ELEMENTS:
		return take_whole("draw", "elements", value, 1, UINT64_MAX,
				  &layout->elements);
	default: /* --from, --to: read when their dtype is known */
		return 0;
	}
}

static int parse_parameter(struct draw *draw, int option, const char *value)
{
	struct philox_fill *fill = &draw->fill;

	switch (option) {
	case LOW:
		return take_real("draw", "low", value, &fill->low);
	case HIGH:
		return take_real("draw", "high", value, &fill->high);
	case MEAN:
		return take_real("draw", "mean", value, &fill->mean);
	case STD:
		return take_real("draw", "std", value, &fill->std);
	case RATE:
		return take_real("draw", "rate", value, &fill->rate);
	case P:
		return take_probability("draw", "p", value, &fill->p);
	default:
		return parse_layout(draw, option, value);
	}
}

static int parse_name(struct draw_line *line, int option, const char *value)
{
	struct draw *draw = line->draw;
	int choice = 0, error;

	switch (option) {
	case DIST:
		error = take_name("draw", "dist", value, draw_dists,
				  &line->dist);
		draw->fill.dist = dist_of[line->dist];
		return error;
	case DTYPE:
		error = take_name("draw", "dtype", value, dtypes, &choice);
		draw->fill.dtype = (enum philox_dtype)choice;
		return error;
	case AXIS:
		return take_name("draw", "axis", value, draw_axes, &draw->axis);
	case FORMAT:
		return take_name("draw", "format", value, formats, &draw->raw);
	default:
		return parse_parameter(draw, option, value);
	}
}

static int parse_option(struct draw_line *line, int option, const char *value)
{
	struct draw *draw = line->draw;

	line->given[option] = value;
	switch (option) {
	case DEVICE:
		draw->device_name = value;
		return 0;
	case SEED:
		return take_number("seed", value, &draw->state.seed);
	case OFFSET:
		return take_number("offset", value, &draw->state.offset);
	case FIRST:
		return take_number("first", value, &draw->fill.span.first);
	case COUNT:
		return take_number("count", value, &draw->fill.span.count);
	default:
		return parse_name(line, option, value);
	}
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

int draw_options(struct draw *draw, int argc, char **argv, int *done)
{
	struct draw_line line = {.draw = draw, .given[COUNT] = "16"};
	int option, error = 0;

	set_defaults(draw);
	optind = 0;
	while (!error && (option = next_option(argc, argv, options)) != -1) {
		if (option == '?')
			return 2;
		if (option == HELP) {
			fputs(usage, stdout);
			*done = 1;
			return 0;
		}
		error = parse_option(&line, option, optarg);
	}
	if (!error)
		error = arguments_end(argc, argv, 0);
	return error ? error : draw_check(&line);
}
