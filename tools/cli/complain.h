/*
 * tools/cli/complain.h - complaints about a wrong command line, and reading
 * values
 *
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
#ifndef TOOLS_CLI_COMPLAIN_H
#define TOOLS_CLI_COMPLAIN_H

#include <stdint.h>
#include <philox.h>

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

#endif
