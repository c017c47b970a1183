/*
 * lib/text/text.c - a text, made in memory, and where it goes
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include "lib/containers/array.h"
#include "lib/text/text.h"

/* Less than n is an error of the stream. */
static ssize_t write_bytes(void *cookie, const char *bytes, size_t n)
{
	struct text *text = cookie;
	char *to = array_grow(&text->bytes, text->size, n + 1, 1);

	if (!to)
		return 0;
	memcpy(to, bytes, n);
	text->size += n;
	return (ssize_t)n;
}

FILE *text_begin(struct text *text)
{
	const cookie_io_functions_t functions = {.write = write_bytes};

	*text = (struct text){.size = 0};
	text->out = fopencookie(text, "w", functions);
	return text->out;
}

/* If memory ran out, the stream has not taken everything. */
static int is_whole(FILE *out)
{
	return !fflush(out) && !ferror(out);
}

int text_end(struct text *text)
{
	FILE *out = text->out;

	if (out && is_whole(out))
		fprintf(out, "checksum %016" PRIx64 " bytes %zu\n",
			hash_text(text->bytes, text->size), text->size);
	return text_close(text);
}

int text_close(struct text *text)
{
	FILE *out = text->out;
	int whole = out && is_whole(out);

	if (out)
		fclose(out);
	if (!whole) {
		free(text->bytes);
		*text = (struct text){.size = 0};
	}
	return whole;
}

/* What could not be loaded is not saved. */
static enum philox_status put_into_file(const struct text *text,
					struct text_target to)
{
	enum philox_status status;

	if (text->size > FILE_TEXT_MOST && !to.is_large)
		status = status_set(PHILOX_ERROR_FILE,
				    "'%s': a text of %zu bytes is too long to "
				    "be loaded again",
				    to.path, text->size);
	else
		status = file_write(to.path, to.readers, text->bytes,
				    text->size);
	free(text->bytes);
	return status;
}

enum philox_status text_put(const struct text *text, struct text_target to)
{
	if (to.path)
		return put_into_file(text, to);
	*to.text = text->bytes;
	if (to.size)
		*to.size = text->size;
	return PHILOX_OK;
}

enum philox_status text_done(const struct text *text, const char *path,
			     enum philox_status status)
{
	free(text->bytes);
	return status == PHILOX_OK ? status
				   : status_prefix(status, "'%s': ", path);
}
