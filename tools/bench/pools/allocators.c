/*
 * tools/bench/pools/allocators.c - the allocators that a pool is compared with
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/bench/fills/fills.h"
#include "tools/bench/pools/pools.h"

static void *make_ours(struct pair_entry *entry, size_t size)
{
	struct philox_pool_block block = {0};

	philox_pool_alloc(entry->of->pool, entry->of->bench->stream, size, 0,
			  "bench", &block);
	return block.address;
}

static int drop_ours(struct pair_entry *entry, void *block)
{
	return philox_pool_free(entry->of->pool, entry->of->bench->stream,
				block) != PHILOX_OK;
}

static void *make_glibc(struct pair_entry *entry, size_t size)
{
	(void)entry;
	return malloc(size);
}

static int drop_glibc(struct pair_entry *entry, void *block)
{
	(void)entry;
	free(block);
	return 0;
}

static void *make_mimalloc(struct pair_entry *entry, size_t size)
{
	return entry->of->malloc(size);
}

static int drop_mimalloc(struct pair_entry *entry, void *block)
{
	entry->of->free(block);
	return 0;
}

/* Where peers are, and unless PHILOX_PEERS says so where libraries are. */
static void *find_mimalloc(const char *name, char note[RACE_NOTE_MAX])
{
	void *library = peer_library(name, 0, note);

	if (library || getenv("PHILOX_PEERS"))
		return library;
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		snprintf(note, RACE_NOTE_MAX, "%s", dlerror());
	return library;
}

/* As distributions call it: the first is a developer's. */
void pair_open_mimalloc(struct pairs *of)
{
	static const char *const names[] = {
		"libmimalloc.so", "libmimalloc.so.3", "libmimalloc.so.2",
		"libmimalloc.so.2.0"};
	char other[RACE_NOTE_MAX]; /* the first name's message is kept */
	int (*version)(void);

	of->library = find_mimalloc(names[0], of->note);
	for (size_t i = 1; i < 4 && !of->library; i++)
		of->library = find_mimalloc(names[i], other);
	if (!of->library ||
	    peer_symbol(of->library, "mi_version", &version, of->note) ||
	    peer_symbol(of->library, "mi_malloc", &of->malloc, of->note) ||
	    peer_symbol(of->library, "mi_free", &of->free, of->note)) {
		of->malloc = NULL;
		return;
	}
	snprintf(of->note, RACE_NOTE_MAX, "mimalloc %d", version());
}

const struct pair_entry pair_allocators[RACERS] = {
	[OURS] = {.make = make_ours, .drop = drop_ours},
	[GLIBC] = {.make = make_glibc, .drop = drop_glibc},
	[MIMALLOC] = {.make = make_mimalloc, .drop = drop_mimalloc}};
