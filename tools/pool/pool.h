/*
 * tools/pool/pool.h - what philox inspect shows of the snapshot of a pool
 */
#ifndef TOOLS_POOL_POOL_H
#define TOOLS_POOL_POOL_H

#include <stdio.h>
#include "tools/cli/cli.h"
#include "tools/formats/formats.h"

/*
 * pool_print() sums a snapshot up in words, pool_json() adds all of it to an open
 * object, pool_svg() draws it. All return 0, or the exit status after
 * saying what is wrong.
 */
int pool_print(const struct snapshot *snapshot, FILE *out);
int pool_json(const struct snapshot *snapshot, struct json *json);
int pool_svg(const struct snapshot *snapshot, FILE *out);

#endif
