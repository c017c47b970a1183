/*
 * tools/common/written.h - reading files of philox: saved contexts and sets of
 * them, journals, plans of runners, snapshots of pools and of runners
 *
 * A file's first line says which of them it is. The formats are described in
 * Note [Saved context] in lib/save/save.h, Note [Set of texts] in
 * lib/ranks/ranks.h, Note [Journal] in lib/state/state.h,
 * Note [Plan] in graph/runner/plan/plan.h, Note [Snapshot] in graph/pool/pool.h
 * and Note [Runner snapshot] in graph/runner/snapshot/snapshot.h.
 */
#ifndef TOOLS_COMMON_WRITTEN_H
#define TOOLS_COMMON_WRITTEN_H

#include <stddef.h>
#include <stdint.h>
#include "lib/save/save.h"
#include "lib/ranks/ranks.h"
#include "lib/trace/trace.h"
#include "tools/common/runner_read.h"
#include "tools/common/snapshot.h"

struct plan; /* graph/runner/plan/plan.h */

/* One event of a journal; the text is the part after the two numbers. */
struct written_event {
	uint64_t context;
	uint64_t number;
	size_t rank;      /* of the context, among those of the journal */
	const char *text; /* not closed by a NUL */
	size_t length;
	size_t line;
};

enum written_kind {
	WRITTEN_CONTEXT,
	WRITTEN_SET,
	WRITTEN_JOURNAL,
	WRITTEN_POOL,
	WRITTEN_PLAN,
	WRITTEN_RUNNER
};

struct written {
	enum written_kind kind;
	struct saved saved;           /* of a context */
	struct set set;               /* a manifest */
	struct written_event *events; /* of a journal: context by context */
	size_t n_events;
	struct snapshot pool;      /* of a pool */
	struct plan *plan;         /* of a runner */
	struct runner_text runner; /* the same, its snapshot */
	int cut; /* a journal whose last line was not written whole */
	char *text;
};

/*
 * written_read() reads and verifies a file. It returns 0, or -1 and says on
 * stderr, in the name of `command`, what is wrong and where.
 */
int written_read(const char *command, const char *path,
		 struct written *written);
void written_finish(struct written *written);

/* written_kind_name() is what a file is called: "saved context". */
const char *written_kind_name(const struct written *written);

/*
 * written_words() splits an event into words and returns how many there are;
 * lib/trace/trace.h says what can be done with them.
 */
size_t written_words(const struct written_event *event,
		     struct written_word words[WRITTEN_WORDS_MAX]);

#endif
