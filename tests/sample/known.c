/*
 * tests/sample/known.c - the cases of filters.txt, as calls
 */
#include <math.h>
#include <stdlib.h>
#include "tests/sample/known.h"

/* --- rows of logits ------------------------------------------------------- */

static uint32_t next(uint32_t *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

uint32_t known_below(uint32_t *x, uint32_t n)
{
	return (uint32_t)((uint64_t)next(x) * n >> 24);
}

/* About normal; few enough digits for the dtype. */
float known_bell(uint32_t *x, enum philox_dtype dtype)
{
	uint32_t sum = next(x);

	for (int i = 0; i < 3; i++)
		sum += next(x);
	return dtype == PHILOX_DTYPE_F16
		       ? (float)((int)(sum >> 15) - (1 << 10)) * 0x1p-8f
		       : (float)((int)(sum >> 4) - (1 << 21)) * 0x1p-19f;
}

static float tie(uint32_t *x)
{
	return (float)known_below(x, 192) / 16 - 6;
}

static float logit_of(const struct known *of, uint32_t c, uint32_t *x)
{
	float logit;

	switch (of->kind) {
	case 0:
		return 3;
	case 1:
		return tie(x);
	case 2:
		return known_bell(x, of->dtype);
	case 3:
		logit = known_bell(x, of->dtype);
		return known_below(x, 64) ? logit - 16 : logit + 16;
	case 4:
		return known_below(x, 100) ? -INFINITY
					   : (float)known_below(x, 8) / 4;
	case 5:
		return known_bell(x, of->dtype) * 64;
	case 6:
		switch (known_below(x, 40)) {
		case 0:
			return INFINITY;
		case 1:
			return -INFINITY;
		default:
			return tie(x);
		}
	default:
		return philox_f32_from_bits(of->listed[c]);
	}
}

static uint32_t is_allowed(const struct known *of, uint32_t v, uint32_t *x)
{
	switch (of->mask) {
	case 1:
		return known_below(x, 2);
	case 2:
		return known_below(x, 20) == 0;
	case 3:
		return 0;
	default:
		return v % 32 == 31;
	}
}

/*
 * With the digits of a bf16. Apart: where a float becomes itself with its lower
 * bits cleared, or itself, gcc 12.2 does not clear them (its pass split1).
 */
static __attribute__((noinline)) float truncated(float x)
{
	return philox_bf16_to_f32((uint16_t)(philox_f32_bits(x) >> 16));
}

void known_make(struct known *of)
{
	const uint32_t words = (of->first + of->vocab - 1) / 32 + 1;
	uint32_t x = of->seed;

	of->logits = malloc(of->vocab * sizeof(*of->logits));
	of->allowed = of->mask ? calloc(words, sizeof(*of->allowed)) : NULL;
	for (uint32_t c = 0; c < of->vocab; c++) {
		const float logit = logit_of(of, c, &x);

		of->logits[c] = of->dtype == PHILOX_DTYPE_BF16
					? truncated(logit)
					: logit;
	}
	for (uint32_t v = of->first; of->mask && v < of->first + of->vocab; v++)
		of->allowed[v / 32] |= is_allowed(of, v, &x) << v % 32;
}

void known_free(struct known *of)
{
	free(of->logits);
	free(of->allowed);
}

/* The logit of a column that may be drawn, or -infinity. */
float known_logit(const struct known *of, uint32_t c)
{
	const uint32_t v = of->first + c;

	return of->allowed && !(of->allowed[v / 32] >> v % 32 & 1)
		       ? -INFINITY
		       : of->logits[c];
}

/* --- calls ---------------------------------------------------------------- */

static uint16_t to_f16(float x)
{
	int e;
	float m = frexpf(fabsf(x), &e);
	uint16_t sign = signbit(x) ? 0x8000 : 0;

	if (isnan(x))
		return 0x7e00;
	if (isinf(x) || x == 0)
		return (uint16_t)(sign | (isinf(x) ? 0x7c00 : 0));
	return (uint16_t)(sign | ((uint32_t)(e + 14) << 10) |
			  ((uint32_t)ldexpf(m, 11) - 1024));
}

/* Memory of one case: the fixture's is for few arrays. */
static void *make(struct fixture *f, size_t size)
{
	void *memory = NULL;

	OK(philox_memory_alloc(f->device, size, &memory));
	return memory;
}

static void *logits_of(struct fixture *f, const struct known *of)
{
	const int is_f32 = of->dtype == PHILOX_DTYPE_F32;
	uint16_t *narrow = make(f, of->vocab * (is_f32 ? 4 : 2));

	if (is_f32)
		return memcpy(narrow, of->logits, of->vocab * 4);
	for (uint32_t c = 0; c < of->vocab; c++)
		narrow[c] =
			of->dtype == PHILOX_DTYPE_BF16
				? (uint16_t)(philox_f32_bits(of->logits[c]) >>
					     16)
				: to_f16(of->logits[c]);
	return narrow;
}

static uint32_t *mask_of(struct fixture *f, const struct known *of)
{
	const size_t words = (of->first + of->vocab - 1) / 32 + 1;

	return of->allowed ? memcpy(make(f, words * 4), of->allowed, words * 4)
			   : NULL;
}

struct philox_sample_desc known_describe(struct fixture *f,
					 const struct known *of,
					 struct known_memory *memory)
{
	*memory = (struct known_memory){.state = {of->seed, 4 * of->vocab},
					.k = of->k,
					.temperature = of->temperature,
					.p = of->p,
					.m = of->m};
	return (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.logits = logits_of(f, of),
		.dtype = of->dtype,
		.vocab = of->vocab,
		.first = of->first,
		.pitch = of->vocab,
		.temperatures = &memory->temperature,
		.allowed = mask_of(f, of),
		.filters = of->filters,
		.filter_order = of->order,
		.top_ks = of->filters & PHILOX_FILTER_TOP_K ? &memory->k : NULL,
		.top_ps = of->filters & PHILOX_FILTER_TOP_P ? &memory->p : NULL,
		.min_ps = of->filters & PHILOX_FILTER_MIN_P ? &memory->m : NULL,
		.tokens = &memory->token,
		.cuts = &memory->cut,
		.kept_counts = &memory->kept,
		.kept = make(f, of->vocab * sizeof(int32_t)),
		.kept_pitch = of->seed % 3 ? of->vocab : 1 + of->vocab / 9};
}

void known_undescribe(struct fixture *f,
		      const struct philox_sample_desc *sample)
{
	OK(philox_memory_free(f->device, (void *)(uintptr_t)sample->logits));
	OK(philox_memory_free(f->device, (void *)(uintptr_t)sample->allowed));
	OK(philox_memory_free(f->device, sample->kept));
}

void known_run(struct fixture *f, const struct known_memory *memory,
	       const struct philox_sample_desc *sample)
{
	OK(philox_sample_states(f->device, f->stream, &memory->state, 1,
				sample));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* --- whole calls ---------------------------------------------------------- */

struct philox_rows *known_rows(struct fixture *f, uint32_t count)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = count};
	struct philox_rows *rows;

	OK(philox_rows_create(f->context, &options, &rows));
	return rows;
}

struct philox_sample_desc known_sample(struct fixture *f, uint32_t entries,
				       uint32_t vocab)
{
	float *logits = make_memory(f, entries * vocab * sizeof(*logits));
	uint32_t x = 5;

	for (uint32_t i = 0; i < entries * vocab; i++)
		logits[i] = known_bell(&x, PHILOX_DTYPE_F32);
	return (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.logits = logits,
		.dtype = PHILOX_DTYPE_F32,
		.vocab = vocab,
		.pitch = vocab,
		.temperature = 1,
		.tokens = make_memory(f, entries * sizeof(int32_t)),
		.flags = PHILOX_ROWS_KEEP};
}

/* --- the file ------------------------------------------------------------- */

static float bits_of(const char *hex)
{
	return philox_f32_from_bits((uint32_t)strtoul(hex, NULL, 16));
}

static void read_known(char *line, struct known *of)
{
	char dtype[8], t[16], p[16], m[16];
	int at, last;

	cr_assert_eq(sscanf(line,
			    "%u %7s %u %u %u %u %15s %u %u %u %15s %15s %u "
			    "%d%n",
			    &of->kind, dtype, &of->seed, &of->vocab, &of->first,
			    &of->mask, t, &of->order, &of->filters, &of->k, p,
			    m, &of->kept, &last, &at),
		     14, "%s", line);
	of->dtype = !strcmp(dtype, "f32")    ? PHILOX_DTYPE_F32
		    : !strcmp(dtype, "bf16") ? PHILOX_DTYPE_BF16
					     : PHILOX_DTYPE_F16;
	of->temperature = bits_of(t);
	of->p = bits_of(p);
	of->m = bits_of(m);
	of->last = last;
	line += at;
	for (uint32_t c = 0; of->kind == 7 && c < of->vocab; c++) {
		cr_assert_lt(c, (uint32_t)KNOWN_LISTED);
		of->listed[c] = (uint32_t)strtoul(line, &line, 16);
	}
}

int known_next(FILE *file, struct known *of)
{
	char line[4096];

	do {
		if (!fgets(line, sizeof(line), file))
			return 0;
		of->line++;
	} while (line[0] == '#');
	read_known(line, of);
	known_make(of);
	return 1;
}
