/*
 * tools/cli/terminal.c - what the terminal is, if there is one
 */
#include "tools/cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* --- what a descriptor is ------------------------------------------------- */

static unsigned width_of_environment(void)
{
	const char *text = getenv("COLUMNS");
	char *end;
	unsigned long columns;

	if (!text || *text < '0' || *text > '9')
		return 80;
	columns = strtoul(text, &end, 10);
	return *end || !columns || columns > 10000 ? 80 : (unsigned)columns;
}

unsigned terminal_width(int descriptor)
{
	struct winsize size;
	unsigned columns = 0;

	if (!isatty(descriptor))
		return 0;
	if (!ioctl(descriptor, TIOCGWINSZ, &size))
		columns = size.ws_col;
	if (!columns)
		columns = width_of_environment();
	return columns < TERMINAL_LEAST ? TERMINAL_LEAST : columns;
}

int terminal_fits(int descriptor, unsigned columns)
{
	unsigned width = terminal_width(descriptor);

	return !width || columns <= width;
}

int terminal_moves(int descriptor)
{
	const char *term = getenv("TERM");

	return isatty(descriptor) && term && *term && strcmp(term, "dumb") != 0;
}

/* --- colours -------------------------------------------------------------- */

const char *terminal_colour(enum terminal_colour colour)
{
	static const char *const begins[] = {[TERMINAL_PLAIN] = "\033[0m",
					     [TERMINAL_GOOD] = "\033[32m",
					     [TERMINAL_BAD] = "\033[31m",
					     [TERMINAL_DOUBTFUL] = "\033[33m"};
	const char *no_color = getenv("NO_COLOR");

	if ((no_color && *no_color) || !terminal_moves(STDOUT_FILENO))
		return "";
	return begins[colour];
}

/* --- writing -------------------------------------------------------------- */

int terminal_write(int descriptor, const char *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(descriptor, bytes, size);

		if (written < 0 && errno != EINTR)
			return -1;
		if (written < 0)
			continue;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}
