/*
 * lib/state/journal.c - see Note [Journal] in lib/state/state.h
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <philox/save.h>
#include "lib/mesh/mesh.h"
#include "lib/state/state.h"
#include "lib/trace/trace.h"

static const struct record_form form = {"journal", JOURNAL_FIRST, "", 0};

static atomic_uint contexts;

/* --- words ---------------------------------------------------------------- */

/* Room for the hash, a quotation mark and the end is always left. */
struct journal_text journal_name(const char *name)
{
	struct journal_text made;
	const size_t room = sizeof(made.text) - 32;
	size_t length = 0;

	made.text[length++] = '"';
	for (const char *next = name; *next; next++) {
		unsigned char byte = (unsigned char)*next;

		if (length > room) {
			length += (size_t)sprintf(
				made.text + length, "..#%016" PRIx64,
				hash_text(name, strlen(name)));
			break;
		}
		if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
			length += (size_t)sprintf(made.text + length, "\\x%02x",
						  byte);
		else
			made.text[length++] = *next;
	}
	made.text[length++] = '"';
	made.text[length] = '\0';
	return made;
}

struct journal_text journal_flags(unsigned flags)
{
	static const struct {
		unsigned flag;
		const char *word;
	} words[] = {
#define FLAG(word, flag) {flag, word},
		EVENT_PASS_FLAGS(FLAG)
#undef FLAG
	};
	struct journal_text made = {"none"};
	size_t length = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (flags & words[i].flag)
			length += (size_t)sprintf(made.text + length, "%s%s",
						  length ? "," : "",
						  words[i].word);
	return made;
}

struct journal_text journal_iterations(uint32_t iterations)
{
	struct journal_text made = {""};

	if (iterations > 1)
		snprintf(made.text, sizeof(made.text), " iterations %" PRIu32,
			 iterations);
	return made;
}

unsigned journal_number(const struct philox_generator *generator)
{
	return (unsigned)generator_number(generator);
}

/* --- events, with the context's lock held --------------------------------- */

static void end_journal(struct philox_context *context)
{
	record_close(context->journal);
	context->journal = NULL;
	context->recorded = context->trace != NULL;
}

/* Whether it was reported, which takes a log to report to. */
static int post_end(struct philox_context *context, const char *what,
		    const char *event, const char *path, int error)
{
	if (!context->log)
		return 0;
	log_post(context, PHILOX_LOG_WARNING, event,
		 &(struct philox_log_entry){.status = PHILOX_ERROR_FILE},
		 "the %s '%s' cannot be written and has ended: %s", what, path,
		 strerror(error));
	return 1;
}

static void add_line(struct philox_context *context, const char *line,
		     size_t length)
{
	int error = record_write(context->journal, line, length);

	if (error && post_end(context, "journal", "journal ended",
			      record_path(context->journal), error))
		end_journal(context);
}

static void add_to_trace(struct philox_context *context, const char *text,
			 size_t length)
{
	int error = trace_event(context->trace, text, length);

	if (error && post_end(context, "trace", "trace ended",
			      trace_path(context->trace), error))
		trace_end_file(context->trace);
}

/* A journal's own numbers come before the text, and a line feed after it. */
static void record(struct philox_context *context, int journal,
		   const char *format, va_list arguments)
{
	char line[1536];
	const size_t room = sizeof(line) - 1; /* for the line feed */
	size_t length = 0, start;

	if (journal)
		length = (size_t)snprintf(line, room, "%u %" PRIu64 " ",
					  context->number, ++context->events);
	start = length;
	length += (size_t)vsnprintf(line + length, room - length, format,
				    arguments);
	if (length >= room)
		length = room - 1;
	line[length] = '\n';
	if (journal)
		add_line(context, line, length + 1);
	if (context->trace)
		add_to_trace(context, line + start, length - start);
}

void journal_event(struct philox_context *context, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	record(context, context->journal != NULL, format, arguments);
	va_end(arguments);
}

void journal_trace(struct philox_context *context, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (context->trace)
		record(context, 0, format, arguments);
	va_end(arguments);
}

void journal_pass(const struct philox_pass *pass, const char *event,
		  unsigned flags)
{
	journal_write(
		pass->region->context, EVENT("%s-%s", PASS_BEGIN),
		pass->kind == PASS_FORWARD ? "forward" : "backward", event,
		journal_name(pass->region->name).text, pass->ticket.serial,
		pass->state.seed, pass->state.offset, journal_flags(flags).text,
		journal_iterations(
			strcmp(event, "begin") == 0 ? pass->iterations : 1)
			.text);
}

void journal_ticket(const struct philox_region *region, uint64_t serial,
		    const char *event)
{
	journal_write(region->context, EVENT("ticket-%s", TICKET), event,
		      journal_name(region->name).text, serial);
}

void journal_generator_at(const struct philox_generator *generator,
			  const char *event, struct philox_state state)
{
	journal_write(generator->context, EVENT("generator-%s", GENERATOR),
		      event, journal_number(generator), state.seed,
		      state.offset);
}

void journal_generator(const struct philox_generator *generator,
		       const char *event)
{
	journal_generator_at(generator, event, generator->state);
}

/* Words that become one name, which is cut as in journal_name(). */
struct joined {
	char text[288];
	size_t length;
	uint64_t hash;
	int cut;
};

static void join_word(struct joined *joined, const char *word)
{
	const size_t room = sizeof(joined->text) - 32;

	joined->hash = hash_more(joined->hash, word, strlen(word));
	for (; *word && !joined->cut; word++) {
		joined->text[joined->length++] = *word;
		joined->cut = joined->length == room;
	}
}

static struct journal_text journal_joined(struct joined *joined)
{
	if (joined->cut)
		sprintf(joined->text + joined->length, "..#%016" PRIx64,
			joined->hash);
	return journal_name(joined->text);
}

/* The axes along which a region differs, as one name; "" for none. */
static struct journal_text journal_axes(const struct region_axes *axes)
{
	struct joined joined = {.hash = HASH_OF_NOTHING};

	for (size_t i = 0; i < axes->n; i++) {
		join_word(&joined, i ? " " : "");
		join_word(&joined, axes->names[i]);
	}
	return axes->n ? journal_joined(&joined) : (struct journal_text){""};
}

void journal_region(const struct philox_region *region)
{
	journal_write(region->context, EVENT("region-create", REGION),
		      journal_name(region->name).text,
		      journal_number(region->generator),
		      region->flags & PHILOX_REGION_SHARED ? "shared" : "none",
		      region->cells, region->advance, region->state.seed,
		      region->state.offset, region->serial,
		      region->axes.n ? " differs " : "",
		      journal_axes(&region->axes).text);
}

void journal_mesh(struct philox_context *context)
{
	const struct philox_mesh *mesh = &context->mesh;
	struct joined joined = {.hash = HASH_OF_NOTHING};
	char place[32];

	for (uint32_t i = 0; i < mesh->n_axes; i++) {
		const struct philox_axis *axis = &mesh->axes[i];

		snprintf(place, sizeof(place), "=%" PRIu32 "/%" PRIu32,
			 axis->coordinate, axis->n_ranks);
		join_word(&joined, i ? " " : "");
		join_word(&joined, axis->name);
		join_word(&joined, place);
	}
	journal_write(context, EVENT("mesh-set", MESH),
		      journal_joined(&joined).text, mesh_rank(mesh));
}

/* --- beginning ------------------------------------------------------------ */

/* All or nothing: what the environment names can be written, or nothing is. */
static enum philox_status open_recorders(struct philox_context *context,
					 uint64_t *digest)
{
	struct record *journal;
	struct trace *trace = NULL;
	enum philox_status status =
		record_open_variable(&form, "PHILOX_JOURNAL", &journal);

	if (status == PHILOX_OK)
		status = trace_create(&trace);
	if (status == PHILOX_OK && (journal || trace))
		status = context->hooks->digest(context, digest);
	if (status != PHILOX_OK) {
		record_close(journal);
		trace_destroy(trace);
		return status;
	}
	context->journal = journal;
	context->trace = trace;
	context->recorded = journal || trace;
	return PHILOX_OK;
}

enum philox_status journal_begin(struct philox_context *context)
{
	uint64_t digest = 0;
	enum philox_status status = open_recorders(context, &digest);

	if (status != PHILOX_OK)
		return status;
	context->number = atomic_fetch_add(&contexts, 1);
	record_keep(context->journal);
	if (context->trace)
		trace_start(context->trace, context->number);
	journal_write(context, EVENT("context", DIGEST), digest);
	return PHILOX_OK;
}

void journal_finish(struct philox_context *context)
{
	context_lock(context);
	journal_write(context, EVENT("context-destroy", NOTHING));
	trace_destroy(context->trace);
	context->trace = NULL;
	end_journal(context);
	context_unlock(context);
	context_report(context, PHILOX_OK, NULL);
}

static enum philox_status begin_at(struct philox_context *context,
				   const char *path, uint64_t digest)
{
	struct record *journal;
	enum philox_status status = record_open(&form, path, &journal);

	if (status != PHILOX_OK)
		return status;
	end_journal(context);
	context->journal = journal;
	context->recorded = 1;
	journal_write(context, EVENT("context", DIGEST), digest);
	return PHILOX_OK;
}

enum philox_status philox_context_set_journal(struct philox_context *context,
					      const char *path)
{
	uint64_t digest;
	enum philox_status status = PHILOX_OK;

	if (!context)
		return context_null(NULL, "context");
	if (path && !*path)
		return context_report(
			context,
			status_set(PHILOX_ERROR_INVALID, "path is empty"),
			NULL);
	NEED_PROCESS(context);
	context_lock(context);
	if (path)
		status = context->hooks->digest(context, &digest);
	if (path && status == PHILOX_OK)
		status = begin_at(context, path, digest);
	if (!path)
		end_journal(context);
	context_unlock(context);
	return context_report(context, status, NULL);
}
