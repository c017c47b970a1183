/*
 * tests/stress/mesh_keys.c - the keys of 16,384 ranks, enumerated
 *
 * A mesh of data 128 x pipeline 16 x tensor 8, and a model of 96 layers, six in
 * each stage of the pipeline, of 20 operators each: some are shared by all
 * ranks, some differ along data, along tensor or along both; and each rank has
 * noise of its own. The key of each operator's each call is derived for each
 * rank by the functions of philox/state.h. Two keys are equal if and only if
 * philox/mesh.h says that they agree. Some ranks are set up as real contexts,
 * whose passes have the keys that were enumerated.
 *
 * Then each key once, of some generator seeds, cut to fewer bits: there are as
 * many equal pairs as random numbers have, and none of whole keys.
 *
 *   mesh_keys [KEYS]     of at least KEYS keys, e.g. 100000000: a few minutes
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox.h>

enum {
	DATA = 128,
	PIPELINE = 16,
	TENSOR = 8,
	WORLD = DATA * PIPELINE * TENSOR,
	LAYERS = 96,
	LAYERS_OF_STAGE = LAYERS / PIPELINE,
	SAMPLE = 40, /* ranks that are real contexts */
	SEED = 42
};

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__,  \
				__LINE__, #condition, philox_error_message()); \
			exit(1);                                               \
		}                                                              \
	} while (0)

#define OK(call) CHECK((call) == PHILOX_OK)

/* --- the model ------------------------------------------------------------ */

enum axis { ON_DATA, ON_PIPELINE, ON_TENSOR, AXES }; /* in order of bytes */

static const char *const axes[AXES] = {"data", "pipeline", "tensor"};
static const uint32_t sizes[AXES] = {DATA, PIPELINE, TENSOR};

struct place {
	uint32_t at[AXES];
};

/* The regions of a layer, 20 operators in all, and one of each rank. */
enum kind { SHARED, BY_DATA, BY_TENSOR, BY_BOTH, BY_RANK, KINDS };

static const struct region {
	const char *name;
	int differs[AXES];
	struct philox_op_desc ops[8];
	uint32_t n_ops;
} regions[KINDS] = {
	[SHARED] = {"block",
		    {0, 0, 0},
		    {{"embed", 1, 4},
		     {"scores", 1, 4},
		     {"projection", 1, 4},
		     {"experts", 2, 4},
		     {"up", 1, 4},
		     {"down", 1, 4},
		     {"residual", 1, 8},
		     {"depth", 1, 4}},
		    8},
	[BY_DATA] = {"augment",
		     {1, 0, 0},
		     {{"mask", 1, 4},
		      {"mix", 1, 4},
		      {"views", 2, 4},
		      {"crop", 1, 4}},
		     4},
	[BY_TENSOR] = {"shard",
		       {0, 0, 1},
		       {{"a", 1, 4}, {"b", 3, 4}, {"c", 1, 4}, {"d", 1, 4}},
		       4},
	[BY_BOTH] =
		{"noise",
		 {1, 0, 1},
		 {{"in", 1, 4}, {"gate", 1, 4}, {"out", 1, 4}, {"tries", 4, 4}},
		 4},
	[BY_RANK] = {"rank", {1, 1, 1}, {{"jitter", 1, 4}, {"drop", 1, 4}}, 2},
};

static void name_region(char *name, size_t size, enum kind kind, int layer)
{
	if (kind == BY_RANK)
		snprintf(name, size, "rank");
	else
		snprintf(name, size, "layer %d.%s", layer, regions[kind].name);
}

static uint64_t hash_of(const char *name)
{
	uint64_t hash = 14695981039346656037ULL;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 1099511628211ULL;
	return hash;
}

static uint64_t region_seed(uint64_t seed, enum kind kind, int layer,
			    const struct place *place)
{
	char name[32];

	name_region(name, sizeof(name), kind, layer);
	seed = philox_fold(seed, PHILOX_FOLD_REGION, hash_of(name));
	for (int i = 0; i < AXES; i++)
		if (regions[kind].differs[i])
			seed = philox_axis_seed(seed, hash_of(axes[i]),
						place->at[i]);
	return seed;
}

/* The coordinates along the axes that a region differs along, as one number. */
static uint64_t share_of(enum kind kind, const struct place *place)
{
	uint64_t share = 0;

	for (int i = 0; i < AXES; i++)
		if (regions[kind].differs[i])
			share = share * sizes[i] + place->at[i];
	return share;
}

static uint64_t shares_of(enum kind kind)
{
	uint64_t shares = 1;

	for (int i = 0; i < AXES; i++)
		shares *= regions[kind].differs[i] ? sizes[i] : 1;
	return shares;
}

static struct place place_of(enum kind kind, uint64_t share)
{
	struct place place = {{0}};

	for (int i = AXES; i--;)
		if (regions[kind].differs[i]) {
			place.at[i] = (uint32_t)(share % sizes[i]);
			share /= sizes[i];
		}
	return place;
}

/* --- keys ----------------------------------------------------------------- */

/* What a key is for: two of them are equal if and only if the keys ought to be. */
struct key {
	uint64_t key, what;
};

typedef void taker(void *user, struct key key);

/* The keys of a region in one place: its own, and those of its operators. */
static void take_region(uint64_t seed, enum kind kind, int layer,
			const struct place *place, taker *take, void *user)
{
	uint64_t own = region_seed(seed, kind, layer, place);
	uint64_t what = ((uint64_t)layer * KINDS + kind) << 32 |
			share_of(kind, place) << 8;

	take(user, (struct key){own, what++});
	for (uint32_t op = 0; op < regions[kind].n_ops; op++)
		for (uint32_t call = 0; call < regions[kind].ops[op].calls;
		     call++)
			take(user, (struct key){philox_op_seed(own, op, call),
						what++});
}

static void take_rank(const struct place *place, taker *take, void *user)
{
	int first = (int)place->at[ON_PIPELINE] * LAYERS_OF_STAGE;

	for (int layer = first; layer < first + LAYERS_OF_STAGE; layer++)
		for (enum kind kind = SHARED; kind < BY_RANK; kind++)
			take_region(SEED, kind, layer, place, take, user);
	take_region(SEED, BY_RANK, 0, place, take, user);
}

/* Each key once, of one generator seed. */
static void take_seed(uint64_t seed, taker *take, void *user)
{
	for (int i = 0; i < LAYERS * KINDS; i++) {
		enum kind kind = (enum kind)(i % KINDS);

		if (kind == BY_RANK && i > KINDS)
			continue;
		for (uint64_t share = 0; share < shares_of(kind); share++) {
			struct place place = place_of(kind, share);

			take_region(seed, kind, i / KINDS, &place, take, user);
		}
	}
}

struct table {
	struct key *keys;
	size_t n, room;
};

static void add_key(void *user, struct key key)
{
	struct table *table = user;

	if (table->n == table->room) {
		table->room = table->room ? 2 * table->room : 1 << 16;
		table->keys = realloc(table->keys,
				      table->room * sizeof(*table->keys));
		CHECK(table->keys);
	}
	table->keys[table->n++] = key;
}

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

static int compare_whats(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

/* All ranks, each of which derives its keys by itself. */
static size_t enumerate_ranks(void)
{
	struct table table = {0};
	size_t different = 1, things = 1;

	for (uint32_t rank = 0; rank < WORLD; rank++) {
		struct place place = {{rank / TENSOR / PIPELINE,
				       rank / TENSOR % PIPELINE,
				       rank % TENSOR}};

		take_rank(&place, add_key, &table);
	}
	qsort(table.keys, table.n, sizeof(*table.keys), compare_keys);
	for (size_t i = 1; i < table.n; i++) {
		different += table.keys[i].key != table.keys[i - 1].key;
		CHECK(table.keys[i].key != table.keys[i - 1].key ||
		      table.keys[i].what == table.keys[i - 1].what);
	}
	qsort(table.keys, table.n, sizeof(*table.keys), compare_whats);
	for (size_t i = 1; i < table.n; i++) {
		things += table.keys[i].what != table.keys[i - 1].what;
		CHECK(table.keys[i].what != table.keys[i - 1].what ||
		      table.keys[i].key == table.keys[i - 1].key);
	}
	CHECK(different == things && different < table.n);
	printf("%d ranks: %zu keys, %zu of them different, as they must\n",
	       WORLD, table.n, different);
	free(table.keys);
	return different;
}

/* --- real contexts -------------------------------------------------------- */

static struct philox_region *make_region(struct philox_context *context,
					 enum kind kind, int layer)
{
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_region *region;
	const char *differs[AXES];
	char name[32];

	for (int i = AXES; i--;) /* in any order: here, the last one first */
		if (regions[kind].differs[i])
			differs[options.n_differs++] = axes[i];
	name_region(name, sizeof(name), kind, layer);
	options.name = name;
	options.ops = regions[kind].ops;
	options.n_ops = regions[kind].n_ops;
	options.differs = differs;
	OK(philox_region_create(context, &options, &region));
	return region;
}

struct passing {
	struct philox_context *context;
	struct philox_region *region;
	struct philox_pass pass;
	uint32_t op, call;
	unsigned compared;
};

/* Comes with each region's own key first, then those of its operators. */
static void compare_with_pass(void *user, struct key key)
{
	struct passing *p = user;
	const struct region *made;
	struct philox_rng rng;
	uint64_t index = key.what >> 32;
	enum kind kind = (enum kind)(index % KINDS);

	made = &regions[kind];
	if (!(key.what & 0xff)) {
		p->region = make_region(p->context, kind, (int)(index / KINDS));
		OK(philox_forward_begin(p->region, NULL, PHILOX_PASS_INFERENCE,
					&p->pass));
		CHECK(p->pass.state.seed == key.key);
		p->op = p->call = 0;
		return;
	}
	OK(philox_pass_rng(&p->pass, p->op, p->call, &rng));
	CHECK(!rng.cell && rng.state.seed == key.key);
	p->compared++;
	if (++p->call == made->ops[p->op].calls) {
		p->op++;
		p->call = 0;
	}
	if (p->op == made->n_ops)
		OK(philox_pass_commit(&p->pass, 0, NULL));
}

static unsigned set_up_rank(struct philox_device *device, uint64_t rank)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
	struct passing passing = {0};
	struct place place;

	mesh.n_axes = AXES;
	for (int i = 0; i < AXES; i++) {
		mesh.axes[i].name = axes[i];
		mesh.axes[i].n_ranks = sizes[i];
	}
	OK(philox_mesh_set_rank(&mesh, rank, WORLD));
	for (int i = 0; i < AXES; i++)
		place.at[i] = mesh.axes[i].coordinate;
	OK(philox_context_create(device, &passing.context));
	OK(philox_context_set_mesh(passing.context, &mesh));
	OK(philox_generator_seed(philox_context_generator(passing.context),
				 SEED));
	take_rank(&place, compare_with_pass, &passing);
	philox_context_destroy(passing.context);
	return passing.compared;
}

static void sample_ranks(void)
{
	struct philox_device *device;
	unsigned compared = 0;

	OK(philox_device_open("host", &device));
	for (uint64_t i = 0; i < SAMPLE; i++) {
		uint64_t random = philox_fold(i, PHILOX_FOLD_RANK, 1) % WORLD;
		uint64_t rank = i == 0 ? 0 : i == 1 ? WORLD - 1 : random;

		compared += set_up_rank(device, rank);
	}
	OK(philox_device_close(device));
	CHECK(compared == SAMPLE * (LAYERS_OF_STAGE * 27 + 2));
	printf("%d ranks as contexts: %u keys are those of their passes\n",
	       SAMPLE, compared);
}

/* --- pairs that are equal by chance --------------------------------------- */

/*
 * Keys whose first bits are those of the part are kept, so that memory is
 * small. Turned by `turn` bits, so that other bits of a key come first.
 */
struct part {
	uint64_t *keys;
	size_t n, room;
	uint64_t part, parts_bits;
	int turn;
};

static void count_key(void *user, struct key key)
{
	(void)key;
	++*(uint64_t *)user;
}

static void keep_key(void *user, struct key key)
{
	struct part *part = user;
	uint64_t turned = part->turn ? key.key << part->turn |
					       key.key >> (64 - part->turn)
				     : key.key;

	if (part->parts_bits && turned >> (64 - part->parts_bits) != part->part)
		return;
	CHECK(part->n < part->room);
	part->keys[part->n++] = turned;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t equal_pairs(const struct part *part, int bits)
{
	uint64_t pairs = 0, run = 0;

	for (size_t i = 1; i < part->n; i++) {
		uint64_t changed = part->keys[i] ^ part->keys[i - 1];

		run = changed >> (64 - bits) ? 0 : run + 1;
		pairs += run;
	}
	return pairs;
}

/* Of the first `bits` bits of keys that are turned, and of all 64. */
static uint64_t count_pairs(uint64_t seeds, uint64_t n, int turn, int bits,
			    uint64_t *whole)
{
	struct part part = {.turn = turn};
	uint64_t pairs = 0;

	while (n >> part.parts_bits > 10000000)
		part.parts_bits++;
	part.room = (size_t)(n >> part.parts_bits) + 1000000;
	part.keys = malloc(part.room * sizeof(*part.keys));
	CHECK(part.keys);
	for (; part.part >> part.parts_bits == 0; part.part++) {
		part.n = 0;
		for (uint64_t seed = 0; seed < seeds; seed++)
			take_seed(seed, keep_key, &part);
		qsort(part.keys, part.n, sizeof(*part.keys), compare_numbers);
		pairs += equal_pairs(&part, bits);
		*whole += equal_pairs(&part, 64);
	}
	free(part.keys);
	return pairs;
}

/* Pairs are Poisson's: beyond six deviations with probability 10^-8. */
static void count_by_chance(uint64_t wanted)
{
	uint64_t n = 0, seeds, whole = 0;
	int bits;

	take_seed(0, count_key, &n);
	seeds = wanted > n ? (wanted + n - 1) / n : 1;
	n *= seeds;
	bits = n < 10000000 ? 32 : 48;
	for (int turn = 0; turn < 64; turn += 64 - bits) {
		double expected = (double)n * (double)n / ldexp(1, bits + 1);
		uint64_t pairs = count_pairs(seeds, n, turn, bits, &whole);

		printf("%" PRIu64 " keys of %" PRIu64 " seeds, %d bits from "
		       "bit %d on: %" PRIu64 " equal pairs, %.1f expected\n",
		       n, seeds, bits, turn, pairs, expected);
		CHECK(fabs((double)pairs - expected) <= 6 * sqrt(expected) + 6);
	}
	printf("whole keys: %" PRIu64 " equal pairs, %.1g expected\n", whole,
	       (double)n * (double)n / ldexp(1, 65));
	CHECK(!whole);
}

int main(int argc, char **argv)
{
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t once = 0;

	if (argc > 2 || !wanted) {
		fprintf(stderr, "usage: mesh_keys [KEYS]\n");
		return 2;
	}
	take_seed(SEED, count_key, &once);
	CHECK(enumerate_ranks() == once);
	sample_ranks();
	count_by_chance(wanted);
	return 0;
}
