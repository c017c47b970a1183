/*
 * tools/train/model/cublas.c - see tools/train/model/cublas.h
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/train/model/cublas.h"

/* A folder with libraries in it: below one that a variable names, or as it is. */
struct place {
	const char *variable; /* NULL: none */
	const char *folder;   /* a pattern of glob() */
};

#define PACKAGES "lib/python3*/*-packages/nvidia/*/lib"

static const struct place places[] = {
	{"CUDA_HOME", "lib64"},
	{"CUDA_HOME", "targets/*/lib"},
	{"CUDA_PATH", "lib64"},
	{NULL, "/usr/local/cuda/lib64"},
	{NULL, "/usr/local/cuda-*/lib64"},
	{"VIRTUAL_ENV", PACKAGES},
	{"CONDA_PREFIX", "lib"},
	{"CONDA_PREFIX", PACKAGES},
	{"HOME", ".local/" PACKAGES},
	{NULL, "/usr/local/" PACKAGES},
	{NULL, "/usr/lib/python3*/*-packages/nvidia/*/lib"},
	{NULL, "/opt/conda/lib"},
	{NULL, "/opt/conda/" PACKAGES},
};

/* The versions of the toolkits that philox is built with. */
static const char *const files[] = {"libcublas.so.13", "libcublas.so.12"};

/* The pattern of the files at a place; 0: there is no such place. */
static int pattern_of(const struct place *place, const char *file,
		      char pattern[PATH_MAX])
{
	const char *base = place->variable ? getenv(place->variable) : "";
	int length;

	if (!base || (place->variable && !*base))
		return 0;
	length = snprintf(pattern, PATH_MAX, "%s%s%s/%s", base,
			  place->variable ? "/" : "", place->folder, file);
	return length < PATH_MAX;
}

static int search_place(const struct place *place, const char *file,
			int (*try_it)(void *data, const char *name), void *data)
{
	char pattern[PATH_MAX];
	glob_t found;
	int missing = -1;

	if (!pattern_of(place, file, pattern))
		return -1;
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; missing && i < found.gl_pathc; i++)
			missing = try_it(data, found.gl_pathv[i]);
	globfree(&found);
	return missing;
}

static int search_file(const char *file,
		       int (*try_it)(void *data, const char *name), void *data)
{
	int missing = try_it(data, file);

	for (size_t i = 0; missing && i < sizeof(places) / sizeof(*places); i++)
		missing = search_place(&places[i], file, try_it, data);
	return missing;
}

const char *train_cublas_named(void)
{
	const char *named = getenv("PHILOX_CUBLAS");

	return named && *named ? named : NULL;
}

int train_cublas_search(int (*try_it)(void *data, const char *name), void *data)
{
	const char *named = train_cublas_named();
	int missing = -1;

	if (named)
		return strcmp(named, "none") ? try_it(data, named) : -1;
	for (size_t i = 0; missing && i < sizeof(files) / sizeof(*files); i++)
		missing = search_file(files[i], try_it, data);
	return missing;
}
