/*
 * tests/tools/json.c - the tools write JSON, which loses nothing
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tools/cli/cli.h"

static char *text;
static size_t size;
static struct json json;

static void begin(void)
{
	json_begin(&json, open_memstream(&text, &size));
}

static void end(void)
{
	fclose(json.out);
	free(text);
}

TestSuite(json, .init = begin, .fini = end);

static void expect(const char *expected)
{
	cr_assert_eq(json_end(&json), 0);
	cr_assert_str_eq(text, expected);
}

Test(json, objects_and_arrays_nest_with_the_right_commas)
{
	json_object(&json, NULL);
	json_array(&json, "empty");
	json_close(&json);
	json_array(&json, "two");
	json_object(&json, NULL);
	json_close(&json);
	json_array(&json, NULL);
	json_bool(&json, NULL, 1);
	json_bool(&json, NULL, 0);
	json_close(&json);
	json_close(&json);
	json_integer(&json, "last", -1);
	json_close(&json);
	expect("{\"empty\":[],\"two\":[{},[true,false]],\"last\":-1}\n");
}

/* The text of a string between its quotes */
static const struct {
	const char *given;
	const char *written;
} strings[] = {
	{"", ""},
	{"a \"quoted\" C:\\path/", "a \\\"quoted\\\" C:\\\\path/"},
	{"line\ntab\t\x01\x7f", "line\\u000atab\\u0009\\u0001\\u007f"},
	{"\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e",
	 "\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e"},
	{"stray \x80 cut \xe2\x82", "stray \\ufffd cut \\ufffd\\ufffd"},
	{"overlong \xc0\xaf", "overlong \\ufffd\\ufffd"},
	{"surrogate \xed\xa0\x80", "surrogate \\ufffd\\ufffd\\ufffd"},
	{"too far \xf4\x90\x80\x80", "too far \\ufffd\\ufffd\\ufffd\\ufffd"},
};

Test(json, strings_are_escaped_and_always_utf8)
{
	char expected[128];
	size_t i, before = 0;

	for (i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		json_string(&json, NULL, strings[i].given);
		fflush(json.out);
		snprintf(expected, sizeof(expected), "\"%s\"",
			 strings[i].written);
		cr_expect_str_eq(text + before, expected);
		before = size;
	}
}

Test(json, no_string_is_null)
{
	json_string(&json, NULL, NULL);
	expect("null\n");
}

Test(json, doubles_are_read_back_bit_for_bit)
{
	static const double values[] = {0.1,    1.0 / 3,
					5e-324, 0x1.fffffffffffffp1023,
					-0.0,   4503599627370497.5};
	double back;
	size_t i, before = 0;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		json_number(&json, NULL, values[i]);
		fflush(json.out);
		back = strtod(text + before, NULL);
		cr_expect_eq(memcmp(&back, &values[i], sizeof(back)), 0);
		before = size;
	}
}

Test(json, numbers_that_are_not_finite_are_null)
{
	json_array(&json, NULL);
	json_number(&json, NULL, NAN);
	json_number(&json, NULL, -INFINITY);
	json_close(&json);
	expect("[null,null]\n");
}

Test(json, integers_keep_all_their_bits)
{
	json_array(&json, NULL);
	json_unsigned(&json, NULL, UINT64_MAX);
	json_integer(&json, NULL, INT64_MIN);
	json_close(&json);
	expect("[18446744073709551615,-9223372036854775808]\n");
}

Test(json, a_full_disk_is_reported)
{
	struct json full;

	json_begin(&full, fopen("/dev/full", "w"));
	json_bool(&full, NULL, 1);
	cr_expect_eq(json_end(&full), -1);
	fclose(full.out);
}
