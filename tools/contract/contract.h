/*
 * tools/contract/contract.h - checks of a device's promises, without a test
 * framework
 *
 * A check is a function that runs on an open device and says what went wrong,
 * if anything did. `philox selftest` and the tests call contract_run(), which
 * runs a table of checks, for each device of the machine. A check:
 *
 *	static void copies_go_both_ways(struct contract *c)
 *	{
 *		philox_stream stream;
 *		void *memory;
 *
 *		EXPECT_OK(contract_stream(c, 0, &stream));
 *		EXPECT_OK(contract_memory(c, 4096, &memory));
 *		...
 *		EXPECT(bytes[0] == 1);
 *	}
 *
 * The macros leave the check at the first mistake. Nothing is cleaned up by
 * hand: the objects of the contract_*() functions are destroyed after the
 * check, and a capture left open is ended before. Checks of one device run one
 * after another.
 */
#ifndef TOOLS_CONTRACT_CONTRACT_H
#define TOOLS_CONTRACT_CONTRACT_H

#include <stddef.h>
#include <stdint.h>
#include <philox.h>
#include "lib/device/device.h"

struct contract_thing;

struct contract {
	struct philox_device *device;
	int all_words;                 /* see struct contract_choice */
	char failure[640];             /* "": nothing wrong so far */
	char skipped[160];             /* "": not skipped */
	char done[64];                 /* of a passed check; "": all there is */
	struct contract_thing *things; /* to be destroyed after the check */
};

struct contract_rig;
struct site;

/*
 * A row of a table, with one of the functions: run(), with_rig() with a rig of
 * its own (tools/contract/graph/graph.h), or on_both(), a script of
 * site_compare(). The last row has a NULL name.
 */
struct contract_check {
	const char *name; /* the promise, as a phrase */
	void (*run)(struct contract *c);
	void (*with_rig)(struct contract *c, struct contract_rig *rig);
	void (*on_both)(struct contract *c, struct site *site);
};

extern const struct contract_check contract_device[];
extern const struct contract_check contract_arrays[];
extern const struct contract_check contract_space[];
extern const struct contract_check contract_capture[];
extern const struct contract_check contract_replay[];
extern const struct contract_check contract_pieces[];
extern const struct contract_check contract_templates[];
extern const struct contract_check contract_conditional[];
extern const struct contract_check contract_mesh[];
extern const struct contract_check contract_numbers[];
extern const struct contract_check contract_layouts[];
extern const struct contract_check contract_graph[];
extern const struct contract_check contract_detect[];
extern const struct contract_check contract_bodies[];
extern const struct contract_check contract_runner[];
extern const struct contract_check contract_runner_inputs[];
extern const struct contract_check contract_rows[];
extern const struct contract_check contract_tokens[];
extern const struct contract_check contract_filters[];
extern const struct contract_check contract_penalties[];
extern const struct contract_check contract_accept[];
extern const struct contract_check contract_split[];
extern const struct contract_check contract_quantize[];
extern const struct contract_check contract_subset[];
extern const struct contract_check contract_words[];

/* All of them, NULL at the end. */
extern const struct contract_check *const contract_tables[];

enum contract_outcome { CONTRACT_PASSED, CONTRACT_FAILED, CONTRACT_SKIPPED };

/*
 * Called for each check: its outcome, and why it failed or was skipped, or how
 * much was done where that depends on the choice.
 */
typedef void (*contract_report)(void *user, const char *device,
				const char *check,
				enum contract_outcome outcome,
				const char *text);

/* What is checked. */
struct contract_choice {
	const char *only; /* what names of checks have in them; NULL: any */
	int all_words;    /* functions of one word for all 2^32, not for some */
};

/*
 * contract_run() runs the chosen checks of a table on a device, calls `report`
 * for each and returns how many failed. contract_count() is how many that are,
 * in all tables.
 */
size_t contract_run(struct philox_device *device,
		    const struct contract_check *checks,
		    const struct contract_choice *choice,
		    contract_report report, void *user);
size_t contract_count(const struct contract_choice *choice);

/*
 * --- results of checks ------------------------------------------------------
 */

void contract_fail(struct contract *c, const char *file, int line,
		   const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void contract_skip(struct contract *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* 1 if the status is the expected one; else the failure is noted. */
int contract_status_is(struct contract *c, const char *file, int line,
		       const char *call, enum philox_status expected,
		       enum philox_status status);

#define EXPECT(condition) EXPECT_TEXT(condition, "%s", #condition)

#define EXPECT_TEXT(condition, ...)                                        \
	do {                                                               \
		if (!(condition)) {                                        \
			contract_fail(c, __FILE__, __LINE__, __VA_ARGS__); \
			return;                                            \
		}                                                          \
	} while (0)

#define EXPECT_STATUS(expected, call)                                 \
	do {                                                          \
		if (!contract_status_is(c, __FILE__, __LINE__, #call, \
					expected, call))              \
			return;                                       \
	} while (0)

#define EXPECT_OK(call)           EXPECT_STATUS(PHILOX_OK, call)
#define EXPECT_ERROR(error, call) EXPECT_STATUS(PHILOX_ERROR_##error, call)

/* Runs a part of a check that is a function of its own: part(c, ...). */
#define EXPECT_PART(call)                           \
	do {                                        \
		call;                               \
		if (c->failure[0] || c->skipped[0]) \
			return;                     \
	} while (0)

/* Leaves a check that has no meaning on this device, and says why. */
#define SKIP_IF(condition, ...)                        \
	do {                                           \
		if (condition) {                       \
			contract_skip(c, __VA_ARGS__); \
			return;                        \
		}                                      \
	} while (0)

/*
 * --- objects for checks ------------------------------------------------------
 */

/*
 * As the functions of philox/device.h and lib/device/device.h; destroyed after
 * the check.
 */
enum philox_status contract_stream(struct contract *c, unsigned flags,
				   philox_stream *stream);
enum philox_status contract_event(struct contract *c, philox_event *event);
enum philox_status contract_timed_event(struct contract *c,
					philox_event *event);
enum philox_status contract_memory(struct contract *c, size_t size,
				   void **memory);
enum philox_status contract_mapped(struct contract *c, size_t size, void **host,
				   void **mapped);
enum philox_status contract_reserve_with(struct contract *c, size_t bytes,
					 unsigned traits, char **base);
enum philox_status contract_reserve(struct contract *c, size_t bytes,
				    char **base);
enum philox_status contract_map(struct contract *c, char *base, size_t offset,
				size_t bytes);
enum philox_status contract_end_capture(struct contract *c,
					philox_stream stream,
					philox_native_graph *graph);
enum philox_status contract_instantiate(struct contract *c,
					philox_native_graph graph,
					philox_native_exec *exec);

/* As above, to its executable graph. */
enum philox_status contract_end_exec(struct contract *c, philox_stream stream,
				     philox_native_graph *graph,
				     philox_native_exec *exec);

/*
 * Calls of philox/device.h on the device under test: contract_begin() begins a
 * capture of this thread's, contract_order() makes a stream wait for another.
 */
enum philox_status contract_set(struct contract *c, void *memory, int value,
				size_t size, philox_stream stream);
enum philox_status contract_copy(struct contract *c, void *to, const void *from,
				 size_t size, philox_stream stream);
enum philox_status contract_begin(struct contract *c, philox_stream stream);
enum philox_status contract_order(struct contract *c, philox_event event,
				  philox_stream first, philox_stream then);

/* The check has already destroyed this one. */
void contract_forget(struct contract *c, const void *handle);

/* Copies device memory to `bytes` in stream order and waits for it. */
enum philox_status contract_read(struct contract *c, philox_stream stream,
				 const void *memory, void *bytes, size_t size);

/*
 * Puts a few milliseconds of work on a stream, so that a missing wait for the
 * stream shows.
 */
enum philox_status contract_delay(struct contract *c, philox_stream stream);

/* 1 if the device runs work before the call returns. */
int contract_is_synchronous(const struct contract *c);

/* 1 if device memory holds `size` times `value`; else the failure is noted. */
int contract_bytes_are(struct contract *c, const char *file, int line,
		       philox_stream stream, const void *memory, int value,
		       size_t size);

/* Reads device memory in stream order and compares each byte. */
#define EXPECT_BYTES(stream, memory, value, size)                              \
	do {                                                                   \
		if (!contract_bytes_are(c, __FILE__, __LINE__, stream, memory, \
					value, size))                          \
			return;                                                \
	} while (0)

#endif
