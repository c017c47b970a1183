/*
 * tests/support/beds/runner.h - runners in tests
 *
 * RUNNER_PROMISE(suite, name) { ... } is a test that runs on host:sync and on
 * host:strict, with a fixture `f` and a runner `r`, "runner".
 *
 * A layer is a region with a function that has one input "x" and two outputs,
 * each of WORDS words: "y", the numbers of a pass, and "echo", a copy of x that
 * went through memory of the run. Its pass is a forward, or a backward that is
 * named at launch.
 */
#ifndef TESTS_SUPPORT_RUNNER_BED_H
#define TESTS_SUPPORT_RUNNER_BED_H

#include "tests/support/support.h"

#define RUNNER_PROMISE(suite, name)                                   \
	static void name(struct fixture *f, struct philox_runner *r); \
	Test(suite, name, .timeout = 120)                             \
	{                                                             \
		on_runners(name);                                     \
	}                                                             \
	static void name(__attribute__((unused)) struct fixture *f,   \
			 __attribute__((unused)) struct philox_runner *r)

void on_runners(void (*promise)(struct fixture *f, struct philox_runner *r));
struct philox_runner *make_runner_of(struct fixture *f, const char *name,
				     uint32_t pool_flags);

struct layer {
	struct fixture *f;
	struct philox_region *region;
	struct philox_runner *runner;
	struct philox_function *function;
	int backward;
	unsigned bodies; /* runs of the body */
	/* what the body does besides, while `hook` is not NULL */
	enum philox_status (*hook)(struct layer *layer, struct philox_run *run);
	enum philox_status returns; /* of the body that did all else */
};

/* Options of a function with x, y and echo; the body's user is the layer. */
struct philox_function_desc layer_options(const char *name,
					  struct layer *layer);
enum philox_status layer_body(void *user, struct philox_run *run);

struct layer make_layer(struct fixture *f, struct philox_runner *r,
			const char *name);
/* The function is made of the layer where it is. */
void make_function(struct layer *layer, struct philox_runner *r,
		   const char *name);
void make_function_of(struct layer *layer, struct philox_runner *r,
		      const struct philox_function_desc *options);

/* One call of a layer, with what came of it. */
struct layer_call {
	struct philox_call call;
	struct philox_call_input x;
	struct philox_launch_pass use;
	struct philox_output outputs[2];
};

/* A call with an input, a key of 4 bytes and, for a backward, a ticket. */
struct layer_call new_call(struct layer *layer, const void *x, uint32_t key);
/* The pointers within it are set, and the call is made. */
enum philox_status try_call(struct layer *layer, struct layer_call *call);
enum philox_call_kind kind_of_call(struct layer *layer, const void *x,
				   uint32_t key);

/* Calls, takes the numbers, releases the outputs; for a forward, its ticket. */
struct forward call_forward(struct layer *layer, const void *x, uint32_t key);
void release_outputs(struct layer *layer, struct layer_call *call);

struct philox_function_stats counts_of(struct layer *layer);

/* A device array of WORDS words that are all `word`. */
uint32_t *make_words(struct fixture *f, uint32_t word);
struct numbers all_words(uint32_t word);

/* Draws as draw() does, but may fail. */
enum philox_status draw_or_fail(const struct philox_pass *pass,
				uint32_t *array);

/* The texts of the log since log_texts(), with a line feed after each. */
void log_texts(struct fixture *f);
const char *logged_texts(void);

#define LOGGED(text)                                                    \
	cr_assert(strstr(logged_texts(), (text)), "not logged: %s\n%s", \
		  (text), logged_texts())
#define KIND(layer, x, key, expected)                                        \
	do {                                                                 \
		enum philox_call_kind kind_ = kind_of_call(layer, x, key);   \
		cr_assert(kind_ == (expected), "kind %d, not %d: %s", kind_, \
			  (expected),                                        \
			  philox_function_reason((layer)->function));        \
	} while (0)

#endif
