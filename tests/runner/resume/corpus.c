/*
 * tests/runner/resume/corpus.c - the corpus of tests/fuzz/outputs.c, and one of
 * it with each byte changed
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/fuzz/outputs.h"
#include "tests/support/support.h"

static char *read_whole(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *text = calloc(1, 1 << 16);

	cr_assert(file && text, "%s", path);
	*size = fread(text, 1, (1 << 16) - 1, file);
	cr_assert(!ferror(file) && !fclose(file), "%s", path);
	return text;
}

Test(runner_outputs_corpus, is_read_as_it_should_be, .timeout = 120)
{
	DIR *folder = opendir("tests/fuzz/outputs");
	const struct dirent *entry;
	unsigned n = 0, loaded = 0;

	cr_assert(folder);
	while ((entry = readdir(folder))) {
		char path[300];
		size_t size;
		char *text;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "tests/fuzz/outputs/%s",
			 entry->d_name);
		text = read_whole(path, &size);
		loaded += fuzz_outputs((const uint8_t *)text, size) != 0;
		n++;
		free(text);
	}
	closedir(folder);
	cr_assert_eq(n, 14u, "%u files", n);
	cr_assert_eq(loaded, 4u, "%u were loaded", loaded);
}

/* Under a right checksum: whatever it says then, it is loaded or refused. */
Test(runner_outputs_corpus, with_a_byte_changed_is_loaded_or_refused,
     .timeout = 300)
{
	static const char bytes[] = {'0', '9', 'f', ' ', '\n', '"', '-', '\0'};
	unsigned loaded = 0, refused = 0;
	size_t size;
	char *text = read_whole("tests/fuzz/outputs/lines", &size);

	for (size_t i = 0; i < size; i++)
		for (size_t k = 0; k < sizeof(bytes); k++) {
			const char was = text[i];

			text[i] = bytes[k];
			if (fuzz_outputs((const uint8_t *)text, size))
				loaded++;
			else
				refused++;
			text[i] = was;
		}
	cr_assert_gt(loaded, 20u, "%u were loaded", loaded);
	cr_assert_gt(refused, 1000u, "%u were refused", refused);
	free(text);
}
