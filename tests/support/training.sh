# tests/support/training.sh - running `philox train`; sourced after report.sh,
# where $philox is set
#
#   train ARGUMENT...         runs it; its output is in $WORK/out, $WORK/err
#   refuses TEXT ARGUMENT...  it must exit with 2 and name TEXT
#
# $text is a small text to train on.

text=$WORK/text
seq 1 400 | sed 's/.*/Line & tells of & small things, and of & large ones./' \
	>"$text"

# A sanitizer may report and still leave the expected exit status
sane()
{
	! grep -qE 'Sanitizer|runtime error:' "$WORK/err"
}

# train ARGUMENT...: runs it, shows its output, returns its exit status
train()
{
	"$philox" train "$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	got=$?
	echo "train $*: exit status $got, standard output and error:"
	cat "$WORK/out" "$WORK/err"
	sane && return $got
}

# refuses TEXT ARGUMENT...: exit status 2, and TEXT is named
refuses()
{
	named=$1
	shift
	train "$@"
	[ "$got" -eq 2 ] && sane && [ ! -s "$WORK/out" ] &&
		head -n 1 "$WORK/err" | grep -qF -e "$named"
}
