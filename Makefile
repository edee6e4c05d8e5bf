# SPDX-License-Identifier: GPL-2.0-only
# Targets for people: see `make help`.  Kernel modules have Makefiles of their
# own; what the lab runs is built in roots of the lab's suites (tests/lab).

.DEFAULT_GOAL := all
.PHONY: help
help:
	@echo 'Profile whole KVM guests from their host.'
	@echo
	@echo '  make demo          the whole thing on an emulated KVM host, with a report at the end; its capture stays in build/demo'
	@echo '  make check         check-unit and check-lab, each in roots of the lab: all that fits in an hour'
	@echo
	@echo '  make               the vmprof command (run ./configure first, or let make do it)'
	@echo '  make driver        the host module for the running kernel (KDIR=... for another)'
	@echo '  make rpm, make deb packages of the guest agent (KVER=..., KDIR=... of the guest'"'"'s kernel; SIGN_KEY=...,'
	@echo '                     SIGN_CERT=... to sign its module)'
	@echo '                     and of the command, with their modules for DKMS, in build/rpm, build/deb'
	@echo '  make install       command, man pages, completion, schemas (DESTDIR=, PREFIX= by configure)'
	@echo
	@echo '  make check-unit    unit, golden and fuzz-corpus tests with sanitizers, on this machine'
	@echo '  make check-lab     the lab tests on LAB_SUITE, a short form on the other suite and on an Intel host'
	@echo '  make check-long    the cases of the lab that take longer, on both suites and on an Intel host,'
	@echo '                     and both modules on a debug kernel'
	@echo '  make check-truth   captures of real workloads beside the emulator'"'"'s exact counts'
	@echo '  make check-hw      the lab tests on this machine itself: a real KVM host with a PMU'
	@echo '  make fuzz          what reads foreign bytes, with libFuzzer in a root of the lab: FUZZ="frame sftp ...",'
	@echo '                     FUZZ_SECONDS=60, FUZZ_RUNS=1000000 for each, FUZZ_JOBS=2 at a time'
	@echo
	@echo '  make bench         reading captures beside perf report, how long the page takes in a browser, what sampling and the'
	@echo '                     agent cost, and blocks beside exact counts (parts of it: make bench-analyzer, make bench-page,'
	@echo '                     make bench-driver, make bench-blocks)'
	@echo '  make bench-fdo     what a program gains that is made anew from a profile of the host'"'"'s: llvm-bolt, AutoFDO'
	@echo
	@echo '  make lab           build the images and products of LAB_SUITE (host) and GUEST_SUITE (guest);'
	@echo '                     with LAB_CPU=intel those of an Intel host as well'
	@echo '  make lab-shell     a shell on the emulated KVM host, everything loaded'
	@echo '  parts of these:    host-setup (what this machine lacks), products (what runs in the lab),'
	@echo '                     unit-tests, judge, bench-tools, vmprof-objects (programs and objects of tests)'
	@echo '  make screenshot    the picture of the README: of REPORT, a page or a capture ($(REPORT)), into $(PNG)'
	@echo '  make clean         remove build products; make distclean: all of build/'
	@echo '  make clean-cache   remove the cache of roots, images and QEMU ($(CACHE))'
	@echo
	@echo 'Knobs: V=1 (print commands), O=DIR (build there), LAB_SUITE=trixie|bookworm,'
	@echo '       GUEST_SUITE=..., VMPROF_CACHE=DIR, LAB_MIRROR=URL, CONFIGURE_ARGS=... (./configure --help)'

O ?= build
LAB_SUITE ?= trixie
GUEST_SUITE ?= $(LAB_SUITE)
OTHER_SUITE := $(if $(filter trixie,$(LAB_SUITE)),bookworm,trixie)
CACHE := $(or $(VMPROF_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/vmprof)
export LAB_SUITE GUEST_SUITE

REPORT ?= build/demo/web01.html
PNG ?= docs/report-html.png

# Targets of the lab need no configured tree on this machine.
ifneq ($(filter-out help demo check check-lab check-long check-truth check-hw lab lab-shell products \
	bench-driver bench-blocks bench-page bench-fdo screenshot clean distclean clean-cache host-setup driver fuzz,$(or $(MAKECMDGOALS),all)),)
include $(O)/config.mk
endif

SRC ?= $(CURDIR)
Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-7s %s\n' $(1) $(2))

# ----------------------------------------------------------- user space
analyzer_src := $(sort $(patsubst $(SRC)/%,%,$(wildcard $(SRC)/analyzer/*.c $(SRC)/analyzer/*/*.c)))
lib_src := $(sort $(patsubst $(SRC)/%,%,$(wildcard $(SRC)/lib/*.c)))
all_obj := $(patsubst %.c,$(O)/obj/%.o,$(analyzer_src) $(lib_src))
core_obj := $(filter-out $(O)/obj/analyzer/main.o,$(all_obj))

.PHONY: all
all: $(O)/vmprof

$(O)/config.mk: $(SRC)/configure $(SRC)/VERSION
	$(Q)$(SRC)/configure --build-dir=$(O) $(CONFIGURE_ARGS) || { \
		echo 'vmprof is not configured: install what is missing, then make again, or run ./configure first (./configure --help)' >&2; exit 1; }

$(O)/vmprof: $(all_obj)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(O)/obj/%.o: $(SRC)/%.c $(O)/config.mk
	@mkdir -p $(@D)
	$(call say,CC,$*.c)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(all_obj:.o=.d)

# The page of vmprof report --html goes into the program as it is.
ifneq ($(HTML_PAGE),)
$(O)/obj/analyzer/html/bundle.o: $(HTML_PAGE)
endif
ifneq ($(HTML_BUILD),)
$(HTML_PAGE): $(wildcard $(SRC)/analyzer/html/page/*) $(wildcard $(SRC)/analyzer/html/page/src/*)
	$(call say,PAGE,$@)
	$(Q)$(SRC)/analyzer/html/page/build $@
endif

MANDIR := $(PREFIX)/share/man
man_pages := $(wildcard $(SRC)/docs/man/*.[1-9])
# what man pages name
installed_docs := block-timing.md packages.md performance-xml.md report-json.md
.PHONY: install
install: $(O)/vmprof
	install -D -m 755 $(O)/vmprof $(DESTDIR)$(PREFIX)/bin/vmprof
	for m in $(man_pages); do install -D -m 644 $$m $(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/} || exit 1; done
	install -d $(DESTDIR)$(PREFIX)/share/vmprof $(DESTDIR)$(PREFIX)/share/doc/vmprof
	install -m 644 $(SRC)/docs/performance.xsd $(SRC)/docs/profile.schema.json $(DESTDIR)$(PREFIX)/share/vmprof
	install -m 644 $(addprefix $(SRC)/docs/,$(installed_docs)) $(DESTDIR)$(PREFIX)/share/doc/vmprof
	install -D -m 644 $(SRC)/analyzer/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/vmprof
	install -d -m 700 $(DESTDIR)/var/lib/vmprof $(DESTDIR)/var/cache/vmprof

# -------------------------------------------------------------- modules
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
.PHONY: driver rpm deb
driver:
	$(Q)$(MAKE) -C $(SRC)/host-driver KDIR=$(KDIR) BUILD=$(abspath $(O))/host-driver
# where no kernel is named, the guest's module is built for this machine's, if its headers are here
rpm deb: $(O)/vmprof
	$(Q)$(SRC)/packaging/$@/build guest --out $(abspath $(O))/$@ \
		$(if $(filter-out file,$(origin KVER) $(origin KDIR)),--kdir $(KDIR) --kver $(KVER)) \
		$(if $(SIGN_KEY)$(SIGN_CERT),--sign-key '$(SIGN_KEY)' --sign-cert '$(SIGN_CERT)')
	$(Q)$(SRC)/packaging/$@/build host --build $(O) --out $(abspath $(O))/$@

# ---------------------------------------------------------------- tests
unit_tests := $(patsubst $(SRC)/tests/unit/%.c,%,$(wildcard $(SRC)/tests/unit/test_*.c))
unit_bin := $(unit_tests:%=$(O)/tests/%)
fuzz_names := $(patsubst $(SRC)/tests/fuzz/fuzz_%.c,%,$(wildcard $(SRC)/tests/fuzz/fuzz_*.c))
fuzz_bin := $(fuzz_names:%=$(O)/tests/replay_%)

$(O)/tests/test_%: $(SRC)/tests/unit/test_%.c $(core_obj)
	@mkdir -p $(@D)
	$(call say,TEST,test_$*)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -I$(SRC) -o $@ $< $(core_obj) $(LIBS) $(CMOCKA_LIBS) -lpthread

$(O)/tests/test_finish: private LDFLAGS += -Wl,--wrap=vmp_needs

# Files of both modules, built as they are before a kernel that tests/unit/kernel_shim.h makes up
kernel_tests := $(patsubst %,$(O)/tests/test_%,lbr_amd lbr_intel lbr_hooks guest_vmx guest_svm counters steal guest_ring guest_events guest_known guest_maps guest_snapshot guest_task host_clock)
$(kernel_tests): private CPPFLAGS := -I$(O)/tests/kernel -I$(SRC)/tests/unit $(CPPFLAGS)
$(kernel_tests): | $(O)/tests/kernel
$(O)/tests/kernel: $(SRC)/Makefile $(wildcard $(SRC)/host-driver/*.[ch]) $(wildcard $(SRC)/host-driver/compat/*.[ch]) \
		$(foreach f,ring events known lost maps probes snapshot task,$(wildcard $(SRC)/guest-agent/module/$(f).[ch]))
	@rm -rf $@
	@for h in $$(sed -n 's/^#include <\([alt].*\)>$$/\1/p' $(filter %.c %.h,$^) | sort -u); do \
		mkdir -p $@/$${h%/*} && printf '#if __has_include_next(<%s>)\n#include_next <%s>\n#endif\n#include "kernel_shim.h"\n' $$h $$h > $@/$$h || exit 1; \
	done

# The harness is who ssh would be.
$(O)/tests/fuzz_sftp $(O)/tests/replay_sftp: private LDFLAGS += $(foreach f,start said end,-Wl,--wrap=vmp_child_$(f))

# A run is a whole report and more.
$(O)/tests/replay_capture: private CPPFLAGS += -DSTEP=7

$(O)/tests/replay_%: $(SRC)/tests/fuzz/fuzz_%.c $(SRC)/tests/fuzz/replay.c $(core_obj)
	@mkdir -p $(@D)
	$(call say,TEST,replay_$*)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -I$(SRC) -o $@ $(filter %.c,$^) $(core_obj) $(LIBS) -lpthread

-include $(unit_bin:%=%.d)

.PHONY: check-unit unit-tests
unit-tests: $(unit_bin) $(fuzz_bin) $(O)/vmprof $(O)/gen-capture $(O)/tests/trim
check-unit:
	$(Q)$(SRC)/configure --build-dir=$(O)/san --sanitize=address,undefined $(CONFIGURE_ARGS)
	$(Q)$(MAKE) O=$(O)/san SRC=$(SRC) unit-tests
	$(Q)O=$(O)/san $(SRC)/tests/unit/run

$(O)/tests/fuzz_%: $(SRC)/tests/fuzz/fuzz_%.c $(core_obj)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -I$(SRC) -o $@ $< $(core_obj) $(LIBS) -lpthread

# What compares a capture with the emulator's exact counts; runs beside the emulator.
judge_src := $(wildcard $(SRC)/tests/truth/*.c)
judge_obj := $(patsubst $(SRC)/%.c,$(O)/obj/%.o,$(judge_src))
$(judge_obj): CPPFLAGS += -I$(SRC)
-include $(judge_obj:.o=.d)
$(O)/tests/judge: $(judge_obj) $(core_obj)
	@mkdir -p $(@D)
	$(call say,TEST,judge)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lm
# Its questions are put by tests, which hear what it says
judge_parts := $(filter-out %/judge.o %/judge_blocks.o %/judge_loops.o %/pieces.o %/verdict.o,$(judge_obj))
$(O)/tests/test_judge: private LIBS := $(judge_parts) $(LIBS)
$(O)/tests/test_judge_blocks: private LIBS := $(filter %/binomial.o %/pieces.o %/judge_loops.o,$(judge_obj)) $(LIBS)
$(O)/tests/test_judge_loops: private LIBS := $(filter %/pieces.o,$(judge_obj)) $(LIBS)
$(O)/tests/test_judge $(O)/tests/test_judge_blocks $(O)/tests/test_judge_loops: $(judge_src) $(judge_obj) $(wildcard $(SRC)/tests/truth/*.h)
# The same with one file of the analyzer broken
analyzer_faults := $(shell grep -l '^. analyzer/' $(SRC)/tests/truth/broken/*.sed)
$(O)/tests/judge-%: $(SRC)/tests/truth/broken/%.sed $(O)/tests/judge
	$(call say,TEST,judge-$*)
	$(Q)file=$$(sed -n '1s/^# //p' $<); sed -f $< $(SRC)/$$file > $@.c; ! cmp -s $@.c $(SRC)/$$file && \
		$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $@.c $(judge_obj) \
			$$(printf '%s\n' $(core_obj) | grep -v "/obj/$${file%.c}[.]o$$") $(LIBS) -lm
.PHONY: judge
judge: $(O)/tests/judge $(foreach f,$(patsubst $(SRC)/tests/truth/broken/%.sed,%,$(analyzer_faults)),$(O)/tests/judge-$(f))

# What makes a capture of the lab small enough for tests/golden.
$(O)/tests/trim: $(SRC)/tests/golden/trim.c $(core_obj)
	@mkdir -p $(@D)
	$(call say,TEST,trim)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -I$(SRC) -o $@ $< $(core_obj) $(LIBS) -lpthread

.PHONY: vmprof-objects
vmprof-objects: $(core_obj)

.PHONY: fuzz
fuzz: host-setup
	$(Q)tests/lab/in-root $(LAB_SUITE)/fuzz env O=/out/fuzz FUZZ='$(FUZZ)' $(foreach v,RUNS SECONDS JOBS,FUZZ_$(v)=$(FUZZ_$(v))) tests/fuzz/run

# ---------------------------------------------------------------- bench
bench_obj := $(patsubst %,$(O)/obj/tests/bench/%.o,gen-capture world branches elfobj perfdata)

$(O)/gen-capture: $(bench_obj) $(core_obj)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(O)/measure: $(O)/obj/tests/bench/measure.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

-include $(bench_obj:.o=.d)

$(O)/exactsum: $(O)/obj/tests/bench/exactsum.o $(O)/obj/tests/truth/exact.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(O)/obj/tests/bench/exactsum.o: CPPFLAGS += -I$(SRC)

.PHONY: bench bench-tools bench-analyzer bench-driver bench-blocks bench-page bench-fdo
bench-tools: $(O)/vmprof $(O)/gen-capture $(O)/measure
# One after the other: they write to one document, and the last one ends with the table of tables. What is not
# held in one of them hides nothing of the others; it fails at the end.
bench:
	$(Q)bad=; for part in analyzer page blocks driver; do $(MAKE) bench-$$part || bad="$$bad bench-$$part"; done; \
		[ -z "$$bad" ] || { echo "bench: not all is as it should be, see above:$$bad" >&2; exit 1; }
bench-analyzer: bench-tools
	$(Q)O=$(O) $(SRC)/tests/bench/run
bench-driver: host-setup
	$(Q)tests/bench/driver
bench-blocks: host-setup
	$(Q)tests/bench/blocks
bench-page: host-setup
	$(Q)tests/bench/page
bench-fdo: host-setup
	$(Q)tests/bench/fdo

# ------------------------------------------------------------------ lab
.PHONY: host-setup lab products lab-shell demo screenshot check check-lab check-long check-truth check-hw
host-setup:
	$(Q)tests/lab/host-setup
lab: host-setup
	$(Q)tests/lab/build
	$(Q)tests/lab/products
ifeq ($(LAB_CPU),intel)
	$(Q)tests/lab/root bookworm bochs >/dev/null
	$(Q)tests/lab/intel/image $(LAB_SUITE) >/dev/null
	$(Q)tests/lab/intel/products $(LAB_SUITE)
endif
products: host-setup
	$(Q)tests/lab/products
lab-shell: lab
	$(Q)tests/lab/shell
demo: host-setup
	$(Q)tests/lab/build
	$(Q)tests/lab/products --demo
	$(Q)tests/lab/demo
screenshot: host-setup
	$(Q)tests/browser/screenshot '$(REPORT)' '$(PNG)'
check: host-setup
	$(Q)tests/check
check-lab: lab
	$(Q)tests/check lab
check-long: lab
	$(Q)tests/check long
check-truth: lab
	$(Q)tests/check truth
check-hw: host-setup
	$(Q)tests/check hw

# ------------------------------------------------------------- clean up
.PHONY: clean distclean clean-cache
clean:
	$(Q)rm -rf $(O)/obj $(O)/vmprof $(O)/page.html $(O)/gen-capture $(O)/measure $(O)/exactsum $(O)/tests $(O)/san $(O)/host-driver $(O)/rpm $(O)/deb
distclean:
	$(Q)rm -rf build
clean-cache:
	$(Q)tests/lab/clean-cache
