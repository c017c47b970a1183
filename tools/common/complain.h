/*
 * tools/common/complain.h - what the commands say of a wrong command line, and
 * how they read values
 *
 * There is one form for each mistake, whatever the command:
 *
 *   philox train: --steps '0': must be a whole number from 1 to 10000000
 *   philox draw: --dist 'cauchy': must be one of bits, uniform, normal
 *   philox draw: --seed: needs a value
 *   philox info: unknown option '--nonsense'
 *   philox info: unexpected argument 'x'
 *
 * Values are shown as they were given. All that complain return 2, the exit
 * status of a command line that is wrong. `command` is the command's name.
 */
#ifndef TOOLS_COMMON_COMPLAIN_H
#define TOOLS_COMMON_COMPLAIN_H

#include <stdint.h>
#include <philox.h>

/* What every command's --device says, and its --help. */
#define HELP_DEVICE "host, host:sync, cuda, cuda:N"
#define HELP_HELP   "show this and end"

int complain(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* complain_value() is of an option's value; `option` comes without its --. */
int complain_value(const char *command, const char *option, const char *value,
		   const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The values of options: 0, or 2 after complaining, with nothing written. */

/* Decimal or 0x..., no sign and nothing after it. */
int take_whole(const char *command, const char *option, const char *text,
	       uint64_t least, uint64_t most, uint64_t *value);
/* The same, and a minus sign; written as two's complement. */
int take_signed(const char *command, const char *option, const char *text,
		int64_t least, int64_t most, uint64_t *value);
int take_probability(const char *command, const char *option, const char *text,
		     double *value);
/* A finite number, with no blanks before or after it. */
int take_real(const char *command, const char *option, const char *text,
	      double *value);
/* One of a list that ends with NULL: its place. */
int take_name(const char *command, const char *option, const char *text,
	      const char *const names[], int *place);

/*
 * open_device() opens what --device names. It returns 0, or the exit status
 * after saying why not: 2 if no device is called so, 1 if there is none here.
 */
int open_device(const char *command, const char *name,
		struct philox_device **device);

#endif
