/*
 * tests/mesh/set_corpus.c - the corpus of the fuzz target, and changes of it
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/fuzz/set.h"
#include "tests/support/ranks/mesh.h"

enum { CHANGES = 3000 };

/* Some bytes become others of the text, or go, or come twice. */
static size_t change(uint64_t *random, uint8_t *data, size_t size)
{
	for (uint32_t n = 1 + bed_below(random, 3); n && size > 1; n--) {
		size_t at = bed_below(random, (uint32_t)size);

		switch (bed_below(random, 3)) {
		case 0:
			data[at] = data[bed_below(random, (uint32_t)size)];
			break;
		case 1:
			memmove(&data[at], &data[at + 1], size - at - 1);
			size--;
			break;
		default:
			memmove(&data[at + 1], &data[at], size - at);
			size++;
		}
	}
	return size;
}

static size_t run_changes(const char *name, unsigned *read)
{
	uint8_t data[1 << 13], changed[1 << 13];
	uint64_t random = fnv1a(name);
	char path[512];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "tests/fuzz/sets/%s", name);
	file = fopen(path, "rb");
	cr_assert(file, "%s", path);
	size = fread(data, 1, sizeof(data) - 64, file);
	fclose(file);
	fuzz_set(data, size);
	for (unsigned i = 0; i < CHANGES; i++) {
		memcpy(changed, data, size);
		*read += fuzz_set(changed, change(&random, changed, size)) != 0;
	}
	return 1;
}

Test(mesh_set, survives_the_inputs_of_the_fuzz_target, .timeout = 120)
{
	DIR *folder = opendir("tests/fuzz/sets");
	const struct dirent *entry;
	size_t run = 0;
	unsigned read = 0;

	cr_assert(folder, "tests run from the top of the tree");
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			run += run_changes(entry->d_name, &read);
	closedir(folder);
	cr_assert(run >= 5, "%zu inputs", run);
	cr_assert(read >= 100, "%u changes were read", read);
}
