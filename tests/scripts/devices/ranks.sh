#!/bin/bash
# examples/ranks on the host device: every mesh of ranks gives the same losses
# and parameters, to the last bit, and reads the same samples in the same order,
# and so do eager and captured steps, activations that are kept or computed
# again, and a run that was killed and went on with another mesh.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

unset LIBDIR BINDIR INCLUDEDIR MANDIR DESTDIR PKG_CONFIG_PATH
ranks=$BUILD/ranks
text=$WORK/text
small="--text $text --layers 4 --heads 4 --width 16 --sequence 8 --micro 4"
install="apt-get install openmpi-bin libopenmpi-dev"

# Ranks may be more than processors, which other programs use, too
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 # of Open MPI 5

# size MESH: the ranks it has
size()
{
	product=1
	for axis in ${1//,/ }; do
		product=$((product * ${axis#*=}))
	done
	echo $product
}

# run MESH ARGUMENT...: output in $WORK/out, messages in $WORK/err
# shellcheck disable=SC2086
run()
{
	mesh=$1
	shift
	timeout 120 mpirun --oversubscribe --bind-to none -n "$(size "$mesh")" \
		"${program:-$ranks}" --mesh "$mesh" $small "$@" \
		>"$WORK/out" 2>"$WORK/err" </dev/null
	status=$?
	cat "$WORK/out" "$WORK/err"
	return $status
}

# What a mesh must not change
bits()
{
	grep -E '^(step|parameters) ' "$1"
}

# same REFERENCE: the last run has the bits of an earlier one
same()
{
	bits "$1" >"$WORK/expected" && bits "$WORK/out" | diff "$WORK/expected" -
}

# gives REFERENCE MESH ARGUMENT...
gives()
{
	reference=$1
	shift
	run "$@" && same "$reference"
}

# --- one rank, and what its numbers depend on ---------------------------------

# make says what to install; a name that no program has
says_what_is_missing()
{
	make ranks MPICC=no-such-mpicc >"$WORK/said_by_make" 2>&1 && return 1
	cat "$WORK/said_by_make"
	tr -s ' \\\n' ' ' <"$WORK/said_by_make" | grep -qF "$install"
}

# A step has a loss of its own, and they fall
trains()
{
	run data=1 --steps 6 && cp "$WORK/out" "$WORK/six" &&
		[ "$(grep -c '^step ' "$WORK/six")" -eq 6 ] &&
		[ "$(bits "$WORK/six" | sort -u | wc -l)" -eq 7 ] &&
		awk '/^step/ { loss[$2] = $4 }
			END { exit !(loss[6] > 0 && loss[6] < loss[1] - 0.5) }' \
			"$WORK/six" || return 1
	run data=1 --steps 3 && cp "$WORK/out" "$WORK/three" &&
		[ "$(grep '^step' "$WORK/six" | head -n 3)" = \
			"$(grep '^step' "$WORK/three")" ]
}

# orders FILE: digests of the samples of each step
orders()
{
	sed -n 's/^step .* \(order [0-9a-f]*\)$/\1/p' "$1"
}

# Each step reads others, which another seed changes, and no other option
reads_samples()
{
	[ "$(orders "$WORK/six" | sort -u | wc -l)" -eq 6 ] &&
		run data=2 --steps 3 --dropout 0.25 --keep &&
		orders "$WORK/six" | head -n 3 >"$WORK/expected" &&
		orders "$WORK/out" | diff "$WORK/expected" - &&
		run data=2 --steps 3 --seed 8 &&
		[ "$(orders "$WORK/out" | wc -l)" -eq 3 ] &&
		! orders "$WORK/out" | grep -xFf "$WORK/expected"
}

# graphs N LAUNCHES ARGUMENT...: of three steps, each captured once
graphs()
{
	line="graphs $1 launches $2"
	shift 2
	gives "$WORK/three" data=1 --steps 3 "$@" && grep -x "$line" "$WORK/out"
}

# Another seed, or another dropout, is seen in all lines
other_with()
{
	run data=1 --steps 3 "$@" || return 1
	bits "$WORK/three" >"$WORK/expected"
	[ "$(bits "$WORK/out" | wc -l)" -eq 4 ] &&
		! bits "$WORK/out" | grep -xFf "$WORK/expected"
}

# The ranks of a launcher, where no mesh is given, are all along data
default_mesh()
{
	# shellcheck disable=SC2086
	timeout 120 mpirun --oversubscribe --bind-to none -n 2 "$ranks" $small \
		--steps 3 >"$WORK/out" 2>"$WORK/err"
	cat "$WORK/out" "$WORK/err"
	grep -q '^mesh data=2,' "$WORK/out" && same "$WORK/three"
}

# What doc/ranks.md says to type, once it is built, and the same on one rank
readme_command()
{
	line=$(grep -o 'mpirun .* build/ranks .*' doc/ranks.md | head -n 1)
	eval "timeout 120 ${line/build\/ranks/\"\$ranks\"}" >"$WORK/out" \
		2>"$WORK/err"
	cat "$WORK/out" "$WORK/err"
	grep -q '^mesh data=2 tensor=2,' "$WORK/out" &&
		"$ranks" >"$WORK/one" && bits "$WORK/one" | grep '^parameters' &&
		same "$WORK/one"
}

# The other meshes that doc/ranks.md says to try; "-n 1" is the check above
readme_meshes()
{
	meshes=$(sed -n '/^Try .-n 1. without/,/^$/p' doc/ranks.md |
		grep -o -- '--mesh [a-z0-9=,]*' | cut -d ' ' -f 2)
	[ "$(echo "$meshes" | wc -l)" -eq 2 ] || return 1
	"$ranks" --steps 2 >"$WORK/one" || return 1
	for mesh in $meshes; do
		small='' gives "$WORK/one" "$mesh" --steps 2 || return 1
	done
}

# From an installed philox, as a user would, by another compiler
by_clang()
{
	export PKG_CONFIG_PATH=$WORK/prefix/lib/pkgconfig
	make install PREFIX="$WORK/prefix" DESTDIR= LIBDIR="$WORK/prefix/lib" || return 1
	# shellcheck disable=SC2046
	OMPI_CC=clang mpicc -O2 -ffp-contract=off -Wall -Wextra -Werror \
		examples/ranks/[a-z]*.c -o "$WORK/ranks-clang" \
		$(pkg-config --cflags --libs philox) -lm &&
		LD_LIBRARY_PATH=$WORK/prefix/lib \
			program=$WORK/ranks-clang gives "$WORK/three" tensor=2 --steps 3
}

# --- noise, which differs along data ------------------------------------------

noise()
{
	grep '^noise ' "$1"
}

# Data ranks have their own; the first one's is that of a single rank, and
# neither tensor ranks nor stages change it
has_its_own_noise()
{
	noise "$WORK/three" >"$WORK/noise.1" && run data=2 --steps 3 &&
		noise "$WORK/out" >"$WORK/noise.2" &&
		run data=2,tensor=2 --steps 3 &&
		noise "$WORK/out" | diff "$WORK/noise.2" - &&
		run data=3 --steps 3 && noise "$WORK/out" >"$WORK/noise.3" &&
		head -n 1 "$WORK/noise.2" | diff "$WORK/noise.1" - &&
		head -n 2 "$WORK/noise.3" | diff "$WORK/noise.2" - &&
		[ "$(cut -d ' ' -f 3- "$WORK/noise.3" | sort -u | wc -l)" -eq 3 ]
}

# --- killed, and on another mesh ----------------------------------------------

# killed MESH STEP: in the middle of STEP; every second step is saved
killed()
{
	rm -rf "$WORK/saved"
	run "$1" --steps 6 --save "$WORK/saved" --every 2 --kill-at "$2"
	status=$?
	[ $status -ne 124 ] || return 1 # too late
	[ $status -eq 137 ] || grep -i 'signal 9' "$WORK/err" || return 1
	! grep "^step $2 " "$WORK/out" && ! grep '^parameters' "$WORK/out" &&
		grep "^step $(($2 - 1)) " "$WORK/out" &&
		[ "$(cat "$WORK/saved/latest")" -eq $((($2 - 1) / 2 * 2)) ]
}

# goes_on MESH: to the bits of the run that nobody killed
goes_on()
{
	done=$(cat "$WORK/saved/latest")
	run "$1" --steps 6 --resume "$WORK/saved" --save "$WORK/saved" || return 1
	bits "$WORK/six" | tail -n +$((done + 1)) >"$WORK/expected"
	bits "$WORK/out" | diff "$WORK/expected" - &&
		[ "$(cat "$WORK/saved/latest")" -eq 6 ] &&
		! ls "$WORK/saved/step-$done"* 2>"$WORK/gone"
}

killed_and_goes_on()
{
	killed "$1" "$3" && goes_on "$2"
}

# A step from 3 to 6, of which the name of the check tells
any_step()
{
	echo $((3 + RANDOM % 4))
}

# Data ranks that were not there begin where the others are
noise_goes_on()
{
	killed data=2 3 && goes_on data=3 && noise "$WORK/out" >"$WORK/noise.again" &&
		gives "$WORK/six" data=3 --steps 6 &&
		noise "$WORK/out" | diff "$WORK/noise.again" -
}

# resume_fails TEXT ARGUMENT...: with one line that says so
resume_fails()
{
	said=$1
	shift
	run data=2 --steps 6 --resume "$WORK/saved" "$@"
	[ $? -eq 2 ] && one_line "$said"
}

without()
{
	killed data=2 4 && rm "$WORK/saved/$1" && resume_fails "/$1" &&
		grep -E "/$1(:|'| |\$)" "$WORK/err"
}

# damaged TEXT COMMAND: the model is written anew by a command that reads it
damaged()
{
	killed data=2 4 && mv "$WORK/saved/step-2.model" "$WORK/model" &&
		eval "$2" <"$WORK/model" >"$WORK/saved/step-2.model" &&
		! cmp "$WORK/model" "$WORK/saved/step-2.model" &&
		resume_fails "step-2.model: $1"
}

# Another byte in the middle, which is not a zero
flip()
{
	half=$(($(stat -c %s "$WORK/model") / 2))
	head -c $half && head -c 1 | tr '\000-\377' '\001-\377\000' && cat
}

# latest_is LINE: neither going on nor saving is possible
latest_is()
{
	killed data=2 4 && printf "%b" "$1" >"$WORK/saved/latest" &&
		resume_fails "'latest' names no step" &&
		refuses "'latest' names no step" data=2 --save "$WORK/saved"
}

# saves SEED: two steps, and what is printed of them
saves()
{
	run data=2 --steps 2 --seed "$1" --save "$WORK/saved" &&
		cp "$WORK/out" "$WORK/seed.$1"
}

# has_saved SEED: and nothing else
has_saved()
{
	run data=3 --steps 2 --seed "$1" --resume "$WORK/saved" &&
		[ "$(bits "$WORK/out")" = "$(grep '^parameters' "$WORK/seed.$1")" ] &&
		[ "$(find "$WORK/saved" -type f ! -path '*/.philox-*' |
			wc -l)" -eq 5 ] # what was killed leaves files, too
}

# A step that is saved already, by another run: never under the same name
saved_again()
{
	rm -rf "$WORK/saved"
	saves 1 && has_saved 1 &&
		saves 2 && has_saved 2 && grep -x 2-again "$WORK/saved/latest" &&
		saves 1 && has_saved 1 && grep -x 2 "$WORK/saved/latest"
}

# What was there can be loaded, if saving ends between the model and the texts
saving_fails()
{
	rm -rf "$WORK/saved"
	saves 1 || return 1
	mkdir -p "$WORK/saved/step-2-again.0/in-the-way" # rank 0 has the model, too
	saves 2
	[ $? -eq 1 ] && ls "$WORK/saved/step-2-again.model" || return 1
	rm -r "$WORK"/saved/step-2-again*
	has_saved 1
}

# Killed between the set and `latest`, which is a pipe that nobody reads. Another
# mesh goes on from step 2, saves STEP and leaves its own files only.
killed_while_saving()
{
	killed data=3 4 && [ "$(cat "$WORK/saved/latest")" -eq 2 ] &&
		mkfifo "$WORK/saved/latest.tmp" || return 1
	cat >"$WORK/wrapper" <<-EOF
		#!/bin/sh
		echo \$\$ >>"$WORK/ranks"
		exec "$ranks" "\$@"
	EOF
	chmod +x "$WORK/wrapper" && rm -f "$WORK/ranks"
	program=$WORK/wrapper run data=3 --steps 6 --resume "$WORK/saved" \
		--save "$WORK/saved" --every 2 >"$WORK/said_by_killed" &
	until [ -e "$WORK/saved/step-4" ] || [ -z "$(jobs -pr)" ]; do
		sleep 0.1
	done
	xargs kill -9 <"$WORK/ranks"
	wait
	rm "$WORK/saved/latest.tmp"
	[ "$(cat "$WORK/saved/latest")" -eq 2 ] && ls "$WORK/saved/step-4.2"
}

leaves_nothing()
{
	killed_while_saving && touch "$WORK/saved/step-4.model.tmp" \
		"$WORK/saved/step-1.model.txt" &&
		run data=2 --steps "$1" --resume "$WORK/saved" \
			--save "$WORK/saved" || return 1
	(cd "$WORK/saved" && ls) >"$WORK/files"
	cat "$WORK/files"
	printf '%s\n' latest "step-$1" "step-$1.0" "step-$1.1" "step-$1.model" \
		step-1.model.txt | LC_ALL=C sort >"$WORK/expected"
	LC_ALL=C sort "$WORK/files" | diff "$WORK/expected" -
}

# Texts of one run, the model of another
of_two_runs()
{
	rm -rf "$WORK/saved"
	saves 1 && mv "$WORK/saved/step-2.model" "$WORK/model" &&
		rm -r "$WORK/saved" && saves 2 &&
		mv "$WORK/model" "$WORK/saved/step-2.model" &&
		resume_fails "step-2: has seed 2"
}

# --- ranks that do not agree --------------------------------------------------

# A rank that draws once too often is found, with region and ranks
stray_is_found()
{
	run "$1" --steps 3 --agree 2 --stray 1
	[ $? -eq 1 ] && grep '^step 2 ' "$WORK/out" &&
		! grep '^step 3 ' "$WORK/out" && one_line "$2"
}

# Nobody looked
stray_is_seen()
{
	run data=2 --steps 3 --stray 1 && ! same "$WORK/three"
}

# --- wrong options ------------------------------------------------------------

# One rank says it, once
one_line()
{
	[ "$(grep -c '^ranks: ' "$WORK/err")" -eq 1 ] &&
		grep '^ranks: ' "$WORK/err" | grep -F -e "$1"
}

# refuses TEXT MESH ARGUMENT...
refuses()
{
	said=$1
	shift
	run "$@"
	[ $? -eq 2 ] && [ ! -s "$WORK/out" ] && one_line "$said"
}

# alone TEXT ARGUMENT...: the same without a launcher
alone()
{
	said=$1
	shift
	timeout 60 "$ranks" --text "$text" "$@" >"$WORK/out" 2>"$WORK/err"
	[ $? -eq 2 ] && [ ! -s "$WORK/out" ] && cat "$WORK/err" && one_line "$said"
}

# A rank that finds another file is named, by all together
different_texts()
{
	cat >"$WORK/wrapper" <<-EOF
		#!/bin/sh
		if [ "\${OMPI_COMM_WORLD_RANK-\$PMIX_RANK}" = 1 ]; then
			exec "$ranks" "\$@" --text "$WORK/one_byte"
		fi
		exec "$ranks" "\$@"
	EOF
	chmod +x "$WORK/wrapper" && flip_text >"$WORK/one_byte" &&
		program=$WORK/wrapper refuses "rank 1 has read another text" data=3
}

# Another byte at the end
flip_text()
{
	head -c -1 "$text" && echo
}

# What is behind the first MiB counts
long_text()
{
	for i in 1 2 3; do
		head -c 400000 /dev/zero | tr '\0' "$i"
	done >"$WORK/long"
	{ head -c 1100000 "$WORK/long" && head -c 100000 /dev/zero; } \
		>"$WORK/longer" &&
		run data=1 --steps 1 --text "$WORK/longer" --save "$WORK/of-longer" &&
		refuses "is of another text" data=2 --steps 2 --text "$WORK/long" \
			--resume "$WORK/of-longer"
}

helps()
{
	timeout 60 mpirun --oversubscribe --bind-to none -n 2 "$ranks" --help \
		>"$WORK/out" 2>"$WORK/err" && [ ! -s "$WORK/err" ] &&
		[ "$(grep -c '^usage: ' "$WORK/out")" -eq 1 ] &&
		! grep -E '.{81}' "$WORK/out"
}

# --- a vocabulary over ranks: examples/split.c --------------------------------

builds_split()
{
	OMPI_CC=$CC "${MPICC:-mpicc}" -std=c11 -Wall -Wextra -Werror -Iinclude \
		examples/split.c -o "$WORK/split" "$BUILD/libphilox.so"
}

# splits RANKS
splits()
{
	LD_LIBRARY_PATH=$BUILD timeout 120 mpirun --oversubscribe \
		--bind-to none -n "$1" "$WORK/split" >"$WORK/split.$1" 2>&1 </dev/null &&
		[ "$(grep -c '^step' "$WORK/split.$1")" -eq 5 ]
}

splits_as_one()
{
	splits "$1" && diff "$WORK/split.1" "$WORK/split.$1"
}

# --- GPUs, as far as they can be simulated ------------------------------------

# Kernels of examples/ranks/kernels.cu, and NCCL by MPI
simulated=$BUILD/tests/simulated/ranks

builds_simulated()
{
	make "$simulated/ranks" "$simulated/libnccl.so"
}

# on_gpus MESH ARGUMENT...: the bits of the host
on_gpus()
{
	RANKS_NCCL=$simulated/libnccl.so program=$simulated/ranks \
		gives "$WORK/three" "$@" --steps 3 --device cuda
}

# on_gpus_refuses TEXT MESH ARGUMENT...
on_gpus_refuses()
{
	program=$simulated/ranks refuses "$@" --device cuda
}

# ------------------------------------------------------------------------------

check "make ranks says what to install" says_what_is_missing
if ! command -v "${MPICC:-mpicc}" >"$WORK/which" ||
	! command -v mpirun >"$WORK/which"; then
	skip "examples/ranks" "no MPI: $install"
	finish
fi
awk 'BEGIN { for (i = 0; i < 400; i++)
	printf "%d and %d make %d. ", i % 7, i % 5, i % 7 + i % 5 }' >"$text"
check "split.c is built" builds_split
check "one rank samples all columns" splits 1
for n in 2 3 7; do
	check "$n ranks sample as one" splits_as_one $n
done
check "make ranks" make ranks
check "one rank trains" trains
check "another seed is another run" other_with --seed 2
check "another dropout is another run" other_with --dropout 0.5
check "without dropout it is another run" other_with --dropout 0
for mesh in data=2 tensor=2 pipeline=2 data=2,tensor=2 \
	data=2,tensor=2,pipeline=2 data=3 tensor=3 pipeline=3 \
	pipeline=2,data=3 tensor=3,pipeline=2; do
	check "the bits of one rank: $mesh" gives "$WORK/three" $mesh --steps 3
done
check "the same where no mesh is given" default_mesh
for mesh in data=1 data=2,tensor=2 pipeline=3; do
	check "the same, eager: $mesh" gives "$WORK/three" $mesh --steps 3 --eager
	check "the same, with activations kept: $mesh" \
		gives "$WORK/three" $mesh --steps 3 --keep
done
# Seven segments of each layer, and the ends' four, of three steps of four
check "each segment is captured once" graphs 32 384
check "a layer has one less with activations kept" graphs 28 336 --keep
check "eager steps have no graphs" graphs 0 0 --eager
check "the same on streams of their own" \
	gives "$WORK/three" tensor=2,pipeline=2 --steps 3 --device host
check "the same where arrays are checked" \
	gives "$WORK/three" tensor=2,pipeline=2 --steps 3 --device host:strict
check "fewer micro-batches than stages" gives "$WORK/three" pipeline=4 --steps 3
if command -v clang >"$WORK/which"; then
	check "the same by clang, from an installed philox" by_clang
else
	skip "the same by clang" "there is none"
fi
check "doc/ranks.md's command" readme_command
check "doc/ranks.md's other meshes" readme_meshes
check "each data rank has noise of its own" has_its_own_noise
check "a step's samples are those of seed and position" reads_samples
for pair in data=2,tensor=2:pipeline=2 tensor=2:data=3 pipeline=2:tensor=3 \
	data=3:data=1 data=2,pipeline=2:data=2,pipeline=2; do
	step=$(any_step)
	check "killed in step $step, the same bits: $pair" \
		killed_and_goes_on "${pair%:*}" "${pair#*:}" "$step"
done
check "noise goes on, and begins for more ranks" noise_goes_on
check "another seed cannot go on" eval 'killed data=2 4 &&
	resume_fails "another model, seed" --seed 2'
check "another text cannot go on" eval 'cat "$text" "$text" >"$WORK/twice" &&
	resume_fails "is of another text" --text "$WORK/twice"'
check "fewer steps than were made cannot go on" eval \
	'resume_fails "has step 2 already, and --steps is 1" --steps 1'
check "where no steps are left the parameters are told" eval \
	'run tensor=2 --steps 2 --resume "$WORK/saved" && cp "$WORK/out" "$WORK/told" &&
	run data=1 --steps 2 && [ "$(bits "$WORK/out" | tail -n 1)" = \
		"$(bits "$WORK/told")" ]'
for file in step-2 step-2.1 step-2.model; do
	check "a set without $file is refused" without $file
done
check "a model that was cut is refused" damaged "ends too early" 'head -c -9'
check "a model without its end is refused" damaged "ends too early" 'head -c -8'
check "a model that goes on is refused" damaged "is longer" 'cat - "$text"'
check "a model with another bit is refused" damaged "is damaged" flip
check "an empty model is refused" damaged "is no model" 'head -c 0'
check "an empty 'latest' is refused" latest_is ''
check "a 'latest' that is no number is refused" latest_is '2x\n'
check "a step is saved again, under another name" saved_again
check "saving that fails leaves what was saved" saving_fails
for step in 4 5; do
	check "a save that was killed at step 4 leaves nothing behind step $step" \
		leaves_nothing $step
done
check "files of two runs are refused" of_two_runs
check "ranks agree" gives "$WORK/three" data=2,tensor=2 --steps 3 --agree 1
check "stages agree" gives "$WORK/three" pipeline=2 --steps 3 --agree 1
check "a stray rank is found: data" stray_is_found data=2 "'layer 0'"
check "a stray rank is found: tensor" stray_is_found data=2,tensor=2 "'layer 0'"
check "a stray rank that nobody is compared with: stages" refuses \
	"nobody else has the layers of rank 1" pipeline=2 --agree 1 --stray 1
check "a stray rank that nobody is compared with: alone" alone \
	"nobody else has the layers of rank 0" --agree 1 --stray 0
check "a stray rank that is not there" refuses "--stray 2: ranks are 0 to 1" \
	data=2 --stray 2
check "a stray rank has other numbers" stray_is_seen
check "help" helps
check "an unknown option" refuses "--nonsense: no such option" data=2 --nonsense
check "a mesh that is not the world" refuses \
	"--mesh data=3,tensor=1: mesh: the product of n_ranks is 3, the world has 2" \
	data=2 --mesh data=3,tensor=1
check "more data ranks than samples" refuses "there are only 4 samples" data=5
check "more tensor ranks than heads" refuses "there are only 4 heads" tensor=5
check "more stages than layers" refuses "there are only 2 layers" \
	pipeline=3 --layers 2
check "no such text" refuses "--text $WORK/missing: No such file" data=2 \
	--text "$WORK/missing"
check "a folder as text" refuses "--text $WORK: Is a directory" data=2 \
	--text "$WORK"
check "ranks with different texts" different_texts
check "a long text is read to its end" long_text
check "nothing to go on from" refuses "--resume $WORK/missing: nothing was saved" \
	data=2 --resume "$WORK/missing"
check "no such device" refuses "unknown device" data=2 --device nowhere
check "a size of 0" alone "n_ranks of axis 'data' is 0" --mesh data=0
check "an axis twice" alone "both named 'data'" --mesh data=1,data=1
check "an unknown axis" alone "must be sizes of data, tensor and pipeline" \
	--mesh expert=1
check "no mesh" alone "must be sizes of data, tensor and pipeline" --mesh ''
check "no steps" alone "--steps '0': must be a number from 1" --steps 0
check "a number that is none" alone "--width '3x'" --width 3x
check "a width without whole heads" alone "multiple of --heads" --width 30
check "a probability above 1" alone "--dropout '1.5'" --dropout 1.5
check "an option without its value" alone "--steps: needs a value" --steps
check "an argument" alone "'more': only options" more
check "--every alone" alone "--every: needs --save" --every 2
check "a folder that cannot be" alone "--save $text/x: Not a directory" \
	--save "$text/x"
if [ "$CUDA" = 0 ]; then
	skip "the same on simulated GPUs" "no nvcc"
else
	check "ranks for simulated GPUs are built" builds_simulated
	check "the same on a simulated GPU" on_gpus data=1
	for mesh in data=2 tensor=2 pipeline=2; do
		check "the same on two, with NCCL's calls: $mesh" on_gpus $mesh
	done
	check "the same where ranks share them" \
		on_gpus pipeline=2,tensor=3 --comm mpi
	check "NCCL with more ranks than GPUs" on_gpus_refuses \
		"needs a GPU for each rank, this machine has 2" data=3
	check "NCCL that is not there" eval 'RANKS_NCCL=/no/where on_gpus_refuses \
		"--comm nccl: /no/where: cannot open" data=2 &&
		grep -F "(--comm mpi needs no NCCL)" "$WORK/err"'
	check "one rank needs no NCCL" eval 'RANKS_NCCL=/no/where \
		program=$simulated/ranks gives "$WORK/three" data=1 --steps 3 --device cuda'
fi
check "NCCL on the host" alone "--comm nccl: needs --device cuda" --comm nccl
check "another network" alone "--comm 'tcp': must be mpi or nccl" --comm tcp
finish
