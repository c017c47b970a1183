/*
 * lib/device/host/marks.c - memory that is marked as free
 *
 * Only strict devices have marks. A change is seen by work that is queued, or
 * recorded, after it: what is queued already came before. Guarded by the
 * device's lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include "lib/device/host/host.h"

/* --- notes: why it is free ------------------------------------------------- */

static void add_note(struct host_device *device, struct range range,
		     const char *why)
{
	struct host_note *note;

	if (!device->notes)
		device->notes = calloc(HOST_NOTES, sizeof(*device->notes));
	if (!device->notes)
		return;
	note = &device->notes[device->noted++ % HOST_NOTES];
	note->range = range;
	snprintf(note->why, sizeof(note->why), "%s", why);
}

/* The latest one of an address tells how it became free. */
static const char *find_note(const struct host_device *device,
			     uintptr_t address)
{
	for (size_t i = 1; device->notes && i <= HOST_NOTES; i++) {
		const struct host_note *note =
			&device->notes[(device->noted - i) % HOST_NOTES];

		if (note->range.begin <= address && address < note->range.end)
			return note->why;
	}
	return "it is free memory of a pool";
}

/* --- marks ------------------------------------------------------------------ */

/* What was free before stays so for the reason that it had. */
static void mark_free(struct host_device *device, struct range range,
		      const char *why)
{
	struct range left = range, gap;

	for (;;) {
		gap = ranges_gap(&device->free, left);
		if (range_is_empty(gap))
			break;
		add_note(device, gap, why);
		left.begin = gap.end;
	}
	ranges_add(&device->free, range); /* without memory it is not known */
}

void host_mem_mark(struct philox_device *base, struct range range,
		   const char *why)
{
	struct host_device *device = host_of(base);

	host_lock(device);
	if (why)
		mark_free(device, range, why);
	else
		ranges_remove(&device->free, range);
	host_unlock(device);
}

void host_marks_drop(struct host_device *device, struct range range)
{
	if (device->free.n)
		ranges_remove(&device->free, range);
}

void host_marks_close(struct host_device *device)
{
	ranges_finish(&device->free);
	free(device->notes);
}

/* --- refusals --------------------------------------------------------------- */

static enum philox_status refuse_marked(const struct host_device *device,
					const struct host_array *array,
					uintptr_t address)
{
	const size_t offset = address - (uintptr_t)array->of.at;
	char from[48] = "";

	if (offset)
		snprintf(from, sizeof(from), "from byte %zu on ", offset);
	return status_set(PHILOX_ERROR_INVALID,
			  "%s: %zu byte%s %s %s at %p, but %s%s",
			  array->of.name, array->of.size,
			  status_s(array->of.size), status_is(array->of.size),
			  array->of.written ? "written" : "read",
			  (void *)(uintptr_t)array->of.at, from,
			  find_note(device, address));
}

static enum philox_status check_marks(const struct host_device *device,
				      const struct host_array *array)
{
	const uintptr_t at = (uintptr_t)array->of.at;
	struct range left = {at, at + array->of.size}, met, named;

	for (;;) {
		met = ranges_meet(&device->free, left);
		if (range_is_empty(met))
			return PHILOX_OK;
		named = device_free_used(met, array->of.written);
		if (range_is_empty(named))
			return refuse_marked(device, array, met.begin);
		left.begin = named.end;
	}
}

enum philox_status host_marks_check(struct host_device *device,
				    const struct host_work *work)
{
	enum philox_status status = PHILOX_OK;

	if (!work->args || !device->free.n)
		return PHILOX_OK;
	for (uint32_t i = 0; status == PHILOX_OK && i < work->args->n_arrays;
	     i++)
		status = check_marks(device, &work->args->arrays[i]);
	return status;
}
