/*
 * tests/device/space.c - spaces of the host device, and its limit of memory
 *
 * What every device promises is in tools/contract/device/space.c. Here: that
 * stray reads fault, that memory is given back, what refusals say, and a model
 * that knows units, not extents.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/device/device.h"
#include "tests/support/support.h"

#define UNIT ((size_t)64 << 10) /* the same on every machine */

static char *reserve(struct fixture *f, size_t units)
{
	void *base = NULL;

	OK(device_space_reserve(f->device, units * UNIT, &base));
	return base;
}

static void map(struct fixture *f, char *base, size_t first, size_t units)
{
	OK(device_space_map(f->device, base, first * UNIT, units * UNIT));
}

static void unmap(struct fixture *f, char *base, size_t first, size_t units)
{
	OK(device_space_unmap(f->device, base, first * UNIT, units * UNIT));
}

PROMISE(space, has_units_that_are_the_same_everywhere)
{
	size_t unit = 0;

	OK(device_space_granularity(f->device, &unit));
	cr_assert_eq(unit, UNIT);
}

/* --- faults --------------------------------------------------------------- */

/* Whether a process lives on that reads or writes a byte. */
static int survives(volatile char *byte, int writes)
{
	pid_t child = fork();
	int ended;

	cr_assert(child >= 0);
	if (!child) {
		fclose(stderr); /* a sanitizer tells about the fault */
		if (writes)
			*byte = 1;
		else
			(void)*byte;
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &ended, 0), child);
	return WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

static void is_memory(char *base, size_t unit, int expected)
{
	for (int writes = 0; writes < 2; writes++) {
		cr_assert_eq(survives(base + unit * UNIT, writes), expected,
			     "the first byte of unit %zu", unit);
		cr_assert_eq(survives(base + (unit + 1) * UNIT - 1, writes),
			     expected, "the last byte of unit %zu", unit);
	}
}

PROMISE(space, faults_where_nothing_is_mapped)
{
	char *base = reserve(f, 5);

	is_memory(base, 2, 0);
	map(f, base, 1, 1);
	map(f, base, 3, 1);
	for (size_t unit = 0; unit < 5; unit++)
		is_memory(base, unit, unit == 1 || unit == 3);
	unmap(f, base, 1, 1);
	is_memory(base, 1, 0);
	is_memory(base, 3, 1);
	unmap(f, base, 3, 1);
	OK(device_space_release(f->device, base));
}

PROMISE(space, that_is_open_goes_with_its_device)
{
	struct philox_device *device;
	void *base;

	OK(philox_device_open(philox_device_name(f->device), &device));
	OK(device_space_reserve(device, 4 * UNIT, &base));
	OK(device_space_map(device, base, UNIT, UNIT));
	OK(device_space_map(device, base, 3 * UNIT, UNIT));
	is_memory(base, 1, 1);
	OK(philox_device_close(device));
	is_memory(base, 1, 0);
}

/* --- memory is given back ------------------------------------------------- */

/* Memory of this process that is in use, in bytes. */
static size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	cr_assert(file && fscanf(file, "%*u %zu", &pages) == 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

PROMISE(space, gives_back_what_is_unmapped)
{
	const size_t units = 1024, size = units * UNIT;
	size_t before = resident();
	char *base = reserve(f, 2 * units);

	for (int i = 0; i < 3; i++) {
		map(f, base, units / 2, units);
		cr_assert_lt(resident(), before + size / 4);
		memset(base + size / 2, 1, size);
		cr_assert_geq(resident(), before + size / 4 * 3);
		unmap(f, base, units / 2, units);
		cr_assert_lt(resident(), before + size / 4);
	}
	OK(device_space_release(f->device, base));
}

/* --- refusals ------------------------------------------------------------- */

PROMISE(space, says_what_is_wrong)
{
	struct philox_device *d = f->device;
	char *base = reserve(f, 8), text[128];
	void *other;

	f->injected = 1; /* a free that is refused is counted, too */
	map(f, base, 2, 2);
	SAYS(device_space_reserve(d, UNIT + 1, &other), PHILOX_ERROR_INVALID,
	     "space_reserve: size is 65537, which is no multiple of 65536");
	SAYS(device_space_map(d, base, 7, UNIT), PHILOX_ERROR_INVALID,
	     "space_map: offset is 7, which is no multiple of 65536");
	SAYS(device_space_map(d, base, 7 * UNIT, 2 * UNIT),
	     PHILOX_ERROR_INVALID,
	     "space_map: 131072 bytes from offset 458752 on are not in the "
	     "space, which has 524288");
	SAYS(device_space_map(d, base, UNIT, 2 * UNIT), PHILOX_ERROR_INVALID,
	     "space_map: of 131072 bytes from offset 65536 on some are mapped: "
	     "there are 131072 from 131072 on");
	SAYS(device_space_unmap(d, base, 2 * UNIT, UNIT), PHILOX_ERROR_INVALID,
	     "space_unmap: 65536 bytes from offset 131072 on were not mapped "
	     "as one extent: there are 131072 from 131072 on");
	SAYS(device_space_unmap(d, base, 4 * UNIT, UNIT), PHILOX_ERROR_INVALID,
	     "space_unmap: of 65536 bytes from offset 262144 on none is "
	     "mapped");
	SAYS(device_space_release(d, base), PHILOX_ERROR_STATE,
	     "space_release: 1 extent of the space is still mapped, the first "
	     "from offset 131072 on");
	snprintf(text, sizeof(text), "space_release: no space begins at %p",
		 (void *)(base + 1));
	SAYS(device_space_release(d, base + 1), PHILOX_ERROR_INVALID, text);
	FAILS(philox_memory_free(d, base + 2 * UNIT), PHILOX_ERROR_INVALID);
	unmap(f, base, 2, 2);
	OK(device_space_release(d, base));
}

/* A space of another device is not found, whatever it has mapped. */
PROMISE(space, belongs_to_one_device)
{
	struct philox_device *other;
	char *base = reserve(f, 2);

	OK(philox_device_open("host:strict", &other));
	FAILS(device_space_map(other, base, 0, UNIT), PHILOX_ERROR_INVALID);
	map(f, base, 0, 1);
	FAILS(device_space_unmap(other, base, 0, UNIT), PHILOX_ERROR_INVALID);
	FAILS(philox_memory_set(other, NULL, base, 0, UNIT),
	      PHILOX_ERROR_INVALID);
	OK(philox_device_close(other));
	unmap(f, base, 0, 1);
	OK(device_space_release(f->device, base));
}

/* --- the limit ------------------------------------------------------------ */

static void left_is(struct fixture *f, size_t expected)
{
	size_t left = 0, total = 0;

	OK(philox_device_memory_info(f->device, &left, &total));
	cr_assert_eq(left, expected, "%zu bytes are left, not %zu", left,
		     expected);
}

/* What the fixture itself has allocated. */
static size_t in_use(struct fixture *f)
{
	size_t left, total;

	OK(philox_device_limit_memory(f->device, (size_t)1 << 40));
	OK(philox_device_memory_info(f->device, &left, &total));
	cr_assert_eq(total, (size_t)1 << 40);
	return total - left;
}

PROMISE(space, shares_the_limit_of_memory_with_allocations)
{
	size_t used = in_use(f);
	char *base = reserve(f, 8);
	void *memory, *mapped, *other;

	f->injected = 1; /* allocations that are refused are counted, too */
	OK(philox_device_limit_memory(f->device, used + 4 * UNIT));
	left_is(f, 4 * UNIT);
	map(f, base, 0, 2);
	left_is(f, 2 * UNIT);
	OK(philox_memory_alloc(f->device, UNIT + 1, &memory));
	left_is(f, UNIT - 256);
	FAILS(device_space_map(f->device, base, 2 * UNIT, UNIT),
	      PHILOX_ERROR_MEMORY);
	NAMES("space_map: no memory for 65536 bytes: of the");
	FAILS(philox_memory_alloc(f->device, UNIT - 255, &other),
	      PHILOX_ERROR_MEMORY);
	NAMES("philox_memory_alloc: no memory for 65536 bytes: of the");
	OK(device_mapped_alloc(f->device, 2 * UNIT, &other, &mapped));
	left_is(f, UNIT - 256);
	OK(device_mapped_free(f->device, other));
	OK(philox_memory_free(f->device, memory));
	map(f, base, 2, 2);
	left_is(f, 0);
	OK(philox_device_limit_memory(f->device, used + UNIT));
	left_is(f, 0);
	unmap(f, base, 0, 2);
	left_is(f, 0);
	FAILS(device_space_map(f->device, base, 0, UNIT), PHILOX_ERROR_MEMORY);
	unmap(f, base, 2, 2);
	left_is(f, UNIT);
	OK(philox_device_limit_memory(f->device, 0));
	map(f, base, 0, 8);
	unmap(f, base, 0, 8);
	OK(device_space_release(f->device, base));
}

PROMISE(space, without_a_limit_shows_the_machine_s_memory)
{
	size_t left, total;

	OK(philox_device_memory_info(f->device, &left, &total));
	cr_assert_eq(total, (size_t)sysconf(_SC_PHYS_PAGES) *
				    (size_t)sysconf(_SC_PAGESIZE));
	cr_assert(left > 0 && left <= total);
}

/* --- a model -------------------------------------------------------------- */

enum { UNITS = 40, STEPS = 4000 };

struct model {
	char *base;
	unsigned extent[UNITS]; /* its number, from 1; 0: not mapped */
	unsigned last;
};

static uint32_t below(uint32_t *state, uint32_t bound)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % bound;
}

static int may_map(const struct model *m, size_t first, size_t units)
{
	if (first + units > UNITS)
		return 0;
	for (size_t i = first; i < first + units; i++)
		if (m->extent[i])
			return 0;
	return 1;
}

static int may_unmap(const struct model *m, size_t first, size_t units)
{
	unsigned extent = first < UNITS ? m->extent[first] : 0;
	size_t count = 0;

	for (size_t i = 0; i < UNITS; i++)
		count += m->extent[i] == extent;
	return extent && count == units &&
	       (!first || m->extent[first - 1] != extent);
}

static void step(struct fixture *f, struct model *m, uint32_t *state)
{
	size_t first = below(state, UNITS + 2), units = 1 + below(state, 5);
	int maps = (int)below(state, 2), may;
	enum philox_status status;

	may = maps ? may_map(m, first, units) : may_unmap(m, first, units);
	status = maps ? device_space_map(f->device, m->base, first * UNIT,
					 units * UNIT)
		      : device_space_unmap(f->device, m->base, first * UNIT,
					   units * UNIT);
	cr_assert_eq(status, may ? PHILOX_OK : PHILOX_ERROR_INVALID,
		     "%s %zu + %zu: %s", maps ? "map" : "unmap", first, units,
		     philox_error_message());
	if (!may)
		return;
	m->last += (unsigned)maps;
	for (size_t i = first; i < first + units; i++)
		m->extent[i] = maps ? m->last : 0;
	for (size_t i = first; maps && i < first + units; i++)
		memcpy(m->base + i * UNIT, &m->last, sizeof(m->last));
}

PROMISE(space, does_what_a_model_does)
{
	struct model m = {.base = reserve(f, UNITS)};
	uint32_t state = 1;
	unsigned written;

	for (int i = 0; i < STEPS; i++) {
		step(f, &m, &state);
		for (size_t unit = 0; unit < UNITS; unit++) {
			if (!m.extent[unit])
				continue;
			memcpy(&written, m.base + unit * UNIT, sizeof(written));
			cr_assert_eq(written, m.extent[unit]);
		}
	}
	cr_assert_gt(m.last, STEPS / 40, "%u extents", m.last);
	for (size_t first = 0; first < UNITS; first++)
		for (size_t units = 1; units <= 5; units++)
			if (may_unmap(&m, first, units)) {
				unmap(f, m.base, first, units);
				memset(m.extent + first, 0,
				       units * sizeof(m.extent[0]));
			}
	OK(device_space_release(f->device, m.base));
}
