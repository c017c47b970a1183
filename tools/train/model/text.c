/*
 * tools/train/model/text.c - the text and its vocabulary
 *
 * The vocabulary is the bytes that occur, in order of their values, so that a
 * text gives the same model everywhere.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "tools/train/model/model.h"

#define SIZE_MAX_TEXT ((size_t)1 << 30) /* places are numbered in 32 bits */

static int refuse(char *message, size_t size, const char *path,
		  const char *reason)
{
	snprintf(message, size, "'%s': %s", path, reason);
	return 1;
}

/* What is wrong with a file before it is read, or NULL. */
static const char *wrong_text_file(FILE *file, struct stat *info)
{
	if (fstat(fileno(file), info) != 0)
		return strerror(errno);
	if (S_ISDIR(info->st_mode))
		return "is a directory, not a text file";
	if (!S_ISREG(info->st_mode))
		return "is not a regular file";
	if (info->st_size == 0)
		return "is empty: there is nothing to learn";
	if ((size_t)info->st_size > SIZE_MAX_TEXT)
		return "is larger than 1 GiB";
	return NULL;
}

/* What is wrong with a text, or NULL. */
static const char *wrong_text(const struct train_text *text)
{
	if (memchr(text->symbols, 0, text->size))
		return "holds NUL bytes: a binary file, not a text";
	if (text->size <= TRAIN_CONTEXT)
		return "is too short: a sample takes 9 bytes";
	return NULL;
}

static const char *read_all(FILE *file, size_t size, struct train_text *text)
{
	text->symbols = malloc(size);
	if (!text->symbols)
		return "does not fit into memory";
	text->size = fread(text->symbols, 1, size, file);
	if (ferror(file))
		return strerror(errno);
	return wrong_text(text);
}

/* Replaces bytes by their place in the vocabulary, and measures the entropy. */
static void take_vocabulary(struct train_text *text)
{
	size_t counts[256] = {0};
	uint8_t index[256] = {0};

	text->vocabulary = 0;
	text->entropy = 0;
	for (size_t i = 0; i < text->size; i++)
		counts[text->symbols[i]]++;
	for (int byte = 0; byte < 256; byte++) {
		double share = (double)counts[byte] / (double)text->size;

		if (!counts[byte])
			continue;
		index[byte] = (uint8_t)text->vocabulary++;
		text->entropy -= share * log(share);
	}
	for (size_t i = 0; i < text->size; i++)
		text->symbols[i] = index[text->symbols[i]];
}

int train_text_read(const char *path, struct train_text *text, char *message,
		    size_t message_size)
{
	FILE *file = fopen(path, "rb");
	const char *wrong;
	struct stat info;

	memset(text, 0, sizeof(*text));
	if (!file)
		return refuse(message, message_size, path, strerror(errno));
	wrong = wrong_text_file(file, &info);
	if (!wrong)
		wrong = read_all(file, (size_t)info.st_size, text);
	if (!wrong) {
		text->hash = train_hash(text->symbols, text->size);
		take_vocabulary(text);
	}
	if (!wrong && text->vocabulary < 2)
		wrong = "repeats one byte: there is nothing to learn";
	if (wrong) {
		refuse(message, message_size, path, wrong);
		train_text_free(text);
	}
	fclose(file);
	return wrong != NULL;
}

void train_text_free(struct train_text *text)
{
	free(text->symbols);
	text->symbols = NULL;
}
