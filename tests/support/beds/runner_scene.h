/*
 * tests/support/beds/runner_scene.h - more of runners in tests: two layers that
 * are one region's forward and backward, streams that are slow, and other
 * threads
 */
#ifndef TESTS_SUPPORT_RUNNER_SCENE_H
#define TESTS_SUPPORT_RUNNER_SCENE_H

#include "tests/support/beds/pool.h"
#include "tests/support/beds/runner.h"

/* The forward and the backward of region "layer", functions "forth", "back". */
struct duo {
	struct layer forth, back;
	uint32_t *x; /* words of 3 */
};

void make_duo(struct fixture *f, struct philox_runner *r, struct duo *duo);
/* The function is made of the layer where it is, with a policy. */
void make_function_under(struct layer *layer, struct philox_runner *r,
			 const char *name, const struct philox_policy *policy);

/* Calls, and keeps the outputs. */
struct layer_call made_call(struct layer *layer, const void *x, uint32_t key);
/* ... with an input that is output `i` of another call. */
struct layer_call made_call_on(struct layer *layer,
			       const struct layer_call *from, int i);
/* A call of a backward of `of`, whose outputs are kept. */
struct layer_call made_backward(struct layer *layer,
				const struct layer_call *of, uint32_t flags);
/* The forward's ticket is used up by a pass that no runner knows. */
void plain_backward(struct layer *layer, struct philox_ticket ticket,
		    philox_stream stream, unsigned flags);
/* The forward's ticket is released. */
void let_go(struct layer *layer, const struct layer_call *call);
/* Five calls, of which the last is a replay. */
void settle(struct layer *layer, const void *x, uint32_t key);
/* Both outputs are tied. */
void tie_outputs(struct layer *layer, const struct layer_call *call,
		 struct philox_region *region, struct philox_ticket ticket);

/*
 * Prepares calls of a layer, with `uses` and `outputs` NULL; their kinds are
 * written.
 */
enum philox_status try_prepare(struct layer *layer, struct layer_call *calls,
			       size_t n, size_t *prepared);

/* Prepares calls, of which so many have a recording then. */
#define PREPARED(layer, calls, n, wanted)                                \
	do {                                                             \
		size_t prepared_ = 99;                                   \
		OK(try_prepare(layer, calls, n, &prepared_));            \
		cr_assert_eq(prepared_, (size_t)(wanted),                \
			     "%zu have a recording, not %zu", prepared_, \
			     (size_t)(wanted));                          \
	} while (0)

/* Begins a step, which keeps so many outputs. */
#define STEP(r, stream, wanted)                                                \
	do {                                                                   \
		size_t kept_ = 99;                                             \
		OK(philox_runner_step_begin(r, stream, 0, &kept_));            \
		cr_assert_eq(kept_, (size_t)(wanted), "%zu are kept, not %zu", \
			     kept_, (size_t)(wanted));                         \
	} while (0)

/* A region of SITES sites; pending and flags as in its options. */
struct philox_region *make_region_with(struct fixture *f, const char *name,
				       uint32_t pending, uint32_t flags);

/*
 * A function whose body has a forward of `own`, which is linked to a backward
 * in the body, and a backward of `other` that is named at launch, which is
 * linked to another. They draw output 0, 1, 2 and 3; each run of the body
 * copies these numbers to an array of its own, too.
 */
enum { RICH_RUNS = 12 };

struct rich {
	struct fixture *f;
	struct philox_region *own, *other;
	unsigned flags; /* of all passes */
	struct philox_runner *runner;
	struct philox_function *function;
	unsigned bodies;
	uint32_t *seen[RICH_RUNS][4];
	struct philox_call call;
	struct philox_launch_pass uses[2];
	struct philox_output outputs[4];
};

/* It may be made again when its function was destroyed. */
void make_rich(struct rich *rich, struct philox_runner *r, const char *name,
	       const struct philox_policy *policy);
/*
 * Calls with the ticket of `of`; the numbers are right. The outputs are
 * released. PHILOX_CALL_NONE: of whatever kind.
 */
void call_rich(struct rich *rich, const struct forward *of, uint32_t flags,
	       enum philox_call_kind kind);

/*
 * Blocks of the pool that are still in use once a call has run there: what was
 * released is free by then.
 */
uint64_t live_blocks(struct fixture *f, struct philox_runner *r);
#define LIVE(f, r, wanted)                                      \
	do {                                                    \
		uint64_t live_ = live_blocks(f, r);             \
		cr_assert(live_ == (uint64_t)(wanted),          \
			  "%d live blocks, not %d", (int)live_, \
			  (int)(wanted));                       \
	} while (0)

/* Handles that philox_output_check() calls good, of the two of a call. */
int good_outputs(struct philox_runner *r, const struct layer_call *call);

#define GOOD(r, call)                                                      \
	cr_assert_eq(good_outputs(r, call), 2, "%d of 2 outputs are good", \
		     good_outputs(r, call))
#define OVER(r, call)                                                      \
	cr_assert_eq(good_outputs(r, call), 0, "%d of 2 outputs are good", \
		     good_outputs(r, call))

/*
 * SLOW_PROMISE(suite, name) { ... } is a test on devices whose streams run
 * beside the host, "host" and "host:strict", whatever PHILOX_TEST_DEVICE says:
 * work of a stream can be made to come late there.
 */
#define SLOW_PROMISE(suite, name)                                     \
	static void name(struct fixture *f, struct philox_runner *r); \
	Test(suite, name, .timeout = 120)                             \
	{                                                             \
		on_slow_runners(name);                                \
	}                                                             \
	static void name(struct fixture *f, struct philox_runner *r)

void on_slow_runners(void (*promise)(struct fixture *f,
				     struct philox_runner *r));
/* What the stream does from here on comes some milliseconds later. */
void delay(struct fixture *f, philox_stream stream);

/* Runs fn(user) on another thread and waits for its end. */
void on_thread(void (*fn)(void *user), void *user);

/* A status with its message, which is of the thread that it was given on. */
struct outcome {
	enum philox_status status;
	char message[512];
};
struct outcome outcome_of(enum philox_status status);

#define GAVE(what, wanted)                                                 \
	do {                                                               \
		const struct outcome *was_ = &(what);                      \
		cr_assert(was_->status == (wanted), "%s: %s, not %s (%s)", \
			  #what, philox_status_name(was_->status),         \
			  philox_status_name(wanted), was_->message);      \
		cr_assert(was_->message[0] != '\0', "no message");         \
	} while (0)

#endif
