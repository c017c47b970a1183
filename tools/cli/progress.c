/*
 * tools/cli/progress.c - a line that shows how far a long command is
 */
#include "tools/cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define QUIET     0.5 /* seconds without a line */
#define PAUSE     0.1 /* seconds between two drawings */
#define BAR_LEAST 8
#define BAR_MOST  30
#define EARLY     2.0  /* seconds without an estimate */
#define LITTLE    0.01 /* of the work: no estimate either */
#define WRONG     1.25

/* --- the time that is left ------------------------------------------------ */

/* As exact as one wants to know it: tens of seconds, minutes, hours. */
static double round_time(double seconds)
{
	if (seconds <= 50)
		return seconds <= 10 ? 10 : ceil(seconds / 10) * 10;
	if (seconds <= 90 * 60)
		return fmax(1, round(seconds / 60)) * 60;
	return round(seconds / 3600) * 3600;
}

static void print_time(double seconds, char *text, size_t size)
{
	if (seconds < 60)
		snprintf(text, size, "about %.0f s left", seconds);
	else if (seconds <= 90 * 60)
		snprintf(text, size, "about %.0f min left", seconds / 60);
	else
		snprintf(text, size, "about %.0f h left", seconds / 3600);
}

void time_left(struct time_left *left, double elapsed, double whole, char *text,
	       size_t size)
{
	double estimate;

	text[0] = '\0';
	if (elapsed < EARLY || whole < LITTLE || whole >= 1)
		return;
	estimate = elapsed * (1 - whole) / whole;
	if (!left->shown || estimate < left->shown ||
	    estimate > WRONG * left->shown)
		left->shown = left->shown && estimate < left->shown
				      ? fmin(left->shown, round_time(estimate))
				      : round_time(estimate);
	print_time(left->shown, text, size);
}

/* --- the line ------------------------------------------------------------- */

/* Adds a part if it leaves no less than `spare` columns free. */
static void add_part(char *line, unsigned width, unsigned spare,
		     const char *before, const char *part)
{
	size_t length = strlen(line), more = strlen(before) + strlen(part);
	unsigned columns = wrap_columns(part, strlen(part)) +
			   (unsigned)strlen(before) +
			   wrap_columns(line, length);

	if (!*part || columns + spare > width || length + more >= PROGRESS_MAX)
		return;
	strcat(line, before);
	strcat(line, part);
}

static void make_bar(char *bar, unsigned length, double part)
{
	unsigned filled = (unsigned)(part * length);

	bar[0] = '[';
	memset(bar + 1, '.', length);
	memset(bar + 1, '#', filled < length ? filled : length);
	memcpy(bar + 1 + length, "]", 2);
}

void progress_line(const struct progress *progress, const char *left,
		   unsigned width, char line[PROGRESS_MAX])
{
	char words[PROGRESS_MAX] = "", bar[BAR_MOST + 3];
	const char *detail = progress->detail ? progress->detail : "";
	unsigned name = wrap_columns(progress->name, strlen(progress->name));
	unsigned used, room, time = (unsigned)strlen(left);

	line[0] = '\0';
	add_part(line, width, 0, "", progress->name);
	used = *line ? name + 1 : 0;
	add_part(words, width, used + (time ? time + 2 : 0), "", detail);
	add_part(words, width, used, *words ? ", " : "", left);
	used += wrap_columns(words, strlen(words)) + (*words ? 1 : 0);
	room = width > used + 2 ? width - used - 2 : 0;
	if (room >= BAR_LEAST) {
		make_bar(bar, room < BAR_MOST ? room : BAR_MOST,
			 progress->part);
		add_part(line, width, 0, *line ? " " : "", bar);
	}
	add_part(line, width, 0, *line ? " " : "", words);
}

/* --- the screen ----------------------------------------------------------- */

static struct {
	double begun, drawn; /* 0: not yet */
	unsigned columns;    /* of the line on the screen; 0: none */
	struct time_left left;
} now;

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int progress_possible(void)
{
	return terminal_moves(STDERR_FILENO);
}

/* The last column stays free: some terminals go to the next line after it. */
static void draw(const struct progress *progress, double time)
{
	char line[PROGRESS_MAX], text[2 * PROGRESS_MAX], left[32];

	time_left(&now.left, time - now.begun, progress->whole, left,
		  sizeof(left));
	progress_line(progress, left, terminal_width(STDERR_FILENO) - 1, line);
	snprintf(text, sizeof(text), "\r%s\033[K", line);
	terminal_write(STDERR_FILENO, text, strlen(text));
	now.columns = wrap_columns(line, strlen(line));
	now.drawn = time;
}

void progress_show(const struct progress *progress)
{
	double time = seconds();

	if (!progress_possible())
		return;
	if (now.begun == 0)
		now.begun = time;
	if (time - now.begun >= QUIET && time - now.drawn >= PAUSE)
		draw(progress, time);
}

void progress_wipe(void)
{
	if (now.columns)
		terminal_write(STDERR_FILENO, "\r\033[K", 4);
	now.columns = 0;
}

void progress_end(void)
{
	progress_wipe();
	memset(&now, 0, sizeof(now));
}
