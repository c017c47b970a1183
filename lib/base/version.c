/*
 * lib/base/version.c - which library this is and how it was built
 *
 * Both strings are built by the preprocessor; nothing here has state.
 */
#include <philox/status.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

#define VERSION                    \
	TEXT(PHILOX_VERSION_MAJOR) \
	"." TEXT(PHILOX_VERSION_MINOR) "." TEXT(PHILOX_VERSION_PATCH)

#if defined(__clang__)
#define COMPILER __VERSION__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "an unknown compiler"
#endif

#ifdef PHILOX_WITH_CUDA
#define DEVICES "host, cuda"
#else
#define DEVICES "host"
#endif

#ifdef PHILOX_DEBUG
#define KIND "debug"
#else
#define KIND "release"
#endif

const char *philox_version(void)
{
	return VERSION;
}

const char *philox_build(void)
{
	return COMPILER "; devices " DEVICES "; " KIND;
}
