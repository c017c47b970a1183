/*
 * tests/tools/cublas.c - cuBLAS is looked for where people have it
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/support/support.h"
#include "tools/train/model/cublas.h"

static char folder[] = "/tmp/philox-cublas-XXXXXX";

/* Makes the file of a path below the folder, and its folders. */
static void make(const char *path)
{
	char whole[256];
	FILE *file;

	cr_assert(snprintf(whole, sizeof(whole), "%s/%s", folder, path) < 256);
	for (char *slash = whole + 5; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(whole, 0700);
		*slash = '/';
	}
	file = fopen(whole, "w");
	cr_assert(file && !fclose(file));
}

static void set(const char *variable, const char *path)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s/%s", folder, path);
	cr_assert_eq(setenv(variable, whole, 1), 0);
}

/* Those that are asked for, without the folder; other places are left out. */
struct asked {
	char list[2048];
	const char *accepted;
};

static int ask(void *data, const char *name)
{
	struct asked *asked = data;
	size_t length = strlen(folder);
	size_t used = strlen(asked->list);

	if (!strncmp(name, folder, length))
		name += length + 1;
	else if (*name == '/' && strcmp(name, "/named"))
		return -1;
	snprintf(asked->list + used, sizeof(asked->list) - used, "%s ", name);
	return !asked->accepted || strcmp(name, asked->accepted) ? -1 : 0;
}

static void empty_environment(void)
{
	static const char *const variables[] = {"CUDA_HOME",   "CUDA_PATH",
						"VIRTUAL_ENV", "CONDA_PREFIX",
						"HOME",        "PHILOX_CUBLAS"};

	for (size_t i = 0; i < 6; i++)
		unsetenv(variables[i]);
}

Test(cublas, is_found_in_the_system_the_toolkit_and_the_folders_of_pip)
{
	struct asked asked = {"", NULL};
	char command[128];

	cr_assert(mkdtemp(folder));
	empty_environment();
	set("CUDA_HOME", "kit");
	set("VIRTUAL_ENV", "venv");
	set("CONDA_PREFIX", "conda");
	set("HOME", "home");
	make("kit/lib64/libcublas.so.13");
	make("kit/targets/x86_64-linux/lib/libcublas.so.12");
	make("kit/lib64/libcublas.so.11");
	make("venv/lib/python3.13/site-packages/nvidia/cublas/lib/"
	     "libcublas.so.12");
	make("home/.local/lib/python3.11/site-packages/nvidia/cu13/lib/"
	     "libcublas.so.13");
	make("conda/lib/libcublas.so.12");
	cr_assert_neq(train_cublas_search(ask, &asked), 0);
	cr_assert_str_eq(
		asked.list,
		"libcublas.so.13 kit/lib64/libcublas.so.13 "
		"home/.local/lib/python3.11/site-packages/nvidia/cu13/lib/"
		"libcublas.so.13 "
		"libcublas.so.12 kit/targets/x86_64-linux/lib/libcublas.so.12 "
		"venv/lib/python3.13/site-packages/nvidia/cublas/lib/"
		"libcublas.so.12 conda/lib/libcublas.so.12 ");
	asked = (struct asked){"", "kit/lib64/libcublas.so.13"};
	cr_assert_eq(train_cublas_search(ask, &asked), 0);
	cr_assert_str_eq(asked.list,
			 "libcublas.so.13 kit/lib64/libcublas.so.13 ");
	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}

Test(cublas, is_the_one_that_the_environment_names)
{
	struct asked asked = {"", "/named"};

	empty_environment();
	cr_assert_eq(setenv("PHILOX_CUBLAS", "/named", 1), 0);
	cr_assert_eq(train_cublas_search(ask, &asked), 0);
	cr_assert_str_eq(asked.list, "/named ");
	asked = (struct asked){"", NULL};
	cr_assert_neq(train_cublas_search(ask, &asked), 0);
	cr_assert_str_eq(asked.list, "/named ");
	cr_assert_eq(setenv("PHILOX_CUBLAS", "none", 1), 0);
	asked = (struct asked){"", NULL};
	cr_assert_neq(train_cublas_search(ask, &asked), 0);
	cr_assert_str_eq(asked.list, "");
	cr_assert_eq(setenv("PHILOX_CUBLAS", "", 1), 0);
	cr_assert_neq(train_cublas_search(ask, &asked), 0);
	cr_assert_eq(strncmp(asked.list, "libcublas.so.13 ", 16), 0);
}
