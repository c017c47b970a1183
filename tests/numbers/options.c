/*
 * tests/numbers/options.c - reading structs of other versions
 */
#include "lib/base/base.h"
#include "tests/support/support.h"

/* A struct that has grown by one field. */
struct first {
	size_t size;
	uint32_t old;
};

struct grown {
	size_t size;
	uint32_t old;
	uint64_t later;
};

#define FIRST (offsetof(struct first, old) + sizeof(uint32_t))

Test(options, a_field_that_an_older_caller_lacks_is_0)
{
	struct {
		struct first options;
		uint64_t beside; /* after the struct: must not be read */
	} old = {{sizeof(old.options), 7}, UINT64_MAX};
	struct grown copy = {1, 2, 3};

	OK(options_copy("thing", &old, old.options.size, FIRST, sizeof(copy),
			&copy));
	cr_assert_eq(copy.size, sizeof(old.options));
	cr_assert_eq(copy.old, 7);
	cr_assert_eq(copy.later, 0);
}

Test(options, a_field_that_this_version_lacks_must_be_0)
{
	struct grown new = {sizeof(new), 7, 0};
	struct first copy = {1, 2};

	OK(options_copy("thing", &new, new.size, FIRST, sizeof(copy), &copy));
	cr_assert_eq(copy.old, 7);
	copy.old = 2;
	new.later = 1;
	FAILS(options_copy("thing", &new, new.size, FIRST, sizeof(copy), &copy),
	      PHILOX_ERROR_INVALID);
	NAMES("thing");
	cr_assert_eq(copy.old, 2);
}

Test(options, structs_shorter_than_the_first_version_are_refused)
{
	struct first options = {0, 7}, copy;

	for (size_t size = 0; size < FIRST; size++)
		FAILS(options_copy("thing", &options, size, FIRST, sizeof(copy),
				   &copy),
		      PHILOX_ERROR_INVALID);
	OK(options_copy("thing", &options, FIRST, FIRST, sizeof(copy), &copy));
	cr_assert_eq(copy.old, 7);
}

Test(options, a_report_is_written_as_far_as_the_caller_has_it)
{
	const struct grown report = {sizeof(report), 7, 8};
	struct {
		struct first report;
		uint64_t beside;
	} old = {{FIRST, 1}, 2};
	struct {
		struct grown report;
		uint64_t later;
	} new = {{sizeof(new), 1, 2}, 3};

	options_write(&old, &report, sizeof(report));
	cr_assert_eq(old.report.size, FIRST);
	cr_assert_eq(old.report.old, 7);
	cr_assert_eq(old.beside, 2);
	options_write(&new, &report, sizeof(report));
	cr_assert_eq(new.report.size, sizeof(new));
	cr_assert_eq(new.report.old, 7);
	cr_assert_eq(new.report.later, 8);
	cr_assert_eq(new.later, 0);
}
