/*
 * lib/pass/pass_check.h - shared by the files about passes
 */
#ifndef LIB_PASS_PASS_CHECK_H
#define LIB_PASS_PASS_CHECK_H

#include "lib/state/context.h"

/*
 * pass_query() asks a stream for its capture, for a call of that name; an
 * invalidated one is an error. The id is 0 if the stream is not capturing.
 */
enum philox_status pass_query(const struct philox_region *region,
			      philox_stream stream, const char *call,
			      struct capture_info *info);

/*
 * pass_check_stream() checks that the pass's stream is still in the capture
 * that the pass is in, or still in none: ERROR_MISMATCH. Numbers that were
 * captured by value would repeat at every replay.
 */
enum philox_status pass_check_stream(const struct philox_pass *pass,
				     const char *call);

/* pass_check_open() checks that a pass is open and of a kind (0: any). */
enum philox_status pass_check_open(const struct philox_pass *pass,
				   uint16_t kind);

/* pass_check_drawn() checks that a pass can draw: views can, too. */
enum philox_status pass_check_drawn(const struct philox_pass *pass);

/*
 * pass_finish() ends a public call about a pass; see context_report().
 * pass_finish_unopened() does the same for a pass that may be NULL or not open.
 */
enum philox_status pass_finish(const struct philox_pass *pass,
			       enum philox_status status);
enum philox_status pass_finish_unopened(const struct philox_pass *pass,
					enum philox_status status);

/*
 * Refuses flags, at least one, that do not fit `where`, "a forward" for
 * example: names the first and says why.
 */
enum philox_status pass_refuse_flags(const struct philox_region *region,
				     unsigned flags, const char *where);

#endif
