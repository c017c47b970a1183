/*
 * graph/capture/conditional.c - conditional nodes: recorded, their bodies
 * captured
 *
 * See philox/graph.h, and Note [Bodies] in graph/capture/capture.h.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <philox/graph.h>
#include "graph/capture/capture.h"

/* The size of the struct's first version. */
#define OPTIONS_SIZE_FIRST OPTIONS_FIRST(struct philox_conditional_desc, word)
OPTIONS_NO_PADDING(struct philox_conditional_desc, word);

#define BODIES_MAX 1024

/* Left by a begin that fails, and by the end. */
static const struct philox_conditional not_open = {.context = NULL};

/* --- options --------------------------------------------------------------- */

static enum philox_status refuse_option(const char *format, uint32_t value)
{
	return status_set(PHILOX_ERROR_INVALID, format, value);
}

static enum philox_status check_bodies(
	const struct philox_conditional_desc *options)
{
	static const uint32_t most[] = {[PHILOX_CONDITIONAL_IF] = 2,
					[PHILOX_CONDITIONAL_WHILE] = 1,
					[PHILOX_CONDITIONAL_SWITCH] =
						BODIES_MAX};

	if (options->bodies <= most[options->kind])
		return PHILOX_OK;
	return refuse_option(options->kind == PHILOX_CONDITIONAL_IF
				     ? "bodies is %" PRIu32 ": an IF has 1 or 2"
			     : options->kind == PHILOX_CONDITIONAL_WHILE
				     ? "bodies is %" PRIu32 ": a WHILE has 1"
				     : "bodies is %" PRIu32
				       ": a SWITCH has at most 1024",
			     options->bodies);
}

static enum philox_status check_node_options(
	const struct philox_conditional_desc *options)
{
	enum philox_status status;

	if ((unsigned)options->kind > PHILOX_CONDITIONAL_SWITCH)
		return refuse_option("kind is %" PRIu32 ", none that there is",
				     (uint32_t)options->kind);
	status = check_bodies(options);
	if (status != PHILOX_OK)
		return status;
	if (options->kind == PHILOX_CONDITIONAL_WHILE && !options->limit)
		return status_set(PHILOX_ERROR_INVALID,
				  "limit is 0: a WHILE needs the most runs of "
				  "its body in one launch");
	if (options->own > 1)
		return refuse_option("own is %" PRIu32 ", not 0 or 1",
				     options->own);
	if (options->own && options->word)
		return status_set(PHILOX_ERROR_INVALID,
				  "word is not NULL, but the node is the "
				  "caller's own, and its condition with it");
	if ((uintptr_t)options->word % sizeof(*options->word))
		return status_set(PHILOX_ERROR_INVALID,
				  "word (%p) is not aligned to 4 bytes",
				  (const void *)options->word);
	return PHILOX_OK;
}

/* Before anything is recorded: a capture goes on without the node. */
static enum philox_status check_device(
	const struct philox_context *context,
	const struct philox_conditional_desc *options)
{
	const struct conditional what = {
		.kind = (enum conditional_kind)options->kind,
		.bodies = options->bodies ? options->bodies : 1};

	return options->own ? PHILOX_OK
			    : device_conditional_check(context->device, &what);
}

/* --- the node, with the context's lock ------------------------------------- */

static struct conditional_node new_node(
	const struct capture *capture,
	const struct philox_conditional_desc *options, uint64_t id)
{
	struct conditional_node node = {.kind = options->kind,
					.around = bodies_find(capture, id),
					.bodies = options->bodies,
					.limit = options->limit,
					.own = (int)options->own};

	if (!node.bodies)
		node.bodies = 1;
	if (!node.limit && node.around != CAPTURED_NO_BODY)
		node.limit = (uint32_t)capture->bodies[node.around].limit;
	if (!node.limit)
		node.limit = 1;
	return node;
}

/*
 * The kernel that sets the condition comes after all that the stream waits for,
 * so the node need only come after it.
 */
static enum philox_status add_after(struct capture *capture,
				    const struct capture_info *info,
				    const struct conditional_node *node,
				    philox_stream stream,
				    philox_native_graph *bodies)
{
	struct philox_device *device = capture_device(capture);
	const struct conditional what = {
		.condition = node->condition,
		.kind = (enum conditional_kind)node->kind,
		.bodies = node->bodies};
	device_node tip, made;
	size_t n = 1;
	enum philox_status status =
		device_capture_tips(device, stream, &tip, &n);

	if (status == PHILOX_OK)
		status = device_graph_add_conditional(device, info->graph, &tip,
						      n, &what, &made, bodies);
	return status == PHILOX_OK ? device_capture_after(device, stream, made)
				   : status;
}

/* The control of the body whose runs end a loop; NULL: nothing does. */
static struct philox_state *counted_by(const struct capture *capture,
				       const struct conditional_node *node)
{
	return node->kind == PHILOX_CONDITIONAL_WHILE
		       ? capture->bodies[node->body].control.device
		       : NULL;
}

static enum philox_status add_native(struct capture *capture,
				     const struct capture_info *info,
				     struct conditional_node *node,
				     philox_stream stream, const uint32_t *word)
{
	struct philox_device *device = capture_device(capture);
	philox_native_graph *bodies = calloc(node->bodies, sizeof(*bodies));
	enum philox_status status;

	if (!bodies)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a conditional node");
	status = device_condition_create(device, info->graph, 0, 0,
					 &node->condition);
	if (status == PHILOX_OK) {
		status = device_condition_guard(
			device, stream, node->condition, word,
			counted_by(capture, node), CONDITION_BEFORE);
		if (status == PHILOX_OK)
			status = add_after(capture, info, node, stream, bodies);
		if (status != PHILOX_OK)
			bodies_break(capture, "philox_conditional_begin()");
	}
	for (uint32_t i = 0; status == PHILOX_OK && i < node->bodies; i++)
		capture->bodies[node->body + i].native = bodies[i];
	free(bodies);
	return status;
}

/*
 * The device's node is added last, since it cannot be removed. Until then the
 * capture is as it was, but for slots that nothing uses.
 */
static enum philox_status record_node(
	struct graph_context *graphs, philox_stream stream,
	const struct capture_info *info,
	const struct philox_conditional_desc *options,
	struct philox_conditional *made)
{
	struct conditional_node node, *added;
	struct capture *capture;
	enum philox_status status;

	capture_reap(graphs);
	status = capture_get(graphs, info, &capture);
	if (status != PHILOX_OK)
		return status;
	node = new_node(capture, options, info->id);
	status = bodies_add(capture, &node);
	if (status != PHILOX_OK)
		return status;
	added = &capture->nodes[capture->n_nodes - 1];
	made->index = capture->n_nodes - 1;
	status = capture_depend(capture, info->id, stream, &info->tips);
	if (status == PHILOX_OK && !node.own)
		status =
			add_native(capture, info, added, stream, options->word);
	if (status != PHILOX_OK) {
		bodies_forget(capture);
		return status;
	}
	bodies_keep(capture);
	made->condition = added->condition;
	journal_conditional(capture);
	return PHILOX_OK;
}

static enum philox_status need_capture(struct philox_context *context,
				       philox_stream stream,
				       struct capture_info *info)
{
	enum philox_status status =
		device_ask_capture(context->device, stream, info);

	if (status != PHILOX_OK || info->id)
		return status;
	return status_set(PHILOX_ERROR_STATE,
			  "the stream is not capturing, and conditional nodes "
			  "are in graphs only");
}

static enum philox_status begin_node(
	struct philox_context *context, philox_stream stream,
	const struct philox_conditional_desc *given,
	struct philox_conditional *made)
{
	struct philox_conditional_desc options;
	struct capture_info info;
	enum philox_status status =
		options_copy("options", given, given->size, OPTIONS_SIZE_FIRST,
			     sizeof(options), &options);

	if (status == PHILOX_OK)
		status = check_node_options(&options);
	if (status == PHILOX_OK)
		status = check_device(context, &options);
	if (status == PHILOX_OK)
		status = need_capture(context, stream, &info);
	if (status != PHILOX_OK)
		return status;
	made->context = context;
	made->stream = stream;
	made->capture_id = info.id;
	made->own = options.own;
	context_lock(context);
	status = record_node(context->graphs, stream, &info, &options, made);
	context_unlock(context);
	return status;
}

static enum philox_status report(struct philox_context *context,
				 enum philox_status status)
{
	if (status != PHILOX_OK)
		status_prefix(status, "conditional node: ");
	return context_report(context, status, NULL);
}

enum philox_status philox_conditional_begin(
	struct philox_context *context, philox_stream stream,
	const struct philox_conditional_desc *options,
	struct philox_conditional *conditional)
{
	struct philox_conditional made = not_open;
	enum philox_status status;

	if (conditional)
		*conditional = not_open;
	if (!context)
		return context_null(NULL, "context");
	if (!options || !conditional)
		return context_null(context,
				    options ? "conditional" : "options");
	NEED_PROCESS(context);
	status = begin_node(context, stream, options, &made);
	context_broken(context, stream, status, __func__, "(none)");
	if (status == PHILOX_OK)
		*conditional = made;
	return report(context, status);
}

/* --- what a struct philox_conditional is of -------------------------------- */

static enum philox_status check_open(
	const struct philox_conditional *conditional)
{
	if (!conditional)
		return context_null(NULL, "conditional");
	if (!conditional->context)
		return status_set(PHILOX_ERROR_STATE,
				  "the conditional node is not open: its begin "
				  "failed, or it has ended already");
	NEED_PROCESS(conditional->context);
	return PHILOX_OK;
}

static enum philox_status find_node(
	const struct philox_conditional *conditional, struct capture **capture,
	struct conditional_node **node)
{
	uint64_t id = conditional->capture_id;
	struct capture *found =
		capture_around(conditional->context->graphs, id);

	if (!found || conditional->index >= found->n_nodes ||
	    found->nodes[conditional->index].ended)
		return status_set(PHILOX_ERROR_STATE,
				  "capture %" PRIu64 " or the node has ended",
				  id);
	*capture = found;
	*node = &found->nodes[conditional->index];
	return capture_check_sealing(found);
}

static enum philox_status find_body(
	const struct philox_conditional *conditional, uint32_t number,
	struct capture **capture, struct captured_body **body)
{
	struct conditional_node *node;
	enum philox_status status = find_node(conditional, capture, &node);

	if (status != PHILOX_OK)
		return status;
	if (number >= node->bodies)
		return status_set(PHILOX_ERROR_INVALID,
				  "there is no body %" PRIu32
				  ": the node has %" PRIu32,
				  number, node->bodies);
	*body = &(*capture)->bodies[node->body + number];
	return PHILOX_OK;
}

/* --- bodies ---------------------------------------------------------------- */

/* The caller's own capture of a body of his own node. */
static enum philox_status tie(struct capture *capture,
			      struct captured_body *body,
			      const struct capture_info *info)
{
	const struct capture *other = capture_around(capture->graphs, info->id);

	if (!info->id)
		return status_set(PHILOX_ERROR_STATE,
				  "the stream is not capturing: the node is "
				  "the caller's own, and so is the capture of "
				  "its body");
	if (other == capture)
		return status_set(PHILOX_ERROR_EXISTS,
				  "capture %" PRIu64
				  " of the stream is tied to the node's, or is "
				  "that itself",
				  info->id);
	if (other) {
		status_set(PHILOX_ERROR_STATE,
			   "capture %" PRIu64
			   " of the stream has passes already, or is tied to "
			   "another node",
			   info->id);
		bodies_break(capture, "philox_conditional_body()");
		return PHILOX_ERROR_STATE;
	}
	body->native = info->graph;
	return PHILOX_OK;
}

/* The body's kernel comes first, and all that the stream records after it. */
static enum philox_status add_kernel(struct capture *capture,
				     struct captured_body *body,
				     const struct capture_tips *tips,
				     philox_stream stream)
{
	struct philox_device *device = capture_device(capture);
	struct body_args args;
	struct kernel_call call = bodies_kernel(body, &args);
	enum philox_status status =
		depend_add(device, body->native, tips, &call, &body->first);

	if (status != PHILOX_OK)
		return status;
	return depend_on(device, &body->first, stream, tips);
}

static enum philox_status tie_body(struct capture *capture,
				   struct captured_body *body,
				   philox_stream stream)
{
	struct capture_info info;
	enum philox_status status =
		device_ask_capture(capture_device(capture), stream, &info);

	if (status == PHILOX_OK)
		status = tie(capture, body, &info);
	if (status != PHILOX_OK)
		return status;
	status = add_kernel(capture, body, &info.tips, stream);
	if (status == PHILOX_OK)
		body->id = info.id;
	else
		bodies_break(capture, "philox_conditional_body()");
	return status;
}

/* If it fails, the stream is not capturing. */
static enum philox_status capture_body(struct capture *capture,
				       struct captured_body *body,
				       philox_stream stream)
{
	struct philox_device *device = capture_device(capture);
	philox_native_graph ended;
	struct capture_info info;
	struct status_message kept;
	enum philox_status status = device_capture_begin_to(
		device, stream, body->native, PHILOX_CAPTURE_RELAXED);

	if (status != PHILOX_OK)
		return status;
	status = device_ask_capture(device, stream, &info);
	if (status == PHILOX_OK)
		status = add_kernel(capture, body, &info.tips, stream);
	if (status == PHILOX_OK) {
		body->id = info.id;
		return PHILOX_OK;
	}
	bodies_break(capture, "philox_conditional_body()");
	kept = status_kept();
	return status_first(status, &kept,
			    philox_stream_end_capture(device, stream, &ended));
}

/* Else the bodies may be gone, with the graph that they are in. */
static enum philox_status check_goes_on(
	const struct philox_conditional *conditional)
{
	struct capture_info info;
	enum philox_status status = device_ask_capture(
		conditional->context->device, conditional->stream, &info);

	if (status != PHILOX_OK || info.id == conditional->capture_id)
		return status;
	return status_set(PHILOX_ERROR_STATE, "capture %" PRIu64 " has ended",
			  conditional->capture_id);
}

static enum philox_status begin_body(struct philox_conditional *conditional,
				     uint32_t number, philox_stream stream)
{
	struct captured_body *body;
	struct capture *capture;
	struct conditional_node *node;
	enum philox_status status = find_node(conditional, &capture, &node);

	if (status == PHILOX_OK)
		status = bodies_close(capture, conditional->index);
	if (status == PHILOX_OK)
		status = find_body(conditional, number, &capture, &body);
	if (status == PHILOX_OK)
		status = check_goes_on(conditional);
	if (status != PHILOX_OK)
		return status;
	if (body->phase != BODY_NEW)
		return status_set(PHILOX_ERROR_EXISTS,
				  "body %" PRIu32 " was captured already",
				  number);
	status = capture_reserve_id(capture->graphs, capture->id);
	if (status != PHILOX_OK)
		return status;
	status = conditional->own ? tie_body(capture, body, stream)
				  : capture_body(capture, body, stream);
	if (status != PHILOX_OK)
		return status;
	body->stream = stream;
	body->phase = BODY_OPEN;
	capture_note_id(capture, body->id);
	program_note(capture, PROGRAM_BODY, (uint32_t)(body - capture->bodies),
		     0);
	return PHILOX_OK;
}

enum philox_status philox_conditional_body(
	struct philox_conditional *conditional, uint32_t body,
	philox_stream stream)
{
	struct philox_context *context;
	enum philox_status status = check_open(conditional);

	if (status != PHILOX_OK)
		return status;
	context = conditional->context;
	context_lock(context);
	status = begin_body(conditional, body, stream);
	context_unlock(context);
	context_broken(context, conditional->stream, status, __func__,
		       "(none)");
	return report(context, status);
}

/* --- within bodies --------------------------------------------------------- */

/* A condition is set in a body of its node, or in one within. */
static enum philox_status check_place(const struct capture *capture,
				      const struct conditional_node *node,
				      uint64_t id)
{
	uint32_t body = bodies_find(capture, id);

	for (uint32_t i = 0; body != CAPTURED_NO_BODY && i < node->bodies; i++)
		if (bodies_hold(capture, node->body + i, body))
			return PHILOX_OK;
	return status_set(PHILOX_ERROR_MISMATCH,
			  "the stream captures something else than a body of "
			  "the node");
}

static enum philox_status set_condition(
	const struct philox_conditional *conditional, philox_stream stream,
	const struct capture_info *info, const uint32_t *word)
{
	struct conditional_node *node;
	struct capture *capture;
	enum philox_status status = find_node(conditional, &capture, &node);

	if (status == PHILOX_OK)
		status = check_place(capture, node, info->id);
	if (status != PHILOX_OK)
		return status;
	status = device_condition_guard(
		capture_device(capture), stream, node->condition, word,
		counted_by(capture, node), CONDITION_WITHIN);
	if (status != PHILOX_OK)
		return status;
	node->sets++;
	node->branched |= capture->bodies[node->body].id != info->id;
	return PHILOX_OK;
}

static enum philox_status set(const struct philox_conditional *conditional,
			      philox_stream stream, const uint32_t *word)
{
	struct philox_context *context = conditional->context;
	struct capture_info info;
	enum philox_status status;

	if (conditional->own)
		return status_set(PHILOX_ERROR_INVALID,
				  "the node is the caller's own, and its "
				  "condition with it");
	if (!word || (uintptr_t)word % sizeof(*word))
		return status_set(PHILOX_ERROR_INVALID, "word (%p) is %s",
				  (const void *)word,
				  word ? "not aligned to 4 bytes" : "NULL");
	status = need_capture(context, stream, &info);
	if (status != PHILOX_OK)
		return status;
	context_lock(context);
	status = set_condition(conditional, stream, &info, word);
	context_unlock(context);
	return status;
}

enum philox_status philox_conditional_set(
	const struct philox_conditional *conditional, philox_stream stream,
	const uint32_t *word)
{
	enum philox_status status = check_open(conditional);

	if (status != PHILOX_OK)
		return status;
	status = set(conditional, stream, word);
	context_broken(conditional->context, conditional->stream, status,
		       __func__, "(none)");
	return report(conditional->context, status);
}

/* The address of a word that the body's kernel writes in each run. */
static enum philox_status find_word(
	const struct philox_conditional *conditional, uint32_t body,
	enum body_word which, const uint32_t **word, const char *name)
{
	struct captured_body *found;
	struct capture *capture;
	enum philox_status status = check_open(conditional);

	if (status != PHILOX_OK)
		return status;
	if (!word)
		return context_null(conditional->context, name);
	context_lock(conditional->context);
	status = find_body(conditional, body, &capture, &found);
	if (status == PHILOX_OK && found->phase == BODY_NEW)
		status =
			status_set(PHILOX_ERROR_STATE,
				   "body %" PRIu32 " has not been begun", body);
	if (status == PHILOX_OK)
		*word = bodies_word(found, which);
	context_unlock(conditional->context);
	return report(conditional->context, status);
}

enum philox_status philox_conditional_iteration(
	const struct philox_conditional *conditional, uint32_t body,
	const uint32_t **iteration)
{
	return find_word(conditional, body, BODY_WORD_RUN, iteration,
			 "iteration");
}

enum philox_status philox_conditional_beyond(
	const struct philox_conditional *conditional, uint32_t body,
	const uint32_t **beyond)
{
	return find_word(conditional, body, BODY_WORD_BEYOND, beyond, "beyond");
}

/* --- the end --------------------------------------------------------------- */

static enum philox_status check_captured(const struct capture *capture,
					 const struct conditional_node *node)
{
	for (uint32_t i = 0; i < node->bodies && !node->own; i++)
		if (capture->bodies[node->body + i].phase == BODY_NEW)
			return status_set(PHILOX_ERROR_STATE,
					  "body %" PRIu32 " was not captured",
					  i);
	return PHILOX_OK;
}

static enum philox_status end_node(struct philox_conditional *conditional)
{
	struct conditional_node *node;
	struct capture *capture;
	enum philox_status status = find_node(conditional, &capture, &node);

	if (status != PHILOX_OK)
		return status;
	status = bodies_close(capture, conditional->index);
	if (status == PHILOX_OK)
		status = check_captured(capture, node);
	if (status != PHILOX_OK)
		bodies_break(capture, "philox_conditional_end()");
	node->ended = 1;
	return status;
}

enum philox_status philox_conditional_end(
	struct philox_conditional *conditional)
{
	struct philox_context *context;
	philox_stream stream;
	enum philox_status status = check_open(conditional);

	if (status != PHILOX_OK)
		return status;
	context = conditional->context;
	stream = conditional->stream;
	context_lock(context);
	status = end_node(conditional);
	*conditional = not_open;
	context_unlock(context);
	context_broken(context, stream, status, __func__, "(none)");
	return report(context, status);
}
