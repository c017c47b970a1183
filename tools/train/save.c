/*
 * tools/train/save.c - saving a training run in the middle of a step
 *
 * Note [Saved training] in train.h describes the file. It is written whole or
 * not at all, and mistakes in its path are reported before the run.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/text/text.h"
#include "tools/train/train.h"

#define ORDER                                                        \
	(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "little-endian" \
						   : "big-endian")

/*
 * --- contents of a file ----------------------------------------------------
 */

/* All data that the rest of a run needs; history: of the finished steps */
void train_save_parts(const struct train_model *model, uint64_t step,
		      struct train_save_part parts[TRAIN_SAVE_PARTS])
{
	size_t parameters = model->n_parameters * sizeof(float);
	size_t losses = TRAIN_SLOTS * sizeof(float);
	size_t extra = TRAIN_EXTRA * sizeof(uint32_t);
	const struct train_save_part list[TRAIN_SAVE_PARTS] = {
		{model->parameters, parameters},
		{model->first, parameters},
		{model->second, parameters},
		{model->clock, sizeof(*model->clock)},
		{model->spare_gradient, parameters}, /* of the retained one */
		{model->losses, losses},
		{model->history, (size_t)(step - 1) * losses},
		{model->extra[0], extra},
		{model->extra[1], extra},
		{model->retained_differs, sizeof(*model->retained_differs)}};

	memcpy(parts, list, sizeof(list));
}

size_t train_save_payload(const struct train_model *model, uint64_t step)
{
	size_t size = sizeof(model->tickets);
	struct train_save_part parts[TRAIN_SAVE_PARTS];

	train_save_parts(model, step, parts);
	for (int i = 0; i < TRAIN_SAVE_PARTS; i++)
		size += parts[i].size;
	return size;
}

size_t train_save_first_line(char line[TRAIN_SAVE_HEAD_MAX])
{
	return (size_t)snprintf(line, TRAIN_SAVE_HEAD_MAX,
				TRAIN_SAVE_MAGIC "1, philox %s, %s\n",
				philox_version(), ORDER);
}

size_t train_save_head(char text[TRAIN_SAVE_HEAD_MAX],
		       const struct train_save_head *head)
{
	size_t first = train_save_first_line(text);

	return first + (size_t)snprintf(
			       text + first, TRAIN_SAVE_HEAD_MAX - first,
			       "text %016" PRIx64 " bytes %zu\n"
			       "device %s\n"
			       "options seed %" PRIu64
			       " dropout %a ops %" PRIu64 " steps %" PRIu64 "\n"
			       "step %" PRIu64 " context %zu payload %zu\n",
			       head->text_hash, head->text_size, head->device,
			       head->seed, head->dropout, head->ops,
			       head->steps, head->step, head->context_size,
			       head->payload_size);
}

void train_save_foot(char foot[TRAIN_SAVE_FOOT_SIZE + 1], const char *bytes,
		     size_t size)
{
	snprintf(foot, TRAIN_SAVE_FOOT_SIZE + 1, "checksum %016" PRIx64 "\n",
		 train_hash(bytes, size));
}

int train_save_refuse(char *message, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, size, format, args);
	va_end(args);
	return 1;
}

/* --- writing -------------------------------------------------------------- */

static struct train_save_head describe(const struct train_model *model,
				       size_t context_size)
{
	const struct train_options *options = model->options;
	struct train_save_head head = {
		.text_hash = model->text->hash,
		.text_size = model->text->size,
		.seed = options->seed,
		.ops = options->ops,
		.steps = options->steps,
		.step = options->save_at,
		.dropout = options->dropout,
		.context_size = context_size,
		.payload_size = train_save_payload(model, options->save_at)};

	strcpy(head.device,
	       philox_device_is_host(model->device) ? "host" : "cuda");
	return head;
}

static void write_payload(struct train_model *model, char *to)
{
	struct train_save_part parts[TRAIN_SAVE_PARTS];

	memcpy(to, model->tickets, sizeof(model->tickets));
	to += sizeof(model->tickets);
	train_save_parts(model, model->options->save_at, parts);
	for (int i = 0; i < TRAIN_SAVE_PARTS; i++) {
		if (parts[i].size)
			train_download(model, to, parts[i].memory,
				       parts[i].size);
		to += parts[i].size;
	}
}

static void write_file(struct train_model *model, const char *bytes,
		       size_t size)
{
	if (model->status)
		return;
	train_check(model, file_write(model->options->save, FILE_FOR_OWNER,
				      bytes, size));
	model->file_failed = model->status != PHILOX_OK;
}

static void save_with(struct train_model *model, const char *context,
		      size_t context_size)
{
	struct train_save_head head = describe(model, context_size);
	char text[TRAIN_SAVE_HEAD_MAX], *bytes;
	size_t size = train_save_head(text, &head);

	bytes = malloc(size + context_size + head.payload_size +
		       TRAIN_SAVE_FOOT_SIZE + 1);
	if (!bytes) {
		train_fail(model, "no memory to save the run");
		return;
	}
	memcpy(bytes, text, size);
	memcpy(bytes + size, context, context_size);
	size += context_size;
	write_payload(model, bytes + size);
	size += head.payload_size;
	train_save_foot(bytes + size, bytes, size);
	write_file(model, bytes, size + TRAIN_SAVE_FOOT_SIZE);
	free(bytes);
}

void train_save(struct train_model *model)
{
	size_t size = 0;
	char *text;

	if (model->status)
		return;
	train_check(model,
		    philox_context_save_text(model->context, &text, &size));
	if (model->status)
		return;
	save_with(model, text, size);
	free(text);
}

static int folder_is_closed(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int closed = !folder || access(folder, W_OK | X_OK) != 0;
	int error = errno;

	free(folder);
	errno = error;
	return closed;
}

int train_save_check(const struct train_options *options, char *message,
		     size_t size)
{
	const char *path = options->save;
	struct stat file, text;

	if (!*path)
		return train_save_refuse(message, size,
					 "--save '': is not a file's name");
	if (stat(path, &file) == 0) {
		if (!S_ISREG(file.st_mode))
			return train_save_refuse(
				message, size,
				"--save '%s': is not a regular file", path);
		if (stat(options->file, &text) == 0 &&
		    text.st_dev == file.st_dev && text.st_ino == file.st_ino)
			return train_save_refuse(
				message, size,
				"--save '%s': is the text itself", path);
	}
	if (folder_is_closed(path))
		return train_save_refuse(
			message, size,
			"--save '%s': its folder cannot be written: %s", path,
			strerror(errno));
	return 0;
}
