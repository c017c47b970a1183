/*
 * tests/support/programs/sanitized.h - whether a sanitizer sees each access
 *
 * A test that tries millions of the same thing tries fewer of them then: what a
 * sanitizer finds in one it finds in a thousand.
 */
#ifndef TESTS_SUPPORT_PROGRAMS_SANITIZED_H
#define TESTS_SUPPORT_PROGRAMS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED \
	(__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#else
#define SANITIZED 0
#endif

#endif
