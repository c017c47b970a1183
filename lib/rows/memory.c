/*
 * lib/rows/memory.c - the device memory of tables of rows, and set-up work
 *
 * Set-up work is done in relaxed mode on a stream of its own, since other
 * threads, or this one, may be capturing.
 */
#include "lib/rows/rows.h"

uint64_t rows_seed(const struct philox_rows *rows)
{
	return philox_fold(rows->generator->state.seed, PHILOX_FOLD_TABLE,
			   rows->key);
}

/* --- set-up work ---------------------------------------------------------- */

/*
 * Waits for a stream and destroys it; the first error is kept with its text.
 * Copies on it use memory that the caller frees: a wait that failed is
 * repeated, as destroying a stream need not wait.
 */
static enum philox_status finish_stream(struct philox_device *device,
					philox_stream stream,
					enum philox_status status)
{
	struct status_message kept = status_kept();
	const enum philox_status waited =
		philox_stream_synchronize(device, stream);

	status = status_first(status, &kept, waited);
	kept = status_kept();
	if (waited != PHILOX_OK)
		philox_stream_synchronize(device, stream);
	return status_first(status, &kept,
			    philox_stream_destroy(device, stream));
}

/* Does work(rows, argument) in relaxed mode on a stream and waits for it. */
static enum philox_status set_up(
	const struct philox_rows *rows,
	enum philox_status (*work)(const struct philox_rows *, philox_stream,
				   void *),
	void *argument)
{
	struct philox_device *device = rows->context->device;
	enum philox_capture_mode mode;
	enum philox_status status;
	philox_stream stream;

	status = device_relaxed_begin(device, &mode);
	if (status != PHILOX_OK)
		return status;
	status = philox_stream_create(device, 0, &stream);
	if (status == PHILOX_OK)
		status = finish_stream(device, stream,
				       work(rows, stream, argument));
	return device_relaxed_end(device, mode, status);
}

struct kernel_call rows_seeding(const struct philox_rows *rows,
				struct rows_seed_args *args)
{
	*args = (struct rows_seed_args){.states = rows->table.states,
					.count = rows->table.count,
					.seed = rows_seed(rows)};
	return (struct kernel_call){.kernel = KERNEL_rows_seed,
				    .args = args,
				    .size = sizeof(*args),
				    .work = args->count};
}

/* No turn has a launch's number: launches count from 1. */
static enum philox_status fill_memory(const struct philox_rows *rows,
				      philox_stream stream, void *control)
{
	struct philox_device *device = rows->context->device;
	struct rows_seed_args args;
	const struct kernel_call seeding = rows_seeding(rows, &args);
	enum philox_status status;

	status = philox_memory_copy(device, stream, rows->table.control,
				    control, sizeof(struct rows_control));
	if (status == PHILOX_OK)
		status = philox_memory_set(device, stream, rows->table.turns, 0,
					   rows->table.count *
						   sizeof(struct rows_turn));
	return status == PHILOX_OK ? device_launch(device, stream, &seeding)
				   : status;
}

static enum philox_status read_states(const struct philox_rows *rows,
				      philox_stream stream, void *states)
{
	return philox_memory_copy(
		rows->context->device, stream, states, rows->table.states,
		rows->table.count * sizeof(struct philox_state));
}

static enum philox_status write_states(const struct philox_rows *rows,
				       philox_stream stream, void *states)
{
	return philox_memory_copy(
		rows->context->device, stream, rows->table.states, states,
		rows->table.count * sizeof(struct philox_state));
}

enum philox_status rows_read(const struct philox_rows *rows,
			     struct philox_state *states)
{
	return set_up(rows, read_states, states);
}

enum philox_status rows_write(const struct philox_rows *rows,
			      const struct philox_state *states)
{
	return set_up(rows, write_states, (void *)states);
}

/* --- device memory -------------------------------------------------------- */

static size_t memory_size(uint64_t count)
{
	return sizeof(struct rows_control) +
	       count * (sizeof(struct philox_state) + sizeof(struct rows_turn));
}

static enum philox_status allocate_in_mode(struct philox_rows *rows,
					   void **mapped)
{
	struct philox_device *device = rows->context->device;
	void *notice;
	enum philox_status status;

	status = philox_memory_alloc(device, memory_size(rows->table.count),
				     &rows->memory);
	if (status != PHILOX_OK)
		return status;
	status = device_mapped_alloc(device, sizeof(*rows->notice), &notice,
				     mapped);
	if (status == PHILOX_OK)
		rows->notice = notice;
	return status;
}

static enum philox_status allocate_memory(struct philox_rows *rows,
					  void **mapped)
{
	struct philox_device *device = rows->context->device;
	enum philox_capture_mode mode;
	enum philox_status status;

	status = device_relaxed_begin(device, &mode);
	if (status != PHILOX_OK)
		return status;
	status = allocate_in_mode(rows, mapped);
	return device_relaxed_end(device, mode, status);
}

enum philox_status rows_memory_init(struct philox_rows *rows)
{
	struct rows_control control = {.launch = 1};
	void *mapped;
	enum philox_status status = allocate_memory(rows, &mapped);

	if (status != PHILOX_OK)
		return status;
	control.notice = mapped;
	rows->table.control = rows->memory;
	rows->table.states = (struct philox_state *)(rows->table.control + 1);
	rows->table.turns =
		(struct rows_turn *)(rows->table.states + rows->table.count);
	return set_up(rows, fill_memory, &control);
}

/* A failure to free the rest is not worth an error. */
enum philox_status rows_memory_free(struct philox_rows *rows)
{
	struct philox_device *device = rows->context->device;
	enum philox_status status = philox_memory_free(device, rows->memory);

	if (status == PHILOX_OK) {
		device_mapped_free(device, rows->notice);
		rows->memory = NULL;
		rows->notice = NULL;
	}
	return status;
}

/* --- notices -------------------------------------------------------------- */

/* Read again only if another launch has reported something since. */
struct rows_seen rows_read_notice(const struct rows_notice *notice)
{
	struct rows_seen read;
	const struct rows_totals *totals;

	do {
		read.launches =
			__atomic_load_n(&notice->count, __ATOMIC_ACQUIRE);
		totals = &notice->totals[read.launches % 2];
		read.outside =
			__atomic_load_n(&totals->outside, __ATOMIC_ACQUIRE);
		read.used_up =
			__atomic_load_n(&totals->used_up, __ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&notice->count, __ATOMIC_RELAXED) !=
		 read.launches);
	return read;
}
