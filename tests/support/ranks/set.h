/*
 * tests/support/ranks/set.h - sets of texts in a folder of the test's own
 */
#ifndef TESTS_SUPPORT_SET_BED_H
#define TESTS_SUPPORT_SET_BED_H

#include "tests/support/ranks/mesh.h"

/* A new folder, which becomes the current one; leave_set() removes it whole. */
void enter_set(void);
void leave_set(void);

/* A file as a string for free(), and a string or some bytes as a file. */
char *file_text(const char *path);
void put_text(const char *path, const char *text);
void put_bytes(const char *path, const char *bytes, size_t size);
int file_is_there(const char *path);

/* The names of all that is in the current folder: how many, and the i-th. */
size_t names_here(void);
const char *name_here(size_t i);

/* The text of a context. */
char *context_text(struct philox_context *context);

/* All ranks of a bed save, and a manifest names them. */
void save_bed(const struct bed *bed, const char *path);
/* All ranks of a bed load. */
void load_bed(const struct bed *bed, const char *path);

/* A text with its last line made right for the lines above, for free(). */
char *signed_again(const char *text);
/* The text with the first `from` replaced, signed again, for free(). */
char *changed_text(const char *text, const char *from, const char *to);

/* Makes a manifest one of version 1, which does not know the contents. */
void make_older(const char *path);
/* What a text says but for its place and its outputs, for free(). */
char *contents_of(const char *text);

/* philox merge in this process, without its output: the exit status. */
int quiet_merge(int argc, char **argv);
/* The same with any of tools/tools.h. */
int quietly(int (*tool)(int argc, char **argv), int argc, char **argv);

#endif
