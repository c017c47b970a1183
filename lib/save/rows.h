/*
 * lib/save/rows.h - tables of rows in saved contexts
 *
 * With the context's lock held; the device has nothing else to do.
 */
#ifndef LIB_SAVE_ROWS_H
#define LIB_SAVE_ROWS_H

#include "lib/base/status.h"

struct save_lists;
struct save_part;
struct save_plan;
struct saved;

/*
 * save_collect_rows() adds the tables of rows, which are copied from the device
 * for it: ERROR_STATE for a row that is not a state. save_collect_tables() adds
 * those in a part, without their rows.
 */
enum philox_status save_collect_rows(struct saved *saved,
				     const struct save_lists *lists);
enum philox_status save_collect_tables(struct saved *saved,
				       const struct save_lists *lists,
				       const struct save_part *part);

/*
 * save_compare_rows() compares the tables of rows of a context with those of a
 * text (ERROR_MISMATCH); save_load_rows() then loads them into device memory,
 * all or none of them.
 */
enum philox_status save_compare_rows(const struct save_plan *plan);
enum philox_status save_load_rows(const struct save_plan *plan);

#endif
