/*
 * tests/support/allocations.c - see tests/support/allocations.h
 *
 * Without a sanitizer the functions of the C library are replaced in the whole
 * process, Criterion included, by ones that count and call them. A sanitizer
 * has replaced them itself, and calls a hook.
 */
#include "tests/support/allocations.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include "lib/device/contract.h"

static _Thread_local uint64_t made, bytes;
static _Thread_local int in_device;

static void count_one(size_t size)
{
	if (in_device)
		return;
	made++;
	bytes += size;
}

uint64_t allocations(void)
{
	return made;
}

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

size_t bytes_in_use(void)
{
	struct mallinfo2 info;

	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

uint64_t allocated_bytes(void)
{
	return bytes;
}

/* --- counting ------------------------------------------------------------- */

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#ifdef SANITIZED

int __sanitizer_install_malloc_and_free_hooks(
	void (*allocated)(const volatile void *, size_t),
	void (*freed)(const volatile void *));

static void see_allocation(const volatile void *memory, size_t size)
{
	(void)memory;
	count_one(size);
}

static void see_free(const volatile void *memory)
{
	(void)memory;
}

int allocations_fail(uint64_t n)
{
	(void)n;
	return 0;
}

static void begin_counting(void)
{
	static int begun;

	if (!begun++)
		__sanitizer_install_malloc_and_free_hooks(see_allocation,
							  see_free);
}

#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);

static _Thread_local uint64_t fails_at;

static int fails_now(size_t size)
{
	count_one(size);
	if (!fails_at || --fails_at)
		return 0;
	errno = ENOMEM;
	return 1;
}

/* For the C library's own calls, those of strdup() for example, too. */
#define EVERYWHERE __attribute__((visibility("default")))

EVERYWHERE void *malloc(size_t size)
{
	return fails_now(size) ? NULL : __libc_malloc(size);
}

EVERYWHERE void *calloc(size_t n, size_t size)
{
	return fails_now(n * size) ? NULL : __libc_calloc(n, size);
}

EVERYWHERE void *realloc(void *memory, size_t size)
{
	return fails_now(size) ? NULL : __libc_realloc(memory, size);
}

int allocations_fail(uint64_t n)
{
	fails_at = n;
	return 1;
}

static void begin_counting(void)
{
}

#endif

/* --- devices -------------------------------------------------------------- */

static const struct device_ops *real;

/* An operation as the device has it, with nothing counted meanwhile. */
#define IN_DEVICE(name, parameters, ...)               \
	static enum philox_status in_##name parameters \
	{                                              \
		enum philox_status status;             \
                                                       \
		in_device++;                           \
		status = real->name(__VA_ARGS__);      \
		in_device--;                           \
		return status;                         \
	}

IN_DEVICE(event_record,
	  (struct philox_device * device, philox_event event,
	   philox_stream stream),
	  device, event, stream)
IN_DEVICE(event_wait,
	  (struct philox_device * device, philox_stream stream,
	   philox_event event),
	  device, stream, event)
IN_DEVICE(event_query, (struct philox_device * device, philox_event event),
	  device, event)
IN_DEVICE(capture_info,
	  (struct philox_device * device, philox_stream stream,
	   struct capture_info *info),
	  device, stream, info)
IN_DEVICE(exec_set_kernel,
	  (struct philox_device * device, philox_native_exec exec,
	   device_node node, const struct kernel_call *call),
	  device, exec, node, call)
IN_DEVICE(exec_launch,
	  (struct philox_device * device, philox_native_exec exec,
	   philox_stream stream),
	  device, exec, stream)
IN_DEVICE(launch,
	  (struct philox_device * device, philox_stream stream,
	   const struct kernel_call *call),
	  device, stream, call)

void allocations_watch(struct philox_device *device)
{
	static struct device_ops ops;

	begin_counting();
	real = device->ops == &ops ? real : device->ops;
	ops = *real;
	ops.event_record = in_event_record;
	ops.event_wait = in_event_wait;
	ops.event_query = in_event_query;
	ops.capture_info = in_capture_info;
	ops.exec_set_kernel = in_exec_set_kernel;
	ops.exec_launch = in_exec_launch;
	ops.launch = in_launch;
	device->ops = &ops;
}
