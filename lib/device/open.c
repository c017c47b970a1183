/*
 * lib/device/open.c - finding devices by name and opening them
 *
 * A device is opened by name, "family" or "family:option". Nothing here is
 * shared.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/device/enter.h"

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

/* Turns the number after the colon into an index below the family's count. */
static enum philox_status find_index(const struct device_family *family,
				     const char *name, const char *option,
				     unsigned *index)
{
	unsigned long number = strtoul(option, NULL, 10);
	enum philox_status status;
	unsigned count;

	if (option[strspn(option, "0123456789")])
		return unknown_device(name);
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
	if (strlen(name) >= sizeof(opened->name) ||
	    (name[length] && !name[length + 1]))
		return unknown_device(name);
	status = find_family(name, length, &family);
	if (status != PHILOX_OK)
		return status;
	if (name[length])
		option = name + length + 1;
	/* The host device itself checks the text after "host:". */
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
