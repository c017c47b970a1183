/*
 * graph/verify/verify_compare.c - what is the same, bit for bit
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include <stdlib.h>
#include "graph/verify/internal.h"

enum philox_status verify_wait(struct philox_verify *verify)
{
	struct philox_device *device = verify_device(verify);
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

enum philox_status verify_reserve_places(struct philox_verify *verify,
					 size_t items)
{
	const size_t size = (items + 2) * sizeof(*verify->places);
	void *firsts, *places;
	enum philox_status status;

	if (verify->places && items <= verify->item_places)
		return PHILOX_OK;
	places = realloc(verify->places, size);
	if (!places)
		return status_set(PHILOX_ERROR_MEMORY,
				  "'%s': no memory to verify it",
				  verify->graph->name);
	verify->places = places;
	status = verify_take(verify, verify->stream, size, 0, &firsts);
	if (status != PHILOX_OK)
		return status;
	verify->firsts = firsts;
	verify->item_places = items;
	return PHILOX_OK;
}

static enum philox_status begin_places(struct philox_verify *verify)
{
	enum philox_status status =
		verify_reserve_places(verify, verify->n_items);

	if (status != PHILOX_OK)
		return status;
	return philox_memory_set(verify_device(verify), verify->firsts, 0xff,
				 (verify->n_items + 2) *
					 sizeof(*verify->firsts),
				 verify->stream);
}

static enum philox_status send_compare(const struct philox_verify *verify,
				       struct compare_args *args,
				       uint64_t *work)
{
	const struct kernel_call call = {.kernel = KERNEL_COMPARE,
					 .args = args,
					 .size = sizeof(*args),
					 .work = *work};
	enum philox_status status = PHILOX_OK;

	if (args->count)
		status = device_launch(verify_device(verify), verify->stream,
				       &call);
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
			status = send_compare(verify, &args, &work);
	}
	return status == PHILOX_OK ? send_compare(verify, &args, &work)
				   : status;
}

enum philox_status verify_compare_with(struct philox_verify *verify, int again,
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

enum philox_status verify_compare(struct philox_verify *verify,
				  const struct verify_item **item,
				  uint64_t *place)
{
	return verify_compare_with(verify, 0, item, place);
}
