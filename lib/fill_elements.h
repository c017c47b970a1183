/*
 * lib/fill_elements.h - what a fill writes, for host loop and kernel alike
 *
 * fill_<name>(args, state, block) writes all elements of a span that one Philox
 * block (one subsequence) holds. Calling it for the fill_block_count() blocks
 * from fill_first_block() on, in any order, writes the span; blocks touch
 * distinct elements. Element e of block b is written at out[e - first], and the
 * subtraction is modulo 2^64: since first + count <= 2^64, an element before
 * the span becomes an index that is not below the count, so one comparison is
 * all there is to bounds, up to element 2^64 - 1.
 */
#ifndef FILL_ELEMENTS_H
#define FILL_ELEMENTS_H

#include "kernels.h"

/* fill_elements_per_block() returns how many elements one block makes. */
PHILOX_FN uint64_t fill_elements_per_block(enum kernel kernel)
{
	return kernel == KERNEL_bits_u64 ? 2 : 4;
}

/* fill_first_block() returns the block of the span's first element. */
PHILOX_FN uint64_t fill_first_block(enum kernel kernel, uint64_t first)
{
	return first / fill_elements_per_block(kernel);
}

/* fill_block_count() returns how many blocks a span touches. */
PHILOX_FN uint64_t fill_block_count(enum kernel kernel, uint64_t first,
				    uint64_t count)
{
	if (count == 0)
		return 0;
	return (first + (count - 1)) / fill_elements_per_block(kernel) -
	       fill_first_block(kernel, first) + 1;
}

/* --- element types -------------------------------------------------------- */

typedef uint32_t fill_u32;
typedef uint64_t fill_u64;
typedef float fill_f32;
typedef uint16_t fill_bf16;

PHILOX_FN uint32_t fill_poison_u32(void)
{
	return 0xffffffffu;
}

PHILOX_FN uint64_t fill_poison_u64(void)
{
	return ~(uint64_t)0;
}

PHILOX_FN float fill_poison_f32(void)
{
	return philox_f32_from_bits(0x7fc00000u);
}

PHILOX_FN uint16_t fill_poison_bf16(void)
{
	return 0x7fc0u;
}

/* --- the values of one block ---------------------------------------------- */

/*
 * block_<name>() makes the values of a block. Dropout finds its input in `v`;
 * elements outside the span are there too, as zeros.
 */
PHILOX_FN void block_bits_u32(const struct fill_args *args,
			      struct philox_words words, uint32_t *v)
{
	(void)args;
	for (int i = 0; i < 4; i++)
		v[i] = words.w[i];
}

PHILOX_FN void block_bits_u64(const struct fill_args *args,
			      struct philox_words words, uint64_t *v)
{
	(void)args;
	for (int i = 0; i < 2; i++)
		v[i] = (uint64_t)words.w[2 * i + 1] << 32 | words.w[2 * i];
}

PHILOX_FN void block_uniform_f32(const struct fill_args *args,
				 struct philox_words words, float *v)
{
	(void)args;
	for (int i = 0; i < 4; i++)
		v[i] = philox_uniform_f32(words.w[i]);
}

PHILOX_FN void block_uniform_bf16(const struct fill_args *args,
				  struct philox_words words, uint16_t *v)
{
	(void)args;
	for (int i = 0; i < 4; i++)
		v[i] = philox_uniform_bf16(words.w[i]);
}

PHILOX_FN void block_normal_f32(const struct fill_args *args,
				struct philox_words words, float *v)
{
	(void)args;
	philox_normal_pair(words.w[0], words.w[1], &v[0], &v[1]);
	philox_normal_pair(words.w[2], words.w[3], &v[2], &v[3]);
}

PHILOX_FN void block_normal_bf16(const struct fill_args *args,
				 struct philox_words words, uint16_t *v)
{
	float x[4];

	block_normal_f32(args, words, x);
	for (int i = 0; i < 4; i++)
		v[i] = philox_f32_to_bf16(x[i]);
}

PHILOX_FN void block_bernoulli_f32(const struct fill_args *args,
				   struct philox_words words, float *v)
{
	for (int i = 0; i < 4; i++)
		v[i] = (float)!philox_keep(words.w[i], args->threshold);
}

PHILOX_FN void block_bernoulli_bf16(const struct fill_args *args,
				    struct philox_words words, uint16_t *v)
{
	for (int i = 0; i < 4; i++)
		v[i] = (uint16_t)(0x3f80 *
				  !philox_keep(words.w[i], args->threshold));
}

PHILOX_FN void block_dropout_f32(const struct fill_args *args,
				 struct philox_words words, float *v)
{
	for (int i = 0; i < 4; i++)
		v[i] = philox_dropout_f32(v[i], words.w[i], args->threshold,
					  args->scale);
}

PHILOX_FN void block_dropout_bf16(const struct fill_args *args,
				  struct philox_words words, uint16_t *v)
{
	for (int i = 0; i < 4; i++)
		v[i] = philox_f32_to_bf16(
			philox_dropout_f32(philox_bf16_to_f32(v[i]), words.w[i],
					   args->threshold, args->scale));
}

/* --- arrays --------------------------------------------------------------- */

/*
 * fill_load_<type>() reads the `n` inputs from `index` on into v, and
 * fill_store_<type>() writes n values there; what lies outside of the span is
 * left alone. A block that lies inside the span as a whole takes the short way,
 * on a GPU in one access if the array is aligned for it.
 */
#ifdef __CUDA_ARCH__
#define FILL_IS_ALIGNED(address, size) \
	(((unsigned long long)(address) & ((size)-1)) == 0)
#else
#define FILL_IS_ALIGNED(address, size) 0
#endif

#define FILL_ARRAY(type, n)                                                   \
	struct __attribute__((aligned(n * sizeof(fill_##type))))              \
	fill_vector_##type {                                                  \
		fill_##type v[n];                                             \
	};                                                                    \
                                                                              \
	PHILOX_FN int fill_inside_##type(const struct fill_args *args,        \
					 uint64_t index)                      \
	{                                                                     \
		return args->count >= n && index <= args->count - n;          \
	}                                                                     \
                                                                              \
	PHILOX_FN struct fill_vector_##type fill_load_##type(                 \
		const struct fill_args *args, uint64_t index)                 \
	{                                                                     \
		const fill_##type *in = (const fill_##type *)args->in;        \
		struct fill_vector_##type values;                             \
                                                                              \
		if (!fill_inside_##type(args, index)) {                       \
			for (uint64_t i = 0; i < n; i++)                      \
				values.v[i] = index + i < args->count         \
						      ? in[index + i]         \
						      : 0;                    \
		} else if (FILL_IS_ALIGNED(in + index, sizeof(values))) {     \
			values = *(const struct fill_vector_##type *)(in +    \
								      index); \
		} else {                                                      \
			for (uint64_t i = 0; i < n; i++)                      \
				values.v[i] = in[index + i];                  \
		}                                                             \
		return values;                                                \
	}                                                                     \
                                                                              \
	PHILOX_FN void fill_store_##type(const struct fill_args *args,        \
					 uint64_t index,                      \
					 struct fill_vector_##type values)    \
	{                                                                     \
		fill_##type *out = (fill_##type *)args->out;                  \
                                                                              \
		if (!fill_inside_##type(args, index)) {                       \
			for (uint64_t i = 0; i < n; i++)                      \
				if (index + i < args->count)                  \
					out[index + i] = values.v[i];         \
		} else if (FILL_IS_ALIGNED(out + index, sizeof(values))) {    \
			*(struct fill_vector_##type *)(out + index) = values; \
		} else {                                                      \
			for (uint64_t i = 0; i < n; i++)                      \
				out[index + i] = values.v[i];                 \
		}                                                             \
	}

FILL_ARRAY(u32, 4)
FILL_ARRAY(u64, 2)
FILL_ARRAY(f32, 4)
FILL_ARRAY(bf16, 4)

/* --- the fills ------------------------------------------------------------ */

#define FILL_FUNCTION(name, type, n, has_input)                               \
	PHILOX_FN void fill_##name(const struct fill_args *args,              \
				   struct philox_state state, uint64_t block) \
	{                                                                     \
		uint64_t index = block * n - args->first;                     \
		struct fill_vector_##type values;                             \
                                                                              \
		if (philox_is_poison(state)) {                                \
			for (int i = 0; i < n; i++)                           \
				values.v[i] = fill_poison_##type();           \
		} else {                                                      \
			if (has_input)                                        \
				values = fill_load_##type(args, index);       \
			block_##name(args, philox_draw4(state, block),        \
				     values.v);                               \
		}                                                             \
		fill_store_##type(args, index, values);                       \
	}

FILL_FUNCTION(bits_u32, u32, 4, 0)
FILL_FUNCTION(bits_u64, u64, 2, 0)
FILL_FUNCTION(uniform_f32, f32, 4, 0)
FILL_FUNCTION(uniform_bf16, bf16, 4, 0)
FILL_FUNCTION(normal_f32, f32, 4, 0)
FILL_FUNCTION(normal_bf16, bf16, 4, 0)
FILL_FUNCTION(bernoulli_f32, f32, 4, 0)
FILL_FUNCTION(bernoulli_bf16, bf16, 4, 0)
FILL_FUNCTION(dropout_f32, f32, 4, 1)
FILL_FUNCTION(dropout_bf16, bf16, 4, 1)

#endif
