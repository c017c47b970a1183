/*
 * lib/dist/elements.h - a fill's arrays, for host loop and kernel alike
 *
 * A span is rows of elements. A row is written in *units*: the elements of one
 * Philox block, or of two for the 16-bit types, so that a unit of an aligned
 * row is written in accesses of 16 bytes. Units touch distinct elements and may
 * be written in any order.
 *
 * Element e of a row is at out[e - first], and the subtraction is modulo 2^64:
 * since no element of a span is past 2^64 - 1, one before the row becomes an
 * index that is not below the count, so one comparison checks both bounds, up
 * to element 2^64 - 1.
 */
#ifndef LIB_DIST_ELEMENTS_H
#define LIB_DIST_ELEMENTS_H

#include "lib/dist/blocks.h"

/* --- rows and units ------------------------------------------------------- */

/* One row of a span. */
struct fill_row {
	uint64_t first; /* element of out[0] */
	uint64_t count;
	const void *in;
	void *out;
};

/* Of 16 bytes, or more, if a block has more. */
#define FILL_UNIT_OF(type, n) (sizeof(type) * (n) < 16 ? 2 * (n) : (n))

/* fill_unit() returns how many elements a unit has. */
PHILOX_FN uint64_t fill_unit(enum kernel kernel)
{
	switch (kernel) {
#define FILL_UNIT(name, out, in, n, traits) \
	case KERNEL_##name:                 \
		return FILL_UNIT_OF(fill_##out, n);
		FILL_LIST(FILL_UNIT)
#undef FILL_UNIT
	default:
		return 1;
	}
}

/* fill_row_of() returns row r; in_size and out_size are of an element. */
PHILOX_FN struct fill_row fill_row_of(const struct fill_args *args, uint64_t r,
				      uint64_t in_size, uint64_t out_size)
{
	uint64_t start = r * args->count;
	struct fill_row row;

	row.first = args->first + r * args->row_stride;
	row.count = args->count;
	row.in = args->in ? (const char *)args->in + start * in_size : 0;
	row.out = (char *)args->out + start * out_size;
	return row;
}

/* fill_units() returns how many units `count` elements from `first` touch. */
PHILOX_FN uint64_t fill_units(uint64_t unit, uint64_t first, uint64_t count)
{
	if (count == 0)
		return 0;
	return (first + (count - 1)) / unit - first / unit + 1;
}

/*
 * fill_row_units() returns how many units the rows of a span have at most. All
 * have as many if they start at the same place of a unit; else some may have
 * one less.
 */
PHILOX_FN uint64_t fill_row_units(const struct fill_args *args, uint64_t unit)
{
	if (args->rows == 1 || args->row_stride % unit == 0)
		return fill_units(unit, args->first, args->count);
	return args->count ? (args->count - 1) / unit + 2 : 0;
}

/*
 * struct fill_whole says which units of a row are wholly inside it and aligned
 * to 16 bytes: none, or all but those at its ends.
 */
struct fill_whole {
	uint64_t begin, end; /* units */
};

PHILOX_FN struct fill_whole fill_whole_units(const struct fill_row *row,
					     uint64_t unit, uint64_t in_size,
					     uint64_t out_size)
{
	uint64_t begin = row->first / unit + (row->first % unit != 0);
	/* the last element's unit, and one more if it ends there */
	uint64_t last = row->first + (row->count - 1);
	uint64_t end = last / unit + (last % unit == unit - 1);
	uint64_t skip = begin * unit - row->first;
	struct fill_whole whole = {begin, begin};
	uint64_t address = (uint64_t)(uintptr_t)row->out + skip * out_size;

	if (row->in)
		address |= (uint64_t)(uintptr_t)row->in + skip * in_size;
	if (end > begin && address % 16 == 0)
		whole.end = end;
	return whole;
}

/*
 * fill_is_whole() says the same of the one unit whose first element is
 * row->out[index] (or one before it, for an index that is not below the count).
 */
PHILOX_FN int fill_is_whole(const struct fill_row *row, uint64_t index,
			    uint64_t unit, uint64_t in_size, uint64_t out_size)
{
	uint64_t address = (uint64_t)(uintptr_t)row->out + index * out_size;

	if (row->in)
		address |= (uint64_t)(uintptr_t)row->in + index * in_size;
	return index < row->count && row->count - index >= unit &&
	       address % 16 == 0;
}

/* --- poison --------------------------------------------------------------- */

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

PHILOX_FN double fill_poison_f64(void)
{
	return philox_f64_from_bits(0x7ff8000000000000ULL);
}

PHILOX_FN uint16_t fill_poison_bf16(void)
{
	return 0x7fc0u;
}

PHILOX_FN uint16_t fill_poison_f16(void)
{
	return 0x7e00u;
}

/* --- units ---------------------------------------------------------------- */

/*
 * For every fill:
 *
 *   struct fill_in_<name>, fill_out_<name>   the elements of a unit
 *   fill_make_<name>    a unit's outputs from its inputs, by the source that
 *                       fill_begin_<name>() made
 *   fill_read_<name>    the inputs of a whole unit
 *   fill_place_<name>   where the outputs of a whole unit are
 *   fill_edge_<name>    does a unit that may be partly outside the row, or is
 *                       not aligned
 *   fill_poison_<name>  writes poison instead
 */
#define FILL_UNIT_FUNCTIONS(name, out_type, in_type, n, traits)                \
	enum { fill_n_##name = FILL_UNIT_OF(fill_##out_type, n) };             \
	struct __attribute__((aligned(16))) fill_in_##name {                   \
		fill_##in_type x[fill_n_##name];                               \
	};                                                                     \
	struct __attribute__((aligned(16))) fill_out_##name {                  \
		fill_##out_type v[fill_n_##name];                              \
	};                                                                     \
                                                                               \
	PHILOX_FN void fill_make_##name(                                       \
		const struct fill_args *args, fill_source_##name source,       \
		uint64_t unit, const struct fill_in_##name *in,                \
		struct fill_out_##name *out)                                   \
	{                                                                      \
		for (int i = 0; i < fill_n_##name; i += n)                     \
			block_##name(args, source,                             \
				     unit *(fill_n_##name / n) +               \
					     (unsigned)(i / n),                \
				     in->x + i, out->v + i);                   \
	}                                                                      \
                                                                               \
	PHILOX_FN struct fill_in_##name fill_read_##name(                      \
		const struct fill_row *row, uint64_t unit)                     \
	{                                                                      \
		const fill_##in_type *in = (const fill_##in_type *)row->in;    \
		struct fill_in_##name none = {{0}};                            \
                                                                               \
		if (!((traits)&FILL_READS))                                    \
			return none;                                           \
		return *(                                                      \
			const struct fill_in_##name *)(in +                    \
						       (unit * fill_n_##name - \
							row->first));          \
	}                                                                      \
                                                                               \
	PHILOX_FN struct fill_out_##name *fill_place_##name(                   \
		const struct fill_row *row, uint64_t unit)                     \
	{                                                                      \
		fill_##out_type *out = (fill_##out_type *)row->out;            \
                                                                               \
		return (struct fill_out_##name *)(out +                        \
						  (unit * fill_n_##name -      \
						   row->first));               \
	}                                                                      \
                                                                               \
	PHILOX_FN void fill_edge_##name(                                       \
		const struct fill_args *args, const struct fill_row *row,      \
		fill_source_##name source, uint64_t unit)                      \
	{                                                                      \
		const fill_##in_type *in = (const fill_##in_type *)row->in;    \
		fill_##out_type *out = (fill_##out_type *)row->out;            \
		uint64_t index = unit * fill_n_##name - row->first;            \
		struct fill_in_##name inputs = {{0}};                          \
		struct fill_out_##name values;                                 \
                                                                               \
		for (unsigned i = 0; in && i < fill_n_##name; i++)             \
			if (index + i < row->count)                            \
				inputs.x[i] = in[index + i];                   \
		fill_make_##name(args, source, unit, &inputs, &values);        \
		for (unsigned i = 0; i < fill_n_##name; i++)                   \
			if (index + i < row->count)                            \
				out[index + i] = values.v[i];                  \
	}                                                                      \
                                                                               \
	PHILOX_FN void fill_poison_##name(const struct fill_row *row,          \
					  uint64_t unit)                       \
	{                                                                      \
		fill_##out_type *out = (fill_##out_type *)row->out;            \
		uint64_t index = unit * fill_n_##name - row->first;            \
                                                                               \
		for (unsigned i = 0; i < fill_n_##name; i++)                   \
			if (index + i < row->count)                            \
				out[index + i] = fill_poison_##out_type();     \
	}

FILL_LIST(FILL_UNIT_FUNCTIONS)
#undef FILL_UNIT_FUNCTIONS

#endif
