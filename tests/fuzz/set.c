/*
 * tests/fuzz/set.c - any bytes as a manifest, or as a text for another mesh
 *
 * `make fuzz` builds it with clang's libFuzzer and sanitizers and runs it for a
 * while, starting from tests/fuzz/sets.
 *
 * An input is read as it is, and again with the checksum that makes its lines
 * valid. A manifest that is read is written as it was. Of a text that is read,
 * what each of some ranks makes of it is a text that can be read, or is refused;
 * what a rank of the same mesh makes of it says the same.
 * tests/mesh/set_corpus.c runs the corpus and many changes of it.
 */
#include "tests/fuzz/set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/ranks/ranks.h"
#include "lib/save/save.h"
#include "lib/state/state.h"

/* Anything that fails here is a finding. */
static void must_be(int holds)
{
	if (!holds)
		abort();
}

/* --- manifests ------------------------------------------------------------ */

static int read_as_set(const char *text, size_t size)
{
	struct set set;
	enum philox_status status = set_read(text, size, &set);
	struct text again;

	if (status != PHILOX_OK) {
		must_be(status == PHILOX_ERROR_INVALID ||
			status == PHILOX_ERROR_UNSUPPORTED);
		return 0;
	}
	must_be(set.n == mesh_world(&set.mesh));
	must_be(!set_write(&set, &again));
	must_be(again.size == size && !memcmp(again.bytes, text, size));
	free(again.bytes);
	set_finish(&set);
	return 1;
}

/* --- texts ---------------------------------------------------------------- */

/* Wants what the text has alive, along the axes that the mesh has, too. */
static void want(const struct saved *saved, const struct philox_mesh *mesh,
		 struct saved *wanted)
{
	saved_init(wanted);
	must_be(!mesh_copy(mesh, &wanted->mesh));
	for (size_t i = 0; i < saved->n_regions; i++) {
		const struct saved_region *region = &saved->regions[i];

		if (!region->alive)
			continue;
		must_be(!saved_add_region(wanted, region));
		for (size_t k = 0; k < region->n_axes; k++) {
			const char *axis = saved->axes[region->axis + k];

			if (!mesh->n_axes || mesh_find(mesh, axis))
				must_be(!saved_add_axis(wanted, axis));
		}
	}
	for (size_t i = 0; i < saved->n_tables; i++)
		must_be(!saved_add_table(wanted, &saved->tables[i], NULL));
}

/* Returns the text that a rank makes of it; NULL if it refuses. */
static char *make_text(const struct saved *saved,
		       const struct philox_mesh *mesh, size_t *size)
{
	struct saved wanted, made, again;
	struct merge merge;
	enum philox_status status;
	struct text text = {.size = 0};

	want(saved, mesh, &wanted);
	must_be(!merge_init(&merge, &wanted, &saved->mesh));
	status = merge_add(&merge, saved, merge.same ? merge.own : 0);
	must_be(!status);
	status = merge_make(&merge, &made);
	must_be(!status || status == PHILOX_ERROR_MISMATCH);
	if (!status) {
		must_be(!save_write(&made, &text));
		saved_finish(&made);
		must_be(!save_read(text.bytes, text.size, &again));
		saved_finish(&again);
	}
	merge_finish(&merge);
	saved_finish(&wanted);
	*size = text.size;
	return text.bytes;
}

static const struct philox_mesh *other_mesh(unsigned i)
{
	static struct philox_mesh meshes[4];

	for (unsigned k = 0; k < 4; k++)
		meshes[k] = (struct philox_mesh){
			.size = sizeof(meshes[k]),
			.n_axes = k,
			.axes = {
				{.name = "data", .n_ranks = 3, .coordinate = 2},
				{.name = "tensor", .n_ranks = 1},
				{.name = "x", .n_ranks = 2, .coordinate = 1}}};
	return &meshes[i];
}

static int read_as_text(const char *text, size_t size)
{
	struct saved saved;
	size_t length;
	char *made;

	if (save_read(text, size, &saved) != PHILOX_OK)
		return 0;
	made = make_text(&saved, &saved.mesh, &length);
	must_be(made && length == size && !memcmp(made, text, size));
	free(made);
	for (unsigned i = 0; i < 4; i++)
		free(make_text(&saved, other_mesh(i), &length));
	saved_finish(&saved);
	return 1;
}

/* --- both ----------------------------------------------------------------- */

int fuzz_set(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 64);
	size_t signed_size;
	int read;

	must_be(text != NULL);
	memcpy(text, data, size);
	signed_size =
		size + (size_t)snprintf(text + size, 64,
					"checksum %016" PRIx64 " bytes %zu\n",
					hash_text(text, size), size);
	read = read_as_set(text, size) | read_as_text(text, size);
	read |= read_as_set(text, signed_size);
	read |= read_as_text(text, signed_size);
	free(text);
	return read;
}

#ifdef PHILOX_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_set(data, size);
	return 0;
}
#endif
