#!/bin/sh
# philox train --save-at, --resume: a run that is interrupted in the middle of a
# step, with backwards owed, and goes on in a new process, on the same or the
# other host device, ends with the bits of an uninterrupted run. Files of
# another run and damaged files are refused.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1
philox=${PHILOX_TOOL:-$BUILD/philox}
. tests/support/training.sh

saved=$WORK/saved

sum='_checksum":"[0-9a-f]*"'
sums="\"loss$sum,\"parameter$sum\\(,\"extra$sum\\)*"

# bits RUN: the checksums of one run, from the JSON in the last line
bits()
{
	tail -n 1 "$WORK/out" | sed -n "s/.*\"name\":\"$1\",\($sums\).*/\\1/p"
}

# interrupt STEP ARGUMENT...: saves in the middle of a step
interrupt()
{
	at=$1
	shift
	rm -f "$saved"
	train "$text" --save-at "$at" --save "$saved" "$@" &&
		[ -s "$saved" ] &&
		grep -q "^saved .*in the middle of step $at of" "$WORK/out"
}

# same_end STEP DEVICE DEVICE ARGUMENT...: interrupted in a step, between two
# devices, and uninterrupted
same_end()
{
	step=$1
	first=$2
	second=$3
	shift 3
	train "$text" --steps 6 --json "$@" || return 1
	whole=$(bits 'out of order')
	interrupt "$step" --steps 6 --device "$first" "$@" || return 1
	train "$text" --resume "$saved" --json --device "$second" || return 1
	grep -q "^resumed .*in the middle of step $step of 6" "$WORK/out" &&
		grep -q '^retained backward *gave the same' "$WORK/out" &&
		[ -n "$whole" ] && [ "$(bits resumed)" = "$whole" ]
}

# A saved run may go on for longer than planned, or end earlier
same_end_after()
{
	interrupt 3 --steps 5 || return 1
	train "$text" --steps "$1" --json || return 1
	whole=$(bits 'out of order')
	train "$text" --resume "$saved" --steps "$1" --json || return 1
	[ -n "$whole" ] && [ "$(bits resumed)" = "$whole" ]
}

# Twelve layers' forwards are pending in the file, one more with --ops
tickets_are_pending()
{
	interrupt 2 --steps 3 || return 1
	[ "$(grep -ac '^ticket ' "$saved")" -eq 12 ] || return 1
	interrupt 2 --steps 3 --ops 4 || return 1
	[ "$(grep -ac '^ticket ' "$saved")" -eq 13 ]
}

saves_repeat()
{
	interrupt 2 --steps 3 && cp "$saved" "$WORK/first" &&
		interrupt 2 --steps 3 --device host:sync &&
		cmp "$saved" "$WORK/first"
}

# A saved run does not depend on where its arrays were: interrupted with one
# kind of memory, resumed with another
pool_is_not_saved()
{
	interrupt 2 --steps 4 && cp "$saved" "$WORK/first" || return 1
	train "$text" --steps 4 --json || return 1
	whole=$(bits 'out of order')
	interrupt 2 --steps 4 --pool "$1" &&
		cmp "$saved" "$WORK/first" || return 1
	train "$text" --resume "$saved" --json || return 1
	[ -n "$whole" ] && [ "$(bits resumed)" = "$whole" ] || return 1
	train "$text" --resume "$saved" --json --pool "$1" || return 1
	[ "$(bits resumed)" = "$whole" ] &&
		grep -q '^retained backward *gave the same' "$WORK/out"
}

last_line_is_json()
{
	interrupt 2 --steps 3 --json || return 1
	tail -n 1 "$WORK/out" | python3 -c '
import json, sys
figures = json.load(sys.stdin)
assert figures["saved"] == sys.argv[1]
assert figures["saved_in_step"] == 2 and figures["pending"] == 12
' "$saved" || return 1
	train "$text" --resume "$saved" --json || return 1
	tail -n 1 "$WORK/out" | python3 -c '
import json, sys
figures = json.load(sys.stdin)
assert figures["resumed"] == sys.argv[1]
assert figures["resumed_in_step"] == 2 and figures["steps"] == 3
assert len(figures["runs"]) == 1 and "agree" not in figures
assert figures["runs"][0]["retained_same"] is True' "$saved"
}

# refuses_file TEXT FILE ARGUMENT...: it is not resumed, and does not change
refuses_file()
{
	named=$1
	cp "$2" "$WORK/copy" || return 1
	file=$2
	shift 2
	refuses "$named" "$text" --resume "$file" "$@" &&
		cmp "$file" "$WORK/copy"
}

# Cut anywhere, it is refused, as is one with a byte too many
refuses_cut()
{
	size=$(wc -c <"$saved")
	for n in 0 1 17 18 19 40 51 52 60 100 150 200 300 400 1000 2000 9999 \
		$((size / 2)) $((size - 27)) $((size - 26)) $((size - 1)); do
		head -c "$n" "$saved" >"$WORK/cut"
		refuses_file "'$WORK/cut' is " "$WORK/cut" || return 1
	done
	{
		cat "$saved"
		echo
	} >"$WORK/cut"
	refuses_file "is cut or damaged" "$WORK/cut"
}

# flip OFFSET: $saved with one bit changed, in $WORK/flipped
flip()
{
	cp "$saved" "$WORK/flipped" || return 1
	byte=$(od -An -tu1 -j "$1" -N 1 "$saved")
	# shellcheck disable=SC2059
	printf "\\$(printf %03o $((byte ^ 1)))" |
		dd of="$WORK/flipped" bs=1 seek="$1" conv=notrunc status=none
	! cmp -s "$saved" "$WORK/flipped"
}

refuses_damage()
{
	size=$(wc -c <"$saved")
	for n in 0 5 18 30 45 60 80 100 150 250 500 1000 1500 5000 50000 \
		$((size / 2)) $((size - 30)) $((size - 26)) $((size - 5)) \
		$((size - 1)); do
		flip "$n" && refuses_file "'$WORK/flipped' is " \
			"$WORK/flipped" || return 1
	done
}

# refuses_first_line LINE: of another version, though all else is right
refuses_first_line()
{
	{
		echo "$1"
		tail -n +2 "$saved"
	} >"$WORK/other"
	refuses_file "is of another version" "$WORK/other"
}

# A save that is impossible leaves the file as it was
keeps_what_was()
{
	mkdir -p "$WORK/folder" || return 1
	refuses "is not a regular file" "$text" --steps 2 --save-at 1 \
		--save "$WORK/folder" && [ -d "$WORK/folder" ] || return 1
	cp "$text" "$WORK/kept" || return 1
	refuses "is the text itself" "$text" --steps 2 --save-at 1 \
		--save "$text" && cmp "$text" "$WORK/kept" &&
		[ -z "$(ls -A "$WORK/folder")" ]
}

# Found only when the save is tried, if the user may write everywhere
refuses_late()
{
	train "$text" --steps 2 --save-at 1 --save /proc/philox-saved
	[ "$got" -eq 2 ] && sane && grep -qF "'/proc/philox-saved'" "$WORK/err"
}

for step in 1 4 6; do
	check "interrupted in step $step of 6, it ends with the same bits" \
		same_end $step host host
done
check "saved on host, resumed on host:sync" same_end 3 host host:sync
check "saved on host:sync, resumed on host" same_end 3 host:sync host
check "the same with extra operators" same_end 2 host host:sync --ops 5
check "the same with another seed" same_end 2 host host \
	--seed 18446744073709551615
check "the same with another dropout" same_end 5 host host:sync --dropout 0.3
check "it may go on for longer" same_end_after 8
check "it may end earlier" same_end_after 3
check "tickets are pending in the file" tickets_are_pending
check "the same run saves the same file" saves_repeat
for kind in plain expandable; do
	check "with a $kind pool, too, which resumes either" pool_is_not_saved \
		$kind
done
if command -v python3 >"$WORK/which"; then
	check "--json ends with an object" last_line_is_json
else
	skip "--json ends with an object" "no python3"
fi

interrupt 3 --steps 4 >"$WORK/said" || cat "$WORK/said"
check "the file's own options may be given" train "$text" \
	--resume "$saved" --seed 1 --dropout 0.1 --ops 0 --steps 4
check "a cut file" refuses_cut
check "a damaged file" refuses_damage
check "a newer format" refuses_first_line \
	"$(head -n 1 "$saved" | sed 's/save 1/save 2/')"
check "another version" refuses_first_line \
	"$(head -n 1 "$saved" | sed 's/philox [0-9]/philox 9/')"
check "something else" refuses_file "is not a saved training run" "$text"
check "no such file" refuses "$WORK/none" "$text" --resume "$WORK/none"
check "a folder" refuses "'$WORK' is not a regular file" "$text" \
	--resume "$WORK"
check "another seed" refuses_file "--seed '2': '$saved'" "$saved" --seed 2
check "another dropout" refuses_file "--dropout '0.2': " "$saved" --dropout 0.2
check "other operators" refuses_file "--ops '1': '$saved'" "$saved" --ops 1
check "an end before the interruption" refuses_file "--steps '2': '$saved'" \
	"$saved" --steps 2
sed 's/1/2/' "$text" >"$WORK/text2"
check "another text" refuses "another text than $WORK/text2" "$WORK/text2" \
	--resume "$saved"

check "a save in step 0" refuses "--save-at '0'" "$text" --save-at 0 \
	--save "$WORK/never"
check "a save beyond the last step" \
	refuses "--save-at '5': is beyond the last" \
	"$text" --steps 4 --save-at 5 --save "$WORK/never"
check "a save beyond the default steps" refuses "--save-at '601': is beyond" \
	"$text" --save-at 601 --save "$WORK/never"
check "--save without --save-at" refuses "--save '$WORK/never'" "$text" \
	--save "$WORK/never"
check "--save-at without --save" refuses "--save-at: needs --save" \
	"$text" --save-at 1
check "--save and --resume" refuses "--resume '$saved': not together" "$text" \
	--resume "$saved" --save-at 1 --save "$WORK/never"
check "--naive and --save" refuses "not together with --naive" "$text" --naive \
	--save-at 1 --save "$WORK/never"
check "--naive and --resume" refuses "not together with --naive" "$text" \
	--naive --resume "$saved"
check "no name to save to" refuses "--save ''" "$text" --save-at 1 --save ''
check "no folder to save in" refuses "--save '$WORK/none/file'" "$text" \
	--save-at 1 --save "$WORK/none/file"
check "a file for a folder" refuses "--save '$text/file'" "$text" \
	--save-at 1 --save "$text/file"
check "an existing file stays" keeps_what_was
check "a folder that cannot be written" refuses_late
check "refused runs saved nothing" [ ! -e "$WORK/never" ]
finish
