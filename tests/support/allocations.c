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
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "lib/device/contract.h"
#include "tests/support/programs/sanitized.h"

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

/* Before glibc 2.33 the counts were an int's, which is enough for tests. */
static size_t bytes_of_malloc(void)
{
#if __GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 33)
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	struct mallinfo info = mallinfo();

	return (size_t)(unsigned)info.uordblks + (size_t)(unsigned)info.hblkhd;
#endif
}

size_t bytes_in_use(void)
{
	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	return bytes_of_malloc();
}

uint64_t allocated_bytes(void)
{
	return bytes;
}

/* --- counting ------------------------------------------------------------- */

#if SANITIZED

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

uint64_t allocations_mark(void)
{
	return 0;
}

struct allocations_left allocations_left(uint64_t mark)
{
	(void)mark;
	return (struct allocations_left){.n = 0};
}

void allocations_forget(const void *memory)
{
	(void)memory;
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
void __libc_free(void *memory);

static _Thread_local uint64_t fails_at;

static int fails_now(size_t size)
{
	count_one(size);
	if (!fails_at || --fails_at)
		return 0;
	errno = ENOMEM;
	return 1;
}

/* --- what is not freed ---------------------------------------------------- */

#define CHAINS     65536 /* a power of two */

/* Memory that code of this program has asked for, and that is not free. */
struct piece {
	const void *memory;
	const void *by; /* where it was asked for */
	size_t size;
	uint64_t number;
	struct piece *next; /* of the chain */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *chains[CHAINS];
static uint64_t numbered;

/* Of the linker: where the code of this program begins and ends. */
extern const char __executable_start[], etext[];

static int is_ours(const void *by)
{
	return (uintptr_t)by >= (uintptr_t)__executable_start &&
	       (uintptr_t)by < (uintptr_t)etext;
}

static struct piece **chain_of(const void *memory)
{
	uint64_t hash = (uint64_t)(uintptr_t)memory * 0x9e3779b97f4a7c15u;

	return &chains[hash >> 32 & (CHAINS - 1)];
}

static void put_piece(struct piece *piece)
{
	struct piece **chain = chain_of(piece->memory);

	pthread_mutex_lock(&lock);
	piece->number = piece->number ? piece->number : ++numbered;
	piece->next = *chain;
	*chain = piece;
	pthread_mutex_unlock(&lock);
}

/* Takes memory out that is about to be freed; NULL: it is not in. */
static struct piece *take_piece(const void *memory)
{
	struct piece **link = chain_of(memory), *piece;

	pthread_mutex_lock(&lock);
	while (*link && (*link)->memory != memory)
		link = &(*link)->next;
	piece = *link;
	if (piece)
		*link = piece->next;
	pthread_mutex_unlock(&lock);
	return piece;
}

static void *noted(void *memory, size_t size, const void *by)
{
	struct piece *piece;

	if (!memory || !is_ours(by))
		return memory;
	piece = __libc_malloc(sizeof(*piece));
	if (!piece)
		abort();
	*piece = (struct piece){.memory = memory, .size = size, .by = by};
	put_piece(piece);
	return memory;
}

uint64_t allocations_mark(void)
{
	uint64_t mark;

	pthread_mutex_lock(&lock);
	mark = numbered;
	pthread_mutex_unlock(&lock);
	return mark;
}

struct allocations_left allocations_left(uint64_t mark)
{
	struct allocations_left left = {.n = 0};
	uint64_t first = UINT64_MAX;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < CHAINS; i++)
		for (const struct piece *piece = chains[i]; piece;
		     piece = piece->next) {
			if (piece->number <= mark)
				continue;
			left.n++;
			if (piece->number > first)
				continue;
			first = piece->number;
			left.size = piece->size;
			left.by = (size_t)((uintptr_t)piece->by -
					   (uintptr_t)__executable_start);
		}
	pthread_mutex_unlock(&lock);
	return left;
}

void allocations_forget(const void *memory)
{
	__libc_free(take_piece(memory));
}

static void lock_all(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_all(void)
{
	pthread_mutex_unlock(&lock);
}

/* A child of fork() has the one thread that holds the lock here. */
__attribute__((constructor)) static void care_for_forks(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_all);
}

/* --- the functions of the C library --------------------------------------- */

/* For the C library's own calls, those of strdup() for example, too. */
#define EVERYWHERE __attribute__((visibility("default")))

#define CALLER     __builtin_return_address(0)

EVERYWHERE void *malloc(size_t size)
{
	return fails_now(size) ? NULL
			       : noted(__libc_malloc(size), size, CALLER);
}

EVERYWHERE void *calloc(size_t n, size_t size)
{
	return fails_now(n * size)
		       ? NULL
		       : noted(__libc_calloc(n, size), n * size, CALLER);
}

EVERYWHERE void free(void *memory)
{
	if (!memory)
		return;
	__libc_free(take_piece(memory));
	__libc_free(memory);
}

/* What was noted stays so if there is no memory. */
EVERYWHERE void *realloc(void *memory, size_t size)
{
	struct piece *before;
	void *made;

	if (fails_now(size))
		return NULL;
	before = memory ? take_piece(memory) : NULL;
	made = __libc_realloc(memory, size);
	if (before && !made && size) {
		put_piece(before);
		return NULL;
	}
	__libc_free(before);
	return noted(made, size, CALLER);
}

/* So that what a copy of a text is for is known by who asks for the copy. */
EVERYWHERE char *strndup(const char *text, size_t most)
{
	const size_t size = strnlen(text, most);
	char *copy = fails_now(size + 1) ? NULL : __libc_malloc(size + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, size);
	copy[size] = '\0';
	return noted(copy, size + 1, CALLER);
}

EVERYWHERE char *strdup(const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = fails_now(size) ? NULL : __libc_malloc(size);

	return copy ? noted(memcpy(copy, text, size), size, CALLER) : NULL;
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
