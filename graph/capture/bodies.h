/*
 * graph/capture/bodies.h - the bodies of conditional nodes in a capture
 *
 * Note [Bodies]
 * ~~~~~~~~~~~~~
 * A body is a capture of its own for the device, with an id of its own, and a
 * part of the capture around it for us: its passes are among those of that
 * capture, with slots in the message of the one head.
 *
 * How often a body runs, only the device knows, and no node in it can be updated
 * by a launch. So a body begins with one kernel of ours, whose arguments never
 * change. Each time that the body runs, the kernel sets the cells of the body's
 * passes to the next iteration: that of run i is i times the region's advance
 * after the state of the launch. It finds all in the body's control, which is a
 * cell like others: the head writes it at the start of each launch, from a slot
 * whose state is the address of the body's map and a count of 0 runs. So the
 * count begins anew in each launch, a launch that was not announced finds
 * poison in the control and does nothing, and the head is as it was without
 * bodies.
 *
 * A pass in a body has its cells twice: as the head fills them, for iteration 0,
 * and as the body's kernel does for each run, which is what captured kernels
 * read. The head fills the latter, too, so that they are poison when the launch
 * is not announced. The kernel counts after that; beyond the limit it writes
 * poison and reports it.
 *
 * A launch reserves limit times the advance of each forward in a body (struct
 * hold). That is all that freshness needs: iterations of one forward differ, and
 * the next forward begins after the last that there can be.
 *
 * A pass linked to another (Note [Captured passes]) reads that one's cells if
 * that one is in the same body or one around it, since these are what they are
 * until this body has ended. In another body it has cells of its own, from the
 * same slot, which that body's kernel moves on; a REVERSED one finds the number
 * of the last iteration in the control of the forward's body, which has run by
 * then. Outside of all bodies it has cells that the head alone fills.
 *
 * The maps are in host memory while passes are captured. They are copied to the
 * device with the head's sealed control block, before the first launch; before
 * that no control leads to them.
 *
 * While a body is captured its stream belongs to us: whatever happens, that
 * capture is ended with its node, or with the capture around it.
 */
#ifndef GRAPH_CAPTURE_BODIES_H
#define GRAPH_CAPTURE_BODIES_H

#include "graph/capture/capture.h"

/* In the number of a report: of a pass, not of a body. */
#define BODY_NUMBER_PASS (UINT64_C(1) << 32)

/*
 * bodies_find() returns the number of the body that has a device's capture id,
 * CAPTURED_NO_BODY if none of this capture has.
 */
uint32_t bodies_find(const struct capture *capture, uint64_t id);

/*
 * bodies_hold() is 1 if a body is `outer` or anywhere within it; every body is
 * within CAPTURED_NO_BODY.
 */
int bodies_hold(const struct capture *capture, uint32_t outer, uint32_t body);

/*
 * bodies_repeat() is 1 if a body may run more than once in a launch;
 * bodies_common() returns the innermost that two are within.
 */
int bodies_repeat(const struct capture *capture, uint32_t body);
uint32_t bodies_common(const struct capture *capture, uint32_t a, uint32_t b);

/* bodies_run() returns the device address of the number of the present run. */
const uint32_t *bodies_run(const struct captured_body *body);

/*
 * bodies_add() adds a node with all its bodies, the next ones: ERROR_MEMORY,
 * ERROR_LIMIT, those of the device, and nothing has changed. bodies_keep() then
 * has the head write their controls, or bodies_forget() removes it again.
 */
enum philox_status bodies_add(struct capture *capture,
			      const struct conditional_node *node);
void bodies_keep(struct capture *capture);
void bodies_forget(struct capture *capture);

/* bodies_kernel() returns the launch of a body's kernel. */
struct kernel_call bodies_kernel(const struct captured_body *body,
				 struct body_args *args);

/*
 * bodies_reserve() makes room in a body's map; bodies_move() then has the
 * kernel of body move `n` cells of a region, from those of iteration 0. They
 * have `limit` iterations; a REVERSED pass names the forward's body.
 */
enum philox_status bodies_reserve(struct captured_body *body, uint32_t n);
void bodies_move(struct capture *capture, uint32_t body,
		 const struct philox_region *region, struct philox_state *cells,
		 struct philox_state *first, uint64_t limit, uint32_t reversed);

/*
 * bodies_close() ends the captures of the bodies of a node that are open, and of
 * the bodies in these, innermost first; with CAPTURED_NO_BODY as a node, of
 * all. Returns the first error; the capture is broken then.
 */
enum philox_status bodies_close(struct capture *capture, uint32_t node);

/* bodies_are_open() is 1 if a capture of ours of a body is open. */
int bodies_are_open(const struct capture *capture);

/*
 * bodies_check() refuses a capture with a node whose bodies were not all
 * captured, or that is broken: ERROR_STATE.
 */
enum philox_status bodies_check(const struct capture *capture);

/* bodies_break() notes why a capture cannot become a graph: the last error. */
void bodies_break(struct capture *capture, const char *call);

/*
 * bodies_seal() takes the device memory of the maps and writes their copies, for
 * head_send(); bodies_arm() then writes a message's slots of the controls.
 */
enum philox_status bodies_seal(struct capture *capture);
void bodies_arm(const struct capture *capture, struct head_message *message);

/* bodies_give_up() ends the nodes of a capture that is no graph and is over. */
void bodies_give_up(struct graph_context *graphs, uint64_t id);

/* bodies_free() frees all of it. */
void bodies_free(struct capture *capture);

#endif
