/*
 * tools/inspect/trace.c - philox inspect --trace: a journal as a trace
 *
 * In the object form of the Trace Event Format, which has room for what the
 * times are. See lib/trace/trace.h.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/text/text.h"
#include "lib/trace/trace.h"
#include "tools/cli/cli.h"
#include "tools/inspect/inspect.h"

#define TIMES "one microsecond is one event of the journal, which has no times"

static const char begin[] =
	"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"made by\":\"philox inspect "
	"--trace\",\"time\":\"" TIMES "\"},\"traceEvents\":[\n";

struct trace_file {
	FILE *out;
	int filled;
};

/* The first object has no comma and line feed before it. */
static void put_objects(struct trace_file *file, const char *text, size_t size)
{
	size_t skipped = file->filled ? 0 : 2;

	file->filled = 1;
	fwrite(text + skipped, 1, size - skipped, file->out);
}

static void trace_context(void *user, uint64_t context)
{
	char text[TRACE_JSON_MAX];

	put_objects(user, text,
		    trace_json_context(text, (unsigned)context, NULL, TIMES));
}

static void trace_item(void *user, uint64_t context,
		       const struct timeline_item *item)
{
	char text[TRACE_JSON_MAX];

	put_objects(user, text, trace_json_item(text, (unsigned)context, item));
}

static int is_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return !stat(a, &of_a) && !stat(b, &of_b) &&
	       of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

static int write_trace(const struct written *journal, FILE *out)
{
	struct trace_file file = {.out = out};
	const struct follow follow = {trace_context, trace_item, &file, 1000};
	int result;

	fputs(begin, out);
	result = follow_journal(journal, &follow, follow_last(journal));
	fputs("\n]}\n", out);
	return result;
}

int trace_journal(const struct written *journal, const char *from,
		  const char *to)
{
	struct text text;
	int failed = 1, written;

	if (is_same_file(from, to))
		return complain("inspect", "--trace: '%s' is the journal", to);
	if (text_begin(&text))
		failed = write_trace(journal, text.out);
	if (!text_close(&text) || failed) {
		free(text.bytes);
		complain("inspect", "out of memory");
		return 1;
	}
	written = file_write(to, FILE_FOR_OWNER, text.bytes, text.size) ==
		  PHILOX_OK;
	free(text.bytes);
	if (!written)
		complain("inspect", "--trace: %s", philox_error_message());
	return !written;
}
