#!/bin/sh
# The headers declare, lib/base/philox.map lists and the libraries export the
# same functions; the shared library needs only the C library.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

shared=$BUILD/libphilox.so

# One line for each function that is declared PHILOX_API in a public header
(cd include && printf '#include <%s>\n' philox.h philox/*.h) |
	$CC -E -P -x c -DPHILOX_API=EXPORTED -Iinclude - | tr '\n' ' ' |
	grep -o 'EXPORTED [^;]*;' | sed 's/(.*//; s/.*[^a-z0-9_]//' |
	LC_ALL=C sort -u >"$WORK/declared"
sed -n 's/^\t\(philox_[a-z0-9_]*\);$/\1/p' lib/base/philox.map >"$WORK/listed"
LC_ALL=C sort "$WORK/listed" >"$WORK/mapped"
# Type A is the name of a version, not a symbol
nm -D --defined-only "$shared" |
	awk '$2 != "A" { sub("@.*", "", $3); print $3 }' |
	LC_ALL=C sort >"$WORK/exported"
nm -g --defined-only "$BUILD/libphilox.a" | awk 'NF == 3 { print $3 }' |
	LC_ALL=C sort >"$WORK/archived"

# number NAME: of the version
number()
{
	sed -n "s/^#define PHILOX_VERSION_$1 //p" include/philox/status.h
}

# While the first number is 0 a new second one may break programs
soname()
{
	abi=$(number MAJOR)
	[ "$abi" != 0 ] || abi=0.$(number MINOR)
	readelf -d "$shared" | grep SONAME
	readelf -d "$shared" | grep -qF "[libphilox.so.$abi]"
}

# A program that is linked says which version of a function it means
versioned()
{
	nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' \
		>"$WORK/versioned"
	! grep -vE '^philox_[a-z0-9_]+@@PHILOX_[0-9]+\.[0-9]+$' "$WORK/versioned" &&
		test -s "$WORK/versioned"
}

needs_only_libc()
{
	readelf -d "$shared" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' \
		>"$WORK/needed"
	cat "$WORK/needed"
	! grep -qvE '^(lib(c|m|dl|rt|pthread)\.so|ld-linux)' "$WORK/needed"
}

# C++ and readers take `struct x` and `x()` for parts of one thing, and
# g++ -Wshadow warns that the function hides a constructor. A pointer to a
# function that returns a type is no function of its name.
(cd include && printf '#include <%s>\n' philox.h philox/*.h) |
	$CC -E -P -x c -Iinclude - >"$WORK/headers"
grep -oE '(struct|enum|union) philox_[a-z0-9_]+' "$WORK/headers" |
	sed 's/.* //' | LC_ALL=C sort -u >"$WORK/tags"
grep -oE 'philox_[a-z0-9_]+ ?\(([^*]|$)' "$WORK/headers" |
	sed 's/ *(.\{0,1\}$//' |
	LC_ALL=C sort -u >"$WORK/functions"

no_shared_names()
{
	LC_ALL=C comm -12 "$WORK/tags" "$WORK/functions" >"$WORK/both"
	sed 's/$/ is both a type and a function/' "$WORK/both"
	test -s "$WORK/tags" && test -s "$WORK/functions" &&
		test ! -s "$WORK/both"
}

check "the headers declare functions" test -s "$WORK/declared"
check "lib/base/philox.map lists what the headers declare" \
	diff "$WORK/declared" "$WORK/mapped"
check "lib/base/philox.map is sorted" env LC_ALL=C sort -c "$WORK/listed"
check "the shared library exports what the headers declare" \
	diff "$WORK/declared" "$WORK/exported"
check "the static library has no other global names" \
	diff "$WORK/declared" "$WORK/archived"
check "no type has the name of a function" no_shared_names
check "each function has the version in which it came" versioned
check "the soname changes when programs may break" soname
check "the shared library needs only the C library" needs_only_libc
finish
