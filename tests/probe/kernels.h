/*
 * tests/probe/kernels.h - the probe's kernels, each with one parameter
 */
#ifndef TESTS_PROBE_KERNELS_H
#define TESTS_PROBE_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When a grid began first and ended last, on the GPU's clock, and how often. */
struct probe_span {
	unsigned long long first, last, launches;
};

/* Runs for some time. */
struct probe_spin_args {
	unsigned long long ns;
	struct probe_span *span; /* may be NULL */
};

/*
 * A message as the head's: as many bytes for as many states. Each launch writes
 * its number behind those of the launches before; log[0] counts them.
 */
#define PROBE_MESSAGE(capacity)               \
	struct probe_message_##capacity {     \
		unsigned long long *log;      \
		uint64_t sequence;            \
		uint64_t states[capacity][2]; \
	};
PROBE_MESSAGE(1)
PROBE_MESSAGE(64)
PROBE_MESSAGE(2040)

/* As cudaLaunchKernel() takes them. */
extern const void *const probe_spin;       /* struct probe_spin_args */
extern const void *const probe_count;      /* unsigned long long *: adds 1 */
extern const void *const probe_message_1;  /* struct probe_message_1 */
extern const void *const probe_message_64; /* and so on */
extern const void *const probe_message_2040;
extern const void *const probe_unloaded; /* as probe_count */

#ifdef __cplusplus
}
#endif
#endif
