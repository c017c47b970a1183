#!/bin/sh
# Tensors are rounded as by a model that was written from the headers alone.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

model=tests/quantize/model
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

rounds_alike()
{
	PHILOX_SIMD=$1 python3 $model/check.py "$BUILD/libphilox.so" 150 "$2"
}

answers_are_made_again()
{
	(cd "$WORK" && PYTHONPATH="$OLDPWD/$model" \
		python3 "$OLDPWD/$model/known.py") &&
		diff tests/quantize/known.txt "$WORK/known.txt"
}

check "the model knows what was computed by hand" python3 $model/model.py
check "the known answers are the model's" answers_are_made_again
seed=1
for simd in scalar avx2 avx512; do
	if [ $simd = scalar ] || PHILOX_SIMD=$simd "$BUILD/philox" draw \
		--seed 1 --count 1 >"$WORK/said" 2>&1; then
		check "random tensors, $simd" rounds_alike $simd $seed
	fi
	seed=$((seed + 1))
done
finish
