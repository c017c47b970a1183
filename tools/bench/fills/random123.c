/*
 * tools/bench/fills/random123.c - Random123, compiled by gcc and by clang
 *
 * tools/bench/peers/random123.cpp is compiled by both if both are installed:
 * the speed of a loop over Philox depends more on the compiler than on anything
 * else.
 */
#include "tools/bench/fills/fills.h"

#include <dlfcn.h>
#include <stdio.h>

typedef void random123_fill(void *out, size_t bytes, uint64_t seed);

static const char *const fills[] = {"bits/u32",    "bits/u64",   "uniform/f32",
				    "uniform/f64", "normal/f32", "normal/f64",
				    NULL};

static int random123_has(const struct fill_peer *peer,
			 const struct fill_bench *of)
{
	(void)peer;
	return !of->cuda && fill_is(of->kind, fills);
}

static int random123_open(struct fill_peer *peer, const struct fill_bench *of,
			  char note[RACE_NOTE_MAX])
{
	const char *(*version)(void);
	char name[64];

	(void)of;
	snprintf(name, sizeof(name), "%s.so", peer->name);
	peer->state = peer_library(name, 0, note);
	if (!peer->state)
		return -1;
	if (peer_symbol(peer->state, "random123_version", &version, note))
		goto fail;
	if (!version()) {
		snprintf(note, RACE_NOTE_MAX, "compiled for another processor");
		goto fail;
	}
	snprintf(note, RACE_NOTE_MAX, "%s", version());
	return 0;
fail:
	dlclose(peer->state);
	return -1;
}

static void random123_close(struct fill_peer *peer)
{
	dlclose(peer->state);
}

static int random123_work(const struct fill_peer *peer,
			  const struct fill_bench *of)
{
	random123_fill *fill;
	char name[64], note[RACE_NOTE_MAX];

	snprintf(name, sizeof(name), "random123_%s_%s", of->kind->dist_name,
		 of->kind->dtype_name);
	if (peer_symbol(peer->state, name, &fill, note))
		return -1;
	fill(of->out, of->bytes, 1);
	return 0;
}

#define RANDOM123(of_compiler)                                  \
	{                                                       \
		.name = of_compiler, .has = random123_has,      \
		.open = random123_open, .work = random123_work, \
		.close = random123_close,                       \
	}

struct fill_peer fill_random123_gcc = RANDOM123("random123_gcc");
struct fill_peer fill_random123_clang = RANDOM123("random123_clang");
