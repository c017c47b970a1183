# doc/helps.awk - the help texts of the command philox, read into arrays
#
# What is read, for `philox help` (command "") and `philox help COMMAND`:
#
#   n_commands, command[c]
#   summary[command]    its line in the list of `philox help`
#   n_usages[command], usage[command, i]   without "usage:" and the name
#   n_parts[command], part_kind[command, i], key[command, i], says[command, i]
#     "paragraph"   says
#     "row"         of an indented table: an option or another key, what it says
#     "subrow"      of a table within what a row says

function add_part(kind, key_, text)
{
	n_parts[C]++
	part_kind[C, n_parts[C]] = kind
	key[C, n_parts[C]] = key_
	says[C, n_parts[C]] = text
}

function add_words(text, i)
{
	i = n_parts[C]
	says[C, i] = says[C, i] (says[C, i] == "" ? "" : " ") text
}

# Is it two columns, with two blanks or more between them?
function is_row(text)
{
	return match(text, /[^ ]   *[^ ]/)
}

function take_usage(line)
{
	sub(/^(usage:)? */, "", line)
	sub(/^philox */, "", line)
	if (C != "")
		line = substr(line, length(C) + 2)
	usage[C, ++n_usages[C]] = line
}

function take_row(line, kind)
{
	row_indent[kind] = indentation(line)
	line = trim(line)
	if (is_row(line))
		add_part(kind, substr(line, 1, RSTART), \
			trim(substr(line, RSTART + 1)))
	else
		add_part(kind, line, "")
}

function take_help_line(line, kind, indent)
{
	kind = n_parts[C] ? part_kind[C, n_parts[C]] : ""
	indent = indentation(line)
	if (line == "") {
		paragraph_ended = 1
	} else if (indent == 0) {
		if (kind == "paragraph" && !paragraph_ended && \
		    line !~ /^Exit status: /)
			add_words(line)
		else
			add_part("paragraph", "", line)
		paragraph_ended = 0
	} else if (indent == 2) {
		take_row(line, "row")
	} else if (kind == "subrow" && indent > row_indent["subrow"]) {
		add_words(trim(line))
	} else if (is_row(trim(line)) && kind ~ /row/) {
		take_row(line, "subrow")
	} else {
		add_words(trim(line))
	}
}

function read_help(path, name_, line, got, in_usage)
{
	C = name_
	in_usage = 1
	paragraph_ended = 0
	while ((got = (getline line <path)) > 0) {
		line = expand_tabs(line)
		if (in_usage && line != "")
			take_usage(line)
		else if (!in_usage)
			take_help_line(line)
		if (line == "")
			in_usage = 0
	}
	if (got < 0 || !n_parts[C])
		fail("cannot read " path)
	close(path)
}

# All helps in a folder: "philox" is that of the command itself
function read_helps(folder, i)
{
	read_help(folder "/philox", "")
	for (i = 1; i <= n_parts[""]; i++)
		if (part_kind["", i] == "row") {
			command[++n_commands] = key["", i]
			summary[key["", i]] = says["", i]
		}
	for (i = 1; i <= n_commands; i++)
		read_help(folder "/" command[i], command[i])
}

# The words of a usage; what is in brackets is one
function split_usage(text, part, n, i, all, m, depth)
{
	m = split(text, all, " ")
	n = depth = 0
	for (i = 1; i <= m; i++) {
		if (depth)
			part[n] = part[n] " " all[i]
		else
			part[++n] = all[i]
		depth += gsub(/\[/, "[", all[i]) - gsub(/\]/, "]", all[i])
	}
	return n
}
