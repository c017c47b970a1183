/*
 * tools/cli/complain.c - one form for all complaints, and values of options
 */
#include "tools/cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the form ------------------------------------------------------------- */

int complain(const char *command, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "philox %s: ", command);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return 2;
}

int complain_value(const char *command, const char *option, const char *value,
		   const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "philox %s: --%s '%s': ", command, option, value);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return 2;
}

const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* --- values --------------------------------------------------------------- */

static int parse_whole(const char *text, uint64_t *value)
{
	int is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = text + (is_hex ? 2 : 0);
	const char *set = is_hex ? "0123456789abcdefABCDEF" : "0123456789";
	size_t length = strspn(digits, set);

	if (!length || digits[length])
		return -1;
	errno = 0;
	*value = strtoull(digits, NULL, is_hex ? 16 : 10);
	return errno ? -1 : 0;
}

int take_whole(const char *command, const char *option, const char *text,
	       uint64_t least, uint64_t most, uint64_t *value)
{
	uint64_t number;

	if (parse_whole(text, &number) || number < least || number > most)
		return complain_value(command, option, text,
				      "must be a whole number from %" PRIu64
				      " to %" PRIu64,
				      least, most);
	*value = number;
	return 0;
}

int take_signed(const char *command, const char *option, const char *text,
		int64_t least, int64_t most, uint64_t *value)
{
	int is_negative = text[0] == '-';
	uint64_t size,
		largest = is_negative ? 0 - (uint64_t)least : (uint64_t)most;

	if (parse_whole(text + is_negative, &size) || size > largest)
		return complain_value(command, option, text,
				      "must be a whole number from %" PRId64
				      " to %" PRId64,
				      least, most);
	*value = is_negative ? 0 - size : size;
	return 0;
}

/* strtod() would skip blanks. NAN means that it is not a number. */
static double parse_real(const char *text)
{
	char *end;
	double number = strtod(text, &end);

	return end == text || *end || isspace((unsigned char)*text) ? NAN
								    : number;
}

int take_probability(const char *command, const char *option, const char *text,
		     double *value)
{
	double number = parse_real(text);

	if (!(number >= 0 && number <= 1))
		return complain_value(command, option, text,
				      "must be a number from 0 to 1");
	*value = number;
	return 0;
}

int take_real(const char *command, const char *option, const char *text,
	      double *value)
{
	double number = parse_real(text);

	if (!isfinite(number))
		return complain_value(command, option, text,
				      "must be a finite number");
	*value = number;
	return 0;
}

int take_name(const char *command, const char *option, const char *text,
	      const char *const names[], int *place)
{
	char list[256] = "";
	size_t length = 0;

	for (int i = 0; names[i]; i++) {
		if (!strcmp(text, names[i])) {
			*place = i;
			return 0;
		}
		if (length < sizeof(list))
			length += (size_t)snprintf(
				list + length, sizeof(list) - length, "%s%s",
				i ? ", " : "", names[i]);
	}
	return complain_value(command, option, text, "must be one of %s", list);
}

int open_device(const char *command, const char *name,
		struct philox_device **device)
{
	enum philox_status status = philox_device_open(name, device);

	if (status == PHILOX_OK)
		return 0;
	complain(command, "%s", philox_error_message());
	return status == PHILOX_ERROR_INVALID ? 2 : 1;
}
