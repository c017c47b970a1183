/*
 * tools/contract/runner/runner.h - functions of runners in checks
 *
 * A stage is a function with one input, "x", of STAGE_BYTES, and two outputs:
 * "y", the numbers of a pass of the rig's region, and "echo", a copy of x that
 * went through memory of the run. Memory may hold what a call before put there,
 * so y and echo are overwritten at first.
 */
#ifndef TOOLS_CONTRACT_RUNNER_RUNNER_H
#define TOOLS_CONTRACT_RUNNER_RUNNER_H

#include "tools/contract/graph/graph.h"

enum { STAGE_BYTES = 4099, STAGE_UNSET = 0xee };

/* In a body: leaves it with the status of a call that failed. */
#define TRY(call)                                   \
	do {                                        \
		enum philox_status tried_ = (call); \
                                                    \
		if (tried_ != PHILOX_OK)            \
			return tried_;              \
	} while (0)

/* What is drawn for y. */
enum stage_draws {
	STAGE_FORWARD,
	STAGE_BACKWARD, /* of a ticket that the call names */
	STAGE_BOTH      /* a forward, and its backward, which y is of */
};

struct stage {
	struct contract *c;
	struct contract_rig *rig;
	struct philox_runner *runner;
	struct philox_function *function;
	enum stage_draws draws;
	void *busy; /* memory that the body sets a few times before all else, so
		       that who does not wait for it comes too early */
	/* what the body does besides, NULL: nothing */
	enum philox_status (*besides)(struct stage *stage,
				      struct philox_run *run);
};

struct stage_call {
	struct philox_call call;
	struct philox_call_input x;
	struct philox_launch_pass use;
	struct philox_output outputs[2]; /* y, echo */
};

/*
 * stage_options() describes the function of a stage; stage_create() makes it,
 * in the runner of another stage or, where `runner` is NULL, in a new one.
 */
struct philox_function_desc stage_options(struct stage *stage,
					  const char *name);
void stage_create(struct contract *c, struct stage *stage,
		  const struct philox_function_desc *options,
		  struct philox_runner *runner);

/* The same, for a stage of the rig with a plain function. */
void stage_plain(struct contract *c, struct contract_rig *rig,
		 struct stage *stage, enum stage_draws draws,
		 struct philox_runner *runner);

/* Memory of STAGE_BYTES bytes that are all `value`. */
void stage_input(struct contract *c, struct contract_rig *rig, int value,
		 void **x);

/* Makes the memory at `busy`. */
void stage_keep_busy(struct contract *c, struct stage *stage);

/*
 * stage_begin() describes a call, on the rig's stream, under key 0, and
 * stage_call() makes it. stage_was() expects a kind, and says why it was
 * another one. stage_release() releases the outputs of one on a stream.
 */
struct stage_call stage_begin(const struct stage *stage, void *x);
enum philox_status stage_call(struct stage *stage, struct stage_call *call);
void stage_was(struct contract *c, const struct stage *stage,
	       const struct stage_call *call, enum philox_call_kind kind);
void stage_release(struct contract *c, struct stage *stage,
		   const struct stage_call *call, philox_stream stream);

/*
 * stage_forward() makes a call of that kind with an x that is all `value`,
 * expects the numbers of forward rig->next and an echo of x, and releases the
 * outputs. `ticket` is written.
 */
void stage_forward(struct contract *c, struct stage *stage, void *x, int value,
		   enum philox_call_kind kind, struct philox_ticket *ticket);

#endif
