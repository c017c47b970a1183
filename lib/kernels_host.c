/*
 * lib/kernels_host.c - the library's kernels as plain loops
 *
 * Each is the inline definition that the CUDA kernel uses too, called for one
 * block (or cell) after the other. A loop runs on the thread of its stream and
 * takes no lock; the arguments are its own copy.
 *
 * Where the compiler may not assume fused multiply-add instructions, normal
 * numbers come in two versions of the same loop, chosen when they run: fmaf()
 * of the C library gives the same bits, only slower.
 */
#define PHILOX_BUILTIN_FMA /* kernel.h: let a function's target decide */
#include "device.h"
#include "fill_elements.h"
#include "head_elements.h"

#define DEFINE_LOOP(loop, name, attribute)                                  \
	attribute static void loop(const void *pointer)                     \
	{                                                                   \
		const struct fill_args args =                               \
			*(const struct fill_args *)pointer;                 \
		const struct philox_state state = philox_resolve(args.rng); \
		const uint64_t first =                                      \
			fill_first_block(KERNEL_##name, args.first);        \
		const uint64_t count = fill_block_count(                    \
			KERNEL_##name, args.first, args.count);             \
                                                                            \
		for (uint64_t i = 0; i < count; i++)                        \
			fill_##name(&args, state, first + i);               \
	}

DEFINE_LOOP(run_bits_u32, bits_u32, )
DEFINE_LOOP(run_bits_u64, bits_u64, )
DEFINE_LOOP(run_uniform_f32, uniform_f32, )
DEFINE_LOOP(run_uniform_bf16, uniform_bf16, )
DEFINE_LOOP(run_bernoulli_f32, bernoulli_f32, )
DEFINE_LOOP(run_bernoulli_bf16, bernoulli_bf16, )
DEFINE_LOOP(run_dropout_f32, dropout_f32, )
DEFINE_LOOP(run_dropout_bf16, dropout_bf16, )

#if defined(__x86_64__) && !defined(__FMA__)
#define DEFINE_NORMAL_LOOP(name)                                          \
	DEFINE_LOOP(run_fma_##name, name, __attribute__((target("fma")))) \
	DEFINE_LOOP(run_plain_##name, name, )                             \
	static void run_##name(const void *args)                          \
	{                                                                 \
		if (__builtin_cpu_supports("fma"))                        \
			run_fma_##name(args);                             \
		else                                                      \
			run_plain_##name(args);                           \
	}
#else
#define DEFINE_NORMAL_LOOP(name) DEFINE_LOOP(run_##name, name, )
#endif

DEFINE_NORMAL_LOOP(normal_f32)
DEFINE_NORMAL_LOOP(normal_bf16)

/* --- the head ------------------------------------------------------------- */

/* The payload first, then the count, which a reader loads first. */
static void report_repetition(struct head_report *report, uint64_t sequence)
{
	uint64_t count = __atomic_load_n(&report->count, __ATOMIC_RELAXED);

	__atomic_store_n(&report->sequence, sequence, __ATOMIC_RELAXED);
	__atomic_store_n(&report->count, count + 1, __ATOMIC_RELEASE);
}

static void run_head(const void *pointer)
{
	const struct head_args *args = pointer;
	struct head_control *control = args->control;
	int accepted = head_accepts(args);

	for (uint64_t i = 0; i < control->cells; i++)
		head_fill_cell(args, i, accepted);
	if (accepted)
		__atomic_store_n(&control->sequence, args->sequence,
				 __ATOMIC_RELEASE);
	else
		report_repetition(control->report, control->sequence);
}

static void run_store(const void *pointer)
{
	const struct store_args *args = pointer;

	*args->to = args->state;
}

void (*const kernels_host[KERNEL_COUNT])(const void *args) = {
	[KERNEL_HEAD] = run_head,
	[KERNEL_STORE] = run_store,
#define FILL_LOOP(name) [KERNEL_##name] = run_##name,
	FILL_LIST(FILL_LOOP)
#undef FILL_LOOP
};
