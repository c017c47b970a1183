#!/bin/sh
# The headers declare, lib/base/philox.map lists and the libraries export the
# same functions; the shared library needs only the C library.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

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

soname()
{
	major=$(sed -n 's/^#define PHILOX_VERSION_MAJOR //p' \
		include/philox/version.h)
	readelf -d "$shared" | grep SONAME
	readelf -d "$shared" | grep -q "(SONAME).*\[libphilox.so.$major\]"
}

needs_only_libc()
{
	readelf -d "$shared" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' \
		>"$WORK/needed"
	cat "$WORK/needed"
	! grep -qvE '^(lib(c|m|dl|rt|pthread)\.so|ld-linux)' "$WORK/needed"
}

check "the headers declare functions" test -s "$WORK/declared"
check "lib/base/philox.map lists what the headers declare" \
	diff "$WORK/declared" "$WORK/mapped"
check "lib/base/philox.map is sorted" env LC_ALL=C sort -c "$WORK/listed"
check "the shared library exports what the headers declare" \
	diff "$WORK/declared" "$WORK/exported"
check "the static library has no other global names" \
	diff "$WORK/declared" "$WORK/archived"
check "the soname has the major version" soname
check "the shared library needs only the C library" needs_only_libc
finish
