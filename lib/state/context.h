/*
 * lib/state/context.h - the context as the library's parts see it
 *
 * Locking. One lock guards generators, regions and their ledgers. It is held
 * for reservation and book-keeping, never while a callback of the user runs:
 * messages of a call are posted with log_post() and delivered by
 * context_report(), and saved contexts to be released are handed out of the
 * locked part and released after it.
 *
 * lib knows nothing of graphs: the work of a pass on a capturing stream, or
 * with cells, is done by hooks, which graph/ fills in. Making and destroying a
 * context is in lib/state/context_create.h.
 */
#ifndef LIB_STATE_CONTEXT_H
#define LIB_STATE_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/generator.h>
#include <philox/mesh.h>
#include <philox/pass.h>
#include <philox/region.h>
#include "lib/base/status.h"
#include "lib/device/call.h"
#include "lib/device/fork.h"
#include "lib/state/log.h"

/*
 * The functions of graph/ for passes. All are called with the context's lock
 * held.
 *
 *  begin    a pass on a capturing stream: records it and gives it cells. `info`
 *           is ACTIVE. On failure nothing is recorded.
 *  commit   ends a captured pass; for a forward writes its placeholder.
 *  abort    ends a captured pass and marks its capture as not adoptable.
 *  join     makes another stream of the pass's capture depend on the head.
 *  at       gives a view of a captured pass, or of one with cells, cells of its
 *           own for the view's iteration.
 *  at_word  the same, for an iteration that a kernel reads from a word.
 *  root     changes what a stream says of its capture, if that is the body of a
 *           conditional node, to what is said of the capture around it.
 *  take     gives an eager pass a block of cells and fills it on its stream.
 *  give     ends the use of that block at this point of the pass's stream.
 *  live     ERROR_STATE if a pass with cells has ended, or its capture is over:
 *           its cells may belong to another by now.
 *  reap     releases what was held by native graphs that are gone by now.
 *  broken   a call found the capture of a stream invalidated: keeps the first
 *           such call, for the end of that capture to report.
 *  read     copies a generator's state to device memory on a stream that is
 *           capturing: at each launch. On failure nothing is recorded.
 *  quiet    whether no capture and no launch is in progress (ERROR_BUSY) and no
 *           unannounced launch is still to be reported (ERROR_UNANNOUNCED).
 *           Changes nothing.
 *  ended    a pass that a body of a runner began (pass->run) ends: commits with
 *           these flags, or aborts. *kept 1: the runner will end it itself, when
 *           the body has succeeded, and nothing else is to happen now.
 *           ERROR_STATE, with nothing changed: it has ended, with its body too.
 *  digest   computes the context's digest, with which a journal begins:
 *           ERROR_MEMORY. A room after this one computes it.
 */
struct context_hooks {
	enum philox_status (*begin)(struct philox_pass *pass,
				    const struct capture_info *info);
	enum philox_status (*commit)(struct philox_pass *pass, unsigned flags,
				     struct philox_ticket *ticket);
	enum philox_status (*abort)(struct philox_pass *pass);
	enum philox_status (*join)(const struct philox_pass *view);
	enum philox_status (*at)(const struct philox_pass *pass,
				 struct philox_pass *view);
	enum philox_status (*at_word)(const struct philox_pass *pass,
				      const uint32_t *word,
				      struct philox_pass *view);
	void (*root)(struct philox_context *context, struct capture_info *info);
	enum philox_status (*take)(struct philox_pass *pass);
	void (*give)(struct philox_pass *pass);
	enum philox_status (*live)(const struct philox_pass *pass);
	void (*reap)(struct philox_context *context);
	void (*broken)(struct philox_context *context, philox_stream stream,
		       const char *call);
	enum philox_status (*read)(struct philox_generator *generator,
				   philox_stream stream,
				   const struct capture_info *info,
				   struct philox_state *to);
	enum philox_status (*quiet)(struct philox_context *context);
	enum philox_status (*ended)(const struct philox_pass *pass,
				    int committed, unsigned flags, int *kept);
	enum philox_status (*digest)(const struct philox_context *context,
				     uint64_t *digest);
};

/* The kinds of a pass, in philox_pass.kind. */
enum pass_kind {
	PASS_FORWARD = 1,
	PASS_BACKWARD = 2,
	PASS_VIEW = 4 /* added to it: another stream's view */
};

struct philox_generator {
	struct philox_context *context;
	struct philox_generator *next; /* in the context's list, an older one */
	size_t number; /* of generators that are older than it */
	struct philox_state state;
	size_t regions;                   /* alive ones that use it */
	size_t tables;                    /* the same */
	size_t reads;                     /* captures that copy its state */
	const struct philox_region *open; /* SHARED, with an open forward */
};

struct philox_context {
	struct philox_device *device;
	const struct context_hooks *hooks;
	struct graph_context *graphs; /* graph/'s part of the context */

	pthread_mutex_t lock; /* guards what follows */
	struct philox_generator *generators;
	struct philox_generator *generator; /* the default one */
	struct philox_region *regions;      /* newest first, dead names too */
	struct philox_rows *rows; /* newest first, see lib/rows/rows.h */
	struct philox_mesh mesh;  /* a copy; does not change once there are
				     regions */
	void (*log)(void *user, const struct philox_log_entry *entry);
	void *log_user;
	atomic_int recorded; /* has a journal or a trace: lib/state/journal.h */
	struct record *journal;   /* NULL: none */
	struct trace *trace;      /* NULL: none; see lib/trace/perfetto.h */
	uint64_t events;          /* written into journals */
	unsigned number;          /* in the process, for journals */
	struct drawn_span *spans; /* see lib/pass/spans.h */
};

void context_lock(struct philox_context *context);
void context_unlock(struct philox_context *context);

/*
 * NEED_PROCESS() comes before the first lock of every public function that
 * takes one: in a fork the lock may be held by a thread that is not there. It
 * returns from the function that uses it, and nothing is logged, for the log's
 * callback is behind that lock, too. Where an operation of the device comes
 * first, that refuses.
 */
#define NEED_PROCESS(context)                                  \
	do {                                                   \
		if (fork_is_child((context)->device))          \
			return fork_refuse((context)->device); \
	} while (0)

/*
 * context_broken() is called for every call of a pass that a device refused: if
 * the reason was an invalidated capture, the call is kept as one that found it.
 */
void context_broken(struct philox_context *context, philox_stream stream,
		    enum philox_status status, const char *call,
		    const char *region);

#endif
