/*
 * lib/base/base.h - what every room uses: messages, options, names, hashes, the
 * CPU
 */
#ifndef LIB_BASE_BASE_H
#define LIB_BASE_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <philox/status.h>

/* --- status: how a failing call says what failed -------------------------- */

/*
 * The function that first knows what is wrong calls status_set() and returns
 * its result; everything above passes the status on. The text is in a
 * thread-local buffer, which philox_error_message() returns.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* status_set() writes the thread's error message and returns `status`. */
enum philox_status status_set(enum philox_status status, const char *format,
			      ...) __attribute__((format(printf, 2, 3)));

/*
 * status_prefix() puts text, a place, in front of the thread's message. If that
 * begins with the name of a function ("philox_stream_query: "), the name goes:
 * what has a place is part of a larger call, and the caller called that.
 */
enum philox_status status_prefix(enum philox_status status, const char *format,
				 ...) __attribute__((format(printf, 2, 3)));

/* status_bare() returns the thread's message without such a name. */
const char *status_bare(void);

/*
 * The endings that go with a number in a message: "1 ticket is", "2 tickets
 * are".
 */
const char *status_s(uint64_t n);
const char *status_es(uint64_t n);
const char *status_is(uint64_t n);

/*
 * status_kept() copies the thread's message; status_restore() puts it back
 * after calls that may have written another. A call that succeeds does that, if
 * something in it has failed and was dealt with: the message is that of the last
 * public call which failed. status_is_other() is whether the message was written
 * after one that was kept. status_first() returns the first
 * of two errors, with its message, which was kept before the second call; so
 * status_first(status, &kept, undo()) of an error is that error.
 */
struct status_message {
	char text[512];
	uint64_t number; /* of the thread's messages */
};

struct status_message status_kept(void);
void status_restore(const struct status_message *kept);
int status_is_other(const struct status_message *than);
enum philox_status status_first(enum philox_status first,
				const struct status_message *kept,
				enum philox_status second);

#ifdef __cplusplus
}
#endif

/* --- options: structs that callers fill in or read, and their growth ------ */

/*
 * Such a struct begins with its own size, as the caller compiled it. A struct
 * smaller than that of the first version is refused; one of a later version is
 * fine as long as it asks for nothing that this version does not know. See
 * philox/status.h.
 */

/*
 * OPTIONS_FIRST() is the size of a struct's first version, whose last member
 * was `last`. OPTIONS_NO_PADDING() states that the struct ends with it: a later
 * field in padding, which old callers leave undefined, would not change the
 * size.
 */
#define OPTIONS_FIRST(type, last) \
	(offsetof(type, last) + sizeof(((type *)NULL)->last))
#define OPTIONS_NO_PADDING(type, last)                            \
	_Static_assert(sizeof(type) == OPTIONS_FIRST(type, last), \
		       "a later field changes the size")

/* A page: more than any struct will need, so a larger size is garbage. */
#define OPTIONS_SIZE_MAX 4096

/*
 * options_check_size() checks `size`, the first field of *options; `least` is
 * the size of the first version, `known` of this one. ERROR_INVALID names
 * `what`.
 */
enum philox_status options_check_size(const char *what, const void *options,
				      size_t size, size_t least, size_t known);

/*
 * options_copy() also checks it, and copies the fields that this version knows
 * to *copy, of `known` bytes; fields that a shorter struct lacks are 0.
 */
enum philox_status options_copy(const char *what, const void *options,
				size_t size, size_t least, size_t known,
				void *copy);

/* options_check_reserved() refuses a reserved member of *what that is not 0. */
enum philox_status options_check_reserved(const char *what, uint32_t reserved);

/*
 * options_check_room() checks the size of a struct before it is written;
 * options_write() then writes *from, of `known` bytes, to it: as much as it has
 * room for, zeros for what this version does not know. Its size stays.
 */
enum philox_status options_check_room(const char *what, size_t size,
				      size_t least, size_t known);
void options_write(void *to, const void *from, size_t known);

/* --- utf8: which bytes are characters ------------------------------------- */

/*
 * utf8_length() returns how many bytes the character at `text` takes, 0 if it
 * is not one: a stray or missing continuation, a longer form than needed, a
 * surrogate, or above U+10FFFF. The text is closed by a NUL.
 */
static inline size_t utf8_length(const unsigned char *text)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t point;
	size_t length, i;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc0 || text[0] > 0xf7)
		return 0;
	length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	point = text[0] & (0x7f >> length);
	for (i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (text[i] & 0x3f);
	}
	if (point < smallest[length] || point > 0x10ffff ||
	    (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return length;
}

/* --- clock: how long something took ---------------------------------------- */

/* clock_now() returns nanoseconds of the host's monotonic clock. */
static inline uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- name: which names can be printed ------------------------------------- */

/* name_is_plain() tells whether all of a name can be printed; NULL: it can. */
static inline int name_is_plain(const char *name)
{
	while (name && *name >= 0x20 && *name < 0x7f)
		name++;
	return !name || !*name;
}

/*
 * name_check() refuses a name with a control character, C0, DEL or C1 in UTF-8:
 * ERROR_INVALID, with what it is the name of. NULL is fine here.
 */
enum philox_status name_check(const char *name, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* --- hash: the hash of names and of texts --------------------------------- */

#define HASH_OF_NOTHING 0xcbf29ce484222325ULL

/* hash_more() is the hash of a text that goes on, from that of what was. */
static inline uint64_t hash_more(uint64_t hash, const char *bytes, size_t size)
{
	while (size--)
		hash = (hash ^ (unsigned char)*bytes++) * 0x100000001b3ULL;
	return hash;
}

/*
 * hash_text() is FNV-1a, 64 bits. Fowler, Noll, Vo; draft-eastlake-fnv,
 * section 5.
 */
static inline uint64_t hash_text(const char *bytes, size_t size)
{
	return hash_more(HASH_OF_NOTHING, bytes, size);
}

/* --- cpu: which vector instructions the host's fills use ------------------ */

/*
 * The best set that the CPU has is used, unless PHILOX_SIMD in the environment
 * names another: scalar, avx2, avx512. All give the same numbers. The loops
 * that use them are in lib/fill/simd.
 */

enum simd {
	SIMD_SCALAR,
	SIMD_AVX2,   /* with FMA and F16C */
	SIMD_AVX512, /* F, DQ, BW, VL */
	SIMD_COUNT
};

/*
 * simd_choose() finds the instruction set to use; the environment is read when
 * it is first called. ERROR_INVALID: PHILOX_SIMD is not a known name, or names
 * a set that the CPU lacks.
 */
enum philox_status simd_choose(enum simd *simd);

/* simd_name() returns the name of a set in PHILOX_SIMD. */
const char *simd_name(enum simd simd);

/* simd_has() says whether this build and this CPU have a set. */
int simd_has(enum simd simd);

/*
 * simd_use() makes all fills from now on use a set, which must be available;
 * simd_used() returns the one in use.
 */
void simd_use(enum simd simd);
enum simd simd_used(void);

#endif
