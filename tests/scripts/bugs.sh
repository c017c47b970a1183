#!/bin/sh
# Deliberate bugs, one at a time: each patch below tests/bugs makes one. Its first
# line says what the bug does, and lines that begin with "Found by:" which
# program must find it: `philox matrix`, `philox selftest` or the tests, with
# options. Without a bug all of them pass. A patch of a header that most files
# include has a line "Compiled:" with those that are compiled again for it.
#
# The tree is copied and built once. Each core has a copy of that, in which make
# has little to do for a patch; what has changed since is then put back. A bug
# that makes its finder crash is also found. One that makes the finder itself run
# out of time, be killed or not start is not, for a busy machine does the same;
# a test that hangs, and has a --timeout for it here, has failed.
#
#   tests/scripts/bugs.sh PATCH...    tries these alone
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

MAKE=${MAKE:-make}
LIMIT=300 # seconds for a finder
SLOWEST=${SLOWEST:-10} # that are named at the end
clean=$WORK/clean
jobs=$WORK/jobs
# In a folder for each room; their names begin with a number of their own
patches=$*
[ $# -gt 0 ] || patches=$(find tests/bugs -name '*.patch' |
	awk -F/ '{ print $NF, $0 }' | LC_ALL=C sort | cut -d ' ' -f 2)
cores=$(nproc)

# All files that git does not ignore; without git, all files
sources()
{
	if [ -e .git ]; then
		git ls-files --cached --others --exclude-standard |
			while IFS= read -r file; do
				[ ! -e "$file" ] || printf '%s\n' "$file"
			done
	else
		find . -path "./${BUILD#./}" -prune -o -type f -print
	fi
}

# builds TREE JOBS TARGET...: all paths are below the tree, so that a copy of
# the build works, too. Fast to build, and only the tests that find bugs; a bug
# may cause warnings.
builds()
{
	tree=$1
	shift
	MAKEFLAGS='' $MAKE -C "$tree" -j "$@" BUILD=build CUDA=0 SANITIZE= DEBUG= \
		CC="$CC" CXX="$CXX" CFLAGS="-O1 -g0 -w" LDFLAGS="${LDFLAGS-} $linker" \
		VECTORS="-O1 -DPHILOX_UNROLL_NOTHING"
}

copies_and_builds()
{
	mkdir "$clean" &&
		sources | tar -cf - -T - | tar -xf - -C "$clean" &&
		builds "$clean" "$cores" build/philox build/tests/philox-tests &&
		n=0 &&
		while [ $((n += 1)) -le "$cores" ]; do
			cp -a "$clean" "$WORK/tree-$n" || return 1
		done &&
		touch "$WORK/copied"
}

# A linker that is fast, where it is there: each patch links once
find_linker()
{
	echo 'int main(void) { return 0; }' >"$WORK/main.c"
	for linker in -fuse-ld=lld -fuse-ld=gold ''; do
		# shellcheck disable=SC2086 # empty, or one word
		$CC $linker -o "$WORK/main" "$WORK/main.c" 2>"$WORK/said" && return
	done
}

# puts_back TREE: all that is newer than the copies is again as in the clean one
puts_back()
{
	find "$1" ! -type d -newer "$WORK/copied" | while IFS= read -r file; do
		original=$clean${file#"$1"}
		if [ -e "$original" ]; then
			cp -a "$original" "$file"
		else
			rm -f "$file"
		fi
	done
}

# finders PATCH: the programs that must find it, one per line
finders()
{
	sed -n '/^--- /q; s/^Found by: //p' "$1"
}

# compiled PATCH: the sources that are compiled again; none: all that include it
compiled()
{
	sed -n '/^--- /q; s/^Compiled: //p' "$1"
}

# old PATCH: for make, the files that it patches, if others are to be compiled
old()
{
	[ -z "$(compiled "$1")" ] || sed -n 's|^+++ b/\(.*\.h\)$|-o \1|p' "$1"
}

# program FINDER: the target to build for it
program()
{
	case $1 in
	tests\ *) echo build/tests/philox-tests ;;
	*) echo build/philox ;;
	esac
}

# run TREE FINDER: the words of a finder are quoted as in a shell
run()
{
	cd "$1" || return 125
	program=$(program "$2")
	eval "set -- $2"
	[ "$1" != tests ] || shift
	timeout --foreground "$LIMIT" "$program" "$@"
}

# passes TREE FINDER: of the tool; it changes folders, so apart
passes()
{
	(run "$@")
}

# All tests at once: most finders are several, and some tests are in many finders
tests_pass()
{
	(cd "$clean" && timeout --foreground 1800 build/tests/philox-tests \
		"-j$cores" --timeout "$LIMIT") >"$WORK/tests" 2>&1
	status=$?
	cat "$WORK/tests"
	[ $status -eq 0 ] && grep -q 'Tested: [1-9]' "$WORK/tests"
}

# finds TREE FINDER: tests end with the first that fails
finds()
{
	case $2 in
	tests\ *) (run "$1" "tests --fail-fast ${2#tests }") ;;
	*) (run "$1" "$2") ;;
	esac >"$job/found" 2>&1
	status=$?
	cat "$job/found"
	case $status in
	124 | 125 | 126 | 127 | 137) return 1 ;; # no answer
	1[2-9]?) return 0 ;; # it crashed
	esac
	case $2 in
	tests\ *) grep -Eq '(Failing|Crashing): [1-9]' "$job/found" ;;
	matrix\ *) [ $status -eq 1 ] && is_replayed "$@" ;;
	selftest*) [ $status -eq 1 ] ;;
	esac
}

# The run that the matrix found is wrong by itself, and right without the bug;
# options that the search had are printed with it
is_replayed()
{
	grep -q '^shortest mismatch: ' "$job/found" || return 1
	again=$(sed -n 's/^again: philox //p' "$job/found")
	[ -n "$again" ] && has_options "$again" "$2" || return 1
	(run "$1" "$again")
	status=$?
	[ $status -ne 0 ] && [ $status -ne 2 ] && (run "$clean" "$again")
}

has_options()
{
	again=" $1 "
	eval "set -- $2"
	shift
	while [ $# -ge 2 ]; do
		case $1 in
		--length | --forwards) ;;
		*)
			case $again in
			*" $1 $2 "*) ;;
			*) echo "not in the line to run again: $1 $2" && return 1 ;;
			esac
			;;
		esac
		shift 2
	done
}

# is_found PATCH: it applies as it is, builds, and each of its finders finds it
is_found()
{
	finders "$1" >"$job/finders"
	[ -s "$job/finders" ] || { echo "$1 has no line 'Found by:'" && return 1; }
	patch -p1 -f --fuzz=0 -d "$tree" <"$1" ||
		{ echo "$1 no longer applies: make it again" && return 1; }
	again=$(compiled "$1")
	# shellcheck disable=SC2086 # names without blanks
	[ -z "$again" ] || (cd "$tree" && touch -c $again && ls $again) ||
		return 1
	while IFS= read -r finder; do
		# shellcheck disable=SC2046 # words
		builds "$tree" 1 $(old "$1") "$(program "$finder")" \
			>"$job/built" 2>&1 ||
			{ cat "$job/built" && return 1; }
		finds "$tree" "$finder" </dev/null ||
			{ echo "not found by: $finder" && return 1; }
	done <"$job/finders"
}

# try JOB COMMAND...: runs it once, for the first who asks
try()
{
	job=$jobs/$1
	shift
	mkdir "$job" 2>/dev/null || return
	begun=$(date +%s)
	"$@" >"$job/said" 2>&1
	echo $? >"$job/status"
	echo "$(($(date +%s) - begun)) s  $*" >"$job/seconds"
}

# worker NUMBER: it has a tree of its own
worker()
{
	tree=$WORK/tree-$1
	n=0
	while IFS= read -r finder; do
		n=$((n + 1))
		try "without-$n" passes "$clean" "$finder" </dev/null
	done <"$WORK/finders"
	for patch in $patches; do
		try "$(basename "$patch")" is_found "$patch" && puts_back "$tree"
	done
}

# told JOB: shows its output and returns its status
told()
{
	cat "$jobs/$1/said"
	return "$(cat "$jobs/$1/status")"
}

mkdir "$jobs"
for patch in $patches; do
	finders "$patch"
done | grep -v '^tests ' | sort -u >"$WORK/finders"

find_linker
check "a copy of the tree can be built" copies_and_builds
[ "$failed" -eq 0 ] || finish
check "without a bug no test finds one" tests_pass
workers=
trap 'kill $workers; exit 1' HUP INT TERM
while [ "$cores" -gt 0 ]; do
	worker "$cores" &
	workers="$workers $!"
	cores=$((cores - 1))
done
wait
n=0
while IFS= read -r finder; do
	n=$((n + 1))
	check "without a bug nothing is found: $finder" told "without-$n"
done <"$WORK/finders"
for patch in $patches; do
	check "found: $(head -n 1 "$patch")" told "$(basename "$patch")"
done
echo "the slowest:"
cat "$jobs"/*/seconds | sort -rn | head -n "$SLOWEST"
finish
