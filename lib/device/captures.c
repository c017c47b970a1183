/*
 * lib/device/captures.c - captures in progress: querying, working beside
 */
#include "lib/base/base.h"
#include "lib/device/device.h"

enum philox_status device_ask_capture(struct philox_device *device,
				      philox_stream stream,
				      struct capture_info *info)
{
	enum philox_status status = device_capture_info(device, stream, info);

	if (status != PHILOX_OK)
		return status;
	if (info->status == PHILOX_CAPTURE_INVALIDATED)
		return status_set(PHILOX_ERROR_CAPTURE_INVALIDATED,
				  "the capture on this stream was invalidated "
				  "and must be ended");
	if (info->status == PHILOX_CAPTURE_NONE)
		info->id = 0;
	return PHILOX_OK;
}

enum philox_status device_refuse_capture(struct philox_device *device,
					 philox_stream stream)
{
	struct capture_info info;
	enum philox_status status = device_capture_info(device, stream, &info);

	if (status != PHILOX_OK || info.status == PHILOX_CAPTURE_NONE)
		return status;
	return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			  "the stream is capturing");
}

/* --- relaxed mode --------------------------------------------------------- */

enum philox_status device_relaxed_begin(struct philox_device *device,
					enum philox_capture_mode *before)
{
	*before = PHILOX_CAPTURE_RELAXED;
	return philox_capture_exchange_mode(device, before);
}

/* A thread must not be left relaxed, so a failure is tried again. */
static enum philox_status put_back(struct philox_device *device,
				   enum philox_capture_mode before)
{
	const struct status_message kept = status_kept();
	enum philox_capture_mode mode = before;
	enum philox_status status = philox_capture_exchange_mode(device, &mode);

	if (status != PHILOX_OK)
		status = philox_capture_exchange_mode(device, &before);
	if (status == PHILOX_OK)
		status_restore(&kept);
	return status;
}

enum philox_status device_relaxed_end(struct philox_device *device,
				      enum philox_capture_mode before,
				      enum philox_status status)
{
	const struct status_message kept = status_kept();

	return status_first(status, &kept, put_back(device, before));
}

int device_event_reached(struct philox_device *device, philox_event event)
{
	const struct status_message kept = status_kept();
	enum philox_capture_mode mode;
	enum philox_status status = device_relaxed_begin(device, &mode);

	if (status == PHILOX_OK)
		status = device_relaxed_end(device, mode,
					    philox_event_query(device, event));
	status_restore(&kept);
	return status == PHILOX_OK;
}

int device_is_memory(struct philox_device *device, const void *address)
{
	const struct status_message kept = status_kept();
	enum philox_capture_mode mode;
	enum philox_status status = device_relaxed_begin(device, &mode);
	int is_memory = 0;

	if (status == PHILOX_OK) {
		is_memory = device->ops->is_memory(device, address);
		device_relaxed_end(device, mode, status);
	}
	status_restore(&kept);
	return is_memory;
}

/* --- conditions: setting a condition of a graph --------------------------- */

/* A call, and what it points to. */
struct setter {
	struct condition_args args;
	struct kernel_arrays arrays;
	struct kernel_call call;
};

static enum philox_status make_setter(struct setter *setter,
				      device_condition condition,
				      const uint32_t *word)
{
	NEED(!((uintptr_t)word % sizeof(*word)), "word",
	     "is not aligned to 4 bytes");
	setter->args =
		(struct condition_args){.condition = condition, .word = word};
	kernel_no_arrays(&setter->arrays);
	kernel_reads(&setter->arrays, "condition: word", word, sizeof(*word));
	setter->call = (struct kernel_call){.kernel = KERNEL_CONDITION,
					    .args = &setter->args,
					    .size = sizeof(setter->args),
					    .work = 1,
					    .arrays = &setter->arrays};
	return PHILOX_OK;
}

enum philox_status device_condition_guard(struct philox_device *device,
					  philox_stream stream,
					  device_condition condition,
					  const uint32_t *word,
					  struct philox_state *control,
					  enum condition_place place)
{
	struct capture_info info;
	struct setter setter;
	enum philox_status status = make_setter(&setter, condition, word);

	setter.args.control = control;
	setter.args.place = place;
	if (status == PHILOX_OK)
		status = device_ask_capture(device, stream, &info);
	if (status != PHILOX_OK)
		return status;
	if (info.status == PHILOX_CAPTURE_NONE)
		return status_set(PHILOX_ERROR_STATE,
				  "a condition is set within graphs only, and "
				  "the stream is not capturing");
	return device_launch(device, stream, &setter.call);
}

enum philox_status device_condition_record(struct philox_device *device,
					   philox_stream stream,
					   device_condition condition,
					   const uint32_t *word)
{
	NEED_POINTER(word);
	return device_condition_guard(device, stream, condition, word, NULL,
				      CONDITION_BEFORE);
}

enum philox_status device_condition_add(struct philox_device *device,
					philox_native_graph graph,
					const device_node *deps, size_t n,
					device_condition condition,
					const uint32_t *word, device_node *node)
{
	struct setter setter;
	enum philox_status status;

	NEED_POINTER(word);
	status = make_setter(&setter, condition, word);
	if (status != PHILOX_OK)
		return status;
	return device_graph_add_kernel(device, graph, deps, n, &setter.call,
				       node);
}
