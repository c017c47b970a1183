/*
 * philox/version.h - the version, written here and nowhere else
 */
#ifndef PHILOX_VERSION_H
#define PHILOX_VERSION_H

#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the headers that a program is compiled with. */
#define PHILOX_VERSION_MAJOR 0
#define PHILOX_VERSION_MINOR 1
#define PHILOX_VERSION_PATCH 0

/*
 * philox_version() returns the version of the library that runs, "0.1.0" for
 * example; philox_build() one line on how it was built (compiler, devices,
 * debug). Static strings. Any thread; legal during capture.
 */
PHILOX_API const char *philox_version(void);
PHILOX_API const char *philox_build(void);

#ifdef __cplusplus
}
#endif
#endif
