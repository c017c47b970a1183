/*
 * philox/source.h - philox/kernel.h as a string, for kernels compiled at run
 * time
 */
#ifndef PHILOX_SOURCE_H
#define PHILOX_SOURCE_H

#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * philox_kernel_source() returns the text of philox/kernel.h with the headers
 * it includes inserted. It needs no other file, so NVRTC can use it as a header
 * where philox is not installed:
 *
 *   const char *text = philox_kernel_source(), *name = "philox/kernel.h";
 *
 *   nvrtcCreateProgram(&program, "#include <philox/kernel.h> ...",
 *                      "kernel.cu", 1, &text, &name);
 *
 * Its include guards are those of the files: including both does no harm. A
 * host program, too, needs to include nothing else; link with -lm. The string
 * is static. Any thread; legal during capture.
 */
PHILOX_API const char *philox_kernel_source(void);

#ifdef __cplusplus
}
#endif
#endif
