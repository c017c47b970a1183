#!/bin/sh
# tests/fresh.sh - each line of shell in README.md and the pages of doc/, as it
# stands there, in a fresh Debian: nothing is there but what the lines themselves
# install.
#
#   tests/fresh.sh [SUITE]         bookworm, if not said otherwise
#   CHECK=1 tests/fresh.sh         also the line that runs the tests
#
# It needs root, debootstrap, a network and about ten minutes, so `make check`
# does not run it. Nothing of the machine is changed: the system is a folder in
# $TMPDIR, and what is mounted there ends with it.
cd "$(dirname "$0")/.." && . tests/report.sh || exit 1

suite=${1:-bookworm}
root=$WORK/root
for command in debootstrap unshare chroot; do
	command -v $command >"$WORK/which" || {
		echo "fresh.sh: there is no $command" >&2
		exit 1
	}
done
[ "$(id -u)" -eq 0 ] || { echo "fresh.sh: only root can do this" >&2; exit 1; }

# The page that installs comes first, since others use what it has built
pages="README.md doc/install.md $(find doc -name '*.md' ! -name install.md | sort)"

# block LANGUAGE NUMBER: that block of the pages
# shellcheck disable=SC2086
block()
{
	awk -v fence='```'"$1" -v wanted="$2" '
		/^```/ { shown = $0 == fence && ++n == wanted; next }
		shown' $pages
}

# The tree as git knows it, with the CMake project beside it
puts_the_tree_there()
{
	mkdir -p "$root/src/philox" &&
		git ls-files --cached --others --exclude-standard |
		while IFS= read -r file; do
			[ ! -e "$file" ] || printf '%s\n' "$file"
		done | tar -cf - -T - | tar -xf - -C "$root/src/philox" &&
		block cmake 1 >"$root/src/philox/CMakeLists.txt" &&
		cp /etc/resolv.conf "$root/etc"
}

# fresh NUMBER: runs this block of shell there. What a block exports holds for
# the next ones, as it does for a reader
fresh()
{
	block sh "$1" | grep -v '^git clone ' >"$root/src/lines"
	unshare -m sh -c 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
		exec chroot "$1" env -i HOME=/root DEBIAN_FRONTEND=noninteractive \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			bash -c "cd /src/philox; . /src/exports; set -eux; . /src/lines"' \
		sh "$root" </dev/null
	status=$?
	grep '^export ' "$root/src/lines" >>"$root/src/exports"
	return $status
}

check "a fresh $suite is made" debootstrap --variant=minbase "$suite" "$root" \
	"${MIRROR:-http://deb.debian.org/debian}"
check "the tree is put there" puts_the_tree_there
: >"$root/src/exports"
n=1
while block sh $n | grep -q .; do
	first=$(block sh $n | head -n 1 | cut -c 1-60)
	if [ -z "${CHECK-}" ] && block sh $n | grep -q ' check$'; then
		skip "block $n: $first..." "takes minutes: CHECK=1 runs it"
	else
		check "block $n: $first..." fresh $n
	fi
	n=$((n + 1))
done
finish
