/*
 * tools/cli/terminal.h - what the terminal is, if there is one
 *
 * The width is the terminal's own, each time that it is asked for; else that of
 * COLUMNS in the environment, else 80. Colours are used unless NO_COLOR is set
 * and not empty (https://no-color.org), or TERM is dumb or missing. What goes
 * to a file or a pipe is the same whatever the terminal, and has no colours.
 */
#ifndef TOOLS_CLI_TERMINAL_H
#define TOOLS_CLI_TERMINAL_H

#include <stddef.h>
#include <unistd.h> /* STDOUT_FILENO, STDERR_FILENO */

/* Narrower terminals are treated as this wide. */
#define TERMINAL_LEAST 20

/*
 * terminal_width() is how many columns the terminal has that `descriptor` is; 0
 * if it is none, and a line may have any length.
 */
unsigned terminal_width(int descriptor);

/* terminal_fits() is 1 if a line of so many columns stays one line there. */
int terminal_fits(int descriptor, unsigned columns);

/* terminal_moves() is 1 if a line there can be written over. */
int terminal_moves(int descriptor);

/*
 * terminal_colour() begins a colour on standard output, TERMINAL_PLAIN ends it.
 * They are the empty string where there are no colours.
 */
enum terminal_colour {
	TERMINAL_PLAIN,
	TERMINAL_GOOD,
	TERMINAL_BAD,
	TERMINAL_DOUBTFUL
};
const char *terminal_colour(enum terminal_colour colour);

/*
 * terminal_write() writes all bytes to a descriptor: 0, or -1 with errno.
 */
int terminal_write(int descriptor, const char *bytes, size_t size);

#endif
