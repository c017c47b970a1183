/*
 * tests/numbers/source.c - philox/kernel.h as a string: nothing is lost, no
 * other file is needed
 *
 * tests/scripts/devices/numbers.sh checks, with compilers, that it compiles
 * alone and gives the same numbers.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/interop.h>

static char *read_header(const char *name)
{
	char path[256];
	char *text = calloc(1, 1 << 20);
	FILE *file;

	snprintf(path, sizeof(path), "include/%s", name);
	file = fopen(path, "r");
	cr_assert(file, "no %s: tests run from the top of the tree", path);
	cr_assert(text && fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	return text;
}

/* The name in `#include <philox/...>`, or 0 if a line has none. */
static int includes(const char *line, char *name)
{
	return sscanf(line, "#include <philox/%100[^>]", name) == 1;
}

/*
 * Walks a header and the string side by side: each line of the header must come
 * next, and instead of an include the header it names, unless it was there
 * before.
 */
static const char *walk(const char *header, const char *at, char *seen)
{
	char *text = read_header(header), *line, *end;

	for (line = text; *line; line = end + 1) {
		char name[128] = "philox/";
		size_t size;

		end = strchr(line, '\n');
		cr_assert(end, "%s has no end of line at its end", header);
		size = (size_t)(end - line) + 1;
		if (!includes(line, name + 7)) {
			cr_assert(strncmp(at, line, size) == 0,
				  "not in its place: %s: %.*s", header,
				  (int)size, line);
			at += size;
		} else if (!strstr(seen, name)) {
			strcat(strcat(seen, name), " ");
			at = walk(name, at, seen);
		}
	}
	free(text);
	return at;
}

Test(source, the_string_is_kernel_h_with_its_includes_put_in)
{
	char seen[4096] = "philox/kernel.h ";

	cr_assert_eq(*walk("philox/kernel.h", philox_kernel_source(), seen),
		     '\0', "something follows");
	cr_assert(strstr(seen, "philox/state.h"));
	cr_assert(strstr(seen, "philox/values.h"));
}

Test(source, the_string_needs_no_other_header_of_philox)
{
	cr_assert_null(strstr(philox_kernel_source(), "#include <philox"));
	cr_assert_null(strstr(philox_kernel_source(), "#include \""));
}

Test(source, the_string_is_ascii)
{
	for (const char *at = philox_kernel_source(); *at; at++)
		cr_assert(*at == '\n' || *at == '\t' ||
				  (*at >= 32 && *at < 127),
			  "character %d", *at);
}
