/*
 * tools/bench/fills/fills.h - fills that are measured, and their peers
 *
 * A peer makes the same kind of numbers in its own way, or, as a limit, does
 * nothing but touch the same memory. One may be missing on a machine; then its
 * rows say so. On the host device all work runs on the stream's own thread, a
 * peer's as well as ours.
 */
#ifndef TOOLS_BENCH_FILLS_FILLS_H
#define TOOLS_BENCH_FILLS_FILLS_H

#include <stddef.h>
#include <philox.h>
#include "tools/bench/bench.h"
#include "tools/cli/cli.h"

struct bench_cuda;

/* The task of a peer. */
struct fill_bench {
	struct bench *bench;
	struct bench_cuda *cuda; /* NULL on a host device */
	const struct fill_kind *kind;
	size_t bytes; /* of the output; of the input, twice for rounding */
	size_t count; /* the same in elements */
	void *in, *out;
};

#define FILL_P  0.5 /* of bernoulli and dropout */
#define FILL_TO 999 /* of integers, from 0 */

/* fill_is() says whether a kind of fill is in a list like "normal/f32". */
int fill_is(const struct fill_kind *kind, const char *const list[]);

struct fill_peer {
	const char *name;
	/*
	 * Does it make such numbers on this device, wherever it is installed?
	 */
	int (*has)(const struct fill_peer *peer, const struct fill_bench *of);
	/*
	 * Once, before all work; may be NULL. 0 with a note of its version, or
	 * -1 with a note of the missing part.
	 */
	int (*open)(struct fill_peer *peer, const struct fill_bench *of,
		    char note[RACE_NOTE_MAX]);
	/*
	 * One fill: done when it returns, or put on of->bench->stream. It runs
	 * in a host device's stream where it is not `queued`, and must not call
	 * philox there. 0, or its library's error.
	 */
	int (*work)(const struct fill_peer *peer, const struct fill_bench *of);
	int queued; /* work() puts it on the stream of any device */
	/* Instead of work(): `times` fills, waited for. As a racer's run(). */
	int (*run)(const struct fill_peer *peer, const struct fill_bench *of,
		   int times, struct race_time *time, char note[RACE_NOTE_MAX]);
	void (*close)(struct fill_peer *peer); /* if it was opened */
	void *state;                           /* its own */
	const void *choice; /* distinguishes peers with the same functions */

	/* the part's own */
	int opened;               /* open() was called */
	int missing;              /* and found nothing */
	char note[RACE_NOTE_MAX]; /* of open() */
};

extern const struct fill_peer fill_ours;
extern struct fill_peer fill_memset, fill_copy, fill_scale, fill_curand_host,
	fill_curand, fill_curand_dynamic, fill_random123_gcc,
	fill_random123_clang, fill_torch;

/* fill_run() is a racer's run(); the racer is of a struct fill_entry. */
struct fill_entry {
	const struct fill_peer *peer;
	const struct fill_bench *of;
};

int fill_run(struct racer *racer, int times, struct race_time *time);

/*
 * peer_path() writes the path of a peer's file: in the folder PHILOX_PEERS if
 * that is set, else in peers/ beside the program.
 */
void peer_path(const char *name, char *path, size_t size);

/*
 * peer_library() opens a library of a peer: at its peer_path(), else, if
 * `anywhere` and PHILOX_PEERS is not set, where libraries are found and in
 * CUDA's folder. NULL with a note.
 */
void *peer_library(const char *name, int anywhere, char note[RACE_NOTE_MAX]);

/* peer_symbol() is dlsym() with a note. It writes the pointer: 0, or -1. */
int peer_symbol(void *library, const char *name, void *function,
		char note[RACE_NOTE_MAX]);

#endif
