/*
 * tests/support/support.h - shared by the tests of philox's promises
 *
 * A fixture is a host device with a context and two streams. A region made by
 * make_region() has SITES random sites; "the numbers" of a pass are those of
 * all its sites, so that two passes agree if and only if their numbers do.
 * Numbers are also computed here from the public formulas alone (predict()), as
 * an oracle that shares no code with the ledger.
 */
#ifndef TESTS_SUPPORT_SUPPORT_H
#define TESTS_SUPPORT_SUPPORT_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <philox.h>
#include "tests/support/said/said.h"

enum {
	OPS = 3,   /* operators of a region; the second draws twice */
	SITES = 4, /* (operator, call) pairs */
	COUNT = 8, /* words drawn at each site: two Philox blocks */
	WORDS = SITES * COUNT,
	BLOCKS = WORDS / 4
};

struct numbers {
	uint32_t word[WORDS];
};

struct fixture {
	struct philox_device *device;
	struct philox_context *context;
	philox_stream stream; /* blocking: the legacy stream waits for it */
	philox_stream side;   /* non-blocking */
	uint32_t *scratch;    /* device array of WORDS words */
	int own;              /* graphs: captured by us and adopted */
	unsigned order; /* own graphs: the order in which nodes run, a number */
	int injected;   /* failures were injected: calls are no measure */
	int unfreed;    /* a call that frees was failed: something is left */
	void *arrays[512]; /* freed by fixture_close() */
	size_t n_arrays;
	philox_native_graph natives[512]; /* the same, where own is set */
	philox_native_exec execs[512];
	size_t n_natives;
	uint64_t capture_id; /* of the recording in progress or done last */
	char message[512];   /* of the recording that failed last */
	const void *sums;    /* of give_sums(), in arrays; or NULL */
};

/* A forward that was made, with its numbers. */
struct forward {
	struct philox_region *region;
	struct philox_ticket ticket;
	struct numbers saw;
};

/* --- checks --------------------------------------------------------------- */

/*
 * What is true of every message: it begins with no function but the one that
 * was called, has no prefix twice, and no plural after 1. `call` is the call
 * as it is written in the test.
 */
void well_said(const char *call);

#define OK(call)                                                         \
	do {                                                             \
		enum philox_status status_ = (call);                     \
		cr_assert(status_ == PHILOX_OK, "%s gave %s: %s", #call, \
			  philox_status_name(status_),                   \
			  philox_error_message());                       \
	} while (0)

/*
 * A call that something of a graph keeps busy: CUDA releases it some time after
 * the graph has gone, while a host device has released it.
 */
#define OK_ONCE_RELEASED(f, call)                        \
	do {                                             \
		unsigned waits_ = 0;                     \
		enum philox_status released_ = (call);   \
                                                         \
		while (released_ == PHILOX_ERROR_BUSY && \
		       wait_for_release(f, waits_++))    \
			released_ = (call);              \
		OK(released_);                           \
	} while (0)

#define FAILS(call, expected)                                                  \
	do {                                                                   \
		enum philox_status status_ = (call);                           \
		cr_assert(status_ == (expected), "%s gave %s, not %s (%s)",    \
			  #call, philox_status_name(status_),                  \
			  philox_status_name(expected),                        \
			  philox_error_message());                             \
		cr_assert(philox_error_message()[0] != '\0', "%s: no message", \
			  #call);                                              \
		well_said(#call);                                              \
	} while (0)

/* A call that fails with this message, word for word. */
#define SAYS(call, expected, text)                                 \
	do {                                                       \
		FAILS(call, expected);                             \
		cr_assert(!strcmp(philox_error_message(), (text)), \
			  "%s says \"%s\", not \"%s\"", #call,     \
			  philox_error_message(), (text));         \
	} while (0)

#define FAILS_EITHER(call, one, other)                                        \
	do {                                                                  \
		enum philox_status status_ = (call);                          \
		cr_assert(status_ == (one) || status_ == (other),             \
			  "%s gave %s, neither %s nor %s (%s)", #call,        \
			  philox_status_name(status_),                        \
			  philox_status_name(one), philox_status_name(other), \
			  philox_error_message());                            \
	} while (0)

/* The message of the call that failed last names a thing. */
#define NAMES(thing)                                           \
	cr_assert(strstr(philox_error_message(), (thing)),     \
		  "the message does not name %s: %s", (thing), \
		  philox_error_message())

#define SAME(a, b, ...)                                                    \
	do {                                                               \
		struct numbers a_ = (a), b_ = (b);                         \
		cr_assert(memcmp(&a_, &b_, sizeof(a_)) == 0, __VA_ARGS__); \
	} while (0)

/* No block of four words is in both. */
#define FRESH(a, b, ...)                                             \
	do {                                                         \
		struct numbers a_ = (a), b_ = (b);                   \
		cr_assert_not(share_a_block(&a_, &b_), __VA_ARGS__); \
	} while (0)

#define PENDING(region, expected)                                         \
	do {                                                              \
		size_t pending_ = pending(region);                        \
		cr_assert(pending_ == (expected), "%zu pending, not %zu", \
			  pending_, (size_t)(expected));                  \
	} while (0)

/* Does what follows once for each instruction set, of lib/base/base.h. */
#define FOR_EACH_SIMD(simd)                                           \
	for (enum simd simd = SIMD_SCALAR; simd < SIMD_COUNT; simd++) \
		if (!simd_has(simd))                                  \
			continue;                                     \
		else if (simd_use(simd), 1)

/*
 * PROMISE(suite, name) { ... } is a test that runs on host:sync and on
 * host:strict, with a fixture `f`; GRAPH_PROMISE once for each way of capturing,
 * too. A test that gives kernels plain memory opens "host" itself. With
 * PHILOX_TEST_DEVICE in the environment all run on that device instead: on
 * "cuda" if it is the simulated GPU, whose memory the host reads.
 */
#define PROMISE(suite, name)                 \
	static void name(struct fixture *f); \
	Test(suite, name, .timeout = 120)    \
	{                                    \
		on_host_devices(name);       \
	}                                    \
	static void name(struct fixture *f)

#define GRAPH_PROMISE(suite, name)                  \
	static void name(struct fixture *f);        \
	Test(suite, name, .timeout = 120)           \
	{                                           \
		on_host_devices_and_captures(name); \
	}                                           \
	static void name(struct fixture *f)

/* --- fixtures ------------------------------------------------------------- */

void fixture_open(struct fixture *f, const char *device_name);
void fixture_close(struct fixture *f);

/* Waits for a moment; 0: not on this device, or it has been long enough. */
int wait_for_release(const struct fixture *f, unsigned waits);

/* The device that PHILOX_TEST_DEVICE names instead of those, or NULL. */
const char *named_device(void);
void on_host_devices(void (*promise)(struct fixture *f));
void on_host_devices_and_captures(void (*promise)(struct fixture *f));

/* Device memory that fixture_close() frees; not during a capture. */
void *make_memory(struct fixture *f, size_t size);
uint32_t *make_array(struct fixture *f); /* of WORDS words */

/* The same with the bytes of an array of the host, when they are there. */
void *upload(struct fixture *f, const void *from, size_t size);

struct philox_region *make_region(struct fixture *f, const char *name);
struct philox_region *make_region_of(struct philox_context *context,
				     const char *name, uint32_t pending,
				     struct philox_generator *generator);

/* All operations of the device contract by name, closed by NULL. */
extern const char *const device_operations[];

/* --- numbers -------------------------------------------------------------- */

/* The k-th of n! orders of 0 .. n - 1. */
void permutation(unsigned k, unsigned n, unsigned order[]);
unsigned factorial(unsigned n);

uint64_t fnv1a(const char *name);
struct philox_state predict_cell(uint64_t seed, const char *name, uint32_t op,
				 uint32_t call, uint64_t offset);
struct numbers predict(uint64_t seed, const char *name, uint64_t offset);
int share_a_block(const struct numbers *a, const struct numbers *b);
int all_poison(const struct numbers *numbers);

/* A set of blocks, to find one that occurs twice. */
struct block_set;
struct block_set *block_set_new(void);
void block_set_free(struct block_set *set);
/* Adds all blocks; returns how many were there already. */
unsigned block_set_add(struct block_set *set, const struct numbers *numbers);

/* --- passes --------------------------------------------------------------- */

size_t pending(struct philox_region *region);

/* Queues all draws of a pass into a device array. */
void draw(const struct philox_pass *pass, uint32_t *array);
/* Queues a copy of a pass's cells, as your own kernel finds them. */
void read_cells(struct fixture *f, const struct philox_pass *pass,
		struct philox_state to[SITES]);
/* Waits for the device, then reads an array. */
struct numbers read_numbers(struct fixture *f, const uint32_t *array);

struct forward forward(struct fixture *f, struct philox_region *region);
struct numbers forward_numbers(struct fixture *f, struct philox_region *region,
			       unsigned flags);
struct numbers backward_numbers(struct fixture *f, struct philox_region *region,
				struct philox_ticket ticket, unsigned flags);
/* A backward that must see the forward's numbers. */
void backward(struct fixture *f, const struct forward *of, unsigned flags);
/* The numbers of the next forward, without drawing them. */
struct numbers peek(struct fixture *f, struct philox_region *region);

/* The part of a region's ledger that a caller can see. */
struct ledger_view {
	size_t pending;
	struct numbers next;
};
struct ledger_view look(struct fixture *f, struct philox_region *region);
void unchanged(struct fixture *f, struct philox_region *region,
	       const struct ledger_view *before);

/* --- graphs --------------------------------------------------------------- */

/* Captures on f->stream between the two, in the way of f->own. */
void record_begin(struct fixture *f);
struct philox_graph *record_end(struct fixture *f);
/* The recording fails, with any status; the stream is free. */
enum philox_status record_end_failing(struct fixture *f);

/* A graph of one forward, of one backward named at launch, of both paired. */
struct philox_graph *record_forward(struct fixture *f,
				    struct philox_region *region,
				    unsigned flags, uint32_t *array);
struct philox_graph *record_backward(struct fixture *f,
				     struct philox_region *region,
				     uint32_t *array);
struct philox_graph *record_pair(struct fixture *f,
				 struct philox_region *region,
				 uint32_t *forward_array,
				 uint32_t *backward_array);
/* Captured passes, for recordings of several. */
struct philox_ticket captured_forward(struct fixture *f,
				      struct philox_region *region,
				      unsigned flags, uint32_t *array);
void captured_backward(struct fixture *f, struct philox_region *region,
		       struct philox_ticket ticket, unsigned flags,
		       uint32_t *array);

/* Launches of the graphs above. */
struct forward launch_forward(struct fixture *f, struct philox_graph *graph,
			      struct philox_region *region,
			      const uint32_t *array);
void launch_backward(struct fixture *f, struct philox_graph *graph,
		     const struct forward *of, unsigned flags,
		     const uint32_t *array);
philox_native_exec native_exec(struct philox_graph *graph);

/* A capture of one forward (of none if region is NULL), not adopted. */
struct native {
	uint64_t id;
	philox_native_graph graph;
	philox_native_exec exec;
};
struct native capture_natively(struct fixture *f, struct philox_region *region,
			       uint32_t *array,
			       const struct philox_state **cells);
void destroy_native(struct fixture *f, struct native *native);

/*
 * What a fuzzer begins with: a folder of inputs. In a released archive of the
 * source there is none of some: then the test is skipped. corpus_each() gives
 * each to `run` and returns how many there are, and for how many that was not 0.
 * corpus_read() reads one, with a NUL after it; the caller frees it.
 */
struct corpus {
	size_t inputs, read;
};

DIR *corpus_open(const char *path);
struct corpus corpus_each(const char *path,
			  int (*run)(const uint8_t *data, size_t size));
char *corpus_read(const char *folder, const char *name, size_t *size);

#endif
