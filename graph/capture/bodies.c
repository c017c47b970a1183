/*
 * graph/capture/bodies.c - bodies: their records, their maps, the end of their
 * captures
 *
 * See Note [Bodies] in graph/capture/capture.h. Guarded by the context's lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/capture/capture.h"
#include "lib/containers/array.h"

_Static_assert(PHILOX_CONDITIONAL_IF == (int)CONDITIONAL_IF &&
		       PHILOX_CONDITIONAL_WHILE == (int)CONDITIONAL_WHILE &&
		       PHILOX_CONDITIONAL_SWITCH == (int)CONDITIONAL_SWITCH,
	       "kinds of nodes are the device's");

/* --- which body ------------------------------------------------------------ */

uint32_t bodies_find(const struct capture *capture, uint64_t id)
{
	for (uint32_t i = 0; i < capture->n_bodies; i++)
		if (capture->bodies[i].phase != BODY_NEW &&
		    capture->bodies[i].id == id)
			return i;
	return CAPTURED_NO_BODY;
}

uint32_t bodies_around(const struct capture *capture, uint32_t body)
{
	return capture->nodes[capture->bodies[body].node].around;
}

int bodies_hold(const struct capture *capture, uint32_t outer, uint32_t body)
{
	while (body != outer && body != CAPTURED_NO_BODY)
		body = bodies_around(capture, body);
	return body == outer;
}

int bodies_repeat(const struct capture *capture, uint32_t body)
{
	for (; body != CAPTURED_NO_BODY; body = bodies_around(capture, body))
		if (capture->nodes[capture->bodies[body].node].kind ==
		    PHILOX_CONDITIONAL_WHILE)
			return 1;
	return 0;
}

uint32_t bodies_common(const struct capture *capture, uint32_t a, uint32_t b)
{
	while (!bodies_hold(capture, a, b))
		a = bodies_around(capture, a);
	return a;
}

const uint32_t *bodies_word(const struct captured_body *body,
			    enum body_word which)
{
	const struct philox_state *control = body->control.device;

	return (const uint32_t *)(const void *)(control + 1) + which;
}

/* --- records --------------------------------------------------------------- */

static enum philox_status reserve_node(struct capture *capture, uint32_t bodies)
{
	if (!array_grow(&capture->nodes, capture->n_nodes, 1,
			sizeof(*capture->nodes)) ||
	    !array_grow(&capture->bodies, capture->n_bodies, bodies,
			sizeof(*capture->bodies)))
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a conditional node");
	return head_reserve(capture->graphs, &capture->head, bodies);
}

/* Takes the control and the slot of each body, or of none. */
static enum philox_status take_controls(struct capture *capture, uint32_t n)
{
	struct captured_body *bodies = capture->bodies + capture->n_bodies;
	uint32_t slots = capture->message_slots;
	enum philox_status status = PHILOX_OK;

	for (uint32_t i = 0; status == PHILOX_OK && i < n; i++) {
		status = slots_take(capture, 2, &bodies[i].control,
				    &bodies[i].slot);
		capture->message_slots++;
	}
	if (status == PHILOX_OK)
		return PHILOX_OK;
	for (uint32_t i = 0; i < n; i++)
		arena_free(&capture->graphs->cells, &bodies[i].control);
	capture->message_slots = slots;
	return status;
}

enum philox_status bodies_add(struct capture *capture,
			      const struct conditional_node *node)
{
	enum philox_status status = reserve_node(capture, node->bodies);

	if (status == PHILOX_OK)
		status = take_controls(capture, node->bodies);
	if (status != PHILOX_OK)
		return status;
	capture->nodes[capture->n_nodes] = *node;
	capture->nodes[capture->n_nodes].body = capture->n_bodies;
	for (uint32_t i = 0; i < node->bodies; i++) {
		struct captured_body *body =
			&capture->bodies[capture->n_bodies++];

		body->node = capture->n_nodes;
		body->limit = node->limit;
	}
	capture->n_nodes++;
	return PHILOX_OK;
}

void bodies_keep(struct capture *capture)
{
	const struct conditional_node *node =
		&capture->nodes[capture->n_nodes - 1];

	for (uint32_t i = 0; i < node->bodies; i++) {
		const struct captured_body *body =
			&capture->bodies[node->body + i];

		head_add_state(&capture->head, body->control.device,
			       body->slot);
	}
}

void bodies_forget(struct capture *capture)
{
	const struct conditional_node *node =
		&capture->nodes[--capture->n_nodes];

	for (uint32_t i = 0; i < node->bodies; i++)
		arena_free(&capture->graphs->cells,
			   &capture->bodies[node->body + i].control);
	capture->n_bodies -= node->bodies;
	capture->message_slots -= node->bodies;
}

void bodies_free(struct capture *capture)
{
	for (uint32_t i = 0; i < capture->n_bodies; i++) {
		arena_free(&capture->graphs->cells,
			   &capture->bodies[i].control);
		free(capture->bodies[i].cells);
	}
	free(capture->bodies);
	free(capture->nodes);
}

/* --- what moves ------------------------------------------------------------ */

struct kernel_call bodies_kernel(const struct captured_body *body,
				 struct body_args *args)
{
	args->control = body->control.device;
	return (struct kernel_call){.kernel = KERNEL_BODY,
				    .args = args,
				    .size = sizeof(*args),
				    .work = 1};
}

enum philox_status bodies_reserve(struct captured_body *body, uint32_t n)
{
	if (array_grow(&body->cells, body->n_cells, n, sizeof(*body->cells)))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for the cells of a body");
}

void bodies_move(struct capture *capture, uint32_t index,
		 const struct philox_region *region, struct philox_state *cells,
		 struct philox_state *first, uint64_t limit, uint32_t reversed)
{
	struct captured_body *body = &capture->bodies[index];
	const struct philox_state *turned =
		reversed == CAPTURED_NO_BODY
			? NULL
			: capture->bodies[reversed].control.device;

	for (uint32_t k = 0; k < region->cells; k++)
		body->cells[body->n_cells++] =
			(struct body_cell){.cell = cells + k,
					   .first = first + k,
					   .turned = turned,
					   .advance = region->advance,
					   .limit = limit,
					   .tells = k == 0};
}

/* --- the end of captures --------------------------------------------------- */

static int is_own(const struct capture *capture,
		  const struct captured_body *body)
{
	return capture->nodes[body->node].own;
}

int bodies_are_open(const struct capture *capture)
{
	for (uint32_t i = 0; i < capture->n_bodies; i++)
		if (capture->bodies[i].phase == BODY_OPEN &&
		    !is_own(capture, &capture->bodies[i]))
			return 1;
	return 0;
}

static int is_of_node(const struct capture *capture, uint32_t body,
		      uint32_t node)
{
	if (node == CAPTURED_NO_BODY)
		return 1;
	for (uint32_t i = 0; i < capture->nodes[node].bodies; i++)
		if (bodies_hold(capture, capture->nodes[node].body + i, body))
			return 1;
	return 0;
}

/* A call that failed without an effect leaves the stream capturing. */
static void end_again(const struct capture *capture,
		      const struct captured_body *body)
{
	const struct status_message kept = status_kept();
	philox_native_graph ended;

	philox_stream_end_capture(capture_device(capture), body->stream,
				  &ended);
	status_restore(&kept);
}

/* What a stream captures may be somebody else's by now. */
static enum philox_status check_ours(const struct capture *capture,
				     const struct captured_body *body)
{
	const struct status_message kept = status_kept();
	struct capture_info info;
	enum philox_status status = device_capture_info(capture_device(capture),
							body->stream, &info);

	if (status != PHILOX_OK || info.status == PHILOX_CAPTURE_INVALIDATED ||
	    info.id == body->id) {
		status_restore(&kept);
		return PHILOX_OK; /* the end will tell */
	}
	return status_set(PHILOX_ERROR_STATE,
			  "the capture of a body, %" PRIu64
			  ", was ended by somebody else",
			  body->id);
}

/* Note [Bodies]: what ends the loop if no kernel in its body is the last. */
static enum philox_status end_loop(struct capture *capture,
				   struct captured_body *body)
{
	const struct conditional_node *node = &capture->nodes[body->node];
	enum philox_status status;

	if (node->kind != PHILOX_CONDITIONAL_WHILE ||
	    (node->sets < 2 && !node->branched))
		return PHILOX_OK;
	status = device_condition_guard(capture_device(capture), body->stream,
					node->condition, NULL,
					body->control.device, CONDITION_LAST);
	if (status == PHILOX_OK)
		body->ends = 1;
	else
		bodies_break(capture, "the end of a body");
	return status;
}

static enum philox_status end_capture(struct capture *capture,
				      struct captured_body *body)
{
	philox_native_graph ended;
	enum philox_status status = philox_stream_end_capture(
		capture_device(capture), body->stream, &ended);

	if (status == PHILOX_OK)
		return PHILOX_OK;
	bodies_break(capture, "the end of a body");
	end_again(capture, body);
	return status;
}

static enum philox_status end_body(struct capture *capture,
				   struct captured_body *body)
{
	struct status_message kept;
	enum philox_status status;

	body->phase = BODY_CAPTURED;
	program_note(capture, PROGRAM_BODY_END,
		     (uint32_t)(body - capture->bodies), 0);
	if (is_own(capture, body))
		return PHILOX_OK;
	status = check_ours(capture, body);
	if (status != PHILOX_OK) {
		bodies_break(capture, "the end of a body");
		return status;
	}
	status = end_loop(capture, body);
	kept = status_kept();
	return status_first(status, &kept, end_capture(capture, body));
}

/* The newest first: a body is newer than those around it. */
enum philox_status bodies_close(struct capture *capture, uint32_t node)
{
	enum philox_status first = PHILOX_OK;

	for (uint32_t i = capture->n_bodies; i--;) {
		const struct status_message kept = status_kept();

		if (capture->bodies[i].phase == BODY_OPEN &&
		    is_of_node(capture, i, node))
			first = status_first(
				first, &kept,
				end_body(capture, &capture->bodies[i]));
	}
	return first;
}

void bodies_break(struct capture *capture, const char *call)
{
	if (!capture->broken[0])
		snprintf(capture->broken, sizeof(capture->broken), "%s: %s",
			 call, status_bare());
}

void bodies_give_up(struct graph_context *graphs, uint64_t id)
{
	const struct map_entry *entry = map_find(&graphs->by_id, id);

	for (; entry; entry = map_find_next(&graphs->by_id, entry)) {
		struct capture *capture = entry->value;

		for (uint32_t i = 0; capture->id == id && i < capture->n_nodes;
		     i++)
			capture->nodes[i].ended = 1;
	}
}

static const char *kind_name(enum philox_conditional_kind kind)
{
	return kind == PHILOX_CONDITIONAL_IF      ? "an IF"
	       : kind == PHILOX_CONDITIONAL_WHILE ? "a WHILE"
						  : "a SWITCH";
}

enum philox_status bodies_check(const struct capture *capture)
{
	if (capture->broken[0])
		return status_set(PHILOX_ERROR_STATE,
				  "capture %" PRIu64
				  " cannot become a graph: %s",
				  capture->id, capture->broken);
	for (uint32_t i = 0; i < capture->n_nodes; i++)
		if (!capture->nodes[i].ended)
			return status_set(
				PHILOX_ERROR_STATE,
				"capture %" PRIu64 ": conditional node %u, %s, "
				"was not ended by philox_conditional_end()",
				capture->id, i,
				kind_name(capture->nodes[i].kind));
	return PHILOX_OK;
}

/* --- sealing --------------------------------------------------------------- */

static size_t map_size(const struct captured_body *body)
{
	return sizeof(struct body_map) +
	       body->n_cells * sizeof(struct body_cell);
}

static void write_map(const struct capture *capture, uint32_t index, char *to)
{
	const struct captured_body *body = &capture->bodies[index];
	struct body_map *map = (struct body_map *)(void *)to;

	*map = (struct body_map){.report = head_body_report(&capture->head),
				 .number = index,
				 .limit = body->limit,
				 .cells = body->n_cells,
				 .ends = body->ends};
	if (body->n_cells)
		memcpy(map + 1, body->cells,
		       body->n_cells * sizeof(*body->cells));
}

enum philox_status bodies_seal(struct capture *capture)
{
	size_t size = 0;
	enum philox_status status;
	char *host, *device;

	for (uint32_t i = 0; i < capture->n_bodies; i++)
		size += map_size(&capture->bodies[i]);
	if (!size)
		return PHILOX_OK;
	status = head_seal_more(capture->graphs, &capture->head, size, &host,
				&device);
	if (status != PHILOX_OK)
		return status;
	for (uint32_t i = 0; i < capture->n_bodies; i++) {
		struct captured_body *body = &capture->bodies[i];

		write_map(capture, i, host);
		body->map = (struct body_map *)(void *)device;
		host += map_size(body);
		device += map_size(body);
	}
	return PHILOX_OK;
}

void bodies_arm(const struct capture *capture, struct head_message *message)
{
	for (uint32_t i = 0; i < capture->n_bodies; i++)
		message->args->states[capture->bodies[i].slot] =
			(struct philox_state){
				.seed = (uintptr_t)capture->bodies[i].map};
}
