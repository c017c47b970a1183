#!/bin/sh
# Traces and pictures show every pass, arrow, capture and launch of a journal
# once; a parser that is not ours reads them: Python's, and a checker written
# from the published format. What is to be seen is counted by awk, from the
# journal's lines.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

philox=${PHILOX_TOOL:-$BUILD/philox}
checker=tests/scripts/tool/check_trace.py

if ! command -v python3 >"$WORK/which"; then
	skip "traces and pictures" "no python3"
	finish
fi

# gives STATUS TEXT COMMAND...: the exit status, and text in the output
gives()
{
	status=$1
	text=$2
	shift 2
	"$@" >"$WORK/out" 2>&1 </dev/null
	got=$?
	echo "exit status $got:"
	head -n 40 "$WORK/out"
	[ $got -eq "$status" ] && grep -qF -e "$text" "$WORK/out" &&
		! grep -qE 'Sanitizer|runtime error:' "$WORK/out"
}

# counts JOURNAL: what is to be seen, as NAME=COUNT...
counts()
{
	awk '
	function name(field) {
		return match($0, field " \"[^\"]*\"") ?
			substr($0, RSTART, RLENGTH) : ""
	}
	function number(field) {
		return match($0, " " field " [0-9]+") ?
			substr($0, RSTART + length(field) + 2,
			       RLENGTH - length(field) - 2) + 0 : 0
	}
	function ticket() { return $1 " " name("region") " " number("ticket") }
	function of_launch() { return $1 name("graph") number("sequence") }
	function forget(context,  key) {
		for (key in pending)
			if (index(key, context " ") == 1)
				delete pending[key]
	}
	FNR == 1 { next }
	{ launching = $3 == "launch-use" }
	/ (forward|backward)-begin / { eager++ }
	$3 == "capture-forward" || $3 == "capture-backward" { captured++ }
	$3 == "capture-begin" { captures++ }
	$3 == "launch-begin" { launches++; graph = of_launch(); made[graph] = "" }
	launching {
		launched++
		if ($0 ~ / pass forward / && number("ticket"))
			made[graph] = made[graph] ticket() "\n"
	}
	$3 == "launch-commit" {
		n = split(made[of_launch()], keys, "\n")
		for (i = 1; i < n; i++)
			pending[keys[i]]
	}
	$3 == "forward-commit" && number("ticket") { pending[ticket()] }
	$3 == "backward-begin" || launching && / pass backward / {
		arrows += ticket() in pending
	}
	($3 == "capture-backward" || launching) && / forward [0-9]/ { arrows++ }
	$3 == "ticket-release" { delete pending[ticket()] }
	$3 == "context-load" { forget($1) }
	!/ (forward|backward)-(begin|commit|abort) / &&
		!/ capture-(begin|forward|backward|commit|abort|adopt|drop) / &&
		!/ launch-(begin|use|commit|abort) / { marks++ }
	END {
		print "passes=" eager + captured + launched, "eager=" eager + 0,
			"captured=" captured + 0, "launched=" launched + 0,
			"captures=" captures + 0, "launches=" launches + 0,
			"arrows=" arrows + 0, "marks=" marks + 0
	}' "$1"
}

# traced JOURNAL: as a trace it has what the journal has
# shellcheck disable=SC2046
traced()
{
	"$philox" inspect --trace "$WORK/trace.json" "$1" &&
		counts "$1" &&
		python3 "$checker" "$WORK/trace.json" $(counts "$1")
}

# drawn JOURNAL OPTION...: as a picture, too
drawn()
{
	journal=$1
	shift
	"$philox" inspect --svg "$@" "$journal" >"$WORK/picture.svg" || return 1
	counts "$journal"
	python3 - "$WORK/picture.svg" "$(counts "$journal")" <<'END'
import sys
import xml.etree.ElementTree as tree

root = tree.parse(sys.argv[1]).getroot()
wanted = dict(part.split("=") for part in sys.argv[2].split())
svg = "{http://www.w3.org/2000/svg}"
assert root.tag == svg + "svg", root.tag
width, height = float(root.get("width")), float(root.get("height"))
assert root.get("viewBox") == f"0 0 {width:.0f} {height:.0f}"
boxes = [rect.get("class").split() for group in root.findall(svg + "g")
         for rect in group.findall(svg + "rect")]
paths = [path.get("class") for path in root.findall(svg + "path")]
got = {
    "passes": sum("forward" in box or "backward" in box for box in boxes),
    "captured": sum("captured" in box for box in boxes),
    "launched": sum("launched" in box for box in boxes),
    "captures": sum("capture" in box for box in boxes),
    "launches": sum("launch" in box for box in boxes),
    "arrows": paths.count("arrow"),
    "marks": paths.count("mark"),
}
print(got)
for name, count in got.items():
    assert count == int(wanted[name]), f"{name}: {count}, not {wanted[name]}"
for rect in root.iter(svg + "rect"):
    if rect.get("x"):
        x, y = float(rect.get("x")), float(rect.get("y"))
        assert 0 <= x and x + float(rect.get("width")) <= width, rect.attrib
        assert 0 <= y and y + float(rect.get("height")) <= height, rect.attrib
lanes = {}
for group in root.findall(svg + "g"):
    for rect in group.findall(svg + "rect"):
        x = float(rect.get("x"))
        lanes.setdefault(rect.get("y"), []).append(
            (x, x + float(rect.get("width"))))
for y, spans in lanes.items():
    spans.sort()
    for (_, end), (start, _) in zip(spans, spans[1:]):
        assert end <= start + 0.11, f"boxes overlap at {y}: {end} {start}"
END
}

# A small journal by hand: names to escape, passes without an end or a begin,
# forwards that were not seen, a launch that fails, the largest numbers
cat >"$WORK/odd" <<'END'
philox journal 1
0 7 context digest 00000000000000aa
0 8 forward-commit region "seen late" ticket 4 seed 00000000000000aa offset 0 flags none
0 9 backward-begin region "not seen" ticket 9 seed 00000000000000aa offset 0 flags none
0 10 forward-begin region "<&\x22>\xd1\x8f\xff\x0a\x5c" ticket 1 seed 00000000000000aa offset 0 flags none
0 11 forward-begin region "<&\x22>\xd1\x8f\xff\x0a\x5c" ticket 2 seed 00000000000000aa offset 4 flags none
3 1 context digest 00000000000000ab
0 12 forward-commit region "<&\x22>\xd1\x8f\xff\x0a\x5c" ticket 1 seed 00000000000000aa offset 0 flags none
0 13 backward-begin region "<&\x22>\xd1\x8f\xff\x0a\x5c" ticket 1 seed 00000000000000aa offset 0 flags retain
0 14 backward-begin region "<&\x22>\xd1\x8f\xff\x0a\x5c" ticket 1 seed 00000000000000aa offset 0 flags none
0 15 pool-free pool "p" segment 4294967295 offset 0 size 18446744073709551615 tag "]]>"
3 2 capture-begin capture 1
3 3 capture-forward capture 1 pass 0 region "r" flags none
3 4 capture-backward capture 1 pass 1 region "r" forward 0 flags none
0 16 launch-begin graph "g" sequence 1 uses 3
0 17 launch-use use 0 pass forward region "a" ticket 1 seed 00000000000000aa offset 0 flags none
0 18 launch-use use 1 pass repeat region "a" forward 0
0 19 launch-use use 2 pass backward region "a" ticket 7 seed 00000000000000aa offset 0 flags none
0 20 launch-abort graph "g" sequence 1 status PHILOX_ERROR_DEVICE
0 21 backward-begin region "a" ticket 1 seed 00000000000000aa offset 0 flags none
0 22 capture-commit capture 9 pass 0 flags none
END
# Two of its events end what was not seen to begin: they are marks
odd_counts()
{
	counts "$WORK/odd" | sed 's/marks=.*/marks=5/'
}

# shellcheck disable=SC2046
odd_traced()
{
	"$philox" inspect --trace "$WORK/trace.json" "$WORK/odd" &&
		python3 "$checker" "$WORK/trace.json" $(odd_counts) arrows=4 &&
		grep -qF '"region <&\">я��\\"' "$WORK/trace.json" &&
		grep -qF '"size":"18446744073709551615"' "$WORK/trace.json"
}

odd_drawn()
{
	"$philox" inspect --svg "$WORK/odd" >"$WORK/odd.svg" &&
		python3 -c 'import sys, xml.etree.ElementTree as tree
words = list(tree.parse(sys.argv[1]).getroot().itertext())
assert "<&\">\u044f\ufffd\ufffd\\" in words, words
assert any("]]>" in word for word in words)' "$WORK/odd.svg"
}

# Launches of two graphs of one name at once: the first fails, and the forward
# of the second has a backward
cat >"$WORK/twins" <<'END'
philox journal 1
0 1 context digest 00000000000000aa
0 2 launch-begin graph "g" sequence 1 uses 1
0 3 launch-use use 0 pass forward region "a" ticket 1 seed 00000000000000aa offset 0 flags none
0 4 launch-begin graph "g" sequence 2 uses 1
0 5 launch-use use 0 pass forward region "a" ticket 2 seed 00000000000000aa offset 4 flags none
0 6 launch-abort graph "g" sequence 1 status PHILOX_ERROR_DEVICE
0 7 launch-commit graph "g" sequence 2
0 8 backward-begin region "a" ticket 2 seed 00000000000000aa offset 4 flags none
END

PHILOX_JOURNAL=$WORK/train PHILOX_TRACE=$WORK/run.json "$philox" train \
	--steps 2 >"$WORK/quiet" 2>&1
# These are programs of several processes
PHILOX_JOURNAL=$WORK/matrix-%p "$philox" matrix --length 1 >"$WORK/quiet" 2>&1
largest()
{
	find "$WORK" -name "$1-*" -size +2k -exec ls -S {} + | head -n 1
}
head -n 3000 "$(largest matrix)" >"$WORK/part"
PHILOX_JOURNAL=$WORK/schedules-%p "$philox" matrix --schedule nested-recompute \
	>"$WORK/quiet" 2>&1
mv "$(largest schedules)" "$WORK/schedules"

check "the journal of a training run has passes of all kinds" \
	sh -c 'echo "$1"; case "$1 " in *=0\ *) exit 1; esac' - "$(counts "$WORK/train")"
check "it becomes a trace" traced "$WORK/train"
check "it becomes a picture" drawn "$WORK/train"
# shellcheck disable=SC2046
same_with_times()
{
	python3 "$checker" "$WORK/run.json" $(counts "$WORK/train")
}
check "PHILOX_TRACE gives the same, with times" same_with_times
check "journals of all sequences of events become traces" traced "$WORK/part"
check "they become pictures" drawn "$WORK/part"
check "a schedule of nested recomputes becomes a trace" traced "$WORK/schedules"
check "it becomes a picture, too" drawn "$WORK/schedules"
check "so does a journal with odd events and names" odd_traced
check "it becomes a picture" odd_drawn
check "launches of graphs of one name become a trace" traced "$WORK/twins"
check "they become a picture" drawn "$WORK/twins"

# --- a run that is cut short, contexts of several processes --------------------

# killed TRACE: a run that is killed in its second step or so
killed()
{
	PHILOX_TRACE=$1 "$philox" train --steps 500 >"$WORK/quiet" 2>&1 &
	process=$!
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		n=$(grep -c '"E"' "$1" 2>"$WORK/grep")
		[ "${n:-0}" -gt 100 ] && break
		sleep 0.5
	done
	kill -9 $process
	wait $process
	tail -n 1 "$1" | grep -qvx ']' && python3 "$checker" --cut "$1"
}
check "a run that is killed leaves a trace that can be read" \
	killed "$WORK/killed.json"

of_each_process()
{
	for _ in 1 2; do
		PHILOX_TRACE=$WORK/of-%p.json "$philox" selftest --only pass \
			>"$WORK/quiet" 2>&1 || return 1
	done
	ls "$WORK"/of-*.json
	[ "$(ls "$WORK"/of-*.json | wc -l)" -eq 2 ] || return 1
	for trace in "$WORK"/of-*.json; do
		python3 "$checker" "$trace" || return 1
	done
}
check "each process has a trace of its own" of_each_process
check "a trace that cannot be begun ends the command by name" \
	gives 1 "PHILOX_TRACE: the trace '/dev/full' cannot be written" \
	env PHILOX_TRACE=/dev/full "$philox" train --steps 1
check "a trace that can no longer be written does no harm" \
	sh -c 'trap "" XFSZ; ulimit -f 8; PHILOX_TRACE=$1 "$2" train --steps 1' \
	- "$WORK/e" "$philox"

# --- the command line ---------------------------------------------------------

cut_short()
{
	{
		cat "$WORK/train" && i=1 &&
			echo '7 1 context digest 00000000000000aa' && while [ $i -lt 6000 ]; do
			i=$((i + 1))
			echo "7 $i check graph \"g\" launches 1 sequence $i"
		done
	} >"$WORK/long"
	gives 0 'events 1 to 4000 of' "$philox" inspect --svg "$WORK/long" &&
		grep -qF 'too long for one picture; --from and --to' \
			"$WORK/out" || return 1
	"$philox" inspect --svg --from 5000 --to 5100 "$WORK/long" \
		>"$WORK/picture.svg" 2>"$WORK/quiet" &&
		! [ -s "$WORK/quiet" ] &&
		[ "$(grep -c 'class="mark"' "$WORK/picture.svg")" -eq 101 ]
}
check "a journal that is too long for a picture is cut, and it says so" cut_short
check "inspect --trace does not overwrite the journal" \
	gives 2 "'$WORK/train' is the journal" \
	"$philox" inspect --trace "$WORK/train" "$WORK/train"
check "inspect --trace names a file that cannot be written" \
	gives 1 "$WORK/none/x': its folder cannot be opened: No such file" \
	"$philox" inspect --trace "$WORK/none/x" "$WORK/train"
check "inspect --trace says that a disk is full" \
	gives 1 "'/dev/full': cannot be written" \
	"$philox" inspect --trace /dev/full "$WORK/train"
check "inspect --svg says that a disk is full" \
	gives 1 'the picture cannot be written' \
	sh -c '"$1" inspect --svg "$2" >/dev/full' - "$philox" "$WORK/train"
check "inspect makes one thing at a time" \
	gives 2 'choose one of --json, --trace, --svg and --dot' \
	"$philox" inspect --svg --json "$WORK/train"
check "inspect --from is for --svg" gives 2 '--from is for --svg only' \
	"$philox" inspect --from 2 "$WORK/train"
check "inspect --to is not before --from" \
	gives 2 "--to '2': must not be before --from" \
	"$philox" inspect --svg --from 3 --to 2 "$WORK/train"
check "inspect --from is within the journal" \
	gives 2 'there is nothing to draw: the journal has 20 events' \
	"$philox" inspect --svg --from 21 "$WORK/odd"
"$philox" train --steps 2 --save "$WORK/saved" >"$WORK/quiet" 2>&1
printf 'philox journal 1\n' >"$WORK/empty"
check "a journal without events is a picture of none" \
	gives 2 'there is nothing to draw: the journal has 0 events' \
	"$philox" inspect --svg "$WORK/empty"
finish
