/*
 * graph/capture/iterations.h - views of captured passes that draw one iteration
 *
 * The hooks `at` and `at_word`: see lib/state/context.h. With the context's lock
 * held.
 */
#ifndef GRAPH_CAPTURE_ITERATIONS_H
#define GRAPH_CAPTURE_ITERATIONS_H

#include "graph/capture/capture.h"

enum philox_status iterations_at(const struct philox_pass *pass,
				 struct philox_pass *view);
enum philox_status iterations_at_word(const struct philox_pass *pass,
				      const uint32_t *word,
				      struct philox_pass *view);

#endif
