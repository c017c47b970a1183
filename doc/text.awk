# doc/text.awk - the text of a comment, or of a help, as paragraphs and lists
#
# Empty lines part paragraphs. Lines that are indented by two blanks or more are
# shown as they are, unless the first begins with "- ": then they are a list.
#
# In a paragraph are marked: `words in backquotes`, functions with their
# parentheses (those of philox with arguments in them, too), constants, types
# after their "struct" or "enum", headers by their path, and philox-train(1).
#
# The format of the page is given by other files: put_paragraph(text),
# put_literal(text), put_list(kind), put_item(key, text), put_list_end().

# --- blocks -------------------------------------------------------------------

function end_block()
{
	if (block_kind == "paragraph")
		put_paragraph(squeeze(block))
	else if (block_kind == "literal")
		put_literal(unindent(trim_lines(block)))
	else if (block_kind == "list") {
		put_item("", squeeze(block))
		put_list_end()
	}
	block = block_kind = ""
}

function trim_lines(text)
{
	gsub(/^\n+|\n+$/, "", text)
	return text
}

function begin_block(kind, line)
{
	end_block()
	block_kind = kind
	block = line
	if (kind == "list") {
		put_list("bullet")
		list_indent = indentation(line)
		sub(/^ *- /, "", block)
	}
}

function add_to_block(line)
{
	if (block_kind == "list" && line ~ /^ *- / &&
	    indentation(line) == list_indent) {
		put_item("", squeeze(block))
		sub(/^ *- /, "", line)
		block = line
	} else {
		block = block "\n" line
	}
}

# The kind of block that a line belongs to
function kind_of(line)
{
	if (indentation(line) < 2 && line !~ /^ - /)
		return "paragraph"
	if (block_kind == "list" && indentation(line) > list_indent)
		return "list"
	return line ~ /^ *- / ? "list" : "literal"
}

function put_text(text, n, line, i, kind, parted)
{
	n = split(text, line, "\n")
	parted = 0
	for (i = 1; i <= n; i++) {
		if (line[i] ~ /^ *$/) {
			parted = 1
			continue
		}
		kind = kind_of(line[i])
		if (kind == block_kind && (!parted || kind != "paragraph"))
			add_to_block(parted && kind == "literal" ? \
				"\n" line[i] : line[i])
		else
			begin_block(kind, line[i])
		parted = 0
	}
	end_block()
}

# --- tokens -------------------------------------------------------------------

BEGIN {
	TOKEN = "`[^`]+`|(struct|enum) philox_[a-z0-9_]+|philox/[a-z0-9_]+[.]h" \
		"|philox_[a-z0-9_]+([(][^()]*[)])?|PHILOX_[A-Z0-9_]+[*]?" \
		"|philox-[a-z]+[(]1[)]|[A-Za-z_][A-Za-z0-9_]*[(][)]"
}

# next_token(text): finds the first thing to mark: its place is in RSTART and
# RLENGTH, its kind is returned, "" if there is none
function next_token(text, found)
{
	if (!match(text, TOKEN))
		return ""
	found = substr(text, RSTART, RLENGTH)
	if (found ~ /^`/)
		return "quoted"
	if (found ~ /^[a-z]+ /)
		return "type"
	if (found ~ /^philox\//)
		return "header"
	if (found ~ /^philox-/)
		return "command"
	if (found ~ /\(/)
		return "call"
	if (found ~ /^PHILOX/)
		return "constant"
	return "name"
}
