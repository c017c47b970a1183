/*
 * lib/text/stream.c - a stream into memory that tells when there was none
 */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include "lib/text/text.h"

#define ROOM_FIRST 4096

/* Room for n more bytes and a NUL. */
static int make_room(struct memory_file *file, size_t n)
{
	size_t room = file->room ? file->room : ROOM_FIRST;
	char *larger;

	while (room - *file->size <= n)
		room *= 2;
	if (room == file->room)
		return 1;
	larger = realloc(*file->text, room);
	if (!larger)
		return 0;
	*file->text = larger;
	file->room = room;
	return 1;
}

/* Less than n is an error of the stream. */
static ssize_t write_bytes(void *cookie, const char *bytes, size_t n)
{
	struct memory_file *file = cookie;

	if (!make_room(file, n))
		return 0;
	memcpy(*file->text + *file->size, bytes, n);
	*file->size += n;
	(*file->text)[*file->size] = '\0';
	return (ssize_t)n;
}

FILE *memory_file_open(struct memory_file *file, char **text, size_t *size)
{
	const cookie_io_functions_t functions = {.write = write_bytes};

	*text = NULL;
	*size = 0;
	*file = (struct memory_file){.text = text, .size = size};
	return fopencookie(file, "w", functions);
}
