/*
 * lib/base/name.c - which names can be printed
 *
 * Names stand in messages, logs and lines of texts, which a control character
 * would break, or would have a terminal carry out.
 */
#include <stdarg.h>
#include <stdio.h>
#include "lib/base/base.h"

/* C0 and DEL; in UTF-8, C1 as well. */
static unsigned control_at(const unsigned char *text)
{
	if (*text < 0x20 || *text == 0x7f)
		return *text;
	return *text == 0xc2 && text[1] >= 0x80 && text[1] < 0xa0 ? text[1] : 0;
}

static const unsigned char *find_control(const char *name)
{
	const unsigned char *at = (const unsigned char *)name;

	for (;; at++) {
		while (*at - 0x20u < 0x7f - 0x20) /* most are ASCII */
			at++;
		if (!*at || control_at(at))
			return at;
	}
}

enum philox_status name_check(const char *name, const char *format, ...)
{
	const unsigned char *at;
	char what[160];
	va_list arguments;

	if (!name)
		return PHILOX_OK;
	at = find_control(name);
	if (!*at)
		return PHILOX_OK;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	return status_set(PHILOX_ERROR_INVALID,
			  "%s has a control character, 0x%02x, after '%.*s'",
			  what, control_at(at),
			  (int)((const char *)at - name > 100
					? 100
					: (const char *)at - name),
			  name);
}
