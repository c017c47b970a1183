/*
 * tests/tools/journal.c - journals are read as they are written, and nothing
 * else is
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fuzz/journal.h"
#include "tests/support/support.h"
#include "tools/formats/formats.h"

/* --- reading --------------------------------------------------------------- */

static struct written read_size(const char *text, size_t size,
				enum philox_status expected)
{
	struct written written = {.kind = WRITTEN_JOURNAL};
	const enum philox_status status = journal_read(text, size, &written);

	cr_assert(status == expected, "%s, not %s: %s\nof %.*s",
		  philox_status_name(status), philox_status_name(expected),
		  philox_error_message(), (int)size, text);
	return written;
}

static struct written read_all(const char *text)
{
	return read_size(text, strlen(text), PHILOX_OK);
}

static void refuse(const char *text, const char *says)
{
	struct written written =
		read_size(text, strlen(text), PHILOX_ERROR_INVALID);

	cr_expect(!strcmp(philox_error_message(), says), "%s\nnot %s\nof %s",
		  philox_error_message(), says, text);
	written_finish(&written);
}

/* --- what the library writes ------------------------------------------------ */

#define D "00000000000000aa"

/* Note [Journal], line by line. */
static const char *const events[] = {
	"context-load digest " D,
	"mesh-set mesh \"data=1/4 tensor=0/2\" rank 5",
	"generator-create generator 1 seed " D " offset 0",
	"generator-set generator 1 seed " D " offset 4",
	"generator-move generator 1 seed " D " offset 18446744073709551612",
	"generator-fold generator 1 seed " D " offset 8",
	"generator-advance generator 1 seed " D " offset 12",
	"generator-destroy generator 1 seed " D " offset 12",
	"region-create region \"a\\x22\\xd1\\x8f\" generator 0 flags none cells 1 "
	"advance 4 seed " D " offset 0 serial 1",
	"region-create region \"\" generator 0 flags shared cells 1 advance 4 "
	"seed " D " offset 0 serial 1 differs \"data tensor\"",
	"region-destroy region \"a\" pending 3",
	"rows-create rows \"r\" generator 0 count 4294967296 seed " D,
	"rows-destroy rows \"r\" generator 0 count 1 seed " D,
	"forward-begin region \"a\" ticket 1 seed " D " offset 0 flags none",
	"forward-begin region \"a\" ticket 1 seed " D " offset 0 flags "
	"inference,warmup,on-device iterations 2",
	"forward-commit region \"a\" ticket 1 seed " D " offset 0 flags none",
	"forward-abort region \"a\" ticket 0 seed " D " offset 0 flags warmup",
	"backward-begin region \"a\" ticket 1 seed " D " offset 0 flags retain",
	"backward-begin region \"a\" ticket 1 seed " D " offset 0 flags "
	"retain,reversed iterations 4294967295",
	"backward-commit region \"a\" ticket 1 seed " D " offset 0 flags none",
	"backward-abort region \"a\" ticket 1 seed " D " offset 0 flags none",
	"ticket-release region \"a\" ticket 18446744073709551615",
	"ticket-attach region \"a\" ticket 1",
	"capture-begin capture 1",
	"capture-forward capture 1 pass 0 region \"a\" flags none",
	"capture-forward capture 1 pass 0 region \"a\" flags none body 0 "
	"iterations 3",
	"capture-backward capture 1 pass 1 region \"a\" forward 0 flags none",
	"capture-backward capture 1 pass 1 region \"a\" forward launch flags "
	"reversed body 2",
	"capture-node capture 1 node 0 kind if body 0 bodies 2 limit 1",
	"capture-node capture 1 node 0 kind while body 0 bodies 1 limit 9",
	"capture-node capture 1 node 0 kind switch body 1 bodies 4 limit 1 "
	"around 0",
	"capture-commit capture 1 pass 0 flags none",
	"capture-abort capture 1 pass 0",
	"capture-value capture 1 value 0 name \"scale\" size 4",
	"capture-adopt capture 1 graph \"g\" passes 2",
	"capture-drop capture 2 passes 0",
	"value-set graph \"g\" value 0 bytes 00",
	"value-set graph \"g\" value 0 bytes 000102030405060708090a0b0c0d0eff",
	"launch-begin graph \"g\" sequence 1 uses 3",
	"launch-use use 0 pass forward region \"a\" ticket 1 seed " D " offset "
	"0 flags none",
	"launch-use use 1 pass repeat region \"a\" forward 0",
	"launch-use use 2 pass backward region \"a\" ticket 1 seed " D
	" offset "
	"0 flags retain iterations 2",
	"launch-commit graph \"g\" sequence 1",
	"launch-abort graph \"g\" sequence 2 status PHILOX_ERROR_DEVICE",
	"launch-abort graph \"g\" sequence 2 status PHILOX_ERROR_CAPTURE_MERGE",
	"launch-refuse graph \"g\" use 2 status PHILOX_NOT_READY",
	"graph-destroy graph \"g\"",
	"check graph \"g\" launches 1 sequence 2",
	"check graph \"g\" beyond 1 sequence 4294967296",
	"check graph \"g\" cut 1 sequence 0",
	"pool-create pool \"p\" segments plain",
	"pool-create pool \"p\" segments expandable",
	"pool-alloc pool \"p\" segment 0 offset 0 size 512 tag \"t\"",
	"pool-free pool \"p\" segment 0 offset 0 size 512 tag \"\"",
	"pool-grow pool \"p\" bytes 2097152",
	"pool-trim pool \"p\" bytes 2097152",
	"pool-wait pool \"p\"",
	"pool-order pool \"p\"",
	"pool-begin pool \"p\" session capture",
	"pool-begin pool \"p\" session warm-up",
	"pool-end pool \"p\"",
	"pool-rollback pool \"p\"",
	"pool-checkpoint pool \"p\" blocks 1",
	"pool-restore pool \"p\" blocks 1 freed 0 revived 2",
	"pool-destroy pool \"p\"",
	"context-destroy"};

#define N_EVENTS (sizeof(events) / sizeof(events[0]))

/* A journal of all events, of one context; for free(). */
static char *make_journal(void)
{
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	fputs("philox journal 1\n0 1 context digest " D "\n", out);
	for (size_t i = 0; i < N_EVENTS; i++)
		fprintf(out, "0 %zu %s\n", i + 2, events[i]);
	cr_assert_eq(fclose(out), 0);
	return text;
}

Test(tools_journal, events_are_read_as_they_are_written)
{
	char *text = make_journal();
	struct written written = read_all(text);

	cr_assert_eq(written.n_events, N_EVENTS + 1);
	cr_assert_eq(written.cut, 0);
	for (size_t i = 0; i < N_EVENTS; i++) {
		const struct written_event *event = &written.events[i + 1];

		cr_assert_eq(event->context, 0);
		cr_assert_eq(event->number, i + 2);
		cr_assert_eq(event->line, i + 3);
		cr_assert_eq(event->length, strlen(events[i]));
		cr_assert_eq(memcmp(event->text, events[i], event->length), 0);
	}
	free(written.events);
	free(text);
}

/* A crash may cut the last line anywhere; the lines above it are read. */
Test(tools_journal, that_ends_anywhere_is_read_up_to_its_last_line)
{
	char *text = make_journal();
	const size_t first = strcspn(text, "\n") + 1;
	size_t lines = 0;

	for (size_t size = first; text[size - 1]; size++) {
		struct written written;

		lines += size > first && text[size - 1] == '\n';
		written = read_size(text, size, PHILOX_OK);
		cr_assert_eq(written.n_events, lines);
		cr_assert_eq(written.cut, text[size - 1] != '\n');
		free(written.events);
		if (!text[size])
			break;
	}
	for (size_t size = 0; size < first; size++)
		read_size(text, size, PHILOX_ERROR_INVALID);
	free(text);
}

/* --- mistakes --------------------------------------------------------------- */

#define FIRST               "philox journal 1\n0 1 context digest " D "\n"
#define LINE3(what, column) "line 3: " what " expected at column " #column

static const struct {
	const char *text, *says;
} mistakes[] = {
	/* numbers */
	{FIRST "0 2 ticket-attach region \"a\" ticket 1x2\n",
	 LINE3("the end of the line", 38)},
	{FIRST "0 2 ticket-attach region \"a\" ticket x\n",
	 LINE3("a number", 37)},
	{FIRST "0 2 ticket-attach region \"a\" ticket -1\n",
	 LINE3("a number", 37)},
	{FIRST "0 2 ticket-attach region \"a\" ticket +1\n",
	 LINE3("a number", 37)},
	{FIRST "0 2 ticket-attach region \"a\" ticket 01\n",
	 LINE3("no further digit", 38)},
	{FIRST "0 2 ticket-attach region \"a\" ticket 18446744073709551616\n",
	 LINE3("no further digit", 56)},
	{FIRST "0 2 region-destroy region \"a\" pending 4294967296\n",
	 LINE3("no further digit", 48)},
	{FIRST "00 2 context-destroy\n", LINE3("no further digit", 2)},
	{FIRST "4294967296 2 context-destroy\n", LINE3("no further digit", 10)},
	{FIRST "0 18446744073709551616 context-destroy\n",
	 LINE3("no further digit", 22)},
	{FIRST "0 0 context-destroy\n", "line 3: 0 is too small"},
	{FIRST "a 2 context-destroy\n", LINE3("a number", 1)},
	{FIRST "0 context-destroy\n", LINE3("a number", 3)},
	{FIRST "0 2\n", LINE3("' '", 4)},
	{FIRST "0\n", LINE3("' '", 2)},
	{FIRST "\n", LINE3("a number", 1)},
	{FIRST "0 2 context-load digest 00\n",
	 LINE3("a digit of 0-9 and a-f", 27)},
	{FIRST "0 2 context-load digest 00000000000000AA\n",
	 LINE3("a digit of 0-9 and a-f", 39)},
	/* events and fields */
	{FIRST "0 2 something-new region \"a\"\n",
	 LINE3("the name of an event", 5)},
	{FIRST "0 2 context-destroyed\n", LINE3("the name of an event", 5)},
	{FIRST "0 2 function-begin runner \"r\" function \"f\"\n",
	 LINE3("the name of an event", 5)}, /* of traces alone */
	{FIRST "0 2 \n", LINE3("the name of an event", 5)},
	{FIRST "0 2 context-destroy \n", LINE3("the end of the line", 20)},
	{FIRST "0 2 context-destroy x 1\n", LINE3("the end of the line", 20)},
	{FIRST "0 2  context-destroy\n", LINE3("the name of an event", 5)},
	{FIRST "0 2 ticket-attach\n", LINE3("' '", 18)},
	{FIRST "0 2 ticket-attach ticket 1 region \"a\"\n",
	 LINE3("'region'", 19)},
	{FIRST "0 2 ticket-attach region \"a\"\n", LINE3("' '", 29)},
	{FIRST "0 2 ticket-attach region \"a\" ticket  1\n",
	 LINE3("a number", 37)},
	{FIRST "0 2 ticket-attach region a ticket 1\n", LINE3("'\"'", 26)},
	{FIRST "0 2 ticket-attach region \"a ticket 1\n",
	 LINE3("'\"', a printable character or \\xHH of another", 37)},
	{FIRST "0 2 ticket-attach region \"\t\" ticket 1\n",
	 LINE3("'\"', a printable character or \\xHH of another", 27)},
	{FIRST "0 2 ticket-attach region \"\\x41\" ticket 1\n",
	 LINE3("'\"', a printable character or \\xHH of another", 27)},
	{FIRST "0 2 forward-commit region \"a\" ticket 1 seed " D
	       " offset 0 flags none iterations 2\n",
	 LINE3("the end of the line", 81)},
	{FIRST "0 2 forward-begin region \"a\" ticket 1 seed " D
	       " offset 0 flags none iterations 1\n",
	 "line 3: 1 is too small"},
	{FIRST "0 2 capture-commit capture 1 pass 0 flags \n",
	 LINE3("'none' or a flag of passes", 43)},
	{FIRST "0 2 capture-commit capture 1 pass 0 flags warmup,inference\n",
	 LINE3("the end of the line", 49)},
	{FIRST "0 2 capture-commit capture 1 pass 0 flags warmup,warmup\n",
	 LINE3("the end of the line", 49)},
	{FIRST "0 2 pool-begin pool \"p\" session other\n",
	 LINE3("'capture' or 'warm-up'", 33)},
	{FIRST "0 2 pool-create pool \"p\" segments plainer\n",
	 LINE3("the end of the line", 40)},
	{FIRST "0 2 launch-abort graph \"g\" sequence 1 status PHILOX_OK\n",
	 LINE3("the name of an error", 46)},
	{FIRST "0 2 launch-use use 1 pass repeat region \"a\" ticket 1\n",
	 LINE3("'forward'", 45)},
	{FIRST "0 2 launch-use use 1 pass forward region \"a\" forward 1\n",
	 LINE3("'ticket'", 46)},
	{FIRST "0 2 check graph \"g\" others 1 sequence 1\n",
	 LINE3("'launches' or 'beyond' or 'cut'", 21)},
	{FIRST "0 2 value-set graph \"g\" value 0 bytes \n",
	 LINE3("a digit of 0-9 and a-f", 39)},
	{FIRST "0 2 value-set graph \"g\" value 0 bytes 012\n",
	 LINE3("a digit of 0-9 and a-f", 42)},
	{FIRST "0 2 value-set graph \"g\" value 0 bytes "
	       "000102030405060708090a0b0c0d0e0f10\n",
	 LINE3("the end of the line", 71)},
	/* the order of events */
	{FIRST "0 1 generator-set generator 0 seed " D " offset 0\n",
	 LINE3("2, after event 1 of context 0,", 3)},
	{FIRST "0 3 generator-set generator 0 seed " D " offset 0\n",
	 LINE3("2, after event 1 of context 0,", 3)},
	{FIRST "0 1 context digest " D "\n",
	 LINE3("at least 2, after event 1 of context 0,", 3)},
	{FIRST "7 1 context-destroy\n",
	 LINE3("'context', with which a journal of a context begins,", 5)},
	{FIRST "0 2 context-destroy\n0 3 context digest " D "\n",
	 "line 4: context 0 was destroyed in line 3"},
	{FIRST "1 1 context digest " D "\n1 2 context-destroy\n"
	       "1 4 context digest " D "\n0 3 context-destroy\n",
	 "line 5: context 1 was destroyed in line 4"},
	{FIRST "1 1 context digest " D "\n0 3 context-destroy\n"
	       "1 3 context-destroy\n",
	 "line 4: 2, after event 1 of context 0, expected at column 3"},
	/* the first line */
	{"philox journal 1", "line 1, where the text ends: the end of the line "
			     "expected at column 17"},
	{"philox journal 01\n", "line 1: no further digit expected at column "
				"17"},
	{"philox journal 1 \n",
	 "line 1: the end of the line expected at column 17"},
	{FIRST "philox journal 2\n", LINE3("a number", 1)},
	{FIRST "philox context 1\n", LINE3("a number", 1)},
};

Test(tools_journal, mistakes_are_named_by_line_and_column)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
		refuse(mistakes[i].text, mistakes[i].says);
}

Test(tools_journal, of_a_newer_version_are_refused)
{
	static const char text[] = "philox journal 2\nanything";

	read_size(text, sizeof(text) - 1, PHILOX_ERROR_UNSUPPORTED);
	cr_assert_str_eq(philox_error_message(),
			 "line 1: the journal has version 2, the newest this "
			 "library reads is 1");
}

Test(tools_journal, has_no_byte_that_is_not_printable)
{
	char line[512], text[1024];

	for (size_t i = 0; i < N_EVENTS; i++) {
		snprintf(line, sizeof(line), "0 2 %s\n", events[i]);
		for (size_t at = 0; line[at]; at++) {
			struct written written = {.kind = WRITTEN_JOURNAL};

			snprintf(text, sizeof(text), FIRST "%.*s\x80%s",
				 (int)at, line, line + at);
			cr_assert_eq(journal_read(text, strlen(text), &written),
				     PHILOX_ERROR_INVALID, "%s", text);
			free(written.events);
		}
	}
}

/* --- where a journal begins ------------------------------------------------- */

static const struct {
	const char *text;
	size_t events;
} beginnings[] = {
	{"philox journal 1\n", 0},
	/* after other events, which went elsewhere */
	{"philox journal 1\n0 7 context digest " D "\n0 8 context-destroy\n",
	 2},
	/* a context comes back to a journal that another one has kept open */
	{FIRST "1 1 context digest " D "\n0 9 context digest " D
	       "\n1 2 context-destroy\n0 10 context-destroy\n",
	 5},
	/* of the largest numbers */
	{"philox journal 1\n4294967295 18446744073709551614 context digest " D
	 "\n4294967295 18446744073709551615 context-destroy\n",
	 2},
	/* a descriptor that was opened again */
	{FIRST "philox journal 1\n0 3 context digest " D
	       "\nphilox journal 1\n1 1 context digest " D "\n",
	 3},
};

Test(tools_journal, may_begin_at_any_event_and_again)
{
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]);
	     i++) {
		struct written written = read_all(beginnings[i].text);
		size_t last = 0; /* place */

		cr_assert_eq(written.n_events, beginnings[i].events, "%s",
			     beginnings[i].text);
		for (size_t k = 0; k < written.n_events; k++)
			last = written.events[k].place > last
				       ? written.events[k].place
				       : last;
		cr_assert_eq(last, beginnings[i].events, "%s",
			     beginnings[i].text);
		free(written.events);
	}
}

/* --- the corpus of the fuzz target ------------------------------------------ */

/* Whether it is read. */
static int is_read(const char *name)
{
	size_t size;
	char *text = corpus_read("tests/fuzz/journals", name, &size);
	const int read = fuzz_journal((const uint8_t *)text, size);

	free(text);
	return read;
}

/* Which says what it finds on stdout. */
Test(tools_journal, survives_the_inputs_of_the_fuzz_target, .timeout = 120)
{
	static const char *const refused[] = {"newer", "number", "order"};
	struct corpus run;

	cr_assert(freopen("/dev/null", "w", stdout));
	run = corpus_each("tests/fuzz/journals", fuzz_journal);
	cr_assert(run.inputs >= 10, "%zu inputs", run.inputs);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		cr_assert(!is_read(refused[i]), "%s", refused[i]);
	cr_assert(is_read("all") && is_read("events"));
	cr_assert(is_read("contexts") && is_read("again"));
}
