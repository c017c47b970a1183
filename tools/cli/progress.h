/*
 * tools/cli/progress.h - a line that shows how far a long command is
 *
 *   captured   [#########.............] 240/600, loss 2.31, about 2 min left
 *
 * It is on standard error, on a terminal that can write over a line, and
 * nowhere else. It takes one line of any screen: the bar is as long as there is
 * room, and what has no room is left out, the time that is left last. It comes
 * when a command has taken half a second, and goes when anything else is
 * printed.
 */
#ifndef TOOLS_CLI_PROGRESS_H
#define TOOLS_CLI_PROGRESS_H

#include <stddef.h>

struct progress {
	const char *name;   /* of what is being done now */
	double part;        /* of that, from 0 to 1: the bar */
	double whole;       /* of all the work, from 0 to 1: the time left */
	const char *detail; /* how far it is in words, or NULL */
};

/*
 * progress_show() draws the line anew, if the last time was not just now. The
 * clock begins with the first call, and with the first after progress_end(),
 * which wipes the line.
 */
void progress_show(const struct progress *progress);
void progress_end(void);

/* progress_wipe() makes room for other output; the next call draws it again. */
void progress_wipe(void);

/* progress_possible() is 1 if progress is shown at all. */
int progress_possible(void);

/* progress_line() writes the line for a screen, without anything left over. */
#define PROGRESS_MAX 256
void progress_line(const struct progress *progress, const char *left,
		   unsigned width, char line[PROGRESS_MAX]);

/*
 * --- the time that is left ---------------------------------------------------
 */

struct time_left {
	double shown; /* in seconds, as a round number; 0: nothing yet */
};

/*
 * time_left() estimates from the work done, `whole`, in `elapsed` seconds, and
 * writes it as "about 40 s left"; or nothing if it is too early to tell. What it
 * says only falls, unless it turns out to be wrong by more than a quarter.
 */
void time_left(struct time_left *left, double elapsed, double whole, char *text,
	       size_t size);

#endif
