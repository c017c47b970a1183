/*
 * tools/matrix/search.c - the searches and the processes that make them
 *
 * Several searches have different events and lengths; a run that an earlier
 * search has made is left out, so that the runs counted are all different.
 * Worker processes share the work by the first two events of a run. They report
 * in shared memory, which also holds the current run in case they die.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tools/cli/cli.h"
#include "tools/matrix/matrix.h"

#define WORKERS_MAX 16

#define WHOLE       (MATRIX_GRAPHS | MATRIX_RETAINS)
#define PASSES_ONLY                                                          \
	(MATRIX_ALL & ~(MATRIX_GENERATORS | MATRIX_CAPTURES | MATRIX_SEEDS | \
			MATRIX_SAVES | MATRIX_REMAKES))

/*
 * Regions, SHARED ones, generators; forwards, open; lengths; random ones;
 * milliseconds, for the time left only; graphs with bodies.
 */
static const struct search searches[] = {
	{"everything", MATRIX_ALL, 2, 0, 1, 3, 2, 3, 4, 0, 860, 93000, 0},
	{"everything, SHARED", MATRIX_ALL, 2, 2, 1, 3, 2, 3, 4, 0, 910, 98000,
	 0},
	{"passes, one region", PASSES_ONLY, 1, 0, 1, 3, 2, 4, 4, 0, 4300, 4300,
	 0},
	{"orders", MATRIX_GRAPHS, 1, 0, 1, 4, 0, 8, 9, 0, 170, 1400, 0},
	{"orders, retained", WHOLE | MATRIX_RECOMPUTES, 1, 0, 1, 3, 0, 6, 7, 0,
	 540, 4300, 0},
	{"orders, two regions", WHOLE, 2, 0, 1, 3, 0, 6, 7, 0, 700, 5600, 0},
	{"failures", WHOLE | MATRIX_ABORTS | MATRIX_BREAKS, 1, 0, 1, 3, 0, 5, 6,
	 0, 270, 2200, 0},
	{"overlaps",
	 MATRIX_OVERLAPS | MATRIX_GRAPHS | MATRIX_ABORTS | MATRIX_RECOMPUTES |
		 MATRIX_REFUSALS,
	 1, 0, 1, 2, 3, 5, 6, 0, 380, 3000, 0},
	{"overlaps, SHARED",
	 MATRIX_OVERLAPS | MATRIX_GRAPHS | MATRIX_UNTRACKED | MATRIX_REFUSALS,
	 2, 2, 1, 2, 2, 4, 5, 0, 190, 1500, 0},
	{"seeds and releases",
	 MATRIX_SEEDS | MATRIX_RELEASES | MATRIX_UNTRACKED | MATRIX_REFUSALS |
		 MATRIX_GRAPHS,
	 1, 0, 1, 3, 0, 5, 6, 0, 160, 1300, 0},
	{"generators",
	 MATRIX_SEEDS | MATRIX_GENERATORS | MATRIX_UNTRACKED | MATRIX_SAVES |
		 MATRIX_REFUSALS | MATRIX_GRAPHS,
	 3, 2, 2, 2, 0, 3, 4, 0, 80, 600, 0},
	{"one graph", MATRIX_ONE_GRAPH | MATRIX_GRAPHS | MATRIX_ABORTS, 1, 0, 1,
	 3, 0, 5, 6, 0, 550, 4400, 0},
	{"one graph, SHARED",
	 MATRIX_ONE_GRAPH | MATRIX_GRAPHS | MATRIX_BREAKS | MATRIX_GENERATORS |
		 MATRIX_REFUSALS,
	 2, 1, 1, 3, 0, 4, 5, 0, 920, 7400, 0},
	{"random, SHARED", MATRIX_ALL, 4, 3, 2, 24, 4, 60, 100, 1000, 1600,
	 27000, 0},
	{"random", MATRIX_ALL, 2, 0, 1, 24, 4, 60, 100, 1000, 1130, 19000, 0},
};

enum { SEARCHES = sizeof(searches) / sizeof(searches[0]) };

/* With --bodies: graphs with branches and loops. */
#define WITH_BODIES    (MATRIX_ALL | MATRIX_LOOPS)
#define BODIES         (MATRIX_LOOPS | MATRIX_GRAPHS)
#define FORM_BIT(n)    (UINT64_C(1) << (n))
#define FIRST_FORMS(n) (FORM_BIT(n) - 1)
#define THREE_FORMS    (FORM_BIT(0) | FORM_BIT(6) | FORM_BIT(12))

static const struct search bodies[] = {
	{"all graphs", WITH_BODIES & ~MATRIX_CAPTURES, 1, 0, 1, 3, 2, 2, 3, 0,
	 800, 140000, MATRIX_ALL_FORMS},
	{"all graphs, SHARED",
	 BODIES | MATRIX_GENERATORS | MATRIX_SEEDS | MATRIX_ABORTS |
		 MATRIX_REFUSALS,
	 2, 2, 1, 3, 0, 2, 3, 0, 1200, 220000, MATRIX_ALL_FORMS},
	{"spoiled captures", BODIES | MATRIX_CAPTURES, 1, 0, 1, 3, 0, 2, 2, 0,
	 900, 900, THREE_FORMS},
	{"loops", BODIES, 1, 0, 1, 3, 0, 4, 5, 0, 700, 8000, FIRST_FORMS(3)},
	{"loops, retained", WHOLE | MATRIX_LOOPS | MATRIX_RECOMPUTES, 1, 0, 1,
	 3, 0, 3, 4, 0, 60, 800, FIRST_FORMS(3)},
	{"loops, failures",
	 BODIES | MATRIX_ABORTS | MATRIX_BREAKS | MATRIX_SAVES | MATRIX_REMAKES,
	 1, 0, 1, 3, 0, 3, 3, 0, 4500, 4500, FIRST_FORMS(8)},
	{"loops, SHARED", BODIES | MATRIX_UNTRACKED, 2, 2, 1, 3, 0, 3, 4, 0,
	 500, 9000, FIRST_FORMS(3)},
	{"random", WITH_BODIES & ~MATRIX_CAPTURES, 4, 3, 2, 24, 4, 60, 100,
	 1000, 1200, 20000, MATRIX_ALL_FORMS},
};

enum { SEARCHES_BODIES = sizeof(bodies) / sizeof(bodies[0]) };

/* With --runner: passes as functions of a runner, most often all of them. */
#define RUNNERS (MATRIX_ALL | MATRIX_RUNNERS)
#define CALLS   (MATRIX_RUNNERS | MATRIX_ONLY_RUNNERS)

static const struct search runners[] = {
	{"everything", RUNNERS, 2, 0, 1, 3, 2, 2, 3, 0, 1200, 180000, 0},
	{"everything, SHARED", RUNNERS, 2, 2, 1, 3, 2, 2, 3, 0, 1200, 180000,
	 0},
	{"calls",
	 CALLS | MATRIX_RETAINS | MATRIX_RECOMPUTES | MATRIX_ABORTS |
		 MATRIX_BREAKS | MATRIX_RELEASES | MATRIX_UNTRACKED |
		 MATRIX_REFUSALS,
	 1, 0, 1, 3, 0, 3, 4, 0, 1300, 70000, 0},
	{"calls, orders", CALLS, 1, 0, 1, 3, 0, 6, 7, 0, 2500, 22000, 0},
	{"calls, two regions", CALLS | MATRIX_RETAINS, 2, 0, 1, 3, 0, 4, 5, 0,
	 1400, 21000, 0},
	{"calls, failures", CALLS | MATRIX_ABORTS | MATRIX_BREAKS, 1, 0, 1, 2,
	 0, 4, 5, 0, 2500, 60000, 0},
	{"calls, seeds",
	 CALLS | MATRIX_SEEDS | MATRIX_RELEASES | MATRIX_REMAKES | MATRIX_SAVES,
	 1, 0, 1, 3, 0, 4, 5, 0, 400, 5000, 0},
	{"calls, SHARED",
	 CALLS | MATRIX_SEEDS | MATRIX_GENERATORS | MATRIX_UNTRACKED |
		 MATRIX_REFUSALS,
	 2, 1, 1, 2, 0, 3, 4, 0, 600, 24000, 0},
	{"calls, overlaps",
	 CALLS | MATRIX_OVERLAPS | MATRIX_GRAPHS | MATRIX_REFUSALS, 2, 2, 1, 2,
	 2, 4, 5, 0, 1800, 22000, 0},
	{"calls, one body", CALLS | MATRIX_ONE_GRAPH | MATRIX_REFUSALS, 2, 1, 1,
	 3, 0, 3, 4, 0, 2300, 140000, 0},
	{"random, SHARED", RUNNERS, 4, 3, 2, 24, 4, 60, 100, 400, 2500, 45000,
	 0},
	{"random", RUNNERS, 2, 0, 1, 24, 4, 60, 100, 400, 2500, 45000, 0},
};

enum { SEARCHES_RUNNERS = sizeof(runners) / sizeof(runners[0]) };

_Static_assert((int)SEARCHES <= (int)MATRIX_SEARCHES &&
		       (int)SEARCHES_BODIES <= (int)SEARCHES &&
		       (int)SEARCHES_RUNNERS <= (int)SEARCHES,
	       "each has a total and a place");

static void work(struct worker *worker, unsigned n_searches)
{
	struct report *report = report_of(worker);

	worker->choices = malloc((MATRIX_EVENTS / 4 + 1) * MATRIX_CHOICES *
				 sizeof(*worker->choices));
	if (!worker->choices) {
		snprintf(report->total.error, sizeof(report->total.error),
			 "out of memory");
		return;
	}
	for (unsigned i = 0; i < n_searches; i++) {
		worker->search = &worker->table[i];
		report->part = 0;
		report->search = i;
		worker->prefixes = 0;
		if (search_run(worker))
			break;
	}
	free(worker->choices);
	report->finished = 1;
}

static double cost_of(const struct matrix_options *options,
		      const struct search *search)
{
	return options->longer ? search->longer_cost : search->cost;
}

/* How much of its searches a worker has done, from 0 to 1. */
static double part_done(const struct matrix_options *options,
			const struct search *table, unsigned n_searches,
			const struct report *report)
{
	double all = 0, done = 0;

	for (unsigned i = 0; i < n_searches; i++) {
		double cost = cost_of(options, &table[i]);

		all += cost;
		if (i < report->search || report->finished)
			done += cost;
		else if (i == report->search)
			done += cost * report->part;
	}
	return done / all;
}

static void show_progress(const struct matrix_options *options,
			  const struct search *table, unsigned n_searches,
			  const struct report *reports, unsigned workers)
{
	uint64_t sequences = 0;
	const struct report *last = &reports[0]; /* the one furthest behind */
	double least = 1, part;
	char detail[48];

	for (unsigned i = 0; i < workers; i++) {
		sequences += reports[i].total.sequences;
		part = part_done(options, table, n_searches, &reports[i]);
		if (part < least) {
			least = part;
			last = &reports[i];
		}
	}
	snprintf(detail, sizeof(detail), "%" PRIu64 " sequences", sequences);
	progress_show(&(struct progress){.name = table[last->search].name,
					 .part = least,
					 .whole = least,
					 .detail = detail});
}

/* A worker that died was carrying out the run in its report. */
static void note_death(struct report *report, int status)
{
	report->total.mismatches++;
	if (report->shortest && report->shortest <= report->run.n)
		return;
	matrix_run_text(report->run.events, report->run.n, report->total.first,
			sizeof(report->total.first));
	snprintf(report->total.message, sizeof(report->total.message),
		 "the process died from signal %d (%s)", WTERMSIG(status),
		 strsignal(WTERMSIG(status)));
	report->total.limits = report->run.limits;
	report->total.device = report->device;
	report->shortest = report->run.n;
}

static void wait_for(const struct matrix_options *options,
		     const struct search *table, unsigned n_searches,
		     struct report *reports, const pid_t *pids,
		     unsigned workers)
{
	for (unsigned i = 0; i < workers; i++) {
		struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
		int status = 0;

		while (waitpid(pids[i], &status, WNOHANG) == 0) {
			show_progress(options, table, n_searches, reports,
				      workers);
			nanosleep(&pause, NULL);
		}
		if (WIFSIGNALED(status))
			note_death(&reports[i], status);
		else if (!reports[i].finished && !reports[i].total.error[0])
			snprintf(reports[i].total.error,
				 sizeof(reports[i].total.error),
				 "a worker ended early");
	}
	progress_end();
}

static void add_up(const struct report *reports, unsigned workers,
		   struct matrix_total *total)
{
	unsigned shortest = 0;

	memset(total, 0, sizeof(*total));
	for (unsigned i = 0; i < workers; i++) {
		const struct report *report = &reports[i];

		total->sequences += report->total.sequences;
		total->random += report->total.random;
		total->events += report->total.events;
		total->comparisons += report->total.comparisons;
		total->mismatches += report->total.mismatches;
		total->calls += report->total.calls;
		total->replays += report->total.replays;
		for (unsigned k = 0; k < MATRIX_SEARCHES; k++)
			total->by_search[k] += report->total.by_search[k];
		if (report->total.error[0])
			memcpy(total->error, report->total.error,
			       sizeof(total->error));
		if (!report->shortest ||
		    (shortest && shortest <= report->shortest))
			continue;
		shortest = report->shortest;
		total->limits = report->total.limits;
		total->device = report->total.device;
		memcpy(total->first, report->total.first, sizeof(total->first));
		memcpy(total->message, report->total.message,
		       sizeof(total->message));
	}
}

static int run_workers(const struct matrix_options *options,
		       const struct search *table, unsigned n_searches,
		       struct report *reports, unsigned workers)
{
	pid_t pids[WORKERS_MAX];

	fflush(NULL);
	for (unsigned i = 0; i < workers; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return -1;
		if (!pids[i]) {
			struct worker worker = {.options = options,
						.reports = reports,
						.number = i,
						.workers = workers,
						.table = table};

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			work(&worker, n_searches);
			_exit(0);
		}
	}
	wait_for(options, table, n_searches, reports, pids, workers);
	return 0;
}

static int is_given(const struct matrix_options *options)
{
	return options->forwards || options->length || options->regions ||
	       options->shared || options->generators;
}

/* The table of searches, or one of all events within the options. */
static unsigned choose_searches(const struct matrix_options *options,
				struct search *table)
{
	struct search *all = &table[0], *random = &table[1];
	const struct search *from = options->runner   ? runners
				    : options->bodies ? bodies
						      : searches;
	unsigned n = options->runner   ? SEARCHES_RUNNERS
		     : options->bodies ? SEARCHES_BODIES
				       : SEARCHES;

	if (!is_given(options)) {
		memcpy(table, from, n * sizeof(*from));
		return n;
	}
	*all = from[0];
	*random = from[n - 1];
	if (options->forwards)
		all->forwards = options->forwards;
	if (options->length)
		all->length = all->longer = options->length;
	if (options->regions)
		all->regions = options->regions;
	if (options->generators)
		all->generators = options->generators;
	all->shared = options->shared;
	random->regions = all->regions;
	random->generators = all->generators;
	random->shared = all->shared;
	return 2;
}

static void describe(const struct search *search, int longer, char *text,
		     size_t size)
{
	unsigned length = longer ? search->longer : search->length;
	char shared[32] = "", generators[32] = "";

	if (search->shared)
		snprintf(shared, sizeof(shared), " (%u SHARED)",
			 search->shared);
	if (search->generators > 1)
		snprintf(generators, sizeof(generators), ", %u generators",
			 search->generators);
	snprintf(text, size,
		 "%-20s %u region%s%s%s, up to %u forward%s, %s%u event%s",
		 search->name, search->regions, plural(search->regions), shared,
		 generators, search->forwards, plural(search->forwards),
		 search->random ? "" : "up to ", length, plural(length));
}

int matrix_search(const struct matrix_options *options,
		  struct matrix_total *total)
{
	struct search table[SEARCHES];
	unsigned n_searches = choose_searches(options, table);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned workers = cores < 1 ? 1 : (unsigned)cores;
	size_t size;
	struct report *reports;
	int status;

	if (workers > WORKERS_MAX)
		workers = WORKERS_MAX;
	size = workers * sizeof(*reports);
	memset(total, 0, sizeof(*total));
	reports = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reports == MAP_FAILED)
		return -1;
	status = run_workers(options, table, n_searches, reports, workers);
	if (!status)
		add_up(reports, workers, total);
	for (unsigned i = 0; i < n_searches; i++)
		describe(&table[i], options->longer, total->searches[i],
			 sizeof(total->searches[i]));
	munmap(reports, size);
	return status;
}
