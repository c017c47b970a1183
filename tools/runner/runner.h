/*
 * tools/runner/runner.h - what philox inspect shows of the snapshot of a runner
 */
#ifndef TOOLS_RUNNER_RUNNER_H
#define TOOLS_RUNNER_RUNNER_H

#include <stdio.h>
#include "graph/runner/snapshot/snapshot.h"
#include "tools/cli/cli.h"

/*
 * runner_print() sums a snapshot up in words, runner_json() adds all of it to an
 * open object, runner_dot() and runner_svg() draw it. All return 0, or the exit
 * status after saying what is wrong.
 */
int runner_print(const struct runner_text *text, FILE *out);
int runner_json(const struct runner_text *text, struct json *json);
int runner_dot(const struct runner_text *text, FILE *out);
int runner_svg(const struct runner_text *text, FILE *out);

#endif
