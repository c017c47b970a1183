/*
 * lib/trace/events.h - the events of journals and traces, and their fields
 *
 * What Note [Journal] in lib/state/state.h says of each event, for the compiler:
 * who writes one takes its format from here, and who reads a journal
 * (tools/formats/journal.c) its fields. An event's fields are a list; what they
 * are is told by their kinds:
 *
 *  U32, U64, SIZE  decimal numbers
 *  HEX             16 hex digits
 *  NAME            in quotation marks, as journal_name() makes it
 *  BYTES           two hex digits each
 *  PASS_FLAGS, REGION_FLAGS, and further kinds below
 *                  words
 *  MAYBE_U32, ITERATIONS
 *                  a field that may lack: one argument, which is the whole
 *                  field with a space before it, or empty
 *  MAYBE_NAME      the same, but the value is an argument of its own
 *  FOUND           the name is an argument, too: one of those in the list
 *  PHASES          any number of names and numbers: one argument, as above
 */
#ifndef LIB_TRACE_EVENTS_H
#define LIB_TRACE_EVENTS_H

#include <inttypes.h>

/* --- lists of fields ------------------------------------------------------- */

#define EVENT_FIELDS_NOTHING(FIELD)
#define EVENT_FIELDS_DIGEST(FIELD) FIELD("digest", HEX)
#define EVENT_FIELDS_MESH(FIELD)   FIELD("mesh", NAME) FIELD("rank", U64)
#define EVENT_FIELDS_GENERATOR(FIELD) \
	FIELD("generator", U32) FIELD("seed", HEX) FIELD("offset", U64)
#define EVENT_FIELDS_REGION(FIELD)   \
	FIELD("region", NAME)        \
	FIELD("generator", U32)      \
	FIELD("flags", REGION_FLAGS) \
	FIELD("cells", U32)          \
	FIELD("advance", U64)        \
	FIELD("seed", HEX)           \
	FIELD("offset", U64)         \
	FIELD("serial", U64) FIELD("differs", MAYBE_NAME)
#define EVENT_FIELDS_PENDING(FIELD) FIELD("region", NAME) FIELD("pending", U32)
#define EVENT_FIELDS_ROWS(FIELD) \
	FIELD("rows", NAME)      \
	FIELD("generator", U32) FIELD("count", U64) FIELD("seed", HEX)
#define EVENT_FIELDS_DATA(FIELD) \
	FIELD("data", NAME)      \
	FIELD("generator", U32)  \
	FIELD("sources", U32)    \
	FIELD("block", U64) FIELD("order", HEX) FIELD("seed", HEX)
#define EVENT_FIELDS_DATA_MOVE(FIELD) FIELD("data", NAME) FIELD("position", U64)
#define EVENT_FIELDS_PASS(FIELD) \
	FIELD("region", NAME)    \
	FIELD("ticket", U64)     \
	FIELD("seed", HEX)       \
	FIELD("offset", U64) FIELD("flags", PASS_FLAGS)
#define EVENT_FIELDS_PASS_BEGIN(FIELD) \
	EVENT_FIELDS_PASS(FIELD) FIELD("iterations", ITERATIONS)
#define EVENT_FIELDS_TICKET(FIELD)  FIELD("region", NAME) FIELD("ticket", U64)
#define EVENT_FIELDS_CAPTURE(FIELD) FIELD("capture", U32)
#define EVENT_FIELDS_CAPTURE_FORWARD(FIELD) \
	FIELD("capture", U32)               \
	FIELD("pass", U32)                  \
	FIELD("region", NAME)               \
	FIELD("flags", PASS_FLAGS)          \
	FIELD("body", MAYBE_U32) FIELD("iterations", ITERATIONS)
#define EVENT_FIELDS_CAPTURE_BACKWARD(FIELD) \
	FIELD("capture", U32)                \
	FIELD("pass", U32)                   \
	FIELD("region", NAME)                \
	FIELD("forward", FORWARD)            \
	FIELD("flags", PASS_FLAGS)           \
	FIELD("body", MAYBE_U32) FIELD("iterations", ITERATIONS)
#define EVENT_FIELDS_CAPTURE_NODE(FIELD) \
	FIELD("capture", U32)            \
	FIELD("node", U32)               \
	FIELD("kind", NODE)              \
	FIELD("body", U32)               \
	FIELD("bodies", U32)             \
	FIELD("limit", U32) FIELD("around", MAYBE_U32)
#define EVENT_FIELDS_CAPTURE_COMMIT(FIELD) \
	FIELD("capture", U32) FIELD("pass", U32) FIELD("flags", PASS_FLAGS)
#define EVENT_FIELDS_CAPTURE_ABORT(FIELD) \
	FIELD("capture", U32) FIELD("pass", U32)
#define EVENT_FIELDS_CAPTURE_VALUE(FIELD) \
	FIELD("capture", U32)             \
	FIELD("value", U32) FIELD("name", NAME) FIELD("size", U32)
#define EVENT_FIELDS_CAPTURE_ADOPT(FIELD) \
	FIELD("capture", U32) FIELD("graph", NAME) FIELD("passes", U32)
#define EVENT_FIELDS_CAPTURE_DROP(FIELD) \
	FIELD("capture", U32) FIELD("passes", U32)
#define EVENT_FIELDS_VALUE_SET(FIELD) \
	FIELD("graph", NAME) FIELD("value", SIZE) FIELD("bytes", BYTES)
#define EVENT_FIELDS_LAUNCH_BEGIN(FIELD) \
	FIELD("graph", NAME) FIELD("sequence", U64) FIELD("uses", U32)
#define EVENT_FIELDS_LAUNCH_USE(FIELD) \
	FIELD("use", U32)              \
	FIELD("pass", PASS)            \
	EVENT_FIELDS_PASS_BEGIN(FIELD)
#define EVENT_FIELDS_LAUNCH_REPEAT(FIELD) \
	FIELD("use", U32)                 \
	FIELD("pass", REPEAT) FIELD("region", NAME) FIELD("forward", U32)
#define EVENT_FIELDS_LAUNCH_COMMIT(FIELD) \
	FIELD("graph", NAME) FIELD("sequence", U64)
#define EVENT_FIELDS_LAUNCH_ABORT(FIELD) \
	FIELD("graph", NAME) FIELD("sequence", U64) FIELD("status", STATUS)
#define EVENT_FIELDS_LAUNCH_REFUSE(FIELD) \
	FIELD("graph", NAME) FIELD("use", U32) FIELD("status", STATUS)
#define EVENT_FIELDS_GRAPH(FIELD) FIELD("graph", NAME)
#define EVENT_FIELDS_CHECK(FIELD) \
	FIELD("graph", NAME)      \
	FIELD("launches|beyond|cut", FOUND) FIELD("sequence", U64)
#define EVENT_FIELDS_POOL(FIELD) FIELD("pool", NAME)
#define EVENT_FIELDS_POOL_CREATE(FIELD) \
	FIELD("pool", NAME) FIELD("segments", SEGMENTS)
#define EVENT_FIELDS_POOL_BLOCK(FIELD) \
	FIELD("pool", NAME)            \
	FIELD("segment", U32)          \
	FIELD("offset", SIZE) FIELD("size", SIZE) FIELD("tag", NAME)
#define EVENT_FIELDS_POOL_BYTES(FIELD) FIELD("pool", NAME) FIELD("bytes", SIZE)
#define EVENT_FIELDS_POOL_BEGIN(FIELD) \
	FIELD("pool", NAME) FIELD("session", SESSION)
#define EVENT_FIELDS_POOL_CHECKPOINT(FIELD) \
	FIELD("pool", NAME) FIELD("blocks", SIZE)
#define EVENT_FIELDS_POOL_RESTORE(FIELD) \
	FIELD("pool", NAME)              \
	FIELD("blocks", U64) FIELD("freed", SIZE) FIELD("revived", SIZE)

/* Of events that are in traces alone. */
#define EVENT_FIELDS_FUNCTION(FIELD) \
	FIELD("runner", NAME) FIELD("function", NAME)
#define EVENT_FIELDS_FUNCTION_MISS(FIELD) \
	EVENT_FIELDS_FUNCTION(FIELD) FIELD("miss", WORDS) FIELD("why", NAME)
#define EVENT_FIELDS_FUNCTION_TIMES(FIELD) \
	EVENT_FIELDS_FUNCTION(FIELD) FIELD("", PHASES)
#define EVENT_FIELDS_FUNCTION_CREATE(FIELD) \
	EVENT_FIELDS_FUNCTION(FIELD) FIELD("create", U64)
#define EVENT_FIELDS_FUNCTION_END(FIELD) \
	EVENT_FIELDS_FUNCTION(FIELD) FIELD("kind", WORDS) FIELD("why", NAME)
#define EVENT_FIELDS_PLAN_LOAD(FIELD) FIELD("runner", NAME) FIELD("load", U64)
#define EVENT_FIELDS_CAPTURE_TIMES(FIELD) \
	FIELD("graph", NAME)              \
	FIELD("end", U64) FIELD("instantiate", U64) FIELD("adopt", U64)

/* --- the events ------------------------------------------------------------ */

/* Of journals. Events of one name come one after another. */
#define EVENTS_OF_JOURNALS(EVENT)                   \
	EVENT("context", DIGEST)                    \
	EVENT("context-load", DIGEST)               \
	EVENT("context-destroy", NOTHING)           \
	EVENT("mesh-set", MESH)                     \
	EVENT("generator-create", GENERATOR)        \
	EVENT("generator-set", GENERATOR)           \
	EVENT("generator-move", GENERATOR)          \
	EVENT("generator-fold", GENERATOR)          \
	EVENT("generator-advance", GENERATOR)       \
	EVENT("generator-destroy", GENERATOR)       \
	EVENT("region-create", REGION)              \
	EVENT("region-destroy", PENDING)            \
	EVENT("rows-create", ROWS)                  \
	EVENT("rows-destroy", ROWS)                 \
	EVENT("data-create", DATA)                  \
	EVENT("data-destroy", DATA)                 \
	EVENT("data-seek", DATA_MOVE)               \
	EVENT("data-advance", DATA_MOVE)            \
	EVENT("forward-begin", PASS_BEGIN)          \
	EVENT("forward-commit", PASS)               \
	EVENT("forward-abort", PASS)                \
	EVENT("backward-begin", PASS_BEGIN)         \
	EVENT("backward-commit", PASS)              \
	EVENT("backward-abort", PASS)               \
	EVENT("ticket-release", TICKET)             \
	EVENT("ticket-attach", TICKET)              \
	EVENT("capture-begin", CAPTURE)             \
	EVENT("capture-forward", CAPTURE_FORWARD)   \
	EVENT("capture-backward", CAPTURE_BACKWARD) \
	EVENT("capture-node", CAPTURE_NODE)         \
	EVENT("capture-commit", CAPTURE_COMMIT)     \
	EVENT("capture-abort", CAPTURE_ABORT)       \
	EVENT("capture-value", CAPTURE_VALUE)       \
	EVENT("capture-adopt", CAPTURE_ADOPT)       \
	EVENT("capture-drop", CAPTURE_DROP)         \
	EVENT("value-set", VALUE_SET)               \
	EVENT("launch-begin", LAUNCH_BEGIN)         \
	EVENT("launch-use", LAUNCH_USE)             \
	EVENT("launch-use", LAUNCH_REPEAT)          \
	EVENT("launch-commit", LAUNCH_COMMIT)       \
	EVENT("launch-abort", LAUNCH_ABORT)         \
	EVENT("launch-refuse", LAUNCH_REFUSE)       \
	EVENT("graph-destroy", GRAPH)               \
	EVENT("check", CHECK)                       \
	EVENT("pool-create", POOL_CREATE)           \
	EVENT("pool-alloc", POOL_BLOCK)             \
	EVENT("pool-free", POOL_BLOCK)              \
	EVENT("pool-grow", POOL_BYTES)              \
	EVENT("pool-trim", POOL_BYTES)              \
	EVENT("pool-wait", POOL)                    \
	EVENT("pool-order", POOL)                   \
	EVENT("pool-begin", POOL_BEGIN)             \
	EVENT("pool-end", POOL)                     \
	EVENT("pool-rollback", POOL)                \
	EVENT("pool-checkpoint", POOL_CHECKPOINT)   \
	EVENT("pool-restore", POOL_RESTORE)         \
	EVENT("pool-destroy", POOL)

/* Of traces alone; nothing reads them. */
#define EVENTS_OF_TRACES(EVENT)                  \
	EVENT("context-save", DIGEST)            \
	EVENT("function-begin", FUNCTION)        \
	EVENT("function-miss", FUNCTION_MISS)    \
	EVENT("function-times", FUNCTION_TIMES)  \
	EVENT("function-times", FUNCTION_CREATE) \
	EVENT("function-end", FUNCTION_END)      \
	EVENT("plan-load", PLAN_LOAD)            \
	EVENT("capture-times", CAPTURE_TIMES)

/* --- words ----------------------------------------------------------------- */

#define JOURNAL_START "philox journal "
#define JOURNAL_FIRST JOURNAL_START "1\n"

/* Flags of passes, in this order. */
#define EVENT_PASS_FLAGS(FLAG)                   \
	FLAG("inference", PHILOX_PASS_INFERENCE) \
	FLAG("warmup", PHILOX_PASS_WARMUP)       \
	FLAG("retain", PHILOX_PASS_RETAIN)       \
	FLAG("on-device", PHILOX_PASS_ON_DEVICE) \
	FLAG("reversed", PHILOX_PASS_REVERSED)

/* --- writing --------------------------------------------------------------- */

/*
 * The format of an event, as in the lists above. Its name may have "%s" for what
 * events of these fields are called. tests/scripts/events.sh checks that all
 * formats are made here, of events that are in the lists.
 */
#define EVENT(name, fields)              name EVENT_FIELDS_##fields(EVENT_FORMAT)
#define EVENT_FORMAT(field, kind)        EVENT_FORMAT_##kind(field)

#define EVENT_FORMAT_U32(field)          " " field " %" PRIu32
#define EVENT_FORMAT_U64(field)          " " field " %" PRIu64
#define EVENT_FORMAT_SIZE(field)         " " field " %zu"
#define EVENT_FORMAT_HEX(field)          " " field " %016" PRIx64

#define EVENT_FORMAT_WORDS(field)        " " field " %s"
#define EVENT_FORMAT_NAME(field)         EVENT_FORMAT_WORDS(field)
#define EVENT_FORMAT_BYTES(field)        EVENT_FORMAT_WORDS(field)
#define EVENT_FORMAT_PASS_FLAGS(field)   EVENT_FORMAT_WORDS(field)
#define EVENT_FORMAT_REGION_FLAGS(field) EVENT_FORMAT_WORDS(field)
#define EVENT_FORMAT_FORWARD(field)      EVENT_FORMAT_WORDS(field)
#define EVENT_FORMAT_NODE(field)         EVENT_FORMAT_WORDS(field)
#define EVENT_FORMAT_PASS(field)         EVENT_FORMAT_WORDS(field)
#define EVENT_FORMAT_REPEAT(field)       EVENT_FORMAT_WORDS(field)
#define EVENT_FORMAT_STATUS(field)       EVENT_FORMAT_WORDS(field)
#define EVENT_FORMAT_SEGMENTS(field)     EVENT_FORMAT_WORDS(field)
#define EVENT_FORMAT_SESSION(field)      EVENT_FORMAT_WORDS(field)

#define EVENT_FORMAT_MAYBE_U32(field)    "%s"
#define EVENT_FORMAT_MAYBE_NAME(field)   "%s%s"
#define EVENT_FORMAT_ITERATIONS(field)   "%s"
#define EVENT_FORMAT_PHASES(field)       "%s"
#define EVENT_FORMAT_FOUND(field)        " %s %" PRIu64

#endif
