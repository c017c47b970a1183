/*
 * lib/save/collect.h - what a context has, as the contents of a text
 */
#ifndef LIB_SAVE_COLLECT_H
#define LIB_SAVE_COLLECT_H

#include <stddef.h>
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
 * save_collect_wanted() copies what merge_init() (lib/ranks/merge.h) takes: the
 * mesh, names and axes of the regions that are alive, tables without rows.
 */
enum philox_status save_collect_wanted(const struct philox_context *context,
				       struct saved *saved);

/*
 * save_write_part() writes the text of a rank with a part of its items, see Note
 * [Text of a rank] in lib/ranks/agree.h, whether or not passes are open; with the
 * lock held. ERROR_MEMORY.
 */
enum philox_status save_write_part(const struct philox_context *context,
				   const struct save_part *part, char **text,
				   size_t *size);

#endif
