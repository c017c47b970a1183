/*
 * tools/common/runner_read.h - reading the text of a runner
 */
#ifndef TOOLS_COMMON_RUNNER_READ_H
#define TOOLS_COMMON_RUNNER_READ_H

#include "graph/runner/snapshot/snapshot.h"

/*
 * runner_text_read() reads a text and checks what Note [Runner snapshot] says of
 * it: ERROR_INVALID, which names the line, ERROR_UNSUPPORTED, ERROR_MEMORY. The
 * memory it takes is in proportion to the text.
 */
enum philox_status runner_text_read(const char *text, size_t size,
				    struct runner_text *read);

#endif
