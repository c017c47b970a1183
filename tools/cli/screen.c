/*
 * tools/cli/screen.c - output that fits the terminal it goes to
 *
 * With glibc, stdout and stderr may be replaced by streams of one's own, so
 * that all that is printed passes through here, whoever prints it. With another
 * C library they stay as they are, and long lines are cut by the terminal.
 */
#include "tools/cli/cli.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* --- a stream to a terminal ----------------------------------------------- */

struct screen {
	int descriptor;
	struct wrap wrap;
	int failed;
	size_t size;
	char bytes[4096]; /* wrapped, not yet written */
};

static void flush(struct screen *screen)
{
	screen->failed |= terminal_write(screen->descriptor, screen->bytes,
					 screen->size) != 0;
	screen->size = 0;
}

/* --- replacing the streams ------------------------------------------------ */

static struct screen screens[2] = {{.descriptor = STDOUT_FILENO},
				   {.descriptor = STDERR_FILENO}};

/* Writes what a line without an end still owes. */
static void end_screens(void)
{
	progress_end();
	for (size_t i = 0; i < 2; i++) {
		struct screen *screen = &screens[i];

		if (!screen->wrap.emit)
			continue;
		fflush(i ? stderr : stdout);
		wrap_end(&screen->wrap);
		flush(screen);
	}
}

#ifdef __GLIBC__
static void emit(void *user, const char *bytes, size_t size)
{
	struct screen *screen = user;

	while (size) {
		size_t room = sizeof(screen->bytes) - screen->size;
		size_t n = size < room ? size : room;

		memcpy(screen->bytes + screen->size, bytes, n);
		screen->size += n;
		bytes += n;
		size -= n;
		if (screen->size == sizeof(screen->bytes))
			flush(screen);
	}
}

static ssize_t write_screen(void *cookie, const char *bytes, size_t size)
{
	struct screen *screen = cookie;

	progress_wipe();
	screen->failed = 0;
	screen->wrap.width = terminal_width(screen->descriptor);
	wrap_put(&screen->wrap, bytes, size);
	flush(screen);
	return screen->failed ? 0 : (ssize_t)size;
}

/* Line by line; stays as it is if it is no terminal or memory is short. */
static FILE *replace(struct screen *screen, FILE *stream)
{
	const cookie_io_functions_t functions = {.write = write_screen};
	unsigned width = terminal_width(screen->descriptor);
	FILE *made = width ? fopencookie(screen, "w", functions) : NULL;

	if (!made)
		return stream;
	setvbuf(made, NULL, _IOLBF, BUFSIZ);
	wrap_begin(&screen->wrap, width, 2, emit, screen);
	return made;
}
#endif

void screen_begin(void)
{
	setlocale(LC_CTYPE, "");
#ifdef __GLIBC__
	stdout = replace(&screens[0], stdout);
	stderr = replace(&screens[1], stderr);
#endif
	atexit(end_screens);
}

/* --- texts for people ----------------------------------------------------- */

static unsigned longest_line(const char *text)
{
	unsigned longest = 0;

	while (*text) {
		size_t length = strcspn(text, "\n");
		unsigned columns = wrap_columns(text, length);

		longest = columns > longest ? columns : longest;
		text += length + (text[length] == '\n');
	}
	return longest;
}

static void put(void *user, const char *bytes, size_t size)
{
	fwrite(bytes, 1, size, user);
}

void screen_help(FILE *out, const char *text)
{
	int descriptor = out == stderr ? STDERR_FILENO : STDOUT_FILENO;

	if (terminal_fits(descriptor, longest_line(text)))
		fputs(text, out);
	else
		wrap_help(text, terminal_width(descriptor), put, out);
}
