/*
 * graph/verify/explain.c - why a launch differs
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "graph/verify/verify.h"

#define AGAIN 3           /* runs that tell whether it is deterministic */
#define RUNS  (AGAIN + 1) /* and one that begins with other memory */

static enum philox_status make_again(struct verify *verify)
{
	enum philox_status status = verify_rows_set(verify, 0);

	verify->turn = 1;
	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++)
		if (!verify->memory[i].rows)
			status = verify_make_copy(verify, &verify->memory[i]);
	return status;
}

static enum philox_status ask_to_run(struct verify *verify,
				     enum philox_status status)
{
	return verify->agree ? verify->agree(verify, status) : status;
}

static enum philox_status run_again(struct verify *verify, int *same)
{
	const struct verify_item *item = NULL;
	uint64_t place;
	enum philox_status status = verify_run(verify);

	if (status != PHILOX_OK)
		return status;
	verify_rows_place(verify);
	status = verify_compare(verify, 1, &item, &place);
	*same = !item;
	return status;
}

/* Processes run it together, or not at all: one that cannot go on says so. */
static enum philox_status run_in_turn(struct verify *verify, int run,
				      enum philox_status status, int *same)
{
	verify->fill = run < AGAIN ? VERIFY_FILL : VERIFY_FILL_OTHER;
	if (status == PHILOX_OK)
		status = make_again(verify);
	status = ask_to_run(verify, status);
	if (status != PHILOX_OK)
		return status;
	status = run_again(verify, same);
	if (status != PHILOX_OK && verify->agree && run + 1 < RUNS)
		verify->agree(verify, status);
	return status;
}

static enum philox_status find_out(struct verify *verify,
				   enum philox_status status,
				   enum verify_why *why)
{
	int same = 1, all = 1, run = 0;

	do {
		status = run_in_turn(verify, run, status, &same);
		all &= same || run == AGAIN;
	} while (status == PHILOX_OK && ++run < RUNS && (all || verify->agree));
	if (status != PHILOX_OK)
		return status;
	*why = VERIFY_RANDOM;
	if (all)
		*why = same ? VERIFY_FROZEN : VERIFY_UNWRITTEN;
	return PHILOX_OK;
}

static enum philox_status find_why(struct verify *verify, enum verify_why *why)
{
	enum philox_status status = PHILOX_OK;
	struct status_message kept;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++) {
		struct verify_memory *memory = &verify->memory[i];
		void *played = NULL;

		if (!memory->rows)
			continue;
		status = verify_take(verify, verify->stream, memory->bytes, 0,
				     &played);
		if (status == PHILOX_OK)
			status = verify_copy(verify, verify->stream, played,
					     memory->real, memory->bytes);
		if (status == PHILOX_OK) /* else it holds nothing to put back */
			memory->played = played;
	}
	status = find_out(verify, status, why);
	kept = status_kept();
	if (verify_rows_set(verify, 1) != PHILOX_OK && status == PHILOX_OK)
		return PHILOX_ERROR_DEVICE;
	status_restore(&kept);
	return status;
}

#define WHAT_TEXT 400

/* --- text: what is said of a launch that differs -------------------------- */

/* The size of an element, 1 for bytes. */
static size_t element_size(uint32_t elements)
{
	switch (elements) {
	case PHILOX_ELEMENTS(PHILOX_DTYPE_BF16):
	case PHILOX_ELEMENTS(PHILOX_DTYPE_F16):
		return 2;
	case PHILOX_ELEMENTS(PHILOX_DTYPE_U32):
	case PHILOX_ELEMENTS(PHILOX_DTYPE_I32):
	case PHILOX_ELEMENTS(PHILOX_DTYPE_F32):
		return 4;
	case PHILOX_ELEMENTS(PHILOX_DTYPE_U64):
	case PHILOX_ELEMENTS(PHILOX_DTYPE_I64):
	case PHILOX_ELEMENTS(PHILOX_DTYPE_F64):
		return 8;
	}
	return 1;
}

static double half_value(uint16_t bits)
{
	const int exponent = bits >> 10 & 31;
	const double fraction = (bits & 1023) / 1024.0;
	double value;

	if (exponent == 31)
		value = fraction != 0 ? (double)NAN : (double)INFINITY;
	else
		value = ldexp(fraction + (exponent ? 1 : 0),
			      exponent ? exponent - 15 : -14);
	return bits & 0x8000 ? -value : value;
}

static double bfloat_value(uint16_t bits)
{
	const uint32_t wide = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &wide, sizeof(value));
	return value;
}

static void spell_value(uint32_t elements, uint64_t bits, char text[48])
{
	float f32;
	double f64;
	const uint32_t low = (uint32_t)bits;

	memcpy(&f32, &low, sizeof(f32));
	memcpy(&f64, &bits, sizeof(f64));
	switch (elements) {
	case PHILOX_ELEMENTS(PHILOX_DTYPE_F32):
		snprintf(text, 48, "%.9g", (double)f32);
		break;
	case PHILOX_ELEMENTS(PHILOX_DTYPE_F64):
		snprintf(text, 48, "%.17g", f64);
		break;
	case PHILOX_ELEMENTS(PHILOX_DTYPE_F16):
		snprintf(text, 48, "%.5g", half_value((uint16_t)bits));
		break;
	case PHILOX_ELEMENTS(PHILOX_DTYPE_BF16):
		snprintf(text, 48, "%.4g", bfloat_value((uint16_t)bits));
		break;
	case PHILOX_ELEMENTS(PHILOX_DTYPE_I32):
		snprintf(text, 48, "%" PRId32, (int32_t)low);
		break;
	case PHILOX_ELEMENTS(PHILOX_DTYPE_I64):
		snprintf(text, 48, "%" PRId64, (int64_t)bits);
		break;
	default:
		snprintf(text, 48, "%" PRIu64, bits);
	}
}

/* Its bits in hex, as many as it has, and what they mean. */
static void spell(uint32_t elements, size_t size, uint64_t bits, char text[80])
{
	char value[48];

	spell_value(elements, bits, value);
	snprintf(text, 80, "%s (0x%0*" PRIx64 ")", value, (int)(2 * size),
		 bits);
}

/* The bits of an element, as it is and as it should be, in `places`. */
static enum philox_status read_elements(struct verify *verify,
					const struct verify_item *item,
					uint64_t index, size_t size)
{
	struct philox_device *device = verify->graph->context->device;
	const void *sides[2] = {item->real, item->copies[0]};
	enum philox_status status = PHILOX_OK, waited;

	for (int i = 0; status == PHILOX_OK && i < 2; i++) {
		verify->places[i] = 0;
		status = philox_memory_copy(
			device, verify->stream, &verify->places[i],
			(const char *)sides[i] + index * size, size);
	}
	waited = verify_wait(verify);
	return status == PHILOX_OK ? waited : status;
}

static enum philox_status describe(struct verify *verify,
				   const struct verify_item *item,
				   uint64_t place, char text[WHAT_TEXT])
{
	size_t size = element_size(item->elements);
	uint32_t elements = item->elements;
	uint64_t index;
	char now[80], then[80];
	enum philox_status status;

	if (place / size * size + size > item->bytes) /* cut off at the end */
		size = 1, elements = 0;
	index = place / size;
	status = read_elements(verify, item, index, size);
	if (status != PHILOX_OK)
		return status;
	spell(elements, size, verify->places[0], now);
	spell(elements, size, verify->places[1], then);
	snprintf(text, WHAT_TEXT,
		 "%s '%.60s'%s%.60s%s: %s %" PRIu64 " of %zu is %s, and should "
		 "be %s",
		 item->what, item->name, *item->origin ? " (" : "",
		 item->origin, *item->origin ? ")" : "",
		 elements ? "element" : "byte", index, item->bytes / size, now,
		 then);
	return PHILOX_OK;
}

static const char *why_text(enum verify_why why)
{
	switch (why) {
	case VERIFY_FROZEN:
		return "something was frozen when it was captured";
	case VERIFY_RANDOM:
		return "its eager form is not deterministic: two runs "
		       "differ";
	case VERIFY_UNWRITTEN:
		return "it reads memory that was not written";
	case VERIFY_UNKNOWN:
		break;
	}
	return "there was no memory to find out why";
}

enum philox_status verify_explain(struct verify *verify,
				  const struct verify_item *item,
				  uint64_t place, enum verify_why *why,
				  char text[VERIFY_TEXT])
{
	struct verify_item found = {.what = NULL};
	char what[WHAT_TEXT];
	enum philox_status status;

	if (item)
		found = *item; /* the list may move */
	*why = VERIFY_UNKNOWN;
	status = find_why(verify, why);
	if (status != PHILOX_OK && !verify->lacking)
		return status;
	if (!item)
		return PHILOX_OK;
	status = describe(verify, &found, place, what);
	if (status != PHILOX_OK)
		return status;
	snprintf(text, VERIFY_TEXT, "%s; %s", what, why_text(*why));
	return PHILOX_OK;
}
