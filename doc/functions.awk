# doc/functions.awk - the comments of functions, and a page for each of them
#
# A function's comment in the headers has parts, in this order:
#
#   Allocate memory that ...          a summary, then nothing or more prose
#     pool    the pool                parameters, indented by two blanks
#   Prose.
#   Source: ...
#   Returns ...
#   Errors:                           a list, indented by two blanks
#     PHILOX_ERROR_INVALID   ...
#     those of the device
#   During capture: ...
#   Threads: ...
#
# A group of functions with such a comment has a page of its own. Parts that are
# alike in a whole header stand once in the header's first comment, or in one at
# the beginning of a section: "During capture:" and "Threads:".
#
# read_parts(h, text, members) reads them, in their order:
#
#   n_pieces, piece_kind[n], piece[n]    the kind is "prose", "parameters" or
#                                        the word with which the part begins

BEGIN {
	MARK = "^(Returns |Errors:|During capture:|Threads:|Source:)"
}

# --- parts --------------------------------------------------------------------

# The name of a parameter in a prototype
function parameter_name(s)
{
	if (match(s, /\(\*[a-z_0-9]+\)/))
		return substr(s, RSTART + 2, RLENGTH - 3)
	sub(/(\[[^]]*\])+$/, "", s)
	sub(/.*[ *]/, "", s)
	return s
}

# The parameters of a group's functions, with a blank before and after each
function parameters_of(h, i, k, n, part, p, out)
{
	out = " "
	for (k = 1; k <= n_members[h, i]; k++) {
		n = split(code[h, i, k], part, "\t")
		for (p = 3; p <= n; p++)
			out = out parameter_name(part[p]) " "
	}
	return out
}

function begin_piece(kind, text)
{
	piece_kind[++n_pieces] = kind
	piece[n_pieces] = text
}

function mark_of(line)
{
	match(line, MARK)
	line = substr(line, 1, RLENGTH)
	sub(/[ :]$/, "", line)
	return line
}

# Does a list of parameters begin in this line?
function names_parameter(line, names)
{
	if (line !~ /^  [a-z_.]/)
		return 0
	sub(/^  /, "", line)
	sub(/[ ,].*/, "", line)
	return index(names, " " line " ") > 0
}

function read_parts(text, names, n, line, i, kind, parted)
{
	n_pieces = 0
	n = split(text, line, "\n")
	for (i = 1; i <= n; i++) {
		kind = n_pieces ? piece_kind[n_pieces] : ""
		if (line[i] ~ /^ *$/) {
			parted = 1
			continue
		}
		if (line[i] ~ MARK)
			begin_piece(mark_of(line[i]), line[i])
		else if (parted && kind == "prose" && \
			 names_parameter(line[i], names))
			begin_piece("parameters", line[i])
		else if (kind == "" || (kind == "parameters" && \
			 line[i] !~ /^  /) || (parted && kind != "prose" && \
			 line[i] !~ /^  /))
			begin_piece("prose", line[i])
		else
			piece[n_pieces] = piece[n_pieces] \
				(parted ? "\n\n" : "\n") line[i]
		parted = 0
	}
}

# Does a group of functions have such a comment? One that begins with a name is
# of an older form.
function has_parts(h, i, k)
{
	if (item[h, i] != "group" || words[h, i] !~ /^[A-Z]/)
		return 0
	for (k = 1; k <= n_members[h, i]; k++)
		if (member[h, i, k] != "function")
			return 0
	read_parts(words[h, i], parameters_of(h, i))
	return n_pieces > 1 || words[h, i] ~ /^Return /
}

# The text of a header's comments that hold for the functions of item i, for one
# mark: the last that begins with it
function inherited(h, i, mark, k, n, line, j, out, within)
{
	out = ""
	for (k = 1; k < i; k++) {
		if (item[h, k] != "text")
			continue
		n = split(words[h, k], line, "\n")
		within = 0
		for (j = 1; j <= n; j++) {
			if (line[j] ~ MARK || line[j] ~ /^ *$/)
				within = 0
			if (index(line[j], mark) == 1) {
				within = 1
				out = line[j]
			} else if (within) {
				out = out "\n" line[j]
			}
		}
	}
	return out
}

# --- lists --------------------------------------------------------------------

function put_row_of_list(key_, text)
{
	if (key_ == "") {
		if (list_is_open)
			put_list_end()
		list_is_open = 0
		put_paragraph(squeeze(text))
		return
	}
	if (!list_is_open)
		put_list("tag", list_width)
	list_is_open = 1
	put_item(term_key(key_), squeeze(text))
}

# The term in the first line of a row: what two blanks follow, or constants that
# fill the line
function term_of(line)
{
	if (match(line, /[^ ]  +[^ ]/))
		return substr(line, 1, RSTART)
	return line ~ /^PHILOX_[A-Z0-9_]+(, PHILOX_[A-Z0-9_]+)*$/ ? line : ""
}

function widest_term(n, line, i, most)
{
	for (i = 1; i <= n; i++)
		if (line[i] ~ /^  [^ ]/ && length(term_of(substr(line[i], 3))) > most)
			most = length(term_of(substr(line[i], 3)))
	return most
}

# A row begins in each line that is indented by two; a list of parameters is a
# table
function put_terms(text, table, n, line, i, key_, says_, any)
{
	n = split(text, line, "\n")
	list_width = table ? widest_term(n, line) : 0
	list_is_open = any = 0
	for (i = 1; i <= n; i++) {
		if (line[i] ~ /^  [^ ]/) {
			if (any)
				put_row_of_list(key_, says_)
			any = 1
			key_ = term_of(substr(line[i], 3))
			says_ = substr(line[i], 3 + length(key_))
		} else {
			says_ = says_ "\n" line[i]
		}
	}
	if (any)
		put_row_of_list(key_, says_)
	if (list_is_open)
		put_list_end()
}

# Errors: the rows are what is indented, and text may stand before them
function put_errors(text, at, head)
{
	at = match(text, /\n  [^ ]/)
	head = squeeze(at ? substr(text, 1, at - 1) : text)
	if (head != "")
		put_paragraph(head)
	if (at)
		put_terms(substr(text, at + 1), 0)
}

# --- as a part of a header's page ---------------------------------------------

function put_pieces(h, i, k)
{
	read_parts(words[h, i], parameters_of(h, i))
	for (k = 1; k <= n_pieces; k++)
		if (piece_kind[k] == "parameters")
			put_terms(piece[k], 1)
		else if (piece_kind[k] == "Errors")
			put_errors(piece[k])
		else
			put_text(piece[k])
}

# --- a page -------------------------------------------------------------------

# A part without its mark, as a sentence
function capital(text)
{
	sub(/^[A-Za-z ]+:[ \n]*/, "", text)
	return text ~ /^[a-z]+([ ,.;:]|$)/ ? \
		toupper(substr(text, 1, 1)) substr(text, 2) : text
}

# All pieces of a kind, without the word that begins them if it ends in a colon
function pieces_of(kind, k, out, text)
{
	out = ""
	for (k = 1; k <= n_pieces; k++) {
		if (piece_kind[k] != kind)
			continue
		text = piece[k]
		if (kind ~ /^(During capture|Threads|Source)$/)
			text = capital(text)
		out = out (out == "" ? "" : "\n\n") text
	}
	return out
}

function has_kind(kind, k)
{
	for (k = 1; k <= n_pieces; k++)
		if (piece_kind[k] == kind)
			return 1
	return 0
}

function errors_of(k, out)
{
	out = ""
	for (k = 1; k <= n_pieces; k++)
		if (piece_kind[k] == "Errors")
			out = out substr(piece[k], 8)
	return out
}

# The first sentence, for a line: no full stop, no backquotes
function summary_of(text)
{
	text = squeeze(piece[1])
	if (match(text, /[^ .?!][.?!][)"']* [A-Z"(]/))
		text = substr(text, 1, RSTART + 1)
	sub(/\.$/, "", text)
	gsub(/`/, "", text)
	return text
}

function put_part(heading, text)
{
	if (text == "")
		return
	put_section(heading)
	put_text(text)
}

function inherit(h, i, mark, text)
{
	if (has_kind(mark))
		return
	text = inherited(h, i, mark ":")
	if (text != "")
		begin_piece(mark, text)
}

function function_page(h, i, k, names, text)
{
	this_header = header[h]
	read_parts(words[h, i], parameters_of(h, i))
	inherit(h, i, "During capture")
	inherit(h, i, "Threads")
	if (!has_kind("Returns") && match(piece[1], /^Return [^.]*\./))
		begin_piece("Returns", "Returns" substr(piece[1], 7, RLENGTH - 6))
	open_page(name[h, i, 1], 3, "include/" header[h])
	for (k = 1; k <= n_members[h, i]; k++)
		names = names (k > 1 ? "\t" : "") name[h, i, k]
	put_name(names, summary_of())
	put_include(header[h])
	for (k = 1; k <= n_members[h, i]; k++)
		put_prototype(code[h, i, k])
	put_synopsis_end()
	if ((text = pieces_of("parameters")) != "") {
		put_section("PARAMETERS")
		put_terms(text, 1)
	}
	put_part("DESCRIPTION", pieces_of("prose"))
	put_part("RETURN VALUES", pieces_of("Returns"))
	if (has_kind("Errors")) {
		put_section("ERRORS")
		put_errors(errors_of())
	}
	put_part("DURING CAPTURE", pieces_of("During capture"))
	put_part("THREADS", pieces_of("Threads"))
	put_part("SOURCE", pieces_of("Source"))
	put_see(page_of[header[h]] " 3\tphilox 7")
	close_page()
}

# Notes which functions have pages
function name_function_pages(h, i, k)
{
	for (h = 2; h <= n_headers; h++)
		for (i = 1; i <= n_items[h]; i++)
			for (k = 1; has_parts(h, i) && k <= n_members[h, i]; k++)
				own_page[name[h, i, k]] = name[h, i, 1]
}

function function_pages(h, i)
{
	for (i = 1; i <= n_items[h]; i++)
		if (has_parts(h, i))
			function_page(h, i)
}
