/*
 * tools/cli/screen.h - output that fits the terminal it goes to
 *
 * What a command writes to a terminal is as wide as the terminal: lines that
 * are too long go on below (tools/cli/wrap.h), and the line of progress is
 * wiped before anything else is written (tools/cli/progress.h). Tables that
 * would be hard to read when wrapped ask terminal_fits() and take another form.
 */
#ifndef TOOLS_CLI_SCREEN_H
#define TOOLS_CLI_SCREEN_H

#include <stdio.h>

/*
 * screen_begin() is called once, before any output. Streams that are no
 * terminals stay as they are.
 */
void screen_begin(void);

/*
 * screen_help() prints a text for people that has lines of up to 80 columns and
 * paragraphs: as it is, or wrapped anew if the terminal is narrower.
 */
void screen_help(FILE *out, const char *text);

#endif
