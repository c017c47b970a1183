/*
 * lib/fill/cuda.cuh - a fill on a GPU
 *
 * One kernel for each fill. A thread resolves the state once and takes the
 * units of FILL_AHEAD blocks at a time: it reads all their inputs, makes all
 * their elements, writes them. That hides the latency of the reads, and the key
 * schedule and the first product of Philox are shared between the blocks.
 * Neighbouring threads have neighbouring units of 16 bytes, and a thread's units
 * are at constant distances, which need no instructions. Units at the ends
 * of a row, and rows that are not aligned, are done element by element. Results
 * do not depend on the grid.
 */
#ifndef LIB_FILL_CUDA_CUH
#define LIB_FILL_CUDA_CUH

#include "lib/dist/elements.h"
#include "lib/dist/cell.cuh"

#define FILL_THREADS 256
#define FILL_AHEAD   4 /* blocks */

/*
 * How many blocks of threads a multiprocessor must have room for. Nothing (0)
 * is demanded, but where nvcc would decide badly (tests/ptx/sizes.txt): in f64
 * it would on 9.0 aim at more than two for a long loop, and put into local
 * memory what has no register then; 32-bit integers would take 78 registers on
 * 10.0; on 8.0 dropout in f64 would take more than the 48 of five blocks. Fills
 * that solve for each number have room for no more than two anywhere: else nvcc
 * would put registers into local memory.
 */
#ifndef __CUDA_ARCH__
#define FILL_BLOCKS(type, traits) 0
#else
#define FILL_BLOCKS(type, traits) \
	((traits)&FILL_SOLVES ? 2 : FILL_BLOCKS_OF(type, traits))
#if __CUDA_ARCH__ >= 1000
#define FILL_BLOCKS_OF(type, traits) \
	(((traits)&FILL_SIGNED) && sizeof(type) == 4 ? 4 : 0)
#elif __CUDA_ARCH__ >= 900
#define FILL_BLOCKS_OF(type, traits) \
	(((traits)&FILL_LONG) && sizeof(type) == 8 ? 2 : 0)
#else
#define FILL_BLOCKS_OF(type, traits) \
	(((traits)&FILL_READS) && sizeof(type) == 8 ? 5 : 0)
#endif
#endif

static __device__ __forceinline__ uint64_t fill_thread(void)
{
	return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ uint64_t fill_threads(void)
{
	return (uint64_t)gridDim.x * blockDim.x;
}

/* Which loop, as constants of its code. */
static __device__ __forceinline__ fill_args fill_set_way(fill_args args,
							 uint32_t plain,
							 uint32_t is_short)
{
	args.plain = plain;
	args.ends.is_short = is_short;
	return args;
}

/*
 * Fills of which few elements need more than their own words: a thread first
 * makes and writes its units of a tile without. fill_first() notes in `found`
 * whether an element of unit k needs more. fill_mend() writes those values
 * again. It is called where few registers are in use; a call in the midst of a
 * unit would need some 25 more.
 */
template <typename out_units>
static __device__ __forceinline__ void
fill_first(const fill_args *, philox_state, uint64_t, out_units *, int,
	   uint32_t *)
{
}

template <typename out_units>
static __device__ __forceinline__ uint32_t fill_none_found(out_units *)
{
	return 0;
}

template <typename out_units>
static __device__ __forceinline__ bool fill_is_found(uint32_t, out_units *)
{
	return false;
}

template <typename out_units>
static __device__ __forceinline__ void
fill_mend(const fill_args *, philox_state, uint64_t, uint32_t, out_units *)
{
}

/* Integers: n bits for each unit tell which draws were rejected. */
#define FILL_MEND(type, n)                                                     \
	static __device__ __forceinline__ void fill_first(                     \
		const fill_args *args, philox_state state, uint64_t unit,      \
		fill_out_integers_##type *out, int k, uint32_t *found)         \
	{                                                                      \
		*found |= fill_first_##type(args, state, unit, out->v)         \
			  << k * n;                                            \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ bool fill_is_found(                  \
		uint32_t found, fill_out_integers_##type *)                    \
	{                                                                      \
		return found != 0;                                             \
	}                                                                      \
                                                                               \
	static __device__ __noinline__ void fill_mend(                         \
		const fill_args *args, philox_state state, uint64_t unit,      \
		uint32_t rejected, fill_out_integers_##type *out)              \
	{                                                                      \
		for (unsigned i = 0; rejected; i++, rejected >>= 1) {          \
			const uint64_t k = i / n * FILL_THREADS;               \
                                                                               \
			if (rejected & 1)                                      \
				out[k].v[i % n] = fill_again_##type(           \
					args, state, unit + k, i % n);         \
		}                                                              \
	}

FILL_MEND(u32, 4)
FILL_MEND(u64, 2)
#undef FILL_MEND

/* Exponential and Gumbel numbers: the least word, which is seldom small. */
#define FILL_MEND(name)                                                        \
	static __device__ __forceinline__ void fill_first(                     \
		const fill_args *args, philox_state state, uint64_t unit,      \
		fill_out_##name *out, int, uint32_t *found)                    \
	{                                                                      \
		constexpr int blocks = fill_n_##name / 4;                      \
                                                                               \
		for (int i = 0; i < blocks; i++) {                             \
			const uint32_t least =                                 \
				fill_first_##name(args, state,                 \
						  unit * blocks + i,           \
						  out->v + 4 * i);             \
                                                                               \
			*found = least < *found ? least : *found;              \
		}                                                              \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ uint32_t fill_none_found(            \
		fill_out_##name *)                                             \
	{                                                                      \
		return ~0u;                                                    \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ bool fill_is_found(                  \
		uint32_t found, fill_out_##name *)                             \
	{                                                                      \
		return found < PHILOX_SMALL_WORD;                              \
	}                                                                      \
                                                                               \
	static __device__ __noinline__ void fill_mend(                         \
		const fill_args *args, philox_state state, uint64_t unit,      \
		uint32_t, fill_out_##name *out)                                \
	{                                                                      \
		constexpr unsigned n = fill_n_##name, ahead = 4 * FILL_AHEAD;  \
                                                                               \
		_Pragma("unroll 1") for (unsigned i = 0; i < ahead; i++)       \
		{                                                              \
			const uint64_t k = i / n * FILL_THREADS;               \
			const uint64_t element = (unit + k) * n + i % n;       \
			const uint32_t w = philox_word_at(state, element);     \
                                                                               \
			if (w < PHILOX_SMALL_WORD)                             \
				out[k].v[i % n] = fill_again_##name(           \
					args, state, element, w);              \
		}                                                              \
	}

FILL_MEND(exponential_f32)
FILL_MEND(exponential_bf16)
FILL_MEND(exponential_f16)
FILL_MEND(gumbel_f32)
FILL_MEND(gumbel_bf16)
FILL_MEND(gumbel_f16)
#undef FILL_MEND

#if defined(__NVCC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
#define FILL_PUTS_TOGETHER 1
#else
#define FILL_PUTS_TOGETHER 0
#endif

/*
 * Writes a unit's 16 bytes. Before 10.0 nvcc makes several stores of a unit of
 * 16-bit elements; put together before, they are one.
 */
template <typename out_unit>
static __device__ __forceinline__ void fill_put(out_unit *to,
						const out_unit &values)
{
	uint4 all;

	if (FILL_PUTS_TOGETHER && sizeof(values.v[0]) == 2) {
		memcpy(&all, &values, sizeof(all));
		*reinterpret_cast<uint4 *>(to) = all;
	} else {
		*to = values;
	}
}

/*
 * Fills whose units have 32 bytes: dropout and Bernoulli numbers in f64. If each
 * thread stored its own units, a store of a warp would leave gaps of 16 bytes,
 * which halves what memory takes. So the lanes exchange what they found out
 * about the words, 16 bits each, and fill_wide() does a warp's units of a tile
 * in accesses of 512 consecutive bytes: lane l has the elements 2 l and 2 l + 1
 * of each 64. `i` is the thread's first unit; whole warps come here.
 */
template <typename out_units>
static __device__ __forceinline__ void
fill_wide(const fill_args &, const fill_row &, philox_state, uint64_t,
	  out_units *)
{
	static_assert(sizeof(out_units) != 32, "it has a version below");
}

/* Bit 4 k + j: dropout keeps element j of unit i + k FILL_THREADS. */
static __device__ __forceinline__ uint32_t
fill_kept(const fill_args &args, philox_state state, uint64_t i)
{
	uint32_t kept = 0;

	for (int k = 0; k < FILL_AHEAD; k++) {
		const philox_words words =
			philox_draw4(state, i + (uint64_t)k * FILL_THREADS);

		for (int j = 0; j < 4; j++)
			if (philox_keep(words.w[j], args.threshold))
				kept |= 1u << (4 * k + j);
	}
	return kept;
}

/* Those of this lane's two elements of each 64: bits 4 k and 4 k + 1. */
static __device__ __forceinline__ uint32_t fill_kept_of(uint32_t kept, int half)
{
	const unsigned lane = threadIdx.x % 32;

	return __shfl_sync(0xffffffffu, kept, 16 * half + lane / 2) >>
	       lane % 2 * 2;
}

/* Two elements, which a lane reads or writes at once. */
struct __attribute__((aligned(16))) fill_two {
	double v[2];
};

/* Where those of the first 64 are, of an array that has `unit` of this lane. */
template <typename two, typename unit>
static __device__ __forceinline__ two *fill_twos(unit *units)
{
	const unsigned lane = threadIdx.x % 32;

	return reinterpret_cast<two *>(units - lane) + lane;
}

/* The place of the first of units i + k FILL_THREADS, by halves of 64. */
static __device__ __forceinline__ unsigned fill_two_at(int k, int half)
{
	return 2 * FILL_THREADS * k + 32 * half;
}

static __device__ __forceinline__ void
fill_wide(const fill_args &args, const fill_row &row, philox_state state,
	  uint64_t i, fill_out_bernoulli_f64 *)
{
	const uint32_t kept = fill_kept(args, state, i);
	fill_two *to = fill_twos<fill_two>(fill_place_bernoulli_f64(&row, i));

	for (int half = 0; half < 2; half++) {
		const uint32_t bits = fill_kept_of(kept, half);

		for (int k = 0; k < FILL_AHEAD; k++) {
			fill_two out;

			for (int j = 0; j < 2; j++)
				out.v[j] = bits >> (4 * k + j) & 1 ? 0.0 : 1.0;
			to[fill_two_at(k, half)] = out;
		}
	}
}

/* It reads all before it writes: both arrays may be one. */
static __device__ __forceinline__ void
fill_wide(const fill_args &args, const fill_row &row, philox_state state,
	  uint64_t i, fill_out_dropout_f64 *)
{
	const double *in = static_cast<const double *>(row.in);
	const fill_two *from = fill_twos<const fill_two>(
		reinterpret_cast<const fill_in_dropout_f64 *>(
			in + (i * fill_n_dropout_f64 - row.first)));
	fill_two *to = fill_twos<fill_two>(fill_place_dropout_f64(&row, i));
	fill_two x[2][FILL_AHEAD];
	uint32_t kept;

	for (int half = 0; half < 2; half++)
		for (int k = 0; k < FILL_AHEAD; k++)
			x[half][k] = from[fill_two_at(k, half)];
	kept = fill_kept(args, state, i);
	for (int half = 0; half < 2; half++) {
		const uint32_t bits = fill_kept_of(kept, half);

		for (int k = 0; k < FILL_AHEAD; k++) {
			fill_two out;

			for (int j = 0; j < 2; j++)
				out.v[j] = philox_dropout_f64(
					x[half][k].v[j],
					bits >> (4 * k + j) & 1, 1,
					args.f64.scale);
			to[fill_two_at(k, half)] = out;
		}
	}
}

/*
 * For every fill: a plain span, then a shard, then poison, then the kernel. A
 * shard's units are numbered across its rows; a thread finds its first with one
 * division and the next ones by addition. Where `plain` matters, a separate
 * loop has it as a constant, and the other one makes ranges by their short form
 * alone: the few that have none are done as shards are.
 */
#define FILL_KERNEL(name, out_type, in_type, n, traits)                        \
	static __device__ __forceinline__ void whole_##name(                   \
		const fill_args &args, const fill_row &row,                    \
		fill_source_##name source, uint64_t u)                         \
	{                                                                      \
		const fill_in_##name in = fill_read_##name(&row, u);           \
		fill_out_##name out;                                           \
                                                                               \
		fill_make_##name(&args, source, u, &in, &out);                 \
		fill_put(fill_place_##name(&row, u), out);                     \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ void tile_##name(                    \
		const fill_args &args, const fill_row &row,                    \
		philox_state state, fill_source_##name source, uint64_t i)     \
	{                                                                      \
		constexpr int ahead = FILL_AHEAD * n / fill_n_##name;          \
		const uint64_t next = FILL_THREADS;                            \
		fill_in_##name in[ahead];                                      \
		fill_out_##name out[ahead];                                    \
		uint32_t found = fill_none_found(out);                         \
                                                                               \
		_Pragma("unroll") for (int k = 0; k < ahead; k++)              \
			in[k] = fill_read_##name(&row, i + k * next);          \
		_Pragma("unroll") for (int k = 0; k < ahead; k++)              \
			if (!((traits)&FILL_MENDED))                           \
				fill_make_##name(&args, source, i + k * next,  \
						 &in[k], &out[k]);             \
			else                                                   \
				fill_first(&args, state, i + k * next,         \
					   &out[k], k, &found);                \
		_Pragma("unroll") for (int k = 0; k < ahead; k++)              \
			fill_put(fill_place_##name(&row, i + k * next),        \
				 out[k]);                                      \
		if (fill_is_found(found, out))                                 \
			fill_mend(&args, state, i, found,                      \
				  fill_place_##name(&row, i));                 \
	}                                                                      \
                                                                               \
	static __device__ __forceinline__ void flat_##name(                    \
		const fill_args &args, const fill_row &row,                    \
		philox_state state)                                            \
	{                                                                      \
		const fill_source_##name source =                              \
			fill_begin_##name(&args, state);                       \
		const uint64_t unit = fill_n_##name, step = fill_threads();    \
		const uint64_t first = row.first / unit;                       \
		const uint64_t end =                                           \
			first + fill_units(unit, row.first, row.count);        \
		const fill_whole whole =                                       \
			fill_whole_units(&row, unit, sizeof(fill_##in_type),   \
					 sizeof(fill_##out_type));             \
		constexpr int ahead = FILL_AHEAD * n / fill_n_##name;          \
		/* a thread's units in a tile of its block */                  \
		const uint64_t next = FILL_THREADS;                            \
		const uint64_t tile = blockIdx.x * ahead * next + threadIdx.x; \
		fill_out_##name *none = 0;                                     \
		uint64_t base = whole.begin, i;                                \
                                                                               \
		for (; blockDim.x == FILL_THREADS &&                           \
		       base + ahead * step <= whole.end;                       \
		     base += ahead * step)                                     \
			if (sizeof(*none) == 32)                               \
				fill_wide(args, row, state, base + tile,       \
					  none);                               \
			else                                                   \
				tile_##name(args, row, state, source,          \
					    base + tile);                      \
		for (i = base + fill_thread(); i < whole.end; i += step)       \
			whole_##name(args, row, source, i);                    \
		for (i = first + fill_thread(); i < whole.begin; i += step)    \
			fill_edge_##name(&args, &row, source, i);              \
		for (i = whole.end + fill_thread(); i < end; i += step)        \
			fill_edge_##name(&args, &row, source, i);              \
	}                                                                      \
                                                                               \
	template <bool poison>                                                 \
	static __device__ __forceinline__ void rows_##name(                    \
		const fill_args &args, philox_state state)                     \
	{                                                                      \
		const fill_source_##name source =                              \
			fill_begin_##name(&args, state);                       \
		const uint64_t unit = fill_n_##name, step = fill_threads();    \
		const uint64_t units = fill_row_units(&args, unit);            \
		const uint64_t step_rows = step / units;                       \
		const uint64_t step_units = step % units;                      \
		uint64_t r = fill_thread() / units;                            \
		uint64_t i = fill_thread() % units;                            \
                                                                               \
		while (r < args.rows) {                                        \
			const fill_row row =                                   \
				fill_row_of(&args, r, sizeof(fill_##in_type),  \
					    sizeof(fill_##out_type));          \
			const uint64_t u = row.first / unit + i;               \
                                                                               \
			if (i >= fill_units(unit, row.first, row.count))       \
				; /* this row has one less */                  \
			else if (poison)                                       \
				fill_poison_##name(&row, u);                   \
			else if (fill_is_whole(&row, u * unit - row.first,     \
					       unit, sizeof(fill_##in_type),   \
					       sizeof(fill_##out_type)))       \
				whole_##name(args, row, source, u);            \
			else                                                   \
				fill_edge_##name(&args, &row, source, u);      \
			r += step_rows;                                        \
			i += step_units;                                       \
			r += i >= units;                                       \
			i -= i >= units ? units : 0;                           \
		}                                                              \
	}                                                                      \
                                                                               \
	extern "C" __global__ void __launch_bounds__(                          \
		FILL_THREADS, FILL_BLOCKS(fill_##out_type, traits))            \
		philox_fill_##name(__grid_constant__ const fill_args args)     \
	{                                                                      \
		const philox_state state = block_state(args.rng);              \
		const fill_row row =                                           \
			fill_row_of(&args, 0, sizeof(fill_##in_type),          \
				    sizeof(fill_##out_type));                  \
                                                                               \
		if (philox_is_poison(state))                                   \
			rows_##name<true>(args, state);                        \
		else if (args.rows > 1 ||                                      \
			 (((traits)&FILL_ENDS) && FILL_SHORT_RANGES &&         \
			  !args.plain && !args.ends.is_short))                 \
			rows_##name<false>(args, state);                       \
		else if (!((traits)&FILL_PLAIN))                               \
			flat_##name(args, row, state);                         \
		else if (args.plain)                                           \
			flat_##name(fill_set_way(args, 1, 0), row, state);     \
		else                                                           \
			flat_##name(fill_set_way(args, 0, FILL_SHORT_RANGES),  \
				    row, state);                               \
	}

#endif
