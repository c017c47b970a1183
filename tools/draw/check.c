/*
 * tools/draw/check.c - check the options of philox draw together
 *
 * The library checks the parameters of a distribution in its dtype, and the
 * kinds of a layout.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/draw/draw.h"
#include "lib/dist/dist.h"

static const char *dist_name(const struct draw_line *line)
{
	return fill_dist_name(line->draw->fill.dist);
}

/* f32, if the distribution has it. */
static enum philox_dtype default_dtype(enum philox_dist dist)
{
	if (fill_kind_of(dist, PHILOX_DTYPE_F32))
		return PHILOX_DTYPE_F32;
	return fill_kind_of(dist, PHILOX_DTYPE_I64) ? PHILOX_DTYPE_I64
						    : PHILOX_DTYPE_U32;
}

static int refuse_dtype(const struct draw_line *line)
{
	char names[64] = "";

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		if (kind->dist == line->draw->fill.dist)
			snprintf(names + strlen(names),
				 sizeof(names) - strlen(names), "%s%s",
				 *names ? ", " : "", kind->dtype_name);
	return complain_value("draw", "dtype", line->given[GIVEN_DTYPE],
			      "must be one of %s with --dist %s", names,
			      dist_name(line));
}

static int check_dtype(const struct draw_line *line)
{
	struct philox_fill_desc *fill = &line->draw->fill;

	if (!line->given[GIVEN_DTYPE])
		fill->dtype = default_dtype(fill->dist);
	line->draw->size = fill_dtype_size(fill->dtype);
	return fill_kind_of(fill->dist, fill->dtype) ? 0 : refuse_dtype(line);
}

/* Words across states are made here, not by a fill. */
static int check_axis(const struct draw_line *line)
{
	const struct draw *draw = line->draw;

	if (draw->axis == AXIS_ELEMENT)
		return 0;
	if (draw->fill.dist != PHILOX_DIST_BITS ||
	    draw->fill.dtype != PHILOX_DTYPE_U32)
		return complain_value("draw", "axis", draw_axes[draw->axis],
				      "needs --dist bits with --dtype u32");
	if (draw->fill.layout)
		return complain_value("draw", "axis", draw_axes[draw->axis],
				      "goes with no --layout");
	if (strncmp(draw->device_name, "host", 4) != 0)
		return complain_value("draw", "axis", draw_axes[draw->axis],
				      "needs --device host, not %s",
				      draw->device_name);
	return 0;
}

#define HAS(dist) (1u << PHILOX_DIST_##dist)

/* Parameters that the distribution does not have. */
static int check_parameters(const struct draw_line *line)
{
	const uint32_t ranges = HAS(UNIFORM) | HAS(TRUNCATED_NORMAL);
	const uint32_t normals =
		HAS(NORMAL) | HAS(LOG_NORMAL) | HAS(TRUNCATED_NORMAL);
	const char *of_ranges = "uniform or truncated-normal";
	const char *of_normals = "normal, log-normal or truncated-normal";
	const struct {
		int option;
		uint32_t dists; /* which have it */
		const char *name, *needs;
	} rows[] = {
		{GIVEN_LOW, ranges, "low", of_ranges},
		{GIVEN_HIGH, ranges, "high", of_ranges},
		{GIVEN_MEAN, normals, "mean", of_normals},
		{GIVEN_STD, normals, "std", of_normals},
		{GIVEN_RATE, HAS(EXPONENTIAL), "rate", "exponential"},
		{GIVEN_FROM, HAS(INTEGERS), "from", "integers"},
		{GIVEN_TO, HAS(INTEGERS), "to", "integers"},
		{GIVEN_P, HAS(BERNOULLI), "p", "bernoulli"},
		{GIVEN_ITEMS, HAS(PERMUTATION), "n", "permutation"},
		{GIVEN_WEIGHTS, HAS(CATEGORICAL), "weights", "categorical"},
	};
	const uint32_t dist = 1u << line->draw->fill.dist;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (line->given[rows[i].option] && !(dist & rows[i].dists))
			return complain_value("draw", rows[i].name,
					      line->given[rows[i].option],
					      "needs --dist %s, not %s",
					      rows[i].needs, dist_name(line));
	return 0;
}

/* Options that the layout does not have. */
static int check_layout(const struct draw_line *line)
{
	static const struct {
		int option;
		enum philox_layout_kind kind; /* the layout that has it */
		const char *name;
	} rows[] = {
		{GIVEN_THREADS, PHILOX_LAYOUT_CURAND_DEVICE, "threads"},
		{GIVEN_SMS, PHILOX_LAYOUT_PYTORCH, "sms"},
		{GIVEN_THREADS_PER_SM, PHILOX_LAYOUT_PYTORCH, "threads-per-sm"},
	};
	enum philox_layout_kind kind = line->draw->layout.kind;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (line->given[rows[i].option] && kind != rows[i].kind)
			return complain_value("draw", rows[i].name,
					      line->given[rows[i].option],
					      "needs --layout %s, not %s",
					      draw_layouts[rows[i].kind],
					      draw_layouts[kind]);
	if (line->given[GIVEN_ELEMENTS] && kind == PHILOX_LAYOUT_DEFAULT)
		return complain_value("draw", "elements",
				      line->given[GIVEN_ELEMENTS],
				      "needs a --layout of another library");
	return 0;
}

/* An end of a range of integers, in the range of its dtype. */
static int take_end(const struct draw_line *line, int option, uint64_t *end)
{
	const char *name = option == GIVEN_FROM ? "from" : "to";
	const char *text = line->given[option];

	if (!text)
		return 0;
	switch (line->draw->fill.dtype) {
	case PHILOX_DTYPE_U32:
		return take_whole("draw", name, text, 0, UINT32_MAX, end);
	case PHILOX_DTYPE_U64:
		return take_whole("draw", name, text, 0, UINT64_MAX, end);
	case PHILOX_DTYPE_I32:
		return take_signed("draw", name, text, INT32_MIN, INT32_MAX,
				   end);
	default:
		return take_signed("draw", name, text, INT64_MIN, INT64_MAX,
				   end);
	}
}

static int check_span(const struct draw_line *line)
{
	const struct philox_span *span = &line->draw->fill.span;

	if (line->draw->state.offset % 4)
		return complain_value("draw", "offset",
				      line->given[GIVEN_OFFSET],
				      "must be a multiple of 4");
	if (span->count && span->first + (span->count - 1) < span->first)
		return complain_value("draw", "count", line->given[GIVEN_COUNT],
				      "goes past element 2^64 - 1 from --first "
				      "on");
	return 0;
}

/* An order ends with the last item drawn, unless --n is given. */
static int check_order(const struct draw_line *line)
{
	struct philox_fill_desc *fill = &line->draw->fill;
	struct philox_span *span = &fill->span;

	if (fill->dist != PHILOX_DIST_PERMUTATION)
		return 0;
	if (!span->count && !line->given[GIVEN_ITEMS])
		return complain_value("draw", "count", line->given[GIVEN_COUNT],
				      "needs --n with --dist permutation");
	if (!line->given[GIVEN_ITEMS])
		fill->n = span->first + span->count;
	if (!span->count && span->first < fill->n)
		span->count = fill->n - span->first;
	return 0;
}

/* Reads weights, which end where `text` does; writes how many there are. */
static int take_weights(const char *text, double weights[DRAW_WEIGHTS],
			size_t *count)
{
	const char *at = text;

	for (*count = 0; *count < DRAW_WEIGHTS; at++) {
		const size_t length = strcspn(at, ",");
		char weight[64];

		snprintf(weight, sizeof(weight), "%.*s", (int)length, at);
		if (length >= sizeof(weight))
			return complain_value("draw", "weights", weight,
					      "is too long for a weight");
		if (take_real("draw", "weights", weight, &weights[*count]))
			return 2;
		++*count;
		at += length;
		if (!*at)
			return 0;
	}
	return complain_value("draw", "weights", text,
			      "has more than %d weights", DRAW_WEIGHTS);
}

static int check_weights(const struct draw_line *line)
{
	const char *text = line->given[GIVEN_WEIGHTS];
	struct draw *draw = line->draw;
	double weights[DRAW_WEIGHTS];
	size_t count;

	if (draw->fill.dist != PHILOX_DIST_CATEGORICAL)
		return 0;
	if (take_weights(text ? text : "1,1", weights, &count))
		return 2;
	draw->fill.n = count;
	if (!philox_weight_sums(weights, count, draw->sums))
		return 0;
	return complain("draw", "--dist categorical: %s",
			philox_error_message());
}

/* Truncated normal numbers have ends of their own, unless they are given. */
static int set_ends(const struct draw_line *line)
{
	struct philox_fill_desc *fill = &line->draw->fill;

	if (fill->dist != PHILOX_DIST_TRUNCATED_NORMAL)
		return 0;
	if (!line->given[GIVEN_LOW])
		fill->low = -2;
	if (!line->given[GIVEN_HIGH])
		fill->high = 2;
	return 0;
}

/* A tensor ends with the last element drawn, unless --elements is given. */
static int check_tensor(const struct draw_line *line)
{
	const struct philox_span *span = &line->draw->fill.span;
	struct philox_layout_desc *layout = &line->draw->layout;
	int is_pytorch = layout->kind == PHILOX_LAYOUT_PYTORCH;

	if (!layout->kind || !(is_pytorch || layout->elements))
		return 0;
	if (!span->count)
		return complain_value("draw", "count", line->given[GIVEN_COUNT],
				      "goes past the tensor's end with "
				      "--layout %s",
				      draw_layouts[layout->kind]);
	if (!layout->elements)
		layout->elements = span->first + span->count;
	return 0;
}

/* The library refuses options before anything is drawn. */
static int check_fill(const struct draw_line *line)
{
	const struct philox_layout_desc *layout = &line->draw->layout;
	struct philox_fill_desc fill = line->draw->fill;
	uint64_t words;

	/* nothing advances: any end is right */
	if (!layout->elements && fill.dist != PHILOX_DIST_PERMUTATION)
		fill.span = philox_span_elements(0, 0);
	if (!philox_layout_advance(&fill, &words))
		return 0;
	if (layout->kind)
		return complain("draw", "--layout %s: %s",
				draw_layouts[layout->kind],
				philox_error_message());
	return complain("draw", "--dist %s: %s", dist_name(line),
			philox_error_message());
}

int draw_check(const struct draw_line *line)
{
	struct philox_fill_desc *fill = &line->draw->fill;

	return check_dtype(line) || check_axis(line) ||
			       check_parameters(line) || check_layout(line) ||
			       take_end(line, GIVEN_FROM, &fill->from) ||
			       take_end(line, GIVEN_TO, &fill->to) ||
			       check_span(line) || check_order(line) ||
			       check_weights(line) || set_ends(line) ||
			       check_tensor(line) || check_fill(line)
		       ? 2
		       : 0;
}
