#!/bin/sh
# What the Makefile promises by itself: its help, which warnings stop it, how it
# hardens what it builds, what it makes of bytecode, and the archive of the source
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

make help >"$WORK/help" 2>&1
unset WERROR CFLAGS PARTS

# --- help ---------------------------------------------------------------------

# The targets that are no files, FORCE aside; and what may be set: NAME ?= in the
# first section of the Makefile
sed -n '/^\.PHONY:/,$p' Makefile | tr -d '\\' | tr -s ' \t' '\n\n' |
	grep -vx -e .PHONY: -e FORCE -e '' | LC_ALL=C sort >"$WORK/targets"
sed -n '/^# --- what a user may set/,/^# --- the version/p' Makefile |
	sed -n 's/^\([A-Z_]*\) *?=.*/\1/p' | LC_ALL=C sort >"$WORK/settings"

has_all_targets()
{
	sed -n '/^Targets:/,$p' "$WORK/help" | sed -n 's/^\([a-z-]*\)  .*/\1/p' |
		LC_ALL=C sort | diff "$WORK/targets" - && test -s "$WORK/targets"
}

has_all_settings()
{
	while read -r name; do
		sed '/^Targets:/q' "$WORK/help" | grep -qw "$name" ||
			{ echo "$name is not there"; return 1; }
	done <"$WORK/settings" && test -s "$WORK/settings"
}

# Without a build, and as lines of a terminal
is_short()
{
	cat "$WORK/help"
	! grep -E '.{81}' "$WORK/help"
}

check "make help names each target" has_all_targets
check "make help names each setting" has_all_settings
check "its lines fit a terminal" is_short

# --- warnings -----------------------------------------------------------------

# One object, in a folder of its own, with a warning of a compiler to come
echo '#warning "new"' >"$WORK/warns.h"
object=$WORK/build/lib/base/status.c.o

# compiles SETTING...
compiles()
{
	make BUILD="$WORK/build" CUDA=0 SANITIZE= DEBUG=0 \
		CFLAGS="-include $WORK/warns.h" "$@" "$object"
}

warns_only()
{
	compiles >"$WORK/warned" 2>&1 && cat "$WORK/warned" &&
		grep -F new "$WORK/warned" && test -e "$object"
}

makes_nothing_again()
{
	touch "$WORK/then" && compiles WERROR=1 && ! test "$object" -nt "$WORK/then"
}

stops()
{
	rm -f "$object"
	! compiles WERROR=1 && ! test -e "$object"
}

# strict GOAL: what it would run says -Werror wherever it compiles
strict()
{
	make -n BUILD="$WORK/none" CUDA="$CUDA" "$1" >"$WORK/commands" || return 1
	grep -e ' -c -o ' "$WORK/commands" >"$WORK/compile" &&
		! grep -v -e -Werror "$WORK/compile"
}

lax()
{
	! strict "$1" && ! grep -e -Werror "$WORK/compile"
}

check "a warning does not stop a user's make" warns_only
check "our own checks make no object again" makes_nothing_again
check "in our own checks a warning is an error" stops
check "make check is such a check" strict check
check "make is not" lax all

# --- hardening ----------------------------------------------------------------

# hardens SETTING...: the part of the library that calls no other, as a library
# that is shared, without a warning; what is said is in $WORK/hardened
hardens()
{
	rm -rf "$WORK/hard"
	make BUILD="$WORK/hard" CUDA=0 SANITIZE= DEBUG=0 WERROR=1 V=1 \
		LIB_OBJS="$(for file in lib/base/*.c; do
			printf '%s ' "$WORK/hard/$file.o"
		done)" "$@" "$WORK/hard/libphilox.so" >"$WORK/hardened" 2>&1 ||
		{ cat "$WORK/hardened" && return 1; }
}

# By default the loader leaves nothing writable, and a buffer of a function that
# is too small, or one that the C library is to fill, ends the program
is_hardened()
{
	hardens HARDEN=1 && readelf -ld "$WORK/hard/libphilox.so" >"$WORK/parts" &&
		grep GNU_RELRO "$WORK/parts" && grep -E 'BIND_NOW|FLAGS.* NOW' \
		"$WORK/parts" && nm -D "$WORK/hard/libphilox.so" >"$WORK/names" &&
		grep __stack_chk_fail "$WORK/names" &&
		{ ! echo '#include <stdio.h>' | $CC -dM -E - | grep -q __GLIBC__ ||
			grep -E '__[a-z]*printf_chk' "$WORK/names"; }
}

hardening='-fstack-protector|-D_FORTIFY_SOURCE=2|-z,now'

# soft SETTING...: nothing is, of what the Makefile chooses
soft()
{
	hardens "$@" && ! grep -E -e "$hardening" "$WORK/hardened"
}

# It gives way to flags that do not go with it, and to the user's own
gives_way()
{
	for flags in -O0 '-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=1'; do
		hardens CFLAGS="$flags" && ! grep -F _FORTIFY_SOURCE=2 \
			"$WORK/hardened" || return 1
	done
}

# What is linked with philox is not told to be
tells_no_user()
{
	make -n BUILD="$WORK/none" CUDA=0 install >"$WORK/installs" &&
		grep -F philox.pc.in "$WORK/installs" >"$WORK/filled" &&
		! grep -E -e "$hardening" "$WORK/filled"
}

check "what is built is hardened" is_hardened
check "HARDEN=0 is not" soft HARDEN=0
check "DEBUG=1 is not" soft DEBUG=1
check "SANITIZE=undefined is not" soft SANITIZE=undefined
check "hardening gives way to the user's flags" gives_way
check "philox.pc says nothing of it" tells_no_user

# --- objects of bytecode ------------------------------------------------------

printf '%s\n' '#include <philox.h>' '#include <stdio.h>' 'int main(void)' \
	'{' '	return puts(philox_version()) < 0;' '}' >"$WORK/user.c"

# archives COMPILER FLAGS: the part of the library that calls no other
archives()
{
	make BUILD="$WORK/lto" CUDA=0 SANITIZE= DEBUG=0 CC="$1" CFLAGS="$2" \
		LIB_OBJS="$(for file in lib/base/*.c; do
			printf '%s ' "$WORK/lto/$file.o"
		done)" "$WORK/lto/libphilox.a"
}

# By a compiler that knows nothing of that
links()
{
	rm -rf "$WORK/lto" "$WORK/user" && archives "$@" &&
		$CC -Iinclude -o "$WORK/user" "$WORK/user.c" \
			"$WORK/lto/libphilox.a" && "$WORK/user" &&
		nm -g --defined-only "$WORK/lto/libphilox.a" >"$WORK/names" &&
		! grep ' status_set$' "$WORK/names"
}

# by_bytecode COMPILER FLAGS
# shellcheck disable=SC2086 # flags are words
by_bytecode()
{
	name="the static library of $1 $2 has machine code"
	if echo 'int main(void) { return 0; }' |
		$1 $2 -x c -o "$WORK/try" - >"$WORK/said" 2>&1; then
		check "$name" links "$1" "$2"
	else
		skip "$name" "it does not link its own"
	fi
}

by_bytecode gcc -flto
by_bytecode gcc "-flto=auto -ffat-lto-objects"
by_bytecode clang -flto
by_bytecode clang -flto=thin

# --- the archive of the source ------------------------------------------------

dist=philox-$("$BUILD/philox" --version | cut -d ' ' -f 2)

# The same bytes another time
makes_archive()
{
	make dist BUILD="$WORK/first" && make dist BUILD="$WORK/second" &&
		cmp "$WORK/first/$dist.tar.gz" "$WORK/second/$dist.tar.gz" &&
		tar -xzf "$WORK/first/$dist.tar.gz" -C "$WORK"
}

# All that git has, but for what the fuzzers begin with
has_the_files()
{
	git ls-tree -r --name-only HEAD |
		grep -vE '^tests/fuzz/(corpus|journals|runners|snapshots)/' \
			>"$WORK/committed"
	(cd "$WORK/$dist" && find . -type f) | sed 's|^\./||' |
		LC_ALL=C sort >"$WORK/packed"
	LC_ALL=C sort "$WORK/committed" | diff - "$WORK/packed" &&
		! find "$WORK/$dist" -newermt "@$(($(git log -1 --format=%ct) + 1))" |
		grep .
}

# As whoever unpacks it would; not optimised, to be compiled sooner
builds_and_installs()
{
	make -C "$WORK/$dist" -j"$(nproc)" BUILD=build CUDA=0 SANITIZE= DEBUG=0 \
		RANDOM123=/none CFLAGS='-O0 -g0' install \
		PREFIX="$WORK/$dist/installed" DESTDIR= &&
		"$WORK/$dist/installed/bin/philox" info &&
		"$WORK/$dist/installed/bin/philox" draw >"$WORK/drawn" &&
		"$BUILD/philox" draw | diff - "$WORK/drawn"
}

needs_a_clone()
{
	! make -C "$WORK/$dist" dist BUILD=build >"$WORK/refused" 2>&1 &&
		cat "$WORK/refused" && grep 'make dist needs a clone' "$WORK/refused"
}

if git rev-parse HEAD >"$WORK/said" 2>&1 && [ -e .git ]; then
	check "make dist makes the same archive each time" makes_archive
	check "it has what is committed, without corpora" has_the_files
	check "what is unpacked builds, installs and draws" builds_and_installs
	check "it makes no archive by itself" needs_a_clone
else
	skip "make dist" "no clone"
fi
finish
