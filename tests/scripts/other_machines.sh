#!/bin/bash
# On machines of other kinds and with another C library, philox builds without a
# warning and draws the numbers that it draws here. The machines are emulated by
# qemu-user. One without a compiler or an emulator is skipped.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

MAKE=${MAKE:-make}
unset CFLAGS CXXFLAGS LDFLAGS GENCODE PARTS

# --- what is drawn ------------------------------------------------------------

# All that options can name. What a layout does not have is left out, below.
names()
{
	for layout in default curand_device curand_host pytorch nvfuser triton \
		jax; do
		for dist in bits uniform normal bernoulli log-normal \
			exponential gumbel integers; do
			for dtype in u32 u64 f32 f64 bf16 f16 i32 i64; do
				echo "--layout $layout --dist $dist --dtype $dtype"
			done
		done
	done
}

# Not at the beginning of anything, and more than a loop takes at a time
place='--seed 0xfeedc0de12345678 --offset 0x100000004 --first 0x300000b'

# draw PHILOX... OPTIONS
# shellcheck disable=SC2086 # options are words
draw()
{
	"${@:1:$#-1}" draw --device host:sync $place ${!#} --count 1001
}

# digests PHILOX...: of each of $WORK/drawn as bytes, and some as text
digests()
{
	{ sed 's/$/ --format raw/' "$WORK/drawn" &&
		sed -n '/default/s/$/ --format text/p' "$WORK/drawn"; } |
		while read -r options; do
			draw "$@" "$options" </dev/null | sha256sum |
				sed "s/-\$/$options/"
		done
}

names | while read -r options; do
	! draw "$BUILD/philox" "$options" >"$WORK/said" 2>&1 || echo "$options"
done >"$WORK/drawn"
digests "$BUILD/philox" >"$WORK/here"

# Each is another array, so that equal digests say something
are_many()
{
	wc -l "$WORK/here"
	[ "$(wc -l <"$WORK/here")" -ge 110 ] && [ "$(cut -d ' ' -f 1 \
		"$WORK/here" | sort -u | wc -l)" -ge 90 ]
}

# --- other machines -----------------------------------------------------------

# builds MACHINE COMPILER OBJCOPY: linked statically, so that an emulator needs
# no library
builds()
{
	for target in philox libphilox.a; do
		$MAKE -j"$(nproc)" BUILD="$WORK/$1" CC="$2" OBJCOPY="$3" \
			CUDA=0 SANITIZE= DEBUG= WERROR=1 CFLAGS='-O1 -g0' \
			LDFLAGS=-static "$WORK/$1/$target" || return 1
	done
}

# draws_the_same MACHINE EMULATOR...
draws_the_same()
{
	digests "${@:2}" "$WORK/$1/philox" >"$WORK/there"
	diff "$WORK/here" "$WORK/there"
}

# same_masks MACHINE COMPILER EMULATOR...: of a program that captures
same_masks()
{
	$CC -Iinclude -o "$WORK/here-masks" examples/smallest.c -L"$BUILD" \
		-lphilox -Wl,-rpath,"$(cd "$BUILD" && pwd)" &&
		$2 -static -Iinclude -o "$WORK/masks" examples/smallest.c \
			"$WORK/$1/libphilox.a" -ldl -lpthread -lm &&
		"${@:3}" "$WORK/masks" >"$WORK/there-masks" &&
		"$WORK/here-masks" | diff - "$WORK/there-masks"
}

# missing WORD...: the first program that is not there
missing()
{
	for word in "$@"; do
		command -v "$word" >"$WORK/which" || { echo "$word" && return; }
	done
}

# machine NAME COMPILER OBJCOPY EMULATOR...
machine()
{
	none=$(missing "${@:2}")
	if [ -n "$none" ]; then
		skip "$1 draws the same numbers" "no $none"
		return
	fi
	check "philox builds for $1 without a warning" builds "${@:1:3}"
	check "$1 draws the same numbers" draws_the_same "$1" "${@:4}"
	check "$1 has the same masks in a captured pass" \
		same_masks "$1" "$2" "${@:4}"
	rm -rf "${WORK:?}/$1"
}

check "here much is drawn" are_many
for name in aarch64 s390x; do
	machine $name $name-linux-gnu-gcc $name-linux-gnu-objcopy qemu-$name
done
machine musl musl-gcc objcopy
finish
