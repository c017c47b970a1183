/*
 * tests/save/save_file.c - a file has the text of a context, whole, or what it
 * had before
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/support/support.h"

/* A folder of the test's own, which it works in, and leaves empty. */
static char folder[] = "/tmp/philox-test-XXXXXX";

static void enter_folder(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	cr_assert(mkdtemp(folder) && !chdir(folder));
}

static void leave_folder(void)
{
	cr_assert(!chdir("/") && !rmdir(folder), "something is left in %s",
		  folder);
}

static size_t files_here(void)
{
	DIR *here = opendir(".");
	const struct dirent *entry;
	size_t n = 0;

	cr_assert(here);
	while ((entry = readdir(here)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(here);
	return n;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

static void holds(const char *path, const char *text)
{
	static char read[1 << 16];
	FILE *file = fopen(path, "r");
	size_t size;

	cr_assert(file, "%s", path);
	size = fread(read, 1, sizeof(read) - 1, file);
	read[size] = '\0';
	fclose(file);
	cr_assert_str_eq(read, text);
}

static char *text_of(struct philox_context *context)
{
	char *text;

	OK(philox_context_save_text(context, &text, NULL));
	return text;
}

PROMISE(save_file, has_the_text_of_the_context)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	char *text = text_of(f->context), path[128], *again;
	struct stat about;

	enter_folder();
	umask(027);
	OK(philox_context_save(f->context, "here"));
	holds("here", text);
	cr_assert(!stat("here", &about) && (about.st_mode & 0777) == 0640,
		  "the rights of a new file");
	snprintf(path, sizeof(path), "%s/there", folder);
	put(path, "what was there before");
	OK(philox_context_save(f->context, path));
	holds("there", text);
	cr_assert_eq(files_here(), 2);
	backward(f, &made, 0);
	OK(philox_context_load(f->context, path));
	again = text_of(f->context);
	cr_assert_str_eq(again, text);
	backward(f, &made, 0);
	unlink("here");
	unlink("there");
	leave_folder();
	free(text);
	free(again);
}

/* Every save fails: what is there stays, nothing is left behind. */
static void fails_to_save(struct fixture *f, const char *path,
			  enum philox_status expected)
{
	size_t files = files_here();

	FAILS(philox_context_save(f->context, path), expected);
	NAMES(path);
	cr_assert_eq(files_here(), files);
}

PROMISE(save_file, stays_as_it_was_when_writing_fails)
{
	const struct rlimit small = {64, RLIM_INFINITY};
	struct rlimit before;
	char *text;

	make_region(f, "a layer with a name that is longer than the limit");
	text = text_of(f->context);
	enter_folder();
	put("there", "what was there before");
	signal(SIGXFSZ, SIG_IGN);
	cr_assert(!getrlimit(RLIMIT_FSIZE, &before));
	cr_assert(!setrlimit(RLIMIT_FSIZE, &small));
	fails_to_save(f, "there", PHILOX_ERROR_FILE);
	NAMES("File too large");
	fails_to_save(f, "not there", PHILOX_ERROR_FILE);
	cr_assert(!setrlimit(RLIMIT_FSIZE, &before));
	holds("there", "what was there before");
	OK(philox_context_save(f->context, "there"));
	holds("there", text);
	unlink("there");
	leave_folder();
	free(text);
}

PROMISE(save_file, is_refused_where_no_file_can_be)
{
	enter_folder();
	put("file", "a file");
	cr_assert(!mkdir("folder", 0755));
	fails_to_save(f, "none/there", PHILOX_ERROR_FILE);
	fails_to_save(f, "file/there", PHILOX_ERROR_FILE);
	fails_to_save(f, "folder", PHILOX_ERROR_FILE);
	fails_to_save(f, "folder/", PHILOX_ERROR_INVALID);
	fails_to_save(f, "", PHILOX_ERROR_INVALID);
	fails_to_save(f, "/", PHILOX_ERROR_INVALID);
	fails_to_save(f, "..", PHILOX_ERROR_FILE);
	holds("file", "a file");
	unlink("file");
	rmdir("folder");
	leave_folder();
}

/* Rights mean nothing to root, who becomes somebody else for a while. */
PROMISE(save_file, is_refused_in_a_folder_without_the_right_to_write)
{
	const uid_t nobody = 65534;
	int is_root = !geteuid();

	enter_folder();
	put("there", "what was there before");
	cr_assert(!chmod(".", 0555));
	cr_assert(!is_root || !seteuid(nobody));
	fails_to_save(f, "there", PHILOX_ERROR_FILE);
	NAMES("Permission denied");
	cr_assert(!is_root || !seteuid(0));
	holds("there", "what was there before");
	cr_assert(!chmod(".", 0755));
	unlink("there");
	leave_folder();
}

/* Names that a process of this number left behind are not touched. */
Test(save_file, steps_over_what_a_dead_process_left, .timeout = 120)
{
	struct fixture f;
	char name[3][64];

	fixture_open(&f, "host:sync");
	enter_folder();
	for (int i = 0; i < 3; i++) {
		snprintf(name[i], sizeof(name[i]), ".philox-%ld-%d.tmp",
			 (long)getpid(), i);
		put(name[i], "left behind");
	}
	OK(philox_context_save(f.context, "there"));
	cr_assert_eq(files_here(), 4);
	for (int i = 0; i < 3; i++) {
		holds(name[i], "left behind");
		unlink(name[i]);
	}
	unlink("there");
	leave_folder();
	fixture_close(&f);
}

PROMISE(save_file, is_named_when_it_cannot_be_loaded)
{
	struct philox_region *region = make_region(f, "layer");
	char *text = text_of(f->context), *after;

	enter_folder();
	text[strlen(text) - 2] ^= 1;
	put("damaged", text);
	text[strlen(text) - 2] ^= 1;
	put("empty", "");
	cr_assert(!mkdir("folder", 0755) && !mkfifo("pipe", 0644));
	FAILS(philox_context_load(f->context, "none"), PHILOX_ERROR_FILE);
	NAMES("'none'");
	FAILS(philox_context_load(f->context, "folder"), PHILOX_ERROR_FILE);
	NAMES("'folder'");
	FAILS(philox_context_load(f->context, "pipe"), PHILOX_ERROR_FILE);
	NAMES("'pipe'");
	FAILS(philox_context_load(f->context, ""), PHILOX_ERROR_FILE);
	FAILS(philox_context_load(f->context, "empty"), PHILOX_ERROR_INVALID);
	NAMES("'empty'");
	FAILS(philox_context_load(f->context, "damaged"), PHILOX_ERROR_INVALID);
	NAMES("'damaged': line 7: ");
	after = text_of(f->context);
	cr_assert_str_eq(after, text);
	PENDING(region, 0);
	unlink("damaged");
	unlink("empty");
	unlink("pipe");
	rmdir("folder");
	leave_folder();
	free(text);
	free(after);
}

/* More than is read at once. */
PROMISE(save_file, may_be_large)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 3000, NULL);
	char *text, *after;

	for (int i = 0; i < 3000; i++)
		forward(f, region);
	text = text_of(f->context);
	enter_folder();
	OK(philox_context_save(f->context, "there"));
	OK(philox_region_destroy(region));
	region = make_region_of(f->context, "layer", 3000, NULL);
	OK(philox_context_load(f->context, "there"));
	PENDING(region, 3000);
	after = text_of(f->context);
	cr_assert_str_eq(after, text);
	unlink("there");
	leave_folder();
	free(text);
	free(after);
}
