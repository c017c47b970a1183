/*
 * lib/kernels/open.c - finding devices by name and opening them
 *
 * A device is opened by name, "backend" or "backend:option". Nothing here is
 * shared.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "lib/device/device.h"
#include "lib/kernels/cuda/cuda.h"
#include "lib/kernels/host/host.h"

/* A backend: what it can do, and the library's kernels for it. */
struct backend {
	const char *name;    /* before the colon */
	const char *toolkit; /* what a build without it lacks */
	int numbered;        /* the option is a device's number */
	const struct device_opener *opener; /* NULL: not in this build */
	const void *kernels;
};

static const struct backend backends[] = {
	{"host", NULL, 0, &device_host, kernels_host},
#ifdef PHILOX_WITH_CUDA
	{"cuda", "CUDA", 1, &device_cuda, &kernels_cuda},
#else
	{"cuda", "CUDA", 1, NULL, NULL},
#endif
};

static enum philox_status unknown_device(const char *name)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "unknown device \"%s\": there are " DEVICE_NAMES,
			  name);
}

/* Whether this can be an option, in this build and on this machine or others. */
static int may_be_option(const struct backend *backend, const char *option)
{
	if (!backend->numbered)
		return *option != 0; /* which ones there are the device knows */
	return *option && !option[strspn(option, "0123456789")] &&
	       strtoul(option, NULL, 10) <= INT_MAX;
}

/*
 * The backend of the name's part before the colon, and the part after it, ""
 * without a colon.
 */
static enum philox_status find_backend(const char *name,
				       const struct backend **found,
				       const char **option)
{
	const size_t length = strcspn(name, ":");
	const struct backend *backend = backends;
	const struct backend *end =
		backend + sizeof(backends) / sizeof(backends[0]);

	while (backend < end && (strlen(backend->name) != length ||
				 strncmp(backend->name, name, length) != 0))
		backend++;
	if (backend == end ||
	    strlen(name) >= sizeof(((struct philox_device *)0)->name) ||
	    (name[length] && !may_be_option(backend, name + length + 1)))
		return unknown_device(name);
	if (!backend->opener)
		return status_set(PHILOX_ERROR_UNSUPPORTED,
				  "%s: this build has no %s", name,
				  backend->toolkit);
	*found = backend;
	*option = name[length] ? name + length + 1 : "";
	return PHILOX_OK;
}

/* Turns the option into an index below the backend's count. */
static enum philox_status find_index(const struct backend *backend,
				     const char *name, const char *option,
				     unsigned *index)
{
	unsigned long number = strtoul(option, NULL, 10);
	enum philox_status status;
	unsigned count;

	status = backend->opener->count(&count);
	if (status != PHILOX_OK)
		return status;
	if (number >= count)
		return status_set(PHILOX_ERROR_NO_DEVICE,
				  "%s: there %s %u %s device%s", name,
				  status_is(count), count, backend->name,
				  status_s(count));
	*index = (unsigned)number;
	return PHILOX_OK;
}

/* --- devices ------------------------------------------------------------ */

enum philox_status philox_device_count(const char *family, unsigned *count)
{
	const struct backend *backend;
	enum philox_status status;
	const char *option;

	NEED_POINTER(family);
	NEED_POINTER(count);
	if (strchr(family, ':'))
		return unknown_device(family);
	status = find_backend(family, &backend, &option);
	if (status != PHILOX_OK)
		return status;
	return backend->opener->count(count);
}

enum philox_status philox_device_open(const char *name,
				      struct philox_device **device)
{
	const struct backend *backend;
	struct philox_device *opened;
	enum philox_status status;
	const char *option;
	unsigned index = 0;

	NEED_POINTER(name);
	NEED_POINTER(device);
	status = find_backend(name, &backend, &option);
	if (status == PHILOX_OK)
		status = forks_watch();
	if (status == PHILOX_OK && backend->numbered)
		status = find_index(backend, name, option, &index);
	if (status == PHILOX_OK)
		status = backend->opener->open(index, option, backend->kernels,
					       &opened);
	if (status != PHILOX_OK)
		return status;
	memcpy(opened->name, name, strlen(name) + 1);
	*device = opened;
	return PHILOX_OK;
}
