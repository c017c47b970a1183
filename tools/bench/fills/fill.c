/*
 * tools/bench/fills/fill.c - the speed of fills, ours and others'
 *
 * A row is one kind of fill at one size against one peer. All that run at one
 * size race each other (tools/bench/bench.h), ours with them; one peer's figure
 * is one row.
 */
#include "tools/bench/fills/fills.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/bench/fills/cuda.h"
#include "tools/cli/cli.h"

#define BUDGET 0.4e9 /* nanoseconds of one race, about */

/* Caches of a core, caches of a processor, memory; on a GPU memory only. */
static const size_t host_sizes[] = {64 << 10, 1 << 20, 256 << 20};
static const size_t cuda_sizes[] = {256 << 20, 1 << 30, (size_t)4 << 30};

#define N_SIZES (sizeof(host_sizes) / sizeof(host_sizes[0]))

/* In the order of the rows. */
static struct fill_peer *const peers[] = {
	&fill_memset,        &fill_copy,
	&fill_scale,         &fill_curand_host,
	&fill_curand,        &fill_curand_dynamic,
	&fill_random123_gcc, &fill_random123_clang,
	&fill_torch};

#define N_PEERS (sizeof(peers) / sizeof(peers[0]))

int fill_is(const struct fill_kind *kind, const char *const list[])
{
	char name[64];

	snprintf(name, sizeof(name), "%s/%s", kind->dist_name,
		 kind->dtype_name);
	for (; *list; list++)
		if (!strcmp(*list, name))
			return 1;
	return 0;
}

/* --- rows ----------------------------------------------------------------- */

static void print_size(char *text, size_t size, size_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB"};
	int unit = 0;

	for (bytes >>= 10; unit < 2 && bytes % 1024 == 0; unit++)
		bytes >>= 10;
	snprintf(text, size, "%zu%s", bytes, units[unit]);
}

static double speed(const struct fill_bench *of, const struct racer *racer)
{
	return racer->out ? NAN : (double)of->bytes / racer->median.whole;
}

static void row_name(const struct fill_bench *of, char *name, size_t size)
{
	char bytes[24];

	print_size(bytes, sizeof(bytes), of->bytes);
	snprintf(name, size, "fill/%s/%s/%s", of->kind->dist_name,
		 of->kind->dtype_name, bytes);
}

/* Libraries load the parts they need on first use. */
static void warm_up(const struct fill_peer *peer, const struct fill_bench *of)
{
	struct fill_entry entry = {peer, of};
	struct racer racer = {.of = &entry};
	struct race_time time;

	(void)fill_run(&racer, 1, &time); /* an error comes again in the race */
}

/* The search for a peer takes place when its first row is due. */
static void open_peer(struct fill_peer *peer, const struct fill_bench *of)
{
	if (peer->opened)
		return;
	peer->opened = 1;
	if (peer->open)
		peer->missing = peer->open(peer, of, peer->note);
	if (!peer->missing && peer->note[0] && !of->bench->json)
		printf("%s: %s\n", peer->name, peer->note);
	if (!peer->missing)
		warm_up(peer, of);
}

static void close_peers(void)
{
	for (size_t i = 0; i < N_PEERS; i++) {
		if (peers[i]->opened && !peers[i]->missing && peers[i]->close)
			peers[i]->close(peers[i]);
		peers[i]->opened = peers[i]->missing = 0;
		peers[i]->note[0] = '\0';
	}
}

static void enter(struct racer *racer, struct fill_entry *entry)
{
	racer->name = entry->peer->name;
	racer->run = fill_run;
	racer->of = entry;
	if (entry->peer->missing)
		memcpy(racer->note, entry->peer->note, RACE_NOTE_MAX);
}

static void print_fill_rows(const struct fill_bench *of,
			    const struct racer *racers, size_t count)
{
	char name[96];

	row_name(of, name, sizeof(name));
	for (size_t i = 1; i < count; i++) {
		const struct fill_entry *entry = racers[i].of;
		const char *note =
			racers[i].out ? racers[i].note : entry->peer->note;
		struct bench_row row = {.name = name,
					.value = speed(of, &racers[0]),
					.unit = "GB/s",
					.peer = racers[i].name,
					.peer_value = speed(of, &racers[i]),
					.note = note[0] ? note : NULL};

		bench_print(of->bench, &row);
	}
}

/* One kind at one size: ours against all peers that have such a fill. */
static int race_fills(const struct fill_bench *of)
{
	struct racer racers[N_PEERS + 1];
	struct fill_entry entries[N_PEERS + 1] = {{&fill_ours, of}};
	size_t count = 1;

	memset(racers, 0, sizeof(racers));
	for (size_t i = 0; i < N_PEERS; i++) {
		if (!peers[i]->has(peers[i], of))
			continue;
		open_peer(peers[i], of);
		entries[count++] = (struct fill_entry){peers[i], of};
	}
	for (size_t i = 0; i < count; i++)
		enter(&racers[i], &entries[i]);
	race(racers, count, of->bench->quick ? 0 : BUDGET);
	if (racers[0].out) {
		complain("bench", "%s", racers[0].note);
		return -1;
	}
	print_fill_rows(of, racers, count);
	return 0;
}

/* --- sizes and arrays ----------------------------------------------------- */

static void choose_sizes(const struct bench *bench,
			 size_t sizes[BENCH_SIZES_MAX], size_t *count)
{
	int is_host = philox_device_is_host(bench->device);
	const size_t *own = is_host ? host_sizes : cuda_sizes;

	*count = bench->n_sizes;
	memcpy(sizes, bench->sizes, sizeof(bench->sizes));
	if (!*count)
		for (size_t i = 0; i < (bench->quick ? 1 : N_SIZES); i++)
			sizes[(*count)++] = own[i];
}

/*
 * Both arrays are touched; the input holds finite numbers in every dtype.
 * Rounding reads up to twice as much as it writes.
 */
static int make_arrays(struct fill_bench *of, size_t bytes)
{
	struct philox_device *device = of->bench->device;
	philox_stream stream = of->bench->stream;

	return bench_try("memory",
			 philox_memory_alloc(device, 2 * bytes, &of->in)) ||
	       bench_try("memory",
			 philox_memory_alloc(device, bytes, &of->out)) ||
	       bench_try("set", philox_memory_set(device, stream, of->in, 0x3f,
						  2 * bytes)) ||
	       bench_try("set", philox_memory_set(device, stream, of->out, 0,
						  bytes)) ||
	       bench_try("wait", philox_stream_synchronize(device, stream));
}

static int fill_is_wanted(const struct fill_bench *of)
{
	char name[96];

	row_name(of, name, sizeof(name));
	return bench_wants(of->bench, name);
}

static int measure_kind(struct fill_bench *of, const struct fill_kind *kind,
			const size_t sizes[], size_t n_sizes)
{
	of->kind = kind;
	for (size_t i = 0; i < n_sizes; i++) {
		of->bytes = sizes[i];
		of->count = sizes[i] / kind->size;
		if (!fill_is_wanted(of))
			continue;
		bench_step(of->bench);
		if (race_fills(of))
			return -1;
	}
	return 0;
}

static int measure_fills(struct fill_bench *of)
{
	size_t sizes[BENCH_SIZES_MAX], count, most = 0;

	choose_sizes(of->bench, sizes, &count);
	for (size_t i = 0; i < count; i++)
		most = sizes[i] > most ? sizes[i] : most;
	if (make_arrays(of, most))
		return -1;
	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		if (measure_kind(of, kind, sizes, count))
			return -1;
	return 0;
}

/* On a GPU, the parts needed besides philox. */
static int open_cuda(struct fill_bench *of)
{
	const char *message = "a build without CUDA";

	if (philox_device_is_host(of->bench->device))
		return 0;
#ifdef PHILOX_WITH_CUDA
	of->cuda = bench_cuda_open(of->bench->device, &message);
#endif
	if (of->cuda)
		return 0;
	complain("bench", "%s", message);
	return -1;
}

size_t bench_fill_steps(const struct bench *bench)
{
	size_t sizes[BENCH_SIZES_MAX], count, steps = 0;
	struct fill_bench of = {.bench = (struct bench *)bench};

	choose_sizes(bench, sizes, &count);
	for (of.kind = fill_kinds(); of.kind->size; of.kind++)
		for (size_t i = 0; i < count; i++) {
			of.bytes = sizes[i];
			steps += fill_is_wanted(&of) != 0;
		}
	return steps;
}

int bench_fill(struct bench *bench)
{
	struct fill_bench of = {.bench = bench};
	int failed;

	if (open_cuda(&of))
		return -1;
	if (!bench->json)
		screen_help(
			stdout,
			"GB/s: 10^9 bytes of output a second; dropout reads "
			"as many as it writes,\nrounding twice as many (it "
			"reads f32), and so do copy and scale with them\n");
	failed = measure_fills(&of);
	close_peers();
	philox_memory_free(bench->device, of.in);
	philox_memory_free(bench->device, of.out);
	if (of.cuda)
		of.cuda->close(of.cuda);
	return failed;
}
