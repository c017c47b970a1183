# doc/lines.awk - what all programs here do with lines

function fail(message)
{
	print "doc: " message >"/dev/stderr"
	failed = 1
	exit 1
}

function trim(s)
{
	gsub(/^[ \t\n]+|[ \t\n]+$/, "", s)
	return s
}

# Lines without the blanks at their ends, and with blanks for tabs
function expand_tabs(line, at)
{
	while ((at = index(line, "\t")) > 0)
		line = substr(line, 1, at - 1) \
			substr("        ", 1, 8 - (at - 1) % 8) substr(line, at + 1)
	sub(/ +$/, "", line)
	return line
}

function indentation(line)
{
	match(line, /^ */)
	return RLENGTH
}

# Lines without the blanks that all of them begin with
function unindent(text, n, line, i, least, out)
{
	n = split(text, line, "\n")
	least = 1000
	for (i = 1; i <= n; i++)
		if (line[i] != "" && indentation(line[i]) < least)
			least = indentation(line[i])
	out = substr(line[1], least + 1)
	for (i = 2; i <= n; i++)
		out = out "\n" substr(line[i], least + 1)
	return out
}

function squeeze(text)
{
	gsub(/[ \t\n]+/, " ", text)
	return trim(text)
}
