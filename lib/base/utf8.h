/*
 * lib/base/utf8.h - which bytes are characters
 */
#ifndef LIB_BASE_UTF8_H
#define LIB_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * utf8_length() returns how many bytes the character at `text` takes, 0 if it
 * is not one: a stray or missing continuation, a longer form than needed, a
 * surrogate, or above U+10FFFF. The text is closed by a NUL.
 */
static inline size_t utf8_length(const unsigned char *text)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t point;
	size_t length, i;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc0 || text[0] > 0xf7)
		return 0;
	length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	point = text[0] & (0x7f >> length);
	for (i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (text[i] & 0x3f);
	}
	if (point < smallest[length] || point > 0x10ffff ||
	    (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return length;
}

#endif
