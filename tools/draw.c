/*
 * tools/draw.c - philox draw: a stream of numbers for people and test batteries
 *
 * Numbers come in chunks: filled on the device, copied here, formatted, written.
 * So memory is bounded whatever is asked for, and element 2^64 - 1 is the end.
 * Output goes to the descriptor and not through stdio, where the error of a
 * reader that went away could not be told from others later.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <philox.h>
#include "complain.h"
#include "draw_axis.h"
#include "tools.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "raw output is little-endian");

#define CHUNK    16384 /* elements */
#define TEXT_MAX 24    /* bytes of text per element, at most */

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
	"  --dist X       bits, uniform, normal, bernoulli (default bits)\n"
	"  --dtype T      u32, u64 for bits (default u32); else f32, bf16\n"
	"                 (default f32)\n"
	"  --p P          of bernoulli, from 0 to 1 (default 0.5)\n"
	"  --axis A       element; or across operators, keys as in a region:\n"
	"                 op (E, E + 1, ...), call (offsets O + 4 E, ...),\n"
	"                 seed (S + E, ...) (default element)\n"
	"  --layout L     numbers of another library: curand_device, curand_host,\n"
	"                 pytorch, nvfuser, triton, jax (default: default)\n"
	"  --threads T    curand_device: of the grid (default 0: 4 words each)\n"
	"  --sms N        pytorch: multiprocessors of the GPU (default 132)\n"
	"  --threads-per-sm N  pytorch: threads of each (default 2048)\n"
	"  --elements N   of the whole tensor (default: up to the last one)\n"
	"  --format F     text: a value per line, bits in hex, others as C hex\n"
	"                 floats, bf16 widened; raw: little-endian (default text)\n"
	"  --help         " HELP_HELP "\n"
	"\n"
	"Whole numbers are decimal or 0x...\n"
	"Exit status: 0 done, 1 it failed, 2 the command line is wrong.\n";

struct draw {
	const char *device_name;
	const char *offset, *count, *p; /* as given, or NULL */
	int axis;                       /* enum axis */
	struct philox_state state;
	struct philox_fill fill;
	struct philox_layout layout;
	int has_dtype;
	int raw;
	struct philox_device *device;
	philox_stream stream;
	void *values; /* CHUNK elements here */
	char *text;   /* the same as text */
};

/* --- the command line ------------------------------------------------------- */

static const char *const dists[] = {"bits", "uniform", "normal", "bernoulli",
				    NULL};
static const char *const dtypes[] = {"u32", "u64", "f32", "bf16", NULL};
static const char *const axes[] = {"element", "op", "call", "seed", NULL};
static const char *const layouts[] = {
	"default", "curand_device", "curand_host", "pytorch",
	"nvfuser", "triton",        "jax",         NULL};
static const char *const formats[] = {"text", "raw", NULL};
static const size_t sizes[] = {4, 8, 4, 2};

enum {
	DEVICE = 1,
	SEED,
	OFFSET,
	FIRST,
	COUNT,
	DIST,
	DTYPE,
	P,
	AXIS,
	FORMAT,
	LAYOUT,
	THREADS,
	SMS,
	THREADS_PER_SM,
	ELEMENTS,
	HELP
};

static const struct option options[] = {
	{"device", required_argument, NULL, DEVICE},
	{"seed", required_argument, NULL, SEED},
	{"offset", required_argument, NULL, OFFSET},
	{"first", required_argument, NULL, FIRST},
	{"count", required_argument, NULL, COUNT},
	{"dist", required_argument, NULL, DIST},
	{"dtype", required_argument, NULL, DTYPE},
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
	case THREADS:
		return take_u32("threads", value, &layout->threads);
	case SMS:
		return take_u32("sms", value, &layout->sms);
	case THREADS_PER_SM:
		return take_u32("threads-per-sm", value,
				&layout->threads_per_sm);
	case ELEMENTS:
		return take_number("elements", value, &layout->elements);
	default:
		error = take_name("draw", "layout", value, layouts, &choice);
		layout->kind = (enum philox_layout_kind)choice;
		draw->fill.layout = layout;
		return error;
	}
}

static int parse_option(struct draw *draw, int option, const char *value)
{
	int choice = 0, error;

	switch (option) {
	case DEVICE:
		draw->device_name = value;
		return 0;
	case SEED:
		return take_number("seed", value, &draw->state.seed);
	case OFFSET:
		draw->offset = value;
		return take_number("offset", value, &draw->state.offset);
	case FIRST:
		return take_number("first", value, &draw->fill.span.first);
	case COUNT:
		draw->count = value;
		return take_number("count", value, &draw->fill.span.count);
	case DIST:
		error = take_name("draw", "dist", value, dists, &choice);
		draw->fill.dist = (enum philox_dist)choice;
		return error;
	case DTYPE:
		error = take_name("draw", "dtype", value, dtypes, &choice);
		draw->fill.dtype = (enum philox_dtype)choice;
		draw->has_dtype = 1;
		return error;
	case P:
		draw->p = value;
		return take_probability("draw", "p", value, &draw->fill.p);
	case AXIS:
		return take_name("draw", "axis", value, axes, &draw->axis);
	case FORMAT:
		return take_name("draw", "format", value, formats, &draw->raw);
	default:
		return parse_layout(draw, option, value);
	}
}

static int check_dtype(struct draw *draw)
{
	struct philox_fill *fill = &draw->fill;
	int is_bits = fill->dist == PHILOX_BITS;

	if (!draw->has_dtype)
		fill->dtype = is_bits ? PHILOX_U32 : PHILOX_F32;
	if (is_bits == (fill->dtype == PHILOX_U32 || fill->dtype == PHILOX_U64))
		return 0;
	return complain_value("draw", "dtype", dtypes[fill->dtype],
			      "must be one of %s with --dist %s",
			      is_bits ? "u32, u64" : "f32, bf16",
			      dists[fill->dist]);
}

/* Words across states are made here and not by a fill. */
static int check_axis(const struct draw *draw)
{
	if (draw->axis == AXIS_ELEMENT)
		return 0;
	if (draw->fill.dtype != PHILOX_U32)
		return complain_value("draw", "axis", axes[draw->axis],
				      "needs --dist bits with --dtype u32");
	if (draw->fill.layout)
		return complain_value("draw", "axis", axes[draw->axis],
				      "goes with no --layout");
	if (strncmp(draw->device_name, "host", 4) != 0)
		return complain_value("draw", "axis", axes[draw->axis],
				      "needs --device host, not %s",
				      draw->device_name);
	return 0;
}

/* A tensor ends with what is drawn, unless it was said where. */
static int check_layout(struct draw *draw)
{
	int is_pytorch = draw->layout.kind == PHILOX_LAYOUT_PYTORCH;
	struct philox_fill fill = draw->fill;
	uint64_t words;

	if (!fill.span.count && (is_pytorch || draw->layout.elements))
		return complain_value("draw", "count", draw->count,
				      "goes past the tensor's end with "
				      "--layout %s",
				      layouts[draw->layout.kind]);
	if (is_pytorch && !draw->layout.elements)
		draw->layout.elements = fill.span.first + fill.span.count;
	if (!draw->layout.elements) /* nothing advances: any end is fine */
		fill.span = philox_elements(0, 0);
	if (!philox_layout_advance(&fill, &words))
		return 0;
	complain("draw", "--layout %s: %s", layouts[draw->layout.kind],
		 philox_error_message());
	return 2;
}

/* What each option allows by itself may not fit together. */
static int check_options(struct draw *draw)
{
	const struct philox_span *span = &draw->fill.span;

	if (check_dtype(draw) || check_axis(draw))
		return 2;
	if (draw->p && draw->fill.dist != PHILOX_BERNOULLI)
		return complain_value("draw", "p", draw->p,
				      "needs --dist bernoulli, not %s",
				      dists[draw->fill.dist]);
	if (draw->state.offset % 4)
		return complain_value("draw", "offset", draw->offset,
				      "must be a multiple of 4");
	if (span->count && span->first + (span->count - 1) < span->first)
		return complain_value("draw", "count", draw->count,
				      "goes past element 2^64 - 1 from --first "
				      "on");
	return draw->layout.kind ? check_layout(draw) : 0;
}

/* Sets *done when there is nothing left to do, as after --help. */
static int parse_options(struct draw *draw, int argc, char **argv, int *done)
{
	int option, error = 0;

	optind = 0;
	while (!error && (option = next_option(argc, argv, options)) != -1) {
		if (option == '?')
			return 2;
		if (option == HELP) {
			fputs(usage, stdout);
			*done = 1;
			return 0;
		}
		error = parse_option(draw, option, optarg);
	}
	if (!error)
		error = arguments_end(argc, argv, 0);
	return error ? error : check_options(draw);
}

/* --- output ----------------------------------------------------------------- */

static size_t format_value(const struct draw *draw, size_t i, char *text)
{
	double x;

	if (draw->fill.dtype == PHILOX_U32)
		return (size_t)sprintf(text, "%08" PRIx32 "\n",
				       ((const uint32_t *)draw->values)[i]);
	if (draw->fill.dtype == PHILOX_U64)
		return (size_t)sprintf(text, "%016" PRIx64 "\n",
				       ((const uint64_t *)draw->values)[i]);
	if (draw->fill.dtype == PHILOX_F32)
		x = ((const float *)draw->values)[i];
	else
		x = philox_bf16_to_f32(((const uint16_t *)draw->values)[i]);
	return (size_t)sprintf(text, "%a\n", x);
}

/* Sets *done when nobody reads any more. */
static int write_bytes(const char *bytes, size_t size, int *done)
{
	while (size) {
		ssize_t written = write(STDOUT_FILENO, bytes, size);

		if (written >= 0) {
			bytes += written;
			size -= (size_t)written;
		} else if (errno == EPIPE) {
			*done = 1;
			return 0;
		} else if (errno != EINTR) {
			perror("philox draw: standard output");
			return 1;
		}
	}
	return 0;
}

static int write_values(const struct draw *draw, size_t n, int *done)
{
	size_t size = 0;

	if (draw->raw)
		return write_bytes(draw->values, n * sizes[draw->fill.dtype],
				   done);
	for (size_t i = 0; i < n; i++)
		size += format_value(draw, i, draw->text + size);
	return write_bytes(draw->text, size, done);
}

/* --- drawing ---------------------------------------------------------------- */

static int fail(void)
{
	complain("draw", "%s", philox_error_message());
	return 1;
}

static int draw_chunk(struct draw *draw)
{
	struct philox_rng rng = {.state = draw->state};
	size_t size = draw->fill.span.count * sizes[draw->fill.dtype];

	if (draw->axis != AXIS_ELEMENT) {
		axis_draw((enum axis)draw->axis, draw->state,
			  draw->fill.span.first, draw->values,
			  draw->fill.span.count);
		return 0;
	}
	if (philox_rng_fill(draw->device, draw->stream, rng, &draw->fill) ||
	    philox_memory_copy(draw->device, draw->values, draw->fill.out, size,
			       draw->stream) ||
	    philox_stream_synchronize(draw->device, draw->stream))
		return fail();
	return 0;
}

/* Without a count, all there are: 2^64 of them do not fit a count. */
static int draw_all(struct draw *draw)
{
	struct philox_span *span = &draw->fill.span;
	uint64_t last =
		span->count ? span->first + (span->count - 1) : UINT64_MAX;
	int done = 0, error;

	while (!done) {
		uint64_t behind = last - span->first; /* the first of these */

		span->count = behind < CHUNK ? behind + 1 : CHUNK;
		error = draw_chunk(draw);
		if (!error)
			error = write_values(draw, span->count, &done);
		if (error)
			return error;
		done |= span->count > behind;
		span->first += span->count;
	}
	return 0;
}

static int draw_on_device(struct draw *draw)
{
	int error = 0;

	if (philox_stream_create(draw->device, 0, &draw->stream))
		return fail();
	if (philox_memory_alloc(draw->device, CHUNK * sizes[draw->fill.dtype],
				&draw->fill.out))
		error = fail();
	else
		error = draw_all(draw);
	philox_memory_free(draw->device, draw->fill.out);
	philox_stream_destroy(draw->device, draw->stream);
	return error;
}

static int run(struct draw *draw)
{
	int error = open_device("draw", draw->device_name, &draw->device);

	if (error)
		return error;
	error = 1;
	draw->values = malloc(CHUNK * sizes[draw->fill.dtype]);
	draw->text = malloc(CHUNK * TEXT_MAX);
	if (draw->values && draw->text)
		error = draw_on_device(draw);
	else
		complain("draw", "out of memory");
	free(draw->text);
	free(draw->values);
	philox_device_close(draw->device);
	return error;
}

int tool_draw(int argc, char **argv)
{
	struct draw draw = {.device_name = "host",
			    .fill = {.size = sizeof(draw.fill),
				     .span = {.count = 16},
				     .high = 1,
				     .std = 1,
				     .rate = 1,
				     .p = 0.5},
			    .layout = {.size = sizeof(draw.layout),
				       .sms = 132,
				       .threads_per_sm = 2048}};
	int done = 0, error;

	error = parse_options(&draw, argc, argv, &done);
	if (error || done)
		return error;
	signal(SIGPIPE, SIG_IGN);
	return run(&draw);
}
