/*
 * lib/state/journal.h - writing the events of a context, one line for each
 *
 * Note [Journal]
 * ~~~~~~~~~~~~~~
 * The first line is "philox journal 1", the version of the format. Each other
 * line is an event of a context: the context's number, the event's number, the
 * event, and fields, each a name and a value, all separated by one space.
 * Values are decimal numbers, seeds and digests of 16 hex digits, words, flags
 * (words with commas between, or "none") and names in quotation marks; in these
 * a quotation mark, a backslash and every byte that is not printable ASCII is
 * written \xHH, and one that is very long is cut and ends with "..#" and its
 * hash. Offsets are in 32-bit words.
 *
 *  context digest D       The journal begins here.
 *  context-load digest D  A saved context was loaded, and this is its digest.
 *  context-destroy
 *  mesh-set mesh M rank R The context has its place in a mesh: of each axis
 *                         "name=coordinate/size", with a space between.
 *  generator-create generator N seed S offset O
 *  generator-set ...      Seeded, or its state set under another seed, to these
 *                         values: its regions begin again.
 *  generator-move ...     Its state set under the seed it had: regions go on.
 *  generator-fold ...     Folded, and this is the outcome.
 *  generator-advance ...  Advanced, and this is the outcome.
 *  generator-destroy ...  From here on the numbers after it are one lower.
 *  region-create region R generator N flags F cells C advance W seed S offset O
 *                serial K State and serial of its next forward; then "differs
 *                         A" if it differs along axes: with a space between.
 *  region-destroy region R pending P
 *  rows-create rows R generator N count C seed S
 *                         A table of rows and its seed. Only the device knows
 *                         what its rows are drawn for.
 *  rows-destroy ...       The same fields.
 *  forward-begin region R ticket K seed S offset O flags F
 *                         An eager forward reserves its state. Ticket 0: none.
 *  forward-commit, forward-abort, backward-begin, backward-commit,
 *  backward-abort ...     The same fields. A backward keeps its ticket if the
 *                         flags of its commit have "retain". The begin of a
 *                         pass, and launch-use below, end with "iterations I"
 *                         if there are more than one.
 *  ticket-release region R ticket K
 *  ticket-attach region R ticket K
 *  capture-begin capture C
 *                         A capture has its first pass; counted from 1.
 *  capture-forward capture C pass I region R flags F
 *  capture-backward capture C pass I region R forward J|launch flags F
 *                         A pass is recorded; a backward repeats pass J, or the
 *                         forward that each launch names. If J is a backward,
 *                         each launch names the forward of both. In a body
 *                         there is "body B" at the end; then "iterations I"
 *                         if it has more than one.
 *  capture-node capture C node N kind if|while|switch body B bodies M limit L
 *                         A conditional node is recorded, with M bodies, the
 *                         B-th of the capture and those after it; at the end
 *                         "around A" if it is in body A itself.
 *  capture-commit capture C pass I flags F
 *  capture-abort capture C pass I
 *  capture-value capture C value V name N size B
 *                         A value is made, the V-th from 0, of B bytes.
 *  capture-adopt capture C graph G passes N
 *  capture-drop capture C passes N
 *  value-set graph G value V bytes X
 *                         The launches from here on have these bytes there.
 *  launch-begin graph G sequence Q uses N
 *                         A launch has taken its tickets; its uses follow.
 *  launch-use use I pass forward|backward region R ticket K seed S offset O
 *                flags F  The state that a forward got or a backward was given.
 *  launch-use use I pass repeat region R forward J
 *                         It is linked to use J of the same graph.
 *  launch-commit graph G sequence Q
 *  launch-abort graph G sequence Q status E
 *                         It failed: its tickets are as they were before.
 *  launch-refuse graph G use I status E
 *                         It was refused for that use: nothing has changed.
 *  graph-destroy graph G
 *  check graph G launches N sequence Q
 *                         Launches that were not announced, found after Q.
 *  check graph G beyond N sequence Q
 *                         Runs that drew an iteration that there is not; Q is
 *                         the number of a body of the capture, or 2^32 and that
 *                         of a pass.
 *
 *  pool-create pool P segments plain|expandable
 *  pool-alloc pool P segment I offset O size B tag T
 *  pool-free ...          The same fields. A place is the same on each device.
 *  pool-grow pool P bytes B
 *                         Taken from the device.
 *  pool-trim pool P bytes B
 *                         Given back to it.
 *  pool-wait pool P       The pool has made a stream wait for another.
 *  pool-order pool P      The caller has ordered two streams.
 *  pool-begin pool P session capture|warm-up
 *  pool-end pool P
 *  pool-rollback pool P   A session's end: well, or with its blocks undone.
 *  pool-checkpoint pool P blocks N
 *  pool-restore pool P blocks N freed F revived R
 *                         N live blocks now.
 *  pool-destroy pool P
 *
 * A trace (Note [Trace] in lib/trace/timeline.h) also has
 *
 *  context-save digest D  The context was saved.
 *  function-begin runner R function F
 *  function-miss runner R function F miss M why W
 *                         A call was no replay after its key's warm-ups: M are
 *                         words, with commas between, as in `misses` of Note
 *                         [Runner snapshot].
 *  function-end runner R function F kind eager|warm-up|record|replay|failed
 *                why W    A call of a runner's function, and why it was no
 *                         replay, in the words of philox_function_reason().
 *
 * Calls that were refused are not events, except launches: nothing has changed.
 * Events are written with the context's lock held, where they take effect, so
 * that their order is the true one.
 */
#ifndef LIB_STATE_JOURNAL_H
#define LIB_STATE_JOURNAL_H

#include <stdint.h>
#include "lib/state/context.h"

struct journal_text {
	char text[320];
};

/*
 * journal_name() quotes a name, journal_flags() spells flags of passes,
 * journal_iterations() is a field for more than one iteration, with a space
 * before it; journal_number() is a generator's number in its context.
 */
struct journal_text journal_name(const char *name);
struct journal_text journal_flags(unsigned flags);
struct journal_text journal_iterations(uint32_t iterations);
unsigned journal_number(const struct philox_generator *generator);

/*
 * journal_write() writes an event if the context has a journal or a trace; its
 * arguments are used only then. journal_trace() writes one that changes
 * nothing, and so is in no journal. May post a message.
 */
#define journal_write(context, ...)                          \
	do {                                                 \
		if ((context)->recorded)                     \
			journal_event(context, __VA_ARGS__); \
	} while (0)

void journal_event(struct philox_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void journal_trace(struct philox_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* journal_pass() writes that an eager pass begins, commits or aborts. */
void journal_pass(const struct philox_pass *pass, const char *event,
		  unsigned flags);

/* journal_ticket() writes what happened to a pending ticket. */
void journal_ticket(const struct philox_region *region, uint64_t serial,
		    const char *event);

/* journal_generator() writes what a generator's state has become. */
void journal_generator(const struct philox_generator *generator,
		       const char *event);

/* journal_region() writes that a region was created. */
void journal_region(const struct philox_region *region);

/* journal_mesh() writes which mesh a context was given. */
void journal_mesh(struct philox_context *context);

/*
 * journal_begin() numbers a new context and begins the journal and the trace
 * that the environment asks for; on failure, ERROR_FILE or ERROR_MEMORY, the
 * context has neither. journal_finish() writes that the context is destroyed
 * and ends both. Without the lock.
 */
enum philox_status journal_begin(struct philox_context *context);
void journal_finish(struct philox_context *context);

#endif
