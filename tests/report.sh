# tests/report.sh - the output of the check scripts; each of them sources it
# from the top of the tree
#
#   check "the promise" command...    runs it; shows its output if it fails
#   skip "the promise" "why not"
#   finish                            "N passed, N failed", exit status
#
# They run from the top of the tree, against the build in $BUILD, with a folder
# of their own in $WORK. Settings come from make, or are the defaults below.

BUILD=${BUILD:-build}
CC=${CC:-cc}
CXX=${CXX:-g++}
CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
[ -x "$CUDA_HOME/bin/nvcc" ] || CUDA=0
CUDA=${CUDA:-1}
export BUILD CC CXX CUDA CUDA_HOME

WORK=$(mktemp -d) || exit 1
trap 'rm -rf "$WORK"' EXIT
trap 'exit 1' HUP INT TERM
passed=0
failed=0
skipped=0

check()
{
	promise=$1
	shift
	if "$@" >"$WORK/said" 2>&1; then
		passed=$((passed + 1))
		echo "ok      $promise"
	else
		failed=$((failed + 1))
		echo "FAILED  $promise"
		sed 's/^/        /' "$WORK/said"
	fi
}

skip()
{
	skipped=$((skipped + 1))
	echo "skipped $1: $2"
}

finish()
{
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}
