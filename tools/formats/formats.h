/*
 * tools/formats/formats.h - reading files of philox: saved contexts and sets of
 * them, journals, plans of runners, snapshots of pools and of runners
 *
 * A file's first line says which of them it is. The formats are described in
 * Note [Saved context] in lib/save/save.h, Note [Set of texts] in
 * lib/ranks/ranks.h, Note [Journal] in lib/state/state.h,
 * Note [Plan] in graph/runner/plan/plan.h, Note [Snapshot] in graph/pool/pool.h
 * and Note [Runner snapshot] in graph/runner/snapshot/snapshot.h.
 */
#ifndef TOOLS_FORMATS_FORMATS_H
#define TOOLS_FORMATS_FORMATS_H

#include <stddef.h>
#include <stdint.h>
#include "graph/pool/pool.h"
#include "graph/runner/snapshot/snapshot.h"
#include "lib/ranks/ranks.h"
#include "lib/save/save.h"
#include "lib/text/text.h"
#include "lib/trace/trace.h"
#include "tools/cli/cli.h"

struct plan;         /* graph/runner/plan/plan.h */
struct outputs_file; /* graph/runner/outputs/outputs.h */

/* --- pool: the text of a pool, read ---------------------------------------- */

/*
 * snapshot_read() reads a text and checks all that Note [Snapshot] says of it:
 * ERROR_INVALID, which names the line, ERROR_UNSUPPORTED, ERROR_MEMORY. The
 * memory it takes is in proportion to the text.
 */
enum philox_status snapshot_read(const char *text, size_t size,
				 struct snapshot *snapshot);

/*
 * snapshot_read_lines() reads those of a pool that stand in another text, without
 * a checksum, and the line after them, which begins with `inner`. To be finished,
 * whatever the reader's status.
 */
void snapshot_read_lines(struct reader *reader, struct snapshot *snapshot,
			 const char *inner);

/* --- runner: the text of a runner, read ------------------------------------ */

/*
 * runner_text_read() reads a text and checks what Note [Runner snapshot] says of
 * it: ERROR_INVALID, which names the line, ERROR_UNSUPPORTED, ERROR_MEMORY. The
 * memory it takes is in proportion to the text.
 */
enum philox_status runner_text_read(const char *text, size_t size,
				    struct runner_text *read);

/* --- journal: a journal, read ---------------------------------------------- */

/*
 * journal_read() reads the events of a journal, and checks all that Note
 * [Journal] says of them: ERROR_INVALID, which names the line,
 * ERROR_UNSUPPORTED, ERROR_MEMORY. They point into the text. A last line that
 * was not written whole is noted only. To be freed, whatever the status.
 */
struct written;
enum philox_status journal_read(const char *text, size_t size,
				struct written *written);

/* --- json: lines of texts as JSON ------------------------------------------ */

/*
 * json_fields() writes a member for each field: times that are "never" are null,
 * flags and marks are bools, a state is its seed and its offset, and numbers that
 * the line does not say are left out. json_line() writes an object with them.
 * json_key_bytes() writes the member "hex", all bytes of a key.
 */
void json_fields(struct json *json, const struct field *field,
		 const void *object);
void json_line(struct json *json, const char *name, const struct field *field,
	       const void *object);
void json_key_bytes(struct json *json, const unsigned char *bytes, size_t size);

/* --- written: which kind of text a file is ---------------------------------- */

/* One event of a journal; the text is the part after the two numbers. */
struct written_event {
	uint64_t context;
	uint64_t number;
	size_t rank;      /* of the context, among those of the journal */
	const char *text; /* not closed by a NUL */
	size_t length;
	size_t line;
	size_t place; /* in the journal, from 1, contexts mixed */
};

enum written_kind {
	WRITTEN_CONTEXT,
	WRITTEN_SET,
	WRITTEN_JOURNAL,
	WRITTEN_POOL,
	WRITTEN_PLAN,
	WRITTEN_RUNNER,
	WRITTEN_OUTPUTS
};

struct written {
	enum written_kind kind;
	struct saved saved;           /* of a context */
	struct set set;               /* a manifest */
	struct written_event *events; /* of a journal: context by context */
	size_t n_events;
	struct snapshot pool;         /* of a pool */
	struct plan *plan;            /* of a runner */
	struct runner_text runner;    /* the same, its snapshot */
	struct outputs_file *outputs; /* the same; their bytes are in `text` */
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

/*
 * written_kind_name() is what a file is called: "saved context".
 * written_kind_at() says it of a file by its first line alone; NULL: it is none
 * of these.
 */
const char *written_kind_name(const struct written *written);
const char *written_kind_at(const char *path);

/*
 * written_words() splits an event into words and returns how many there are;
 * lib/trace/trace.h says what can be done with them.
 */
size_t written_words(const struct written_event *event,
		     struct written_word words[WRITTEN_WORDS_MAX]);

#endif
