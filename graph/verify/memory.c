/*
 * graph/verify/memory.c - what a graph changes, kept and copied
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include "graph/verify/verify.h"
#include "lib/containers/array.h"
#include "lib/rows/rows.h"

enum philox_status verify_take(struct verify *verify, philox_stream stream,
			       size_t bytes, size_t alignment, void **address)
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

enum philox_status verify_copy(const struct verify *verify,
			       philox_stream stream, void *to, const void *from,
			       size_t bytes)
{
	return philox_memory_copy(verify_device(verify), stream, to, from,
				  bytes);
}

/* Room behind the n items of an array; NULL: there is no memory, which is noted. */
static void *add_room(struct verify *verify, void *array, size_t n, size_t size)
{
	void *added = array_grow(array, n, 1, size);

	if (added)
		return added;
	verify->lacking = 1;
	status_set(PHILOX_ERROR_MEMORY, "'%s': no memory to verify it",
		   verify->graph->name);
	return NULL;
}

static enum philox_status take_kept(struct verify *verify, philox_stream stream,
				    const struct verify_memory *memory)
{
	struct verify_memory *made = add_room(verify, &verify->memory,
					      verify->n_memory, sizeof(*made));

	if (!made)
		return PHILOX_ERROR_MEMORY;
	*made = *memory;
	return verify_take(verify, stream, made->bytes, 0, &made->kept);
}

enum philox_status verify_keep_on(struct verify *verify, philox_stream stream,
				  const struct verify_memory *memory)
{
	enum philox_status status = take_kept(verify, stream, memory);

	if (status == PHILOX_OK)
		status = verify_copy(verify, stream,
				     verify->memory[verify->n_memory].kept,
				     memory->real, memory->bytes);
	if (status == PHILOX_OK)
		verify->n_memory++;
	return status;
}

static enum philox_status take_copy(struct verify *verify,
				    struct verify_memory *memory)
{
	void **made = &memory->copies[verify->turn];
	enum philox_status status;

	if (*made)
		return PHILOX_OK;
	status = verify_take(verify, verify->stream,
			     memory->bytes + memory->shift, memory->alignment,
			     made);
	if (status == PHILOX_OK)
		*made = (char *)*made + memory->shift;
	return status;
}

/* A copy for a run, with what was there before it. */
enum philox_status verify_make_copy(struct verify *verify,
				    struct verify_memory *memory)
{
	enum philox_status status = take_copy(verify, memory);

	if (status != PHILOX_OK)
		return status;
	return verify_copy(verify, verify->stream, memory->copies[verify->turn],
			   memory->kept, memory->bytes);
}

enum philox_status verify_reserve(struct verify *verify, void *real,
				  size_t bytes, size_t alignment)
{
	const struct verify_memory memory = {
		.real = real, .bytes = bytes, .alignment = alignment};
	enum philox_status status = take_kept(verify, verify->stream, &memory);

	if (status == PHILOX_OK)
		status = take_copy(verify, &verify->memory[verify->n_memory]);
	if (status == PHILOX_OK)
		verify->n_memory++;
	return status;
}

enum philox_status verify_keep_reserved(struct verify *verify, size_t i)
{
	struct verify_memory *memory = &verify->memory[i];
	enum philox_status status =
		verify_copy(verify, verify->stream, memory->kept, memory->real,
			    memory->bytes);

	return status == PHILOX_OK ? verify_make_copy(verify, memory) : status;
}

enum philox_status verify_keep(struct verify *verify, void *real, size_t bytes,
			       size_t alignment, size_t shift)
{
	const struct verify_memory memory = {.real = real,
					     .bytes = bytes,
					     .alignment = alignment,
					     .shift = shift};
	enum philox_status status =
		verify_keep_on(verify, verify->stream, &memory);

	if (status != PHILOX_OK)
		return status;
	return verify_make_copy(verify, &verify->memory[verify->n_memory - 1]);
}

enum philox_status verify_add(struct verify *verify,
			      const struct verify_item *item)
{
	struct verify_item *added = add_room(verify, &verify->items,
					     verify->n_items, sizeof(*added));

	if (!added)
		return PHILOX_ERROR_MEMORY;
	*added = *item;
	verify->n_items++;
	return PHILOX_OK;
}

enum philox_status verify_place(struct verify *verify, size_t i,
				const struct verify_item *item)
{
	if (!verify->turn)
		return verify_add(verify, item);
	verify->items[i].copies[1] = item->copies[0];
	return PHILOX_OK;
}

enum philox_status verify_paint(struct verify *verify, void *address,
				size_t bytes, enum philox_status status)
{
	if (status == PHILOX_OK)
		return philox_memory_set(verify_device(verify), verify->stream,
					 address, verify->fill, bytes);
	if (status == PHILOX_ERROR_MEMORY || status == PHILOX_ERROR_LIMIT)
		verify->lacking = 1;
	return status;
}

/* --- rows: tables of rows that an eager form draws from ------------------- */

/*
 * See Note [Verification] in graph/verify/verify.h.
 */

enum philox_status verify_rows_touch(struct trial *trial,
				     struct philox_rows *rows,
				     philox_stream stream)
{
	struct verify *verify = (struct verify *)trial;
	const struct verify_memory memory = {
		.real = rows->table.states,
		.bytes = rows->table.count * sizeof(struct philox_state),
		.rows = rows};

	/* tables come after all other memory */
	for (size_t i = verify->n_memory; i-- && verify->memory[i].rows;)
		if (verify->memory[i].rows == rows)
			return PHILOX_OK;
	return verify_keep_on(verify, stream, &memory);
}

/* What the run made of a table is kept, and the table is as it was. */
enum philox_status verify_rows_undo(struct verify *verify)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++) {
		struct verify_memory *memory = &verify->memory[i];

		if (!memory->rows)
			continue;
		if (!memory->copies[verify->turn])
			status = verify_take(verify, verify->stream,
					     memory->bytes, 0,
					     &memory->copies[verify->turn]);
		if (status == PHILOX_OK)
			status = verify_copy(verify, verify->stream,
					     memory->copies[verify->turn],
					     memory->real, memory->bytes);
		if (status == PHILOX_OK)
			status = verify_copy(verify, verify->stream,
					     memory->real, memory->kept,
					     memory->bytes);
	}
	return status;
}

/* All that is possible is done. */
enum philox_status verify_rows_set(struct verify *verify, int played)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; i < verify->n_memory; i++) {
		const struct verify_memory *memory = &verify->memory[i];
		const void *from = played ? memory->played : memory->kept;

		if (memory->rows && from)
			status = verify_first(
				status,
				verify_copy(verify, verify->stream,
					    memory->real, from, memory->bytes));
	}
	return status;
}

/* Tables that a run has drawn from are compared, too. */
enum philox_status verify_rows_add(struct verify *verify)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++) {
		const struct verify_memory *memory = &verify->memory[i];
		struct verify_item item = {
			.what = "the table of rows",
			.origin = "",
			.elements = PHILOX_ELEMENTS(PHILOX_DTYPE_U64),
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

/* Items of tables are told where their copies are; others have theirs. */
void verify_rows_place(struct verify *verify)
{
	for (size_t i = 0; i < verify->n_items; i++) {
		struct verify_item *item = &verify->items[i];

		if (item->rows)
			item->copies[1] =
				verify->memory[item->rows - 1].copies[1];
	}
}

/* --- compare: what is the same, bit for bit ------------------------------- */

/*
 * See Note [Verification] in graph/verify/verify.h.
 */

enum philox_status verify_wait(struct verify *verify)
{
	struct philox_device *device = verify_device(verify);
	struct status_message kept;
	enum philox_status status =
		philox_stream_synchronize(device, verify->stream);

	if (status == PHILOX_OK)
		return status;
	kept = status_kept();
	if (philox_stream_synchronize(device, verify->stream) != PHILOX_OK)
		verify->places = NULL;
	status_restore(&kept);
	return status;
}

enum philox_status verify_reserve_places(struct verify *verify, size_t items)
{
	const size_t size = sizeof(*verify->places);
	void *firsts;
	enum philox_status status;

	if (verify->places && items <= verify->item_places)
		return PHILOX_OK;
	if (!array_grow(&verify->places, 0, items + 2, size))
		return status_set(PHILOX_ERROR_MEMORY,
				  "'%s': no memory to verify it",
				  verify->graph->name);
	status = verify_take(verify, verify->stream, (items + 2) * size, 0,
			     &firsts);
	if (status != PHILOX_OK)
		return status;
	verify->firsts = firsts;
	verify->item_places = items;
	return PHILOX_OK;
}

static enum philox_status begin_places(struct verify *verify)
{
	enum philox_status status =
		verify_reserve_places(verify, verify->n_items);

	if (status != PHILOX_OK)
		return status;
	return philox_memory_set(
		verify_device(verify), verify->stream, verify->firsts, 0xff,
		(verify->n_items + 2) * sizeof(*verify->firsts));
}

static enum philox_status send_compare(const struct verify *verify,
				       struct compare_args *args)
{
	const struct kernel_call call = {.kernel = KERNEL_COMPARE,
					 .args = args,
					 .size = sizeof(*args),
					 .work = compare_work(args)};
	enum philox_status status = PHILOX_OK;

	if (args->count)
		status = device_launch(verify_device(verify), verify->stream,
				       &call);
	args->count = 0;
	return status;
}

/* Compares the first run with another, or with the launch. */
static enum philox_status queue_compare(const struct verify *verify, int again)
{
	struct compare_args args;
	enum philox_status status = PHILOX_OK;

	args.count = 0;
	for (size_t i = 0; status == PHILOX_OK && i < verify->n_items; i++) {
		const struct verify_item *item = &verify->items[i];
		const void *other = again ? item->copies[1] : item->real;

		if (!item->bytes || item->copies[0] == other)
			continue;
		compare_add(&args, item->copies[0], other, item->bytes,
			    &verify->firsts[i]);
		if (args.count == COMPARE_MAX)
			status = send_compare(verify, &args);
	}
	return status == PHILOX_OK ? send_compare(verify, &args) : status;
}

enum philox_status verify_compare(struct verify *verify, int again,
				  const struct verify_item **item,
				  uint64_t *place)
{
	enum philox_status status;

	*item = NULL;
	if (!verify->n_items)
		return verify_wait(verify);
	status = begin_places(verify);
	if (status == PHILOX_OK)
		status = queue_compare(verify, again);
	if (status == PHILOX_OK)
		status = verify_copy(verify, verify->stream, verify->places,
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
