/*
 * tests/fuzz/snapshot.c - any bytes as the text of a pool
 *
 * `make fuzz` builds it with clang's libFuzzer and sanitizers and runs it for a
 * while, starting from tests/fuzz/snapshots.
 *
 * An input is read as it is, and again with the checksum that makes its lines
 * valid. What is read covers the extents with blocks, is written as it was read,
 * and can be summed up and drawn. tests/tools/snapshot.c runs the corpus.
 */
#include "tests/fuzz/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/state/state.h"
#include "tools/pool/pool.h"

/* Anything that fails here is a finding. */
static void must(int holds)
{
	if (!holds)
		abort();
}

static void check_sums(const struct snapshot *snapshot)
{
	uint64_t blocks = 0, extents = 0, end = 0, segment = 0;

	for (size_t i = 0; i < snapshot->n_extents; i++)
		extents += snapshot->extents[i].bytes;
	for (size_t i = 0; i < snapshot->n_blocks; i++) {
		const struct snapshot_block *block = &snapshot->blocks[i];

		must(!i || block->segment > segment || block->offset >= end);
		blocks += block->bytes;
		end = block->offset + block->bytes;
		segment = block->segment;
	}
	must(blocks == extents && extents == snapshot->figures.mapped);
}

static void show(const struct snapshot *snapshot)
{
	static FILE *nowhere;
	struct json json;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	must(nowhere && !pool_print(snapshot, nowhere));
	must(!pool_svg(snapshot, nowhere));
	json_begin(&json, nowhere);
	json_object(&json, NULL);
	must(!pool_json(snapshot, &json));
	json_close(&json);
	must(!json_end(&json));
}

static void read_one(const char *text, size_t size)
{
	struct snapshot snapshot;
	enum philox_status status = snapshot_read(text, size, &snapshot);
	struct text again;

	if (status != PHILOX_OK) {
		must(status != PHILOX_ERROR_MEMORY);
		return;
	}
	check_sums(&snapshot);
	must(!snapshot_write(&snapshot, &again));
	must(again.size == size && !memcmp(again.bytes, text, size));
	free(again.bytes);
	show(&snapshot);
	snapshot_finish(&snapshot);
}

void fuzz_snapshot(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 64);
	size_t signed_size;

	must(text != NULL);
	memcpy(text, data, size);
	signed_size =
		size + (size_t)snprintf(text + size, 64,
					"checksum %016" PRIx64 " bytes %zu\n",
					hash_text(text, size), size);
	read_one(text, size);
	read_one(text, signed_size);
	free(text);
}

#ifdef PHILOX_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_snapshot(data, size);
	return 0;
}
#endif
