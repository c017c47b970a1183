/*
 * tests/tools/snapshot.c - the text of a pool is read, and refused if anything
 * in it is malformed or does not fit, with the line
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/fuzz/snapshot.h"
#include "tests/support/support.h"
#include "tools/formats/formats.h"

static const char expandable[] =
	"philox pool 1\n"
	"pool \"x\" expandable flags 1 unit 512 step 0 limit 8192 range 65536\n"
	"session none graphs 1\n"
	"mapped 6144 peak 8192 pinned 4096\n"
	"live 2560 peak 3072 requested 2100 blocks 3\n"
	"free 3584 largest 1024\n"
	"counts allocations 5 frees 2 growths 3 trims 1 checkpoints 1 restores "
	"0 rollbacks 0 waits 0\n"
	"segment 0 extents 3 bytes 6144\n"
	"extent 1 offset 0 bytes 2048 pinned\n"
	"extent 2 offset 2048 bytes 2048 pinned\n"
	"extent 4 offset 8192 bytes 2048 loose\n"
	"block offset 0 bytes 1024 live 2 size 1000 tag \"a\"\n"
	"block offset 1024 bytes 1536 free owner stream 1\n"
	"block offset 2560 bytes 1024 live 1 size 600 tag \"a b\"\n"
	"block offset 3584 bytes 512 free owner stream 2\n"
	"block offset 8192 bytes 512 live 3 size 500 tag \"\\xd1\\x8f\"\n"
	"block offset 8704 bytes 512 free owner stream 1\n"
	"block offset 9216 bytes 1024 free owner home\n";

/* With zones: a block takes a unit before and after what was asked for. */
static const char plain[] =
	"philox pool 1\n"
	"pool \"p \\x22q\\x22\" plain flags 4 unit 512 step 2048 limit 0\n"
	"session capture graphs 0\n"
	"mapped 4096 peak 4096 pinned 4096\n"
	"live 1536 peak 1536 requested 300 blocks 1\n"
	"free 2560 largest 2048\n"
	"counts allocations 1 frees 0 growths 2 trims 0 checkpoints 0 restores "
	"0 rollbacks 0 waits 0\n"
	"segment 0 extents 1 bytes 2048\n"
	"extent 1 offset 0 bytes 2048 pinned\n"
	"block offset 0 bytes 1536 live 1 size 300 tag \"z\"\n"
	"block offset 1536 bytes 512 free owner stream 1\n"
	"segment 3 extents 1 bytes 2048\n"
	"extent 2 offset 0 bytes 2048 pinned\n"
	"block offset 0 bytes 2048 free owner home\n";

static const char *const good[] = {expandable, plain};

/* --- texts ---------------------------------------------------------------- */

/* The text with its last line, which is made here by another FNV-1a. */
static const char *sign(const char *text)
{
	static char made[4096];
	int size = snprintf(made, sizeof(made),
			    "%schecksum %016" PRIx64 " bytes %zu\n", text,
			    fnv1a(text), strlen(text));

	cr_assert(size > 0 && (size_t)size < sizeof(made));
	return made;
}

static enum philox_status read_bytes(const char *text, size_t size)
{
	/* An array of its own, so that a sanitizer sees what is read after it */
	char *copy = malloc(size ? size : 1);
	struct snapshot snapshot;
	enum philox_status status;

	cr_assert(copy);
	memcpy(copy, text, size);
	status = snapshot_read(copy, size, &snapshot);
	free(copy);
	if (status == PHILOX_OK)
		snapshot_finish(&snapshot);
	return status;
}

static enum philox_status read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

/* The text with one thing replaced, the first that is like it. */
static const char *changed(const char *text, const char *from, const char *to)
{
	static char made[2048];
	const char *found = strstr(text, from);

	cr_assert(found, "no %s", from);
	snprintf(made, sizeof(made), "%.*s%s%s", (int)(found - text), text, to,
		 found + strlen(from));
	return made;
}

/* --- good ones ------------------------------------------------------------ */

Test(snapshot, is_read_and_written_again_as_it_was)
{
	for (int i = 0; i < 2; i++) {
		const char *text = sign(good[i]);
		struct snapshot snapshot;
		struct text again;

		OK(snapshot_read(text, strlen(text), &snapshot));
		OK(snapshot_write(&snapshot, &again));
		cr_assert_str_eq(again.bytes, text);
		cr_assert_eq(again.size, strlen(text));
		free(again.bytes);
		snapshot_finish(&snapshot);
	}
}

Test(snapshot, holds_what_the_text_says)
{
	const char *text = sign(expandable);
	struct snapshot read;

	OK(snapshot_read(text, strlen(text), &read));
	cr_assert_str_eq(read.name, "x");
	cr_assert_eq(read.flags, PHILOX_POOL_EXPANDABLE);
	cr_assert_eq(read.limit, 8192);
	cr_assert_eq(read.range, 65536);
	cr_assert_eq(read.session, SNAPSHOT_NONE);
	cr_assert_eq(read.figures.mapped_peak, 8192);
	cr_assert_eq(read.figures.pinned, 4096);
	cr_assert_eq(read.figures.trims, 1);
	cr_assert_eq(read.n_extents, 3);
	cr_assert_eq(read.extents[2].offset, 8192);
	cr_assert(read.extents[1].pinned && !read.extents[2].pinned);
	cr_assert_eq(read.n_blocks, 7);
	cr_assert_eq(read.blocks[1].owner, 1);
	cr_assert_eq(read.blocks[2].number, 1);
	cr_assert_eq(read.blocks[2].size, 600);
	cr_assert_str_eq(read.blocks[4].tag, "\xd1\x8f");
	snapshot_finish(&read);
}

Test(snapshot, of_an_empty_pool_has_no_segments)
{
	OK(read_text(sign(
		"philox pool 1\n"
		"pool \"none\" plain flags 10 unit 512 step 0 limit 0\n"
		"session warm-up graphs 0\n"
		"mapped 0 peak 0 pinned 0\n"
		"live 0 peak 0 requested 0 blocks 0\n"
		"free 0 largest 0\n"
		"counts allocations 0 frees 0 growths 0 trims 0 checkpoints 0 "
		"restores 0 rollbacks 0 waits 0\n")));
}

/* --- bad ones ------------------------------------------------------------- */

/* A change, and what the message says. */
static const struct {
	const char *text, *from, *to, *says;
} changes[] = {
	/* the version and the options */
	{plain, "philox pool 1", "philox pool 0", "line 1: 0 is too small"},
	{plain, "philox pool 1", "philox pools 1", "line 1: 'philox pool '"},
	{plain, "philox pool 1", "philox pool 01",
	 "line 1: no further digit expected"},
	{plain, "pool \"p", "poll \"p", "line 2: 'pool ' expected at column 1"},
	{plain, "\"p \\x22q\\x22\"", "\"\"", "line 2: a pool without a name"},
	{plain, "\"p \\x22q\\x22\"",
	 "\"0123456789012345678901234567890123456789012345678901234567890123\"",
	 "line 2: a name of more than 63 bytes"},
	{plain, "\\x22q", "\\x22\\x41", "line 2: '\"', a printable character"},
	{plain, "plain flags", "plane flags", "line 2: ' plain' expected"},
	{plain, "plain flags 4", "expandable flags 4",
	 "line 2: flags 4 are not those of an expandable pool"},
	{plain, "flags 4", "flags 5",
	 "line 2: flags 5 are not those of a plain pool"},
	{plain, "flags 4", "flags 20",
	 "line 2: flags 20 are not those of a plain pool"},
	{plain, "flags 4", "flags 512", "line 2: flags 512 are not known"},
	{plain, "unit 512", "unit 256", "line 2: the unit is not 512"},
	{plain, "limit 0", "limit 0 range 0", "line 2: the end of the line"},
	{expandable, " range 65536", "", "line 2: ' range ' expected"},
	{plain, "step 2048", "step 02048", "line 2: no further digit"},
	{plain, "step 2048", "step  2048", "line 2: a number expected"},
	{plain, "step 2048", "step 18446744073709551616",
	 "line 2: no further digit"},
	{plain, "limit 0", "limit 4095", "line 4: the peak is above the limit"},
	/* figures */
	{plain, "session capture", "session captured", "line 3: ' ' expected"},
	{plain, "session capture", "session",
	 "line 3: 'none' expected at column 9"},
	{plain, "session capture", "session open", "line 3: 'none' expected"},
	{plain, "peak 4096 pinned", "peak 4095 pinned",
	 "line 4: the peak, 4095, is less than there is now, 4096"},
	{plain, "pinned 4096", "pinned 9223372036854775808",
	 "line 4: no further digit"},
	{plain, "mapped 4096", "mapped 3584",
	 "line 6: mapped less live is 2048, not as it says"},
	{expandable, "mapped 6144 peak 8192 pinned 4096",
	 "mapped 6144 peak 8192 pinned 6144",
	 "line 4: pinned is 6144, but what is below comes to 4096"},
	{plain, "live 1536 peak 1536", "live 1536 peak 512",
	 "line 5: the peak, 512, is less"},
	{plain, "requested 300", "requested 301",
	 "line 5: requested is 301, but what is below comes to 300"},
	{plain, "blocks 1", "blocks 2", "line 7: 1 allocation made 2 live"},
	{expandable, "blocks 3", "blocks 4",
	 "line 5: blocks is 4, but what is below comes to 3"},
	{plain, "free 2560", "free 2561", "line 6: mapped less live is 2560"},
	{plain, "largest 2048", "largest 2560",
	 "line 6: largest is 2560, but what is below comes to 2048"},
	{plain, "allocations 1", "allocations 0",
	 "line 7: 0 allocations made 1 live"},
	{plain, " waits 0", "", "line 7: ' ' expected at column"},
	{plain, "waits 0", "waits", "line 7: ' ' expected at column"},
	/* segments */
	{plain, "segment 0", "segments 0", "line 8: a segment expected"},
	{plain, "segment 3", "segment 0",
	 "line 12: segment 0 comes twice or is out of order"},
	{expandable, "segment 0", "segment 1",
	 "line 8: an expandable pool has segment 0 alone"},
	{expandable, "extents 3", "extents 0",
	 "line 8: a segment without extents"},
	{expandable, "extents 3", "extents 2",
	 "line 8: segment 0 has extents of 4096 bytes, not 6144"},
	{expandable, "extents 3", "extents 4", "line 12: 'extent ' expected"},
	{expandable, "extents 3", "extents 9223372036854775807",
	 "line 12: 'extent ' expected"},
	{plain, "extents 1", "extents 2",
	 "line 8: a segment of a plain pool has one extent"},
	{expandable, "3 bytes 6144", "3 bytes 6143",
	 "line 8: segment 0 has extents of 6144 bytes, not 6143"},
	/* extents */
	{expandable, "extent 1 offset", "extent 0 offset",
	 "line 9: 0 is too small"},
	{expandable, "extent 4", "extent 2", "line 11: extent 2 comes twice"},
	{expandable, "extent 2", "extent 5",
	 "line 10: extent 5 is pinned, but 4, which is older, is not"},
	{expandable, "extent 2 offset 2048", "extent 2 offset 1536",
	 "line 10: extent 2 overlaps with the one before"},
	{expandable, "extent 4 offset 8192", "extent 4 offset 0",
	 "line 11: extent 4 overlaps with the one before"},
	{expandable, "extent 4 offset 8192", "extent 4 offset 8191",
	 "line 11: offset 8191 and bytes 2048 are not whole units"},
	{expandable, "offset 8192 bytes 2048", "offset 8192 bytes 0",
	 "line 11: offset 8192 and bytes 0 are not whole units"},
	{expandable, "offset 8192 bytes 2048",
	 "offset 9223372036854774784 bytes 2048",
	 "line 11: more than 2^63 - 1"},
	{expandable, "offset 8192 bytes 2048",
	 "offset 8192 bytes 9223372036854773760",
	 "line 11: more than 2^63 - 1"},
	{plain, "extent 2 offset 0", "extent 2 offset 512",
	 "line 13: an extent of a plain pool begins at 0"},
	{expandable, "2048 loose", "2048 lost", "line 11: ' loose' expected"},
	{expandable, "2048 pinned\nextent 2", "2048 loose\nextent 2",
	 "line 4: pinned is 4096, but what is below comes to 2048"},
	/* blocks */
	{plain, "block offset 1536", "blocks offset 1536",
	 "line 11: a segment or a block expected"},
	{expandable, "block offset 1024 bytes 1536",
	 "block offset 512 bytes 2048",
	 "line 13: a block at 512 overlaps with what is before 1024"},
	{expandable, "block offset 1024 bytes 1536",
	 "block offset 1536 bytes 1024",
	 "line 13: a gap: bytes 1024 to 1536 are in no block"},
	{expandable, "block offset 0 bytes 1024", "block offset 512 bytes 512",
	 "line 12: a gap: bytes 0 to 512 are in no block"},
	{expandable, "block offset 3584 bytes 512",
	 "block offset 3584 bytes 1024",
	 "line 15: the block reaches beyond 4096, where the extents end"},
	{plain, "block offset 1536 bytes 512", "block offset 1536 bytes 1024",
	 "line 11: the block reaches beyond 2048, where the extents end"},
	{plain, "block offset 1536 bytes 512 free owner stream 1\n", "",
	 "line 11: segment 0 has a gap: its bytes from 1536 on are in no"},
	{expandable, "block offset 9216 bytes 1024 free owner home\n", "",
	 "line 18: segment 0 has a gap: its bytes from 9216 on are in no"},
	{plain, "free owner home\n",
	 "free owner home\nblock offset 2048 bytes 512 free owner home\n",
	 "line 15: there is no extent for it above"},
	{expandable, "block offset 8704 bytes 512",
	 "block offset 8704 bytes 511", "line 17: offset 8704 and bytes 511"},
	{expandable, "1024 free owner home", "1024 free owner stream 1",
	 "line 18: two free blocks of one owner side by side"},
	{expandable, "512 free owner stream 2", "512 free owner stream 3",
	 "line 15: stream 3 before stream 2"},
	{expandable, "1536 free owner stream 1", "1536 free owner stream 2",
	 "line 13: stream 2 before stream 1"},
	{expandable, "owner stream 1", "owner stream 0",
	 "line 13: 0 is too small"},
	{expandable, "owner home", "owner nobody", "line 18: 'home' expected"},
	{plain, "free owner home", "freed owner home",
	 "line 14: ' free owner ' expected"},
	{expandable, "live 2 size", "live 0 size", "line 12: 0 is too small"},
	{expandable, "live 2 size", "live 4 size",
	 "line 12: live 4, but there are 3 in all"},
	{expandable, "live 3 size", "live 2 size",
	 "line 16: live 2 comes twice"},
	{expandable, "size 1000", "size 0", "line 12: 0 is too small"},
	{expandable, "size 1000", "size 1025",
	 "line 12: size 1025 has no room in 1024 bytes"},
	{plain, "size 300", "size 513",
	 "line 10: size 513 has no room in 1536 bytes"},
	{plain, "tag \"z\"", "tag z", "line 10: '\"' expected"},
	{plain, "tag \"z\"", "tag \"01234567890123456789012345678901\"",
	 "line 10: a tag of more than 31 bytes"},
	{plain, "tag \"z\"", "tag \"z\" ", "line 10: the end of the line"},
	/* after it */
	{plain, "free owner home\n", "free owner home\n\n",
	 "line 15: a segment or a block expected"},
};

Test(snapshot, is_refused_with_the_line_that_is_wrong)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const char *text = sign(changed(
			changes[i].text, changes[i].from, changes[i].to));

		FAILS(read_text(text), PHILOX_ERROR_INVALID);
		cr_assert(strstr(philox_error_message(), changes[i].says),
			  "%s for %s: %s", changes[i].to, changes[i].from,
			  philox_error_message());
	}
}

Test(snapshot, of_a_newer_version_is_unsupported)
{
	SAYS(read_text("philox pool 2\nwhatever"), PHILOX_ERROR_UNSUPPORTED,
	     "line 1: the text has version 2, the newest this philox reads is "
	     "1");
	FAILS(read_text("philox pool 18446744073709551615\n"),
	      PHILOX_ERROR_UNSUPPORTED);
}

Test(snapshot, that_is_cut_is_refused_wherever_it_is)
{
	const char *text = sign(expandable);

	for (size_t size = 0; size < strlen(text); size++) {
		FAILS(read_bytes(text, size), PHILOX_ERROR_INVALID);
		NAMES(", where the text ends: ");
	}
	OK(read_text(text));
}

Test(snapshot, in_which_one_byte_is_another_is_refused)
{
	for (int i = 0; i < 2; i++) {
		char text[4096];

		strcpy(text, sign(good[i]));
		for (size_t at = 0; text[at]; at++)
			for (int bit = 1; bit < 256; bit <<= 1) {
				enum philox_status status;

				text[at] = (char)(text[at] ^ bit);
				status =
					read_bytes(text, strlen(sign(good[i])));
				text[at] = (char)(text[at] ^ bit);
				cr_assert(status != PHILOX_OK,
					  "byte %zu, bit %d", at, bit);
			}
	}
}

Test(snapshot, without_the_checksum_of_its_lines_is_refused)
{
	char text[4096];
	char *last;

	strcpy(text, sign(plain));
	last = strstr(text, "checksum ");
	strcpy(last, "checksum 0000000000000000 bytes 1\n");
	FAILS(read_text(text), PHILOX_ERROR_INVALID);
	NAMES("bytes above, not 1");
	sprintf(last, "checksum 0000000000000000 bytes %zu\n",
		(size_t)(last - text));
	FAILS(read_text(text), PHILOX_ERROR_INVALID);
	NAMES("line 15: the checksum is of another text");
	strcpy(text, sign(plain));
	strcat(text, "more\n");
	FAILS(read_text(text), PHILOX_ERROR_INVALID);
	NAMES("5 bytes after the checksum");
}

/* --- lines ---------------------------------------------------------------- */

static const char *line_at(const char *text, size_t line)
{
	while (line--)
		text = strchr(text, '\n') + 1;
	return text;
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void refuses(const char *what, size_t line, const char *text)
{
	enum philox_status status = read_text(sign(text));

	cr_assert(status != PHILOX_OK, "line %zu is %s", line + 1, what);
}

Test(snapshot, needs_each_line_once_and_in_its_place)
{
	for (int i = 0; i < 2; i++)
		for (size_t line = 0; line < count_lines(good[i]); line++) {
			const char *at = line_at(good[i], line);
			const char *end = line_at(good[i], line + 1);
			const char *next = *end ? line_at(end, 1) : end;
			int before = (int)(at - good[i]);
			char text[4096];

			snprintf(text, sizeof(text), "%.*s%s", before, good[i],
				 end);
			refuses("left out", line, text);
			snprintf(text, sizeof(text), "%.*s%s",
				 (int)(end - good[i]), good[i], at);
			refuses("there twice", line, text);
			snprintf(text, sizeof(text), "%.*s%.*s%.*s%s", before,
				 good[i], (int)(next - end), end,
				 (int)(end - at), at, next);
			if (*end)
				refuses("after the next", line, text);
		}
}

/* --- the corpus of the fuzz target ---------------------------------------- */

static int show(const uint8_t *data, size_t size)
{
	fuzz_snapshot(data, size);
	return 0;
}

Test(snapshot, survives_the_inputs_that_the_fuzz_target_found, .timeout = 120)
{
	const struct corpus run = corpus_each("tests/fuzz/snapshots", show);

	cr_assert(run.inputs >= 5, "%zu inputs", run.inputs);
}
