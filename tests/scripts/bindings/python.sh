#!/bin/sh
# The packages for PyTorch and JAX (bindings/python): what pip makes of it, and its tests.
#
#   PHILOX_PYTHON      a python with torch, pytest and jax
#   PHILOX_PYTHON_OLD  one with the oldest torch that there are operators for,
#                      and thunder: the same binary runs there
#
# Without them what takes them is skipped.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

python=${PHILOX_PYTHON:-python3}
old=${PHILOX_PYTHON_OLD:-}
package=$BUILD/python

has()
{
	"$python" -c "import $1" >"$WORK/why" 2>&1
}

# --- without torch ------------------------------------------------------------

# backend PYTHON CALL: in the folder of the wheel, as pip calls it
backend()
{
	mkdir -p "$WORK/made"
	"$1" -c "import sys; sys.path.insert(0, 'bindings/python')
import backend
print(backend.$2)"
}

says_what_is_missing()
{
	python3 -S -c "import sys; sys.path.insert(0, 'bindings/python')
import backend
backend.build_wheel('$WORK')" && return 1
	grep -q 'no torch. Install torch 2.12 or newer' "$WORK/said"
}

make_says_it()
{
	make python PYTHON=/bin/false && return 1
	grep -q "/bin/false has none" "$WORK/said"
}

check "a build without torch says what is missing" says_what_is_missing
check "make python does, too" make_says_it
check "a source archive has what the package is built from" eval '
	backend python3 "build_sdist(\"$WORK/made\")" &&
	tar -tzf "$WORK"/made/*.tar.gz >"$WORK/list" &&
	grep -q "/pyproject.toml$" "$WORK/list" &&
	grep -q "/bindings/python/operators/library.cpp$" "$WORK/list" &&
	grep -q "/lib/fill/fill.c$" "$WORK/list" && grep -q "/PKG-INFO$" "$WORK/list"'
if ! has torch || ! has pytest; then
	skip "the package and its tests" \
		"$python has no torch and pytest: set PHILOX_PYTHON"
	finish
fi

# --- the package --------------------------------------------------------------

is_built()
{
	make -j"$(nproc)" PYTHON="$python" "$@"
}

# Only the stable ABI: no C++ of torch, no Python
is_stable()
{
	nm -D --undefined-only "$package/philox/torch/operators.so" >"$WORK/names" &&
		! grep -E ' (_ZN[A-Z]*2at|_ZN[A-Z]*3c10|Py|_Py)' "$WORK/names" &&
		grep -q ' aoti_torch_library_impl$' "$WORK/names"
}

# The wheel of this build, as pip packs it
is_packed()
{
	backend "$python" "build_wheel('$WORK/made', {'build': '$BUILD'})" &&
		mv "$WORK"/made/*.whl "$WORK/"
}

is_small()
{
	wheel=$(ls "$WORK"/*.whl)
	bytes=$(wc -c <"$wheel")
	echo "$wheel: $bytes bytes"
	[ "$bytes" -lt 4000000 ]
}

# In a folder of its own, as pip installs it
is_installed()
{
	"$python" -m pip install --quiet --no-deps --no-index \
		--target "$WORK/installed" "$WORK"/*.whl &&
		(cd "$WORK/installed" && PYTHONPATH=$WORK/installed "$python" -c "
import philox, philox.torch as ph
assert philox.__file__.startswith('$WORK'), philox.__file__
ph.seed(1)
assert ph.uniform((8,)).min() >= 0")
}

check "make python builds the package" is_built python
if has jax; then
	check "make python-jax builds that for JAX" is_built python-jax
else
	skip "the package for JAX" "$python has no jax"
fi
check "the operators use the stable ABI only" is_stable
check "pip's backend packs a wheel" is_packed
if [ "$CUDA" = 0 ]; then
	check "a wheel without kernels for GPUs is below 4 MB" is_small
else
	skip "a wheel without kernels for GPUs is below 4 MB" "this one has them"
fi
check "the wheel works where it is installed" is_installed

# What the page shows is one program
page_runs()
{
	awk '/^```python$/ { within = 1; next } /^```/ { within = 0 } within' \
		doc/python.md >"$WORK/page.py" && [ -s "$WORK/page.py" ] &&
		PYTHONPATH=$package "$python" -W error::UserWarning "$WORK/page.py"
}

check "what doc/python.md shows runs" page_runs

# --- its tests ----------------------------------------------------------------

# count WORD: of pytest's last line, "3 passed, 1 skipped in 2.5s"
count()
{
	echo "$line" | tr -d '=' | tr ',' '\n' |
		awk -v word="$1" '$2 ~ "^" word { print $1 }'
}

# tests PYTHON FOLDER...: their counts are added to ours
tests()
{
	run=$1
	shift
	PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 "$run" -m pytest -q -rfEs \
		-p no:cacheprovider --color=no "$@" >"$WORK/pytest" 2>&1
	status=$?
	sed -n 's/^\(FAILED\|ERROR\) /FAILED  /p; s/^SKIPPED /skipped /p' \
		"$WORK/pytest"
	line=$(tail -n 1 "$WORK/pytest")
	echo "$run: $line"
	p=$(count passed) f=$(count failed) e=$(count error) s=$(count skipped)
	passed=$((passed + ${p:-0}))
	failed=$((failed + ${f:-0} + ${e:-0}))
	skipped=$((skipped + ${s:-0}))
	if [ "$status" -ne 0 ] && [ $((${f:-0} + ${e:-0})) -eq 0 ]; then
		failed=$((failed + 1))
		echo "FAILED  pytest of $run ended with status $status"
	fi
	[ "$status" -eq 0 ] || sed 's/^/        /' "$WORK/pytest"
}

folders=bindings/python/tests
tests "$python" "$folders" --ignore="$folders/thunder" \
	$(has jax || echo --ignore="$folders/jax")
if [ -n "$old" ]; then
	tests "$old" "$folders/operators" "$folders/thunder"
else
	skip "the oldest torch, and thunder" "PHILOX_PYTHON_OLD is not set"
fi
finish
