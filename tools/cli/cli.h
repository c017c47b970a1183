/*
 * tools/cli/cli.h - what all commands use: options, errors, the screen, JSON,
 * SVG
 */
#ifndef TOOLS_CLI_CLI_H
#define TOOLS_CLI_CLI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <philox.h>
#include <philox/fill.h>

/* --- terminal: what the terminal is, if there is one ---------------------- */

/*
 * The width is the terminal's own, each time that it is asked for; else that of
 * COLUMNS in the environment, else 80. Colours are used unless NO_COLOR is set
 * and not empty (https://no-color.org), or TERM is dumb or missing. What goes
 * to a file or a pipe is the same whatever the terminal, and has no colours.
 */

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

/* --- wrap: text that fits a screen of any width --------------------------- */

/*
 * A line that is too long continues below. It breaks between words, and the
 * rest is below the text of the line: where the first gap of two blanks or
 * more ends, as in
 *
 *   --steps N      steps of each run (default 600;
 *                  with --naive 100)
 *
 * or, if there is none in the left half of the screen, a little to the right of
 * where the line begins. A line that fits is not changed. Only a word that is
 * wider than the screen is cut.
 */

#define WRAP_WORD_MAX 1024 /* bytes; a longer word is taken for several */

/* Where the text goes, piece by piece. */
typedef void (*wrap_emit)(void *user, const char *bytes, size_t size);

struct wrap {
	unsigned width; /* of the screen; may change between lines */
	unsigned hang;  /* how far to the right a line without a gap goes on */
	wrap_emit emit;
	void *user;

	/* The current line. */
	unsigned column; /* how much of it is written */
	unsigned lead;   /* blanks that it begins with */
	unsigned indent; /* of what goes on */
	int has_text;
	int has_gap;
	unsigned blanks; /* before the word, not yet written */
	size_t length;
	char word[WRAP_WORD_MAX]; /* not yet written */
};

/* wrap_begin() makes *wrap ready for the first line. */
void wrap_begin(struct wrap *wrap, unsigned width, unsigned hang,
		wrap_emit emit, void *user);

/*
 * wrap_put() takes text in pieces of any length. A word is written when its end
 * is known: wrap_end() writes the last one.
 */
void wrap_put(struct wrap *wrap, const char *text, size_t size);
void wrap_end(struct wrap *wrap);

/*
 * wrap_columns() is how many columns bytes of one line take: multibyte
 * characters as the locale has them, escape sequences of colours nothing.
 */
unsigned wrap_columns(const char *bytes, size_t size);

/*
 * wrap_help() wraps a text that was written in lines of up to 80 columns, as the
 * help of a command is: lines that are one paragraph, or the explanation of one
 * option, are joined before.
 */
void wrap_help(const char *text, unsigned width, wrap_emit emit, void *user);

/* --- progress: a line that shows how far a long command is ---------------- */

/*
 *   captured   [#########.............] 240/600, loss 2.31, about 2 min left
 *
 * It is on standard error, on a terminal that can write over a line, and
 * nowhere else. It takes one line of any screen: the bar is as long as there is
 * room, and what has no room is left out, the time that is left last. It comes
 * when a command has taken half a second, and goes when anything else is
 * printed.
 */

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

/* --- screen: output that fits the terminal it goes to --------------------- */

/*
 * What a command writes to a terminal is as wide as the terminal: lines that
 * are too long continue below (tools/cli/cli.h), and the line of progress is
 * wiped before anything else is written (tools/cli/cli.h). Tables that
 * would be hard to read when wrapped ask terminal_fits() and take another form.
 */

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

/* --- complain: complaints about a wrong command line, and reading values -- */

/*
 * Each mistake has one form in all commands:
 *
 *   philox train: --steps '0': must be a whole number from 1 to 10000000
 *   philox draw: --dist 'cauchy': must be one of bits, uniform, normal
 *   philox draw: --seed: needs a value
 *   philox info: unknown option '--nonsense'
 *   philox info: unexpected argument 'x'
 *
 * Values are shown as given. All functions that complain return 2, the exit
 * status for a wrong command line. `command` is the command's name.
 */

/* The help for --device and --help in every command. */
#define HELP_DEVICE "host, host:sync, host:strict, cuda, cuda:N"
#define HELP_HELP   "show this and end"

int complain(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * complain_value() is about an option's value; `option` comes without its --.
 */
int complain_value(const char *command, const char *option, const char *value,
		   const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* plural() is "s" for any count except one. */
const char *plural(uint64_t count);

/* The values of options: 0, or 2 after complaining, with nothing written. */

/* Decimal or 0x..., no sign and nothing after it. */
int take_whole(const char *command, const char *option, const char *text,
	       uint64_t least, uint64_t most, uint64_t *value);
/* The same, or with a minus sign; written as two's complement. */
int take_signed(const char *command, const char *option, const char *text,
		int64_t least, int64_t most, uint64_t *value);
int take_probability(const char *command, const char *option, const char *text,
		     double *value);
/* A finite number, with no blanks before or after it. */
int take_real(const char *command, const char *option, const char *text,
	      double *value);
/* One of a list that ends with NULL: writes its place. */
int take_name(const char *command, const char *option, const char *text,
	      const char *const names[], int *place);

/*
 * open_device() opens the device that --device names. It returns 0, or the exit
 * status after saying why not: 2 if no device has this name, 1 if the machine
 * lacks it.
 */
int open_device(const char *command, const char *name,
		struct philox_device **device);

/* --- options: the options of a command, as a table ------------------------ */

/*
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

/* --- kinds: every kind of fill: a distribution in a dtype ----------------- */

/*
 * Found in the library's own table, so that a new one is measured, checked and
 * drawn without a line here.
 */

struct fill_kind {
	enum philox_dist dist;
	enum philox_dtype dtype;
	const char *dist_name, *dtype_name;
	int reads;            /* it has an input */
	size_t in_size, size; /* of an element */
};

/*
 * fill_kinds() returns all kinds, those of a distribution together; after the
 * last is one whose size is 0. Two threads must not make the first call at
 * once.
 */
const struct fill_kind *fill_kinds(void);

/* fill_kind_of() returns one of them, NULL if it does not exist. */
const struct fill_kind *fill_kind_of(enum philox_dist dist,
				     enum philox_dtype dtype);

/* --- json: writing one JSON value on one line ----------------------------- */

/*
 *   json_begin(&json, stdout);
 *   json_object(&json, NULL);
 *   json_string(&json, "device", "host");
 *   json_array(&json, "losses");
 *   json_number(&json, NULL, 5.25);
 *   json_close(&json);
 *   json_close(&json);
 *   json_end(&json);        {"device":"host","losses":[5.25]}
 *
 * `key` is the member's name within an object, NULL within an array and at the
 * top. Numbers are written so that reading them gives the same bits back.
 */

#define JSON_DEPTH_MAX 16

struct json {
	FILE *out;
	unsigned depth;
	char closer[JSON_DEPTH_MAX]; /* of each open object or array */
	char filled[JSON_DEPTH_MAX]; /* has it a member? */
};

void json_begin(struct json *json, FILE *out);

/* json_object() and json_array() open one, json_close() closes the last. */
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_close(struct json *json);

/*
 * json_string() writes a string, NULL as null; a byte that is not UTF-8 becomes
 * U+FFFD. json_number() writes numbers that are not finite as null: JSON has no
 * word for them.
 */
void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, double value);
/* json_hash() writes 16 hex digits as a text: most readers would round it. */
void json_hash(struct json *json, const char *key, uint64_t hash);
void json_integer(struct json *json, const char *key, int64_t value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_bool(struct json *json, const char *key, int value);

/* json_end() ends the line and returns 0, or -1 if anything was not written. */
int json_end(struct json *json);

/* --- svg: what the pictures in SVG have in common ------------------------- */

/*
 * Sizes are in points. Text may have any bytes: what is no character of XML
 * becomes U+FFFD.
 */

#define SVG_LETTER 6.3 /* the width of one, nearly */

/*
 * svg_begin() begins a picture: its title, and its style for light and for dark,
 * with the classes paper, title, dim, tick, grid and line, and those of `style`.
 * svg_end() ends it.
 */
void svg_begin(FILE *out, double width, double height, const char *title,
	       const char *style);
void svg_end(FILE *out);

/* svg_escape() writes text that stands within an element or an attribute. */
void svg_escape(FILE *out, const char *text);

/*
 * svg_text() writes as much of a text as there is room for; a cut one ends with
 * three dots. `look` has the classes, which may be none.
 */
void svg_text(FILE *out, double x, double y, const char *look, const char *text,
	      double room);

void svg_line(FILE *out, const char *look, double x1, double y1, double x2,
	      double y2);

/* svg_letters() is how many letters a text has. */
size_t svg_letters(const char *text);

#endif
