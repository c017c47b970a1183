#!/bin/bash
# README.md's section "Installation" and doc/install.md, line by line as they
# stand there, in places where nothing helps: an empty environment, and a
# /usr/local without anything in it that is thrown away afterwards. Only apt-get
# is a stand-in: there may be no network, and README's other command has installed
# what it would.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

# block LANGUAGE NUMBER: this block of doc/install.md
block()
{
	awk -v fence='```'"$1" -v wanted="$2" '
		/^```/ { shown = $0 == fence && ++n == wanted; next }
		shown' doc/install.md
}

# The lines of README.md's section
for_usr_local()
{
	awk '/^## / { within = $0 == "## Installation" }
		/^```/ { shown = within && $0 == "```sh"; next }
		shown' README.md
}

# The folder in which they are typed: the tree, as far as reading goes
tree=$WORK/tree
mkdir "$tree" "$WORK/home" "$WORK/bin" && ln -s "$PWD"/* "$tree" || exit 1
cat >"$WORK/bin/apt-get" <<'END_OF_APT'
#!/bin/sh
# All packages must be there
[ "$1 $2" = "install -y" ] && shift 2 && echo "(not run: apt-get $*)"
for package; do
	case $package in
	pkg-config) command -v pkg-config >/dev/null ;;
	*) command -v "$package" >/dev/null ;;
	esac || { echo "there is no $package"; exit 1; }
done
END_OF_APT
chmod +x "$WORK/bin/apt-get"

# Without a variable but those of the build, which keep it from being made again
alone=(env -i PATH="$WORK/bin:/usr/bin:/bin" HOME="$WORK/home" BUILD="$BUILD"
	CC="$CC" CXX="$CXX" CUDA="$CUDA" CUDA_HOME="$CUDA_HOME"
	DEBUG="${DEBUG-}" SANITIZE="${SANITIZE-}" CFLAGS="${CFLAGS-}"
	CXXFLAGS="${CXXFLAGS-}" NVCCFLAGS="${NVCCFLAGS-}" LDFLAGS="${LDFLAGS-}"
	GENCODE="${GENCODE-}")

# typed SCRIPT [NAME=VALUE...]: as if somebody typed it in the tree
typed()
{
	script=$1
	shift
	(cd "$tree" && "${alone[@]}" "$@" sh -eux "$script")
}

needs_no_philox()
{
	readelf -d "$tree/program" >"$WORK/dynamic" && cat "$WORK/dynamic" &&
		! grep 'NEEDED.*philox' "$WORK/dynamic"
}

# --- anywhere else ------------------------------------------------------------

block sh 1 >"$WORK/home.sh"
{ grep '^export ' "$WORK/home.sh"; block sh 2; } >"$WORK/static.sh"
block sh 3 >"$WORK/cmake.sh"

check "the lines for another prefix work" typed "$WORK/home.sh"
check "the lines for libphilox.a work" typed "$WORK/static.sh"
check "such a program needs no shared philox" needs_no_philox
if command -v cmake >"$WORK/which"; then
	block cmake 1 >"$tree/CMakeLists.txt"
	check "the lines for CMake work" typed "$WORK/cmake.sh"
else
	skip "the lines for CMake work" "no cmake"
fi

# --- /usr/local ---------------------------------------------------------------

# In a mount namespace of its own /usr/local is empty and /etc a copy
cat >"$WORK/place.sh" <<'END_OF_PLACE'
set -e
room=$1
shift
mount -t tmpfs tmpfs "$room"
mkdir "$room/etc" "$room/ldconfig"
cp -RP /etc/. "$room/etc" 2>/dev/null || [ -e "$room/etc/ld.so.conf" ]
mount --bind "$room/etc" /etc
[ ! -d /var/cache/ldconfig ] || mount --bind "$room/ldconfig" /var/cache/ldconfig
for folder in bin include lib share; do
	mkdir "$room/$folder"
	mount --bind "$room/$folder" "/usr/local/$folder"
done
PATH=$PATH:/usr/sbin:/sbin ldconfig
cd "$1"
shift
exec "$@"
END_OF_PLACE
mkdir "$WORK/room"

# away COMMAND...: there; as root, or as one who is root there only
away()
{
	# shellcheck disable=SC2086
	unshare -m $as_root sh "$WORK/place.sh" "$WORK/room" "$tree" "$@"
}

can_be_away()
{
	for as_root in "" -r; do
		away true >"$WORK/said" 2>&1 && return
	done
	return 1
}

lines_for_usr_local()
{
	cat <<-'END'
		set -eux
		nothing() { found=$("$@") || true; test -z "$found"; }
		files() { find /usr/local/bin /usr/local/include /usr/local/lib \
			/usr/local/share -mindepth 1 ! -path /usr/local/share/man; }
		known() { /sbin/ldconfig -p | grep philox; }
		nothing known
	END
	for_usr_local
	# With no flag but -l only the loader's cache helps
	cat <<-'END'
		cc examples/forward_backward.c -lphilox -lm -o program
		rpath() { readelf -d program | grep -i 'r.*path'; }
		nothing rpath
		./program
		make uninstall
		nothing files
		nothing known
	END
}

# Where that is not allowed, a folder stands for /usr/local
stand_in=$WORK/usr/local
lines_for_usr_local >"$WORK/local.sh"
for_usr_local >"$WORK/usr-local.sh"
if can_be_away; then
	check "the lines for /usr/local work, and nothing is left of them" \
		away "${alone[@]}" sh "$WORK/local.sh"
else
	check "the lines for /usr/local work, with a folder in its place" \
		typed "$WORK/usr-local.sh" PREFIX="$stand_in" \
		PKG_CONFIG_PATH="$stand_in/lib/pkgconfig"
	skip "the lines for /usr/local work in /usr/local itself" \
		"no mount namespaces here"
fi
finish
