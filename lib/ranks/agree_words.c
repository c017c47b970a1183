/*
 * lib/ranks/agree_words.c - see lib/ranks/agree_words.h
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/ranks/agree_words.h"
#include "lib/save/differ.h"

/* --- counting ------------------------------------------------------------- */

static void add_number(struct agree_numbers *numbers, uint64_t number)
{
	if (numbers->n < AGREE_NAMED)
		numbers->first[numbers->n] = number;
	numbers->n++;
}

static int is_same(const struct difference *a, const struct difference *b)
{
	return !strcmp(a->place, b->place) && !strcmp(a->what, b->what) &&
	       !strcmp(a->values[0], b->values[0]) &&
	       !strcmp(a->values[1], b->values[1]);
}

void agree_count(struct agree_sides *sides, uint64_t number,
		 const struct difference *own, const struct difference *found)
{
	add_number(!own                  ? &sides->values[0]
		   : is_same(own, found) ? &sides->values[1]
					 : &sides->others,
		   number);
}

/* --- text that grows ------------------------------------------------------ */

struct words {
	char *text;
	size_t size, length;
};

static void add_words(struct words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_words(struct words *words, const char *format, ...)
{
	va_list arguments;
	int added;

	if (words->length >= words->size)
		return;
	va_start(arguments, format);
	added = vsnprintf(words->text + words->length,
			  words->size - words->length, format, arguments);
	va_end(arguments);
	if (added > 0)
		words->length += (size_t)added;
}

/* Between the i-th of n and the one before it. */
static const char *joint(uint64_t i, uint64_t n)
{
	return !i ? "" : i + 1 == n ? " and " : ", ";
}

/* "rank 2", "ranks 0, 1 and 3", "ranks 0, 1, 2 and 13 others" */
static void add_numbers(struct words *words, const char *of,
			const struct agree_numbers *numbers)
{
	const int all = numbers->n <= AGREE_NAMED;
	const uint64_t named = all ? numbers->n : AGREE_NAMED - 1;

	add_words(words, "%s%s ", of, status_s(numbers->n));
	for (uint64_t i = 0; i < named; i++)
		add_words(words, "%s%" PRIu64,
			  joint(i, all ? named : UINT64_MAX),
			  numbers->first[i]);
	if (!all)
		add_words(words, " and %" PRIu64 " others", numbers->n - named);
}

/* --- messages ------------------------------------------------------------- */

void agree_say_along(const struct philox_mesh *a, const struct philox_mesh *b,
		     char *text, size_t size)
{
	struct words words = {.text = text, .size = size};
	const char *names[PHILOX_MESH_AXES];
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n_axes; i++)
		if (a->axes[i].coordinate != b->axes[i].coordinate)
			names[n++] = a->axes[i].name;
	add_words(&words, "ranks do not agree along ax%s ",
		  n == 1 ? "is" : "es");
	for (uint32_t i = 0; i < n; i++)
		add_words(&words, "%s'%.40s'", joint(i, n), names[i]);
}

enum philox_status agree_say(const char *begin, const struct difference *found,
			     const struct agree_sides *sides)
{
	const char *on = strcmp(sides->of, "rank") ? "in" : "on";
	char text[512];
	struct words words = {.text = text, .size = sizeof(text)};

	add_words(&words, "%s: %s: %s", begin, found->place, found->what);
	for (int i = 0; i < 2; i++) {
		add_words(&words, "%s %s %s ", i ? "," : "", found->values[i],
			  on);
		add_numbers(&words, sides->of, &sides->values[i]);
	}
	if (sides->others.n) {
		add_words(&words, "; something else %s ", on);
		add_numbers(&words, sides->of, &sides->others);
	}
	return status_set(PHILOX_ERROR_MISMATCH, "%s", text);
}
