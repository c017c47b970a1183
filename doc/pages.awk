# doc/pages.awk - all pages of the manual: philox(7), a page for each header and
# for each function in section 3, a page for each command in section 1
#
#   awk -f doc/lines.awk -f doc/headers.awk -f doc/helps.awk -f doc/text.awk
#       -f doc/functions.awk -f doc/FORMAT.awk -f doc/pages.awk out=FOLDER helps=FOLDER date=DATE
#       HEADER...
#
# FORMAT is mdoc or html. include/philox.h comes first of the headers. With
# list=1 nothing is written: the names of the files are listed, and, after the
# names of the pages that are links, what they are links to.

# --- headers ------------------------------------------------------------------

function name_pages(h, base)
{
	for (h = 2; h <= n_headers; h++) {
		base = header[h]
		sub(/^philox\//, "", base)
		page_of[header[h]] = "philox_" base
	}
}

function read_version(part)
{
	split(macro["PHILOX_VERSION_MAJOR"], part, " ")
	version = part[3]
	split(macro["PHILOX_VERSION_MINOR"], part, " ")
	version = version "." part[3]
	split(macro["PHILOX_VERSION_PATCH"], part, " ")
	version = version "." part[3]
}

# The name of a member as headings have it
function shown(kind, name_)
{
	return kind == "function" || macro[name_] ~ /^#define [a-z0-9_]+\(/ ? \
		name_ "()" : name_
}

function heading_of(h, i, k, names, n, part)
{
	names = ""
	for (k = 1; k <= n_members[h, i]; k++)
		if (name[h, i, k] != "")
			names = names (names == "" ? "" : "\t") \
				shown(member[h, i, k], name[h, i, k])
	n = split(inside[h, i], part, " ")
	for (k = 1; k <= n; k++)
		names = names (names == "" ? "" : "\t") shown("macro", part[k])
	return names
}

# A prototype over several lines, as C has it
function c_prototype(proto, n, part, i, line, text, list)
{
	n = split(proto, part, "\t")
	text = part[1] (part[1] ~ /\*$/ ? "" : " ")
	list = ""
	for (i = 3; i <= n; i++)
		list = list (i > 3 ? ", " : "") part[i]
	if (length(text part[2] list) + 3 <= 69)
		return text part[2] "(" list ");"
	text = trim(text) "\n"
	line = part[2] "("
	for (i = 3; i <= n; i++) {
		if (length(line) + length(part[i]) > 66) {
			text = text line "\n"
			line = "    "
		}
		line = line part[i] (i < n ? ", " : ");")
	}
	gsub(/ \n/, "\n", text)
	return text line
}

# A line that is too wide for a page, and may be two
function in_two(line, at)
{
	if (length(line) <= 75 || !match(line, /^#define [A-Za-z0-9_]+ +/))
		return line
	at = RLENGTH
	sub(/ +$/, "", line)
	return trim(substr(line, 1, at)) " \\\n    " substr(line, at + 1)
}

# Lines of a type with indented members: two columns or four in place of eight,
# so that they fit a page
function narrow(text, n, line, i, by, out)
{
	n = split(text, line, "\n")
	by = 4
	for (i = 1; i <= n; i++) {
		line[i] = expand_tabs(line[i])
		if (length(line[i]) > 77)
			by = 6
	}
	out = ""
	for (i = 1; i <= n; i++) {
		if (line[i] ~ /^        /)
			line[i] = substr(line[i], by + 1)
		out = out (i > 1 ? "\n" : "") in_two(line[i])
	}
	return out
}

# Lines that end with a backslash, which stood in a column of their own
function macro_code(text)
{
	gsub(/[ \t]+\\\n/, " \\\n", text)
	return narrow(text)
}

function code_of(kind, text)
{
	if (kind == "function")
		return c_prototype(text)
	return kind == "macro" ? macro_code(text) : narrow(text)
}

# Whether two declarations stand together in the code of a group
function together(before, kind)
{
	return before == kind && kind != "code"
}

function put_group(h, i, k, text)
{
	put_heading(h, heading_of(h, i))
	text = code_of(member[h, i, 1], code[h, i, 1])
	for (k = 2; k <= n_members[h, i]; k++)
		text = text "\n" (together(member[h, i, k - 1], member[h, i, k]) ? \
			"" : "\n") code_of(member[h, i, k], code[h, i, k])
	put_code(text)
	if (has_parts(h, i))
		put_pieces(h, i)
	else
		put_text(words[h, i])
}

function put_synopsis(h, i, k, n, part)
{
	put_include(header[h])
	n = split(opaque[h], part, "\n")
	for (i = 1; i <= n; i++)
		put_opaque(part[i])
	for (i = 1; i <= n_items[h]; i++)
		for (k = 1; k <= n_members[h, i]; k++)
			if (member[h, i, k] == "function")
				put_prototype(code[h, i, k])
	put_synopsis_end()
}

# The pages of neighbours in order, and philox(7)
function see_also(h, n, part, i, k, list)
{
	n = split(neighbours[h], part, " ")
	for (i = 2; i <= n; i++)
		for (k = i; k > 1 && part[k] < part[k - 1]; k--) {
			list = part[k]
			part[k] = part[k - 1]
			part[k - 1] = list
		}
	list = ""
	for (i = 1; i <= n; i++)
		if (part[i] in page_of)
			list = list page_of[part[i]] " 3\t"
	return list "philox 7"
}

function put_items(h, i)
{
	put_section("DESCRIPTION")
	for (i = 1; i <= n_items[h]; i++)
		if (item[h, i] == "text")
			put_text(words[h, i])
		else if (item[h, i] == "section")
			put_section(words[h, i])
		else
			put_group(h, i)
}

function header_page(h)
{
	this_header = header[h]
	open_page(page_of[header[h]], 3, "include/" header[h])
	put_name(page_of[header[h]], title[h])
	put_synopsis(h)
	put_items(h)
	put_see(see_also(h))
	close_page()
}

# --- commands -----------------------------------------------------------------

function table_end(level)
{
	for (; table_depth > level; table_depth--)
		put_list_end()
}

# The widest key of the table that begins at part i
function key_width(c, i, kind, widest)
{
	kind = part_kind[c, i]
	for (; i <= n_parts[c] && part_kind[c, i] ~ /row/; i++)
		if (part_kind[c, i] == kind && length(key[c, i]) > widest)
			widest = length(key[c, i])
	return widest
}

function put_row(c, i, level, keys)
{
	level = part_kind[c, i] == "row" ? 1 : 2
	table_end(level)
	if (table_depth < level) {
		put_list("tag", key[c, i] ~ /^--/ ? 0 : key_width(c, i) + \
			(c == "" ? length("philox-(1)") : 0))
		table_depth = level
	}
	put_item(key[c, i] ~ /^--/ ? option_key(key[c, i]) : \
		c == "" && key[c, i] in summary ? command_key(key[c, i]) : \
		row_key(key[c, i]), says[c, i])
}

function put_help(c, i, text)
{
	put_section("DESCRIPTION")
	table_depth = 0
	for (i = 1; i <= n_parts[c]; i++) {
		if (part_kind[c, i] != "paragraph") {
			put_row(c, i)
			continue
		}
		table_end(0)
		text = says[c, i]
		if (text ~ /^Exit status: /) {
			put_section("EXIT STATUS")
			sub(/^Exit status: /, "", text)
			text = toupper(substr(text, 1, 1)) substr(text, 2)
		}
		put_paragraph(text)
	}
	table_end(0)
}

function command_page(c, i, list)
{
	this_header = ""
	open_page("philox-" c, 1, "philox help " c)
	put_name("philox-" c, summary[c])
	put_synopsis_begin()
	for (i = 1; i <= n_usages[c]; i++)
		put_usage("philox " c, usage[c, i])
	put_synopsis_end()
	put_help(c)
	put_see("philox 1\tphilox 7")
	close_page()
}

# What the command is for, in small letters: the first paragraph of its help
function purpose(text)
{
	text = says["", 1]
	sub(/\.$/, "", text)
	return tolower(substr(text, 1, 1)) substr(text, 2)
}

function tool_page(i, list)
{
	this_header = ""
	open_page("philox", 1, "philox help")
	put_name("philox", purpose())
	put_synopsis_begin()
	for (i = 1; i <= n_usages[""]; i++)
		put_usage("philox", usage["", i])
	put_synopsis_end()
	put_help("")
	list = sorted_commands()
	put_see(list "philox 7")
	close_page()
}

function sorted_commands(i, k, list, all, t)
{
	for (i = 1; i <= n_commands; i++) {
		all[i] = command[i]
		for (k = i; k > 1 && all[k] < all[k - 1]; k--) {
			t = all[k]
			all[k] = all[k - 1]
			all[k - 1] = t
		}
	}
	list = ""
	for (i = 1; i <= n_commands; i++)
		list = list "philox-" all[i] " 1\t"
	return list
}

# --- variables of the environment ----------------------------------------------

# A name in a text is a variable if it is nothing that headers define
function is_variable(name_)
{
	return !(name_ in constant || name_ in home || name_ ~ /\*$/)
}

# Notes the variables in a text of a page
function find_variables(text, page_, kind, found)
{
	while ((kind = next_token(text)) != "") {
		found = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		if (kind != "constant" || !is_variable(found))
			continue
		if (!(found in variable))
			variables[++n_variables] = found
		if (!index(variable[found] ",", page_ ","))
			variable[found] = variable[found] ", " page_
	}
}

function find_all_variables(h, i, c)
{
	for (h = 2; h <= n_headers; h++)
		for (i = 1; i <= n_items[h]; i++)
			find_variables(words[h, i], header[h])
	for (c = 1; c <= n_commands; c++)
		for (i = 1; i <= n_parts[command[c]]; i++)
			find_variables(says[command[c], i], "philox-" command[c] "(1)")
}

function put_environment(i, widest)
{
	find_all_variables()
	for (i = 1; i <= n_variables; i++)
		if (length(variables[i]) > widest)
			widest = length(variables[i])
	put_section("ENVIRONMENT")
	put_list("tag", widest)
	for (i = 1; i <= n_variables; i++)
		put_item(variable_key(variables[i]), "see " \
			substr(variable[variables[i]], 3))
	put_list_end()
}

# --- the whole ----------------------------------------------------------------

function overview(h, i, widest)
{
	this_header = header[1]
	open_page("philox", 7, "include/philox.h")
	put_name("philox", title[1])
	put_include(header[1])
	put_synopsis_end()
	put_section("DESCRIPTION")
	for (i = 1; i <= n_items[1]; i++)
		put_text(words[1, i])
	put_section("HEADERS")
	for (h = 2; h <= n_headers; h++)
		if (length(page_of[header[h]]) > widest)
			widest = length(page_of[header[h]])
	put_list("tag", widest + 3)
	for (h = 2; h <= n_headers; h++)
		put_item(page_key(page_of[header[h]], 3), title[h])
	put_list_end()
	put_section("COMMANDS")
	put_list("tag", widest + 3)
	for (i = 1; i <= n_commands; i++)
		put_item(page_key("philox-" command[i], 1), summary[command[i]])
	put_list_end()
	put_environment()
	put_see("philox 1")
	close_page()
}

# A type and a function may have one name: the function has the link
function list_links(n)
{
	for (n in home)
		if (n in own_page) {
			if (own_page[n] != n)
				print n " " own_page[n]
		} else if (home[n] > 1 && (n !~ / / || !(link_name(n) in home))) {
			print link_name(n) " " page_of[header[home[n]]]
		}
}

# The names of a type's page is without its "struct"
function link_name(n)
{
	sub(/^[a-z]+ /, "", n)
	return n
}

BEGIN {
	for (A = 1; A < ARGC; A++)
		if (match(ARGV[A], /^[a-z]+=/))
			setting[substr(ARGV[A], 1, RLENGTH - 1)] = \
				substr(ARGV[A], RLENGTH + 1)
		else
			read_header(ARGV[A])
	end_headers()
	name_pages()
	name_function_pages()
	if (setting["list"]) {
		for (A = 2; A <= n_headers; A++)
			print page_of[header[A]]
		for (A in own_page)
			if (own_page[A] == A)
				print A
		list_links()
		exit
	}
	read_version()
	folder = setting["out"]
	date = setting["date"]
	read_helps(setting["helps"])
	for (A = 2; A <= n_headers; A++)
		header_page(A)
	for (A = 2; A <= n_headers; A++)
		function_pages(A)
	tool_page()
	for (A = 1; A <= n_commands; A++)
		command_page(command[A])
	overview()
}
