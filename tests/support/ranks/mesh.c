/*
 * tests/support/ranks/mesh.c - see tests/support/ranks/mesh.h
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/ranks/mesh.h"

uint64_t bed_random(uint64_t *random)
{
	uint64_t z = *random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint32_t bed_below(uint64_t *random, uint32_t bound)
{
	return (uint32_t)(bed_random(random) % bound);
}

/* --- meshes --------------------------------------------------------------- */

/* A copy that lives as long as the process; few are made. */
static const char *keep(const char *name)
{
	static char kept[64][64];

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (!kept[i][0])
			memcpy(kept[i], name, strlen(name) + 1);
		if (!strcmp(kept[i], name))
			return kept[i];
	}
	cr_assert(0, "no room for '%s'", name);
	return NULL;
}

struct philox_mesh mesh_of(const char *text)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	while (*text) {
		struct philox_axis *axis = &mesh.axes[mesh.n_axes++];
		char name[64];
		int used = 0;

		cr_assert_leq(mesh.n_axes, PHILOX_MESH_AXES);
		cr_assert_eq(sscanf(text, "%63[^=]=%" SCNu32 "/%" SCNu32 " %n",
				    name, &axis->coordinate, &axis->n_ranks,
				    &used),
			     3, "%s", text);
		axis->name = keep(name);
		text += used;
	}
	return mesh;
}

struct philox_mesh random_mesh(uint64_t *random, uint32_t world)
{
	static const char *const names[] = {
		"data", "tensor", "pipeline",    "expert", "Data", "a",
		"ab",   "a b",    "\xc3\xbctil", "~",      "\"",   "sequence"};
	const uint32_t n_names = sizeof(names) / sizeof(names[0]);
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
	uint32_t first = bed_below(random, n_names), left = world;

	mesh.n_axes = 1 + bed_below(random, PHILOX_MESH_AXES);
	for (uint32_t i = 0; i < mesh.n_axes; i++) {
		uint32_t most = left < 6 ? left : 6;

		/* 5 has no factor in common with the number of names */
		mesh.axes[i].name = names[(first + 5 * i) % n_names];
		mesh.axes[i].n_ranks = 1 + bed_below(random, most);
		left /= mesh.axes[i].n_ranks;
	}
	return mesh;
}

struct philox_mesh shuffled(uint64_t *random, const struct philox_mesh *mesh)
{
	struct philox_mesh other = *mesh;

	for (uint32_t i = other.n_axes; i > 1; i--) {
		uint32_t pick = bed_below(random, i);
		struct philox_axis axis = other.axes[pick];

		other.axes[pick] = other.axes[i - 1];
		other.axes[i - 1] = axis;
	}
	return other;
}

struct along random_along(uint64_t *random, const struct philox_mesh *mesh)
{
	struct philox_mesh order = shuffled(random, mesh);
	struct along along = {.n = bed_below(random, mesh->n_axes + 1)};

	for (size_t i = 0; i < along.n; i++)
		along.names[i] = order.axes[i].name;
	return along;
}

int next_place(struct philox_mesh *mesh)
{
	for (uint32_t i = mesh->n_axes; i--;) {
		if (++mesh->axes[i].coordinate < mesh->axes[i].n_ranks)
			return 1;
		mesh->axes[i].coordinate = 0;
	}
	return 0;
}

static uint32_t coordinate_of(const struct philox_mesh *mesh, const char *name)
{
	for (uint32_t i = 0; mesh && i < mesh->n_axes; i++)
		if (!strcmp(mesh->axes[i].name, name))
			return mesh->axes[i].coordinate;
	return 0;
}

int same_place(const struct philox_mesh *a, const struct philox_mesh *b,
	       const struct along *along)
{
	for (size_t i = 0; i < along->n; i++)
		if (coordinate_of(a, along->names[i]) !=
		    coordinate_of(b, along->names[i]))
			return 0;
	return 1;
}

/* --- keys and numbers ----------------------------------------------------- */

/* Philox4x32-10: the paper's round, ten times. */
static void model_block(uint64_t seed, uint64_t low, uint64_t high,
			uint32_t out[4])
{
	uint64_t key[2] = {seed & 0xffffffff, seed >> 32};
	uint64_t c[4] = {low & 0xffffffff, low >> 32, high & 0xffffffff,
			 high >> 32};

	for (int round = 0; round < 10; round++) {
		uint64_t a = c[0] * 0xD2511F53, b = c[2] * 0xCD9E8D57;

		c[0] = (b >> 32) ^ c[1] ^ key[0];
		c[1] = b & 0xffffffff;
		c[2] = (a >> 32) ^ c[3] ^ key[1];
		c[3] = a & 0xffffffff;
		key[0] = (key[0] + 0x9E3779B9) & 0xffffffff;
		key[1] = (key[1] + 0xBB67AE85) & 0xffffffff;
	}
	for (int i = 0; i < 4; i++)
		out[i] = (uint32_t)c[i];
}

uint64_t model_fold(uint64_t seed, uint64_t plane, uint64_t index)
{
	uint32_t block[4];

	model_block(seed, index, plane, block);
	return (uint64_t)block[1] << 32 | block[0];
}

static int compare_bytes(const void *a, const void *b)
{
	const unsigned char *left = *(const unsigned char *const *)a;
	const unsigned char *right = *(const unsigned char *const *)b;

	for (; *left && *left == *right; left++)
		right++;
	return (int)*left - (int)*right;
}

uint64_t model_region(uint64_t seed, const char *name,
		      const struct philox_mesh *mesh, const struct along *along)
{
	struct along order = *along;

	seed = model_fold(seed, 0x8000000000000001, fnv1a(name));
	qsort(order.names, order.n, sizeof(order.names[0]), compare_bytes);
	for (size_t i = 0; i < order.n; i++) {
		uint64_t at = coordinate_of(mesh, order.names[i]);

		if (at)
			seed = model_fold(seed, 0x8000000000000007 | at << 8,
					  fnv1a(order.names[i]));
	}
	return seed;
}

uint64_t model_op(uint64_t region, uint32_t op, uint32_t call)
{
	return model_fold(region, 0x8000000000000002,
			  (uint64_t)call << 32 | op);
}

void model_words(uint64_t seed, uint64_t offset, uint64_t first, uint64_t n,
		 uint32_t *words)
{
	for (uint64_t e = first; e < first + n; e++) {
		uint32_t block[4];

		model_block(seed, offset / 4, e / 4, block);
		*words++ = block[e % 4];
	}
}

struct numbers model_numbers(uint64_t region, uint64_t offset)
{
	static const uint32_t op[SITES] = {0, 1, 1, 2}, call[SITES] = {[2] = 1};
	struct numbers numbers;

	for (uint32_t site = 0; site < SITES; site++)
		model_words(model_op(region, op[site], call[site]), offset, 0,
			    COUNT, &numbers.word[site * COUNT]);
	return numbers;
}

/* --- regions and ranks ---------------------------------------------------- */

enum philox_status try_along(struct philox_context *context, const char *name,
			     uint32_t flags, const char *const *differs,
			     size_t n, struct philox_region **region)
{
	const struct philox_op_desc ops[OPS] = {
		{"first", 0, 0}, {"second", 2, 0}, {"third", 1, 4}};
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);

	options.name = name;
	options.ops = ops;
	options.n_ops = OPS;
	options.flags = flags;
	options.differs = differs;
	options.n_differs = n;
	return philox_region_create(context, &options, region);
}

struct philox_region *make_along(struct philox_context *context,
				 const char *name, const struct along *along)
{
	struct philox_region *region;

	OK(try_along(context, name, 0, along->names, along->n, &region));
	return region;
}

void bed_open(struct bed *bed, struct fixture *f,
	      const struct philox_mesh *mesh, uint64_t seed)
{
	struct philox_mesh at = *mesh;

	memset(bed, 0, sizeof(*bed));
	bed->f = f;
	bed->own = f->context;
	for (uint32_t i = 0; i < at.n_axes; i++)
		at.axes[i].coordinate = 0;
	do {
		struct philox_context *context;

		cr_assert_lt(bed->n, BED_RANKS);
		OK(philox_context_create(f->device, &context));
		OK(philox_context_set_mesh(context, &at));
		OK(philox_generator_seed(philox_context_generator(context),
					 seed));
		bed->context[bed->n] = context;
		bed->mesh[bed->n++] = at;
	} while (next_place(&at));
}

void bed_go(struct bed *bed, unsigned rank)
{
	bed->f->context = bed->context[rank];
}

void bed_close(struct bed *bed)
{
	OK(philox_device_synchronize(bed->f->device));
	for (unsigned i = 0; i < bed->n; i++)
		philox_context_destroy(bed->context[i]);
	bed->f->context = bed->own;
}
