#!/bin/sh
# philox inspect of the snapshot of a runner: summed up, as JSON, as a picture,
# for Graphviz. The texts are made by tests/scripts/tool/runner_texts.py, which
# knows what is in them, and by philox train.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

philox=${PHILOX_TOOL:-$BUILD/philox}
texts=tests/scripts/tool/runner_texts.py

if ! command -v python3 >"$WORK/which"; then
	skip "snapshots of runners" "no python3"
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

# lines LINE...: the last output has these lines
lines()
{
	for line; do
		grep -qxF -e "$line" "$WORK/out" || {
			echo "no line: $line"
			return 1
		}
	done
}

# --- a small one, by hand ------------------------------------------------------

python3 "$texts" sign >"$WORK/small" <<'END'
philox runner 2
runner "mo\x22del" mode verify calls 40 made 7 functions 3 live 3
function 1 "la <&>" there forward flags 0 inputs 1 outputs 2 values 0 keys 10 recordings 2
policy refused eager recordings 64 warm-ups 1 dry 0 retry 16 keys 0 verify 2 differs error bytes 0
calls eager 2 warm-up 1 record 2 replay 15 failed 0
bodies 5 dry 0 checking 0 prepared 0
misses new 1 moved 3 live 0 stale 0 evicted 0 bound 2 refused 0 eager 0 agreed 0
verified 7 differed 1 unverified 2
kept dropped 0 evicted 0 unplayed 1 bytes 4096 pool 0 copies 0
reason "its inputs moved: input 'x' from 0x..; its key keeps the recordings that it has, for policy.recordings: those that it evicted were never replayed"
input "x" static flags 0 alignment 0 elements 0 origin ""
output "y" elements 0 origin ""
output "z" elements 0 origin ""
key 1 size 2 0102 calls 20 warm-ups 0 dry 0 wait 3 refused "it looks at a clock"
key 2 size 0 calls 0 warm-ups 2 dry 0 wait 0 refused ""
key 3 size 0 calls 0 warm-ups 0 dry 0 wait never refused "no"
key 4 size 20 000102030405060708090a0b0c0d0e0f10111213 calls 0 warm-ups 0 dry 0 wait 0 refused ""
key 5 size 0 calls 0 warm-ups 0 dry 0 wait 0 refused ""
key 6 size 0 calls 0 warm-ups 0 dry 0 wait 0 refused ""
key 7 size 0 calls 0 warm-ups 0 dry 0 wait 0 refused ""
key 8 size 0 calls 0 warm-ups 0 dry 0 wait 0 refused ""
key 9 size 0 calls 0 warm-ups 0 dry 0 wait 0 refused ""
key 10 size 0 calls 0 warm-ups 0 dry 0 wait 0 refused ""
recording 1 key 1 replays 15 by call bytes 2048 passes 1 writes 0 ranges 0
from memory 5 static
recording 7 key 1 replays 0 by prepare bytes 2048 passes 1 writes 0 ranges 0
from function 1 output 2 recording 1 copied
function 2 "host" there inference flags 1 inputs 0 outputs 1 values 0 keys 0 recordings 0
policy refused eager recordings 64 warm-ups 1 dry 0 retry 16 keys 0 verify 0 differs error bytes 0
calls eager 20 warm-up 0 record 0 replay 0 failed 0
bodies 20 dry 0 checking 0 prepared 0
misses new 0 moved 0 live 0 stale 0 evicted 0 bound 0 refused 0 eager 20 agreed 0
verified 0 differed 0 unverified 0
kept dropped 0 evicted 0 unplayed 0 bytes 0 pool 0 copies 0
reason "it is PHILOX_FUNCTION_EAGER"
output "o" elements 0 origin ""
function 3 "old" gone backward flags 0 inputs 0 outputs 0 values 0 keys 0 recordings 0
policy refused eager recordings 64 warm-ups 1 dry 0 retry 16 keys 0 verify 0 differs error bytes 0
calls eager 0 warm-up 0 record 0 replay 0 failed 0
bodies 0 dry 0 checking 0 prepared 0
misses new 0 moved 0 live 0 stale 0 evicted 0 bound 0 refused 0 eager 0 agreed 0
verified 0 differed 0 unverified 0
kept dropped 0 evicted 0 unplayed 0 bytes 0 pool 0 copies 0
reason ""
live function 1 output 2 recording 1 block 0 size 100 call 9 untied
live function 2 output 1 recording 0 block 0 size 7 call 10 untied
live function 1 output 2 recording 1 block 0 size 60 call 11 tied to "a\x22" serial 3
ticket "a\x22" serial 3 keeps 1 bytes 60 function 1 recording 1 call 11
keep "z" function "la <&>" elements 0 bytes 60
begin pool
philox pool 1
pool "mo\x22del" plain flags 0 unit 512 step 0 limit 0
session none graphs 0
mapped 0 peak 0 pinned 0
live 0 peak 0 requested 0 blocks 0
free 0 largest 0
counts allocations 0 frees 0 growths 0 trims 0 checkpoints 0 restores 0 rollbacks 0 waits 0
end pool
END

is_summed_up()
{
	gives 0 'runner "mo\x22del", PHILOX_RUNNER=verify' \
		"$philox" inspect "$WORK/small" &&
		lines 'functions 3, keys 10, recordings 2 of 7 ever made, 4096 bytes (4 KiB)' \
			'calls 40: eager 22, warm-ups 1, recordings 2, replays 15 (37.5 %), failed 0' \
			'function "la <&>", forward' \
			'  calls 20: eager 2, warm-ups 1, recordings 2, replays 15 (75.0 %), failed 0' \
			'  misses: new 1, moved 3, bound 2' \
			"  last reason: \"its inputs moved: input 'x' from 0x..; its key keeps the recordings that it has, for policy.recordings: those that it evicted were never replayed\"" \
			'  verified 7, of which 1 differed; could not be verified 2' \
			'  keys 10, recordings 2, of which never replayed 1, 4096 bytes (4 KiB)' \
			'  key 1 (0102): calls 20, recordings 2, waits for 3 calls: "it looks at a clock"' \
			'  key 2 (none): calls 0, recordings 0, warm-ups to come 2' \
			'  key 3 (none): calls 0, recordings 0, is not recorded any more: "no"' \
			'  key 4 (000102030405060708090a0b0c0d0e0f1011..): calls 0, recordings 0' \
			'  and 2 more keys' \
			'function "host", inference, always eager' \
			'  misses: eager 20' \
			'function "old", backward, destroyed' \
			'outputs that are not released 3' \
			'  2 of output "z" of "la <&>": 160 bytes' \
			'  1 of output "o" of "host": 7 bytes' \
			'pool "mo\x22del"'
}
check "a runner is summed up, with its pool" is_summed_up

is_small_json()
{
	"$philox" inspect --json "$WORK/small" >"$WORK/json" &&
		cat "$WORK/json" && python3 - "$WORK/json" <<'END'
import json
import sys

runner = json.load(open(sys.argv[1]))
assert (runner["kind"], runner["name"]) == ("runner", 'mo"del')
assert (runner["mode"], runner["calls"], runner["made"]) == ("verify", 40, 7)
layer, host, old = runner["functions"]
assert layer["name"] == "la <&>" and layer["mode"] == "forward"
assert layer["calls"] == {"eager": 2, "warmup": 1, "record": 2, "replay": 15,
                          "failed": 0}
assert layer["misses"]["moved"] == 3 and layer["misses"]["bound"] == 2
assert (layer["verified"], layer["differed"], layer["unverified"]) == (7, 1, 2)
assert layer["policy"]["recordings"] == 64 and layer["policy"]["verify"] == 2
assert layer["inputs"] == [{"name": "x", "kind": "static", "mutated": False,
                            "write_back": False, "fixed": False,
                            "alignment": 0, "elements": 0, "origin": ""}]
assert [o["name"] for o in layer["outputs"]] == ["y", "z"]
assert layer["keys"][0] == {"hex": "0102", "calls": 20, "warmups": 0,
                            "dry": 0, "wait": 3,
                            "refused": "it looks at a clock"}
assert layer["keys"][2]["wait"] is None
assert layer["keys"][3]["hex"] == bytes(range(20)).hex()
assert layer["recordings"] == [
    {"number": 1, "key": 1, "replays": 15, "prepared": False, "bytes": 2048,
     "passes": 1, "writes": 0, "inputs": [{"copied": False, "memory": 5}],
     "ranges": []},
    {"number": 7, "key": 1, "replays": 0, "prepared": True, "bytes": 2048,
     "passes": 1, "writes": 0, "inputs": [
         {"copied": True, "function": 1, "output": 2, "recording": 1}],
     "ranges": []}]
assert host["eager"] and not host["destroyed"] and old["destroyed"]
assert runner["live"][2] == {"function": 1, "output": 2, "recording": 1,
                             "block": 0, "bytes": 60, "call": 11, "tied": True,
                             "ticket": {"region": 'a"', "serial": 3}}
assert runner["tickets"] == [
    {"region": 'a"', "serial": 3, "bytes": 60, "function": 1, "recording": 1,
     "call": 11, "keeps": [{"name": "z", "function": "la <&>", "elements": 0,
                            "bytes": 60}]}]
assert runner["pool"]["kind"] == "pool" and runner["pool"]["segments"] == []
END
}
check "a runner is an object of JSON, with all of it" is_small_json

# --- any, against what made it ------------------------------------------------

# drawn TEXT: JSON, picture and graph have what the text has
drawn()
{
	"$philox" inspect "$1" >"$WORK/out" &&
		"$philox" inspect --json "$1" >"$WORK/json" &&
		"$philox" inspect --dot "$1" >"$WORK/dot" &&
		"$philox" inspect --svg "$1" >"$WORK/svg" || return 1
	python3 "$texts" compare "$1" "$WORK/json" "$WORK/dot" "$WORK/svg"
}

# shows SHAPE N FUNCTIONS SEED
shows()
{
	python3 "$texts" make "$1" "$2" "$3" "$4" >"$WORK/text" &&
		drawn "$WORK/text"
}

for shape in chain flat layers random; do
	for n in 1 5 30 200 201 1000; do
		check "$n recordings that are $shape are shown" shows $shape $n 6 $n
	done
done
check "a runner without functions is shown" shows chain 0 0 1
check "one without recordings is shown" shows random 0 3 1
check "one with more functions than recordings is shown" shows random 30 150 1
check "one with hundreds of functions and thousands of recordings is shown" \
	shows random 4000 300 7

# Graphviz's own parser, where there is one; the form is checked above
graphviz()
{
	for shape in chain flat layers random; do
		python3 "$texts" make $shape 40 6 3 >"$WORK/text" &&
			"$philox" inspect --dot "$WORK/text" >"$WORK/dot" &&
			dot -Tsvg "$WORK/dot" >"$WORK/svg" 2>"$WORK/warned" ||
			return 1
		cat "$WORK/warned"
		grep -iE 'syntax|error' "$WORK/warned" && return 1
		[ "$(grep -c 'class="node"' "$WORK/svg")" -ge 40 ] || return 1
	done
}
if command -v dot >"$WORK/which"; then
	check "Graphviz draws it" graphviz
else
	skip "Graphviz draws it" "no dot"
fi

# --- the runner of philox train -------------------------------------------------

trained()
{
	"$philox" train --only runner --steps 6 --snapshot "$WORK/train" \
		>"$WORK/quiet" 2>&1 && drawn "$WORK/train" &&
		"$philox" train --runner --steps 6 --snapshot "$WORK/again" \
			>"$WORK/quiet" 2>&1 && diff "$WORK/train" "$WORK/again"
}
check "philox train writes its runner, each time the same" trained
on_strict()
{
	"$philox" train --only runner --steps 6 --snapshot "$WORK/strict" \
		--device host:strict >"$WORK/quiet" 2>&1 &&
		diff "$WORK/train" "$WORK/strict"
}
check "it is the same text on another device" on_strict
check "train --snapshot needs --runner" \
	gives 2 "philox train: --snapshot 'x': needs --runner" \
	"$philox" train --steps 1 --snapshot x
check "train --snapshot names a file that cannot be written" \
	gives 1 "$WORK/none/x" \
	"$philox" train --only runner --steps 1 --snapshot "$WORK/none/x"

# The picture of the page has what the run gives now, but for sizes
picture()
{
	"$philox" train --only runner --steps 1 --snapshot "$WORK/page" \
		>"$WORK/quiet" 2>&1 &&
		"$philox" inspect --svg "$WORK/page" >"$WORK/page.svg" || return 1
	for file in doc/runner.svg "$WORK/page.svg"; do
		sed -E 's/[0-9.]+ ([KM]i)?B\b/#/g; s/[0-9]+ bytes/#/g
			s/functions\.c:[0-9]+/#/g; s/key ([0-9]): [0-9a-f.]+/key \1/g
			s/<title>//; s/key ([0-9]) \([0-9a-f.]+\)/key \1/g' "$file" \
			>"$WORK/${file##*/}.plain"
	done
	diff "$WORK/runner.svg.plain" "$WORK/page.svg.plain"
}
check "the picture in doc/runners.md is that of the run" picture

# --- the command line ---------------------------------------------------------

check "inspect names the line of a runner's snapshot that is wrong" \
	gives 2 "'$WORK/bad': line 2: 'plain' or 'eager' or 'verify' expected" \
	sh -c 'sed "s/mode verify/mode fast/" "$1" >"$2" && "$3" inspect "$2"' - \
	"$WORK/small" "$WORK/bad" "$philox"
check "inspect names the last line of one that is cut" \
	gives 2 "line 9, where the text ends: " \
	sh -c 'head -n 8 "$1" >"$2" && "$3" inspect --dot "$2"' - \
	"$WORK/small" "$WORK/cut" "$philox"
check "inspect names a version that is too new" \
	gives 2 "line 1: the text has version 3, the newest this philox reads is 2" \
	sh -c 'echo "philox runner 3" >"$1" && "$2" inspect "$1"' - \
	"$WORK/new" "$philox"
check "a runner is no trace" \
	gives 2 "is a snapshot of a runner: --trace takes a journal" \
	"$philox" inspect --trace "$WORK/trace" "$WORK/small"
check "its picture has no events to begin from" \
	gives 2 "is a snapshot of a runner: --from is for a journal" \
	"$philox" inspect --svg --from 2 "$WORK/small"
check "two pictures are two commands" \
	gives 2 'choose one of --json, --trace, --svg and --dot' \
	"$philox" inspect --svg --dot "$WORK/small"
python3 "$texts" sign >"$WORK/context" <<'END'
philox context 1
generator 0 state 000000000000002a 0000000000000000
END
sed -n '/^philox pool/,/^end pool/p' "$WORK/small" | sed '$d' |
	python3 "$texts" sign >"$WORK/pool"
printf 'philox journal 1\n7 1 context digest 00000000000000aa\n' >"$WORK/journal"
for kind in 'saved context:context' 'snapshot of a pool:pool' 'journal:journal'; do
	check "--dot of a ${kind%:*} is refused" \
		gives 2 "is a ${kind%:*}: --dot takes the snapshot of a runner" \
		"$philox" inspect --dot "$WORK/${kind#*:}"
done
check "diff does not compare snapshots of runners" \
	gives 2 "are snapshots of runners: compare them line by line, with diff" \
	"$philox" diff "$WORK/small" "$WORK/small"
for option in svg dot; do
	check "inspect --$option says that a disk is full" \
		gives 1 'the picture cannot be written' \
		sh -c '"$1" inspect "--$3" "$2" >/dev/full' - "$philox" \
		"$WORK/small" $option
done
finish
