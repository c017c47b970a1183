/*
 * lib/quantize/quantize.c - tensors that are rounded: checked, and put on a
 * stream
 */
#include <inttypes.h>
#include <stdlib.h>
#include "lib/base/float_mode.h"
#include "lib/device/device.h"
#include "lib/dist/dist.h"
#include "lib/fill/fill.h"
#include "lib/quantize/elements.h"
#include "lib/quantize/quantize.h"

#define QUANTIZE_SIZE_FIRST OPTIONS_FIRST(struct philox_quantize_desc, reserved)
OPTIONS_NO_PADDING(struct philox_quantize_desc, reserved);

enum { ARRAYS = 6 }; /* of a tensor, at most */

static uint32_t bits_of(const struct philox_quantize_desc *t)
{
	return t->bits ? t->bits : 32;
}

static uint64_t rows_of(const struct philox_quantize_desc *t)
{
	return fill_rows(&t->span);
}

static uint32_t block_of(const struct philox_quantize_desc *t)
{
	return t->scaling >= PHILOX_SCALING_MX ? PHILOX_MX_BLOCK
					       : PHILOX_NVFP4_BLOCK;
}

/* Bytes of some elements of the output. */
static uint64_t out_bytes(uint32_t format, uint64_t elements)
{
	return format == PHILOX_FORMAT_E2M1  ? elements / 2
	       : format <= PHILOX_FORMAT_F16 ? 2 * elements
					     : elements;
}

/* --- checks: kinds -------------------------------------------------------- */

static enum philox_status check_numbers(const struct philox_quantize_desc *t)
{
	const uint32_t bits = bits_of(t);

	if (t->in_dtype != PHILOX_DTYPE_F32 &&
	    t->in_dtype != PHILOX_DTYPE_BF16 && t->in_dtype != PHILOX_DTYPE_F16)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: in_dtype is %" PRIu32
				  ", not f32, bf16 or f16",
				  t->in_dtype);
	if (t->rule > PHILOX_ROUND_EXACT)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: rule is %" PRIu32
				  ", which is unknown",
				  t->rule);
	if (bits != 32 && bits != 16 && bits != 8)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: bits is %" PRIu32
				  ", not 32, 16 or 8",
				  bits);
	return PHILOX_OK;
}

static enum philox_status check_scaling(const struct philox_quantize_desc *t)
{
	const uint32_t known = PHILOX_QUANTIZE_SATURATE |
			       PHILOX_QUANTIZE_TRANSPOSED |
			       PHILOX_QUANTIZE_SWIZZLED;

	if (t->format > PHILOX_FORMAT_E2M1)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: format is %" PRIu32
				  ", which is unknown",
				  t->format);
	if (t->scaling > PHILOX_SCALING_MX_UP)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: scaling is %" PRIu32
				  ", which is unknown",
				  t->scaling);
	if (t->flags & ~known)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: flags is 0x%" PRIx32
				  ", of which 0x%" PRIx32 " is unknown",
				  t->flags, t->flags & ~known);
	if (t->scaling == PHILOX_SCALING_NVFP4 &&
	    t->format != PHILOX_FORMAT_E2M1)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: scaling NVFP4 is of format E2M1");
	if (t->scaling && t->format <= PHILOX_FORMAT_F16)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: scaling MX is of formats E4M3, "
				  "E5M2 and E2M1");
	if (t->flags & PHILOX_QUANTIZE_SWIZZLED && !t->scaling)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: flags say that scales are "
				  "swizzled, but scaling is none");
	return PHILOX_OK;
}

/* --- checks: spans -------------------------------------------------------- */

static enum philox_status check_last(const struct philox_quantize_desc *t)
{
	const struct philox_span *span = &t->span;
	uint64_t last, elements;

	if (fill_find_last(span, &last) &&
	    !__builtin_mul_overflow(rows_of(t), span->count, &elements) &&
	    elements <= (uint64_t)1 << 54) /* so that no size overflows */
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "quantize: span first %" PRIu64 " + count %" PRIu64
			  ", rows %" PRIu64 " of stride %" PRIu64
			  ", is past 2^64, or has more than 2^54 elements",
			  span->first, span->count, span->rows,
			  span->row_stride);
}

/* Two numbers of 4 bits share a byte. */
static enum philox_status check_halves(const struct philox_quantize_desc *t)
{
	const struct philox_span *span = &t->span;
	const int is_transposed = !!(t->flags & PHILOX_QUANTIZE_TRANSPOSED);
	const uint64_t stride = rows_of(t) > 1 ? span->row_stride : 0;

	if (t->format != PHILOX_FORMAT_E2M1)
		return PHILOX_OK;
	if ((span->first | span->count | stride) % 2)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: span first %" PRIu64
				  ", count %" PRIu64 ", row_stride %" PRIu64
				  ": E2M1 has two numbers in a byte, so they "
				  "are even",
				  span->first, span->count, span->row_stride);
	if (is_transposed && rows_of(t) % 2)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: span rows %" PRIu64
				  ": transposed E2M1 has two numbers of a "
				  "column in a byte, so they are even",
				  rows_of(t));
	return PHILOX_OK;
}

/*
 * Where a span is in the rows of its tensor. One row without a longer stride is
 * of a flat tensor: one row, as long as numbers go.
 */
struct place {
	uint64_t row, column;
	uint64_t length; /* of a row of the tensor; 0: flat */
};

static struct place place_of(const struct philox_quantize_desc *t)
{
	const struct philox_span *span = &t->span;
	struct place place = {0, span->first, 0};

	if (rows_of(t) > 1 || span->row_stride > span->count) {
		place.length = span->row_stride;
		place.row = span->first / place.length;
		place.column = span->first % place.length;
	}
	return place;
}

static enum philox_status fail_cut(const struct philox_quantize_desc *t,
				   const char *what, uint64_t at)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "quantize: span ends or begins at %s %" PRIu64
			  ", within a block of %" PRIu32,
			  what, at, block_of(t));
}

/* A span from `begin` to `end`, of something that ends at `last`, if not 0. */
static enum philox_status check_cut(const struct philox_quantize_desc *t,
				    const char *what, uint64_t begin,
				    uint64_t end, uint64_t last)
{
	const uint64_t block = block_of(t);

	if (begin % block)
		return fail_cut(t, what, begin);
	if (last && end > last)
		return status_set(PHILOX_ERROR_INVALID,
				  "quantize: span ends at %s %" PRIu64
				  ", of %" PRIu64,
				  what, end, last);
	return last && end < last && end % block ? fail_cut(t, what, end)
						 : PHILOX_OK;
}

/* All of a span is in its rows. */
static enum philox_status check_end(const struct philox_quantize_desc *t,
				    const struct place *place)
{
	const uint64_t end = place->column + t->span.count;

	if (!place->length || end <= place->length)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "quantize: span ends at column %" PRIu64
			  ", of %" PRIu64,
			  end, place->length);
}

static enum philox_status check_blocks(const struct philox_quantize_desc *t)
{
	const struct place place = place_of(t);
	enum philox_status status;

	if (!t->scaling)
		return PHILOX_OK;
	status = check_end(t, &place);
	if (status != PHILOX_OK)
		return status;
	if (t->flags & PHILOX_QUANTIZE_TRANSPOSED)
		return check_cut(t, "row", place.row, place.row + rows_of(t),
				 t->tensor_rows);
	return check_cut(t, "column", place.column,
			 place.column + t->span.count, place.length);
}

static enum philox_status check_span(const struct philox_quantize_desc *t)
{
	enum philox_status status;

	if (!t->span.count)
		return PHILOX_OK;
	status = fill_check_rows("quantize", &t->span);
	if (status == PHILOX_OK)
		status = check_last(t);
	if (status == PHILOX_OK)
		status = check_halves(t);
	return status == PHILOX_OK ? check_blocks(t) : status;
}

/* --- checks: arrays ------------------------------------------------------- */

static enum philox_status check_bytes(const char *name, const void *array)
{
	return array ? PHILOX_OK
		     : status_set(PHILOX_ERROR_INVALID, "quantize: %s is NULL",
				  name);
}

static enum philox_status check_pointers(const struct philox_quantize_desc *t)
{
	const char *what = "quantize";
	enum philox_status status =
		fill_check_array(what, "in", t->in, t->in_dtype);

	if (status == PHILOX_OK)
		status = t->format == PHILOX_FORMAT_BF16
				 ? fill_check_array(what, "out", t->out,
						    PHILOX_DTYPE_BF16)
			 : t->format == PHILOX_FORMAT_F16
				 ? fill_check_array(what, "out", t->out,
						    PHILOX_DTYPE_F16)
				 : check_bytes("out", t->out);
	if (status == PHILOX_OK && t->scaling)
		status = check_bytes("scales", t->scales);
	if (status == PHILOX_OK && t->scaling == PHILOX_SCALING_NVFP4)
		status = fill_check_array(what, "tensor_scale", t->tensor_scale,
					  PHILOX_DTYPE_F32);
	if (status == PHILOX_OK && t->saturated)
		status = fill_check_array(what, "saturated", t->saturated,
					  PHILOX_DTYPE_U64);
	return status;
}

/* The arrays of a tensor, those that are written first. */
static uint32_t list_arrays(const struct quantize_item *item,
			    struct kernel_array *arrays)
{
	const uint64_t elements = item->rows * item->cols;
	const uint64_t scales =
		quantize_room_lines(item) * quantize_room_blocks(item);
	const struct kernel_array all[ARRAYS] = {
		{"quantize: out", item->out, out_bytes(item->format, elements),
		 1},
		{"quantize: scales", item->scaling ? item->scales : NULL,
		 scales, 1},
		{"quantize: saturated", item->saturated, sizeof(uint64_t), 1},
		{"quantize: in", item->in,
		 elements * fill_dtype_size(item->in_dtype), 0},
		{"quantize: tensor_scale", item->tensor_scale, sizeof(float),
		 0},
		{"quantize: rng.cell", item->rng.cell,
		 sizeof(struct philox_state), 0}};
	uint32_t n = 0;

	for (uint32_t i = 0; i < ARRAYS; i++)
		if (all[i].at)
			arrays[n++] = all[i];
	return n;
}

static enum philox_status check_overlap(const struct quantize_item *item)
{
	struct kernel_array arrays[ARRAYS];

	return fill_check_overlap(arrays, list_arrays(item, arrays));
}

/* --- a tensor as an item -------------------------------------------------- */

/* All but pointers. */
static enum philox_status check_form(const struct philox_quantize_desc *t)
{
	enum philox_status status = check_numbers(t);

	if (status == PHILOX_OK)
		status = check_scaling(t);
	if (status == PHILOX_OK && t->reserved)
		status = status_set(PHILOX_ERROR_INVALID,
				    "quantize: reserved is %" PRIu64 ", not 0",
				    t->reserved);
	return status == PHILOX_OK ? check_span(t) : status;
}

/* Rows without gaps, whose blocks are whole, are one row. */
static void join_rows(struct quantize_item *item)
{
	const int is_whole = !item->scaling ||
			     (!item->swizzled &&
			      item->cols % quantize_block(item) == 0);

	if (item->transposed || !is_whole || item->stride != item->cols)
		return;
	item->cols *= item->rows;
	item->rows = 1;
}

static struct quantize_item item_of(const struct philox_quantize_desc *t,
				    struct philox_rng rng)
{
	const uint32_t flags = t->flags;
	struct quantize_item item = {
		.rng = rng,
		.in = t->in,
		.out = t->out,
		.scales = t->scaling ? t->scales : NULL,
		.tensor_scale = t->scaling == PHILOX_SCALING_NVFP4
					? t->tensor_scale
					: NULL,
		.saturated = t->saturated,
		.first = t->span.first,
		.rows = rows_of(t),
		.cols = t->span.count,
		.stride = t->span.row_stride,
		.in_dtype = (uint8_t)t->in_dtype,
		.format = (uint8_t)t->format,
		.rule = (uint8_t)t->rule,
		.bits = (uint8_t)bits_of(t),
		.saturate = t->scaling || flags & PHILOX_QUANTIZE_SATURATE,
		.scaling = (uint8_t)t->scaling,
		.transposed = !!(flags & PHILOX_QUANTIZE_TRANSPOSED),
		.swizzled = !!(flags & PHILOX_QUANTIZE_SWIZZLED)};

	join_rows(&item);
	return item;
}

/* --- all of a call -------------------------------------------------------- */

enum philox_status quantize_begin_work(struct quantize_work *work, size_t n)
{
	work->n = 0;
	work->items = calloc(n ? n : 1, sizeof(*work->items));
	return work->items ? PHILOX_OK
			   : status_set(PHILOX_ERROR_MEMORY,
					"quantize: no memory for %zu tensors",
					n);
}

void quantize_end_work(struct quantize_work *work)
{
	free(work->items);
}

/* Says which tensor failed, if there are several. */
static enum philox_status of_tensor(size_t i, size_t n,
				    enum philox_status status)
{
	return status == PHILOX_OK || n < 2
		       ? status
		       : status_prefix(status, "tensor %zu: ", i);
}

enum philox_status quantize_take(const struct philox_quantize_desc *tensors,
				 size_t i, size_t n,
				 struct philox_quantize_desc *tensor)
{
	const struct philox_quantize_desc *given = tensors;

	if (!tensors)
		return status_set(PHILOX_ERROR_INVALID, "tensors is NULL");
	given = (const void *)((const char *)tensors + i * tensors->size);
	return of_tensor(i, n,
			 options_copy("quantize", given, given->size,
				      QUANTIZE_SIZE_FIRST, sizeof(*tensor),
				      tensor));
}

static enum philox_status add(struct quantize_work *work,
			      const struct philox_quantize_desc *tensor,
			      struct philox_rng rng)
{
	enum philox_status status = check_form(tensor);
	struct quantize_item item;

	if (status == PHILOX_OK)
		status = fill_check_rng("quantize", &rng);
	if (status != PHILOX_OK || !tensor->span.count)
		return status;
	status = check_pointers(tensor);
	item = item_of(tensor, rng);
	if (status == PHILOX_OK)
		status = check_overlap(&item);
	if (status == PHILOX_OK)
		work->items[work->n++] = item;
	return status;
}

enum philox_status quantize_add(struct quantize_work *work, size_t i, size_t n,
				const struct philox_quantize_desc *tensor,
				struct philox_rng rng)
{
	return of_tensor(i, n, add(work, tensor, rng));
}

/* --- tensors of one call -------------------------------------------------- */

/* An array of a tensor of a call. */
struct used {
	struct kernel_array array;
	size_t tensor;
};

static uintptr_t end_of(const struct used *used)
{
	return (uintptr_t)used->array.at + used->array.size;
}

static int by_address(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)((const struct used *)a)->array.at;
	const uintptr_t y = (uintptr_t)((const struct used *)b)->array.at;

	return (x > y) - (x < y);
}

/* Those of all tensors, but counts, which several may share. */
static size_t list_all(const struct quantize_work *work, struct used *all)
{
	size_t n = 0;

	for (size_t i = 0; i < work->n; i++) {
		struct kernel_array arrays[ARRAYS];
		const uint32_t some = list_arrays(&work->items[i], arrays);

		for (uint32_t k = 0; k < some; k++)
			if (arrays[k].at != work->items[i].saturated)
				all[n++] = (struct used){arrays[k], i};
	}
	return n;
}

static enum philox_status fail_shared(const struct used *a,
				      const struct used *b)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "%s (%p) of tensor %zu and %s (%p) of tensor %zu "
			  "overlap: all are rounded at once",
			  a->array.name, a->array.at, a->tensor,
			  b->array.name + sizeof("quantize:"), b->array.at,
			  b->tensor);
}

/*
 * In the order of addresses an array meets one before it if it begins before
 * the furthest end of those; of what is only read that does not matter.
 */
static enum philox_status check_shared(struct used *all, size_t n)
{
	const struct used *furthest = NULL, *written = NULL;

	qsort(all, n, sizeof(*all), by_address);
	for (size_t i = 0; i < n; i++) {
		const struct used *met =
			all[i].array.written ? furthest : written;

		if (met && fill_overlap(&met->array, &all[i].array))
			return fail_shared(met, &all[i]);
		if (!furthest || end_of(&all[i]) > end_of(furthest))
			furthest = &all[i];
		if (all[i].array.written &&
		    (!written || end_of(&all[i]) > end_of(written)))
			written = &all[i];
	}
	return PHILOX_OK;
}

enum philox_status quantize_check_all(const struct quantize_work *work)
{
	enum philox_status status;
	struct used *all;

	if (work->n < 2)
		return PHILOX_OK;
	all = calloc(work->n * ARRAYS, sizeof(*all));
	if (!all)
		return status_set(PHILOX_ERROR_MEMORY,
				  "quantize: no memory for arrays");
	status = check_shared(all, list_all(work, all));
	free(all);
	return status;
}

/* --- on a stream ---------------------------------------------------------- */

enum { LISTS = QUANTIZE_LARGE_MAX * ARRAYS / KERNEL_ARRAYS_MAX + 1 };

/* What one kernel gets; allocated, since it is large. */
struct batch {
	struct quantize_large_args args;
	struct kernel_arrays arrays[LISTS], *last;
};

/* The two kinds of arguments differ only in their room. */
_Static_assert(offsetof(struct quantize_args, items) ==
		       offsetof(struct quantize_large_args, items),
	       "the arguments of one kernel begin those of the other");

/* Adds the arrays of a tensor: where a list is full, another goes on. */
static void add_arrays(struct batch *batch, const struct quantize_item *item)
{
	struct kernel_array arrays[ARRAYS];
	const uint32_t n = list_arrays(item, arrays);

	for (uint32_t i = 0; i < n; i++) {
		if (batch->last->count == KERNEL_ARRAYS_MAX) {
			kernel_no_arrays(batch->last + 1);
			batch->last->next = batch->last + 1;
			batch->last++;
		}
		kernel_adds(batch->last, arrays[i].name, arrays[i].at,
			    arrays[i].size, arrays[i].written);
	}
}

static void fill_batch(struct batch *batch, const struct quantize_item *items,
		       size_t n)
{
	uint64_t end = 0;

	batch->args.n = n;
	batch->last = batch->arrays;
	kernel_no_arrays(batch->last);
	for (size_t i = 0; i < n; i++) {
		end += quantize_units(&items[i]);
		batch->args.items[i] = items[i];
		batch->args.items[i].end = end;
		add_arrays(batch, &items[i]);
	}
}

static enum philox_status launch(struct philox_device *device,
				 philox_stream stream,
				 const struct batch *batch)
{
	const int is_large = batch->args.n > QUANTIZE_MAX;
	const struct kernel_call call = {
		.kernel = is_large ? KERNEL_quantize_large : KERNEL_quantize,
		.args = &batch->args,
		.size = is_large ? sizeof(struct quantize_large_args)
				 : sizeof(struct quantize_args),
		.work = batch->args.items[batch->args.n - 1].end,
		.arrays = batch->arrays};

	return device_launch(device, stream, &call);
}

static enum philox_status put_batches(struct philox_device *device,
				      philox_stream stream,
				      const struct quantize_work *work,
				      struct batch *batch)
{
	/* a driver that takes the largest head takes as many parameters here */
	const size_t most = device->head_max == HEAD_CAPACITY_MAX
				    ? QUANTIZE_LARGE_MAX
				    : QUANTIZE_MAX;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < work->n; i += most) {
		const size_t left = work->n - i;

		fill_batch(batch, work->items + i, left < most ? left : most);
		status = launch(device, stream, batch);
	}
	return status;
}

enum philox_status quantize_put(struct philox_device *device,
				philox_stream stream,
				const struct quantize_work *work)
{
	struct batch *batch;
	enum philox_status status;

	if (!work->n)
		return PHILOX_OK;
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return status_set(PHILOX_ERROR_MEMORY,
				  "quantize: no memory for arguments");
	status = put_batches(device, stream, work, batch);
	free(batch);
	return status;
}

/* --- public --------------------------------------------------------------- */

static enum philox_status add_all(struct quantize_work *work,
				  const struct philox_rng *rngs,
				  const struct philox_quantize_desc *tensors,
				  size_t n)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < n; i++) {
		struct philox_quantize_desc tensor;

		status = quantize_take(tensors, i, n, &tensor);
		if (status == PHILOX_OK)
			status = quantize_add(work, i, n, &tensor, rngs[i]);
	}
	return status;
}

enum philox_status philox_rng_quantize(
	struct philox_device *device, philox_stream stream,
	const struct philox_rng *rngs,
	const struct philox_quantize_desc *tensors, size_t n_tensors)
{
	struct quantize_work work;
	enum philox_status status;

	if (!device)
		return status_set(PHILOX_ERROR_INVALID, "device is NULL");
	if (n_tensors && !rngs)
		return status_set(PHILOX_ERROR_INVALID, "rngs is NULL");
	status = quantize_begin_work(&work, n_tensors);
	if (status != PHILOX_OK)
		return status;
	status = add_all(&work, rngs, tensors, n_tensors);
	if (status == PHILOX_OK)
		status = quantize_check_all(&work);
	if (status == PHILOX_OK)
		status = quantize_put(device, stream, &work);
	quantize_end_work(&work);
	return status;
}

/* Rounds an item here. */
static void run_here(const struct quantize_item *item)
{
	const struct float_mode mode = float_mode_set();

	quantize_host_run(item);
	float_mode_restore(mode);
}

enum philox_status philox_state_quantize(
	struct philox_state state, const struct philox_quantize_desc *tensor)
{
	const struct philox_rng by_value = {.state = state};
	const struct philox_rng poisoned = {.cell = &state};
	struct quantize_item item;
	struct quantize_work work = {.items = &item};
	enum philox_status status =
		add_all(&work, philox_is_poison(state) ? &poisoned : &by_value,
			tensor, 1);

	if (status == PHILOX_OK && work.n)
		run_here(&item);
	return status;
}

enum philox_status philox_quantize_scales_size(
	const struct philox_quantize_desc *tensor, uint64_t *bytes)
{
	struct philox_quantize_desc t;
	struct quantize_item item;
	enum philox_status status = quantize_take(tensor, 0, 1, &t);

	if (status == PHILOX_OK)
		status = check_scaling(&t);
	if (status == PHILOX_OK)
		status = check_span(&t);
	if (status == PHILOX_OK && !bytes)
		status = status_set(PHILOX_ERROR_INVALID, "bytes is NULL");
	if (status != PHILOX_OK)
		return status;
	item = item_of(&t, (struct philox_rng){.cell = NULL});
	*bytes = t.scaling && t.span.count
			 ? quantize_room_lines(&item) *
				   quantize_room_blocks(&item)
			 : 0;
	return PHILOX_OK;
}

/* --- the scale of a tensor ------------------------------------------------ */

static enum philox_status check_amax(enum philox_dtype dtype, const void *in,
				     uint64_t count, const float *scale)
{
	enum philox_status status = PHILOX_OK;

	if (dtype != PHILOX_DTYPE_F32 && dtype != PHILOX_DTYPE_BF16 &&
	    dtype != PHILOX_DTYPE_F16)
		return status_set(PHILOX_ERROR_INVALID,
				  "tensor scale: dtype is not f32, bf16 or "
				  "f16");
	if (count > UINT64_MAX / fill_dtype_size(dtype))
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "tensor scale: count %" PRIu64
				  " is past 2^64 bytes",
				  count);
	if (count)
		status = fill_check_array("tensor scale", "in", in, dtype);
	if (status == PHILOX_OK)
		status = fill_check_array("tensor scale", "scale", scale,
					  PHILOX_DTYPE_F32);
	if (status == PHILOX_OK && count &&
	    (const char *)scale + sizeof(*scale) > (const char *)in &&
	    (const char *)scale <
		    (const char *)in + count * fill_dtype_size(dtype))
		status = status_set(PHILOX_ERROR_INVALID,
				    "tensor scale: in (%p) and scale (%p) "
				    "overlap",
				    in, (const void *)scale);
	return status;
}

static enum philox_status put_amax(struct philox_device *device,
				   philox_stream stream,
				   const struct amax_args *args)
{
	struct kernel_arrays arrays = {.count = 0};
	const struct kernel_call call = {.kernel = KERNEL_amax,
					 .args = args,
					 .size = sizeof(*args),
					 .work = args->count / 16 + 1,
					 .arrays = &arrays};

	kernel_reads(&arrays, "tensor scale: in", args->in,
		     args->count * fill_dtype_size(args->dtype));
	kernel_writes(&arrays, "tensor scale: scale", args->scale,
		      sizeof(*args->scale));
	return device_launch(device, stream, &call);
}

enum philox_status philox_tensor_scale(struct philox_device *device,
				       philox_stream stream,
				       enum philox_dtype dtype, const void *in,
				       uint64_t count, float *scale)
{
	const struct amax_args args = {
		.in = in, .count = count, .scale = scale, .dtype = dtype};
	enum philox_status status;

	if (!device)
		return status_set(PHILOX_ERROR_INVALID, "device is NULL");
	status = check_amax(dtype, in, count, scale);
	/* a host's kernel writes the scale once, so it needs no 0 before */
	if (status == PHILOX_OK && !(count && philox_device_is_host(device)))
		status = philox_memory_set(device, stream, scale, 0,
					   sizeof(*scale));
	return status == PHILOX_OK && count
		       ? put_amax(device, stream, &args)
		       : status;
}
