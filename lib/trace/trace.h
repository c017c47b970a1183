/*
 * lib/trace/trace.h - what happened, for people: journals on disk, timelines,
 * traces
 */
#ifndef LIB_TRACE_TRACE_H
#define LIB_TRACE_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include "lib/base/base.h"

/* --- record: files that events are written into, as they happen ----------- */

/*
 * Journals and traces are such files. Contexts that name the same path share
 * one. What is written at once goes to the end of the file in one piece, so
 * that a crash loses nothing and events of several contexts stay whole. The
 * list of files and their contents have their own lock, which is taken inside
 * a context's lock.
 */

struct record;

/* What a kind of file begins with, and ends with while nobody uses it. */
struct record_form {
	const char *what; /* "journal" */
	const char *begin, *end;
	size_t between; /* the bytes that the first text written is without */
};

/*
 * record_open() begins the file at `path`, in place of one that exists, or
 * shares the one that is in use there. What a link leads to is not emptied, and
 * a descriptor of the process is written to where it stands. ERROR_FILE names
 * the path and the reason: the form's beginning could not be written either.
 * ERROR_MEMORY.
 */
enum philox_status record_open(const struct record_form *form, const char *path,
			       struct record **record);

/*
 * record_open_variable() opens the file that a variable of the environment
 * names, with the process id for each "%p"; *record is NULL if the variable is
 * not set or empty. Errors as record_open(), with the variable's name.
 */
enum philox_status record_open_variable(const struct record_form *form,
					const char *variable,
					struct record **record);

/*
 * record_keep() keeps a file in use for as long as the process lives, or its
 * next user would begin it anew.
 */
void record_keep(struct record *record);

/* record_close() ends one use; NULL is allowed. */
void record_close(struct record *record);

/*
 * record_write() appends text and returns 0, or the error for which the file
 * has ended, now or before.
 */
int record_write(struct record *record, const char *text, size_t size);

/* record_path() names a file in messages. */
const char *record_path(const struct record *record);

/* --- words: reading the words of an event --------------------------------- */

/*
 * The text of an event, without the numbers of context and event, is words with
 * one space between: the event itself, then a name and a value for each field.
 * See Note [Journal] in lib/state/state.h.
 */

struct written_word {
	const char *text; /* not closed by a NUL */
	size_t length;
};

#define WRITTEN_WORDS_MAX 24

/*
 * written_split() splits the text of an event, a quoted name being one word,
 * and returns how many there are: WRITTEN_WORDS_MAX at most.
 */
size_t written_split(const char *text, size_t length,
		     struct written_word words[WRITTEN_WORDS_MAX]);

/* Of two words without a text one is as the other. */
int written_same(struct written_word a, struct written_word b);
int written_is(struct written_word word, const char *text);

/*
 * written_field() finds the value of a field in the words of an event; its text
 * is NULL if there is none. written_number() is a field's value as a decimal
 * number, 0 if there is none.
 */
struct written_word written_field(const struct written_word *words, size_t n,
				  const char *name);
uint64_t written_number(const struct written_word *words, size_t n,
			const char *name);

/* written_has_flag() tells whether the field "flags" has this word. */
int written_has_flag(const struct written_word *words, size_t n,
		     const char *flag);

/*
 * written_name() writes a name without quotation marks, with the bytes that
 * \xHH stands for; one that is not part of a UTF-8 character becomes U+FFFD,
 * and so does a control character. What has no room is cut. A word that is not
 * quoted stays as it is, and one without a text is "". Returns the length.
 */
size_t written_name(struct written_word word, char *name, size_t size);

/* --- timeline: what the events of a context look like over time ----------- */

/*
 * Note [Trace]
 * ~~~~~~~~~~~~
 * A timeline is made of the events of Note [Journal], by the library while they
 * happen (PHILOX_TRACE, NVTX) or by `philox inspect` from a journal, so that
 * all pictures show the same. It has
 *
 *  rows    one for what happens to the context, one for captures, one for
 *          launches, one for each runner and one for each region. What overlaps
 *          in a row is on several lanes of it; slices of one lane never overlap.
 *  slices  a pass from its begin to its commit or abort; a capture from its
 *          first pass to the graph that is made from it; a launch, from taking
 *          tickets to settling them; a call of a runner's function. A pass of a
 *          capture is a slice, too.
 *  uses    the passes that a launch executes. Only the device knows when they
 *          run: they are shown one after another, with equal shares of the
 *          launch, when it ends.
 *  arrows  from the forward to every pass that repeats it: by its ticket, by a
 *          placeholder within a capture, or within a launch.
 *  marks   every other event. Those of a runner's pool are on the runner's row,
 *          and so is a call that was no replay, with the reason's name.
 *
 * An event that ends what was not seen to begin is a mark, and there are no
 * arrows from forwards that were not seen. Times are the caller's; each event
 * has a later one than the event before it.
 */

enum timeline_group {
	TIMELINE_CONTEXT,
	TIMELINE_CAPTURES,
	TIMELINE_LAUNCHES,
	TIMELINE_RUNNER,
	TIMELINE_REGION
};

struct timeline_row {
	struct timeline_row *next; /* in order of appearance */
	enum timeline_group group;
	unsigned order;           /* among those of its group, from 0 */
	struct written_word name; /* as in a journal; its own copy */
	uint64_t number;          /* among all, from 1 */
	struct timeline_lane *lanes, **last_lane;
	unsigned n_lanes;
	uint64_t launch;                /* the last that used it */
	struct timeline_lane *use_lane; /* of its last use */
};

struct timeline_lane {
	struct timeline_lane *next;
	struct timeline_row *row;
	unsigned number; /* in its context, from 1 */
	unsigned place;  /* in its row, from 0 */
	int busy;
	uint64_t range; /* of who takes the items, for the slice that is open */
};

enum timeline_what {
	TIMELINE_LANE,  /* a new lane: before anything on it */
	TIMELINE_BEGIN, /* a slice begins on its lane, which is not busy */
	TIMELINE_END,   /* it ends, with an outcome */
	TIMELINE_USE,   /* a whole slice, from `time` to `until` */
	TIMELINE_ARROW, /* from `from` at `from_time` to lane and time */
	TIMELINE_MARK
};

enum timeline_kind {
	TIMELINE_FORWARD,
	TIMELINE_BACKWARD,
	TIMELINE_CAPTURE,
	TIMELINE_LAUNCH,
	TIMELINE_CALL,
	TIMELINE_OTHER
};

/* How a pass runs. */
enum timeline_mode { TIMELINE_EAGER, TIMELINE_CAPTURED, TIMELINE_LAUNCHED };

/* "forward", 12, " (retained)". */
struct timeline_label {
	char name[384];
	uint64_t number; /* 0: none */
	const char *note;
};

/* Valid during the call that it is given to. */
struct timeline_item {
	enum timeline_what what;
	enum timeline_kind kind;
	enum timeline_mode mode;
	struct timeline_lane *lane;
	uint64_t time, until;
	const struct timeline_label *label; /* if it is no end, no lane */
	const char *outcome; /* of TIMELINE_END, TIMELINE_USE: "commit", ... */
	const struct timeline_lane *from;
	uint64_t from_time;
	uint64_t arrow;                   /* counts a context's arrows from 1 */
	const struct written_word *words; /* the event */
	size_t n;
};

/* timeline_write_label() writes it as text, cut to its room. */
void timeline_write_label(const struct timeline_label *label, char *text,
			  size_t size);

typedef void timeline_take(void *user, const struct timeline_item *item);

/* timeline_create() makes an empty one for a context; NULL: no memory. */
struct timeline *timeline_create(timeline_take *take, void *user);

/*
 * timeline_event() takes the next event and hands on what becomes of it. What
 * there is no memory for is left out.
 */
void timeline_event(struct timeline *timeline, uint64_t time, const char *text,
		    size_t length);

/*
 * timeline_finish() ends what is open, with the outcome "open", at a time that
 * is later than all events, and frees the timeline; NULL is allowed.
 */
void timeline_finish(struct timeline *timeline, uint64_t time);

/* --- nvtx: ranges for NVIDIA's profilers ---------------------------------- */

/*
 * With NVTX of the CUDA toolkit, which is headers only. A build without has the
 * same functions; they do nothing.
 */

/* nvtx_wanted() tells whether a tool that wants ranges is attached. */
int nvtx_wanted(void);

/*
 * nvtx_take() begins and ends the ranges of a timeline, in the domain "philox":
 * passes, captures and launches, each named after its region or graph. Only one
 * that nvtx_wanted().
 */
void nvtx_take(const struct timeline_item *item);

/* --- perfetto: a context's events, seen while they happen ----------------- */

/*
 * The file that PHILOX_TRACE names, and ranges for NVIDIA's profilers: both
 * from the timeline of Note [Trace] in lib/trace/trace.h.
 */

struct trace;

/*
 * trace_create() makes the trace of a new context if the environment or a tool
 * asks for one; else *trace is NULL. Errors: ERROR_FILE, ERROR_MEMORY.
 */
enum philox_status trace_create(struct trace **trace);

/* trace_start() says which context it is, before its first event. */
void trace_start(struct trace *trace, unsigned context);

/*
 * trace_event() adds an event and returns 0, or the error for which the file
 * has ended. With the context's lock held.
 */
int trace_event(struct trace *trace, const char *text, size_t length);

/*
 * trace_end_file() ends the file, whose path trace_path() is; ranges go on.
 * trace_destroy() ends what is open; NULL is allowed.
 */
const char *trace_path(const struct trace *trace);
void trace_end_file(struct trace *trace);
void trace_destroy(struct trace *trace);

/* --- perfetto.c: a timeline as events of a trace -------------------------- */

/*
 * In the JSON of the Trace Event Format, which ui.perfetto.dev and
 * chrome://tracing load. A context is a process there, a lane a thread.
 */

/* Room for what one item, or the name of a context, becomes. */
#define TRACE_JSON_MAX 16384

/*
 * Both write objects, each with a comma and a line feed before it, and return
 * how many bytes; 0 if an item has no place there. Times are nanoseconds.
 * `process` tells the context's process from another, NULL: nothing to tell;
 * `time` says what times are.
 */
size_t trace_json_context(char text[TRACE_JSON_MAX], unsigned context,
			  const char *process, const char *time);
size_t trace_json_item(char text[TRACE_JSON_MAX], unsigned context,
		       const struct timeline_item *item);

#endif
