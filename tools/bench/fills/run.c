/*
 * tools/bench/fills/run.c - fills that are timed: ours, and one of a peer
 *
 * On a host device a peer's fills are one piece of work on the stream, as they
 * know nothing of streams; on a GPU each puts its fills on it one by one, and
 * the GPU's own clock measures the time.
 */
#include "tools/bench/fills/fills.h"

#include <stdio.h>
#include "tools/bench/fills/cuda.h"

/* --- ours ----------------------------------------------------------------- */

static int our_work(const struct fill_peer *peer, const struct fill_bench *of)
{
	struct philox_rng rng = {{1, 0}, NULL};
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = of->kind->dist,
					.dtype = of->kind->dtype,
					.span = {.count = of->count},
					.in = of->in,
					.out = of->out,
					.p = FILL_P,
					.high = 1,
					.std = 1,
					.rate = 1,
					.to = FILL_TO,
					.n = of->count};

	(void)peer;
	return philox_rng_fill(of->bench->device, of->bench->stream, rng,
			       &fill);
}

const struct fill_peer fill_ours = {
	.name = "philox", .work = our_work, .queued = 1};

/* --- a race --------------------------------------------------------------- */

/* The work on a host device's stream; the first error stays in *error. */
struct host_job {
	struct fill_entry entry;
	int times;
	int *error;
};

static void run_host_job(const void *args)
{
	const struct host_job *job = args;
	const struct fill_entry *entry = &job->entry;

	for (int i = 0; i < job->times && !*job->error; i++) {
		*job->error = entry->peer->work(entry->peer, entry->of);
		/* each fill has been written before the next begins */
		__asm__ volatile("" : : "r"(entry->of->out) : "memory");
	}
}

static int fail_philox(char note[RACE_NOTE_MAX])
{
	snprintf(note, RACE_NOTE_MAX, "%s", philox_error_message());
	return -1;
}

static int fail_peer(char note[RACE_NOTE_MAX], int error)
{
	snprintf(note, RACE_NOTE_MAX, "it fails with error %d", error);
	return -1;
}

/* Fills that queue themselves on the stream. */
static int queue(const struct fill_entry *entry, int times,
		 char note[RACE_NOTE_MAX])
{
	int error = 0;

	for (int i = 0; i < times && !error; i++)
		error = entry->peer->work(entry->peer, entry->of);
	if (!error)
		return 0;
	return entry->peer->queued ? fail_philox(note) : fail_peer(note, error);
}

/*
 * Puts the work on the stream: 0, or -1 with a note. On a host device's stream
 * it writes *error, to be read when it has run.
 */
static int launch(const struct fill_entry *entry, int times, int *error,
		  char note[RACE_NOTE_MAX])
{
	const struct fill_bench *of = entry->of;
	struct host_job job = {*entry, times, error};

	if (of->cuda || entry->peer->queued)
		return queue(entry, times, note);
	if (philox_stream_launch_host(of->bench->device, of->bench->stream,
				      run_host_job, &job, sizeof(job)))
		return fail_philox(note);
	return 0;
}

static int wait_for_stream(const struct fill_bench *of,
			   char note[RACE_NOTE_MAX])
{
	return philox_stream_synchronize(of->bench->device, of->bench->stream)
		       ? fail_philox(note)
		       : 0;
}

static int fail_cuda(struct racer *racer, const struct bench_cuda *cuda,
		     int error)
{
	snprintf(racer->note, RACE_NOTE_MAX, "%s", cuda->message(error));
	return -1;
}

int fill_run(struct racer *racer, int times, struct race_time *time)
{
	const struct fill_entry *entry = racer->of;
	const struct fill_bench *of = entry->of;
	struct bench_cuda *cuda = of->cuda;
	philox_stream stream = of->bench->stream;
	double start;
	int error = 0;

	if (entry->peer->run)
		return entry->peer->run(entry->peer, of, times, time,
					racer->note);
	if (cuda && (error = cuda->start(cuda, stream)))
		return fail_cuda(racer, cuda, error);
	start = bench_now();
	if (launch(entry, times, &error, racer->note))
		return -1;
	time->call = bench_now() - start;
	if (cuda && (error = cuda->stop(cuda, stream)))
		return fail_cuda(racer, cuda, error);
	if (wait_for_stream(of, racer->note))
		return -1;
	time->whole = bench_now() - start;
	if (cuda && (error = cuda->elapsed(cuda, &time->whole)))
		return fail_cuda(racer, cuda, error);
	return error ? fail_peer(racer->note, error) : 0;
}
