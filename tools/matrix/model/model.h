/*
 * tools/matrix/model/model.h - philox matrix: every order of events against a
 * model
 *
 * An event is one thing that can happen to ledgers and generators: a pass, half
 * of one, a launch of a graph, a release, a re-seed. A run is a list of events.
 * Four parts work on runs:
 *
 *  text.c    events as words that a person can read and type
 *  model.c   what each event must give, found from the run so far only;
 *            places.c: where each forward draws; choices.c: which events may
 *            follow; numbers.c: the rules for the numbers seen; play.c: what
 *            launches of graphs with branches and loops must do (forms.c);
 *            kinds.c: how calls of a runner's functions are executed
 *  bed.c     the library under test: carries out events, notes numbers
 *            (bed.h, pass.c, capture.c, launch.c, bodies.h, calls.h, context.c)
 *  search.c  all runs up to a length, and random longer ones (search.h, runs.c)
 *
 * The model shares nothing with the ledger. It has no table of tickets: it
 * reads the list of events from its beginning for each question. A forward's
 * numbers follow from how many forwards came before it since seeding, by the
 * formulas of philox/region.h, which give the numbers of any run and so those
 * of a plain sequential program.
 */
#ifndef TOOLS_MATRIX_MODEL_MODEL_H
#define TOOLS_MATRIX_MODEL_MODEL_H

#include <stddef.h>
#include <stdint.h>
#include <philox.h>

enum {
	MATRIX_REGIONS = 4, /* most regions */
	MATRIX_GENERATORS_MAX = 2,
	MATRIX_OPS = 8,      /* most operators of a region */
	MATRIX_CELLS = 10,   /* of that many operators */
	MATRIX_WORDS = 8,    /* drawn at each operator */
	MATRIX_TICKETS = 64, /* most forwards of a run */
	MATRIX_EVENTS = 512, /* of a run, its closing included */
	MATRIX_CALLS = 60,   /* of a capture, of which one fails */
	MATRIX_SEEN = 2048,  /* passes of a run, and iterations of them */
	MATRIX_NONE = 255,   /* no ticket */
	MATRIX_CHOICES = 16384,
	MATRIX_SEARCHES = 20
};

/* --- events --------------------------------------------------------------- */

enum matrix_kind {
	MATRIX_FORWARD,
	MATRIX_INFERENCE,
	MATRIX_WARMUP,
	MATRIX_BACKWARD,
	MATRIX_RECOMPUTE,
	MATRIX_PAIR,     /* one graph: a forward and its backward */
	MATRIX_KEEP,     /* one graph: a forward and its recompute */
	MATRIX_EXCHANGE, /* one graph: a forward, and a backward of another */
	MATRIX_DOUBLE,   /* one graph: two backwards */
	MATRIX_RELEASE,
	MATRIX_SEED,    /* the same seed again */
	MATRIX_RESEED,  /* the other seed */
	MATRIX_REMAKE,  /* destroy a region and make it again */
	MATRIX_SAVE,    /* save, and load into a new context */
	MATRIX_MIXED,   /* one graph: a backward, and forwards in two regions */
	MATRIX_STRANGE, /* a ticket is tried in a region that is not its own */
	MATRIX_CAPTURE, /* a capture with an aborted backward: no graph */
	MATRIX_ADVANCE, /* a generator's own offset, by one SHARED forward */
	MATRIX_FOLD,
	MATRIX_AT_END, /* set state: one SHARED forward before the last offset */
	MATRIX_BACK,   /* set state: as after seeding, which regions ignore */
	MATRIX_LINKED, /* one graph: a recompute, and a backward linked to it */
	MATRIX_NESTED, /* one graph: a backward with a recompute linked to it */
	MATRIX_PLAIN,  /* kinds so far: graphs without bodies */
	MATRIX_BODIES = MATRIX_PLAIN, /* one graph with bodies: a form */
	MATRIX_LOOP,    /* an eager forward of more than one iteration */
	MATRIX_SPOILED, /* a capture with bodies in which a device call fails */
	MATRIX_KINDS
};

/* What a word of a kind has, after its letter: see matrix_words. */
enum {
	HAS_TICKET = 1,
	HAS_OTHER = 2, /* a second ticket */
	HAS_REGION = 4,
	HAS_FORM = 8,
	HAS_GRAPH = 16 /* no mark: it is always one */
};

struct matrix_kind_word {
	char letter;
	unsigned has;
	unsigned classes; /* a search needs for it, whatever its marks are */
};

extern const struct matrix_kind_word matrix_kinds[MATRIX_KINDS];

enum matrix_how {
	MATRIX_EAGER,
	MATRIX_ON_CELLS,
	MATRIX_IN_GRAPH,
	/* as the body of a function of a runner: */
	MATRIX_CALL_EAGER,  /* that is never recorded */
	MATRIX_CALL_RECORD, /* ... is recorded by this call */
	MATRIX_CALL_REPLAY, /* ... was recorded before the run */
	MATRIX_CALL_AGAIN   /* ... is warmed up, recorded and replayed by the
			       calls of the run, one after the other */
};

/* A pass or a launch as a whole, or its begin (prologue) or end (epilogue). */
enum matrix_part { MATRIX_WHOLE, MATRIX_BEGIN, MATRIX_END };

enum matrix_fate {
	MATRIX_DONE,
	MATRIX_KEPT,    /* the ticket is retained; of a double, the first */
	MATRIX_ABORTED, /* aborted; of a graph, its launch fails */
	MATRIX_BROKEN,  /* a device call before that fails */
	MATRIX_UNTOLD,  /* launched without philox, which must notice */
	/* of calls that are recorded: */
	MATRIX_DECLINED,   /* the body refuses to be recorded */
	MATRIX_UNCAPTURED, /* the graph cannot be made of its capture */
	MATRIX_FAILED      /* the body fails after its passes, captured */
};

struct matrix_event {
	uint8_t kind;
	uint8_t how;
	uint8_t part;
	uint8_t fate;
	uint8_t region; /* of passes: where; of backwards: their ticket's; of
			   seeding and the like: the generator */
	uint8_t ticket; /* the forward it makes or repeats, counted from 0; a
			   mixed one makes the next, too */
	uint8_t other;  /* exchange, mixed: what is repeated; double: the
			   second */
	uint8_t status; /* what it must give */
	uint8_t form; /* bodies, spoiled: which graph (tools/matrix/model/model.h) */
	uint8_t choice; /* bodies: what the device memory says; spoiled: which
			   device call fails, from 1 */
	uint8_t call;   /* of a runner: as what it must be executed, an enum
			   philox_call_kind */
	uint8_t burnt;  /* ... that fails: how many of its forwards draw */
};

static inline int matrix_is_call(const struct matrix_event *event)
{
	return event->how >= MATRIX_CALL_EAGER;
}

/* Whether a call must run its body on the stream, as it is. */
static inline int matrix_runs_body(const struct matrix_event *event)
{
	return event->call == PHILOX_CALL_EAGER ||
	       event->call == PHILOX_CALL_WARMUP;
}

/* The classes of events in a search. */
enum matrix_class {
	MATRIX_GRAPHS = 1,
	MATRIX_DEVICE_CELLS = 2,
	MATRIX_RETAINS = 4,
	MATRIX_RECOMPUTES = 8,
	MATRIX_ABORTS = 16,
	MATRIX_BREAKS = 32,
	MATRIX_OVERLAPS = 64,
	MATRIX_RELEASES = 128,
	MATRIX_SEEDS = 256,
	MATRIX_UNTRACKED = 512, /* inference and warm-up */
	MATRIX_ONE_GRAPH = 1024,
	MATRIX_REMAKES = 2048,
	MATRIX_REFUSALS = 4096,
	MATRIX_SAVES = 8192,
	MATRIX_CAPTURES = 16384,
	MATRIX_GENERATORS = 32768, /* advance, fold, set state */
	MATRIX_ALL = 65535,
	MATRIX_LOOPS = 65536,    /* branches and loops, and spoiled captures if
				 MATRIX_CAPTURES */
	MATRIX_RUNNERS = 131072, /* calls of a runner's functions */
	MATRIX_EVERYTHING = 262143,
	MATRIX_ONLY_RUNNERS = 262144 /* and no passes in another way, but for
					those that begin and end apart */
};

#define MATRIX_ALL_FORMS UINT64_MAX

struct matrix_limits {
	unsigned classes;
	unsigned regions;
	unsigned
		shared; /* the first so many of them are PHILOX_REGION_SHARED */
	unsigned generators; /* which regions use in turn; 0: one */
	unsigned forwards;   /* most in a run */
	unsigned open;       /* most passes and launches open at once */
	unsigned pending;    /* most tickets a region holds */
	uint64_t forms;      /* graphs with bodies, as bits */
};

static inline unsigned matrix_generators(const struct matrix_limits *limits)
{
	return limits->generators ? limits->generators : 1;
}

static inline unsigned matrix_generator(const struct matrix_limits *limits,
					unsigned region)
{
	return region % matrix_generators(limits);
}

static inline int matrix_is_shared(const struct matrix_limits *limits,
				   unsigned region)
{
	return region < limits->shared;
}

/* The second region of a mixed graph, which may be the first. */
static inline unsigned matrix_next_region(const struct matrix_limits *limits,
					  unsigned region)
{
	return (region + 1) % limits->regions;
}

struct matrix_run {
	struct matrix_limits limits;
	unsigned n;
	struct matrix_event events[MATRIX_EVENTS];
};

/* matrix_event_text() writes an event as a word and returns its length. */
size_t matrix_event_text(const struct matrix_event *event, char *text,
			 size_t size);

/* matrix_run_text() writes a run, a blank between events. */
void matrix_run_text(const struct matrix_event *events, unsigned n, char *text,
		     size_t size);

/*
 * matrix_run_parse() reads a run whose limits are already set. On failure it
 * returns -1 and writes the reason to `message`.
 */
int matrix_run_parse(struct matrix_run *run, const char *text, char *message,
		     size_t size);

/* The words of a run explained, for --help. */
extern const char matrix_words[];

/* --- the model ------------------------------------------------------------ */

/* One forward according to the events of a run. */
struct matrix_story {
	uint8_t region;
	uint8_t known;     /* its ticket can be named */
	uint8_t open;      /* the forward has begun and not ended */
	uint8_t made;      /* it was pending at some time */
	uint8_t ended;     /* aborted, used up, released, or region remade */
	uint8_t readers;   /* backwards and recomputes of it that are open */
	uint8_t consuming; /* one of them will use it up */
	uint8_t iterations;
	uint8_t barred; /* a runner's backward of it is not recorded */
	/* how the last of each kind was begun */
	uint8_t forward_how, backward_how, recompute_how;
};

/* The seeds that a generator can have; FOLDED is added to one of the others. */
enum {
	MATRIX_SEED_FIRST,
	MATRIX_SEED_SECOND,
	MATRIX_SEED_FOLDED,
	MATRIX_SEEDS_N = 4
};

/* Where a forward draws: how many forwards have drawn there before it. */
struct matrix_place {
	uint8_t seed;
	uint8_t at_end; /* counted from one forward before the end */
	uint16_t number;
};

/* The places of the next forwards. */
struct matrix_places {
	struct matrix_place own[MATRIX_GENERATORS_MAX]; /* a generator's own */
	uint16_t in[MATRIX_REGIONS]; /* numbers of regions not SHARED */
};

/* matrix_place() returns the place of a region's next forward. */
struct matrix_place matrix_place(const struct matrix_limits *limits,
				 const struct matrix_places *places,
				 unsigned region);

/* matrix_place_exists() is 0 if the offset has reached 2^64. */
int matrix_place_exists(struct matrix_place place, unsigned iterations);

/*
 * matrix_place_take() moves a region on by a forward, whose place it returns.
 */
struct matrix_place matrix_place_take(const struct matrix_limits *limits,
				      struct matrix_places *places,
				      unsigned region, unsigned iterations);

/* A forward of an event. */
struct matrix_draw {
	uint8_t region;
	uint8_t iterations;
};

/*
 * matrix_draws() lists where an event draws like a forward, in order of begin.
 */
unsigned matrix_draws(const struct matrix_limits *limits,
		      const struct matrix_event *event,
		      struct matrix_draw draws[2]);

/*
 * matrix_places_tell() advances by an event, writes the places it has taken and
 * returns their number.
 */
unsigned matrix_places_tell(const struct matrix_limits *limits,
			    struct matrix_places *places,
			    const struct matrix_event *event,
			    struct matrix_place taken[2]);

/*
 * matrix_is_restart() says whether an event restarts a generator's regions,
 * matrix_is_move() whether it moves the generator, with those that are SHARED.
 */
int matrix_is_restart(const struct matrix_event *event);
int matrix_is_move(const struct matrix_event *event);

/* What has become of a runner's function so far. */
enum matrix_stage {
	MATRIX_AT_FIRST,
	MATRIX_WARM,    /* to be recorded by its next call */
	MATRIX_UNKNOWN, /* the same, and no body has run under its key */
	MATRIX_RECORDED =
		16 /* plus the regions that went after that, as bits */
};

/* By kind, region, and region of the ticket that is repeated beside. */
typedef uint8_t matrix_stages[MATRIX_PLAIN][MATRIX_REGIONS][MATRIX_REGIONS];

/* A run as a whole, read from its beginning. */
struct matrix_view {
	unsigned next; /* the number of the next forward */
	unsigned open; /* passes and launches */
	unsigned open_in[MATRIX_REGIONS];
	unsigned pending[MATRIX_REGIONS];
	uint8_t shared_open[MATRIX_GENERATORS_MAX]; /* an eager forward is */
	struct matrix_places places;
	matrix_stages again, replay; /* of functions called in these ways */
	struct matrix_story of[MATRIX_NONE + 1]; /* valid below `next` */
};

void matrix_look(const struct matrix_run *run, struct matrix_view *view);

/*
 * matrix_judge() writes what an event must give: its status, and of a call as
 * what it is executed and which forwards draw all the same.
 */
void matrix_judge(const struct matrix_view *view,
		  const struct matrix_limits *limits,
		  struct matrix_event *event);

/* matrix_push() appends an event, with what it must give. */
void matrix_push(struct matrix_run *run, struct matrix_event event);

/* matrix_possible() says whether an event makes sense after a run. */
int matrix_possible(const struct matrix_run *run,
		    const struct matrix_event *event);

/*
 * matrix_choices() lists the events that may follow, including those that must
 * be refused if the classes say so, and returns their number.
 */
unsigned matrix_choices(const struct matrix_run *run,
			struct matrix_event *choices);

/* matrix_classes() returns the classes a search needs to include this event. */
unsigned matrix_classes(const struct matrix_event *event);

/*
 * matrix_close() appends the closing of a run: open passes end, pending tickets
 * get their backwards, every used-up ticket is tried, and each region draws
 * once more.
 */
void matrix_close(struct matrix_run *run);

/* matrix_makes() returns how many tickets an event makes. */
unsigned matrix_makes(const struct matrix_event *event);

/* matrix_is_refused() says whether an event must be refused as misuse. */
int matrix_is_refused(const struct matrix_event *event);

/* matrix_is_left_out() says whether a search of only runners has no such. */
int matrix_is_left_out(unsigned classes, const struct matrix_event *event);

/* --- calls of a runner's functions, kinds.c ------------------------------- */

/*
 * matrix_kind() returns as what a call must be executed, an enum
 * philox_call_kind, and 0 for other events. A launch would be refused by use
 * number `refused`, or by none.
 */
enum { MATRIX_NOT_REFUSED = 3 };

uint8_t matrix_kind(const struct matrix_view *view,
		    const struct matrix_limits *limits,
		    const struct matrix_event *event, unsigned refused);

/* matrix_tell_kind() notes what becomes of functions by an event. */
void matrix_tell_kind(struct matrix_view *view,
		      const struct matrix_event *event);

/*
 * matrix_function() finds the indices of an event's function, which is that of
 * all events that do the same.
 */
struct matrix_function {
	uint8_t kind, region, other;
};

struct matrix_function matrix_function(const struct matrix_view *view,
				       const struct matrix_event *event);

/* matrix_is_inside() says whether it has a pass in a region. */
int matrix_is_inside(const struct matrix_limits *limits,
		     struct matrix_function function, unsigned region);

/* --- numbers -------------------------------------------------------------- */

/* The states of a pass and, if numbers were drawn, the numbers. */
struct matrix_numbers {
	struct philox_state cell[MATRIX_CELLS];
	uint32_t word[MATRIX_OPS][MATRIX_WORDS];
};

enum matrix_role {
	MATRIX_FRESH,   /* numbers of a new forward */
	MATRIX_REPEAT,  /* must be those of `ticket` */
	MATRIX_PREVIEW, /* a warm-up: the next forward's numbers */
	MATRIX_POISON,  /* no numbers */
	MATRIX_NOTHING  /* nothing ran */
};

struct matrix_seen {
	uint16_t event; /* its place in the run */
	uint8_t role;
	uint8_t ticket; /* MATRIX_NONE: the last forward without a ticket */
	uint8_t region;
	uint8_t forward;          /* of the event's forwards, which is drawn or
			      repeated; MATRIX_NONE: the ticket's */
	uint8_t iteration;        /* of that */
	uint8_t in_bodies;        /* what ran is in `ran`, must be in `must` */
	uint32_t must[2], ran[2]; /* pass and view; run of the body */
	struct matrix_numbers numbers;
};

/* The operators that every region has, and their cells. */
struct matrix_shape {
	unsigned ops;
	unsigned cells;
	struct philox_op_desc op[MATRIX_OPS];
	uint8_t op_of[MATRIX_CELLS];
	uint64_t largest; /* words a forward takes from its region */
	uint64_t sum;     /* ... or from its generator, if SHARED */
	int draw;         /* words are drawn, not only states read */
};

void matrix_shape_init(struct matrix_shape *shape, unsigned ops, int draw);

/* The seeds of the generators, and of the cells of regions not SHARED. */
struct matrix_seeds {
	uint64_t of[MATRIX_GENERATORS_MAX][MATRIX_SEEDS_N];
	uint64_t cell[MATRIX_REGIONS][MATRIX_SEEDS_N][MATRIX_CELLS];
};

#define MATRIX_FOLD_INDEX 3

void matrix_seeds_init(struct matrix_seeds *seeds,
		       const struct matrix_limits *limits,
		       const struct matrix_shape *shape);

/* matrix_region_name() writes the name of a region, at most 16 bytes. */
void matrix_region_name(unsigned region, char *name);

/* matrix_own_state() returns the state of a generator. */
struct philox_state matrix_own_state(const struct matrix_seeds *seeds,
				     const struct matrix_shape *shape,
				     unsigned generator,
				     struct matrix_place place);

/* matrix_cells() writes the cells of a forward of a region. */
void matrix_cells(const struct matrix_limits *limits,
		  const struct matrix_seeds *seeds,
		  const struct matrix_shape *shape, unsigned region,
		  struct matrix_place place, struct philox_state *cells);

/*
 * matrix_check() checks the numbers seen in a run against the rules, adds the
 * comparisons made to *comparisons, and returns the place of the first event
 * that is wrong, with the reason in `message`, or -1.
 */
int matrix_check(const struct matrix_run *run, const struct matrix_shape *shape,
		 const struct matrix_seeds *seeds,
		 const struct matrix_seen *seen, unsigned n_seen,
		 uint64_t *comparisons, char *message, size_t size);

/* --- the library under test ----------------------------------------------- */

struct matrix_bed;

/*
 * matrix_bed_create() opens a device with a context and the regions that
 * `limits` asks for; NULL and a message on failure.
 */
struct matrix_bed *matrix_bed_create(const char *device,
				     const struct matrix_limits *limits,
				     const struct matrix_shape *shape,
				     char *message, size_t size);
void matrix_bed_destroy(struct matrix_bed *bed);

struct matrix_result {
	int wrong;         /* place of the first wrong event, or -1 */
	unsigned n_events; /* carried out, without the closing */
	uint64_t comparisons;
	uint64_t calls, replays; /* of functions of a runner */
	char message[512];
};

/*
 * matrix_bed_run() carries out a run from the beginning and its closing, and
 * checks everything. A bed must not be used again after a mismatch.
 */
void matrix_bed_run(struct matrix_bed *bed, const struct matrix_run *run,
		    struct matrix_result *result);

/* matrix_bed_calls() adds the graph launches made and their device calls. */
void matrix_bed_calls(const struct matrix_bed *bed, uint64_t *launches,
		      uint64_t *calls);

/* --- searching ------------------------------------------------------------ */

struct matrix_options {
	const char *device;
	const char *random_device;               /* of random runs; NULL: it */
	const char *replay;                      /* or NULL */
	const char *schedule;                    /* or NULL */
	unsigned forwards, length, ops, regions; /* 0: the defaults */
	unsigned shared, generators;             /* the same */
	unsigned stages, microbatches;
	unsigned pending; /* of a replay: room for tickets in a region */
	int json, longer;
	int bodies; /* branches and loops, too */
	int runner; /* passes as functions of a runner */
};

struct matrix_total {
	uint64_t sequences; /* runs made and checked, all different */
	uint64_t random;    /* of these, random ones */
	uint64_t events;
	uint64_t comparisons;
	uint64_t mismatches;
	uint64_t calls, replays;     /* of functions of a runner */
	char first[4096];            /* the shortest mismatch, for --replay */
	char message[512];           /* its message */
	struct matrix_limits limits; /* ... within these */
	const char *device;          /* ... on this one */
	char error[512];             /* why the search was impossible, or "" */
	char searches[MATRIX_SEARCHES][128]; /* in words, "" after the last */
	uint64_t by_search[MATRIX_SEARCHES]; /* sequences of each */
};

/*
 * matrix_search() runs everything and returns 0 unless it could not.
 */
int matrix_search(const struct matrix_options *options,
		  struct matrix_total *total);

/*
 * matrix_schedules() runs options->schedule, the name of one or "all", and
 * returns an exit status.
 */
int matrix_schedules(const struct matrix_options *options);

#define MATRIX_MESSAGE 600 /* size of a schedule's message */

/* The cost of a schedule, all its stages together. */
struct matrix_cost {
	double calls;     /* of the device, for a replay */
	unsigned pending; /* most tickets of a region */
	char message
		[MATRIX_MESSAGE]; /* if it could not be run, or had a mismatch */
};

/* matrix_schedule_cost() returns 0, or -1 with the reason in the message. */
struct schedule;
int matrix_schedule_cost(const struct matrix_options *options,
			 const struct schedule *schedule,
			 struct matrix_cost *cost);

/* --- forms: graphs with branches and loops, and what they must do --------- */

/*
 * A form is such a graph, written as a program:
 *
 *   F G I   a forward; in the next region; with PHILOX_PASS_INFERENCE
 *   B R     a backward, a recompute of the last forward before it
 *   N K L   a backward, a recompute that is named at launch; a backward
 *           linked to the last such pass
 *   *       after F: begun for LOOP_LIMIT iterations
 *   ~       after B: PHILOX_PASS_REVERSED
 *   @       after a pass: it also draws the iteration that a word says
 *   .1      after a pass: it also draws iteration 1
 *   ?( )    IF; ?( )( ) with two bodies; s( )( ) a SWITCH
 *   3( )    WHILE, its limit; o3( ) with a condition that kernels of the
 *           caller's set; t3( ) with one that is set twice in each run
 *
 * The digits of a launch are what its device memory says, in the order in which
 * the device asks: how often a WHILE wants to run its body this time, the
 * condition of an IF or a SWITCH, and the iterations for "@".
 *
 * What each run of each pass must see follows from the rules of
 * philox/graph.h alone: form_play() runs the program like a plain
 * sequential one.
 */

enum {
	FORM_COUNT = 43,
	FORM_SPOILED = 6, /* each sixth is captured with a failure, too */
	FORM_OPS = 24,
	FORM_PASSES = 4, /* most passes */
	FORM_BODIES = 5, /* most bodies, and what is in none */
	FORM_DEPTH = 2,  /* of bodies in bodies */
	FORM_TAPES = 4,
	FORM_TAPE = 16, /* words that are read from a tape, at most */
	FORM_VIEWS = 4, /* of a pass, and the pass itself */
	FORM_SEEN = 20, /* most that a launch draws */
	FORM_DIGITS = 16,
	FORM_LOOP = 3,    /* iterations of a forward with "*" */
	FORM_OUTSIDE = 0, /* the body of what is in none */
	FORM_NAMED = 255  /* the forward is named at launch */
};

/* What a program does next. */
struct form_op {
	char what; /* a pass: P; a node: ? s w; its bodies: ( ); its end: e */
	uint8_t pass;   /* which */
	uint8_t body;   /* "(": which */
	uint8_t tape;   /* of a node: where its conditions are */
	uint8_t bodies; /* of a node */
	uint8_t limit;  /* of a WHILE */
	char setter;    /* of a WHILE: o, t or 0 */
};

struct form_pass {
	char what;
	uint8_t body;
	uint8_t iterations; /* of a forward, or those it may need of one */
	uint8_t forward;    /* which of the program's, or FORM_NAMED */
	uint8_t source;     /* the pass it is linked to, or FORM_NAMED */
	uint8_t is_forward, consumes, loop, reversed;
	uint8_t word, tape; /* "@", and where its iterations are */
	uint8_t views, view[FORM_VIEWS];
};

struct form {
	const char *program, *choices; /* launches: digits, with blanks */
	unsigned n_ops, n_passes, n_tapes, n_bodies;
	struct form_op op[FORM_OPS];
	struct form_pass pass[FORM_PASSES];
	uint8_t parent[FORM_BODIES]; /* of a body */
	uint8_t limit[FORM_BODIES];
	unsigned forwards;   /* that draw */
	unsigned first[2];   /* their passes */
	unsigned makes;      /* tickets */
	unsigned last_named; /* of its passes that is named at launch */
	unsigned named;      /* a ticket is named at launch */
	unsigned needs;      /* iterations of that */
	unsigned consumes;   /* that ticket is used up */
};

const struct form *form_of(unsigned number);

/* form_choices() returns how many launches of a form there are to choose. */
unsigned form_choices(const struct form *form);

/* form_digits() writes the digits of one of these. */
void form_digits(const struct form *form, unsigned choice,
		 char digits[FORM_DIGITS]);

/*
 * form_is_with_source() says whether a pass repeats what the one that it is
 * linked to draws in the same run, because that is in its body or around it.
 */
int form_is_with_source(const struct form *form, const struct form_pass *pass);

/* One thing that is drawn in a launch. */
struct form_seen {
	uint8_t pass;
	uint8_t view; /* 0: the pass itself */
	uint8_t fresh;
	uint8_t iteration; /* of its forward */
	uint8_t poison;
	uint32_t number; /* of the run of its body; 0 outside of bodies */
};

struct form_play {
	unsigned n;
	struct form_seen seen[FORM_SEEN];
	unsigned beyond, cut; /* that philox_context_check() must report */
	uint32_t tape[FORM_TAPES][FORM_TAPE];
};

/*
 * form_play() finds what a launch with these digits must do. `untold`: philox
 * was not told about it; `named`: iterations of the ticket named at launch.
 */
void form_play(const struct form *form, const char *digits, int untold,
	       unsigned named, struct form_play *play);

#endif
