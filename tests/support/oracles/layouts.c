/*
 * tests/support/oracles/layouts.c - see tests/support/oracles/layouts.h
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "tests/support/oracles/layouts.h"
#include "tests/support/support.h"

/* --- tables --------------------------------------------------------------- */

void layout_table_open(struct layout_table *table, const char *path)
{
	*table = (struct layout_table){.path = path, .file = fopen(path, "r")};
	cr_assert_not_null(table->file,
			   "%s: run the tests from the top of the tree", path);
	do
		cr_assert(fgets(table->line, sizeof(table->line), table->file),
			  "%s: no case", path);
	while (strncmp(table->line, "case ", 5) != 0);
}

static int take_text(struct layout_case *c, const char *name, const char *value)
{
	if (!strcmp(name, "layout"))
		snprintf(c->layout, sizeof(c->layout), "%s", value);
	else if (!strcmp(name, "dist"))
		snprintf(c->dist, sizeof(c->dist), "%s", value);
	else if (!strcmp(name, "dtype"))
		snprintf(c->dtype, sizeof(c->dtype), "%s", value);
	else
		return 0;
	return 1;
}

static int take_real(struct layout_case *c, const char *name, const char *value)
{
	const struct {
		const char *name;
		double *to;
	} fields[] = {{"low", &c->low},  {"high", &c->high}, {"mean", &c->mean},
		      {"std", &c->std},  {"p", &c->p},       {"rate", &c->rate},
		      {"near", &c->near}};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(name, fields[i].name)) {
			*fields[i].to = strtod(value, NULL);
			return 1;
		}
	return 0;
}

static int take_u64(struct layout_case *c, const char *name, const char *value)
{
	const struct {
		const char *name;
		uint64_t *to;
	} fields[] = {{"seed", &c->seed},
		      {"offset", &c->offset},
		      {"elements", &c->elements},
		      {"from", &c->from},
		      {"to", &c->to}};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(name, fields[i].name)) {
			*fields[i].to = strtoull(value, NULL, 10);
			return 1;
		}
	return 0;
}

static int take_u32(struct layout_case *c, const char *name, const char *value)
{
	const struct {
		const char *name;
		uint32_t *to;
	} fields[] = {{"sms", &c->sms},
		      {"threads_per_sm", &c->threads_per_sm},
		      {"threads", &c->threads},
		      {"vector", &c->vector}};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(name, fields[i].name)) {
			*fields[i].to = (uint32_t)strtoul(value, NULL, 10);
			return 1;
		}
	return 0;
}

static void parse_case(const struct layout_table *table, struct layout_case *c)
{
	char line[sizeof(table->line)], *rest = line, *word;

	memcpy(line, table->line, sizeof(line));
	*c = (struct layout_case){.high = 1, .std = 1, .rate = 1};
	strtok_r(line, " \n", &rest);
	while ((word = strtok_r(NULL, " \n", &rest))) {
		char *value = strchr(word, '=');

		cr_assert_not_null(value, "%s: %s", table->path, table->line);
		*value++ = '\0';
		cr_assert(take_text(c, word, value) ||
				  take_real(c, word, value) ||
				  take_u64(c, word, value) ||
				  take_u32(c, word, value),
			  "%s: %s in %s", table->path, word, table->line);
	}
}

static void parse_answer(const struct layout_table *table, const char *line,
			 struct layout_answers *answers)
{
	if (sscanf(line, "advance %" SCNu64, &answers->advance) == 1) {
		answers->has_advance = 1;
	} else if (sscanf(line, "digest %" SCNx64, &answers->digest) == 1) {
		answers->has_digest = 1;
	} else {
		cr_assert(answers->n < LAYOUT_VALUES_MAX &&
				  sscanf(line, "%" SCNu64 " %" SCNx64,
					 &answers->element[answers->n],
					 &answers->bits[answers->n]) == 2,
			  "%s: %s", table->path, line);
		answers->n++;
	}
}

int layout_table_next(struct layout_table *table,
		      struct layout_answers *answers)
{
	char line[sizeof(table->line)];

	if (!table->line[0]) {
		fclose(table->file);
		return 0;
	}
	*answers = (struct layout_answers){0};
	parse_case(table, &answers->c);
	table->line[0] = '\0';
	while (fgets(line, sizeof(line), table->file)) {
		if (!strncmp(line, "case ", 5)) {
			memcpy(table->line, line, sizeof(line));
			break;
		}
		parse_answer(table, line, answers);
	}
	cr_assert(answers->n, "%s: a case without values", table->path);
	return 1;
}

/* --- fills ---------------------------------------------------------------- */

static const char *const dists[] = {
	[PHILOX_DIST_BITS] = "bits",
	[PHILOX_DIST_UNIFORM] = "uniform",
	[PHILOX_DIST_NORMAL] = "normal",
	[PHILOX_DIST_BERNOULLI] = "bernoulli",
	[PHILOX_DIST_DROPOUT] = "dropout",
	[PHILOX_DIST_LOG_NORMAL] = "log_normal",
	[PHILOX_DIST_EXPONENTIAL] = "exponential",
	[PHILOX_DIST_GUMBEL] = "gumbel",
	[PHILOX_DIST_INTEGERS] = "integer",
};
static const char *const dtypes[] = {
	[PHILOX_DTYPE_U32] = "u32", [PHILOX_DTYPE_U64] = "u64",
	[PHILOX_DTYPE_F32] = "f32", [PHILOX_DTYPE_BF16] = "bf16",
	[PHILOX_DTYPE_F16] = "f16", [PHILOX_DTYPE_F64] = "f64",
	[PHILOX_DTYPE_I32] = "i32", [PHILOX_DTYPE_I64] = "i64",
};
static const size_t sizes[] = {4, 8, 4, 2, 2, 8, 4, 8};

static unsigned look_up(const char *name, const char *const names[], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	cr_assert(0, "no %s", name);
	return 0;
}

static enum philox_layout_kind look_up_layout(const char *name)
{
	unsigned kind = 0;

	while (strcmp(philox_layout_name((enum philox_layout_kind)kind),
		      name)) {
		cr_assert(kind < 32, "no layout %s", name);
		kind++;
	}
	return (enum philox_layout_kind)kind;
}

void layout_op_of(const struct layout_case *c, struct layout_op *op)
{
	unsigned dist = look_up(c->dist, dists, sizeof(dists) / sizeof(*dists));
	unsigned dtype =
		look_up(c->dtype, dtypes, sizeof(dtypes) / sizeof(*dtypes));

	*op = (struct layout_op){
		.layout = {.size = sizeof(op->layout),
			   .kind = look_up_layout(c->layout),
			   .threads = c->threads,
			   .sms = c->sms,
			   .threads_per_sm = c->threads_per_sm,
			   .elements = c->elements,
			   .vector = c->vector},
		.fill = {.size = sizeof(op->fill),
			 .dist = (enum philox_dist)dist,
			 .dtype = (enum philox_dtype)dtype,
			 .span = philox_span_elements(0, c->elements),
			 .low = c->low,
			 .high = c->high,
			 .mean = c->mean,
			 .std = c->std,
			 .p = c->p,
			 .rate = c->rate,
			 .from = c->from,
			 .to = c->to},
		.state = {c->seed, c->offset},
		.size = sizes[dtype]};
	op->fill.layout = &op->layout;
}

uint64_t layout_bits(const struct layout_op *op, const void *array,
		     uint64_t index)
{
	uint64_t bits = 0;

	memcpy(&bits, (const char *)array + index * op->size, op->size);
	return bits;
}

static double f32_of(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float x;

	memcpy(&x, &low, sizeof(x));
	return x;
}

/* Sign, 5 bits of exponent, 10 of fraction. */
static double f16_of(uint64_t bits)
{
	double fraction = (double)(bits & 0x3ff) / 1024;
	int exponent = (int)(bits >> 10 & 0x1f);
	double size = exponent ? ldexp(1 + fraction, exponent - 15)
			       : ldexp(fraction, -14);

	if (exponent == 31)
		size = bits & 0x3ff ? (double)NAN : (double)INFINITY;
	return bits >> 15 ? -size : size;
}

double layout_value(const struct layout_op *op, uint64_t bits)
{
	double x;

	switch (op->fill.dtype) {
	case PHILOX_DTYPE_F32:
		return f32_of(bits);
	case PHILOX_DTYPE_BF16:
		return f32_of(bits << 16);
	case PHILOX_DTYPE_F16:
		return f16_of(bits);
	default:
		memcpy(&x, &bits, sizeof(x));
		return x;
	}
}

/* All inputs are whole numbers up to 125, so their f32 has few digits. */
static uint64_t input_bits(const struct layout_op *op, uint64_t element)
{
	double x = layout_input(element);
	float x32 = (float)x;
	uint32_t bits32;
	uint64_t bits;

	memcpy(&bits32, &x32, sizeof(bits32));
	memcpy(&bits, &x, sizeof(bits));
	if (op->fill.dtype == PHILOX_DTYPE_F64)
		return bits;
	if (op->fill.dtype == PHILOX_DTYPE_F32)
		return bits32;
	if (op->fill.dtype == PHILOX_DTYPE_BF16)
		return bits32 >> 16;
	return x == 0 ? 0
		      : (bits32 >> 16 & 0x8000) |
				(((bits32 & 0x7fffffff) - 0x38000000) >> 13);
}

void layout_write_inputs(const struct layout_op *op, void *array,
			 uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t bits = input_bits(op, first + i);

		memcpy((char *)array + i * op->size, &bits, op->size);
	}
}

uint64_t layout_digest(const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * 1099511628211u;
	return hash;
}

const char *layout_text(const struct layout_case *c)
{
	static char text[320];

	snprintf(text, sizeof(text),
		 "%s %s %s, seed %" PRIu64 ", offset %" PRIu64
		 ", elements %" PRIu64 ", sms %" PRIu32 " x %" PRIu32
		 ", threads %" PRIu32 ", vector %" PRIu32
		 ", [%g, %g), mean %g, std %g, p %g",
		 c->layout, c->dist, c->dtype, c->seed, c->offset, c->elements,
		 c->sms, c->threads_per_sm, c->threads, c->vector, c->low,
		 c->high, c->mean, c->std, c->p);
	return text;
}

/* --- drawing -------------------------------------------------------------- */

/* A device that runs work in the calling thread: memory may be read at once. */
struct philox_device *layout_device(void)
{
	struct philox_device *device;

	OK(philox_device_open("host:sync", &device));
	return device;
}

/* Draws a span of an op into `out`; its inputs are in `in`. */
void layout_draw_span(struct philox_device *device, const struct layout_op *op,
		      struct philox_span span, const void *in, void *out)
{
	struct philox_rng rng = {op->state, NULL};
	struct philox_fill_desc fill = op->fill;

	fill.span = span;
	fill.in = in;
	fill.out = out;
	OK(philox_rng_fill(device, NULL, rng, &fill));
}

/* Draws plain elements, with the inputs of their indices; to be freed. */
void *layout_draw_elements(struct philox_device *device,
			   const struct layout_op *op, uint64_t first,
			   uint64_t count)
{
	void *out = malloc(count * op->size), *in = malloc(count * op->size);

	cr_assert(out && in);
	layout_write_inputs(op, in, first, count);
	layout_draw_span(device, op, philox_span_elements(first, count), in,
			 out);
	free(in);
	return out;
}

struct layout_case layout_case_of(const char *layout, const char *dist,
				  const char *dtype)
{
	struct layout_case c = {.seed = 42,
				.offset = 4096,
				.elements = 3000,
				.sms = 1,
				.threads_per_sm = 512,
				.threads = 100,
				.high = 1,
				.std = 1,
				.p = 0.3,
				.rate = 1,
				.to = 99};

	snprintf(c.layout, sizeof(c.layout), "%s", layout);
	snprintf(c.dist, sizeof(c.dist), "%s", dist);
	snprintf(c.dtype, sizeof(c.dtype), "%s", dtype);
	return c;
}
