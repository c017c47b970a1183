# lib/base/source.awk - philox/kernel.h and its includes, as a C array
#
#   awk -f lib/base/source.awk include/philox/kernel.h
#
# The first include of each header of philox is replaced by its text; other
# includes stay. The output is C: the characters one by one, since a string
# literal may be too long, and a closing 0. A character that is not ASCII
# becomes a literal of several characters, which the compiler rejects.

function emit(line, n, i, c, list)
{
	n = length(line)
	list = ""
	for (i = 1; i <= n; i++) {
		c = substr(line, i, 1)
		if (c == "\t")
			c = "\\t"
		else if (c == "\\" || c == "'")
			c = "\\" c
		list = list "'" c "',"
	}
	print list "'\\n',"
}

function name_of(line)
{
	sub(/^#include </, "", line)
	sub(/>.*/, "", line)
	return line
}

function copy(path, line, status)
{
	while ((status = (getline line < path)) > 0) {
		if (line !~ /^#include <philox\//)
			emit(line)
		else if (!seen[name_of(line)]++)
			copy(folder name_of(line))
	}
	if (status < 0) {
		print "cannot read " path >"/dev/stderr"
		exit 1
	}
	close(path)
}

BEGIN {
	folder = ARGV[1]
	sub(/philox\/kernel\.h$/, "", folder)
	seen["philox/kernel.h"] = 1
	copy(ARGV[1])
	print "0"
}
