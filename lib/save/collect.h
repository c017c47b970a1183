/*
 * lib/save/collect.h - what a context has, as the contents of a text
 */
#ifndef LIB_SAVE_COLLECT_H
#define LIB_SAVE_COLLECT_H

#include "lib/base/status.h"

struct philox_context;
struct save_part;
struct saved;

/*
 * save_collect() copies all that the text of a quiet context says, with its
 * lock held: ERROR_MEMORY, ERROR_STATE for a row that is not a state, errors of
 * the device. On an error there is nothing to free.
 */
enum philox_status save_collect(const struct philox_context *context,
				struct saved *saved);

/*
 * save_collect_part() copies a part of what the text of a rank says, whether or
 * not the context is quiet, with its lock held; see Note [Text of a rank] in
 * lib/save/agree.h.
 */
enum philox_status save_collect_part(const struct philox_context *context,
				     const struct save_part *part,
				     struct saved *saved);

#endif
