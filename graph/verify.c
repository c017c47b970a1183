/*
 * graph/verify.c - a launch, compared with the eager form of its graph
 *
 * See Note [Verification] in graph/verify.h.
 */
#include <stdlib.h>
#include <string.h>
#include "graph/verify.h"
#include "lib/rows/rows.h"

#define FILL       0xbb
#define FILL_OTHER 0x44
#define AGAIN      3 /* runs that tell whether it is deterministic */

static struct philox_device *device_of(const struct philox_verify *verify)
{
	return verify->graph->context->device;
}

/* --- memory ---------------------------------------------------------------- */

static enum philox_status take(struct philox_verify *verify,
			       philox_stream stream, size_t bytes,
			       size_t alignment, void **address)
{
	struct philox_pool_block block;
	enum philox_status status = philox_pool_alloc(
		verify->pool, stream, bytes, alignment, "verified", &block);

	if (status == PHILOX_OK)
		*address = block.address;
	else
		verify->lacking = 1;
	return status;
}

static enum philox_status copy(const struct philox_verify *verify,
			       philox_stream stream, void *to, const void *from,
			       size_t bytes)
{
	return philox_memory_copy(device_of(verify), to, from, bytes, stream);
}

static enum philox_status grow(struct philox_verify *verify, void *items,
			       size_t *room, size_t n, size_t size)
{
	void **array = items, *grown;

	if (n < *room)
		return PHILOX_OK;
	grown = realloc(*array, (2 * n + 8) * size);
	if (!grown) {
		verify->lacking = 1;
		return status_set(PHILOX_ERROR_MEMORY,
				  "'%s': no memory to verify it",
				  verify->graph->name);
	}
	*array = grown;
	*room = 2 * n + 8;
	return PHILOX_OK;
}

static enum philox_status keep(struct philox_verify *verify,
			       philox_stream stream,
			       const struct verify_memory *memory)
{
	struct verify_memory *made;
	enum philox_status status =
		grow(verify, &verify->memory, &verify->memory_room,
		     verify->n_memory, sizeof(*verify->memory));

	if (status != PHILOX_OK)
		return status;
	made = &verify->memory[verify->n_memory];
	*made = *memory;
	status = take(verify, stream, made->bytes, 0, &made->kept);
	if (status == PHILOX_OK)
		status = copy(verify, stream, made->kept, made->real,
			      made->bytes);
	if (status == PHILOX_OK)
		verify->n_memory++;
	return status;
}

/* A copy for a run, with what was there before it. */
static enum philox_status make_copy(struct philox_verify *verify,
				    struct verify_memory *memory)
{
	void **made = &memory->copies[verify->turn];
	enum philox_status status = PHILOX_OK;

	if (!*made) {
		status = take(verify, verify->stream,
			      memory->bytes + memory->shift, memory->alignment,
			      made);
		if (status != PHILOX_OK)
			return status;
		*made = (char *)*made + memory->shift;
	}
	return copy(verify, verify->stream, *made, memory->kept, memory->bytes);
}

enum philox_status verify_keep(struct philox_verify *verify, void *real,
			       size_t bytes, size_t alignment, size_t shift)
{
	const struct verify_memory memory = {.real = real,
					     .bytes = bytes,
					     .alignment = alignment,
					     .shift = shift};
	enum philox_status status = keep(verify, verify->stream, &memory);

	if (status != PHILOX_OK)
		return status;
	return make_copy(verify, &verify->memory[verify->n_memory - 1]);
}

enum philox_status verify_add(struct philox_verify *verify,
			      const struct verify_item *item)
{
	enum philox_status status =
		grow(verify, &verify->items, &verify->item_room,
		     verify->n_items, sizeof(*verify->items));

	if (status == PHILOX_OK)
		verify->items[verify->n_items++] = *item;
	return status;
}

enum philox_status verify_paint(struct philox_verify *verify, void *address,
				size_t bytes, enum philox_status status)
{
	if (status == PHILOX_OK)
		return philox_memory_set(device_of(verify), address,
					 verify->fill, bytes, verify->stream);
	if (status == PHILOX_ERROR_MEMORY || status == PHILOX_ERROR_LIMIT)
		verify->lacking = 1;
	return status;
}

/* --- tables of rows ---------------------------------------------------------- */

static enum philox_status touch(struct trial *trial, struct philox_rows *rows,
				philox_stream stream)
{
	struct philox_verify *verify = (struct philox_verify *)trial;
	const struct verify_memory memory = {
		.real = rows->table.states,
		.bytes = rows->table.count * sizeof(struct philox_state),
		.rows = rows};

	for (size_t i = 0; i < verify->n_memory; i++)
		if (verify->memory[i].rows == rows)
			return PHILOX_OK;
	return keep(verify, stream, &memory);
}

/* What the run made of a table is kept, and the table is as it was. */
static enum philox_status undo_rows(struct philox_verify *verify)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++) {
		struct verify_memory *memory = &verify->memory[i];

		if (!memory->rows)
			continue;
		if (!memory->copies[verify->turn])
			status = take(verify, verify->stream, memory->bytes, 0,
				      &memory->copies[verify->turn]);
		if (status == PHILOX_OK)
			status = copy(verify, verify->stream,
				      memory->copies[verify->turn],
				      memory->real, memory->bytes);
		if (status == PHILOX_OK)
			status = copy(verify, verify->stream, memory->real,
				      memory->kept, memory->bytes);
	}
	return status;
}

/* The first error stays, however many there are. */
static enum philox_status first_error(enum philox_status status,
				      enum philox_status then)
{
	return status == PHILOX_OK ? then : status;
}

/* All that is possible is done. */
static enum philox_status set_rows(struct philox_verify *verify, int played)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; i < verify->n_memory; i++) {
		const struct verify_memory *memory = &verify->memory[i];
		const void *from = played ? memory->played : memory->kept;

		if (memory->rows && from)
			status =
				first_error(status, copy(verify, verify->stream,
							 memory->real, from,
							 memory->bytes));
	}
	return status;
}

/* Tables that a run has drawn from are compared, too. */
static enum philox_status add_rows(struct philox_verify *verify)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++) {
		const struct verify_memory *memory = &verify->memory[i];
		struct verify_item item = {.what = "the table of rows",
					   .origin = "",
					   .elements =
						   PHILOX_ELEMENTS(PHILOX_U64),
					   .bytes = memory->bytes,
					   .real = memory->real,
					   .copies = {memory->copies[0], NULL},
					   .rows = i + 1};

		if (!memory->rows)
			continue;
		item.name = memory->rows->name;
		status = verify_add(verify, &item);
	}
	return status;
}

/* --- runs -------------------------------------------------------------------- */

static enum philox_status run(struct philox_verify *verify)
{
	struct status_message kept;
	enum philox_status status;

	trial_begin(&verify->trial);
	status = verify->run(verify);
	if (verify->trial.refused != PHILOX_OK) {
		verify->lacking = 1;
		status = status_set(verify->trial.refused,
				    "it seeds a generator, which cannot be "
				    "undone");
	}
	trial_end(&verify->trial);
	if (status == PHILOX_OK)
		status = undo_rows(verify);
	if (status == PHILOX_OK)
		return status;
	status_keep(&kept);
	set_rows(verify, 0);
	status_restore(&kept);
	return status;
}

enum philox_status verify_try(struct philox_verify *verify)
{
	enum philox_status status = run(verify);

	return status == PHILOX_OK ? add_rows(verify) : status;
}

/* --- comparing ------------------------------------------------------------------ */

enum philox_status verify_wait(struct philox_verify *verify)
{
	struct philox_device *device = device_of(verify);
	struct status_message kept;
	enum philox_status status =
		philox_stream_synchronize(device, verify->stream);

	if (status == PHILOX_OK)
		return status;
	status_keep(&kept);
	if (philox_stream_synchronize(device, verify->stream) != PHILOX_OK)
		verify->places = NULL;
	status_restore(&kept);
	return status;
}

static enum philox_status reserve_places(struct philox_verify *verify)
{
	const size_t size = (verify->n_items + 2) * sizeof(*verify->places);
	void *firsts = NULL;
	enum philox_status status = PHILOX_OK;

	if (!verify->places)
		verify->places = malloc(size);
	if (!verify->places)
		return status_set(PHILOX_ERROR_MEMORY,
				  "'%s': no memory to verify it",
				  verify->graph->name);
	if (!verify->firsts)
		status = take(verify, verify->stream, size, 0, &firsts);
	if (firsts)
		verify->firsts = firsts;
	if (status == PHILOX_OK)
		status = philox_memory_set(device_of(verify), verify->firsts,
					   0xff, size, verify->stream);
	return status;
}

static enum philox_status send(const struct philox_verify *verify,
			       struct compare_args *args, uint64_t *work)
{
	const struct kernel_call call = {.kernel = KERNEL_COMPARE,
					 .args = args,
					 .size = sizeof(*args),
					 .work = *work};
	enum philox_status status = PHILOX_OK;

	if (args->count)
		status =
			device_launch(device_of(verify), verify->stream, &call);
	args->count = 0;
	*work = 0;
	return status;
}

/* Compares the first run with another, or with the launch. */
static enum philox_status queue_compare(const struct philox_verify *verify,
					int again)
{
	struct compare_args args;
	uint64_t work = 0;
	enum philox_status status = PHILOX_OK;

	args.count = 0;
	for (size_t i = 0; status == PHILOX_OK && i < verify->n_items; i++) {
		const struct verify_item *item = &verify->items[i];
		const void *other = again ? item->copies[1] : item->real;
		const uint64_t units = item->bytes / 16 + 1;

		if (!item->bytes || item->copies[0] == other)
			continue;
		args.items[args.count++] =
			(struct compare_item){item->copies[0], other,
					      item->bytes, &verify->firsts[i]};
		if (units > work)
			work = units;
		if (args.count == COMPARE_MAX)
			status = send(verify, &args, &work);
	}
	return status == PHILOX_OK ? send(verify, &args, &work) : status;
}

static enum philox_status compare(struct philox_verify *verify, int again,
				  const struct verify_item **item,
				  uint64_t *place)
{
	enum philox_status status;

	*item = NULL;
	if (!verify->n_items)
		return verify_wait(verify);
	status = reserve_places(verify);
	if (status == PHILOX_OK)
		status = queue_compare(verify, again);
	if (status == PHILOX_OK)
		status = copy(verify, verify->stream, verify->places,
			      verify->firsts,
			      verify->n_items * sizeof(*verify->places));
	if (status == PHILOX_OK)
		status = verify_wait(verify);
	for (size_t i = 0; status == PHILOX_OK && i < verify->n_items; i++)
		if (verify->places[i] != UINT64_MAX) {
			*item = &verify->items[i];
			*place = verify->places[i];
			break;
		}
	return status;
}

enum philox_status verify_compare(struct philox_verify *verify,
				  const struct verify_item **item,
				  uint64_t *place)
{
	return compare(verify, 0, item, place);
}

/* --- why ----------------------------------------------------------------------------- */

/* Items of tables are told where their copies are; others have theirs. */
static void place_rows(struct philox_verify *verify)
{
	for (size_t i = 0; i < verify->n_items; i++) {
		struct verify_item *item = &verify->items[i];

		if (item->rows)
			item->copies[1] =
				verify->memory[item->rows - 1].copies[1];
	}
}

static enum philox_status run_again(struct philox_verify *verify,
				    unsigned char fill, int *same)
{
	enum philox_status status = set_rows(verify, 0);
	const struct verify_item *item = NULL;
	uint64_t place;

	verify->turn = 1;
	verify->fill = fill;
	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++)
		if (!verify->memory[i].rows)
			status = make_copy(verify, &verify->memory[i]);
	if (status == PHILOX_OK)
		status = run(verify);
	if (status != PHILOX_OK)
		return status;
	place_rows(verify);
	status = compare(verify, 1, &item, &place);
	*same = !item;
	return status;
}

static enum philox_status find_out(struct philox_verify *verify,
				   enum verify_why *why)
{
	enum philox_status status = PHILOX_OK;
	int same = 1, all = 1;

	for (int i = 0;
	     status == PHILOX_OK && i < AGAIN && (all || verify->collective);
	     i++) {
		status = run_again(verify, FILL, &same);
		all &= same;
	}
	if (status == PHILOX_OK && (all || verify->collective))
		status = run_again(verify, FILL_OTHER, &same);
	if (status != PHILOX_OK)
		return status;
	*why = VERIFY_RANDOM;
	if (all)
		*why = same ? VERIFY_FROZEN : VERIFY_UNWRITTEN;
	return PHILOX_OK;
}

enum philox_status verify_explain(struct philox_verify *verify,
				  enum verify_why *why)
{
	enum philox_status status = PHILOX_OK;
	struct status_message kept;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++) {
		struct verify_memory *memory = &verify->memory[i];

		if (memory->rows)
			status = take(verify, verify->stream, memory->bytes, 0,
				      &memory->played);
		if (status == PHILOX_OK && memory->rows)
			status = copy(verify, verify->stream, memory->played,
				      memory->real, memory->bytes);
	}
	if (status == PHILOX_OK)
		status = find_out(verify, why);
	status_keep(&kept);
	if (set_rows(verify, 1) != PHILOX_OK && status == PHILOX_OK)
		return PHILOX_ERROR_DEVICE;
	status_restore(&kept);
	return status;
}

/* --- what is to be, then ---------------------------------------------------------------- */

enum philox_status verify_put_back(struct philox_verify *verify)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; i < verify->n_memory; i++) {
		const struct verify_memory *memory = &verify->memory[i];

		status = first_error(status,
				     copy(verify, verify->stream, memory->real,
					  memory->kept, memory->bytes));
	}
	return status;
}

enum philox_status verify_give(struct philox_verify *verify)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_items; i++) {
		const struct verify_item *item = &verify->items[i];

		if (item->bytes && item->real != item->copies[0])
			status = copy(verify, verify->stream, item->real,
				      item->copies[0], item->bytes);
	}
	return status;
}

/* --- beginning and end -------------------------------------------------------------------- */

static enum philox_status list_reads(struct philox_verify *verify)
{
	const struct philox_graph *graph = verify->graph;
	const struct capture *capture = graph->capture;

	if (!capture)
		return PHILOX_OK;
	verify->reads = calloc(capture->n_reads + 1, sizeof(*verify->reads));
	if (!verify->reads)
		return status_set(PHILOX_ERROR_MEMORY,
				  "'%s': no memory to verify it", graph->name);
	for (uint32_t i = 0; i < capture->n_reads; i++)
		verify->reads[i] =
			&graph->message.args->states[capture->reads[i].slot];
	verify->trial.reads = verify->reads;
	verify->trial.n_reads = capture->n_reads;
	return PHILOX_OK;
}

enum philox_status verify_open(struct philox_verify *verify)
{
	enum philox_status status;

	verify->fill = FILL;
	verify->trial.context = verify->graph->context;
	verify->trial.stream = verify->stream;
	verify->trial.touch = touch;
	status = list_reads(verify);
	if (status == PHILOX_OK)
		status = philox_pool_begin(verify->pool, verify->stream,
					   &verify->session);
	if (status == PHILOX_ERROR_MEMORY)
		verify->lacking = 1;
	return status;
}

struct philox_pool_session *verify_close(struct philox_verify *verify)
{
	struct philox_pool_session *session = verify->session;
	struct status_message kept;

	status_keep(&kept);
	for (int i = 0; session && i < 3; i++)
		if (philox_pool_end(session, PHILOX_ERROR_STATE, NULL) ==
		    PHILOX_OK)
			session = NULL;
	status_restore(&kept);
	free(verify->memory);
	free(verify->items);
	free(verify->places);
	free(verify->reads);
	return session;
}

/* --- passes ------------------------------------------------------------------------------------ */

enum philox_status verify_begin_pass(struct philox_verify *verify,
				     struct philox_region *region,
				     uint32_t index, int backward,
				     unsigned flags, struct philox_pass *pass)
{
	const struct philox_graph *graph = verify->graph;
	const struct capture *capture = graph->capture;
	const struct captured_pass *captured;

	if (!capture || index >= capture->n_passes)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': '%s' has %u pass%s, and its "
				  "eager form begins more",
				  region->name, graph->name, graph->n_uses,
				  status_es(graph->n_uses));
	captured = &capture->passes[index];
	if (captured->region != region || captured->backward != backward)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': pass %u of '%s' is a %s of "
				  "region '%s'",
				  region->name, index, graph->name,
				  captured->backward ? "backward" : "forward",
				  captured->region->name);
	while (capture_is_linked(captured)) /* the slot is that one's */
		captured = &capture->passes[captured->source];
	return pass_begin_given(region, verify->stream, backward, flags,
				graph->message.args->states[captured->slot],
				pass);
}
