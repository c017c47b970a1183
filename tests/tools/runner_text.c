/*
 * tests/tools/runner_text.c - the text of a runner is read, and refused if
 * anything in it is malformed or does not fit, with the line
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/fuzz/runner.h"
#include "tests/support/support.h"
#include "tools/formats/formats.h"
#include "tools/runner/runner.h"

static const char good[] =
	"philox runner 2\n"
	"runner \"r\" mode verify calls 9 made 4 functions 2 live 2\n"
	"function 1 \"f \\x22g\\x22\" there backward flags 2 inputs 2 outputs 1 "
	"values 1 keys 2 recordings 2\n"
	"policy refused error recordings never warm-ups 1 dry 2 retry 3 keys 4 "
	"verify 5 differs eager bytes 6\n"
	"calls eager 1 warm-up 2 record 3 replay 4 failed 5\n"
	"bodies 6 dry 7 checking 8 prepared 9\n"
	"misses new 1 moved 2 live 3 stale 4 evicted 5 bound 6 refused 7 eager 8 "
	"agreed 9\n"
	"verified 1 differed 2 unverified 3\n"
	"kept dropped 1 evicted 5 unplayed 2 bytes 3 pool 1 copies 4\n"
	"reason \"its inputs moved\"\n"
	"input \"x\" automatic flags 3 alignment 16 elements 3 origin \"a:1\"\n"
	"input \"y\" copied flags 0 alignment 0 elements 0 origin \"\"\n"
	"output \"z\" elements 2 origin \"\\xd1\\x8f\"\n"
	"value \"rate\" bytes 4\n"
	"key 1 size 0 calls 3 warm-ups 1 dry 2 wait never refused \"no\"\n"
	"key 2 size 3 0a00ff calls 4 warm-ups 0 dry 0 wait 2 refused \"\"\n"
	"recording 2 key 2 replays 7 by prepare bytes 8 passes 9 writes 1536 "
	"ranges 2\n"
	"from memory 18446744073709551615 static\n"
	"from function 2 output 1 recording 0 copied\n"
	"range segment 0 offset 512 bytes 512\n"
	"range segment 0 offset 1536 bytes 1024\n"
	"recording 4 key 1 replays 0 by call bytes 8 passes 0 writes 0 ranges 0\n"
	"from function 1 output 1 recording 2 static\n"
	"from function 1 output 1 recording 3 static\n"
	"function 2 \"\" gone inference flags 1 inputs 0 outputs 1 values 0 keys 0 "
	"recordings 0\n"
	"policy refused eager recordings 5 warm-ups 1 dry 0 retry never keys 0 "
	"verify 0 differs error bytes 0\n"
	"calls eager 0 warm-up 0 record 0 replay 0 failed 0\n"
	"bodies 0 dry 0 checking 0 prepared 0\n"
	"misses new 0 moved 0 live 0 stale 0 evicted 0 bound 0 refused 0 eager 0 "
	"agreed 0\n"
	"verified 0 differed 0 unverified 0\n"
	"kept dropped 0 evicted 0 unplayed 0 bytes 0 pool 0 copies 0\n"
	"reason \"\"\n"
	"output \"o\" elements 0 origin \"\"\n"
	"live function 1 output 1 recording 2 block 1 size 5 call 9 tied to "
	"\"a \\x22b\\x22\" serial 7\n"
	"live function 2 output 1 recording 0 block 0 size 5 call 1 untied\n"
	"ticket \"a \\x22b\\x22\" serial 7 keeps 2 bytes 1505 function 1 "
	"recording 2 call 9\n"
	"keep \"mask\" function \"\" elements 1 bytes 1500\n"
	"keep \"z\" function \"f \\x22g\\x22\" elements 3 bytes 5\n"
	"ticket \"a \\x22b\\x22\" serial 8 keeps 1 bytes 0\n"
	"keep \"saved context\" function \"\" elements 0 bytes 0\n"
	"begin pool\n"
	"philox pool 1\n"
	"pool \"r\" plain flags 0 unit 512 step 0 limit 0\n"
	"session none graphs 0\n"
	"mapped 1024 peak 1024 pinned 0\n"
	"live 512 peak 512 requested 5 blocks 1\n"
	"free 512 largest 512\n"
	"counts allocations 1 frees 0 growths 1 trims 0 checkpoints 0 restores "
	"0 rollbacks 0 waits 0\n"
	"segment 0 extents 1 bytes 1024\n"
	"extent 1 offset 0 bytes 1024 loose\n"
	"block offset 0 bytes 512 live 1 size 5 tag \"\"\n"
	"block offset 512 bytes 512 free owner home\n"
	"end pool\n";

/* --- texts ---------------------------------------------------------------- */

static const char *sign(const char *text)
{
	static char made[16384];
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
	struct runner_text read;
	enum philox_status status;

	cr_assert(copy);
	memcpy(copy, text, size);
	status = runner_text_read(copy, size, &read);
	free(copy);
	if (status == PHILOX_OK)
		runner_text_finish(&read);
	return status;
}

static enum philox_status read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

/* The text with one thing replaced, the first that is like it. */
static const char *changed(const char *from, const char *to)
{
	static char made[8192];
	const char *found = strstr(good, from);

	cr_assert(found, "no %s", from);
	snprintf(made, sizeof(made), "%.*s%s%s", (int)(found - good), good, to,
		 found + strlen(from));
	return made;
}

/* --- good ones ------------------------------------------------------------ */

Test(runner_text, is_read_and_written_again_as_it_was)
{
	const char *text = sign(good);
	struct runner_text read;
	struct text again;

	OK(runner_text_read(text, strlen(text), &read));
	OK(runner_text_write(&read, &again));
	cr_assert_str_eq(again.bytes, text);
	cr_assert_eq(again.size, strlen(text));
	free(again.bytes);
	runner_text_finish(&read);
}

Test(runner_text, holds_what_the_text_says)
{
	const char *text = sign(good);
	const struct text_function *f;
	const struct text_recording *recording;
	struct runner_text read;

	OK(runner_text_read(text, strlen(text), &read));
	cr_assert(read.mode == TEXT_VERIFY && read.n_functions == 2);
	f = read.functions;
	cr_assert_str_eq(f->name, "f \"g\"");
	cr_assert(f->mode == PHILOX_MODE_BACKWARD && !f->destroyed &&
		  f[1].destroyed);
	cr_assert(f->policy.recordings == PHILOX_NEVER && f->policy.bytes == 6);
	cr_assert(f->counts.missed_agreed == 9 && f->counts.unverified == 3);
	cr_assert(f->counts.keys == 2 && f->counts.recordings == 2);
	cr_assert_eq(f[1].outputs.first, 4);
	cr_assert(read.keys[0].wait == PHILOX_NEVER && !read.keys[0].size);
	cr_assert(read.keys[1].size == 3 && read.keys[1].bytes[2] == 0xff);
	recording = &read.recordings[1];
	cr_assert(recording->number == 4 && recording->key == 1);
	cr_assert_eq(read.sources[recording->sources.first + 1].recording, 3);
	cr_assert(read.ranges[1].bytes == 1024 && read.live[0].tied);
	cr_assert_eq(read.pool.figures.blocks, 1);
	cr_assert_str_eq(read.live[0].region, "a \"b\"");
	cr_assert(read.live[0].serial == 7 && !read.live[1].region);
	cr_assert(read.tickets[0].function == 1 && !read.tickets[1].function);
	cr_assert(read.tickets[0].recording == 2 && read.tickets[0].call == 9);
	cr_assert(read.n_tickets == 2 && read.n_items == 3);
	cr_assert_str_eq(read.tickets[0].region, "a \"b\"");
	cr_assert(read.tickets[0].serial == 7 && read.tickets[0].bytes == 1505);
	cr_assert_str_eq(read.items[1].function, "f \"g\"");
	cr_assert(read.items[1].elements == 3 && read.items[0].bytes == 1500);
	cr_assert_eq(read.tickets[1].items.first, 2);
	runner_text_finish(&read);
}

struct misfit {
	const char *from, *to, *message;
};

/* --- programs and times ----------------------------------------------------- */

/* After what tickets keep. */
static const char programs[] =
	"program 2 takes 2 steps 15 lost 3 nodes 2\n"
	"takes 64\n"
	"takes 0\n"
	"step buffer 2 bytes 64 segment 0 offset 512\n"
	"step value \"rate\" bytes 4\n"
	"step forward 0 region \"a\" flags 1 iterations 4\n"
	"step alloc 1 bytes 100 alignment 64 tag \"y\" segment 0 offset 0\n"
	"step draw 0 op 1 named \"drop\" call 2 iteration 3 draws dropout of "
	"f32 first 4 count 5 rows 6 stride 70 with 3fb999999999999a and "
	"0000000000000000 layout 3\n"
	"step draw 0 op 0 named \"\" call 0 draws integers of i64 first 0 "
	"count 1 with fffffffffffffffc and 0000000000000009\n"
	"step cell 0 op 0 named \"\" call 0\n"
	"step states 0 iteration 4294967295\n"
	"step commit 0 flags 4\n"
	"step generator 1\n"
	"step body 0 node 0 of while limit 8\n"
	"step backward 1 region \"a\" flags 0 of 0\n"
	"step end 0\n"
	"step free 1\n"
	"step output 1 bytes 50 alloc 1 offset 50\n"
	"nodes 3 of kernel named \"head\"\n"
	"nodes 1 of copy named \"\"\n"
	"program 4 takes 2 steps 2 lost 0 nodes 0\n"
	"takes 1\n"
	"takes 2\n"
	"step backward 0 region \"a\" flags 0\n"
	"step output 1 bytes 1 input 2 offset 1\n";

static const char times[] =
	"times of plans loads 5\n"
	"times of function 1 create 1 dry 2 eager 3 warm-up 4 record 5 "
	"instantiate 6 checkpoint 7 restore 8 first 9 replay 10 verify 11\n"
	"times of function 2 create 0 dry 0 eager 0 warm-up 0 record 0 "
	"instantiate 0 checkpoint 0 restore 0 first 0 replay 0 verify 0\n"
	"times of recording 2 body 1 end 2 instantiate 3 checkpoint 4 first 5 "
	"replay 6\n"
	"times of recording 4 body 0 end 0 instantiate 0 checkpoint 0 first 0 "
	"replay 0\n";

/* Lines before those of the pool, with one thing replaced. */
static const char *newer(const char *lines, const char *more, const char *from,
			 const char *to)
{
	static char made[16384], changed_text[16384];
	const char *pool = strstr(good, "begin pool");
	const char *found;

	snprintf(made, sizeof(made), "philox runner 2\n%.*s%s%s%s",
		 (int)(pool - good - 16), good + 16, lines, more, pool);
	found = strstr(made, from);
	cr_assert(found, "no %s", from);
	snprintf(changed_text, sizeof(changed_text), "%.*s%s%s",
		 (int)(found - made), made, to, found + strlen(from));
	return sign(changed_text);
}

static void is_read_as_written(const char *text)
{
	struct runner_text read;
	struct text again;

	OK(runner_text_read(text, strlen(text), &read));
	OK(runner_text_write(&read, &again));
	cr_assert_str_eq(again.bytes, text);
	free(again.bytes);
	runner_text_finish(&read);
}

Test(runner_text, may_have_programs_and_times)
{
	is_read_as_written(newer("", times, "", ""));
	is_read_as_written(newer(programs, "", "", ""));
	is_read_as_written(newer(programs, times, "", ""));
}

static const struct misfit newer_misfits[] = {
	{"program 2 ", "program 3 ", "line 41: there is no recording 3"},
	{"program 2 ", "program 4 ",
	 "the program of recording 2 is expected"},
	{"takes 2 steps 15", "takes 1 steps 15",
	 "line 41: recording 2 has 2 inputs, not 1"},
	{"step buffer", "step puffer", "line 44: a step of a program expected"},
	{"of f32", "of f33", "line 48: a dtype expected"},
	{"draws dropout", "draws drops", "line 48: a distribution expected"},
	{"rows 6", "rows 1", "line 48: a span without rows has neither"},
	{"rows 6 ", "", "line 48: a span without rows has neither"},
	{"3fb999999999999a", "3fb99999999999", "line 48: "},
	{"of while", "of until", "line 54: a kind of conditional nodes"},
	{"bytes 50 alloc 1", "bytes 50", "line 58: an output is in an alloc"},
	{"bytes 50 alloc 1", "bytes 50 alloc 1 input 1",
	 "line 58: an output is in an alloc"},
	{"nodes 3 of kernel", "nodes 0 of kernel", "line 59: "},
	{"of copy", "of copies", "line 60: "},
	{"times of function 2", "times of function 1",
	 "line 68: these are the times of function 2"},
	{"times of recording 4", "times of recording 2",
	 "line 70: these are the times of recording 4"},
};

Test(runner_text, whose_program_does_not_fit_is_refused_by_line)
{
	for (size_t i = 0; i < sizeof(newer_misfits) / sizeof(struct misfit);
	     i++) {
		const struct misfit *misfit = &newer_misfits[i];

		FAILS(read_text(newer(programs, times, misfit->from,
				      misfit->to)),
		      PHILOX_ERROR_INVALID);
		cr_assert(strstr(philox_error_message(), misfit->message),
			  "%s: %s, not %s", misfit->to, philox_error_message(),
			  misfit->message);
	}
}

/* --- what does not fit ---------------------------------------------------- */

static const struct misfit misfits[] = {
	{"runner \"r\"", "runner \"\"", "line 2: a runner without a name"},
	{"mode verify", "mode fast", "line 2: 'plain' or 'eager' or 'verify'"},
	{"function 1", "function 2", "line 3: functions count from 1"},
	{"there", "here", "line 3: 'there' or 'gone' expected"},
	{"inputs 2", "inputs 1048577", "line 3: no further digit"},
	{"refused error", "refused away", "line 4: 'eager' or 'error'"},
	{"retry 3", "retry 03", "line 4: no further digit"},
	{"recordings never", "recordings 4294967295",
	 "line 4: no further digit"},
	{"agreed 9", "agreed", "line 7: "},
	{"input \"x\"", "input \"\"", "line 11: a name that is empty"},
	{"automatic", "moving", "line 11: 'automatic' or 'static' or 'copied'"},
	{"key 2 size", "key 3 size", "line 16: keys count from 1"},
	{"0a00ff", "0a00f", "line 16: a digit of 0-9 and a-f expected"},
	{"0a00ff", "0A00ff", "line 16: a digit of 0-9 and a-f expected"},
	{"size 3", "size 4097", "line 16: no further digit"},
	{"recording 2 key 2", "recording 2 key 3",
	 "line 17: the function has no key 3"},
	{"recording 2 key 2", "recording 5 key 2",
	 "line 17: recording 5, but 4 were made"},
	{"from function 1 output 1 recording 2",
	 "from function 1 output 1 recording 4",
	 "line 23: recording 4 is not older than 4"},
	{"from function 1 output 1 recording 2",
	 "from function 3 output 1 recording 2",
	 "an input is of function 3, but there are 2"},
	{"from function 1 output 1 recording 2",
	 "from function 1 output 2 recording 2",
	 "an input is output 2 of function 1"},
	{"from function 1 output 1 recording 2",
	 "from function 2 output 1 recording 2",
	 "an input is of function 2 and recording 2, but that is of function "
	 "1"},
	{"live function 1 output 1 recording 2",
	 "live function 2 output 1 recording 2",
	 "an output is of function 2 and recording 2, but that is of function "
	 "1"},
	{"offset 1536 bytes 1024", "offset 1024 bytes 1024",
	 "line 21: a range that touches the one before"},
	{"offset 512 bytes 512\nrange", "offset 511 bytes 512\nrange",
	 "line 20: offset 511 and bytes 512 are not whole units"},
	{"writes 1536", "writes 2048",
	 "line 22: its ranges have less than 2048 bytes"},
	{"writes 1536", "writes 1024",
	 "line 21: its ranges have more than 1024 bytes"},
	{"recording 4 key", "recording 2 key", ""},
	{"keys 0 recordings 0", "keys 1 recordings 0",
	 "line 25: a destroyed function has neither keys nor recordings"},
	{"live function 1", "live function 0",
	 "line 34: there is no function 0"},
	{"live function 1 output 1", "live function 1 output 2",
	 "line 34: function 1 has no output 2"},
	{"recording 2 block", "recording 5 block",
	 "line 34: 4 recordings were made, but this is of recording 5"},
	{"call 9 tied", "call 10 tied",
	 "line 34: 9 calls began, but this is of call 10"},
	{"call 9 tied", "call 9 untied",
	 "line 34: the end of the line expected"},
	{"x22\" serial 7\nlive", "x22\" serial 0\nlive", "line 34: "},
	{"1505 function 1", "1505 function 3",
	 "line 36: there is no function 3"},
	{"1505 function 1", "1505 function 2",
	 "a ticket is of function 2 and recording 2, but that is of function 1"},
	{"1505 function 1", "1505", "line 36: there is no function 0"},
	{"1505 function 1 recording 2 call 9",
	 "1505 function 1 recording 5 call 9",
	 "line 36: 4 recordings were made, but this is of recording 5"},
	{"1505 function 1 recording 2 call 9",
	 "1505 function 1 recording 2 call 10",
	 "line 36: 9 calls began, but this is of call 10"},
	{"block 1 size 5 call", "block 2 size 5 call",
	 "an output is in block 2, but the pool has 1"},
	{"live 2\n", "live 1\n", "line 35: 'begin pool' expected"},
	{"serial 7 keeps 2 bytes 1505", "serial 7 keeps 2 bytes 1506",
	 "line 39: the ticket's items have less than 1506 bytes"},
	{"serial 7 keeps 2 bytes 1505", "serial 7 keeps 2 bytes 1504",
	 "line 38: the ticket's items have more than 1504 bytes"},
	{"serial 7 keeps 2", "serial 7 keeps 1", "line 38: "},
	{"serial 7 keeps 2", "serial 7 keeps 3", "line 39: "},
	{"serial 8 keeps 1", "serial 7 keeps 1",
	 "line 39: a ticket that comes twice, or is out of order"},
	{"serial 8 keeps 1", "serial 8 keeps 0", "line 39: "},
	{"philox pool 1", "philox pool 2",
	 "line 42: the text has version 2, the newest this philox reads is 1"},
	{"requested 5 blocks 1", "requested 6 blocks 1",
	 "line 46: requested is 6, but what is below comes to 5"},
	{"end pool", "end of pool", "line 53: a segment or a block expected"},
};

Test(runner_text, that_does_not_fit_is_refused_by_line)
{
	for (size_t i = 0; i < sizeof(misfits) / sizeof(*misfits); i++) {
		enum philox_status status = read_text(
			sign(changed(misfits[i].from, misfits[i].to)));

		cr_assert(status == PHILOX_ERROR_INVALID ||
				  status == PHILOX_ERROR_UNSUPPORTED,
			  "%s: status %d", misfits[i].to, status);
		cr_assert(strstr(philox_error_message(), misfits[i].message),
			  "%s: %s, not %s", misfits[i].to,
			  philox_error_message(), misfits[i].message);
	}
}

Test(runner_text, of_a_newer_version_is_refused_as_such)
{
	FAILS(read_text("philox runner 3\nanything"), PHILOX_ERROR_UNSUPPORTED);
	NAMES("line 1: the text has version 3, the newest this philox reads is "
	      "2");
	FAILS(read_text("philox runner 1\nanything"), PHILOX_ERROR_UNSUPPORTED);
	NAMES("line 1: the text has version 1, which this philox reads no "
	      "more: it reads 2");
}

Test(runner_text, that_is_cut_is_refused_wherever_it_is)
{
	const char *text = sign(good);

	for (size_t size = 0; size < strlen(text); size++)
		FAILS(read_bytes(text, size), PHILOX_ERROR_INVALID);
	OK(read_text(text));
}

Test(runner_text, in_which_one_byte_is_another_is_refused)
{
	char text[8192];

	strcpy(text, sign(good));
	for (size_t at = 0; text[at]; at++)
		for (int bit = 1; bit < 256; bit <<= 1) {
			enum philox_status status;

			text[at] = (char)(text[at] ^ bit);
			status = read_bytes(text, strlen(sign(good)));
			text[at] = (char)(text[at] ^ bit);
			cr_assert(status != PHILOX_OK, "byte %zu, bit %d", at,
				  bit);
		}
}

/* Without a line, or with one twice. */
Test(runner_text, needs_each_line_once)
{
	for (const char *line = good, *next; *line; line = next) {
		char text[8192];

		next = strchr(line, '\n') + 1;
		snprintf(text, sizeof(text), "%.*s%s", (int)(line - good), good,
			 next);
		cr_assert(read_text(sign(text)) != PHILOX_OK, "without %.40s",
			  line);
		snprintf(text, sizeof(text), "%.*s%s", (int)(next - good), good,
			 line);
		cr_assert(read_text(sign(text)) != PHILOX_OK, "twice %.40s",
			  line);
	}
}

/* --- the corpus ----------------------------------------------------------- */

static int show(const uint8_t *data, size_t size)
{
	fuzz_runner(data, size);
	return 0;
}

Test(runner_text, corpus_is_read_and_shown, .timeout = 120)
{
	const struct corpus run = corpus_each("tests/fuzz/runners", show);

	cr_assert(run.inputs >= 7, "%zu files", run.inputs);
}

/* --- pictures ------------------------------------------------------------- */

/* Each is on a lane of its own. The time is not that of all lanes by all pairs. */
Test(runner_text, of_many_functions_side_by_side_is_laid_out, .timeout = 60)
{
	const size_t n = 10000;
	struct runner_text text = {.n_functions = n};
	struct layout layout;
	struct tree tree;

	text.functions = calloc(n, sizeof(*text.functions));
	cr_assert(text.functions && !tree_make(&text, &tree) &&
		  !layout_make(&tree, 0, 0, &layout));
	cr_assert_eq(tree.n_nodes, n);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(layout.frames[i].lane, i);
	layout_finish(&layout);
	tree_finish(&tree);
	free(text.functions);
}
