/*
 * graph/capture/head.c - see Note [Head] in graph/capture/capture.h
 *
 * Guarded by the context's lock.
 */
#include <stdlib.h>
#include <string.h>
#include "graph/capture/capture.h"

/* Those of the open and the sealed control block, of bodies, and of loops. */
enum { REPORT_OF_BODIES = 2, REPORT_OF_LOOPS, HEAD_REPORTS };

_Static_assert(sizeof(((struct head *)NULL)->seen) ==
		       HEAD_REPORTS * sizeof(uint64_t),
	       "a count for each report");

/* Where a map begins after its control block; its numbers follow it. */
#define MAP_AT (sizeof(struct sealed_control))

struct sealed_control {
	_Alignas(ARENA_ALIGNMENT) struct head_control control;
};

static size_t size_with_map(uint64_t cells)
{
	return MAP_AT + head_map_size(cells);
}

static struct head_cell *staged_map(const struct head *head)
{
	return (struct head_cell *)((char *)head->staged.host + MAP_AT);
}

static struct head_control *open_control(const struct head *head)
{
	return head->open.host;
}

/* --- memory --------------------------------------------------------------- */

static enum philox_status allocate(struct graph_context *graphs,
				   struct head *head)
{
	enum philox_status status;

	status = arena_alloc(&graphs->mapped,
			     HEAD_REPORTS * sizeof(struct head_report),
			     &head->report);
	if (status == PHILOX_OK)
		status = arena_alloc(&graphs->mapped,
				     sizeof(struct head_control), &head->open);
	if (status == PHILOX_OK)
		status = head_reserve(graphs, head, 1);
	return status;
}

enum philox_status head_create(struct graph_context *graphs, struct head *head)
{
	enum philox_status status;

	memset(head, 0, sizeof(*head));
	head->device = graphs->context->device;
	status = allocate(graphs, head);
	if (status != PHILOX_OK) {
		head_destroy(graphs, head);
		return status;
	}
	memset(head->report.host, 0, HEAD_REPORTS * sizeof(struct head_report));
	*open_control(head) = (struct head_control){
		.report = head->report.device, .map = open_control(head)->map};
	return PHILOX_OK;
}

int head_is_idle(struct graph_context *graphs, struct head *head)
{
	struct philox_device *device = graphs->context->device;

	if (head->ran && !device_event_reached(device, head->ran))
		return 0;
	return head->copy == HEAD_COPYING
		       ? device_event_reached(device, head->copied)
		       : head->copy != HEAD_SENT;
}

void head_destroy(struct graph_context *graphs, struct head *head)
{
	if (head->copied)
		philox_event_destroy(graphs->context->device, head->copied);
	if (head->ran)
		philox_event_destroy(graphs->context->device, head->ran);
	arena_free(&graphs->cells, &head->sealed_more);
	arena_free(&graphs->mapped, &head->staged_more);
	arena_free(&graphs->cells, &head->sealed);
	arena_free(&graphs->mapped, &head->staged);
	arena_free(&graphs->mapped, &head->open);
	arena_free(&graphs->mapped, &head->report);
	memset(head, 0, sizeof(*head));
}

/* --- the map -------------------------------------------------------------- */

/* No head reads the map while it moves: its graph is still being captured. */
enum philox_status head_reserve(struct graph_context *graphs, struct head *head,
				uint64_t cells)
{
	uint64_t room = head->room ? head->room : 15;
	struct arena_block moved;
	enum philox_status status;

	if (head->staged.size && head->room - head->cells >= cells)
		return PHILOX_OK;
	while (room - head->cells < cells)
		room *= 2;
	status = arena_alloc(&graphs->mapped, size_with_map(room), &moved);
	if (status != PHILOX_OK)
		return status;
	if (head->staged.size)
		memcpy((char *)moved.host + MAP_AT, staged_map(head),
		       head->cells * sizeof(struct head_cell));
	arena_free(&graphs->mapped, &head->staged);
	head->staged = moved;
	head->room = room;
	open_control(head)->map =
		(struct head_cell *)((char *)moved.device + MAP_AT);
	return PHILOX_OK;
}

static void add_cell(struct head *head, struct head_cell cell)
{
	staged_map(head)[head->cells++] = cell;
	open_control(head)->cells = head->cells;
}

void head_add_region(struct head *head, const struct philox_region *region,
		     void *cells, uint32_t slot, uint64_t shift)
{
	struct philox_state *cell = cells;
	uint32_t shared = region->flags & PHILOX_REGION_SHARED;

	for (uint32_t op = 0; op < region->n_ops; op++) {
		const struct region_op *of = &region->ops[op];

		for (uint32_t call = 0; call < of->calls; call++)
			add_cell(
				head,
				(struct head_cell){
					.cell = cell++,
					.shift =
						shift +
						(shared ? of->shift +
								  call * of->advance
							: 0),
					.slot = slot,
					.plain = shared,
					.op = op,
					.call = call});
	}
}

void head_add_state(struct head *head, void *cell, uint32_t slot)
{
	add_cell(head,
		 (struct head_cell){.cell = cell, .slot = slot, .plain = 1});
}

/* --- sealing -------------------------------------------------------------- */

enum philox_status head_seal(struct graph_context *graphs, struct head *head)
{
	enum philox_status status;
	char *device;

	if (head->sealed.size)
		return PHILOX_OK;
	status = arena_alloc(&graphs->cells, size_with_map(head->cells),
			     &head->sealed);
	if (status != PHILOX_OK)
		return status;
	device = head->sealed.device;
	*(struct head_control *)head->staged.host = (struct head_control){
		.report = (struct head_report *)head->report.device + 1,
		.map = (struct head_cell *)(device + MAP_AT),
		.cells = head->cells};
	memset(staged_map(head) + head->cells, 0,
	       head_map_size(head->cells) -
		       head->cells * sizeof(struct head_cell));
	return PHILOX_OK;
}

enum philox_status head_seal_more(struct graph_context *graphs,
				  struct head *head, size_t size, char **host,
				  char **device)
{
	enum philox_status status = PHILOX_OK;

	if (!head->staged_more.size)
		status = arena_alloc(&graphs->mapped, size, &head->staged_more);
	if (status == PHILOX_OK && !head->sealed_more.size)
		status = arena_alloc(&graphs->cells, size, &head->sealed_more);
	if (status != PHILOX_OK)
		return status;
	*host = head->staged_more.host;
	*device = head->sealed_more.device;
	return PHILOX_OK;
}

/* --- heads that run ahead ------------------------------------------------- */

enum philox_status head_prepare_ahead(struct philox_device *device,
				      struct head *head)
{
	return head->ran ? PHILOX_OK : philox_event_create(device, &head->ran);
}

/* Until the sealed control block is sent, which it goes with. */
void head_run_ahead(struct head *head)
{
	struct head_control *sealed = head->staged.host;

	sealed->other = (uintptr_t)head->open.device;
}

enum philox_status head_launch_ahead(struct philox_device *device,
				     const struct head *head,
				     const struct head_message *message,
				     philox_stream stream)
{
	const struct kernel_call call = head_call(head, message);
	enum philox_status status =
		philox_event_wait(device, stream, head->ran);

	return status == PHILOX_OK ? device_launch(device, stream, &call)
				   : status;
}

/* Without an event that tells, nothing of the launch may be left. */
void head_ran_ahead(struct philox_device *device, const struct head *head,
		    philox_stream stream)
{
	const struct status_message kept = status_kept();

	if (philox_event_record(device, stream, head->ran) != PHILOX_OK)
		philox_stream_synchronize(device, stream);
	status_restore(&kept);
}

static enum philox_status send_more(struct philox_device *device,
				    struct head *head, philox_stream stream)
{
	enum philox_status status;

	if (!head->sealed_more.size || head->more_sent)
		return PHILOX_OK;
	status = philox_memory_copy(device, stream, head->sealed_more.device,
				    head->staged_more.host,
				    head->sealed_more.size);
	if (status != PHILOX_OK)
		return status;
	head->more_sent = 1;
	head->copy = HEAD_SENT; /* again, if the other copy came before */
	return PHILOX_OK;
}

enum philox_status head_send(struct philox_device *device, struct head *head,
			     philox_stream stream)
{
	enum philox_status status = PHILOX_OK;

	if (head->copy == HEAD_COPYING) {
		status = philox_event_wait(device, stream, head->copied);
	} else if (head->copy == HEAD_NOT_COPIED) {
		status = philox_memory_copy(device, stream, head->sealed.device,
					    head->staged.host,
					    size_with_map(head->cells));
		if (status == PHILOX_OK)
			head->copy = HEAD_SENT;
	}
	return status == PHILOX_OK ? send_more(device, head, stream) : status;
}

static enum philox_status record_copied(struct philox_device *device,
					struct head *head, philox_stream stream)
{
	enum philox_status status = PHILOX_OK;

	if (!head->copied)
		status = philox_event_create(device, &head->copied);
	if (status == PHILOX_OK)
		status = philox_event_record(device, stream, head->copied);
	return status;
}

/*
 * Launches of one executable graph run one after the other, so all wait for the
 * copy that the first waits for. If there was no first one, an event must tell;
 * and if none can be had, the copy may not be left behind: it would undo what
 * heads do later.
 */
static void await_copied(struct philox_device *device, struct head *head,
			 philox_stream stream)
{
	const struct status_message kept = status_kept();

	if (record_copied(device, head, stream) == PHILOX_OK)
		head->copy = HEAD_COPYING;
	else if (philox_stream_synchronize(device, stream) == PHILOX_OK)
		head->copy = HEAD_COPIED;
	status_restore(&kept);
}

void head_sent(struct philox_device *device, struct head *head,
	       philox_stream stream, enum philox_status launched)
{
	if (launched == PHILOX_OK)
		head->copy = HEAD_COPIED;
	else if (head->copy == HEAD_SENT)
		await_copied(device, head, stream);
}

/* --- reports -------------------------------------------------------------- */

/* What the head of a message of number 0 reports as the last one. */
void head_note_taken(const struct head *head, uint64_t sequence)
{
	__atomic_store_n(&open_control(head)->sequence, sequence,
			 __ATOMIC_RELAXED);
}

static struct head_report *report_at(const struct head *head, unsigned which)
{
	return (struct head_report *)head->report.host + which;
}

/* Another head's older count may still arrive, see Note [Head]. */
static uint64_t fresh_in(const struct head *head, unsigned which)
{
	uint64_t count = __atomic_load_n(&report_at(head, which)->count,
					 __ATOMIC_ACQUIRE);

	return count > head->seen[which] ? count - head->seen[which] : 0;
}

uint64_t head_untold(const struct head *head)
{
	return fresh_in(head, 0) + fresh_in(head, 1);
}

uint64_t head_beyond_untold(const struct head *head)
{
	return fresh_in(head, REPORT_OF_BODIES);
}

uint64_t head_cut_untold(const struct head *head)
{
	return fresh_in(head, REPORT_OF_LOOPS);
}

uint64_t head_unannounced(struct head *head, uint64_t *sequence)
{
	uint64_t last = 0, all = 0;

	for (unsigned which = 0; which < 2; which++) {
		uint64_t fresh = fresh_in(head, which), read;

		if (!fresh)
			continue;
		read = __atomic_load_n(&report_at(head, which)->sequence,
				       __ATOMIC_RELAXED);
		last = read > last ? read : last;
		head->seen[which] += fresh;
		all += fresh;
	}
	if (all)
		*sequence = last;
	return all;
}

struct head_report *head_body_report(const struct head *head)
{
	return (struct head_report *)head->report.device + REPORT_OF_BODIES;
}

static uint64_t take_numbered(struct head *head, unsigned which,
			      uint64_t *number)
{
	uint64_t fresh = fresh_in(head, which);

	if (fresh)
		*number = __atomic_load_n(&report_at(head, which)->sequence,
					  __ATOMIC_RELAXED);
	head->seen[which] += fresh;
	return fresh;
}

uint64_t head_beyond(struct head *head, uint64_t *number)
{
	return take_numbered(head, REPORT_OF_BODIES, number);
}

uint64_t head_cut(struct head *head, uint64_t *number)
{
	return take_numbered(head, REPORT_OF_LOOPS, number);
}

/* --- messages ------------------------------------------------------------- */

enum philox_status head_message_init(struct head_message *message,
				     const struct head *head, uint64_t slots)
{
	const struct philox_device *device = head->device;
	uint32_t capacity = head_capacity(slots);

	if (!capacity || capacity > device->head_max)
		return status_set(PHILOX_ERROR_LIMIT,
				  "a graph holds at most %u passes with their "
				  "own states%s%s",
				  device->head_max,
				  *device->head_why ? ": " : "",
				  device->head_why);
	message->args = calloc(1, head_args_size(capacity));
	if (!message->args)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a message of %u states",
				  capacity);
	message->capacity = capacity;
	head_message_number(message, head, 0);
	return PHILOX_OK;
}

void head_message_finish(struct head_message *message)
{
	free(message->args);
	message->args = NULL;
}

void head_message_number(struct head_message *message, const struct head *head,
			 uint64_t sequence)
{
	message->args->control =
		sequence ? head->sealed.device : head->open.device;
	message->args->sequence = sequence;
}

struct kernel_call head_call(const struct head *head,
			     const struct head_message *message)
{
	return (struct kernel_call){.kernel = KERNEL_HEAD,
				    .args = message->args,
				    .size = head_args_size(message->capacity),
				    .work = head->cells};
}

/* --- slots: places in the message of a capture's head -------------------- */

/* Gives the head's node a message with room for one more slot. */
static enum philox_status reserve_slot(struct capture *capture)
{
	struct head_message message;
	struct kernel_call call;
	enum philox_status status;

	if (capture->message_slots < capture->node_capacity)
		return PHILOX_OK;
	status = head_message_init(&message, &capture->head,
				   capture->message_slots + 1);
	if (status != PHILOX_OK)
		return status;
	call = head_call(&capture->head, &message);
	status = depend_set(capture_device(capture), &capture->first, &call);
	if (status == PHILOX_OK)
		capture->node_capacity = message.capacity;
	head_message_finish(&message);
	return status;
}

enum philox_status slots_take_cells(struct capture *capture, uint32_t cells,
				    struct arena_block *block)
{
	enum philox_status status =
		head_reserve(capture->graphs, &capture->head, cells);

	if (status != PHILOX_OK)
		return status;
	return arena_alloc(&capture->graphs->cells,
			   cells * sizeof(struct philox_state), block);
}

enum philox_status slots_take(struct capture *capture, uint32_t cells,
			      struct arena_block *block, uint32_t *slot)
{
	enum philox_status status = reserve_slot(capture);

	*slot = capture->message_slots;
	return status == PHILOX_OK ? slots_take_cells(capture, cells, block)
				   : status;
}
