/*
 * tools/contract/device/space.c - how much memory there is, and spaces
 *
 * The promises of lib/device/contract.h for addresses that are reserved without
 * memory, and memory that is mapped there piece by piece.
 */
#include <string.h>
#include "tools/contract/contract.h"

/* A space of so many units of the device, and a stream. */
struct site {
	philox_stream stream;
	char *base;
	size_t unit;
};

static void make_site(struct contract *c, size_t units, struct site *at)
{
	SKIP_IF(device_space_granularity(c->device, &at->unit) ==
			PHILOX_ERROR_UNSUPPORTED,
		"%.150s", philox_error_message());
	EXPECT_OK(device_space_granularity(c->device, &at->unit));
	EXPECT(at->unit && !(at->unit & (at->unit - 1)));
	EXPECT_OK(contract_stream(c, 0, &at->stream));
	EXPECT_OK(contract_reserve(c, units * at->unit, &at->base));
	EXPECT((uintptr_t)at->base % at->unit == 0);
}

static void unmap(struct contract *c, const struct site *at, size_t offset,
		  size_t bytes)
{
	EXPECT_OK(philox_stream_synchronize(c->device, at->stream));
	contract_forget(c, at->base + offset);
	EXPECT_OK(device_space_unmap(c->device, at->base, offset, bytes));
}

/* --- memory --------------------------------------------------------------- */

static void memory_is_counted(struct contract *c)
{
	size_t free_bytes = 0, total_bytes = 0, again = 0;

	EXPECT_OK(philox_device_memory_info(c->device, &free_bytes,
					    &total_bytes));
	EXPECT(total_bytes > 0 && free_bytes <= total_bytes);
	EXPECT_OK(philox_device_memory_info(c->device, NULL, &again));
	EXPECT(again == total_bytes);
	EXPECT_OK(philox_device_memory_info(c->device, &again, NULL));
	EXPECT(again && again <= total_bytes);
}

/* A host device may be given a limit; a GPU has what it has. */
static void memory_has_a_limit(struct contract *c)
{
	size_t free_bytes, total_bytes;
	void *memory;

	if (!philox_device_is_host(c->device)) {
		EXPECT_ERROR(UNSUPPORTED,
			     philox_device_limit_memory(c->device, 1));
		return;
	}
	EXPECT_OK(philox_device_limit_memory(c->device, (size_t)1 << 40));
	EXPECT_OK(philox_device_memory_info(c->device, &free_bytes, NULL));
	total_bytes = ((size_t)1 << 40) - free_bytes + 4096;
	EXPECT_OK(philox_device_limit_memory(c->device, total_bytes));
	EXPECT_OK(philox_device_memory_info(c->device, &free_bytes, NULL));
	EXPECT(free_bytes == 4096);
	EXPECT_ERROR(MEMORY, philox_memory_alloc(c->device, 4097, &memory));
	EXPECT_OK(contract_memory(c, 4096, &memory));
	EXPECT_OK(philox_device_memory_info(c->device, &free_bytes, NULL));
	EXPECT(free_bytes == 0);
	EXPECT_OK(philox_device_limit_memory(c->device, 0));
	EXPECT_OK(contract_memory(c, 4097, &memory));
}

static void extents_are_memory(struct contract *c)
{
	struct site at;
	void *memory;
	size_t unit;

	EXPECT_PART(make_site(c, 8, &at));
	unit = at.unit;
	EXPECT_OK(contract_map(c, at.base, 5 * unit, 2 * unit));
	EXPECT_OK(contract_map(c, at.base, unit, unit));
	EXPECT_OK(contract_memory(c, 2 * unit, &memory));
	EXPECT_OK(contract_set(c, at.base + unit, 1, unit, at.stream));
	EXPECT_OK(contract_set(c, at.base + 5 * unit, 2, 2 * unit, at.stream));
	EXPECT_OK(contract_copy(c, memory, at.base + 5 * unit, 2 * unit,
				at.stream));
	EXPECT_BYTES(at.stream, memory, 2, 2 * unit);
	EXPECT_BYTES(at.stream, at.base + unit, 1, unit);
}

/* Memory for others is memory, or the device says which it lacks. */
static void memory_for_others_is_memory(struct contract *c)
{
	static const unsigned traits[] = {SPACE_RDMA, SPACE_EXPORT,
					  SPACE_FABRIC, SPACE_PEERS,
					  SPACE_RDMA | SPACE_PEERS};
	struct site at;

	EXPECT_PART(make_site(c, 1, &at));
	for (size_t i = 0; i < sizeof(traits) / sizeof(traits[0]); i++) {
		enum philox_status status = contract_reserve_with(
			c, 2 * at.unit, traits[i], &at.base);

		if (status == PHILOX_ERROR_UNSUPPORTED) {
			EXPECT(strstr(philox_error_message(), "memory"));
			continue;
		}
		EXPECT_OK(status);
		EXPECT_OK(contract_map(c, at.base, at.unit, at.unit));
		EXPECT_OK(contract_set(c, at.base + at.unit, 3, at.unit,
				       at.stream));
		EXPECT_BYTES(at.stream, at.base + at.unit, 3, at.unit);
	}
}

static enum philox_status draw_to(struct contract *c, const struct site *at,
				  size_t offset, size_t bytes)
{
	const struct philox_rng rng = {.state = {1, 4}};
	const struct philox_fill_desc fill = {.size = sizeof(fill),
					      .dist = PHILOX_DIST_BITS,
					      .dtype = PHILOX_DTYPE_U32,
					      .span = {.count = bytes / 4},
					      .out = at->base + offset};

	return philox_rng_fill(c->device, at->stream, rng, &fill);
}

/* The same words in two extents as in one, and bytes beside them as before. */
static void arrays_reach_from_extent_to_extent(struct contract *c)
{
	enum { COUNT = 1000 };
	uint32_t one[COUNT], two[COUNT];
	struct site at;
	size_t unit;

	EXPECT_PART(make_site(c, 4, &at));
	unit = at.unit;
	EXPECT_OK(contract_map(c, at.base, 2 * unit, unit));
	EXPECT_OK(contract_map(c, at.base, unit, unit));
	EXPECT_OK(contract_set(c, at.base + unit, 7, 2 * unit, at.stream));
	EXPECT_OK(draw_to(c, &at, unit, sizeof(one)));
	EXPECT_OK(draw_to(c, &at, 2 * unit - 64, sizeof(two)));
	EXPECT_OK(
		contract_read(c, at.stream, at.base + unit, one, sizeof(one)));
	EXPECT_OK(contract_read(c, at.stream, at.base + 2 * unit - 64, two,
				sizeof(two)));
	EXPECT(!memcmp(one, two, sizeof(one)));
	EXPECT_BYTES(at.stream, at.base + 2 * unit - 64 - 256, 7, 256);
}

/* Only host devices look where arrays end. */
static void arrays_end_where_the_mapping_does(struct contract *c)
{
	philox_native_graph graph;
	philox_native_exec exec;
	struct site at;
	size_t unit;

	SKIP_IF(!philox_device_is_host(c->device),
		"a GPU does not look where arrays end");
	EXPECT_PART(make_site(c, 4, &at));
	unit = at.unit;
	EXPECT_OK(contract_map(c, at.base, 0, unit));
	EXPECT_OK(contract_map(c, at.base, unit, unit));
	EXPECT_ERROR(INVALID, draw_to(c, &at, 4, 2 * unit));
	EXPECT(strstr(philox_error_message(), "from byte 4 on of a mapping"));
	EXPECT_OK(philox_stream_begin_capture(c->device, at.stream,
					      PHILOX_CAPTURE_GLOBAL));
	EXPECT_OK(draw_to(c, &at, 4, 2 * unit - 4));
	EXPECT_OK(contract_end_exec(c, at.stream, &graph, &exec));
	EXPECT_OK(philox_native_exec_launch(c->device, at.stream, exec));
	/* Other memory in one of the extents is not the same. */
	EXPECT_PART(unmap(c, &at, unit, unit));
	EXPECT_ERROR(INVALID,
		     philox_native_exec_launch(c->device, at.stream, exec));
	EXPECT_OK(contract_map(c, at.base, unit, unit));
	EXPECT_ERROR(INVALID,
		     philox_native_exec_launch(c->device, at.stream, exec));
	EXPECT(strstr(philox_error_message(), "has been unmapped"));
}

/* --- refusals ------------------------------------------------------------- */

/* Refuses a call and keeps everything as it was. */
#define EXPECT_INVALID(call) EXPECT_ERROR(INVALID, call)

static void spaces_have_whole_units(struct contract *c)
{
	struct philox_device *device = c->device;
	struct site at;
	size_t unit;
	void *base;

	EXPECT_PART(make_site(c, 4, &at));
	unit = at.unit;
	EXPECT_INVALID(device_space_reserve(device, unit + 1, &base));
	EXPECT_INVALID(device_space_reserve(device, unit / 2, &base));
	EXPECT_INVALID(device_space_map(device, at.base, unit / 2, unit));
	EXPECT_INVALID(device_space_map(device, at.base, 0, unit - 1));
	EXPECT_INVALID(device_space_map(device, at.base, 0, unit + unit / 2));
	EXPECT_OK(contract_map(c, at.base, 0, 4 * unit));
}

static void spaces_have_an_end(struct contract *c)
{
	struct philox_device *device = c->device;
	size_t unit, huge;
	struct site at;
	void *base;

	EXPECT_PART(make_site(c, 4, &at));
	unit = at.unit;
	huge = SIZE_MAX - (unit - 1);
	EXPECT_ERROR(MEMORY, device_space_reserve(device, huge, &base));
	EXPECT_INVALID(device_space_map(device, at.base, 4 * unit, unit));
	EXPECT_INVALID(device_space_map(device, at.base, 3 * unit, 2 * unit));
	EXPECT_INVALID(device_space_map(device, at.base, huge, unit));
	EXPECT_INVALID(device_space_map(device, at.base, unit, huge));
	EXPECT_INVALID(device_space_map(device, at.base + unit, 0, unit));
	EXPECT_OK(contract_map(c, at.base, 3 * unit, unit));
}

/* Extents at 1 .. 2 and 4 of 6 units. */
static void nothing_is_mapped_twice(struct contract *c)
{
	static const struct {
		size_t offset, count;
	} over[] = {{1, 2}, {0, 2}, {2, 1}, {2, 2}, {0, 6}, {3, 2}, {4, 1}};
	struct site at;

	EXPECT_PART(make_site(c, 6, &at));
	EXPECT_OK(contract_map(c, at.base, 4 * at.unit, at.unit));
	EXPECT_OK(contract_map(c, at.base, at.unit, 2 * at.unit));
	EXPECT_OK(
		contract_set(c, at.base + at.unit, 5, 2 * at.unit, at.stream));
	for (size_t i = 0; i < sizeof(over) / sizeof(over[0]); i++)
		EXPECT_INVALID(device_space_map(c->device, at.base,
						over[i].offset * at.unit,
						over[i].count * at.unit));
	EXPECT_BYTES(at.stream, at.base + at.unit, 5, 2 * at.unit);
	EXPECT_OK(contract_map(c, at.base, 0, at.unit));
	EXPECT_OK(contract_map(c, at.base, 3 * at.unit, at.unit));
	EXPECT_OK(contract_map(c, at.base, 5 * at.unit, at.unit));
}

/* Extents at 0 .. 1, 2 and 4 of 5 units. */
static void extents_are_unmapped_whole(struct contract *c)
{
	static const struct {
		size_t offset, count;
	} other[] = {{0, 1}, {1, 1}, {0, 3}, {1, 2}, {2, 2}, {2, 3},
		     {3, 1}, {3, 2}, {4, 2}, {5, 1}, {9, 1}};
	struct site at;

	EXPECT_PART(make_site(c, 5, &at));
	EXPECT_OK(contract_map(c, at.base, 0, 2 * at.unit));
	EXPECT_OK(contract_map(c, at.base, 2 * at.unit, at.unit));
	EXPECT_OK(contract_map(c, at.base, 4 * at.unit, at.unit));
	EXPECT_OK(contract_set(c, at.base, 5, 3 * at.unit, at.stream));
	EXPECT_OK(philox_stream_synchronize(c->device, at.stream));
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		EXPECT_INVALID(device_space_unmap(c->device, at.base,
						  other[i].offset * at.unit,
						  other[i].count * at.unit));
	EXPECT_BYTES(at.stream, at.base, 5, 3 * at.unit);
	EXPECT_PART(unmap(c, &at, 2 * at.unit, at.unit));
	EXPECT_INVALID(
		device_space_unmap(c->device, at.base, 2 * at.unit, at.unit));
	EXPECT_BYTES(at.stream, at.base, 5, 2 * at.unit);
}

static void unmapped_addresses_are_mapped_again(struct contract *c)
{
	struct site at;
	size_t unit;

	EXPECT_PART(make_site(c, 3, &at));
	unit = at.unit;
	for (int i = 1; i < 5; i++) {
		EXPECT_OK(contract_map(c, at.base, unit, unit));
		EXPECT_OK(contract_map(c, at.base, 0, unit));
		EXPECT_OK(contract_map(c, at.base, 2 * unit, unit));
		EXPECT_OK(contract_set(c, at.base, i, 3 * unit, at.stream));
		EXPECT_BYTES(at.stream, at.base, i, 3 * unit);
		EXPECT_PART(unmap(c, &at, unit, unit));
		EXPECT_BYTES(at.stream, at.base, i, unit);
		EXPECT_BYTES(at.stream, at.base + 2 * unit, i, unit);
		EXPECT_PART(unmap(c, &at, 0, unit));
		EXPECT_PART(unmap(c, &at, 2 * unit, unit));
	}
	EXPECT_OK(contract_map(c, at.base, 0, 3 * unit));
}

static void a_space_is_released_when_all_is_unmapped(struct contract *c)
{
	struct site at;

	EXPECT_PART(make_site(c, 3, &at));
	EXPECT_INVALID(device_space_release(c->device, at.base + at.unit));
	EXPECT_OK(contract_map(c, at.base, at.unit, at.unit));
	EXPECT_ERROR(STATE, device_space_release(c->device, at.base));
	EXPECT_OK(contract_set(c, at.base + at.unit, 3, at.unit, at.stream));
	EXPECT_BYTES(at.stream, at.base + at.unit, 3, at.unit);
	EXPECT_PART(unmap(c, &at, at.unit, at.unit));
	contract_forget(c, at.base);
	EXPECT_OK(device_space_release(c->device, at.base));
	EXPECT_INVALID(device_space_release(c->device, at.base));
	EXPECT_INVALID(device_space_map(c->device, at.base, 0, at.unit));
	EXPECT_INVALID(
		device_space_unmap(c->device, at.base, at.unit, at.unit));
	EXPECT_OK(device_space_release(c->device, NULL));
}

/* More addresses than there is memory, which costs none. */
static void addresses_cost_no_memory(struct contract *c)
{
	size_t total, units;
	struct site at;

	EXPECT_OK(philox_device_memory_info(c->device, NULL, &total));
	EXPECT_PART(make_site(c, 1, &at));
	units = total / at.unit + 1;
	EXPECT_OK(contract_reserve(c, 2 * units * at.unit, &at.base));
	EXPECT_OK(contract_map(c, at.base, 2 * (units - 1) * at.unit, at.unit));
	EXPECT_OK(contract_set(c, at.base + 2 * (units - 1) * at.unit, 1,
			       at.unit, at.stream));
	EXPECT_BYTES(at.stream, at.base + 2 * (units - 1) * at.unit, 1,
		     at.unit);
}

/* More than half of what is free, again and again. */
static void unmapping_gives_memory_back(struct contract *c)
{
	size_t most = 0, bytes;
	struct site at;

	if (philox_device_is_host(c->device))
		EXPECT_OK(philox_device_limit_memory(c->device,
						     (size_t)64 << 20));
	EXPECT_PART(make_site(c, 1, &at));
	EXPECT_OK(philox_device_memory_info(c->device, &most, NULL));
	bytes = most / at.unit / 5 * 3 * at.unit;
	EXPECT(bytes > most / 2);
	EXPECT_OK(contract_reserve(c, 2 * bytes, &at.base));
	for (int i = 0; i < 4; i++) {
		EXPECT_OK(contract_map(c, at.base, 0, bytes));
		EXPECT_ERROR(MEMORY, device_space_map(c->device, at.base, bytes,
						      bytes));
		EXPECT_PART(unmap(c, &at, 0, bytes));
	}
}

const struct contract_check contract_space[] = {
	{"memory is counted", .run = memory_is_counted},
	{"memory has a limit", .run = memory_has_a_limit},
	{"what is mapped in a space is memory", .run = extents_are_memory},
	{"memory for others is memory", .run = memory_for_others_is_memory},
	{"arrays reach from extent to extent",
	 .run = arrays_reach_from_extent_to_extent},
	{"arrays end where the mapping does",
	 .run = arrays_end_where_the_mapping_does},
	{"spaces have whole units", .run = spaces_have_whole_units},
	{"spaces have an end", .run = spaces_have_an_end},
	{"nothing is mapped twice", .run = nothing_is_mapped_twice},
	{"extents are unmapped whole", .run = extents_are_unmapped_whole},
	{"unmapped addresses are mapped again",
	 .run = unmapped_addresses_are_mapped_again},
	{"a space is released when all is unmapped",
	 .run = a_space_is_released_when_all_is_unmapped},
	{"unmapping gives memory back", .run = unmapping_gives_memory_back},
	{"addresses cost no memory", .run = addresses_cost_no_memory},
	{0}};
