/*
 * tools/matrix/bed/bed.h - runs of the matrix on a device
 */
#ifndef TOOLS_MATRIX_BED_BED_H
#define TOOLS_MATRIX_BED_BED_H

#include "tools/matrix/model/model.h"

/* --- bed: the library under test, for its parts --------------------------- */

/*
 *  bed.c      making a bed, and a whole run on it
 *  pass.c     eager passes, and the numbers of passes
 *  capture.c  graphs: their contents, capturing them
 *  launch.c   launching them
 *  calls.h    passes as functions of a runner: their body, calls, recordings
 *  bodies.h   graphs with branches and loops: recording, capturing and
 *             launching them
 *  context.c  whole regions and contexts
 *
 * Functions return 0, or -1 with a message if something is wrong.
 */

enum {
	SEEN_MAX = MATRIX_SEEN,
	SEEN_EVENT = 2 * FORM_SEEN, /* most in one event */
	PASSES = 3                  /* most passes of a graph */
};

/* A pass of a graph, in an event of that graph. */
struct captured {
	uint8_t role; /* enum matrix_role */
	uint8_t region, ticket;
	uint8_t named; /* a backward named at launch */
	uint8_t holds; /* the next pass begins and ends inside it */
	uint8_t flags; /* of its begin */
};

struct graph {
	struct philox_graph *graph; /* NULL: not captured yet */
	philox_native_graph native; /* of one that was adopted, else NULL */
	philox_native_exec exec;
	unsigned passes;
	int launched;                /* it makes fewer calls from then on */
	unsigned regions;            /* with passes in the graph, as bits */
	struct matrix_numbers *seen; /* device memory, one for each pass */
};

struct site {
	struct philox_region *region;
	philox_stream stream;
	char name[16];
	uint32_t *words; /* device memory of an eager pass */
	/* by kind, and by the region of the repeated ticket if it is another */
	struct graph graphs[MATRIX_PLAIN][MATRIX_REGIONS];
	struct bodied *bodies; /* FORM_COUNT of them, or NULL */
};

/* A graph with bodies. */
struct bodied {
	struct graph graph; /* `seen` is NULL */
	struct form_memory *memory;
};

/* A pass or a launch that has begun. */
struct half {
	struct philox_pass pass;
	struct philox_launch_pass use;
};

struct matrix_bed {
	struct philox_device *device;
	struct philox_context *context;
	struct matrix_limits limits;
	struct matrix_shape shape;
	struct matrix_seeds seeds;
	struct philox_generator *generators[MATRIX_GENERATORS_MAX];
	struct site sites[MATRIX_REGIONS];

	struct matrix_run run; /* in progress */
	unsigned place;        /* of the current event */
	struct matrix_places places;
	struct philox_ticket tickets[MATRIX_TICKETS];
	struct half forwards[MATRIX_TICKETS];
	struct half backwards[MATRIX_TICKETS];
	struct half recomputes[MATRIX_TICKETS];
	struct half launched[MATRIX_TICKETS]; /* backwards in graphs */
	unsigned released[MATRIX_TICKETS];    /* calls of the saved contexts */
	unsigned iterations[MATRIX_TICKETS];  /* 0: 1 */
	struct caller
		*caller; /* of a runner's functions; NULL: not needed yet */
	philox_stream inner[FORM_DEPTH]; /* of bodies; NULL: not needed yet */
	/* what the device memory says in the launches of each event */
	uint32_t tapes[MATRIX_EVENTS][FORM_TAPES][FORM_TAPE];
	struct matrix_seen seen[SEEN_MAX];
	unsigned n_seen;
	uint64_t launches, calls;  /* of the device, for them */
	uint64_t called, replayed; /* functions of a runner, in this run */
	char *message;
	size_t size;
};

int bed_complain(struct matrix_bed *bed, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* bed_failed() complains unless a status is OK. */
int bed_failed(struct matrix_bed *bed, const char *what,
	       enum philox_status status);

#define TRY(bed, call)                              \
	do {                                        \
		if (bed_failed((bed), #call, call)) \
			return -1;                  \
	} while (0)

/* bed_check_status() complains unless an event gave the status it must give. */
int bed_check_status(struct matrix_bed *bed, const struct matrix_event *event,
		     enum philox_status status);

/* --- passes, pass.c ------------------------------------------------------- */

/* bed_half() returns the place of an event's pass between begin and end. */
struct half *bed_half(struct matrix_bed *bed, const struct matrix_event *event);

/* bed_read_states() reads the states of an eager pass without cells. */
int bed_read_states(struct matrix_bed *bed, const struct philox_pass *pass,
		    struct matrix_numbers *numbers);

/* bed_copy_cells() copies those of one with cells, in stream order. */
int bed_copy_cells(struct matrix_bed *bed, const struct philox_pass *pass,
		   struct matrix_numbers *numbers);

/* bed_draw_words() draws the words of every operator into device memory. */
int bed_draw_words(struct matrix_bed *bed, const struct philox_pass *pass,
		   uint32_t *words);

/*
 * bed_see_device() notes the numbers of a pass, which are in device memory; its
 * states are on the host instead unless `states` is NULL.
 */
int bed_see_device(struct matrix_bed *bed, const struct captured *pass,
		   const struct matrix_numbers *numbers,
		   const struct philox_state *states, philox_stream stream);

/*
 * bed_next_seen() begins a note of numbers in the list; the caller fills in the
 * rest.
 */
struct matrix_seen *bed_next_seen(struct matrix_bed *bed, unsigned role,
				  unsigned ticket, unsigned region);

/* bed_keep_ticket() notes a ticket and gives it a saved context. */
int bed_keep_ticket(struct matrix_bed *bed, unsigned number, unsigned region,
		    struct philox_ticket ticket);

void bed_order_failure(struct matrix_bed *bed, const char *operation);
void bed_cancel_failure(struct matrix_bed *bed);

int bed_do_eager(struct matrix_bed *bed, const struct matrix_event *event);
int bed_do_strange(struct matrix_bed *bed, const struct matrix_event *event);

/* --- graphs, capture.c and launch.c --------------------------------------- */

/* bed_captured() lists the passes of an event's graph, in order of begin. */
unsigned bed_captured(const struct matrix_bed *bed,
		      const struct matrix_event *event,
		      struct captured passes[PASSES]);

/* bed_need_graph() captures an event's graph unless that is done. */
struct graph *bed_need_graph(struct matrix_bed *bed,
			     const struct matrix_event *event);
int bed_drop_graph(struct matrix_bed *bed, struct graph *graph);

/* bed_do_capture() makes a capture that must not give a graph. */
int bed_do_capture(struct matrix_bed *bed, unsigned region);

int bed_do_graph(struct matrix_bed *bed, const struct matrix_event *event);

/* bed_take_ticket() notes what a launch or a call has written for a pass. */
int bed_take_ticket(struct matrix_bed *bed, const struct captured *pass,
		    struct philox_ticket ticket);

/* --- functions of a runner, calls.c and ready.c --------------------------- */

/* bed_ready_calls() records what a run's events replay. */
int bed_ready_calls(struct matrix_bed *bed, const struct matrix_run *run);

int bed_do_call(struct matrix_bed *bed, const struct matrix_event *event);

/* bed_stale_calls() is told that a region was destroyed. */
void bed_stale_calls(struct matrix_bed *bed, unsigned region);

/* bed_lose_calls() frees what is left when the context is gone. */
void bed_lose_calls(struct matrix_bed *bed);

/* --- graphs with branches and loops, bodies.c and follow.c ---------------- */

int bed_do_bodies(struct matrix_bed *bed, const struct matrix_event *event);

/* bed_do_spoiled() makes a capture in which a call of the device fails. */
int bed_do_spoiled(struct matrix_bed *bed, const struct matrix_event *event);

/* bed_drop_bodies() drops the graphs of a site in which a region has passes. */
int bed_drop_bodies(struct matrix_bed *bed, struct site *site, unsigned region);

/* bed_lose_bodies() drops graphs that went with their context. */
int bed_lose_bodies(struct matrix_bed *bed, struct site *site);

/* bed_free_bodies() frees what is left of them when the context is gone. */
void bed_free_bodies(struct matrix_bed *bed, struct site *site);

/* --- regions and contexts, context.c -------------------------------------- */

int bed_make_region(struct matrix_bed *bed, struct site *site);
int bed_make_generators(struct matrix_bed *bed);
int bed_remake(struct matrix_bed *bed, unsigned region);
int bed_seed(struct matrix_bed *bed, unsigned generator, unsigned seed);

/* bed_do_generator() carries out an event of a generator as a whole. */
int bed_do_generator(struct matrix_bed *bed, const struct matrix_event *event);

/* bed_check_generators() complains unless all have the state they must have. */
int bed_check_generators(struct matrix_bed *bed);
int bed_save_and_load(struct matrix_bed *bed);

/* --- bodies: graphs with branches and loops, for their parts -------------- */

/*
 *  record.c  recording a form in a capture
 *  bodies.c  capturing it as a whole, and dropping it
 *  follow.c  launching it, and what ran
 *
 * What decides about branches and loops are tapes in device memory, one for
 * each node: a word is read, then the tape moves on by one. What ran is in a
 * log in device memory: each pass that draws moves the log on and writes its
 * first entry. All of it is copies in stream order, so that it is the same on
 * every device, and nothing has to wait before the end of the run.
 */

/* One thing that was drawn. */
struct form_entry {
	uint32_t ran[2]; /* which pass and view, from 1; run of its body */
	uint32_t none[2];
	struct matrix_numbers numbers;
};

enum { FORM_TAGS = 1 + FORM_PASSES * (FORM_VIEWS + 2) };

/* The device memory of a graph. */
struct form_memory {
	uint32_t tape[FORM_TAPES][FORM_TAPE];
	uint32_t shorter[FORM_TAPE];          /* a tape on its way */
	uint32_t tag[FORM_TAGS];              /* 0, 1, 2, ... */
	struct form_entry log[FORM_SEEN + 1]; /* the last is first */
	struct form_entry longer[FORM_SEEN];  /* the log on its way */
};

/* The name in a log of a pass, or of a view of it. */
static inline uint32_t form_tag(unsigned pass, unsigned view)
{
	return 1 + pass * (FORM_VIEWS + 2) + view;
}

/* What is recorded, and the first call that failed. */
struct recorder {
	struct matrix_bed *bed;
	const struct matrix_event *event;
	const struct form *form;
	struct form_memory *memory;
	unsigned regions;                /* with passes in it, as bits */
	unsigned entries;                /* of the log, at most */
	struct philox_ticket tickets[2]; /* of its forwards */
	struct philox_ticket named;      /* of the last pass named at launch */
	int ends_body;  /* the call ends the capture of a body, among others */
	int ended_body; /* ... which is so for the one that failed */
	const char *what;
	enum philox_status status;
};

/* form_region() returns the region of a pass. */
unsigned form_region(const struct matrix_bed *bed,
		     const struct matrix_event *event,
		     const struct form_pass *pass);

/*
 * record_form() records the form of an event on its region's stream, which is
 * capturing. On failure it returns -1, with the call and its status in the
 * recorder; all passes and nodes have ended.
 */
void record_init(struct recorder *recorder, struct matrix_bed *bed,
		 const struct matrix_event *event, struct form_memory *memory);
int record_form(struct recorder *recorder);

/* bodies_need() captures the graph of an event unless that is done. */
struct bodied *bodies_need(struct matrix_bed *bed,
			   const struct matrix_event *event);

/* --- calls: passes as functions of a runner, for their parts -------------- */

/*
 *  call_body.c  the body of all functions
 *  calls.c      making functions, calling them, what comes of it
 *  ready.c      what is recorded before a run, and what is lost
 *
 * A function does what an event does, in a body. Each way of calling one has
 * functions of its own: some are never recorded; some get a new key with each
 * call, and so are recorded by it; some have the same key always, and were
 * recorded before the run, by a call whose launch failed; and some have a key
 * for each run, under which they are warmed up, recorded and replayed in it.
 *
 * The numbers are an output of the function, which is released when they are
 * copied. Keys stay, so there is a new runner now and then.
 */

enum { WAYS = MATRIX_CALL_AGAIN - MATRIX_CALL_EAGER + 1 };

struct called {
	struct philox_function *function;
	int recorded; /* under the key of all runs */
	int stale;    /* ... with a region that was destroyed after that */
};

struct caller {
	struct matrix_bed *bed;
	struct philox_runner *runner;
	struct called called[WAYS][MATRIX_PLAIN][MATRIX_REGIONS]
			    [MATRIX_REGIONS];
	uint64_t keys; /* given out */
	uint64_t run;  /* the key of this run */

	/* the call on its way */
	const struct matrix_event *event;
	struct captured passes[PASSES];
	unsigned n;
	struct matrix_numbers *numbers; /* device memory: the output */
	struct philox_state states[PASSES][MATRIX_CELLS]; /* read by the body */
	int is_read[PASSES];
	struct philox_ticket made[PASSES]; /* by a body that is run */
	unsigned bodies;
	int failed; /* the bed has the message */
};

/* call_body() is the body of all functions; `user` is the caller. */
enum philox_status call_body(void *user, struct philox_run *run);

/* calls_need() makes the runner, calls_function() an event's function. */
struct caller *calls_need(struct matrix_bed *bed);
struct called *calls_function(struct caller *caller,
			      const struct matrix_event *event);

/* calls_begin() puts an event in place for the body. */
void calls_begin(struct caller *caller, const struct matrix_event *event);

/*
 * calls_entries() fills the uses of a call, PASSES of them, and returns their
 * number; without `named` no ticket is in them.
 */
size_t calls_entries(const struct caller *caller, int named,
		     struct philox_launch_pass *uses);

#endif
