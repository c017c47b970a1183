#!/bin/sh
# philox inspect of the snapshot of a pool: summed up, as JSON, as a picture.
# The texts are made by tests/scripts/tool/pool_texts.py, which knows what is in
# them.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

philox=${PHILOX_TOOL:-$BUILD/philox}
texts=tests/scripts/tool/pool_texts.py

if ! command -v python3 >"$WORK/which"; then
	skip "snapshots of pools" "no python3"
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

sign()
{
	python3 "$texts" sign
}

sign >"$WORK/small" <<'END'
philox pool 1
pool "acti\x22vations" expandable flags 3 unit 512 step 0 limit 16384 range 0
session warm-up graphs 2
mapped 6144 peak 8192 pinned 2048
live 2560 peak 3072 requested 2100 blocks 3
free 3584 largest 1536
counts allocations 5 frees 2 growths 3 trims 1 checkpoints 1 restores 0 rollbacks 0 waits 7
segment 0 extents 2 bytes 6144
extent 1 offset 0 bytes 2048 pinned
extent 4 offset 4096 bytes 4096 loose
block offset 0 bytes 1024 live 2 size 1000 tag "hidden"
block offset 1024 bytes 1024 free owner stream 1
block offset 4096 bytes 1024 live 1 size 600 tag "hidden"
block offset 5120 bytes 512 free owner stream 2
block offset 5632 bytes 512 live 3 size 500 tag "\xd1\x8f <&>"
block offset 6144 bytes 512 free owner stream 1
block offset 6656 bytes 1536 free owner home
END

# 1 - 1536 / 3584
is_summed_up()
{
	gives 0 'pool "acti\x22vations"' "$philox" inspect "$WORK/small" &&
		lines 'expandable, strict, limit 16384' \
			'session warm-up, graphs 2' \
			'mapped 6144 bytes (6 KiB), peak 8192, pinned 2048, segments 1, extents 2' \
			'live 2560 bytes (2.5 KiB), peak 3072, asked for 2100, blocks 3' \
			'  "hidden": 2048 bytes in 2 blocks' \
			'  "\xd1\x8f <&>": 512 bytes in 1 block' \
			'free 3584 bytes (3.5 KiB), largest 1536, fragmentation 57.1 %' \
			'  home: 1536 bytes in 1 block' \
			'  stream 1: 1536 bytes in 2 blocks' \
			'  stream 2: 512 bytes in 1 block' \
			'allocations 5, frees 2, growths 3, trims 1, checkpoints 1, restores 0, rollbacks 0, waits 7' &&
		grep -A 1 '^live' "$WORK/out" | grep -q '"hidden"'
}
check "a pool is summed up" is_summed_up

is_small_json()
{
	"$philox" inspect --json "$WORK/small" >"$WORK/json" &&
		cat "$WORK/json" && python3 -m json.tool "$WORK/json" "$WORK/nice" &&
		python3 - "$WORK/json" <<'END'
import json
import sys

pool = json.load(open(sys.argv[1]))
assert pool["kind"] == "pool" and pool["name"] == 'acti"vations'
assert pool["segment_kind"] == "expandable" and pool["strict"]
assert not pool["zones"] and not pool["fill"]
assert (pool["limit"], pool["step"], pool["range"]) == (16384, 0, 0)
assert pool["session"] == "warm-up" and pool["waits"] == 7
assert pool["largest_free"] == 1536 and pool["largest_free_home"] == 1536
assert abs(pool["fragmentation"] - (1 - 1536 / 3584)) < 1e-12
assert pool["tags"][0] == {"tag": "hidden", "blocks": 2, "bytes": 2048,
                           "requested": 1600}
assert pool["tags"][1]["tag"] == "\u044f <&>"
assert [owner["owner"] for owner in pool["owners"]] == [
    "home", "stream 1", "stream 2"]
segment, = pool["segments"]
assert segment["extents"][1] == {"number": 4, "offset": 4096, "bytes": 4096,
                                 "pinned": False}
assert len(segment["blocks"]) == 7
assert segment["blocks"][0] == {"offset": 0, "bytes": 1024, "live": True,
                                "number": 2, "size": 1000, "tag": "hidden"}
assert segment["blocks"][3] == {"offset": 5120, "bytes": 512, "live": False,
                                "owner": "stream 2"}
END
}
check "a pool is an object of JSON, with all of it" is_small_json

# --- any, against what made it ------------------------------------------------

# shows KIND BLOCKS TAGS SEED PART: JSON and picture have what the text has
shows()
{
	python3 "$texts" make "$1" "$2" "$3" "$4" >"$WORK/text" &&
		"$philox" inspect "$WORK/text" >"$WORK/out" &&
		"$philox" inspect --json "$WORK/text" >"$WORK/json" &&
		"$philox" inspect --svg "$WORK/text" >"$WORK/svg" || return 1
	python3 "$texts" compare "$WORK/text" "$WORK/json" "$WORK/svg" "$5"
}

for kind in plain expandable; do
	for n in 0 1 3 40 1000 10000; do
		check "$n blocks of $kind segments are shown" shows $kind $n 7 $n 5
	done
	check "so are many tags in $kind segments" shows $kind 300 40 1 5
	check "so are blocks of all sizes in $kind segments" \
		shows $kind-odd 500 9 2 75
done

# --- the command line ---------------------------------------------------------

check "inspect names the line of a snapshot that is wrong" \
	gives 2 "'$WORK/bad': line 4: the peak, 5632, is less than there is now" \
	sh -c 'sed "s/peak 8192/peak 5632/" "$1" >"$2" && "$3" inspect "$2"' - \
	"$WORK/small" "$WORK/bad" "$philox"
check "inspect names the last line of one that is cut" \
	gives 2 "line 9, where the text ends: " \
	sh -c 'head -n 8 "$1" >"$2" && "$3" inspect --json "$2"' - \
	"$WORK/small" "$WORK/cut" "$philox"
check "inspect names a version that is too new" \
	gives 2 "line 1: the text has version 2, the newest this philox reads is 1" \
	sh -c 'echo "philox pool 2" >"$1" && "$2" inspect --svg "$1"' - \
	"$WORK/new" "$philox"
check "a snapshot is no trace" \
	gives 2 "is a snapshot of a pool: --trace takes a journal" \
	"$philox" inspect --trace "$WORK/trace" "$WORK/small"
check "its picture has no events to begin from" \
	gives 2 "is a snapshot of a pool: --from is for a journal" \
	"$philox" inspect --svg --from 2 "$WORK/small"
check "nor to end with" \
	gives 2 "is a snapshot of a pool: --to is for a journal" \
	"$philox" inspect --svg --to 2 "$WORK/small"
check "a picture and JSON are two commands" \
	gives 2 'choose one of --json, --trace, --svg and --dot' \
	"$philox" inspect --svg --json "$WORK/small"
check "inspect --svg says that a disk is full" \
	gives 1 'the picture cannot be written' \
	sh -c '"$1" inspect --svg "$2" >/dev/full' - "$philox" "$WORK/small"
check "inspect --json says so, too" \
	gives 1 'No space' \
	sh -c '"$1" inspect --json "$2" >/dev/full' - "$philox" "$WORK/small"
check "diff does not compare snapshots" \
	gives 2 "are snapshots of pools: compare them line by line, with diff" \
	"$philox" diff "$WORK/small" "$WORK/small"
sign >"$WORK/context" <<'END'
philox context 1
generator 0 state 000000000000002a 0000000000000000
END
check "a saved context has no picture" \
	gives 2 "is a saved context: --svg takes a journal or the snapshot of a pool" \
	"$philox" inspect --svg "$WORK/context"
finish
