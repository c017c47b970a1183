# doc/completion.awk - completion of the command philox for bash
#
#   awk -f doc/lines.awk -f doc/helps.awk -f doc/completion.awk helps=FOLDER
#       rest=doc/completion.bash
#
# Commands, their options, and the words that options take are those of the help
# texts. Words are lists with commas where a help begins, or after a colon or a
# semicolon; words before a colon of their own; the default of those; or the
# keys of a table. An option takes a file if its help says FILE, OUT or PATH,
# and so does a command whose usage ends so, or with A B.

function is_file(name_)
{
	return name_ ~ /^\[?(FILE|OUT|PATH)/
}

# Words with ", " between them, at the beginning of a text; "" if it has fewer
# than two. Those that end in a capital are to be filled in, by the user.
function list_at_start(text, n, part, i, out, rest)
{
	n = split(text, part, / ?, /)
	out = ""
	for (i = 1; i <= n; i++) {
		rest = part[i]
		sub(/^[a-z0-9_:\/-]+[A-Z]?/, "", rest)
		if (rest == part[i] || (rest != "" && rest !~ /^ (for |$)/))
			break
		if (rest != "")
			part[i] = substr(part[i], 1, length(part[i]) - length(rest))
		if (part[i] !~ /[A-Z]$/)
			out = out " " part[i]
	}
	return i > 2 ? out : ""
}

# The words in a part of a help, which is one of n
function words_of(text, n, list)
{
	sub(/^else /, "", text)
	list = list_at_start(text)
	if (list == "" && index(text, ": ") > 0)
		list = list_at_start(substr(text, index(text, ": ") + 2))
	if (list == "" && n > 1 && text ~ /^[a-z]+(:.*)?$/) {
		sub(/:.*/, "", text)
		list = " " text
	}
	return list
}

function without_twins(list, n, part, i, out)
{
	n = split(list, part, " ")
	out = ""
	for (i = 1; i <= n; i++)
		if (!index(out " ", " " part[i] " "))
			out = out " " part[i]
	return out
}

function values(c, i, k, list, text, n, part, usual)
{
	list = ""
	for (k = i + 1; k <= n_parts[c] && part_kind[c, k] == "subrow"; k++)
		list = list " " key[c, k]
	text = says[c, i]
	if (match(text, /\(default:? [a-z][a-z0-9_:-]*[;,)]/)) {
		usual = substr(text, RSTART, RLENGTH - 1)
		sub(/.* /, "", usual)
	}
	gsub(/ \([^)]*\)/, "", text)
	n = split(text, part, /; /)
	for (k = 1; list == "" && k <= n; k++)
		found_words[k] = words_of(part[k], n)
	for (k = 1; k <= n; k++)
		list = list found_words[k]
	split("", found_words)
	return without_twins(list (list == "" || usual == "" ? "" : " " usual))
}

# The options in a row: "--low A, --high B" are two
function put_options(c, i, n, part, k, one)
{
	n = split(key[c, i], part, ", ")
	for (k = 1; k <= n; k++) {
		split(part[k] " ", one, " ")
		options[c] = options[c] " " one[1]
		if (part[k] !~ / /)
			continue
		if (is_file(one[2]))
			cases[c] = cases[c] "\t" c " " one[1] "\tfiles"
		else
			cases[c] = cases[c] "\t" c " " one[1] "\twords" values(c, i)
	}
}

function read_options(c, i)
{
	for (i = 1; i <= n_parts[c]; i++)
		if (part_kind[c, i] == "row" && key[c, i] ~ /^--/)
			put_options(c, i)
}

function takes_files(c, i, n, part, found)
{
	for (i = 1; i <= n_usages[c]; i++) {
		n = split(usage[c, i], part, " ")
		if (n && (is_file(part[n]) || part[n] == "B"))
			found = 1
	}
	return found
}

function print_values(c, n, part, i)
{
	n = split(substr(cases[c], 2), part, "\t")
	for (i = 1; i < n; i += 2)
		print "\t\"" part[i] "\") echo \"" part[i + 1] "\" ;;"
}

BEGIN {
	for (A = 1; A < ARGC; A++)
		if (ARGV[A] ~ /^helps=/)
			read_helps(substr(ARGV[A], 7))
	list = ""
	for (A = 1; A <= n_commands; A++) {
		read_options(command[A])
		list = list " " command[A]
	}
	print "# Completion of philox for bash, made from its help texts"
	print ""
	print "# _philox_options COMMAND: its options"
	print "_philox_options()"
	print "{"
	print "\tcase $1 in"
	for (A = 1; A <= n_commands; A++)
		print "\t" command[A] ") echo \"" \
			substr(options[command[A]], 2) "\" ;;"
	print "\tesac"
	print "}"
	print ""
	print "# _philox_takes COMMAND OPTION: \"files\", \"words\" and which, or"
	print "# nothing: then it takes nothing"
	print "_philox_takes()"
	print "{"
	print "\tcase \"$1 $2\" in"
	for (A = 1; A <= n_commands; A++)
		print_values(command[A])
	print "\tesac"
	print "}"
	print ""
	print "# _philox_files COMMAND: are files its arguments?"
	print "_philox_files()"
	print "{"
	print "\tcase $1 in"
	for (A = 1; A <= n_commands; A++)
		if (takes_files(command[A]))
			print "\t" command[A] ") return 0 ;;"
	print "\tesac"
	print "\treturn 1"
	print "}"
	print ""
	print "_philox_commands=\"" substr(list, 2) "\""
	while ((getline line <setting_of("rest")) > 0)
		print line
}

function setting_of(name_, i)
{
	for (i = 1; i < ARGC; i++)
		if (index(ARGV[i], name_ "=") == 1)
			return substr(ARGV[i], length(name_) + 2)
	fail("no " name_ "= was given")
}
