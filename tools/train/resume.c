/*
 * tools/train/resume.c - going on with a training run that was saved
 *
 * Note [Saved training] in train.h describes the file. All of it is verified
 * before the model is touched.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/text/text.h"
#include "tools/train/train.h"

/* --- reading -------------------------------------------------------------- */

/* A head must be exactly as it would be written. */
static int scan_head(const char *bytes, size_t size,
		     struct train_save_head *head)
{
	char text[TRAIN_SAVE_HEAD_MAX] = {0}, again[TRAIN_SAVE_HEAD_MAX];
	size_t length =
		size < TRAIN_SAVE_HEAD_MAX - 1 ? size : TRAIN_SAVE_HEAD_MAX - 1;
	size_t first = train_save_first_line(again);

	memcpy(text, bytes, length);
	if (sscanf(text + first,
		   "text %" SCNx64 " bytes %zu device %7s options seed "
		   "%" SCNu64 " dropout %la ops %" SCNu64 " steps %" SCNu64
		   " step %" SCNu64 " context %zu payload %zu",
		   &head->text_hash, &head->text_size, head->device,
		   &head->seed, &head->dropout, &head->ops, &head->steps,
		   &head->step, &head->context_size, &head->payload_size) != 10)
		return 0;
	return memcmp(text, again, train_save_head(again, head)) == 0;
}

static int is_sound(const struct train_save_head *head)
{
	return head->dropout >= 0 && head->dropout <= 1 &&
	       head->ops <= TRAIN_OPS_MAX && head->steps <= TRAIN_STEPS_MAX &&
	       head->step >= 1 && head->step <= head->steps;
}

/* Divides a file whose head is known; fails if the sizes do not add up. */
static int divide(struct train_saved *saved, size_t size,
		  const struct train_save_head *head)
{
	char text[TRAIN_SAVE_HEAD_MAX];
	size_t first = train_save_head(text, head);

	size -= first + TRAIN_SAVE_FOOT_SIZE;
	if (head->context_size > size ||
	    head->payload_size != size - head->context_size)
		return 0;
	saved->step = head->step;
	saved->on_host = strcmp(head->device, "host") == 0;
	saved->context = saved->bytes + first;
	saved->context_size = head->context_size;
	saved->payload = saved->context + head->context_size;
	saved->payload_size = head->payload_size;
	return 1;
}

/* What is wrong with a file, or NULL; it must begin with `line`. */
static const char *wrong_file(struct train_saved *saved, size_t size,
			      const char *line, struct train_save_head *head)
{
	const char *bytes = saved->bytes;
	char foot[TRAIN_SAVE_FOOT_SIZE + 1];

	if (size < strlen(TRAIN_SAVE_MAGIC) ||
	    memcmp(bytes, TRAIN_SAVE_MAGIC, strlen(TRAIN_SAVE_MAGIC)))
		return "is not a saved training run: it does not begin with";
	if (size < strlen(line) || memcmp(bytes, line, strlen(line)))
		return "is of another version: it does not begin with";
	if (size < strlen(line) + TRAIN_SAVE_FOOT_SIZE)
		return "is cut short after";
	size -= TRAIN_SAVE_FOOT_SIZE;
	train_save_foot(foot, bytes, size);
	if (memcmp(bytes + size, foot, TRAIN_SAVE_FOOT_SIZE))
		return "is cut or damaged: its checksum is wrong; after";
	if (!scan_head(bytes, size, head) || !is_sound(head) ||
	    !divide(saved, size + TRAIN_SAVE_FOOT_SIZE, head))
		return "is malformed after";
	return NULL;
}

/* --- taking over options -------------------------------------------------- */

/* Options that were given must be the file's, except more or fewer steps. */
static int take_options(struct train_options *options,
			const struct train_save_head *head, char *message,
			size_t size)
{
	const char *path = options->resume;

	if (options->seed_given && options->seed != head->seed)
		return train_save_refuse(message, size,
					 "--seed '%" PRIu64
					 "': '%s' was saved with --seed "
					 "%" PRIu64,
					 options->seed, path, head->seed);
	if (options->dropout_given && options->dropout != head->dropout)
		return train_save_refuse(
			message, size,
			"--dropout '%g': '%s' was saved with --dropout %g",
			options->dropout, path, head->dropout);
	if (options->ops_given && options->ops != head->ops)
		return train_save_refuse(message, size,
					 "--ops '%" PRIu64
					 "': '%s' was saved with --ops "
					 "%" PRIu64,
					 options->ops, path, head->ops);
	if (options->steps_given && options->steps < head->step)
		return train_save_refuse(message, size,
					 "--steps '%" PRIu64
					 "': '%s' was saved in step "
					 "%" PRIu64,
					 options->steps, path, head->step);
	options->seed = head->seed;
	options->dropout = head->dropout;
	options->ops = head->ops;
	if (!options->steps_given)
		options->steps = head->steps;
	return 0;
}

static int take_saved(struct train_options *options,
		      const struct train_text *text, struct train_saved *saved,
		      size_t size, char *message, size_t message_size)
{
	char line[TRAIN_SAVE_HEAD_MAX];
	struct train_save_head head = {0};
	const char *wrong;

	train_save_first_line(line);
	wrong = wrong_file(saved, size, line, &head);
	if (wrong)
		return train_save_refuse(message, message_size,
					 "'%s' %s '%.*s'", options->resume,
					 wrong, (int)strlen(line) - 1, line);
	if (head.text_hash != text->hash || head.text_size != text->size)
		return train_save_refuse(
			message, message_size,
			"'%s' was saved with another text than %s: %zu "
			"bytes with hash %016" PRIx64
			", not %zu bytes with hash %016" PRIx64,
			options->resume, options->file, head.text_size,
			head.text_hash, text->size, text->hash);
	return take_options(options, &head, message, message_size);
}

int train_saved_read(struct train_options *options,
		     const struct train_text *text, struct train_saved *saved,
		     char *message, size_t message_size)
{
	static const char *const starts[] = {TRAIN_SAVE_MAGIC, NULL};
	static const struct file_kind kind = {starts, UINT64_MAX};
	struct text read;

	memset(saved, 0, sizeof(*saved));
	if (file_read(options->resume, &kind, &read))
		return train_save_refuse(message, message_size, "--resume %s",
					 philox_error_message());
	saved->bytes = read.bytes;
	if (!take_saved(options, text, saved, read.size, message, message_size))
		return 0;
	train_saved_free(saved);
	return 1;
}

void train_saved_free(struct train_saved *saved)
{
	free(saved->bytes);
	saved->bytes = NULL;
}

/* --- loading -------------------------------------------------------------- */

void train_load_check(struct train_model *model)
{
	const struct train_saved *saved = model->saved;
	const char *path = model->options->resume;

	if (model->status)
		return;
	if (saved->on_host != philox_device_is_host(model->device))
		train_fail(
			model,
			"'%s' was saved on a %s device and cannot continue, "
			"bit for bit, on %s: their arithmetic rounds differently",
			path, saved->on_host ? "host" : "CUDA",
			philox_device_name(model->device));
	else if (saved->payload_size != train_save_payload(model, saved->step))
		train_fail(model, "'%s' holds a model of another size", path);
	model->file_failed = model->status != PHILOX_OK;
}

static void load_context(struct train_model *model)
{
	const struct train_saved *saved = model->saved;

	if (model->status ||
	    !philox_context_load_text(model->context, saved->context,
				      saved->context_size))
		return;
	train_fail(model, "'%s': %s", model->options->resume,
		   philox_error_message());
	model->file_failed = 1;
}

/* The file's bytes outlive the model: copies may take their time */
static void load_payload(struct train_model *model)
{
	const char *from = model->saved->payload;
	struct train_save_part parts[TRAIN_SAVE_PARTS];

	memcpy(model->tickets, from, sizeof(model->tickets));
	from += sizeof(model->tickets);
	train_save_parts(model, model->saved->step, parts);
	for (int i = 0; i < TRAIN_SAVE_PARTS; i++) {
		if (parts[i].size)
			train_copy(model, parts[i].memory, from, parts[i].size);
		from += parts[i].size;
	}
}

void train_load(struct train_model *model)
{
	load_context(model);
	load_payload(model);
	for (unsigned slot = 0; slot < TRAIN_SLOTS; slot++)
		train_recompute(model, slot);
}
