/*
 * graph/capture/capture.c - the life of a capture: made, sealed or dropped,
 * reaped
 *
 * See Note [Captured passes] in graph/capture/capture.h. Guarded by the
 * context's lock.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "graph/capture/capture.h"
#include "lib/containers/list.h"

/* --- making and freeing captures ------------------------------------------ */

/* The capture that has an id, itself or by a body, and was dropped or not. */
static struct capture *find_id(const struct graph_context *graphs, uint64_t id,
			       int dropped)
{
	const struct map_entry *entry = map_find(&graphs->by_id, id);
	struct capture *capture;

	for (; entry; entry = map_find_next(&graphs->by_id, entry)) {
		capture = entry->value;
		if (capture->dropped == dropped)
			return capture;
	}
	return NULL;
}

struct capture *capture_find(struct graph_context *graphs, uint64_t id)
{
	struct capture *capture = find_id(graphs, id, 0);

	return capture && capture->id == id ? capture : NULL;
}

struct capture *capture_around(struct graph_context *graphs, uint64_t id)
{
	return find_id(graphs, id, 0);
}

enum philox_status capture_reserve_id(struct graph_context *graphs, uint64_t id)
{
	if (map_reserve(&graphs->by_id, graphs->by_id.count + 1))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for capture %" PRIu64, id);
}

void capture_note_id(struct capture *capture, uint64_t id)
{
	map_put(&capture->graphs->by_id, id, capture);
}

/* --- lists ---------------------------------------------------------------- */

void capture_adopt(struct capture *capture, const char *graph)
{
	capture->graph = graph;
	LIST_REMOVE(capture);
	LIST_ADD(&capture->graphs->sealed, capture);
}

enum philox_status capture_refuse_body(struct graph_context *graphs,
				       uint64_t id)
{
	const struct capture *capture = capture_around(graphs, id);

	if (!capture || capture->id == id)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "capture %" PRIu64
			  " is that of a body, and part of capture %" PRIu64,
			  id, capture->id);
}

void capture_root(struct philox_context *context, struct capture_info *info)
{
	const struct capture *capture =
		info->id ? capture_around(context->graphs, info->id) : NULL;

	if (!capture)
		return;
	info->id = capture->id;
	info->graph = capture->native;
}

int capture_was_dropped(const struct graph_context *graphs, uint64_t id)
{
	return find_id(graphs, id, 1) != NULL;
}

static enum philox_status add_head_node(struct capture *capture,
					const struct capture_tips *tips)
{
	struct head_message message;
	struct kernel_call call;
	enum philox_status status =
		head_message_init(&message, &capture->head, 1);

	if (status != PHILOX_OK)
		return status;
	call = head_call(&capture->head, &message);
	status = depend_add(capture_device(capture), capture->native, tips,
			    &call, &capture->first);
	capture->node_capacity = message.capacity;
	head_message_finish(&message);
	return status;
}

/*
 * The node is added last: it cannot be removed, while a lifeline without a
 * capture does no harm.
 */
static enum philox_status attach(struct capture *capture,
				 const struct capture_tips *tips)
{
	enum philox_status status;

	status = lifeline_attach(capture_device(capture), capture->native,
				 capture->graphs->gone, capture,
				 &capture->lifeline);
	if (status != PHILOX_OK)
		return status;
	status = add_head_node(capture, tips);
	if (status != PHILOX_OK)
		lifeline_put(capture->lifeline);
	return status;
}

/* Counts over all contexts, so that no placeholder fits two captures. */
static atomic_uint serials;

static enum philox_status create_capture(struct graph_context *graphs,
					 const struct capture_info *info,
					 struct capture **out)
{
	struct capture *capture;
	enum philox_status status = capture_reserve_id(graphs, info->id);

	if (status != PHILOX_OK)
		return status;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for capture %" PRIu64, info->id);
	capture->graphs = graphs;
	capture->id = info->id;
	capture->native = info->graph;
	status = head_create(graphs, &capture->head);
	if (status != PHILOX_OK)
		goto free_capture;
	status = attach(capture, &info->tips);
	if (status != PHILOX_OK)
		goto destroy_head;
	capture->serial = (atomic_fetch_add(&serials, 1) + 1) & 0x7fffffff;
	LIST_ADD(&graphs->captures, capture);
	capture_note_id(capture, capture->id);
	journal_write(graphs->context, EVENT("capture-begin", CAPTURE),
		      capture->serial);
	log_post(graphs->context, PHILOX_LOG_INFO, "capture begun",
		 &(struct philox_log_entry){.capture_id = info->id},
		 "capture %" PRIu64 " has its first pass", info->id);
	*out = capture;
	return PHILOX_OK;

destroy_head:
	head_destroy(graphs, &capture->head);
free_capture:
	free(capture);
	return status;
}

enum philox_status capture_get(struct graph_context *graphs,
			       const struct capture_info *info,
			       struct capture **capture)
{
	*capture = capture_around(graphs, info->id);
	if (*capture)
		return capture_check_sealing(*capture);
	if (capture_was_dropped(graphs, info->id))
		return status_set(PHILOX_ERROR_STATE,
				  "capture %" PRIu64 " was dropped", info->id);
	return create_capture(graphs, info, capture);
}

/* --- the order of nodes --------------------------------------------------- */

/* What a body waits for: the kernels of bodies around it, and the head. */
static enum philox_status raise_around(struct capture *capture, uint32_t body,
				       philox_stream stream)
{
	struct philox_device *device = capture_device(capture);
	enum philox_status status = PHILOX_OK;

	body = bodies_around(capture, body);
	for (; status == PHILOX_OK && body != CAPTURED_NO_BODY;
	     body = bodies_around(capture, body))
		status = depend_raise(device, &capture->bodies[body].first,
				      stream);
	return status == PHILOX_OK
		       ? depend_raise(device, &capture->first, stream)
		       : status;
}

enum philox_status capture_depend(struct capture *capture, uint64_t id,
				  philox_stream stream,
				  const struct capture_tips *tips)
{
	struct philox_device *device = capture_device(capture);
	uint32_t body = bodies_find(capture, id);
	struct first_node *first = body == CAPTURED_NO_BODY
					   ? &capture->first
					   : &capture->bodies[body].first;
	struct capture_tips asked = {.n = CAPTURE_TIPS};
	enum philox_status status = PHILOX_OK;

	if (!tips)
		status = device_capture_tips(device, stream, asked.nodes,
					     &asked.n);
	if (status == PHILOX_OK && body != CAPTURED_NO_BODY)
		status = raise_around(capture, body, stream);
	if (status != PHILOX_OK)
		return status;
	return depend_on(device, first, stream, tips ? tips : &asked);
}

/* --- the end of captures -------------------------------------------------- */

static void free_reads(struct capture *capture)
{
	for (uint32_t i = 0; i < capture->n_reads; i++) {
		capture->reads[i].generator->reads--;
		arena_free(&capture->graphs->cells, &capture->reads[i].cell);
	}
	free(capture->reads);
	for (uint32_t i = 0; i < capture->n_sets; i++)
		capture->sets[i].generator->reads--;
	free(capture->sets);
}

static void free_params(struct capture *capture)
{
	for (uint32_t i = 0; i < capture->n_params; i++) {
		arena_free(&capture->graphs->cells, &capture->params[i].cell);
		free(capture->params[i].name);
	}
	free(capture->params);
}

static void free_views(struct capture *capture)
{
	for (uint32_t i = 0; i < capture->n_views; i++)
		arena_free(&capture->graphs->cells, &capture->views[i]);
	free(capture->views);
}

static void forget_ids(struct capture *capture)
{
	struct map *by_id = &capture->graphs->by_id;

	map_remove(by_id, capture->id, capture);
	for (uint32_t i = 0; i < capture->n_bodies; i++)
		if (capture->bodies[i].phase != BODY_NEW)
			map_remove(by_id, capture->bodies[i].id, capture);
}

/* Launches that philox_context_check() has not reported are reported in the end. */
static void free_capture(struct capture *capture)
{
	struct graph_context *graphs = capture->graphs;
	struct philox_context_report report = {0};

	report_capture(capture, &report);
	LIST_REMOVE(capture);
	forget_ids(capture);
	for (uint32_t i = 0; i < capture->n_passes; i++) {
		arena_free(&graphs->cells, &capture->passes[i].cells);
		arena_free(&graphs->cells, &capture->passes[i].known);
	}
	free_views(capture);
	free_reads(capture);
	free_params(capture);
	bodies_free(capture);
	head_destroy(graphs, &capture->head);
	lifeline_put(capture->lifeline);
	program_free(&capture->program);
	free(capture->passes);
	free(capture);
}

/*
 * A copy may be left that no launch came after; and a body whose stream we have
 * to give back.
 */
static int is_over(struct capture *capture)
{
	return !capture->graph && !capture->sealing &&
	       !bodies_are_open(capture) &&
	       head_is_idle(capture->graphs, &capture->head);
}

/* What has a graph, or is to have one, is told again when it has none. */
static void note_ending(void *record)
{
	struct capture *capture = record;

	if (capture->ending || capture->graph || capture->sealing ||
	    !lifeline_is_gone(capture->lifeline))
		return;
	capture->ending = 1;
	capture->next_ending = capture->graphs->ending;
	capture->graphs->ending = capture;
}

void capture_reap(struct graph_context *graphs)
{
	struct capture **link = &graphs->ending, *capture;

	lifelines_see(graphs->gone, note_ending);
	while ((capture = *link)) {
		if (!is_over(capture)) {
			link = &capture->next_ending;
			continue;
		}
		*link = capture->next_ending;
		free_capture(capture);
	}
}

void capture_free_all(struct graph_context *graphs)
{
	while (graphs->captures)
		free_capture(graphs->captures);
	graphs->ending = NULL;
	map_finish(&graphs->by_id);
}

void capture_release(struct capture *capture)
{
	capture->dropped = 1;
	if (!capture->graph)
		return;
	capture->graph = NULL;
	LIST_REMOVE(capture);
	LIST_ADD(&capture->graphs->captures, capture);
	note_ending(capture);
}

void capture_drop(struct capture *capture)
{
	const struct status_message kept = status_kept();

	bodies_close(capture, CAPTURED_NO_BODY);
	status_restore(&kept);
	capture_release(capture);
	journal_capture(capture);
	log_post(capture->graphs->context, PHILOX_LOG_INFO, "capture dropped",
		 &(struct philox_log_entry){.capture_id = capture->id},
		 "capture %" PRIu64 " with %" PRIu32 " pass%s was dropped",
		 capture->id, capture->n_passes, status_es(capture->n_passes));
	capture_reap(capture->graphs);
}

/* --- sealing -------------------------------------------------------------- */

enum philox_status capture_check_sealing(const struct capture *capture)
{
	if (!capture->sealing)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_BUSY,
			  "capture %" PRIu64
			  ": another call is making a graph of it",
			  capture->id);
}

static enum philox_status check_ready(const struct capture *capture)
{
	for (uint32_t i = 0; i < capture->n_passes; i++) {
		const struct captured_pass *captured = &capture->passes[i];

		if (captured->phase == CAPTURED_COMMITTED)
			continue;
		return status_set(
			PHILOX_ERROR_STATE,
			"capture %" PRIu64 ": pass %u, a %s of region '%s', "
			"%s",
			capture->id, i,
			captured->backward ? "backward" : "forward",
			captured->region->name,
			captured->phase == CAPTURED_OPEN ? "is still open"
							 : "was aborted");
	}
	return PHILOX_OK;
}

static enum philox_status check_lives(const struct capture *capture)
{
	enum philox_status status = PHILOX_OK;

	for (uint32_t i = 0; status == PHILOX_OK && i < capture->n_passes; i++)
		status = region_check_life(capture->passes[i].region,
					   capture->passes[i].life);
	return status;
}

enum philox_status capture_seal_begin(struct capture *capture)
{
	enum philox_status status = capture_check_sealing(capture);

	if (status == PHILOX_OK)
		status = bodies_check(capture);
	if (status == PHILOX_OK)
		status = check_ready(capture);
	if (status == PHILOX_OK)
		capture->sealing = 1;
	return status;
}

enum philox_status capture_seal_end(struct capture *capture,
				    enum philox_status status)
{
	capture->sealing = 0;
	note_ending(capture);
	if (status == PHILOX_OK)
		status = check_lives(capture);
	if (status == PHILOX_OK)
		status = head_seal(capture->graphs, &capture->head);
	return status == PHILOX_OK ? bodies_seal(capture) : status;
}

enum philox_status capture_is_over(const struct capture *capture)
{
	char regions[192];

	if (capture->graph || capture->dropped ||
	    lifeline_is_gone(capture->lifeline))
		return PHILOX_OK;
	report_regions(capture, regions, sizeof(regions));
	return status_set(PHILOX_ERROR_BUSY,
			  "capture %" PRIu64
			  " (regions: %s) is under way: make a "
			  "graph of it or drop it",
			  capture->id, regions);
}

enum philox_status capture_quiet(const struct capture *capture)
{
	enum philox_status status = capture_is_over(capture);

	return status == PHILOX_OK ? report_none(capture) : status;
}

/* --- lifeline: whether a native graph is still there ---------------------- */

struct lifeline {
	atomic_int references;
	atomic_int gone; /* the native graph and its execs are destroyed */
	struct lifelines *list; /* or NULL */
	struct lifeline *next;  /* in it, that went before */
	void *record;           /* NULL: it was put */
};

struct lifelines {
	atomic_size_t holders; /* its maker, and native graphs */
	_Atomic(struct lifeline *) gone; /* the newest of them */
};

static void drop_reference(struct lifeline *lifeline)
{
	if (atomic_fetch_sub(&lifeline->references, 1) == 1)
		free(lifeline);
}

void lifeline_put(struct lifeline *lifeline)
{
	lifeline->record = NULL;
	drop_reference(lifeline);
}

struct lifelines *lifelines_create(void)
{
	struct lifelines *list = calloc(1, sizeof(*list));

	if (list)
		atomic_init(&list->holders, 1);
	return list;
}

void lifelines_see(struct lifelines *list, void (*gone)(void *record))
{
	struct lifeline *lifeline = NULL, *next;

	if (atomic_load_explicit(&list->gone, memory_order_relaxed))
		lifeline = atomic_exchange(&list->gone, NULL);
	for (; lifeline; lifeline = next) {
		next = lifeline->next;
		if (lifeline->record)
			gone(lifeline->record);
		drop_reference(lifeline);
	}
}

/* The last holder is alone; nobody has a record any more. */
void lifelines_put(struct lifelines *list)
{
	if (!list || atomic_fetch_sub(&list->holders, 1) != 1)
		return;
	lifelines_see(list, NULL);
	free(list);
}

/* The list has the graph's reference from now on. */
static void list_gone(struct lifelines *list, struct lifeline *lifeline)
{
	lifeline->next = atomic_load(&list->gone);
	while (!atomic_compare_exchange_weak(&list->gone, &lifeline->next,
					     lifeline))
		;
	lifelines_put(list);
}

/* Runs when the native graph is gone, on any thread: calls no device. */
static void release_lifeline(void *object)
{
	struct lifeline *lifeline = object;
	struct lifelines *list = lifeline->list;

	atomic_store(&lifeline->gone, 1);
	if (list)
		list_gone(list, lifeline);
	else
		drop_reference(lifeline);
}

int lifeline_is_gone(const struct lifeline *lifeline)
{
	return atomic_load(&lifeline->gone);
}

enum philox_status lifeline_attach(struct philox_device *device,
				   philox_native_graph native,
				   struct lifelines *list, void *record,
				   struct lifeline **out)
{
	struct lifeline *lifeline = calloc(1, sizeof(*lifeline));
	enum philox_status status;

	if (!lifeline)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a capture");
	atomic_init(&lifeline->references, 2); /* ours and the graph's */
	lifeline->list = list;
	lifeline->record = record;
	if (list)
		atomic_fetch_add(&list->holders, 1);
	status =
		device_graph_retain(device, native, release_lifeline, lifeline);
	if (status == PHILOX_OK) {
		*out = lifeline;
	} else {
		lifelines_put(list);
		free(lifeline);
	}
	return status;
}
