/*
 * lib/fill/layout/host.c - the kernels of other libraries' layouts as loops
 *
 * Where the compiler may not assume fused multiply-add instructions, there are
 * two versions of each, chosen when they run: fmaf() and fma() of the C library
 * give the same bits, only slower.
 */
#define PHILOX_BUILTIN_FMA /* real.h: let a function's target decide */
#include "lib/dist/elements.h"
#include "lib/fill/layout/elements.h"
#include "lib/fill/layout/layout.h"

#define LAYOUT_LOOP(loop, type, attribute)                                \
	attribute static void loop(const struct layout_args *args,        \
				   const struct fill_row *row,            \
				   struct philox_state state)             \
	{                                                                 \
		const fill_##type *in = row->in;                          \
		fill_##type *out = row->out;                              \
                                                                          \
		for (uint64_t i = 0; i < row->count; i++)                 \
			out[i] = philox_is_poison(state)                  \
					 ? fill_poison_##type()           \
					 : layout_##type(args, state,     \
							 row->first + i,  \
							 in ? in[i] : 0); \
	}

#if defined(__x86_64__) && !defined(__FMA__)
#define LAYOUT_LOOPS(type)                                            \
	LAYOUT_LOOP(fma_##type, type, __attribute__((target("fma")))) \
	LAYOUT_LOOP(plain_##type, type, )                             \
	static void layout_row_##type(const struct layout_args *args, \
				      const struct fill_row *row,     \
				      struct philox_state state)      \
	{                                                             \
		if (__builtin_cpu_supports("fma"))                    \
			fma_##type(args, row, state);                 \
		else                                                  \
			plain_##type(args, row, state);               \
	}
#else
#define LAYOUT_LOOPS(type) LAYOUT_LOOP(layout_row_##type, type, )
#endif

LAYOUT_LIST(LAYOUT_LOOPS)

/* The loops of lib/kernels/host/host.c's table. */
#define LAYOUT_RUN(type)                                                 \
	void run_layout_##type(const void *pointer)                      \
	{                                                                \
		const struct layout_args *args = pointer;                \
		const struct philox_state state =                        \
			philox_resolve(args->fill.rng);                  \
		const size_t size = sizeof(fill_##type);                 \
                                                                         \
		for (uint64_t r = 0; r < args->fill.rows; r++) {         \
			struct fill_row row =                            \
				fill_row_of(&args->fill, r, size, size); \
                                                                         \
			layout_row_##type(args, &row, state);            \
		}                                                        \
	}
LAYOUT_LIST(LAYOUT_RUN)

void layout_host_run(enum philox_dtype dtype, const struct layout_args *args)
{
	static void (*const loops[KERNEL_COUNT])(const void *) = {
#define LAYOUT_ROW(type) [KERNEL_layout_##type] = run_layout_##type,
		LAYOUT_LIST(LAYOUT_ROW)};

	loops[layout_kernel(dtype)](args);
}
