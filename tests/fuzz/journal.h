/*
 * tests/fuzz/journal.h - see tests/fuzz/journal.c
 */
#ifndef TESTS_FUZZ_JOURNAL_H
#define TESTS_FUZZ_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Ends the program if the bytes are not read as they should be. Returns whether
 * they were read, as a journal or as the events of one. What is said of them is
 * printed.
 */
int fuzz_journal(const uint8_t *data, size_t size);

#endif
