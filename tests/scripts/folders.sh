#!/bin/sh
# Where make install puts files, what it does not touch, and what make uninstall
# leaves: nothing of philox, and all that belongs to others.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

unset PREFIX BINDIR INCLUDEDIR LIBDIR MANDIR DESTDIR RPATH PKG_CONFIG_PATH
stage=$WORK/stage
own=$WORK/own

cat >"$WORK/program.c" <<'END_OF_PROGRAM'
#include <philox.h>
#include <philox/kernel.h>
#include <stdio.h>

int main(void)
{
	struct philox_state state = {42, 0};
	struct philox_device *device;

	if (philox_device_open("host", &device) != PHILOX_OK) {
		fprintf(stderr, "%s\n", philox_error_message());
		return 1;
	}
	philox_device_close(device);
	return !philox_normal_at(state, 1);
}
END_OF_PROGRAM

# A loader's ldconfig that searches $WORK/searched and writes down its runs
mkdir "$WORK/bin"
cat >"$WORK/bin/ldconfig" <<END_OF_LDCONFIG
#!/bin/sh
case \$1 in
-NXv) echo "$WORK/searched/lib: (from $WORK/conf:1)" ;;
*) echo "ldconfig \$*" >>"$WORK/ran"; exit "\${LDCONFIG_FAILS-0}" ;;
esac
END_OF_LDCONFIG
chmod +x "$WORK/bin/ldconfig"
PATH=$WORK/bin:$PATH

# links FOLDER: a program, with both libraries, by the philox.pc below it. It is
# started as it is
# shellcheck disable=SC2046
links()
{
	pc=$(find "$1" -name philox.pc) || return 1
	for libs in --libs --variable=static_libs; do
		(
			export PKG_CONFIG_PATH="${pc%/*}"
			$CC -std=c11 -o "$WORK/program" "$WORK/program.c" \
				$(pkg-config --cflags philox) \
				$(pkg-config $libs philox)
		) && env -u LD_LIBRARY_PATH "$WORK/program" || return 1
	done
}

# only_folders FOLDER LINE...: what is below it, without those of manual pages
only_folders()
{
	(cd "$1" && find . -mindepth 1) | grep -vx -e ./share -e ./share/man |
		LC_ALL=C sort >"$WORK/there"
	shift
	printf '%s\n' "$@" | LC_ALL=C sort | diff - "$WORK/there"
}

# --- a package ----------------------------------------------------------------

installs_for_all()
{
	(umask 077 && make install DESTDIR="$stage") &&
		test -e "$stage/usr/local/lib/libphilox.a" &&
		! find "$stage" ! -type l ! -perm -444 | grep . &&
		! find "$stage" -type d ! -perm -555 | grep .
}

stays_in_the_package()
{
	! grep -rF -e "$stage" "$stage/usr/local/lib/pkgconfig" \
		"$stage/usr/local/lib/cmake"
}

leaves_shared_folders()
{
	make uninstall DESTDIR="$stage" &&
		only_folders "$stage/usr/local" ./bin ./include ./lib
}

# Files that others put beside ours
leaves_others()
{
	make install DESTDIR="$stage" &&
		touch "$stage/usr/local/lib/pkgconfig/other.pc" \
			"$stage/usr/local/include/philox/other.h" &&
		make uninstall DESTDIR="$stage" &&
		only_folders "$stage/usr/local" ./bin ./include ./lib \
			./include/philox ./include/philox/other.h \
			./lib/pkgconfig ./lib/pkgconfig/other.pc
}

check "everybody may read what root installs with a strict umask" installs_for_all
check "a package holds no path of its making" stays_in_the_package
check "uninstall leaves the folders that are shared with others" \
	leaves_shared_folders
check "uninstall leaves files that are not ours" leaves_others

# --- folders of one's own -----------------------------------------------------

each_folder()
{
	make "$1" PREFIX="$own/p" BINDIR="$own/b" INCLUDEDIR="$own/i/n" \
		LIBDIR="$own/p/lib/multi" MANDIR="$own/m"
}

goes_where_it_should()
{
	each_folder install && test -x "$own/b/philox" &&
		diff -r include "$own/i/n" && test -e "$own/p/lib/multi/libphilox.a" &&
		! test -e "$own/p/bin" && ! test -e "$own/p/include"
}

# Without a prefix that was moved, CMake's paths are absolute
cmake_finds_it()
{
	grep -F "\"$own/i/n\"" "$own/p/lib/multi/cmake/philox/philox-config.cmake"
}

goes_from_there()
{
	each_folder uninstall && ! find "$own" ! -type d | grep . &&
		! find "$own" -name philox -o -name cmake -o -name pkgconfig | grep .
}

# PREFIX's last part is its name: nobody shares it
goes_with_its_prefix()
{
	make install PREFIX="$own/opt/philox-$$" &&
		make uninstall PREFIX="$own/opt/philox-$$" &&
		! find "$own/opt" -mindepth 1 | grep .
}

check "BINDIR, INCLUDEDIR and LIBDIR can be chosen" goes_where_it_should
check "programs are linked from there" links "$own/p"
check "the CMake package names a folder that is not below PREFIX" cmake_finds_it
check "nothing is left there" goes_from_there
check "a prefix that has philox's name goes, too" goes_with_its_prefix

# refuses NAME VALUE: by name, before anything is made
refuses()
{
	! make install "$1=$2" >"$WORK/refused" 2>&1 && cat "$WORK/refused" &&
		grep -qF "$1 is '$2'" "$WORK/refused"
}

for name in PREFIX BINDIR INCLUDEDIR LIBDIR MANDIR; do
	check "$name that is no path from / on is refused" refuses $name usr/local
done
check "PREFIX with a blank is refused" refuses PREFIX "$WORK/a b"
check "PREFIX with a sign that shells and sed read is refused" \
	refuses PREFIX "$WORK/a&b"
check "DESTDIR with a blank is refused" refuses DESTDIR "$WORK/a b"

# --- without what only debuggers read -----------------------------------------

bytes()
{
	cat "$@" | wc -c
}

strips()
{
	make install PREFIX="$own/fat" && make install-strip PREFIX="$own/thin" &&
		for file in bin/philox lib/libphilox.so lib/libphilox.a; do
			echo "$file: $(bytes "$own/fat/$file")" \
				"$(bytes "$own/thin/$file")"
			! readelf -S "$own/thin/$file" | grep -F .debug_info &&
				[ $((4 * $(bytes "$own/thin/$file"))) -lt \
					$((3 * $(bytes "$own/fat/$file"))) ] || return 1
		done
}

check "make install-strip leaves out what only debuggers read" strips
check "programs are linked with what it leaves" links "$own/thin"
check "the tool works without" "$own/thin/bin/philox" info

# --- the loader ---------------------------------------------------------------

does_not_ask()
{
	mkdir -p "$WORK/searched/lib" &&
		make install DESTDIR="$stage" PREFIX="$WORK/searched" &&
		! test -e "$WORK/ran"
}

asks_the_loader()
{
	rm -f "$WORK/ran"
	make "$1" PREFIX="$WORK/searched" >"$WORK/told" && cat "$WORK/told" &&
		[ "$(cat "$WORK/ran")" = "ldconfig " ]
}

says_that_it_cannot()
{
	LDCONFIG_FAILS=1 make install PREFIX="$WORK/searched" >"$WORK/told" &&
		grep -F "run ldconfig as root" "$WORK/told"
}

flags()
{
	PKG_CONFIG_PATH="$WORK/searched/lib/pkgconfig" pkg-config --libs philox
}

needs_no_rpath()
{
	flags | grep -F -e "-rpath=$WORK/searched/lib" &&
		make install PREFIX="$WORK/searched" RPATH= && flags &&
		! flags | grep rpath &&
		make install DESTDIR="$stage" PREFIX=/usr &&
		! grep rpath "$stage/usr/lib/pkgconfig/philox.pc"
}

check "other folders and packages are none of the loader's business" \
	does_not_ask
check "where the loader searches, install runs ldconfig" asks_the_loader install
check "where it may not, it says so and goes on" says_that_it_cannot
check "programs find the library without, unless told otherwise" needs_no_rpath
check "uninstall runs ldconfig, too" asks_the_loader uninstall
finish
