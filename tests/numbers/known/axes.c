/*
 * tests/numbers/known/axes.c - known answers of regions that differ along axes
 *
 * tests/numbers/known/kat_axes.txt has them; tests/numbers/known/kat_axes.py
 * makes it and shares nothing with the library. They are fixed for ever: a run
 * that is resumed years later draws them again.
 */
#include <inttypes.h>
#include <stdio.h>
#include "tests/support/ranks/mesh.h"

#define PATH "tests/numbers/known/kat_axes.txt"

struct answer {
	uint64_t seed, offset, key;
	uint32_t op, call, word[COUNT];
	char region[16], places[128];
};

static void read_answer(const char *line, struct answer *a)
{
	int end, used;

	cr_assert_eq(sscanf(line,
			    "%" SCNx64 " %15s %" SCNu64 " %" SCNu32 " %" SCNu32
			    " %127[^:]: %" SCNx64 "%n",
			    &a->seed, a->region, &a->offset, &a->op, &a->call,
			    a->places, &a->key, &end),
		     7, "%s", line);
	for (int i = 0; i < COUNT; i++, end += used)
		cr_assert_eq(sscanf(line + end, " %" SCNx32 "%n", &a->word[i],
				    &used),
			     1, "%s", line);
}

/* "data=1,tensor=0", in a mesh with some more ranks where there may be. */
static struct philox_mesh mesh_at(const char *places, struct along *along)
{
	char text[256];
	size_t length = 0;
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	memset(along, 0, sizeof(*along));
	if (!strcmp(places, "-"))
		return mesh;
	for (int used; *places; places += used + (places[used] == ',')) {
		char name[16];
		uint32_t at;

		cr_assert_eq(sscanf(places, "%15[^=]=%" SCNu32 "%n", name, &at,
				    &used),
			     2);
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "%s=%" PRIu32 "/%" PRIu32 " ", name,
					   at, at + 1);
	}
	mesh = mesh_of(text);
	for (uint32_t i = 0; i < mesh.n_axes; i++)
		along->names[along->n++] = mesh.axes[mesh.n_axes - 1 - i].name;
	return mesh;
}

static void draws(struct fixture *f, const struct answer *a)
{
	struct philox_context *own = f->context;
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);
	struct philox_region *region;
	struct philox_pass pass;
	struct philox_rng rng;
	struct numbers saw;
	struct along along;
	struct philox_mesh mesh = mesh_at(a->places, &along);

	OK(philox_context_create(f->device, &f->context));
	OK(philox_context_set_mesh(f->context, &mesh));
	OK(philox_generator_seed(philox_context_generator(f->context),
				 a->seed));
	region = make_along(f->context, a->region, &along);
	for (uint64_t offset = 0; offset < a->offset; offset += 4)
		forward_numbers(f, region, PHILOX_PASS_INFERENCE);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_rng(&pass, a->op, a->call, &rng));
	cr_assert_eq(rng.state.seed, a->key, "%s of %s", a->region, a->places);
	cr_assert_eq(rng.state.offset, a->offset);
	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.span = philox_span_elements(0, COUNT);
	fill.out = f->scratch;
	OK(philox_pass_fill(&pass, a->op, a->call, &fill));
	OK(philox_pass_commit(&pass, 0, NULL));
	saw = read_numbers(f, f->scratch);
	cr_assert_eq(memcmp(saw.word, a->word, sizeof(a->word)), 0,
		     "%s of %s, op %" PRIu32, a->region, a->places, a->op);
	philox_context_destroy(f->context);
	f->context = own;
}

PROMISE(kat_axes, regions_that_differ_have_known_numbers)
{
	FILE *file = fopen(PATH, "r");
	unsigned answers = 0;
	char line[512];

	cr_assert_not_null(file, "%s, from the top of the tree", PATH);
	while (fgets(line, sizeof(line), file)) {
		struct answer answer = {0};

		if (line[0] == '#')
			continue;
		read_answer(line, &answer);
		draws(f, &answer);
		answers++;
	}
	cr_assert_eq(answers, 60);
	fclose(file);
}
