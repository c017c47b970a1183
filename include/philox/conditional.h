/*
 * philox/conditional.h - branches and loops in captured graphs
 *
 * A conditional node of a graph runs one of its bodies, graphs of their own,
 * if a condition says so: IF, SWITCH, or WHILE, which runs its body again and
 * again. Which, and how often, only the device knows. Random passes may be in
 * bodies; each run of a body draws its own numbers:
 *
 *   struct philox_conditional_options options =
 *           PHILOX_INIT(struct philox_conditional_options);
 *   struct philox_conditional loop;
 *   const uint32_t *iteration;                   device memory, as are more[]
 *
 *   options.kind = PHILOX_WHILE;
 *   options.limit = 512;                         runs in one launch, at most
 *   philox_conditional_begin(context, stream, &options, &loop);
 *   philox_conditional_body(&loop, 0, inner);    `inner` is capturing now
 *     philox_conditional_iteration(&loop, 0, &iteration);
 *     philox_forward_begin(region, inner, 0, &pass);
 *     ...                                        your kernels: 0, 1, 2, ...
 *     philox_forward_commit(&pass, &ticket);
 *     philox_conditional_set(&loop, inner, more);
 *   philox_conditional_end(&loop);               `stream` goes on after it
 *
 * The capture that `stream` is in, and all bodies in it, are one capture for
 * philox: one graph is made of it, placeholders are good in all of it, and its
 * one head remains the only node that a launch updates. Each body has one more
 * kernel, which never changes.
 *
 * Numbers. `limit` is the most runs of a body in one launch. Run i, counted
 * from 0, is iteration i of each forward in the body: it draws what its forward
 * draws, i x (advance of the region) further on, and each launch reserves limit
 * x advance, whatever the device then does. So nothing repeats; tickets are
 * those of the whole launch; and any iteration can be drawn again anywhere
 * (philox_pass_at()). A body in the body of a loop counts its own runs over
 * the whole launch, and its limit is for these. A forward in a branch that
 * is not taken draws nothing; its ticket is as good as any other, and names
 * iteration 0, as every ticket does when nothing else is said.
 *
 * Backwards in bodies. Where `forward` is the pass of the same capture that a
 * backward repeats:
 *
 *   the forward is outside of all bodies,     the run's numbers of the forward
 *   or in this body or one around it
 *   ... in another body                       run i: iteration i
 *   ... with PHILOX_REVERSED                  run i: the i-th from the last
 *                                             that was run in this launch
 *   the backward is outside of all bodies     iteration 0
 *   the forward is named at launch            run i: iteration i
 *
 * and philox_pass_at() and philox_pass_at_word() take any other order. What is
 * linked to a backward named at launch takes that one for its forward.
 * PHILOX_REVERSED is refused where the loops of forward and backward are both
 * in a body that runs again, since the last run of the launch is then not that
 * of the present turn. The rules of philox/pass.h hold as they do without
 * bodies: a pass counts once, whatever the number of its runs. A ticket must
 * have as many iterations as the passes that repeat it may take: a backward in
 * a body of limit 8 is refused for a forward of 5 iterations, at capture or, if
 * named at launch, at launch; a REVERSED one, which begins where the forward
 * ended, is not.
 *
 * What is wrong on the device. A run beyond the limit finds poison, and
 * philox_check() reports it (a backward that repeats a forward around the body
 * finds that one's numbers all the same). So does a REVERSED run for which
 * there is no iteration left, or whose iteration was beyond the limit. A launch
 * that philox was not told about finds poison in all bodies.
 * philox_conditional_set() ends a WHILE after such a run, so that a loop which
 * waits for a number to come does not go on for ever.
 *
 * What a body may hold is up to CUDA: kernels, copies and fills of device
 * memory, conditional nodes. philox refuses in a body: a session of a pool
 * (philox/pool.h) and, where the body may run again, a copy of a generator's
 * state (philox_generator_copy_state()), which would be the same each time.
 * Values (philox/launch_value.h) and tables of rows (philox/rows.h) are as
 * anywhere. Needs CUDA 12.3 for IF, 12.4 for WHILE, 12.8 for SWITCH and for an
 * IF with two bodies, of the driver too: else PHILOX_ERROR_UNSUPPORTED names
 * what is missing. A graph with conditional nodes has one executable graph at a
 * time.
 *
 * Thread rule: the calls for one struct philox_conditional come one at a time;
 * apart from that every function here may be called from any thread. All are
 * for streams that are capturing.
 */
#ifndef PHILOX_CONDITIONAL_H
#define PHILOX_CONDITIONAL_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/device.h>
#include <philox/graph.h>
#include <philox/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

enum philox_conditional_kind {
	PHILOX_IF = 0,    /* body 0 unless the condition is 0; else body 1 */
	PHILOX_WHILE = 1, /* body 0, until the condition is 0 */
	PHILOX_SWITCH = 2 /* the body whose number the condition is, or none */
};

/*
 * struct philox_conditional_options describes a conditional node. Begin with
 * PHILOX_INIT().
 */
struct philox_conditional_options {
	size_t size; /* sizeof(this struct) */
	enum philox_conditional_kind kind;
	uint32_t bodies;      /* IF: 1 or 2; SWITCH: 1 .. 1024; 0: 1 */
	uint32_t limit;       /* runs of each body in one launch, at most; needed
				 for a WHILE; 0 otherwise: as often as the body
				 around the node, or once */
	uint32_t own;         /* 1: the node is the caller's own, see below */
	const uint32_t *word; /* device memory: the condition, read where the
				 node begins; NULL: it is 1 there */
};

/*
 * struct philox_conditional is a node whose bodies are being captured. A value
 * that the caller holds; its fields, but for `condition`, belong to the
 * library.
 */
struct philox_conditional {
	struct philox_context *context; /* NULL when not open */
	philox_stream stream;           /* of the capture it is in */
	uint64_t capture_id;            /* of that capture */
	uint64_t condition;             /* a cudaGraphConditionalHandle, for your
					   own kernels; 0 if own */
	uint32_t index;                 /* in its capture */
	uint32_t own;
	uint64_t reserved[4]; /* room to grow; 0 */
};

/*
 * philox_conditional_begin() records a conditional node as the next work of a
 * stream that is capturing, in a body perhaps; what the stream records after it
 * comes after the node. Its bodies are to be captured next, each on a stream of
 * its own, then the node is ended.
 *
 * With `own` the node is the caller's: this call only sees to it that the
 * stream's next node comes after what bodies need. The caller then adds the
 * node there with cudaGraphAddNode(), begins the capture of each body with
 * cudaStreamBeginCaptureToGraph(), calls philox_conditional_body() for it
 * before any other work of philox in that body, and ends that capture before
 * the next call for this node. `word` must be NULL.
 *
 * Errors: PHILOX_ERROR_INVALID (names the field), PHILOX_ERROR_STATE (the
 * stream is not capturing), PHILOX_ERROR_UNSUPPORTED, PHILOX_ERROR_LIMIT,
 * PHILOX_ERROR_MEMORY, PHILOX_ERROR_CAPTURE_INVALIDATED, those of the device.
 * If it fails, *conditional is not open, and the capture is as it was; unless
 * the device failed half-way, with a part of the node in the graph: then the
 * capture cannot become a graph, and says why.
 */
PHILOX_API enum philox_status philox_conditional_begin(
	struct philox_context *context, philox_stream stream,
	const struct philox_conditional_options *options,
	struct philox_conditional *conditional);

/*
 * philox_conditional_body() begins the capture of body number `body`, after it
 * has ended that of another body of the node, if one is open. `stream` must
 * not be capturing; it is until the next call of philox_conditional_body() or
 * philox_conditional_end(). It captures in mode RELAXED, so that the rules are
 * those of the capture around it. Streams that joined it must have come back.
 *
 * With `own` the stream is capturing already, into the body, and is tied to the
 * node's capture: the body's capture is ended by the caller.
 *
 * Errors: PHILOX_ERROR_INVALID (no such body), PHILOX_ERROR_STATE (the node is
 * not open, or its capture is over; the stream is capturing already, or with
 * `own` is not, or captures what has passes already), PHILOX_ERROR_EXISTS (the
 * body was captured already; with `own` also: the stream's capture is tied),
 * PHILOX_ERROR_CAPTURE_* (the open body ended badly), those of the device. If
 * it fails, no body is open, and the stream is not capturing because of it.
 */
PHILOX_API enum philox_status philox_conditional_body(
	struct philox_conditional *conditional, uint32_t body,
	philox_stream stream);

/*
 * philox_conditional_set() records a kernel that sets the node's condition to
 * the value of a word of device memory, aligned to 4, as it is when the kernel
 * runs: in the body of a WHILE, for the question whether to run it again. For a
 * WHILE it sets 0 if the present run is beyond the limit, or the launch one
 * that philox was not told about. `stream` is capturing the node's body, or a
 * body in it. Your own kernels may set it, too, with cudaGraphSetConditional(),
 * which needs relocatable device code; this needs none. Two kernels that may
 * run at the same time must not set one condition. Errors: PHILOX_ERROR_INVALID
 * (the word; the node is the caller's own), PHILOX_ERROR_STATE (the stream is
 * not capturing, or the node not open), PHILOX_ERROR_MISMATCH (the stream
 * captures something else), PHILOX_ERROR_CAPTURE_INVALIDATED, those of the
 * device.
 */
PHILOX_API enum philox_status philox_conditional_set(
	const struct philox_conditional *conditional, philox_stream stream,
	const uint32_t *word);

/*
 * philox_conditional_iteration() writes the device address of the number of a
 * body's present run in its launch, from 0 on, for your own kernels in that
 * body or in those within; UINT32_MAX in a launch that philox was not told
 * about. Its content is undefined elsewhere. The body has been begun. The
 * address is good for as long as the graph. Errors: PHILOX_ERROR_INVALID,
 * PHILOX_ERROR_STATE.
 */
PHILOX_API enum philox_status philox_conditional_iteration(
	const struct philox_conditional *node, uint32_t body,
	const uint32_t **iteration);

/*
 * philox_conditional_end() ends the capture of the body that is open, and the
 * node. All bodies must have been captured; of a node of the caller's own,
 * those in which philox is used. Errors: PHILOX_ERROR_STATE (the node is not
 * open; a body was not captured), PHILOX_ERROR_CAPTURE_* (the open body ended
 * badly), those of the device. Whatever it returns, the node is not open after
 * it and no stream is capturing a body of it, nor of a node in that; if it
 * fails, the capture cannot become a graph, and says why.
 */
PHILOX_API enum philox_status philox_conditional_end(
	struct philox_conditional *conditional);

#ifdef __cplusplus
}
#endif
#endif
