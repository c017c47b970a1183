/*
 * tools/bench/bench.h - shared by the parts of `philox bench`
 *
 * A part measures something and prints rows. Times are medians of rounds that
 * are interleaved with those of the peer, with which they are compared; the
 * first round warms up and is not counted. Each part's legend describes its
 * peers.
 */
#ifndef TOOLS_BENCH_BENCH_H
#define TOOLS_BENCH_BENCH_H

#include <stddef.h>
#include <philox.h>

#define BENCH_SIZES_MAX 8

struct bench {
	struct philox_device *device;
	struct philox_context *context;
	philox_stream stream;
	unsigned threads;   /* of a fill on a host device */
	int json;           /* one object per line instead of a table */
	int quick;          /* one short round, to see that it works */
	const char *prefix; /* of the wanted rows, or NULL: all */
	size_t sizes[BENCH_SIZES_MAX]; /* of arrays, in bytes */
	size_t n_sizes;                /* 0: the part's own */
	size_t rows;                   /* printed so far */
	const char *part;              /* that is running */
	size_t done, all; /* pieces of work of about one length, for progress */
};

/* A bench function returns 0, or -1 after printing what failed. */
int bench_ledger(struct bench *bench);
int bench_replay(struct bench *bench);
int bench_fill(struct bench *bench);
int bench_states(struct bench *bench);
int bench_values(struct bench *bench);
int bench_loops(struct bench *bench);
int bench_rows(struct bench *bench);
int bench_quantize(struct bench *bench);
int bench_pool(struct bench *bench);
int bench_runner(struct bench *bench);
int bench_ranks(struct bench *bench);
int bench_schedules(struct bench *bench);
int bench_growth(struct bench *bench);

/* How many pieces of work it has (bench_step()). */
size_t bench_ledger_steps(const struct bench *bench);
size_t bench_replay_steps(const struct bench *bench);
size_t bench_fill_steps(const struct bench *bench);
size_t bench_states_steps(const struct bench *bench);
size_t bench_values_steps(const struct bench *bench);
size_t bench_loops_steps(const struct bench *bench);
size_t bench_rows_steps(const struct bench *bench);
size_t bench_quantize_steps(const struct bench *bench);
size_t bench_pool_steps(const struct bench *bench);
size_t bench_runner_steps(const struct bench *bench);
size_t bench_ranks_steps(const struct bench *bench);
size_t bench_schedules_steps(const struct bench *bench);
size_t bench_growth_steps(const struct bench *bench);

/* --- rows ----------------------------------------------------------------- */

/* One figure. Members that are zero are absent. */
struct bench_row {
	const char *name;
	double value; /* NAN: could not be measured */
	const char *unit;
	const char *peer;  /* the name of the peer */
	double peer_value; /* NAN: the peer is missing */
	const char *note;  /* why it is missing, or which version it is */
};

/* bench_print() prints a row, bench_print_wanted() if --only leaves it. */
void bench_print(struct bench *bench, const struct bench_row *row);
void bench_print_wanted(struct bench *bench, const struct bench_row *row);

/* bench_name() writes the name of a row: it stands until the next one. */
const char *bench_name(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* bench_row() prints a figure; `peer` is NULL if there is none to compare. */
void bench_row(struct bench *bench, const char *name, double value,
	       const char *unit, const char *peer, double peer_value);

/* bench_machine() prints the machine: the first row. */
void bench_machine(struct bench *bench, const char *device);

/*
 * bench_step() is called before each piece of work of about half a second: it
 * shows progress. A part that has several says how many (bench_*_steps()).
 */
void bench_step(struct bench *bench);

/* bench_wants() says whether --only leaves rows whose names begin like this. */
int bench_wants(const struct bench *bench, const char *name);

/* --- measuring ------------------------------------------------------------ */

/*
 * bench_now() reads a clock in nanoseconds, and bench_worked() how long this
 * thread has worked.
 */
double bench_now(void);
double bench_worked(void);

/* bench_median() sorts `values` and returns the middle one. */
double bench_median(double *values, int count);

/*
 * bench_rounds() measures `n` figures in each round, of which the first one
 * warms up, and writes their medians. It returns what round() did that failed,
 * or 0.
 */
#define BENCH_ROUNDS      15 /* at most: odd, the median is one of them */
#define BENCH_FIGURES_MAX 8
int bench_rounds(int rounds, size_t n, int (*round)(void *of, double *figures),
		 void *of, double *medians);

/* bench_try() prints the message of a call that failed: 0, or -1. */
int bench_try(const char *what, enum philox_status status);

/* bench_wait() waits for the stream. */
enum philox_status bench_wait(const struct bench *bench);

/* bench_capture_values() adds `n` values of `bytes` each to a capture. */
enum philox_status bench_capture_values(const struct bench *bench, uint32_t n,
					size_t bytes);

/*
 * bench_heap() returns what malloc() counts (a sanitizer's counts nothing), or
 * NAN if the C library does not tell.
 */
double bench_heap(void);

/* --- pieces of work ------------------------------------------------------- */

/*
 * A series is pieces of work that are like one another: wanted() tells whether
 * --only leaves a row of one, measure() measures it, and returns 0, or -1 after
 * printing what failed.
 */
struct bench_series {
	size_t n;
	int (*wanted)(const struct bench *bench, size_t i);
	int (*measure)(void *of, size_t i);
};

size_t bench_series_steps(const struct bench *bench,
			  const struct bench_series *series);
int bench_series_run(const struct bench *bench,
		     const struct bench_series *series, void *of);

/*
 * A group of figures of a part says how many pieces of work its wanted rows are
 * (bench_step()), and measures them: 0, or -1 after printing what failed. Lists
 * of groups end with NULL.
 */
struct bench_group {
	int (*run)(struct bench *bench);
	size_t (*steps)(const struct bench *bench);
	const struct bench_series *series; /* NULL, or instead of steps() */
};

size_t bench_groups_steps(const struct bench *bench,
			  const struct bench_group *const groups[]);
int bench_groups_run(struct bench *bench,
		     const struct bench_group *const groups[]);

/* --- race: contestants that take turns ------------------------------------ */

/*
 * In every round each racer runs once, A B C A B C ..., so that a disturbance
 * of the machine affects all of them; a racer's figure is the median of its
 * rounds. How often it repeats its work within a round is found first: often
 * enough that clocks and launches of the first repetition do not matter, and
 * not so often that the race takes longer than it may.
 */

#define RACE_ROUNDS   7 /* odd: the median is one of them */
#define RACE_NOTE_MAX 160

/* Nanoseconds: until the calls had returned, and until the work was done. */
struct race_time {
	double call, whole;
};

struct racer {
	const char *name;
	/*
	 * Does the work `times` times, waits for it and writes how long it took
	 * in all. 0, or -1 with a note, which ends the race for this racer.
	 */
	int (*run)(struct racer *racer, int times, struct race_time *time);
	void *of;                 /* for run() */
	char note[RACE_NOTE_MAX]; /* set before the race: does not take part */
	int out;                  /* does not or no longer take part */

	struct race_time median; /* of one repetition, after the race */

	/* the race's own */
	int times;
	double estimate; /* of a round */
	double call[RACE_ROUNDS], whole[RACE_ROUNDS];
};

/*
 * race() lets racers run for about `budget` nanoseconds, 0 meaning a single
 * round of one repetition. Slow ones overrun it: each runs four times.
 */
void race(struct racer *racers, size_t count, double budget);

/* race_failed() says which racer is out, and why: -1; or 0. */
int race_failed(const struct racer *racers, size_t count);

/*
 * For run(): race_repeat() does work() `times` times and waits for the stream,
 * by its status; race_note() returns what run() does after a status.
 */
enum philox_status race_repeat(const struct bench *bench, int times,
			       enum philox_status (*work)(void *of), void *of,
			       struct race_time *time);
int race_note(struct racer *racer, enum philox_status status);

/* --- torch: a Python process with PyTorch in it, as a peer ---------------- */

struct torch;

/*
 * torch_open() starts PHILOX_PYTHON, or python3, with the script pytorch.py of
 * peer_path() on `threads` threads of the CPU or on the device's GPU. It
 * returns the process with a note of its version, or NULL with a note of what
 * is missing. torch_close() ends it; NULL is allowed.
 */
struct torch *torch_open(struct philox_device *device, unsigned threads,
			 char note[RACE_NOTE_MAX]);
void torch_close(struct torch *torch);

/*
 * torch_ask() sends one line, without its end, and reads the times in the
 * answer. 0, or -1 with a note.
 */
int torch_ask(struct torch *torch, const char *line, struct race_time *time,
	      char note[RACE_NOTE_MAX]);

#endif
