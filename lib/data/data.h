/*
 * lib/data/data.h - the order of training data: see philox/data.h
 */
#ifndef LIB_DATA_DATA_H
#define LIB_DATA_DATA_H

#include <philox/data.h>
#include "lib/base/base.h"
#include "lib/state/state.h"

#define DATA_SOURCES_MAX  (1u << 20)
#define DATA_BLOCK_MAX    (UINT64_C(1) << 62)
#define DATA_POSITION_MAX (UINT64_C(1) << 63)

/* --- data: data as the library's parts see them --------------------------- */

/* struct philox_data itself is in lib/state/state.h. */

/* data_finish() frees all data of a context that ends. */
void data_finish(struct philox_context *context);

/* --- quotas: weights made into quotas ------------------------------------- */

/*
 * data_quotas() checks the sources of options whose size was checked, and makes
 * those of a mixture, for free(): ERROR_INVALID, whose message begins with
 * "source"; ERROR_MEMORY.
 */
enum philox_status data_quotas(const struct philox_data_desc *options,
			       struct philox_mixture_source **sources);

#endif
