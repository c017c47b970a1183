/*
 * tests/support/ranks/set.c - see tests/support/ranks/set.h
 */
#include "tests/support/ranks/set.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tools/tools.h"

static char set_folder[64];

void enter_set(void)
{
	const char *top = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

	/* Every file is synchronised: memory is faster */
	snprintf(set_folder, sizeof(set_folder), "%s/philox-set-XXXXXX", top);
	cr_assert(mkdtemp(set_folder) && !chdir(set_folder));
}

void leave_set(void)
{
	DIR *here = opendir(".");
	const struct dirent *entry;

	cr_assert(here);
	while ((entry = readdir(here)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlink(entry->d_name);
	closedir(here);
	cr_assert(!chdir("/") && !rmdir(set_folder));
}

/* --- files ---------------------------------------------------------------- */

char *file_text(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);
	size_t size;

	cr_assert(file && text, "%s", path);
	size = fread(text, 1, (1 << 20) - 1, file);
	cr_assert(size < (1 << 20) - 1);
	fclose(file);
	return text;
}

void put_bytes(const char *path, const char *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	cr_assert(file && fwrite(bytes, 1, size, file) == size &&
		  !fclose(file));
}

void put_text(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

int file_is_there(const char *path)
{
	return !access(path, F_OK);
}

static char names[64][256];

size_t names_here(void)
{
	DIR *here = opendir(".");
	const struct dirent *entry;
	size_t n = 0;

	cr_assert(here);
	while ((entry = readdir(here)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
			cr_assert(n < 64);
			strcpy(names[n++], entry->d_name);
		}
	closedir(here);
	return n;
}

const char *name_here(size_t i)
{
	return names[i];
}

char *context_text(struct philox_context *context)
{
	char *text;

	OK(philox_context_save_text(context, &text, NULL));
	return text;
}

/* --- sets ----------------------------------------------------------------- */

void save_bed(const struct bed *bed, const char *path)
{
	for (unsigned rank = 0; rank < bed->n; rank++)
		OK(philox_context_save_rank(bed->context[rank], path));
	OK(philox_mesh_seal(&bed->mesh[bed->n - 1], path));
}

void load_bed(const struct bed *bed, const char *path)
{
	for (unsigned rank = 0; rank < bed->n; rank++)
		OK(philox_context_load_ranks(bed->context[rank], path));
}

char *signed_again(const char *text)
{
	const char *last = text, *next;
	char *made;
	size_t above;

	for (next = text; next && (next = strstr(next, "checksum ")); next++)
		if (next == text || next[-1] == '\n')
			last = next;
	above = last == text ? strlen(text) : (size_t)(last - text);
	made = calloc(1, above + 64);
	cr_assert(made);
	memcpy(made, text, above);
	snprintf(made + above, 64, "checksum %016" PRIx64 " bytes %zu\n",
		 fnv1a(made), above);
	return made;
}

char *changed_text(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *made = calloc(1, strlen(text) + strlen(to) + 1), *again;

	cr_assert(at && made, "'%s' is not in the text: %s", from, text);
	sprintf(made, "%.*s%s%s", (int)(at - text), text, to,
		at + strlen(from));
	again = signed_again(made);
	free(made);
	return again;
}

void make_older(const char *path)
{
	char *manifest = file_text(path), *older, *at = manifest,
	     *to = manifest;

	cr_assert(!strncmp(manifest, "philox set 2\n", 13), "%s", manifest);
	manifest[11] = '1';
	while (*at)
		if (!strncmp(at, " contents ", 10))
			at += 10 + 16;
		else
			*to++ = *at++;
	*to = '\0';
	older = signed_again(manifest);
	put_text(path, older);
	free(older);
	free(manifest);
}

char *contents_of(const char *text)
{
	char *made = calloc(1, strlen(text) + 1), *to = made;
	size_t length;

	cr_assert(made);
	for (const char *at = text; *at; at += length) {
		length = strcspn(at, "\n") + 1;
		if (!strncmp(at, "philox ", 7) || !strncmp(at, "axis ", 5) ||
		    !strncmp(at, "outputs ", 8) || !strncmp(at, "checksum ", 9))
			continue;
		memcpy(to, at, length);
		to += length;
	}
	return made;
}

/* --- philox merge --------------------------------------------------------- */

int quietly(int (*tool)(int argc, char **argv), int argc, char **argv)
{
	int out = dup(1), nowhere = open("/dev/null", O_WRONLY), status;

	cr_assert(out >= 0 && nowhere >= 0);
	fflush(stdout);
	dup2(nowhere, 1);
	status = tool(argc, argv);
	fflush(stdout);
	dup2(out, 1);
	close(out);
	close(nowhere);
	return status;
}

int quiet_merge(int argc, char **argv)
{
	return quietly(tool_merge, argc, argv);
}
