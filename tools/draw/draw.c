/*
 * tools/draw/draw.c - philox draw: a stream of numbers for people and test
 * batteries
 *
 * Numbers come in chunks: filled on the device, copied here, formatted,
 * written. So memory is bounded for any count, and element 2^64 - 1 is the end.
 * Output goes to the descriptor and not through stdio, which later could not
 * distinguish the error of a reader that went away from others.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <philox.h>
#include "tools/cli/cli.h"
#include "tools/draw/draw.h"
#include "tools/tools.h"

#define CHUNK    16384 /* elements */
#define TEXT_MAX 32    /* bytes of text per element, at most */

struct drawing {
	struct draw asked;
	struct philox_device *device;
	philox_stream stream;
	void *values; /* CHUNK elements here */
	char *text;   /* the same as text */
};

/* --- output --------------------------------------------------------------- */

static double real_of(enum philox_dtype dtype, const void *value)
{
	switch (dtype) {
	case PHILOX_DTYPE_F32:
		return *(const float *)value;
	case PHILOX_DTYPE_BF16:
		return philox_bf16_to_f32(*(const uint16_t *)value);
	case PHILOX_DTYPE_F16:
		return philox_f16_to_f32(*(const uint16_t *)value);
	default:
		return *(const double *)value;
	}
}

static int format_bits(enum philox_dtype dtype, const void *value, char *text)
{
	if (dtype == PHILOX_DTYPE_U32)
		return sprintf(text, "%08" PRIx32 "\n",
			       *(const uint32_t *)value);
	return sprintf(text, "%016" PRIx64 "\n", *(const uint64_t *)value);
}

static int format_value(const struct philox_fill_desc *fill, const void *value,
			char *text)
{
	if (fill->dist == PHILOX_DIST_BITS)
		return format_bits(fill->dtype, value, text);
	switch (fill->dtype) {
	case PHILOX_DTYPE_U32:
		return sprintf(text, "%" PRIu32 "\n", *(const uint32_t *)value);
	case PHILOX_DTYPE_U64:
		return sprintf(text, "%" PRIu64 "\n", *(const uint64_t *)value);
	case PHILOX_DTYPE_I32:
		return sprintf(text, "%" PRId32 "\n", *(const int32_t *)value);
	case PHILOX_DTYPE_I64:
		return sprintf(text, "%" PRId64 "\n", *(const int64_t *)value);
	default:
		return sprintf(text, "%a\n", real_of(fill->dtype, value));
	}
}

/* Sets *done when the reader has gone. */
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

/* From this machine's order of bytes, in place. */
static void make_little_endian(const struct drawing *draw, size_t n)
{
	const size_t size = draw->asked.size;
	unsigned char *value = draw->values;

	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		return;
	for (; n--; value += size)
		for (size_t i = 0; i < size / 2; i++) {
			unsigned char byte = value[i];

			value[i] = value[size - 1 - i];
			value[size - 1 - i] = byte;
		}
}

static int write_values(const struct drawing *draw, size_t n, int *done)
{
	size_t size = 0;

	if (draw->asked.raw) {
		make_little_endian(draw, n);
		return write_bytes(draw->values, n * draw->asked.size, done);
	}
	for (size_t i = 0; i < n; i++)
		size += (size_t)format_value(&draw->asked.fill,
					     (const char *)draw->values +
						     i * draw->asked.size,
					     draw->text + size);
	return write_bytes(draw->text, size, done);
}

/* --- drawing -------------------------------------------------------------- */

static int draw_fails(void)
{
	complain("draw", "%s", philox_error_message());
	return 1;
}

static int draw_chunk(struct drawing *draw)
{
	struct philox_rng rng = {.state = draw->asked.state};
	size_t size = draw->asked.fill.span.count * draw->asked.size;

	if (draw->asked.axis != AXIS_ELEMENT) {
		axis_draw((enum axis)draw->asked.axis, draw->asked.state,
			  draw->asked.fill.span.first, draw->values,
			  draw->asked.fill.span.count);
		return 0;
	}
	if (philox_rng_fill(draw->device, draw->stream, rng,
			    &draw->asked.fill) ||
	    philox_memory_copy(draw->device, draw->stream, draw->values,
			       draw->asked.fill.out, size) ||
	    philox_stream_synchronize(draw->device, draw->stream))
		return draw_fails();
	return 0;
}

/* Of a file only: what reads a pipe may have something to show by itself. */
static void show_progress(uint64_t done, uint64_t most)
{
	struct stat about;
	double part = most ? (double)done / (double)most : 1;
	char detail[48];

	if (!progress_possible() || fstat(STDOUT_FILENO, &about) ||
	    !S_ISREG(about.st_mode))
		return;
	snprintf(detail, sizeof(detail), "%" PRIu64 " numbers", done);
	progress_show(&(struct progress){
		.name = "draw", .part = part, .whole = part, .detail = detail});
}

/* Without a count, all elements: a count cannot hold 2^64. */
static int draw_all(struct drawing *draw)
{
	struct philox_span *span = &draw->asked.fill.span;
	uint64_t last =
		span->count ? span->first + (span->count - 1) : UINT64_MAX;
	uint64_t first = span->first;
	int done = 0, error;

	while (!done) {
		show_progress(span->first - first, last - first);
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

/* Returns the sums of categories in memory of the device, or NULL. */
static void *put_sums(const struct drawing *draw)
{
	const size_t size = draw->asked.fill.n * sizeof(uint64_t);
	void *sums;

	if (philox_memory_alloc(draw->device, size, &sums))
		return NULL;
	if (!philox_memory_copy(draw->device, draw->stream, sums,
				draw->asked.sums, size))
		return sums;
	philox_memory_free(draw->device, sums);
	return NULL;
}

static int draw_on_device(struct drawing *draw)
{
	const int has_sums = draw->asked.fill.dist == PHILOX_DIST_CATEGORICAL;
	void *sums = NULL;
	int error = 0;

	if (philox_stream_create(draw->device, 0, &draw->stream))
		return draw_fails();
	if (has_sums)
		draw->asked.fill.in = sums = put_sums(draw);
	if ((has_sums && !sums) ||
	    philox_memory_alloc(draw->device, CHUNK * draw->asked.size,
				&draw->asked.fill.out))
		error = draw_fails();
	else
		error = draw_all(draw);
	progress_end();
	philox_memory_free(draw->device, draw->asked.fill.out);
	philox_memory_free(draw->device, sums);
	philox_stream_destroy(draw->device, draw->stream);
	return error;
}

static int open_and_draw(struct drawing *draw)
{
	int error = open_device("draw", draw->asked.device_name, &draw->device);

	if (error)
		return error;
	error = 1;
	draw->values = malloc(CHUNK * draw->asked.size);
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
	struct drawing draw = {.device = NULL};
	int status = draw_options(&draw.asked, argc, argv);

	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	return open_and_draw(&draw);
}
