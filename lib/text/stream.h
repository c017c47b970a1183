/*
 * lib/text/stream.h - a stream into memory that tells when there was none
 */
#ifndef LIB_TEXT_STREAM_H
#define LIB_TEXT_STREAM_H

#include <stddef.h>
#include <stdio.h>

/*
 * memory_file_open() is open_memstream(), except that bytes that there was no
 * memory for are an error of the stream: glibc's loses them without a word. The
 * text is at *text, of *size bytes and a NUL, after fflush() and fclose(); the
 * caller frees it. *file is needed until fclose(). NULL: there is no memory.
 */
struct memory_file {
	char **text;
	size_t *size;
	size_t room;
};

FILE *memory_file_open(struct memory_file *file, char **text, size_t *size);

#endif
