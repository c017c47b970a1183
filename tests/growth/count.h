/*
 * tests/growth/count.h - the steps of what was compiled to have them counted
 *
 * A step is a basic block, each of which calls __sanitizer_cov_trace_pc(), or 64
 * bytes that a function of the C library copies, clears, compares or looks
 * through. The same calls take the same steps, on any machine. A program
 * includes this in one of its files.
 */
#ifndef TESTS_GROWTH_COUNT_H
#define TESTS_GROWTH_COUNT_H

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>

static _Thread_local uint64_t steps;

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
	steps++;
}

static void count_bytes(size_t bytes)
{
	steps += 1 + bytes / 64;
}

/* The linker has the library call these instead: --wrap */
void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memmove(void *to, const void *from, size_t bytes);
void *__real_memset(void *to, int value, size_t bytes);
int __real_memcmp(const void *left, const void *right, size_t bytes);
void *__real_memchr(const void *in, int value, size_t bytes);
size_t __real_strlen(const char *text);
int __real_strcmp(const char *left, const char *right);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memmove(void *to, const void *from, size_t bytes);
void *__wrap_memset(void *to, int value, size_t bytes);
int __wrap_memcmp(const void *left, const void *right, size_t bytes);
void *__wrap_memchr(const void *in, int value, size_t bytes);
size_t __wrap_strlen(const char *text);
int __wrap_strcmp(const char *left, const char *right);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
	count_bytes(bytes);
	return __real_memcpy(to, from, bytes);
}

void *__wrap_memmove(void *to, const void *from, size_t bytes)
{
	count_bytes(bytes);
	return __real_memmove(to, from, bytes);
}

void *__wrap_memset(void *to, int value, size_t bytes)
{
	count_bytes(bytes);
	return __real_memset(to, value, bytes);
}

int __wrap_memcmp(const void *left, const void *right, size_t bytes)
{
	count_bytes(bytes);
	return __real_memcmp(left, right, bytes);
}

/* At most: up to what it finds. */
void *__wrap_memchr(const void *in, int value, size_t bytes)
{
	void *found = __real_memchr(in, value, bytes);

	count_bytes(found ? (size_t)((char *)found - (const char *)in) : bytes);
	return found;
}

size_t __wrap_strlen(const char *text)
{
	size_t length = __real_strlen(text);

	count_bytes(length);
	return length;
}

int __wrap_strcmp(const char *left, const char *right)
{
	count_bytes(__real_strlen(left));
	return __real_strcmp(left, right);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	count_bytes(count * bytes);
	return __real_calloc(count, bytes);
}

/* As if it always moved. */
void *__wrap_realloc(void *memory, size_t bytes)
{
	count_bytes(memory ? malloc_usable_size(memory) : 0);
	return __real_realloc(memory, bytes);
}

#endif
