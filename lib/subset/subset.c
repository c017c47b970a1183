/*
 * lib/subset/subset.c - subsets by weight: checked, and put on a stream
 */
#include <inttypes.h>
#include <string.h>
#include "lib/base/base.h"
#include "lib/device/device.h"
#include "lib/dist/dist.h"
#include "lib/fill/fill.h"
#include "lib/subset/elements.h"
#include "lib/subset/subset.h"

#define SUBSET_SIZE_FIRST OPTIONS_FIRST(struct philox_subset_desc, scratch)
OPTIONS_NO_PADDING(struct philox_subset_desc, scratch);

#define ITEMS_MAX 0x7fffffffu

static enum philox_status take(const struct philox_subset_desc *given,
			       struct philox_subset_desc *subset)
{
	if (!given)
		return status_set(PHILOX_ERROR_INVALID, "subset is NULL");
	return options_copy("subset", given, given->size, SUBSET_SIZE_FIRST,
			    sizeof(*subset), subset);
}

/* --- checks --------------------------------------------------------------- */

static enum philox_status check_items(const struct philox_subset_desc *subset)
{
	if (subset->items - 1 < ITEMS_MAX)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "subset: items is %" PRIu32 ", not 1 .. 2^31 - 1",
			  subset->items);
}

static enum philox_status check_numbers(const struct philox_subset_desc *subset)
{
	if (subset->wanted - 1 >= subset->items)
		return status_set(PHILOX_ERROR_INVALID,
				  "subset: wanted is %" PRIu32
				  ", not 1 .. %" PRIu32 " items",
				  subset->wanted, subset->items);
	if (subset->dtype != PHILOX_DTYPE_F32 &&
	    subset->dtype != PHILOX_DTYPE_BF16 &&
	    subset->dtype != PHILOX_DTYPE_F16)
		return status_set(PHILOX_ERROR_INVALID,
				  "subset: dtype is %" PRIu32
				  ", not f32, bf16 or f16",
				  subset->dtype);
	if (subset->is_log > 1)
		return status_set(PHILOX_ERROR_INVALID,
				  "subset: is_log is %" PRIu32 ", not 0 or 1",
				  subset->is_log);
	return PHILOX_OK;
}

/* keys and count may be NULL, which is aligned. */
static enum philox_status check_pointers(
	const struct philox_subset_desc *subset)
{
	const struct {
		const char *name;
		const void *at;
		enum philox_dtype dtype;
		int is_optional;
	} all[] = {{"weights", subset->weights,
		    (enum philox_dtype)subset->dtype, 0},
		   {"chosen", subset->chosen, PHILOX_DTYPE_I32, 0},
		   {"keys", subset->keys, PHILOX_DTYPE_U64, 1},
		   {"count", subset->count, PHILOX_DTYPE_U32, 1},
		   {"scratch", subset->scratch, PHILOX_DTYPE_U64, 0}};
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0;
	     status == PHILOX_OK && i < sizeof(all) / sizeof(*all); i++)
		if (all[i].at || !all[i].is_optional)
			status = fill_check_array("subset", all[i].name,
						  all[i].at, all[i].dtype);
	return status;
}

static uint64_t scratch_size(uint32_t items)
{
	return sizeof(struct subset_work) +
	       sizeof(uint32_t) * (subset_chunks(items) + (uint64_t)1);
}

/* The arrays of a subset, those that are written first. */
static void list_arrays(const struct subset_args *args,
			struct kernel_arrays *arrays)
{
	const uint64_t wanted = args->wanted;

	kernel_no_arrays(arrays);
	kernel_writes(arrays, "subset: chosen", args->chosen,
		      sizeof(*args->chosen) * wanted);
	kernel_writes(arrays, "subset: keys", args->keys,
		      sizeof(*args->keys) * wanted);
	kernel_writes(arrays, "subset: count", args->count,
		      sizeof(*args->count));
	kernel_writes(arrays, "subset: scratch", args->work,
		      scratch_size(args->items));
	kernel_reads(arrays, "subset: weights", args->weights,
		     fill_dtype_size((enum philox_dtype)args->dtype) *
			     (uint64_t)args->items);
	kernel_reads(arrays, "subset: rng.cell", args->rng.cell,
		     sizeof(struct philox_state));
}

static struct subset_args make_args(struct philox_rng rng,
				    const struct philox_subset_desc *subset)
{
	return (struct subset_args){.rng = rng,
				    .weights = subset->weights,
				    .chosen = subset->chosen,
				    .keys = subset->keys,
				    .count = subset->count,
				    .work = subset->scratch,
				    .dtype = subset->dtype,
				    .is_log = subset->is_log,
				    .items = subset->items,
				    .wanted = subset->wanted};
}

enum philox_status subset_prepare(struct philox_rng rng,
				  const struct philox_subset_desc *given,
				  struct subset_args *args)
{
	struct kernel_arrays arrays;
	struct philox_subset_desc subset;
	enum philox_status status = take(given, &subset);

	if (status == PHILOX_OK)
		status = check_items(&subset);
	if (status == PHILOX_OK)
		status = check_numbers(&subset);
	if (status == PHILOX_OK)
		status = fill_check_rng("subset", &rng);
	if (status == PHILOX_OK)
		status = check_pointers(&subset);
	if (status != PHILOX_OK)
		return status;
	*args = make_args(rng, &subset);
	list_arrays(args, &arrays);
	return fill_check_overlap(arrays.items, arrays.count);
}

/* --- on a stream ---------------------------------------------------------- */

static const enum kernel steps[] = {
	KERNEL_subset_begin, KERNEL_subset_count, KERNEL_subset_count,
	KERNEL_subset_count, KERNEL_subset_count, KERNEL_subset_count,
	KERNEL_subset_count, KERNEL_subset_place, KERNEL_subset_write};

static uint64_t work_of(enum kernel kernel, const struct subset_args *args)
{
	if (kernel == KERNEL_subset_begin)
		return 1;
	if (kernel == KERNEL_subset_count)
		return subset_quads(args);
	return (uint64_t)subset_chunks(args->items) * 256; /* a block each */
}

enum philox_status subset_put(struct philox_device *device,
			      philox_stream stream,
			      const struct subset_args *args)
{
	enum philox_status status = PHILOX_OK;
	struct kernel_arrays arrays;

	/* each kernel has them all, so that the first is refused, or none */
	list_arrays(args, &arrays);
	for (size_t i = 0;
	     status == PHILOX_OK && i < sizeof(steps) / sizeof(*steps); i++)
		status = device_launch(
			device, stream,
			&(struct kernel_call){.kernel = steps[i],
					      .args = args,
					      .size = sizeof(*args),
					      .work = work_of(steps[i], args),
					      .arrays = &arrays});
	return status;
}

/* --- public --------------------------------------------------------------- */

enum philox_status philox_rng_subset(struct philox_device *device,
				     philox_stream stream,
				     struct philox_rng rng,
				     const struct philox_subset_desc *subset)
{
	struct subset_args args;
	enum philox_status status;

	if (!device)
		return status_set(PHILOX_ERROR_INVALID, "device is NULL");
	status = subset_prepare(rng, subset, &args);
	return status == PHILOX_OK ? subset_put(device, stream, &args) : status;
}

enum philox_status philox_subset_scratch_size(
	const struct philox_subset_desc *subset, uint64_t *bytes)
{
	struct philox_subset_desc copy;
	enum philox_status status = take(subset, &copy);

	if (status == PHILOX_OK)
		status = check_items(&copy);
	if (status == PHILOX_OK && !bytes)
		status = status_set(PHILOX_ERROR_INVALID, "bytes is NULL");
	if (status == PHILOX_OK)
		*bytes = scratch_size(copy.items);
	return status;
}
