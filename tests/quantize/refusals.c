/*
 * tests/quantize/refusals.c - tensors that are refused name the field, and
 * nothing is written
 */
#include <philox/quantize.h>
#include "tests/support/support.h"

enum { BYTES = 64 * 64 * 4, SENTINEL = 0xa5 };

struct scene {
	struct philox_quantize_desc t;
	struct philox_rng rng;
};

static void make_scene(struct fixture *f, struct scene *s)
{
	*s = (struct scene){.rng.state = {1, 4}};
	s->t = (struct philox_quantize_desc){
		.size = sizeof(s->t),
		.span = philox_span_rows(0, 64, 64, 64),
		.in_dtype = PHILOX_DTYPE_F32,
		.format = PHILOX_FORMAT_E2M1,
		.scaling = PHILOX_SCALING_NVFP4,
		.in = make_memory(f, BYTES),
		.out = make_memory(f, BYTES),
		.scales = make_memory(f, BYTES),
		.tensor_scale = make_memory(f, 16),
		.saturated = make_memory(f, 16)};
	OK(philox_memory_set(f->device, f->stream, s->t.out, SENTINEL, BYTES));
	OK(philox_stream_synchronize(f->device, f->stream));
}

static void refuses(struct fixture *f, const struct scene *s,
		    enum philox_status status, const char *text)
{
	const uint8_t *out = s->t.out;
	const uint64_t launches = philox_device_call_count(f->device, "launch");

	FAILS(philox_rng_quantize(f->device, f->stream, &s->rng, &s->t, 1),
	      status);
	NAMES(text);
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
	for (size_t i = 0; out && i < BYTES / 2; i++)
		cr_assert_eq(out[i], SENTINEL);
}

/* Refused with a change, and as it was again. */
#define REFUSES_AS(status, text, ...)          \
	do {                                   \
		const struct scene before = s; \
                                               \
		__VA_ARGS__;                   \
		refuses(f, &s, status, text);  \
		s = before;                    \
	} while (0)
#define REFUSES(text, ...) REFUSES_AS(PHILOX_ERROR_INVALID, text, __VA_ARGS__)

PROMISE(quantize, refuses_by_name_what_it_does_not_know)
{
	struct scene s;

	make_scene(f, &s);
	REFUSES("size is 8", s.t.size = 8);
	REFUSES("in_dtype is 5", s.t.in_dtype = PHILOX_DTYPE_F64);
	REFUSES("in_dtype is 0", s.t.in_dtype = PHILOX_DTYPE_U32);
	REFUSES("format is 5", s.t.format = 5);
	REFUSES("rule is 2", s.t.rule = 2);
	REFUSES("bits is 4", s.t.bits = 4);
	REFUSES("scaling is 4", s.t.scaling = 4);
	REFUSES("0x8 is unknown", s.t.flags = 9);
	REFUSES("reserved is 1", s.t.reserved = 1);
	REFUSES("scaling NVFP4 is of format E2M1",
		s.t.format = PHILOX_FORMAT_E4M3);
	REFUSES("scaling MX is of formats E4M3, E5M2 and E2M1",
		s.t.format = PHILOX_FORMAT_BF16,
		s.t.scaling = PHILOX_SCALING_MX);
	REFUSES("swizzled, but scaling is none",
		s.t.flags = PHILOX_QUANTIZE_SWIZZLED, s.t.scaling = 0);
	REFUSES("rng.state.offset is 6", s.rng.state.offset = 6);
	REFUSES("rng.cell", s.rng.cell = (void *)((char *)s.t.in + 4));
}

PROMISE(quantize, refuses_spans_that_cut_a_byte_or_a_block)
{
	struct scene s;

	make_scene(f, &s);
	REFUSES("row_stride 63 is below count 64", s.t.span.row_stride = 63);
	REFUSES("they are even", s.t.scaling = 0, s.t.span.first = 1);
	REFUSES("they are even", s.t.scaling = 0, s.t.span.count = 63);
	REFUSES("they are even", s.t.scaling = 0, s.t.span.row_stride = 65);
	REFUSES("span rows 3", s.t.span.rows = 3,
		s.t.flags = PHILOX_QUANTIZE_TRANSPOSED);
	REFUSES("column 8, within a block of 16", s.t.span.first = 8,
		s.t.span.count = 48);
	REFUSES("column 24, within a block of 16", s.t.span.count = 24);
	REFUSES("column 48, within a block of 32",
		s.t.scaling = PHILOX_SCALING_MX, s.t.span.count = 48);
	REFUSES("column 80, of 64", s.t.span.first = 48, s.t.span.count = 32);
	REFUSES("row 8, within a block of 16", s.t.span.first = 8 * 64,
		s.t.flags = PHILOX_QUANTIZE_TRANSPOSED);
	REFUSES("row 24, within a block of 16", s.t.span.rows = 24,
		s.t.flags = PHILOX_QUANTIZE_TRANSPOSED, s.t.tensor_rows = 40);
	REFUSES("row 64, of 60", s.t.flags = PHILOX_QUANTIZE_TRANSPOSED,
		s.t.tensor_rows = 60);
	REFUSES("column 40, within a block of 16",
		s.t.span = philox_span_elements(40, 32));
	REFUSES("column 100, within a block of 16",
		s.t.span = philox_span_elements(100, 100));
	REFUSES("span ends at column 48, of 32",
		s.t.span = philox_span_rows(16, 32, 32, 32),
		s.t.flags = PHILOX_QUANTIZE_TRANSPOSED);
	REFUSES_AS(PHILOX_ERROR_OVERFLOW, "past 2^64",
		   s.t.span.first = UINT64_MAX - 63);
	REFUSES_AS(PHILOX_ERROR_OVERFLOW, "past 2^64",
		   s.t.span = philox_span_elements(0, 1ull << 60));
}

PROMISE(quantize, refuses_arrays_that_it_cannot_use)
{
	struct scene s;

	make_scene(f, &s);
	REFUSES("in is NULL", s.t.in = NULL);
	REFUSES("out is NULL", s.t.out = NULL);
	REFUSES("scales is NULL", s.t.scales = NULL);
	REFUSES("tensor_scale is NULL", s.t.tensor_scale = NULL);
	REFUSES("is not aligned to the 4 bytes of f32",
		s.t.in = (const char *)s.t.in + 2);
	REFUSES("is not aligned to the 8 bytes of u64",
		s.t.saturated = (void *)((char *)s.t.saturated + 4));
	REFUSES("overlap", s.t.in = s.t.out);
	REFUSES("overlap", s.t.scales = (uint8_t *)s.t.out + 64 * 32 - 1);
	REFUSES("overlap",
		s.t.tensor_scale = (const float *)(const void *)s.t.scales);
}

/* What is not looked at may be anything; nothing is nothing. */
PROMISE(quantize, needs_only_what_it_uses)
{
	struct scene s;

	make_scene(f, &s);
	s.t.saturated = NULL;
	OK(philox_rng_quantize(f->device, f->stream, &s.rng, &s.t, 1));
	s.t.scaling = 0;
	s.t.scales = NULL;
	s.t.tensor_scale = NULL;
	OK(philox_rng_quantize(f->device, f->stream, &s.rng, &s.t, 1));
	OK(philox_rng_quantize(f->device, f->stream, NULL, NULL, 0));
	s.t.span.count = 0;
	s.t.in = s.t.out = NULL;
	OK(philox_rng_quantize(f->device, f->stream, &s.rng, &s.t, 1));
	OK(philox_stream_synchronize(f->device, f->stream));
}

PROMISE(quantize, a_list_with_an_error_names_its_tensor_and_rounds_nothing)
{
	struct philox_quantize_desc tensors[2];
	struct philox_region *region;
	struct philox_pass pass;
	struct scene s;
	const char *op = "rounding";

	make_scene(f, &s);
	tensors[0] = tensors[1] = s.t;
	tensors[1].rule = 9;
	OK(philox_region_create_named(f->context, "layer", &op, 1, &region));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	SAYS(philox_pass_quantize(&pass, tensors, 2), PHILOX_ERROR_INVALID,
	     "region 'layer', op 0 'rounding': tensor 1: quantize: rule is 9, "
	     "which is unknown");
	tensors[1] = tensors[0];
	tensors[1].op = 7;
	FAILS(philox_pass_quantize(&pass, tensors, 2), PHILOX_ERROR_INVALID);
	NAMES("tensor 1: ");
	NAMES("no op 7");
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(*(const uint8_t *)s.t.out, SENTINEL);
	OK(philox_pass_abort(&pass));
	FAILS(philox_pass_quantize(&pass, tensors, 1), PHILOX_ERROR_STATE);
	FAILS(philox_pass_quantize(NULL, tensors, 1), PHILOX_ERROR_INVALID);
}

/* Counts may be shared, and inputs; what is written is one tensor's alone. */
PROMISE(quantize, what_is_written_for_one_tensor_is_not_used_for_another)
{
	struct philox_quantize_desc tensors[3];
	struct philox_rng rngs[3];
	struct scene s;

	make_scene(f, &s);
	for (int i = 0; i < 3; i++) {
		rngs[i] = s.rng;
		tensors[i] = s.t;
		tensors[i].span = philox_span_rows(0, 2, 64, 64);
		tensors[i].out = (char *)s.t.out + 64 * i;
		tensors[i].scales = s.t.scales + 8 * i;
	}
	OK(philox_rng_quantize(f->device, f->stream, rngs, tensors, 3));
	tensors[2].out = (char *)tensors[1].out + 63;
	FAILS(philox_rng_quantize(f->device, f->stream, rngs, tensors, 3),
	      PHILOX_ERROR_INVALID);
	NAMES("of tensor 1 and out");
	tensors[2].out = (char *)tensors[1].out + 64;
	tensors[0].in = tensors[2].out;
	FAILS(philox_rng_quantize(f->device, f->stream, rngs, tensors, 3),
	      PHILOX_ERROR_INVALID);
	NAMES("all are rounded at once");
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* Only what the size depends on matters. */
PROMISE(quantize, the_size_of_scales_needs_their_form_alone)
{
	struct philox_quantize_desc t = {
		.size = sizeof(t),
		.span = philox_span_rows(0, 130, 64, 64),
		.format = PHILOX_FORMAT_E2M1,
		.scaling = PHILOX_SCALING_NVFP4};
	uint64_t bytes;

	(void)f;
	OK(philox_quantize_scales_size(&t, &bytes));
	cr_assert_eq(bytes, 130 * 4);
	t.flags = PHILOX_QUANTIZE_SWIZZLED;
	OK(philox_quantize_scales_size(&t, &bytes));
	cr_assert_eq(bytes, 2 * 512);
	t.flags |= PHILOX_QUANTIZE_TRANSPOSED;
	OK(philox_quantize_scales_size(&t, &bytes));
	cr_assert_eq(bytes, 3 * 512);
}

PROMISE(quantize, scales_of_tensors_are_refused_by_name)
{
	struct scene s;
	uint64_t bytes = 99;
	float *scale;

	make_scene(f, &s);
	scale = make_memory(f, 4);
	FAILS(philox_tensor_scale(f->device, f->stream, PHILOX_DTYPE_F64,
				  s.t.in, 4, scale),
	      PHILOX_ERROR_INVALID);
	NAMES("dtype is not f32, bf16 or f16");
	FAILS(philox_tensor_scale(f->device, f->stream, PHILOX_DTYPE_F32, NULL,
				  4, scale),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_tensor_scale(f->device, f->stream, PHILOX_DTYPE_F32,
				  s.t.in, 4, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_tensor_scale(f->device, f->stream, PHILOX_DTYPE_F32, scale,
				  1, scale),
	      PHILOX_ERROR_INVALID);
	NAMES("overlap");
	FAILS(philox_tensor_scale(f->device, f->stream, PHILOX_DTYPE_F32,
				  s.t.in, UINT64_MAX / 2, scale),
	      PHILOX_ERROR_OVERFLOW);
	s.t.scaling = 7;
	FAILS(philox_quantize_scales_size(&s.t, &bytes), PHILOX_ERROR_INVALID);
	s.t.scaling = PHILOX_SCALING_MX;
	FAILS(philox_quantize_scales_size(&s.t, NULL), PHILOX_ERROR_INVALID);
	cr_assert_eq(bytes, 99);
}

PROMISE(quantize, signs_as_bits_end_before_the_planes_of_keys)
{
	uint32_t *words = make_memory(f, 16);
	struct philox_fill_desc fill = {
		.size = sizeof(fill),
		.dist = PHILOX_DIST_SIGNS,
		.dtype = PHILOX_DTYPE_U32,
		.span = philox_span_elements(((uint64_t)1 << 59) - 3, 4),
		.out = words};
	const struct philox_rng rng = {.state = {1, 4}};

	FAILS(philox_rng_fill(f->device, f->stream, rng, &fill),
	      PHILOX_ERROR_OVERFLOW);
	NAMES("past the 2^59 words of dist signs");
	fill.span.first--;
	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(words[3], philox_sign_bits(rng.state,
						((uint64_t)1 << 59) - 1));
}
