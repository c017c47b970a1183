/*
 * lib/trace/words.c - reading the words of an event
 */
#include <string.h>
#include "lib/trace/trace.h"

/*
 * A name in quotation marks has none inside; all else ends at a space. NULL: a
 * quotation mark has no second one.
 */
static const char *end_of_word(const char *text, const char *end)
{
	const char *close;

	if (*text != '"') {
		close = memchr(text, ' ', (size_t)(end - text));
		return close ? close : end;
	}
	close = memchr(text + 1, '"', (size_t)(end - text - 1));
	return close ? close + 1 : NULL;
}

size_t written_split(const char *text, size_t length,
		     struct written_word words[WRITTEN_WORDS_MAX])
{
	const char *end = text + length;
	size_t n = 0;

	while (text < end && n < WRITTEN_WORDS_MAX) {
		const char *stop = end_of_word(text, end);

		if (!stop) /* cut within a name */
			break;
		words[n++] = (struct written_word){text, (size_t)(stop - text)};
		text = stop + 1;
	}
	return n;
}

int written_same(struct written_word a, struct written_word b)
{
	return a.length == b.length &&
	       (!a.length || !memcmp(a.text, b.text, a.length));
}

int written_is(struct written_word word, const char *text)
{
	return word.text && word.length == strlen(text) &&
	       !memcmp(word.text, text, word.length);
}

struct written_word written_field(const struct written_word *words, size_t n,
				  const char *name)
{
	for (size_t i = 1; i + 1 < n; i += 2)
		if (written_is(words[i], name))
			return words[i + 1];
	return (struct written_word){NULL, 0};
}

uint64_t written_number(const struct written_word *words, size_t n,
			const char *name)
{
	struct written_word word = written_field(words, n, name);
	uint64_t number = 0;

	for (size_t i = 0; word.text && i < word.length; i++)
		if (word.text[i] >= '0' && word.text[i] <= '9')
			number = number * 10 + (uint64_t)(word.text[i] - '0');
	return number;
}

int written_has_flag(const struct written_word *words, size_t n,
		     const char *flag)
{
	struct written_word flags = written_field(words, n, "flags");
	const char *end;

	if (!flags.text)
		return 0;
	end = flags.text + flags.length;
	for (const char *word = flags.text; word < end;) {
		const char *comma = memchr(word, ',', (size_t)(end - word));
		size_t length = (size_t)((comma ? comma : end) - word);

		if (length == strlen(flag) && !memcmp(word, flag, length))
			return 1;
		word = comma ? comma + 1 : end;
	}
	return 0;
}

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Takes one byte of a name, written as itself or as \xHH. */
static unsigned char take_byte(const char **text, const char *end)
{
	const char *at = *text;

	if (end - at >= 4 && at[0] == '\\' && at[1] == 'x' &&
	    hex_digit(at[2]) >= 0 && hex_digit(at[3]) >= 0) {
		*text += 4;
		return (unsigned char)(hex_digit(at[2]) * 16 +
				       hex_digit(at[3]));
	}
	++*text;
	return (unsigned char)*at;
}

size_t written_name(struct written_word word, char *name, size_t size)
{
	const char *text = word.text ? word.text : "";
	const char *end = text + word.length;
	size_t length = 0;

	if (word.length >= 2 && *text == '"') {
		text++;
		end--;
	}
	while (text < end && length + 5 <= size) { /* 4 bytes and the NUL */
		unsigned char bytes[5] = {take_byte(&text, end)};
		const char *next = text;
		size_t whole;

		for (int i = 1; i < 4 && next < end; i++)
			bytes[i] = take_byte(&next, end);
		whole = utf8_length(bytes);
		if (!whole || bytes[0] < ' ' || bytes[0] == 0x7f) {
			memcpy(name + length, "\xef\xbf\xbd", 3);
			length += 3;
			continue;
		}
		for (size_t i = 1; i < whole; i++)
			take_byte(&text, end);
		memcpy(name + length, bytes, whole);
		length += whole;
	}
	name[length] = '\0';
	return length;
}
