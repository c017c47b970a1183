#!/bin/bash
# What a newcomer writes in the first hour: programs of tests/first_hour that use
# only what README.md and the pages it links to say. They are built from an
# installed philox by its pkg-config flags, and must find what they claim.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

prefix=$WORK/prefix
unset LIBDIR BINDIR INCLUDEDIR MANDIR DESTDIR PHILOX_RUNNER
export LD_LIBRARY_PATH=$prefix/lib PKG_CONFIG_PATH=$prefix/lib/pkgconfig
strict="-std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror"

installs()
{
	make install PREFIX="$prefix" WERROR=1
}

# builds PROGRAM: with try.h, as the examples do
# shellcheck disable=SC2046,SC2086 # flags are words
builds()
{
	"$CC" $strict -Iexamples $(pkg-config --cflags philox) \
		"tests/first_hour/$1.c" -o "$WORK/$1" \
		$(pkg-config --libs philox)
}

# agree FILE...: each has something, and all the same
agree()
{
	for file; do
		echo "$file: $(cat "$file")"
		[ -s "$file" ] && cmp "$1" "$file" || return 1
	done
}

# The forward's process ends before the backward; another one goes on
resumes()
{
	"$WORK/resume" straight >"$WORK/straight" &&
		"$WORK/resume" save "$WORK" && [ -s "$WORK/context" ] &&
		"$WORK/resume" load "$WORK" >"$WORK/loaded" &&
		agree "$WORK/straight" "$WORK/loaded"
}

# By itself the function is replayed in all but four calls
replays()
{
	"$WORK/function" >"$WORK/replayed" &&
		PHILOX_RUNNER=eager "$WORK/function" >"$WORK/eager" &&
		agree "$WORK/replayed" "$WORK/eager"
}

trains_as_one()
{
	"$WORK/ranks" 1 >"$WORK/one" && "$WORK/ranks" 2 >"$WORK/two" &&
		agree "$WORK/one" "$WORK/two"
}

check "philox is installed" installs
for program in step resume function sampler ranks; do
	check "$program.c builds without a warning" builds "$program"
done
check "a captured step has the weights of eager ones, at two sizes" \
	"$WORK/step"
check "a run that ends in mid-step goes on in another process" resumes
check "a wrapped function is replayed, verified, and equal to eager" replays
check "a request's tokens depend on no slot and no batch" "$WORK/sampler"
check "two processes train to the bits of one" trains_as_one
finish
