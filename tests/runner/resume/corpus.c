/*
 * tests/runner/resume/corpus.c - the corpus of tests/fuzz/outputs.c, and one of
 * it with each byte changed
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/fuzz/outputs.h"
#include "tests/support/support.h"

Test(runner_outputs_corpus, is_read_as_it_should_be, .timeout = 120)
{
	const struct corpus run =
		corpus_each("tests/fuzz/outputs", fuzz_outputs);

	cr_assert_eq(run.inputs, 14u, "%zu files", run.inputs);
	cr_assert_eq(run.read, 4u, "%zu were loaded", run.read);
}

/* Under a right checksum: whatever it says then, it is loaded or refused. */
Test(runner_outputs_corpus, with_a_byte_changed_is_loaded_or_refused,
     .timeout = 300)
{
	static const char bytes[] = {'0', '9', 'f', ' ', '\n', '"', '-', '\0'};
	unsigned loaded = 0, refused = 0;
	size_t size;
	char *text = corpus_read("tests/fuzz/outputs", "lines", &size);

	for (size_t i = 0; i < size; i++)
		for (size_t k = 0; k < sizeof(bytes); k++) {
			const char was = text[i];

			text[i] = bytes[k];
			if (fuzz_outputs((const uint8_t *)text, size))
				loaded++;
			else
				refused++;
			text[i] = was;
		}
	cr_assert_gt(loaded, 20u, "%u were loaded", loaded);
	cr_assert_gt(refused, 1000u, "%u were refused", refused);
	free(text);
}
