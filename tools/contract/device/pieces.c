/*
 * tools/contract/device/pieces.c - many arrays that are copied or compared at
 * once, at any alignment of both sides
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "tools/contract/contract.h"

#define ALIGNMENTS 16
#define PAIRS      (ALIGNMENTS * ALIGNMENTS)
#define GAP        (3 * ALIGNMENTS) /* bytes, at least, between two arrays */

/* About ends of words and of pieces, and enough for a thread to do several. */
/* clang-format off */
static const size_t sizes[] = {
	0, 1, 3, 15, 16, 17, 30, 31, 32, 33, 47, 48, 63, 64, 511, 512, 513,
	PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 17, 5 * PIECE_BYTES + 333};
/* clang-format on */

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* An area of two sides, on the host and on the device. */
struct area {
	philox_stream stream;
	size_t size, stride; /* bytes of an array, and from one to the next */
	size_t bytes;        /* of all */
	unsigned char *host[2];
	unsigned char *device[2];
};

/* A byte that depends on a place and a kind. */
static unsigned char byte_of(size_t place, unsigned kind)
{
	const struct philox_state state = {kind, 0};
	const struct philox_words words = philox_draw4(state, place / 16);

	return (unsigned char)(words.w[place / 4 % 4] >> place % 4 * 8);
}

/* The place of array number k of a side, in alignments that differ. */
static size_t place_of(const struct area *area, size_t k, int side)
{
	const size_t shift = side ? k / ALIGNMENTS : k % ALIGNMENTS;

	return k * area->stride + ALIGNMENTS + shift;
}

static void put_area(struct contract *c, const struct area *area)
{
	for (int side = 0; side < 2; side++)
		EXPECT_OK(contract_copy(c, area->device[side], area->host[side],
					area->bytes, area->stream));
}

static void make_area(struct contract *c, struct area *area, size_t size)
{
	area->size = size;
	area->stride = (size + 2 * GAP) / ALIGNMENTS * ALIGNMENTS;
	area->bytes = PAIRS * area->stride;
	for (int side = 0; side < 2; side++) {
		area->host[side] = malloc(area->bytes);
		EXPECT(area->host[side]);
		for (size_t i = 0; i < area->bytes; i++)
			area->host[side][i] = byte_of(i, (unsigned)side + 1);
		EXPECT_OK(contract_memory(c, area->bytes,
					  (void **)&area->device[side]));
	}
}

static void free_area(struct area *area)
{
	free(area->host[0]);
	free(area->host[1]);
	area->host[0] = area->host[1] = NULL;
}

/* Runs a check of an area for every size. */
static void for_sizes(struct contract *c,
		      void (*check)(struct contract *c, struct area *area))
{
	struct area area = {.stream = NULL};

	EXPECT_OK(contract_stream(c, 0, &area.stream));
	for (size_t i = 0; i < SIZES && !c->failure[0]; i++) {
		make_area(c, &area, sizes[i]);
		if (!c->failure[0])
			check(c, &area);
		free_area(&area);
	}
}

/* --- copies --------------------------------------------------------------- */

static void launch_copies(struct contract *c, const struct area *area,
			  struct copies_args *args)
{
	const struct kernel_call call = {.kernel = KERNEL_COPIES,
					 .args = args,
					 .size = sizeof(*args),
					 .work = copies_work(args)};

	EXPECT_OK(device_launch(c->device, area->stream, &call));
	args->count = 0;
}

static void queue_copies(struct contract *c, const struct area *area)
{
	struct copies_args args;

	args.count = 0;
	for (size_t k = 0; k < PAIRS; k++) {
		copies_add(&args, area->device[0] + place_of(area, k, 0),
			   area->device[1] + place_of(area, k, 1), area->size);
		if (args.count == COPIES_MAX || k + 1 == PAIRS)
			EXPECT_PART(launch_copies(c, area, &args));
	}
}

/* The same with memcpy(). */
static void expect_copies(struct contract *c, const struct area *area)
{
	unsigned char *seen = area->host[1];

	for (size_t k = 0; k < PAIRS; k++)
		memcpy(area->host[0] + place_of(area, k, 0),
		       area->host[1] + place_of(area, k, 1), area->size);
	EXPECT_OK(contract_read(c, area->stream, area->device[0], seen,
				area->bytes));
	for (size_t i = 0; i < area->bytes; i++)
		EXPECT_TEXT(seen[i] == area->host[0][i],
			    "arrays of %zu bytes: byte %zu of array %zu, whose "
			    "sides are at %zu and %zu past 16, is wrong",
			    area->size, i % area->stride, i / area->stride,
			    i / area->stride % ALIGNMENTS,
			    i / area->stride / ALIGNMENTS);
}

static void check_copies(struct contract *c, struct area *area)
{
	EXPECT_PART(put_area(c, area));
	EXPECT_PART(queue_copies(c, area));
	EXPECT_OK(philox_stream_synchronize(c->device, area->stream));
	expect_copies(c, area);
}

static void copies_move_their_bytes_and_no_other(struct contract *c)
{
	for_sizes(c, check_copies);
}

/* --- comparisons ---------------------------------------------------------- */

/* Up to two places in which array number k differs; the size: nowhere. */
static size_t differ_at(const struct area *area, size_t k, unsigned which)
{
	const struct philox_state state = {3, 0};
	const struct philox_words words = philox_draw4(state, k);
	const size_t size = area->size;

	if (!size || words.w[2 + which] % 3 == 0)
		return size;
	if (words.w[2 + which] % 3 == 1)
		return which ? 0 : size - 1;
	return words.w[which] % size;
}

static size_t expected_first(const struct area *area, size_t k)
{
	const size_t one = differ_at(area, k, 0), other = differ_at(area, k, 1);
	const size_t first = one < other ? one : other;

	return first < area->size ? first : SIZE_MAX;
}

/* Both sides have the same bytes but at those places. */
static void make_different(const struct area *area)
{
	for (size_t k = 0; k < PAIRS; k++) {
		unsigned char *other = area->host[1] + place_of(area, k, 1);

		memcpy(other, area->host[0] + place_of(area, k, 0), area->size);
		for (unsigned which = 0; which < 2; which++) {
			const size_t at = differ_at(area, k, which);

			if (at < area->size)
				other[at] ^= (unsigned char)(1 + which);
		}
	}
}

static void launch_compare(struct contract *c, const struct area *area,
			   struct compare_args *args)
{
	const struct kernel_call call = {.kernel = KERNEL_COMPARE,
					 .args = args,
					 .size = sizeof(*args),
					 .work = compare_work(args)};

	EXPECT_OK(device_launch(c->device, area->stream, &call));
	args->count = 0;
}

static void queue_compare(struct contract *c, const struct area *area,
			  uint64_t *firsts)
{
	struct compare_args args;

	args.count = 0;
	for (size_t k = 0; k < PAIRS; k++) {
		compare_add(&args, area->device[0] + place_of(area, k, 0),
			    area->device[1] + place_of(area, k, 1), area->size,
			    &firsts[k]);
		if (args.count == COMPARE_MAX)
			EXPECT_PART(launch_compare(c, area, &args));
	}
}

static void check_compare(struct contract *c, struct area *area)
{
	uint64_t *firsts, seen[PAIRS];

	EXPECT_OK(contract_memory(c, sizeof(seen), (void **)&firsts));
	EXPECT_OK(contract_set(c, firsts, 0xff, sizeof(seen), area->stream));
	make_different(area);
	EXPECT_PART(put_area(c, area));
	EXPECT_PART(queue_compare(c, area, firsts));
	EXPECT_OK(contract_read(c, area->stream, firsts, seen, sizeof(seen)));
	for (size_t k = 0; k < PAIRS; k++)
		EXPECT_TEXT(seen[k] == expected_first(area, k),
			    "arrays of %zu bytes at %zu and %zu past 16 differ "
			    "first in byte %zu, not %" PRIu64,
			    area->size, k % ALIGNMENTS, k / ALIGNMENTS,
			    expected_first(area, k), seen[k]);
}

static void comparisons_find_the_first_difference(struct contract *c)
{
	for_sizes(c, check_compare);
}

/* -------------------------------------------------------------------------- */

const struct contract_check contract_pieces[] = {
	{.name = "copies move their bytes and no other",
	 .run = copies_move_their_bytes_and_no_other},
	{.name = "comparisons find the first difference",
	 .run = comparisons_find_the_first_difference},
	{.name = NULL}};
