# One entry for everything a person does with this project; the work itself is in cargo and in tools/.
#
#   make demo | test | lint | bench | soak           try it, prove it, measure it
#   make install [PREFIX=/usr/local] [DESTDIR=]      programs, man pages, completions
#   make static | test-static | verify-reproducible | dist   release: see tools/README.md

PREFIX  ?= /usr/local
DESTDIR ?=
CARGO   ?= cargo

PROGRAMS = ksql-flownet ksql-flow kintone-sandbox
bindir   = $(DESTDIR)$(PREFIX)/bin
sharedir = $(DESTDIR)$(PREFIX)/share

export CARGO

.PHONY: all demo test lint bench soak install uninstall static test-static verify-reproducible dist clean
.DEFAULT_GOAL := all

all:
	$(CARGO) build --locked --release

demo:
	$(CARGO) build --locked
	tools/demo.sh

# The whole suite except what needs the static programs (test-static).
test:
	$(CARGO) test --locked --no-fail-fast

lint:
	tools/lint.sh

bench:
	tools/bench.sh

soak:
	tools/soak.sh

install: all
	install -d "$(bindir)"
	install -m 0755 $(addprefix target/release/,$(PROGRAMS)) "$(bindir)"
	tools/install-pages.sh "$(sharedir)/man"
	tools/install-completions.sh target/release/ksql-flownet "$(sharedir)"

uninstall:
	rm -f $(addprefix "$(bindir)"/,$(PROGRAMS))
	tools/install-pages.sh --remove "$(sharedir)/man"
	tools/install-completions.sh --remove "$(sharedir)"

static:
	tools/static.sh

# What must hold for the programs of `make static`: size, no loader, and a life in an empty root folder.
test-static: static
	$(CARGO) test --locked --test static_programs -- --ignored

verify-reproducible:
	tools/verify-reproducible.sh

dist: static
	tools/dist.sh

clean:
	$(CARGO) clean
	rm -rf dist
