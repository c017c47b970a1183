/*
 * tools/outputs/outputs.h - what philox inspect and philox diff say of saved
 * outputs
 */
#ifndef TOOLS_OUTPUTS_OUTPUTS_H
#define TOOLS_OUTPUTS_OUTPUTS_H

#include <stdio.h>
#include "graph/runner/outputs/outputs.h"
#include "tools/cli/cli.h"

/*
 * outputs_print() sums saved outputs up in words; outputs_json() adds them to an
 * open object, without their bytes. Both return 0.
 */
int outputs_print(const struct outputs_file *file, FILE *out);
int outputs_json(const struct outputs_file *file, struct json *json);

/*
 * outputs_diff() names the first difference of two files and returns 1, or says
 * that there is none and returns 0.
 */
int outputs_diff(const struct outputs_file *a, const struct outputs_file *b);

#endif
