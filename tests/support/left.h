/*
 * tests/support/left.h - what is left when a test has ended
 *
 * What is not destroyed is freed with its device or with the process, so that
 * nothing else notices. Here devices and the C library are asked.
 */
#ifndef TESTS_SUPPORT_LEFT_H
#define TESTS_SUPPORT_LEFT_H

#include <philox.h>

/*
 * left_begin() comes before a device is opened, left_on() before it is closed
 * and left_end() after that. A test may have several devices, and a pair around
 * one for memory that outlives it.
 *
 * left_on() fails the test if there is anything on a host device: objects,
 * memory, captures. Of cuda devices the last that is open is asked, in the
 * simulated GPU alone, where all are one. `unfreed`: something is left since a
 * call that frees it was made to fail.
 *
 * left_end() fails the test if no device is open any more, all were host
 * devices, and memory that was allocated since the first left_begin() is not
 * free. left_keep() says that memory is the test's, which frees it later;
 * left_file(), after a context was made, that the environment named one more
 * file, a journal or a trace. It stays known until the process ends.
 */
void left_begin(void);
void left_on(struct philox_device *device, int unfreed);
void left_end(void);
void left_keep(const void *memory);
void left_file(void);

#endif
