/*
 * tools/cli/options.h - the options of a command, as a table
 *
 *   struct tool_option options[] = {
 *           {"device", TAKES_TEXT, .to = &device},
 *           {"steps", TAKES_WHOLE, .to = &steps, .least = 1, .most = 1000},
 *           {"json", TAKES_NOTHING, .to = &json},
 *           {0}};
 *   int status = read_options(argc, argv, options, usage, 0);
 *
 *   if (status >= 0)
 *           return status;
 *
 * Names may be cut short if no other begins the same; --help needs no row.
 */
#ifndef TOOLS_CLI_OPTIONS_H
#define TOOLS_CLI_OPTIONS_H

#include <stdint.h>
#include <unistd.h> /* optind */

#define OPTIONS_MAX 30

/* What an option takes, and the type of `to` for it. */
enum option_takes {
	TAKES_NOTHING,     /* int, which becomes 1 */
	TAKES_TEXT,        /* const char * */
	TAKES_WHOLE,       /* uint64_t, from `least` to `most` */
	TAKES_WHOLE_32,    /* uint32_t, the same */
	TAKES_REAL,        /* double, finite */
	TAKES_PROBABILITY, /* double, from 0 to 1 */
	TAKES_NAME,        /* int: the place in `names` */
	TAKES_OTHER        /* anything: take() reads it */
};

struct tool_option {
	const char *name; /* without its --; NULL closes the table */
	enum option_takes takes;
	void *to;
	uint64_t least, most;
	const char *const *names; /* closed by NULL */
	/* Returns 0, or 2 after complaining. */
	int (*take)(void *to, const char *value);
	const char **given; /* becomes the value as given; may be NULL */
};

/*
 * read_options() reads a command line that has up to `arguments` arguments; the
 * first is at argv[optind] then. It returns -1, or the exit status: 0 after
 * --help, for which it prints `usage`, 2 after complaining.
 */
int read_options(int argc, char **argv, const struct tool_option *options,
		 const char *usage, int arguments);

#endif
