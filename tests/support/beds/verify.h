/*
 * tests/support/beds/verify.h - verified replays in tests
 *
 * An act is a function whose body takes its inputs, allocates its outputs, all
 * of WORDS words, plays a script and declares the outputs. Its replays are
 * verified, each, unless its policy says otherwise.
 *
 * STORY(suite, name) { ... } is a test that is played twice on each device, in
 * contexts of their own: with replays that are verified, and with replays that
 * are not. What the two tell must be the same, and each replay of the first one
 * must have been verified.
 */
#ifndef TESTS_SUPPORT_VERIFY_BED_H
#define TESTS_SUPPORT_VERIFY_BED_H

#include "tests/support/beds/runner_scene.h"

enum {
	ACT_INPUTS = 3,  /* "x", "w" and "b" */
	ACT_OUTPUTS = 3, /* "y", "z" and "v" */
	ACT_USES = 3,
	ACT_BYTES = WORDS * sizeof(uint32_t)
};

struct act;

/* Where inputs and outputs are, in a run. */
struct props {
	struct philox_run *run;
	philox_stream stream;
	uint32_t *in[ACT_INPUTS];
	uint32_t *out[ACT_OUTPUTS]; /* may be replaced by a script */
	size_t bytes[ACT_OUTPUTS];  /* ... too */
};

struct act {
	struct fixture *f;
	struct philox_runner *runner;
	struct philox_region *region, *other;
	struct philox_function *function;
	enum philox_status (*script)(struct act *act, struct props *props);
	struct philox_input_desc inputs[ACT_INPUTS];
	size_t n_inputs, n_outputs, n_uses;
	uint32_t flags;
	uint32_t elements; /* of outputs; of the u32 */
	struct philox_policy policy;
	int has_rate;    /* a value "rate" of 4 bytes */
	int no_alloc;    /* the script finds all outputs itself */
	unsigned bodies; /* runs of the body */
	/* of the next call */
	uint32_t key, rate;
	philox_stream stream;
	struct philox_call_input in[ACT_INPUTS];
	struct philox_launch_pass uses[ACT_USES];
	/* of the last call */
	struct philox_call call;
	struct philox_output out[ACT_OUTPUTS];
	/* for scripts */
	void *prop;
	unsigned n;
};

/* One input that is static, one output, one use; no function yet. */
struct act new_act(struct fixture *f, struct philox_runner *r,
		   enum philox_status (*script)(struct act *act,
						struct props *props));
/* The function is made of the act where it is. */
void make_act(struct act *act, const char *name);
/* Each call begins with uses whose tickets are zero, but for `uses[i]` whose
 * serial is set. */
enum philox_status call_act(struct act *act);
void release_act(struct act *act);
/* Calls, drops outputs and forwards' tickets; of the given kind. */
void play_act(struct act *act, enum philox_call_kind kind);
/* A warm-up and a recording. */
void rehearse(struct act *act);
struct philox_function_stats act_counts(const struct act *act);

/* Counts of verification, all of them. */
#define VERIFIED(act, verified_, differed_, unverified_)                      \
	do {                                                                  \
		struct philox_function_stats now_ = act_counts(act);          \
		cr_assert(now_.verified == (uint64_t)(verified_) &&           \
				  now_.differed == (uint64_t)(differed_) &&   \
				  now_.unverified == (uint64_t)(unverified_), \
			  "%d verified, %d differed, %d unverified",          \
			  (int)now_.verified, (int)now_.differed,             \
			  (int)now_.unverified);                              \
	} while (0)

/* --- scripts -------------------------------------------------------------- */

#define TRY_(call)                         \
	do {                               \
		enum philox_status tried_; \
                                           \
		tried_ = (call);           \
		if (tried_ != PHILOX_OK)   \
			return tried_;     \
	} while (0)

/* All words of `from` to `to`, on the run's stream. */
enum philox_status prop_copy(struct act *act, struct props *props, void *to,
			     const void *from);
enum philox_status prop_words(struct act *act, struct props *props, void *to,
			      const void *from, size_t words);
/* y is x. */
enum philox_status echo_script(struct act *act, struct props *props);
/* y is the numbers of a forward, the rest x. */
enum philox_status forward_script(struct act *act, struct props *props);
/* y is the numbers of a backward that is named at launch. */
enum philox_status backward_script(struct act *act, struct props *props);

/* --- stories -------------------------------------------------------------- */

struct story {
	struct fixture *f;
	struct philox_runner *r;
	uint32_t verify;    /* of the policy */
	struct act acts[8]; /* as cast: told at the end, when theirs are gone */
	unsigned n_acts;
};

#define STORY(suite, name)                 \
	static void name(struct story *s); \
	Test(suite, name, .timeout = 120)  \
	{                                  \
		tell_twice(name);          \
	}                                  \
	static void name(struct story *s)

void tell_twice(void (*story)(struct story *s));

void tell(struct story *s, const char *what, const void *bytes, size_t n);
void tell_number(struct story *s, const char *what, uint64_t number);
void tell_words(struct story *s, const char *what, const void *address);

/* With the story's policy; it tells its counts at the end. */
void cast(struct story *s, struct act *act, const char *name);
/* Calls; tells kind, tickets, outputs, inputs and the digest, and releases the
 * outputs. */
void scene_of(struct story *s, struct act *act);
/* The same, but nothing is released. */
void scene_before_release(struct story *s, struct act *act);

/* HOST_PROMISE(suite, name) is RUNNER_PROMISE() for bodies that launch their own
 * work by philox_stream_launch_host(): on host:sync and on host:strict,
 * whatever PHILOX_TEST_DEVICE says. */
#define HOST_PROMISE(suite, name)                                     \
	static void name(struct fixture *f, struct philox_runner *r); \
	Test(suite, name, .timeout = 120)                             \
	{                                                             \
		unsetenv("PHILOX_TEST_DEVICE");                       \
		on_runners(name);                                     \
	}                                                             \
	static void name(__attribute__((unused)) struct fixture *f,   \
			 __attribute__((unused)) struct philox_runner *r)

#endif
