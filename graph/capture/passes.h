/*
 * graph/capture/passes.h - passes and generators on a capturing stream
 *
 * The hooks of the same names: see lib/state/context.h. With the context's lock
 * held.
 */
#ifndef GRAPH_CAPTURE_PASSES_H
#define GRAPH_CAPTURE_PASSES_H

#include "graph/capture/capture.h"

enum philox_status passes_begin(struct philox_pass *pass,
				const struct capture_info *info);
enum philox_status passes_commit(struct philox_pass *pass, unsigned flags,
				 struct philox_ticket *ticket);
enum philox_status passes_abort(struct philox_pass *pass);
enum philox_status passes_join(const struct philox_pass *view);
enum philox_status passes_live(const struct philox_pass *pass);
enum philox_status passes_read(struct philox_generator *generator,
			       philox_stream stream,
			       const struct capture_info *info,
			       struct philox_state *to);

#endif
