/*
 * lib/text/file.h - files that are replaced whole or not at all
 */
#ifndef LIB_TEXT_FILE_H
#define LIB_TEXT_FILE_H

#include <stddef.h>
#include "lib/base/status.h"

/* save_file_check() refuses a path without a last part: ERROR_INVALID. */
enum philox_status save_file_check(const char *path);

/*
 * save_file_write() replaces a file, whole or not at all: ERROR_FILE, and
 * those of save_file_check(). Removes from its folder the files left there by
 * saves of processes that are gone.
 */
enum philox_status save_file_write(const char *path, const char *text,
				   size_t size);

/* save_file_read() reads a regular file into memory that the caller frees. */
enum philox_status save_file_read(const char *path, char **text, size_t *size);

#endif
