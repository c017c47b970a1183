/*
 * graph/pool/pool_text.c - writing the snapshot of a pool: see Note [Snapshot]
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool_text.h"
#include "lib/text/stream.h"
#include "lib/text/lines.h"

/* --- writing -------------------------------------------------------------- */

static void write_pool(FILE *out, const struct snapshot *snapshot)
{
	int expandable = (snapshot->flags & PHILOX_POOL_EXPANDABLE) != 0;

	fputs("pool ", out);
	save_write_name(out, snapshot->name);
	fprintf(out,
		" %s flags %" PRIu32 " unit %d step %" PRIu64 " limit %" PRIu64,
		expandable ? "expandable" : "plain", snapshot->flags, POOL_UNIT,
		snapshot->step, snapshot->limit);
	if (expandable)
		fprintf(out, " range %" PRIu64, snapshot->range);
	fputc('\n', out);
}

static void write_figures(FILE *out, const struct snapshot *snapshot)
{
	static const char *const sessions[] = {"none", "warm-up", "capture"};
	const struct philox_pool_figures *figures = &snapshot->figures;

	fprintf(out, "session %s graphs %" PRIu64 "\n",
		sessions[snapshot->session], figures->graphs);
	fprintf(out, "mapped %" PRIu64 " peak %" PRIu64 " pinned %" PRIu64 "\n",
		figures->mapped, figures->mapped_peak, figures->pinned);
	fprintf(out,
		"live %" PRIu64 " peak %" PRIu64 " requested %" PRIu64
		" blocks %" PRIu64 "\n",
		figures->live, figures->live_peak, figures->requested,
		figures->blocks);
	fprintf(out, "free %" PRIu64 " largest %" PRIu64 "\n",
		figures->mapped - figures->live, figures->largest_free);
	fprintf(out,
		"counts allocations %" PRIu64 " frees %" PRIu64
		" growths %" PRIu64 " trims %" PRIu64 " checkpoints %" PRIu64
		" restores %" PRIu64 " rollbacks %" PRIu64 " waits %" PRIu64
		"\n",
		figures->allocations, figures->frees, figures->growths,
		figures->trims, figures->checkpoints, figures->restores,
		figures->rollbacks, figures->waits);
}

static void write_block(FILE *out, const struct snapshot_block *block)
{
	fprintf(out, "block offset %" PRIu64 " bytes %" PRIu64, block->offset,
		block->bytes);
	if (block->number) {
		fprintf(out, " live %" PRIu64 " size %" PRIu64 " tag ",
			block->number, block->size);
		save_write_name(out, block->tag);
		fputc('\n', out);
	} else if (block->owner) {
		fprintf(out, " free owner stream %" PRIu64 "\n", block->owner);
	} else {
		fputs(" free owner home\n", out);
	}
}

/* The segment whose first extent this is; returns how many extents it has. */
static size_t write_extents(FILE *out, const struct snapshot *snapshot,
			    size_t first)
{
	const struct snapshot_extent *extent = &snapshot->extents[first];
	uint64_t bytes = 0;
	size_t n = 0;

	for (; first + n < snapshot->n_extents &&
	       extent[n].segment == extent->segment;
	     n++)
		bytes += extent[n].bytes;
	fprintf(out, "segment %" PRIu64 " extents %zu bytes %" PRIu64 "\n",
		extent->segment, n, bytes);
	for (size_t i = 0; i < n; i++)
		fprintf(out,
			"extent %" PRIu64 " offset %" PRIu64 " bytes %" PRIu64
			" %s\n",
			extent[i].number, extent[i].offset, extent[i].bytes,
			extent[i].pinned ? "pinned" : "loose");
	return n;
}

static void write_segments(FILE *out, const struct snapshot *snapshot)
{
	size_t block = 0;

	for (size_t i = 0; i < snapshot->n_extents;) {
		uint64_t segment = snapshot->extents[i].segment;

		i += write_extents(out, snapshot, i);
		while (block < snapshot->n_blocks &&
		       snapshot->blocks[block].segment == segment)
			write_block(out, &snapshot->blocks[block++]);
	}
}

void snapshot_write_lines(FILE *out, const struct snapshot *snapshot)
{
	fprintf(out, "philox pool %d\n", SNAPSHOT_VERSION);
	write_pool(out, snapshot);
	write_figures(out, snapshot);
	write_segments(out, snapshot);
}

enum philox_status snapshot_write(const struct snapshot *snapshot, char **text,
				  size_t *size)
{
	char *written = NULL;
	size_t length = 0;
	struct memory_file file;
	FILE *out = memory_file_open(&file, &written, &length);
	int whole = 0;

	if (out) {
		snapshot_write_lines(out, snapshot);
		whole = save_write_checksum(out, &written, &length);
		fclose(out);
	}
	if (!whole) {
		free(written);
		return status_set(PHILOX_ERROR_MEMORY,
				  "pool '%s': no memory for its text",
				  snapshot->name);
	}
	*text = written;
	*size = length;
	return PHILOX_OK;
}

void snapshot_finish(struct snapshot *snapshot)
{
	free(snapshot->extents);
	free(snapshot->blocks);
	memset(snapshot, 0, sizeof(*snapshot));
}
