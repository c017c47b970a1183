/*
 * lib/base/options.c - structs that callers fill in or read, and their growth
 */
#include <inttypes.h>
#include <string.h>
#include "lib/base/base.h"

enum philox_status options_check_room(const char *what, size_t size,
				      size_t least, size_t known)
{
	if (size >= least && size <= OPTIONS_SIZE_MAX)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "%s: size is %zu, not that of the struct (%zu): "
			  "begin with PHILOX_INIT()",
			  what, size, known);
}

enum philox_status options_check_size(const char *what, const void *options,
				      size_t size, size_t least, size_t known)
{
	enum philox_status status =
		options_check_room(what, size, least, known);
	const unsigned char *bytes = options;

	if (status != PHILOX_OK)
		return status;
	for (size_t i = known; i < size; i++)
		if (bytes[i])
			return status_set(PHILOX_ERROR_INVALID,
					  "%s: size is %zu and byte %zu is "
					  "set: a field that this version "
					  "does not know",
					  what, size, i);
	return PHILOX_OK;
}

enum philox_status options_check_reserved(const char *what, uint32_t reserved)
{
	if (!reserved)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "%s: reserved is 0x%" PRIx32 ", not 0", what,
			  reserved);
}

enum philox_status options_copy(const char *what, const void *options,
				size_t size, size_t least, size_t known,
				void *copy)
{
	enum philox_status status;

	status = options_check_size(what, options, size, least, known);
	if (status != PHILOX_OK)
		return status;
	memset(copy, 0, known);
	memcpy(copy, options, size < known ? size : known);
	return PHILOX_OK;
}

void options_write(void *to, const void *from, size_t known)
{
	size_t size;

	memcpy(&size, to, sizeof(size));
	memset(to, 0, size);
	memcpy(to, from, size < known ? size : known);
	memcpy(to, &size, sizeof(size));
}
