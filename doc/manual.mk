# doc/manual.mk - manual pages, the same in HTML, completion for bash
#
# All are made from the headers and from what `philox help` says, with awk: see
# doc/pages.awk. They are part of `all`, as they take a tenth of a second.
# `make html` makes the pages in HTML alone.

AWK ?= awk
# What prints the help texts: in a cross build, a philox that runs here
HELP_OF ?= $(TOOL)

MANUAL := $(BUILD)/doc
MANUAL_SOURCES := $(wildcard doc/*.awk doc/*.bash) $(HEADERS)
MAN_FOLDERS := man1 man3 man7
# The date on the pages
TODAY = $(shell LC_ALL=C date -u $(if $(SOURCE_DATE_EPOCH),-d \
	@$(SOURCE_DATE_EPOCH)) '+%B %d, %Y' | sed 's/ 0/ /')
pages_awk = $(AWK) -f doc/lines.awk -f doc/headers.awk -f doc/helps.awk \
	-f doc/text.awk -f doc/functions.awk -f doc/$(1).awk -f doc/pages.awk

# The help texts, a file each, which are only as new as their last change
$(MANUAL)/helps.made: $(TOOL)
	@rm -rf $(MANUAL)/helps.new
	@mkdir -p $(MANUAL)/helps.new
	$(Q)$(HELP_OF) help >$(MANUAL)/helps.new/philox
	$(Q)for c in $$(sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' \
		$(MANUAL)/helps.new/philox); do \
		$(HELP_OF) help $$c >$(MANUAL)/helps.new/$$c || exit 1; done
	$(Q)diff -r $(MANUAL)/helps.new $(MANUAL)/helps >$@.diff 2>&1 || \
		{ rm -rf $(MANUAL)/helps; mv $(MANUAL)/helps.new $(MANUAL)/helps; }
	@rm -rf $(MANUAL)/helps.new $@.diff
	@touch $@
$(MANUAL)/helps/philox: $(MANUAL)/helps.made
	@:

# Each name that a header defines has a page, or a link to one
$(MANUAL)/man.made: $(MANUAL)/helps/philox $(MANUAL_SOURCES)
	$(call say,MAN)
	@rm -rf $(MANUAL)/man
	@mkdir -p $(MAN_FOLDERS:%=$(MANUAL)/man/%)
	$(Q)$(call pages_awk,mdoc) out=$(MANUAL)/man helps=$(<D) \
		date='$(TODAY)' $(HEADERS)
	$(Q)$(call pages_awk,mdoc) list=1 $(HEADERS) | while read -r name target; do \
		[ -z "$$target" ] || \
		ln -s $$target.3 $(MANUAL)/man/man3/$$name.3 || exit 1; done
	@touch $@

$(MANUAL)/html/index.html: $(MANUAL)/helps/philox $(MANUAL_SOURCES)
	$(call say,HTML)
	@rm -rf $(@D)
	@mkdir -p $(@D)
	$(Q)$(call pages_awk,html) out=$(@D) helps=$(<D) date='$(TODAY)' $(HEADERS)

$(MANUAL)/completion/philox: $(MANUAL)/helps/philox $(MANUAL_SOURCES)
	@mkdir -p $(@D)
	$(Q)$(AWK) -f doc/lines.awk -f doc/helps.awk -f doc/completion.awk \
		helps=$(<D) rest=doc/completion.bash >$@

html: $(MANUAL)/html/index.html

# A build with sanitizers is not one to install, and its tool may not run
# everywhere
MANUAL_MADE := $(MANUAL)/man.made $(MANUAL)/html/index.html \
	$(MANUAL)/completion/philox
all: $(if $(SANITIZE),,$(MANUAL_MADE))

# --- install ------------------------------------------------------------------

# The names of all files in section 3 and of all commands, from the sources
# alone: uninstall builds nothing
COMMAND_NAMES = $(shell sed -n 's/^\t{"\([a-z-]*\)", ".*/\1/p' tools/philox.c)
# once, and only then
LINES_3 = $(eval LINES_3 := $(shell $(call pages_awk,mdoc) list=1 $(HEADERS) | \
	tr ' ' @))$(LINES_3)
NAMES_3 = $(foreach n,$(LINES_3),$(firstword $(subst @, ,$(n))))
PAGES_3 = $(foreach n,$(LINES_3),$(if $(findstring @,$(n)),,$(n)))
COMMAND_PAGES = philox $(COMMAND_NAMES:%=philox-%)
INSTALLED_MANUAL = $(MANDIR)/man7/philox.7 $(COMPDIR)/philox \
	$(COMMAND_PAGES:%=$(MANDIR)/man1/%.1) $(NAMES_3:%=$(MANDIR)/man3/%.3) \
	$(addprefix $(DOCDIR)/html/,index.html $(PAGES_3:%=%.3.html) \
	$(COMMAND_PAGES:%=%.1.html))

install: install-manual
install-manual: all $(MANUAL_MADE)
	@install -d $(addprefix $(DESTDIR),$(MAN_FOLDERS:%=$(MANDIR)/%) \
		$(DOCDIR)/html $(COMPDIR))
	$(Q)for n in $(MAN_FOLDERS); do \
		install -m 644 $$(find $(MANUAL)/man/$$n -type f) \
			$(DESTDIR)$(MANDIR)/$$n || exit 1; done
	$(Q)cp -Pf $$(find $(MANUAL)/man/man3 -type l) $(DESTDIR)$(MANDIR)/man3
	$(Q)install -m 644 $(MANUAL)/html/*.html $(DESTDIR)$(DOCDIR)/html
	$(Q)install -m 644 $(MANUAL)/completion/philox $(DESTDIR)$(COMPDIR)

.PHONY: install-manual
