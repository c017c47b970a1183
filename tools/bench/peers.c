/*
 * tools/bench/peers.c - finding peers
 *
 * Libraries are loaded when their first row is due, never linked: the tool runs
 * without them.
 */
#include "tools/bench/fills/fills.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *open_library(char note[RACE_NOTE_MAX], const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		snprintf(note, RACE_NOTE_MAX, "%s", dlerror());
	return library;
}

/* Beside the program: its folder and /peers. */
static void own_folder(char *folder, size_t size)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	snprintf(folder, size, "%.*s/peers", (int)size - 8, path);
}

void peer_path(const char *name, char *path, size_t size)
{
	const char *chosen = getenv("PHILOX_PEERS");
	char folder[PATH_MAX];

	own_folder(folder, sizeof(folder));
	snprintf(path, size, "%s/%s", chosen ? chosen : folder, name);
}

/* In the system's library folders, or in CUDA's. */
static void *open_anywhere(const char *name, char note[RACE_NOTE_MAX])
{
	const char *home = getenv("CUDA_HOME");
	char path[PATH_MAX];
	void *library = open_library(note, name);

	if (library)
		return library;
	snprintf(path, sizeof(path), "%s/lib64/%s",
		 home ? home : "/usr/local/cuda", name);
	return open_library(note, path);
}

void *peer_library(const char *name, int anywhere, char note[RACE_NOTE_MAX])
{
	char path[PATH_MAX];
	void *library;

	peer_path(name, path, sizeof(path));
	library = open_library(note, path);
	if (library || !anywhere || getenv("PHILOX_PEERS"))
		return library;
	return open_anywhere(name, note);
}

int peer_symbol(void *library, const char *name, void *function,
		char note[RACE_NOTE_MAX])
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	if (symbol)
		return 0;
	snprintf(note, RACE_NOTE_MAX, "it has no function %s", name);
	return -1;
}
