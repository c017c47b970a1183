/*
 * lib/kernels/open.c - finding devices by name and opening them
 *
 * A device is opened by name, "family" or "family:option". Nothing here is
 * shared.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "lib/device/device.h"

static const struct device_family *const families[] = {
	&device_family_host,
#ifdef PHILOX_WITH_CUDA
	&device_family_cuda,
#endif
};

#define FAMILY_COUNT (sizeof(families) / sizeof(families[0]))

static enum philox_status unknown_device(const char *name)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "unknown device \"%s\": there are " DEVICE_NAMES,
			  name);
}

/* The family named by the first `length` characters of `name`. */
static enum philox_status find_family(const char *name, size_t length,
				      const struct device_family **family)
{
	for (size_t i = 0; i < FAMILY_COUNT; i++) {
		if (strlen(families[i]->name) != length ||
		    strncmp(families[i]->name, name, length) != 0)
			continue;
		*family = families[i];
		return PHILOX_OK;
	}
	if (length == strlen("cuda") && !strncmp(name, "cuda", length))
		return status_set(PHILOX_ERROR_UNSUPPORTED,
				  "%s: this build has no CUDA", name);
	return unknown_device(name);
}

/*
 * Whether a device could have this name, in this build and on this machine or
 * another one. CUDA numbers GPUs with an int. The host device itself checks the
 * text after "host:".
 */
static int can_be(const char *name)
{
	const char *colon = strchr(name, ':');

	if (strlen(name) >= sizeof(((struct philox_device *)0)->name))
		return 0;
	if (!colon)
		return 1;
	if (strncmp(name, "cuda:", strlen("cuda:")))
		return colon[1] != 0;
	return colon[1] && !colon[1 + strspn(colon + 1, "0123456789")] &&
	       strtoul(colon + 1, NULL, 10) <= INT_MAX;
}

/* Turns the number after the colon into an index below the family's count. */
static enum philox_status find_index(const struct device_family *family,
				     const char *name, const char *option,
				     unsigned *index)
{
	unsigned long number = strtoul(option, NULL, 10);
	enum philox_status status;
	unsigned count;

	status = family->count(&count);
	if (status != PHILOX_OK)
		return status;
	if (number >= count)
		return status_set(PHILOX_ERROR_NO_DEVICE,
				  "%s: there %s %u %s device%s", name,
				  status_is(count), count, family->name,
				  status_s(count));
	*index = (unsigned)number;
	return PHILOX_OK;
}

/* --- devices ------------------------------------------------------------ */

enum philox_status philox_device_count(const char *family, unsigned *count)
{
	const struct device_family *found;
	enum philox_status status;

	NEED_POINTER(family);
	NEED_POINTER(count);
	status = find_family(family, strlen(family), &found);
	if (status != PHILOX_OK)
		return status;
	return found->count(count);
}

enum philox_status philox_device_open(const char *name,
				      struct philox_device **device)
{
	const struct device_family *family;
	struct philox_device *opened;
	enum philox_status status;
	const char *option = "";
	unsigned index = 0;
	size_t length;

	NEED_POINTER(name);
	NEED_POINTER(device);
	length = strcspn(name, ":");
	if (name[length])
		option = name + length + 1;
	if (!can_be(name))
		return unknown_device(name);
	status = find_family(name, length, &family);
	if (status == PHILOX_OK)
		status = forks_watch();
	if (status != PHILOX_OK)
		return status;
	if (family != &device_family_host)
		status = find_index(family, name, option, &index);
	if (status == PHILOX_OK)
		status = family->open(index, option, &opened);
	if (status != PHILOX_OK)
		return status;
	memcpy(opened->name, name, strlen(name) + 1);
	*device = opened;
	return PHILOX_OK;
}
