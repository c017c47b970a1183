/*
 * graph/runner/snapshot/lines.c - writing the snapshot of a runner: see Note
 * [Runner snapshot]
 */
#include "graph/runner/snapshot/snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/text/text.h"

static void put_u64(FILE *out, const char *word, uint64_t number)
{
	fprintf(out, " %s %" PRIu64, word, number);
}

/* A number of calls that may be PHILOX_NEVER. */
static void put_times(FILE *out, const char *word, uint32_t number)
{
	if (number == PHILOX_NEVER)
		fprintf(out, " %s never", word);
	else
		put_u64(out, word, number);
}

static void put_quoted(FILE *out, const char *word, const char *text)
{
	fprintf(out, "%s ", word);
	text_write_name(out, text);
}

/* --- functions ------------------------------------------------------------ */

static void write_function_line(FILE *out, size_t index,
				const struct text_function *function)
{
	static const char *const modes[] = {"forward", "backward", "inference"};

	fprintf(out, "function %zu ", index + 1);
	text_write_name(out, function->name);
	fprintf(out, " %s %s", function->gone ? "gone" : "there",
		modes[function->mode]);
	put_u64(out, "flags", function->flags);
	put_u64(out, "inputs", function->inputs.n);
	put_u64(out, "outputs", function->outputs.n);
	put_u64(out, "values", function->values.n);
	put_u64(out, "keys", function->keys.n);
	put_u64(out, "recordings", function->recordings.n);
	fputc('\n', out);
}

static void write_policy(FILE *out, const struct philox_policy *policy)
{
	static const char *const moved[] = {"limit", "record", "error"};
	static const char *const live[] = {"eager", "record"};
	static const char *const other[] = {"eager", "error"};

	fprintf(out, "policy moved %s live %s refused %s", moved[policy->moved],
		live[policy->live], other[policy->refused]);
	put_u64(out, "limit", policy->limit);
	put_u64(out, "warm-ups", policy->warmups);
	put_u64(out, "dry", policy->dry);
	put_times(out, "after", policy->after);
	put_times(out, "again", policy->again);
	put_times(out, "retry", policy->retry);
	put_u64(out, "keys", policy->keys);
	put_u64(out, "verify", policy->verify);
	fprintf(out, " differs %s",
		policy->differs == PHILOX_DIFFERS_EAGER ? "eager" : "error");
	put_u64(out, "bytes", policy->bytes);
	fputc('\n', out);
}

static void write_misses(FILE *out, const struct philox_function_counts *counts)
{
	fputs("misses", out);
	put_u64(out, "new", counts->missed_new);
	put_u64(out, "moved", counts->missed_moved);
	put_u64(out, "live", counts->missed_live);
	put_u64(out, "stale", counts->missed_stale);
	put_u64(out, "early", counts->missed_early);
	put_u64(out, "limit", counts->missed_limit);
	put_u64(out, "refused", counts->missed_refused);
	put_u64(out, "eager", counts->missed_eager);
	put_u64(out, "agreed", counts->missed_agreed);
	fputc('\n', out);
}

static void write_counts(FILE *out, const struct philox_function_counts *counts)
{
	fputs("calls", out);
	put_u64(out, "eager", counts->eager);
	put_u64(out, "warm-up", counts->warmup);
	put_u64(out, "record", counts->record);
	put_u64(out, "replay", counts->replay);
	put_u64(out, "failed", counts->failed);
	fprintf(out, "\nbodies %" PRIu64, counts->bodies);
	put_u64(out, "dry", counts->dry);
	put_u64(out, "checking", counts->checking);
	put_u64(out, "prepared", counts->prepared);
	fputc('\n', out);
	write_misses(out, counts);
	fprintf(out, "verified %" PRIu64, counts->verified);
	put_u64(out, "differed", counts->differed);
	put_u64(out, "unverified", counts->unverified);
	fputs("\nkept", out);
	put_u64(out, "dropped", counts->keys_dropped);
	put_u64(out, "unplayed", counts->unplayed);
	put_u64(out, "bytes", counts->bytes);
	put_u64(out, "copies", counts->copies);
	fputc('\n', out);
}

static void write_part(FILE *out, const struct text_part *part)
{
	static const char *const kinds[] = {"static", "copied", "automatic"};
	static const char *const words[] = {"input", "output", "value"};

	put_quoted(out, words[part->is], part->name);
	if (part->is == TEXT_VALUE) {
		put_u64(out, "bytes", part->alignment);
		fputc('\n', out);
		return;
	}
	if (part->is == TEXT_INPUT) {
		fprintf(out, " %s", kinds[part->kind]);
		put_u64(out, "flags", part->flags);
		put_u64(out, "alignment", part->alignment);
	}
	put_u64(out, "elements", part->elements);
	put_quoted(out, " origin", part->origin);
	fputc('\n', out);
}

static void write_key_line(FILE *out, size_t index, const struct text_key *key)
{
	fprintf(out, "key %zu size %zu%s", index + 1, key->size,
		key->size ? " " : "");
	for (size_t i = 0; i < key->size; i++)
		fprintf(out, "%02x", key->bytes[i]);
	put_u64(out, "calls", key->calls);
	put_u64(out, "warm-ups", key->warmups);
	put_u64(out, "dry", key->dry);
	put_times(out, "wait", key->wait);
	put_quoted(out, " refused", key->refused);
	fputc('\n', out);
}

/* --- recordings ----------------------------------------------------------- */

static void write_source(FILE *out, const struct text_source *source)
{
	if (source->function) {
		fprintf(out, "from function %" PRIu64, source->function);
		put_u64(out, "output", source->output);
		put_u64(out, "recording", source->recording);
	} else {
		fprintf(out, "from memory %" PRIu64, source->id);
	}
	fprintf(out, " %s\n", source->copied ? "copied" : "static");
}

static void write_range(FILE *out, const struct text_range *range)
{
	fprintf(out,
		"range segment %" PRIu64 " offset %" PRIu64 " bytes %" PRIu64
		"\n",
		range->segment, range->offset, range->bytes);
}

static void write_recording(FILE *out, const struct runner_text *text,
			    const struct text_recording *recording)
{
	fprintf(out, "recording %" PRIu64, recording->number);
	put_u64(out, "key", recording->key + 1);
	put_u64(out, "replays", recording->replays);
	fprintf(out, " by %s", recording->prepared ? "prepare" : "call");
	put_u64(out, "bytes", recording->bytes);
	put_u64(out, "passes", recording->passes);
	put_u64(out, "writes", recording->writes);
	put_u64(out, "ranges", recording->ranges.n);
	fputc('\n', out);
	for (size_t i = 0; i < recording->sources.n; i++)
		write_source(out, &text->sources[recording->sources.first + i]);
	for (size_t i = 0; i < recording->ranges.n; i++)
		write_range(out, &text->ranges[recording->ranges.first + i]);
}

/* --- the whole ------------------------------------------------------------ */

static void write_function(FILE *out, const struct runner_text *text,
			   size_t index)
{
	const struct text_function *function = &text->functions[index];

	write_function_line(out, index, function);
	write_policy(out, &function->policy);
	write_counts(out, &function->counts);
	put_quoted(out, "reason", function->reason);
	fputc('\n', out);
	for (size_t i = 0;
	     i < function->inputs.n + function->outputs.n + function->values.n;
	     i++)
		write_part(out, &text->parts[function->inputs.first + i]);
	for (size_t i = 0; i < function->keys.n; i++)
		write_key_line(out, i, &text->keys[function->keys.first + i]);
	for (size_t i = 0; i < function->recordings.n; i++)
		write_recording(
			out, text,
			&text->recordings[function->recordings.first + i]);
}

static void write_live(FILE *out, const struct text_output *output)
{
	fprintf(out, "live function %" PRIu64, output->function);
	put_u64(out, "output", output->output);
	put_u64(out, "recording", output->recording);
	put_u64(out, "block", output->block);
	put_u64(out, "size", output->bytes);
	put_u64(out, "call", output->call);
	fprintf(out, " %s\n", output->tied ? "tied" : "untied");
}

static void write_all(FILE *out, const struct runner_text *text)
{
	static const char *const modes[] = {"plain", "eager", "verify"};

	fprintf(out, "philox runner %d\n", RUNNER_TEXT_VERSION);
	put_quoted(out, "runner", text->name);
	fprintf(out, " mode %s", modes[text->mode]);
	put_u64(out, "calls", text->calls);
	put_u64(out, "made", text->made);
	put_u64(out, "functions", text->n_functions);
	put_u64(out, "live", text->n_live);
	fputc('\n', out);
	for (size_t i = 0; i < text->n_functions; i++)
		write_function(out, text, i);
	for (size_t i = 0; i < text->n_live; i++)
		write_live(out, &text->live[i]);
	fputs("begin pool\n", out);
	snapshot_write_lines(out, &text->pool);
	fputs("end pool\n", out);
}

enum philox_status runner_text_write(const struct runner_text *text,
				     struct text *written)
{
	if (text_begin(written))
		write_all(written->out, text);
	if (text_end(written))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "runner '%s': no memory for its text", text->name);
}

void runner_text_finish(struct runner_text *text)
{
	for (size_t i = 0; i < text->n_parts; i++) {
		free(text->parts[i].name);
		free(text->parts[i].origin);
	}
	for (size_t i = 0; i < text->n_keys; i++)
		free(text->keys[i].bytes);
	free(text->functions);
	free(text->parts);
	free(text->keys);
	free(text->recordings);
	free(text->sources);
	free(text->ranges);
	free(text->live);
	snapshot_finish(&text->pool);
	memset(text, 0, sizeof(*text));
}
