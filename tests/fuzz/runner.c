/*
 * tests/fuzz/runner.c - any bytes as the text of a runner
 *
 * `make fuzz` builds it with clang's libFuzzer and sanitizers and runs it for a
 * while, starting from tests/fuzz/runners.
 *
 * An input is read as it is, and again with the checksum that makes its lines
 * valid. What is read is written as it was read, and can be summed up and drawn.
 * tests/tools/runner_text.c runs the corpus.
 */
#include "tests/fuzz/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/explain/explain.h"
#include "lib/state/state.h"
#include "tools/formats/formats.h"
#include "tools/runner/runner.h"

/* Anything that fails here is a finding. */
static void must_hold(int holds)
{
	if (!holds)
		abort();
}

static void show_all(const struct runner_text *text)
{
	static FILE *nowhere;
	struct json json;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	must_hold(nowhere && !runner_print(text, nowhere));
	must_hold(!runner_svg(text, nowhere) && !runner_dot(text, nowhere));
	must_hold(explain_runner(nowhere, text,
				 &(struct explain_choice){.times = 1}) >= 0);
	json_begin(&json, nowhere);
	json_object(&json, NULL);
	must_hold(!runner_json(text, &json));
	json_close(&json);
	must_hold(!json_end(&json));
}

static void read_text_once(const char *bytes, size_t size)
{
	struct runner_text text;
	enum philox_status status = runner_text_read(bytes, size, &text);
	struct text again;

	if (status != PHILOX_OK) {
		must_hold(status != PHILOX_ERROR_MEMORY);
		return;
	}
	must_hold(!runner_text_write(&text, &again));
	must_hold(again.size == size && !memcmp(again.bytes, bytes, size));
	free(again.bytes);
	show_all(&text);
	runner_text_finish(&text);
}

void fuzz_runner(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 64);
	size_t signed_size;

	must_hold(text != NULL);
	memcpy(text, data, size);
	signed_size =
		size + (size_t)snprintf(text + size, 64,
					"checksum %016" PRIx64 " bytes %zu\n",
					hash_text(text, size), size);
	read_text_once(text, size);
	read_text_once(text, signed_size);
	free(text);
}

#ifdef PHILOX_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_runner(data, size);
	return 0;
}
#endif
