# philox. `make help` prints the lines here that begin with two #, and lists what
# may be made and what may be set.
#
# Sources are found by their place and name: adding a file needs no edit here.
# A changed flag rebuilds the files that use it.

# --- what a user may set ------------------------------------------------------

## Settings, as in `make NAME=value TARGET`:
## V=1              show the commands
V ?= 0
## CC, CXX, AR, OBJCOPY, STRIP; CFLAGS, CXXFLAGS, NVCCFLAGS, LDFLAGS: after ours
OBJCOPY ?= objcopy
STRIP   ?= strip
## PREFIX=/usr/local, and below it BINDIR, INCLUDEDIR, LIBDIR, MANDIR, DOCDIR and
##                  COMPDIR (completion): where philox is installed
PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
LIBDIR     ?= $(PREFIX)/lib
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/philox
COMPDIR    ?= $(PREFIX)/share/bash-completion/completions
## DESTDIR=         a folder in front of all these, to make a package
DESTDIR ?=
## RPATH=LIBDIR     where programs linked through pkg-config look for the library;
##                  empty for the folders that every loader searches
RPATH ?= $(if $(filter /lib% /usr/lib%,$(LIBDIR)/),,$(LIBDIR))
## DEBUG=1          no optimisation, checked invariants
DEBUG ?= 0
## SANITIZE=address,undefined or thread: stops at the first finding
SANITIZE ?=
## HARDEN=0         without checks of stacks and of calls of the C library, and
##                  with tables of the linker that may be written to
HARDEN ?= 1
## WERROR=1         a warning is an error; for our own checks, which set it
WERROR ?= $(if $(filter check test simulated,$(MAKECMDGOALS)),1,0)
## SIMDE=1          the loops for AVX-512 on other instructions (libsimde-dev)
SIMDE ?= 0
## CUDA=0           build without; CUDA_HOME: the toolkit; GENCODE: nvcc's targets
# A toolkit named on the command line must exist; one that is found, or named by
# the environment, is used if there is also a C++ compiler.
CUDA_WANTED := $(filter command,$(origin CUDA_HOME))
CUDA_HOME ?= $(or $(patsubst %/bin/nvcc,%,$(shell command -v nvcc)),/usr/local/cuda)
CUDA_HOME := $(CUDA_HOME)
CUDA ?= $(if $(SANITIZE),0,$(if $(CUDA_WANTED),1,$(if $(and $(wildcard \
	$(CUDA_HOME)/bin/nvcc),$(shell command -v $(CXX))),1,0)))
## NVTX=1 or 0      ranges for NVIDIA's profilers; 1 if the toolkit has its headers
NVTX ?= $(if $(WITH_CUDA),$(if $(wildcard $(CUDA_HOME)/include/nvtx3/nvToolsExt.h),1,0),0)
## MPICC=mpicc      Open MPI's compiler, for `make ranks`
MPICC ?= mpicc
## BUILD=build      where everything goes; special builds have a folder in it
BUILD ?= build$(WITH_SIMDE:%=/simde)$(SANITIZE:%=/$(subst $(comma),-,$(SANITIZE)))$(WITH_DEBUG:%=/debug)
## OUT=BUILD/gpu    where `make gpu` reports; ROWS='probe bench-*': only those rows
OUT  ?= $(BUILD)/gpu
ROWS ?=
## KERNELS='normal_* head_1'   of which kernels `make sass` tells; all if empty
KERNELS ?=

comma := ,
WITH_CUDA  := $(filter-out 0,$(CUDA))
WITH_DEBUG := $(filter-out 0,$(DEBUG))
WITH_NVTX   = $(filter-out 0,$(NVTX))
WITH_SIMDE := $(filter-out 0,$(SIMDE))
WITH_WERROR := $(filter-out 0,$(WERROR))
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

# --- the version, which include/philox/status.h says -------------------------

version = $(shell sed -n 's/^.define PHILOX_VERSION_$(1) //p' \
	include/philox/status.h)
MAJOR   := $(call version,MAJOR)
MINOR   := $(call version,MINOR)
VERSION := $(MAJOR).$(MINOR).$(call version,PATCH)
# While MAJOR is 0 a new MINOR may break programs, and is another library to them
SONAME  := libphilox.so.$(if $(filter 0,$(MAJOR)),0.$(MINOR),$(MAJOR))

NODE := $(shell sed -n 's/^PHILOX_\([0-9.]*\) {.*/\1/p' lib/base/philox.map | tail -n 1)
ifneq ($(NODE),$(MAJOR).$(MINOR))
$(error include/philox/status.h says $(VERSION), but the newest node of \
	lib/base/philox.map is PHILOX_$(NODE))
endif

# --- what is built ------------------------------------------------------------

# below FOLDERS,ENDINGS: the files in and below folders with these endings
below = $(sort $(foreach e,$(2),$(wildcard $(1:%=%/*.$e) $(1:%=%/*/*.$e) \
	$(1:%=%/*/*/*.$e))))
# A .cu file is for builds with CUDA, and so is a C file whose name ends in cuda
# or whose folder is named so
cuda_of = $(foreach f,$(1),$(if $(findstring /cuda/,$f)$(filter \
	%.cu %cuda.c,$f),$f))
CUDA_SOURCES := $(call cuda_of,$(call below,lib graph tools tests examples,c cu))
sources = $(filter-out $(if $(WITH_CUDA),,$(CUDA_SOURCES)),\
	$(call below,$(1),c cu))
objects = $(patsubst %,$(BUILD)/%.o,$(sort $(1)))

LIB_OBJS    := $(call objects,$(call sources,lib graph alloc))
TOOL_MAIN   := $(call objects,tools/philox.c)
TOOL_OBJS   := $(filter-out $(TOOL_MAIN),$(call objects,$(call sources,tools)))
# One program of all tests, a folder for each subject; one of each file in
# stress; what they share, the examples too, is a library. C++ is for oracles
# that need NVIDIA's headers.
SUBJECTS    := numbers ledger states graph alloc pool device rows data sample accept split quantize subset runner save mesh tools
TEST_OBJS   := $(call objects,$(call sources,$(SUBJECTS:%=tests/%)))
STRESS_OBJS := $(call objects,$(call sources,tests/stress))
HELPER_OBJS := $(call objects,$(call sources,tests/support tests/fuzz) \
	$(filter examples/fused_dropout%,$(call sources,examples)) \
	$(if $(WITH_CUDA),$(wildcard tests/support/*/*.cpp)))

# The peers of `philox bench`, built by each compiler that is there
RANDOM123 ?= /usr/include
PEERS := $(BUILD)/peers/pytorch.py $(if $(SANITIZE),,$(if $(wildcard $(RANDOM123)/Random123/philox.h),\
	$(foreach c,gcc clang,$(if $(shell command -v $(c:gcc=g)++),\
	$(BUILD)/peers/random123_$c.so))))

HEADERS := include/philox.h $(sort $(wildcard include/philox/*.h))
SOURCE  := $(BUILD)/generated/kernel_source.h
SAID    := $(BUILD)/generated/said_calls.h
INNER   := $(BUILD)/inner.a
STATIC  := $(BUILD)/libphilox.a
SHARED  := $(BUILD)/libphilox.so.$(VERSION)
TOOL    := $(BUILD)/philox
TESTS   := $(BUILD)/tests/philox-tests
STRESS  := $(STRESS_OBJS:%.c.o=%)
CMAKE_FILES := $(addprefix $(BUILD)/cmake/philox-,config.cmake config-version.cmake)

##
## Targets:
## all              the libraries, the tool and the CMake package
all: $(STATIC) $(SHARED) $(BUILD)/$(SONAME) $(BUILD)/libphilox.so $(TOOL) \
	$(CMAKE_FILES) $(PEERS)

# --- flags --------------------------------------------------------------------

DEFINES := -D_GNU_SOURCE $(if $(WITH_CUDA),-DPHILOX_WITH_CUDA) \
	$(if $(WITH_DEBUG),-DPHILOX_DEBUG) $(if $(WITH_SIMDE),-DPHILOX_SIMDE)
SANITIZERS := $(addprefix -fsanitize=,$(subst $(comma), ,$(SANITIZE)))
# What is hardened is optimised, and has no sanitizer. `hard FLAGS`, of a user, is
# without what they say themselves: two values of a macro are a warning.
WITH_HARDEN := $(if $(SANITIZE)$(WITH_DEBUG),,$(filter-out 0,$(HARDEN)))
no_hard = $(findstring -fsanitize,$(1))$(filter -O0,$(lastword $(filter -O%,$(1))))
hard = $(if $(WITH_HARDEN),$(if $(call no_hard,$(1)),,-fstack-protector-strong \
	$(if $(findstring _FORTIFY_SOURCE,$(1)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)))
HOST_FLAGS := -fPIC -fvisibility=hidden -ffp-contract=off -g $(SANITIZERS) \
	$(if $(SANITIZE),-fno-sanitize-recover=all -fno-omit-frame-pointer)
COMMON_FLAGS := -Wall -Wextra $(if $(WITH_DEBUG),-O0,-O2) $(HOST_FLAGS) \
	$(DEFINES) -Iinclude -I. -I$(dir $(SOURCE))
# In no stamp: it changes no object
STRICT := $(if $(WITH_WERROR),-Werror)
ALL_CFLAGS   = -std=c11 $(COMMON_FLAGS) $(call hard,$(CC) $(CFLAGS)) \
	$(TOOLKIT) $(CFLAGS)
ALL_CXXFLAGS = -std=c++17 $(COMMON_FLAGS) $(call hard,$(CXX) $(CXXFLAGS)) \
	$(TOOLKIT) $(CXXFLAGS)
# What is compiled to bytecode is linked with the same option
LTO := $(filter -flto% -fno-lto,$(CC) $(CFLAGS))
ALL_LDFLAGS := $(SANITIZERS) $(LTO) $(WITH_HARDEN:%=-Wl,-z,relro,-z,now) $(LDFLAGS)
# An object of several. Where it would keep its bytecode (clang's has none), gcc
# is told to compile it: names that become local are only in machine code.
PARTIAL = -r -nostdlib $(if $(LTO),$(LTO) $(if $(findstring clang,$(shell \
	$(CC) --version)),,-flinker-output=nolto-rel))
# Sanitizers leave their own symbols undefined in a shared library
SHARED_LDFLAGS := -shared -Wl,-soname,$(SONAME) \
	-Wl,--version-script=lib/base/philox.map $(if $(SANITIZE),,-Wl$(comma)-z,defs)
LIBS := -ldl -lpthread -lm

ifdef WITH_CUDA
ifeq ($(wildcard $(CUDA_HOME)/bin/nvcc),)
$(error there is no $(CUDA_HOME)/bin/nvcc: set CUDA_HOME, or CUDA=0)
endif
NVCC := $(CUDA_HOME)/bin/nvcc
ifndef GENCODE
GPUS := $(filter sm_80 sm_90 sm_100,$(shell $(NVCC) --list-gpu-code))
GPUS := $(GPUS:sm_%=%)
GENCODE := $(foreach n,$(GPUS),-gencode arch=compute_$n,code=sm_$n) \
	$(foreach n,$(lastword $(GPUS)),-gencode arch=compute_$n,code=compute_$n)
endif
# Without thread-safe statics nothing needs libstdc++. They are in nvcc's launch
# stubs only, which cudaLaunchKernel() does not call.
ALL_NVCCFLAGS := -std=c++17 -O3 $(GENCODE) \
	$(if $(filter-out g++,$(CXX)),-ccbin $(CXX)) \
	$(addprefix -Xcompiler ,$(HOST_FLAGS) -fno-threadsafe-statics) \
	$(DEFINES) -Iinclude -I. $(NVCCFLAGS)
CUDA_INCLUDES := -isystem $(CUDA_HOME)/include -isystem $(CUDA_HOME)/include/cccl
CUDA_LIBS := -L$(CUDA_HOME)/lib64 -lcudart_static -lrt
ORACLES   := $(if $(wildcard $(CUDA_HOME)/include/curand_kernel.h),\
	-DPHILOX_ORACLE_CURAND)
endif

# --- how a file is made: quiet unless V=1 -------------------------------------

Q   := $(if $(filter-out 0,$(V)),,@)
say  = $(if $(Q),@printf '  %-5s %s\n' $(1) $@)

# Objects built by different command lines are not linked together: these files
# hold the command lines and are as new as their last change.
define stamp
	@mkdir -p $(@D)
	@echo '$(1)' | cmp -s - $@ || echo '$(1)' >$@
endef
$(BUILD)/stamp.host: FORCE
	$(call stamp,$(CC) $(ALL_CFLAGS) $(CXX) $(ALL_CXXFLAGS) $(CUDA_INCLUDES) $(WITH_NVTX:%=NVTX $(CUDA_HOME)))
$(BUILD)/stamp.nvcc: FORCE
	$(call stamp,$(NVCC) $(ALL_NVCCFLAGS))
$(BUILD)/stamp.link: FORCE
	$(call stamp,$(CC) $(ALL_LDFLAGS) $(SHARED_LDFLAGS) $(CUDA_LIBS) $(LIBS) \
		$(LIB_OBJS) $(TOOL_OBJS) $(TEST_OBJS) $(HELPER_OBJS))

# NVIDIA's headers are only for the files that need them
$(call objects,$(CUDA_SOURCES)): private TOOLKIT := $(CUDA_INCLUDES)
$(TEST_OBJS) $(HELPER_OBJS): private TOOLKIT := $(CUDA_INCLUDES) $(ORACLES)

ifneq ($(WITH_NVTX),)
ifeq ($(wildcard $(CUDA_HOME)/include/nvtx3/nvToolsExt.h),)
$(error there is no $(CUDA_HOME)/include/nvtx3/nvToolsExt.h: set CUDA_HOME, or NVTX=0)
endif
$(call objects,lib/trace/nvtx.c): private TOOLKIT := -DPHILOX_NVTX \
	-isystem $(CUDA_HOME)/include
endif

# The vector loops are for machines that have the instructions: lib/base/base.h.
# Where their variables are takes gcc as long as all the rest, or twice that.
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
VECTORS := $(if $(SANITIZE)$(WITH_DEBUG)$(WITH_SIMDE),-O1 \
	-DPHILOX_UNROLL_NOTHING,-O3) $(if $(filter -g%,$(CFLAGS)),,-g1)
VECTORS_fill_avx2   := $(VECTORS) -mavx2 -mfma -mf16c
VECTORS_fill_avx512 := $(VECTORS_fill_avx2) $(if $(WITH_SIMDE),-Wno-psabi,-mavx512f -mavx512dq -mavx512bw \
	-mavx512vl -mprefer-vector-width=512)
VECTORS_quantize_avx2   := $(VECTORS_fill_avx2)
VECTORS_quantize_avx512 := $(VECTORS_fill_avx512)
VECTORS_subset_avx2   := $(VECTORS_fill_avx2)
VECTORS_subset_avx512 := $(VECTORS_fill_avx512)
VECTORS_lanes_avx2   := $(VECTORS_fill_avx2)
VECTORS_lanes_avx512 := $(VECTORS_fill_avx512)
endif

define compile
	$(call say,$(1))
	@mkdir -p $(@D)
	$(Q)$(2) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ $<
endef
$(BUILD)/%.c.o: %.c $(BUILD)/stamp.host
	$(call compile,CC,$(CC) $(STRICT) $(ALL_CFLAGS) $(VECTORS_$(basename $(<F))))
$(BUILD)/%.cpp.o: %.cpp $(BUILD)/stamp.host
	$(call compile,CXX,$(CXX) $(STRICT) $(ALL_CXXFLAGS))
$(BUILD)/%.cu.o: %.cu $(BUILD)/stamp.nvcc
	$(call compile,NVCC,$(NVCC) $(STRICT:%=% all-warnings) $(ALL_NVCCFLAGS))

# Relocatable device code, linked at once with NVIDIA's library of device code:
# the object is like any other, and a program that is linked with it needs no
# device linker. One that has one must not find the code to link it again.
RELOCATABLE := $(BUILD)/lib/kernels/cuda/condition
$(RELOCATABLE).rdc.o: lib/kernels/cuda/condition.cu $(BUILD)/stamp.nvcc
	$(call compile,NVCC,$(NVCC) $(STRICT:%=% all-warnings) $(ALL_NVCCFLAGS) -rdc=true)
$(RELOCATABLE).cu.o: $(RELOCATABLE).rdc.o
	$(call say,DLINK)
	$(Q)$(NVCC) $(ALL_NVCCFLAGS) -dlink -o $(RELOCATABLE).dlink.o $< \
		-L$(CUDA_HOME)/lib64 -lcudadevrt
	$(Q)$(CC) -r -nostdlib -o $@ $< $(RELOCATABLE).dlink.o
	$(Q)$(OBJCOPY) --rename-section __nv_relfatbin=.philox_relfatbin $@

# Its loops feed test batteries; gcc unrolls and vectorises them only at -O3
$(call objects,tools/draw/axis.c): private CFLAGS += $(if $(WITH_DEBUG),,-O3)

-include $(call below,$(addprefix $(BUILD)/,lib graph alloc tools tests examples),d)

# --- libraries and the tool ---------------------------------------------------

define archive
	$(call say,AR)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) qcs $@ $(filter %.o,$^)
endef
define link
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(1) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
		$(CUDA_LIBS) $(LIBS) $(2)
endef

# philox/kernel.h with all it includes, for philox_kernel_source()
$(SOURCE): lib/base/source.awk $(HEADERS)
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)awk -f $< include/philox/kernel.h >$@

$(call objects,lib/base/source.c): $(SOURCE)

# Calls of tests, with a check of what they leave in philox_error_message()
$(SAID): tests/support/said/said.awk $(HEADERS)
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)awk -f $< $(HEADERS) >$@

$(TEST_OBJS) $(STRESS_OBJS) $(HELPER_OBJS): | $(SAID)

$(INNER): $(LIB_OBJS) $(BUILD)/stamp.link
	$(archive)

# In the static library names that are hidden in the shared one are local
$(BUILD)/philox.o: $(LIB_OBJS) $(BUILD)/stamp.link
	$(Q)$(CC) $(PARTIAL) -o $@ $(filter %.o,$^)
	$(Q)$(OBJCOPY) --localize-hidden $@

$(STATIC): $(BUILD)/philox.o
	$(archive)

$(SHARED): $(LIB_OBJS) lib/base/philox.map $(BUILD)/stamp.link
	$(call link,$(SHARED_LDFLAGS))

$(BUILD)/$(SONAME) $(BUILD)/libphilox.so: $(SHARED)
	$(Q)ln -sf $(<F) $@

# Linked statically: it runs from any folder and sees hidden names
$(TOOL): $(TOOL_MAIN) $(TOOL_OBJS) $(INNER) $(BUILD)/stamp.link
	$(call link)

# Peers of `philox bench` are not installed; nothing else needs them. Libraries
# are as fast as their compilers can make them, for this machine only.
$(BUILD)/peers/%.py: tools/bench/peers/%.py
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/peers/random123_%.so: tools/bench/peers/random123.cpp
	$(call say,PEER)
	@mkdir -p $(@D)
	$(Q)$(*:gcc=g)++ -std=c++17 -O3 -march=native -Wall -Wextra -fPIC -shared \
		-fvisibility=hidden -I$(RANDOM123) -o $@ $< || \
		echo "  $@ is left out: philox bench says so"

# --- examples/ranks, for mpirun -----------------------------------------------

RANKS := $(BUILD)/ranks
RANKS_OBJS := $(call objects,$(filter examples/ranks/%,$(call sources,examples)))
ifneq ($(filter ranks,$(MAKECMDGOALS)),)
$(if $(shell command -v $(MPICC)),,$(error make ranks needs Open MPI: apt-get \
	install openmpi-bin libopenmpi-dev, or set MPICC))
endif
# Open MPI's compiler takes ours from OMPI_CC. Products are rounded before they
# are added, as on a host; loops over matrices gain from -O3.
RANKS_CC := OMPI_CC='$(CC)' $(MPICC)
$(RANKS_OBJS): private override CC := $(RANKS_CC)
$(RANKS_OBJS): private TOOLKIT := -O3 $(WITH_CUDA:%=-DWITH_CUDA)
$(RANKS_OBJS): private ALL_NVCCFLAGS += -fmad=false

$(RANKS): private override CC := $(RANKS_CC)
$(RANKS): $(RANKS_OBJS) $(STATIC) $(BUILD)/stamp.link
	$(call link)

## ranks            BUILD/ranks, of examples/ranks: for mpirun
ranks: $(RANKS)

# --- tests --------------------------------------------------------------------

$(BUILD)/tests/helpers.a: $(TOOL_OBJS) $(HELPER_OBJS) $(BUILD)/stamp.link
	$(archive)

$(TESTS): $(TEST_OBJS) $(BUILD)/tests/helpers.a $(INNER)
	$(call link,,-lcriterion $(if $(ORACLES),-lstdc++))

$(STRESS): %: %.c.o $(BUILD)/tests/helpers.a $(INNER)
	$(call link,,$(if $(ORACLES),-lstdc++))

# The tool and the tests on a simulated GPU (tests/simulated/simulated.h): the
# same objects, with the kernels compiled as C++ and another runtime, which has
# its own host devices: copies of their objects, with local names.
ifdef WITH_CUDA
SIMULATION := $(BUILD)/tests/simulated
KERNEL_OBJS := $(call objects,$(wildcard tests/simulated/kernels/*.cpp))
PROOF_OBJS := $(call objects,$(wildcard tests/simulated/proof/*.cpp))
RUNTIME_OBJS  := $(call objects,$(wildcard tests/simulated/*.c))
SIMULATED_BLAS := $(call objects,tests/simulated/blas/blas.cpp)
ASKED_OBJS := $(call objects,$(wildcard tests/simulated/asked/*.c*))
$(KERNEL_OBJS) $(PROOF_OBJS) $(RUNTIME_OBJS) $(SIMULATED_BLAS) $(ASKED_OBJS): \
	private TOOLKIT := $(CUDA_INCLUDES)
# tests/simulated/switches.c has the sanitizer's functions
$(KERNEL_OBJS) $(PROOF_OBJS) $(SIMULATED_BLAS) $(ASKED_OBJS): private \
	CXXFLAGS += -Wno-unknown-pragmas -fno-exceptions \
	$(if $(SANITIZE),-DSIMULATED_SANITIZED,-fsanitize=thread)
$(SIMULATION)/switches.c.o: private CFLAGS += \
	$(if $(SANITIZE),-DSIMULATED_SANITIZED)

$(SIMULATION)/runtime.o: $(RUNTIME_OBJS) $(call objects,\
		$(filter-out %/queue.c %/order.c,$(wildcard lib/device/host/*.c)) \
		lib/device/device.c lib/device/spaces.c lib/base/cpu.c \
		lib/base/status.c lib/containers/array.c lib/containers/map.c \
		lib/containers/ranges.c lib/containers/slab.c)
	$(Q)$(CC) -r -nostdlib -o $@ $^
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='cuda*' \
		--keep-global-symbol='simulated_*' \
		--keep-global-symbol='__tsan_*' $@

SIMULATED_OBJS := $(KERNEL_OBJS) $(SIMULATION)/runtime.o \
	$(filter-out %.cu.o,$(LIB_OBJS) $(TOOL_OBJS))
$(SIMULATION)/philox: $(TOOL_MAIN) $(SIMULATED_OBJS) $(BUILD)/stamp.link
	$(call link)
$(SIMULATION)/philox-tests: $(TEST_OBJS) $(filter-out %.cu.o,$(HELPER_OBJS)) \
		$(SIMULATED_OBJS) $(BUILD)/stamp.link
	$(call link,,-lcriterion $(if $(ORACLES),-lstdc++))
$(SIMULATION)/harsh: $(PROOF_OBJS) $(SIMULATION)/runtime.o \
		$(call objects,lib/device/enter.c lib/device/device.c lib/base/status.c) \
		$(BUILD)/stamp.link
	$(call link)
$(SIMULATION)/gpu-cublas: $(SIMULATED_BLAS) $(SIMULATED_OBJS) $(BUILD)/stamp.link
	$(call link)

$(SIMULATION)/answers: $(ASKED_OBJS) \
		$(call objects,tests/probe/shared.c tests/probe/launch.c) \
		$(SIMULATED_OBJS) $(BUILD)/stamp.link
	$(call link)

# examples/ranks there, with a NCCL that is loaded when it runs
RANKS_KERNELS := $(call objects,tests/simulated/ranks/kernels.cpp)
$(RANKS_KERNELS): private TOOLKIT := $(CUDA_INCLUDES)
$(RANKS_KERNELS): private CXXFLAGS += -Wno-unknown-pragmas -fno-exceptions \
	$(if $(SANITIZE),-DSIMULATED_SANITIZED,-fsanitize=thread)
$(SIMULATION)/ranks/ranks: private override CC := $(RANKS_CC)
$(SIMULATION)/ranks/ranks: $(filter-out %.cu.o,$(RANKS_OBJS)) $(RANKS_KERNELS) \
		$(SIMULATION)/runtime.o $(filter-out %/train_cuda.cpp.o \
		%/bench_cuda.cpp.o %/fused_dropout.cpp.o,$(KERNEL_OBJS)) \
		$(filter-out %.cu.o,$(LIB_OBJS)) $(BUILD)/stamp.link
	$(call link,-rdynamic)
$(SIMULATION)/ranks/libnccl.so: tests/simulated/ranks/nccl.c
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(RANKS_CC) -std=c11 -Wall -Wextra -fPIC -shared -o $@ $<
SIMULATED := $(SIMULATION)/philox $(SIMULATION)/philox-tests \
	$(SIMULATION)/harsh $(SIMULATION)/answers $(SIMULATION)/gpu-cublas

# Questions that only a real GPU answers (tests/probe/probe.h)
PROBE := $(BUILD)/tests/gpu-probe
PROBE_OBJS := $(call objects,$(wildcard tests/probe/*.c tests/probe/*.cu) \
	tools/train/model/cublas.c)
$(PROBE_OBJS): private TOOLKIT := $(CUDA_INCLUDES)
$(PROBE): $(PROBE_OBJS) $(INNER) $(BUILD)/stamp.link
	$(call link)

# cuBLAS in bodies of a runner; the library is looked for when it runs
BLAS := $(BUILD)/tests/gpu-cublas
$(BLAS): $(call objects,tests/gpu/cublas.c tools/train/model/cublas.c) $(INNER) \
		$(BUILD)/stamp.link
	$(call link)
endif

# Criterion does not run under the thread sanitizer
CRITERION := $(if $(findstring thread,$(SANITIZE)),,$(TESTS))
# PARTS: patterns of the parts of tests/check.sh that run, all if it is empty
PARTS ?=
ifneq ($(findstring ?,$(PARTS))$(findstring [,$(PARTS)),)
$(error PARTS has patterns with one * each, no other signs)
endif
part = $(if $(PARTS),$(filter $(subst *,%,$(PARTS)),$(1)),$(1))
GROWTH := $(BUILD)/tests/growth
CHECKED := $(if $(call part,tests),$(CRITERION)) \
	$(addprefix $(BUILD)/tests/,$(call part,$(STRESS:$(BUILD)/tests/%=%))) \
	$(if $(filter growth%,$(PARTS)),$(GROWTH)/steps $(GROWTH)/texts) \
	$(if $(call part,scripts/devices/simulated.sh scripts/devices/gpu.sh),$(SIMULATED)) \
	$(if $(call part,scripts/devices/gpu.sh),$(PROBE) $(BLAS))
# The scripts build and install by themselves and must do it in the same way
SETTINGS = BUILD='$(BUILD)' CC='$(CC)' CXX='$(CXX)' CUDA='$(CUDA)' \
	CUDA_HOME='$(CUDA_HOME)' NVTX='$(NVTX)' DEBUG='$(DEBUG)' \
	SANITIZE='$(SANITIZE)' HARDEN='$(HARDEN)' WERROR='$(WERROR)' PARTS='$(PARTS)' \
	MAKEFLAGS= $(foreach \
	flags,CFLAGS CXXFLAGS NVCCFLAGS LDFLAGS GENCODE,$(flags)='$($(flags))')

# The steps of the library's calls and of commands (tests/growth): both once more,
# compiled so that their basic blocks and their bytes are counted
GROWTH_CC = $(CC) $(STRICT) -std=c11 -Wall -Wextra -O1 -g -D_GNU_SOURCE \
	-ffp-contract=off -fno-builtin -Iinclude -I. -I$(dir $(SOURCE))
VECTOR_SOURCES := $(wildcard lib/fill/simd/*.c)
GROWTH_OBJS := $(patsubst %,$(GROWTH)/objects/%.o,$(filter-out $(CUDA_SOURCES) \
	$(VECTOR_SOURCES),$(call below,lib graph alloc,c)))
GROWTH_TOOLS := $(patsubst %,$(GROWTH)/objects/%.o,$(call below,$(addprefix \
	tools/,cli diff explain formats inspect merge outputs plan pool runner),c))
COUNTED := memcpy memmove memset memcmp memchr strlen strcmp calloc realloc
$(GROWTH)/objects/%.c.o: %.c Makefile | $(SOURCE)
	$(call compile,STEPS,$(GROWTH_CC) -fsanitize-coverage=trace-pc)
$(GROWTH)/steps: $(GROWTH_OBJS) $(call objects,$(VECTOR_SOURCES) tests/growth/steps.c \
		$(filter-out %/measure.c,$(wildcard tools/bench/growth/*.c)))
$(GROWTH)/texts: $(GROWTH_OBJS) $(GROWTH_TOOLS) $(call objects,$(VECTOR_SOURCES) \
		tests/growth/texts.c)
$(GROWTH)/steps $(GROWTH)/texts:
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) $(COUNTED:%=-Wl,--wrap=%) -o $@ $^ $(LIBS)
-include $(call below,$(addprefix $(GROWTH)/objects/,lib graph alloc tools),d)

## check            all checks of a change; PARTS='tests scripts/tool/*': some
check: all $(CHECKED)
	@$(SETTINGS) tests/check.sh

## test             the Criterion tests
test: $(TESTS)
	@$(TESTS)

## simulated        the tool and the tests on a simulated GPU (CUDA builds)
simulated: $(SIMULATED)

## gpu              all that a machine with a GPU can tell, in half an hour
ifneq ($(filter gpu,$(MAKECMDGOALS)),)
$(if $(WITH_CUDA),,$(error make gpu needs the CUDA toolkit: set CUDA_HOME))
endif
gpu: all $(PROBE) $(BLAS)
	@$(SETTINGS) OUT='$(OUT)' ROWS='$(ROWS)' tests/gpu.sh

## sass             instructions, registers and bounds of each kernel (CUDA builds)
ifneq ($(filter sass,$(MAKECMDGOALS)),)
$(if $(WITH_CUDA),,$(error make sass needs the CUDA toolkit: set CUDA_HOME))
endif
sass: $(filter %.cu.o,$(LIB_OBJS))
	@$(SETTINGS) KERNELS='$(KERNELS)' tests/scripts/devices/ptx.sh --show

## matrix           all sequences of events against a model
matrix: $(TOOL)
	@$(TOOL) matrix
	@$(TOOL) matrix --bodies
	@$(TOOL) matrix --runner

## quality          minutes of dieharder; tests/dieharder.sh has a full run, too
quality: $(TOOL)
	@$(SETTINGS) tests/dieharder.sh

## fuzz             random inputs, a minute for each reader, or RUNS=N inputs
## fuzzers          compiles what that runs; QUICK=1: fast, for few inputs
FUZZ := $(BUILD)/fuzz$(if $(QUICK),-quick)
FUZZ_CC := clang -std=c11 -D_GNU_SOURCE -DPHILOX_FUZZ \
	$(if $(QUICK),-O0 -gline-tables-only,-O1 -g) -Iinclude -I. -I$(dir $(SOURCE)) \
	-fsanitize=address,undefined -fno-sanitize-recover=all
FUZZED  := load set pool snapshot plan outputs runner journal
FUZZERS := $(FUZZED:%=$(FUZZ)/%)
fuzz_objects = $(patsubst %,$(FUZZ)/objects/%.o,$(1))
# Compiled once for all; a program takes from the archive what it needs
FUZZ_OBJS := $(call fuzz_objects,$(filter-out $(CUDA_SOURCES) $(VECTOR_SOURCES),\
	$(call below,lib graph alloc $(addprefix tools/,cli diff explain formats \
	inspect outputs plan pool runner),c)) $(wildcard tests/support/models/pool*.c))
$(FUZZ)/objects/%.c.o: %.c | $(SOURCE)
	$(call compile,FUZZ,$(FUZZ_CC) -fsanitize=fuzzer-no-link)
$(FUZZ)/library.a: $(FUZZ_OBJS) $(call objects,$(VECTOR_SOURCES))
	$(archive)
$(FUZZERS): $(FUZZ)/%: $(call fuzz_objects,tests/fuzz/%.c) $(FUZZ)/library.a
	$(call say,LINK)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer $^ -lpthread -lm -o $@
-include $(call below,$(addprefix $(FUZZ)/objects/,lib graph alloc tools tests),d)
fuzzers: $(FUZZERS)

# What a program begins with
FUZZ_load     := $(wildcard tests/fuzz/corpus)
FUZZ_set      := tests/fuzz/sets
FUZZ_pool     := -max_len=8192
FUZZ_snapshot := $(wildcard tests/fuzz/snapshots)
FUZZ_plan     := $(wildcard tests/fuzz/plans)
FUZZ_outputs  := $(wildcard tests/fuzz/outputs)
FUZZ_runner   := $(wildcard tests/fuzz/runners)
FUZZ_journal  := $(wildcard tests/fuzz/journals)
# Inputs that reach new code are kept for the next time, but not with RUNS
$(FUZZED:%=fuzz-%): fuzz-%: $(FUZZ)/%
	$(if $(RUNS),$(Q)rm -rf $<-found)
	$(Q)mkdir -p $<-found
	$(Q)$< $(if $(RUNS),-seed=1 -runs=$(RUNS),-max_total_time=60) $<-found $(FUZZ_$*)
fuzz:
	$(Q)set -e; $(foreach f,$(FUZZED),$(MAKE) --no-print-directory fuzz-$f;)

# --- manual -------------------------------------------------------------------

## html             the manual as linked pages, build/doc/html/index.html
include doc/manual.mk

# --- bindings ------------------------------------------------------------------

## python           the package for PyTorch, in BUILD/python; PYTHON has torch
## python-jax       the one for JAX, on a CPU, likewise; PYTHON has jax
include bindings/python/python.mk

# --- install ------------------------------------------------------------------

FOLDERS := PREFIX BINDIR INCLUDEDIR LIBDIR MANDIR DOCDIR COMPDIR
ifneq ($(filter install install-strip uninstall,$(MAKECMDGOALS)),)
odd = $(strip $(foreach c,| & \ " ' ` ; : $$ * ? < > ( ),$(findstring $c,$(1))))
$(foreach folder,$(FOLDERS),$(if $(and $(filter /%,$($(folder))),\
	$(filter 1,$(words $($(folder)))),$(if $(call odd,$($(folder))),,1)),,\
	$(error $(folder) is '$($(folder))': one path from / on, without blanks \
	and without any of | & \ " ' ` ; : $$ * ? < > ( ))))
$(if $(filter-out 0 1,$(words $(DESTDIR)))$(call odd,$(DESTDIR)),\
	$(error DESTDIR is '$(DESTDIR)': one path, without blanks))
endif

# The files, below DESTDIR; what installs more, adds its own
INSTALLED = $(HEADERS:include/%=$(INCLUDEDIR)/%) $(INCLUDEDIR)/philox.hpp \
	$(BINDIR)/philox \
	$(addprefix $(LIBDIR)/,libphilox.a libphilox.so.$(VERSION) $(SONAME) \
	libphilox.so pkgconfig/philox.pc $(addprefix cmake/philox/,$(notdir $(CMAKE_FILES)))) \
	$(INSTALLED_MANUAL)
# Folders shared with others: uninstall removes what is empty below them, and
# themselves only from a prefix of philox's own, as in PREFIX=/opt/philox
SHARED_FOLDERS = $(BINDIR) $(INCLUDEDIR) $(LIBDIR) $(MANDIR) $(PREFIX)/share
# folders ROOT: those of the files below it, but for a shared folder within it
folders = $(filter-out ./,$(sort $(dir $(patsubst $(1)/%,%,$(filter-out \
	$(addsuffix /%,$(filter $(1)/%,$(SHARED_FOLDERS))),$(filter \
	$(1)/%,$(INSTALLED)))))))

# fill_in INCLUDEDIR,LIBDIR,FROM,TO: replaces the @words@ of a file in install/.
# What a library with sanitizers needs, programs that are linked with it need too.
put = -e 's|@$(strip $(1))@|$(strip $(2))|g'
fill_in = sed $(call put,VERSION,$(VERSION)) $(call put,MAJOR,$(MAJOR)) \
	$(call put,MINOR,$(MINOR)) $(call put,SONAME,$(SONAME)) \
	$(call put,PREFIX,$(PREFIX)) $(call put,INCLUDEDIR,$(1)) \
	$(call put,LIBDIR,$(2)) $(call put,RPATH,$(if $(RPATH),-Xlinker \
		-rpath=$(patsubst $(LIBDIR),$${libdir},$(RPATH)))) \
	$(call put,SANITIZERS,$(SANITIZERS)) \
	$(call put,LIBS,$(LIBS) $(if $(WITH_CUDA),-lrt)) \
	$(call put,CUDA,$(if $(WITH_CUDA),yes,no)) \
	$(call put,CUDA_LIBDIR,$(if $(WITH_CUDA),$(CUDA_HOME)/lib64)) \
	$(call put,CUDA_LIBS,$(if $(WITH_CUDA),-L$${cuda_libdir} -lcudart_static)) \
	-e "s|@POINTER@|$$(echo __SIZEOF_POINTER__ | $(CC) -E -P -x c -)|" $(3) >$(4)

# The package of the build tree: cmake -Dphilox_DIR=.../build/cmake
$(BUILD)/cmake/%.cmake: install/%.cmake.in include/philox/status.h \
		$(BUILD)/stamp.link
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)$(call fill_in,$(realpath include),$${_philox_here}/..,$<,$@)

# What lies below PREFIX may be moved: it is found from where the file is
from_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
space := $() $()
up := $(patsubst $(PREFIX)/%,%,$(LIBDIR))/cmake/philox
up := $(subst $(space),/,$(patsubst %,..,$(subst /, ,$(up))))
from_here = $(if $(filter $(PREFIX)/%,$(LIBDIR)),$(patsubst \
	$(PREFIX)/%,$${_philox_here}/$(up)/%,$(1)),$(1))

## install          below PREFIX; as root it also tells the loader (ldconfig)
install: all
	$(call say,INST)
	@install -d $(addprefix $(DESTDIR),$(INCLUDEDIR)/philox $(BINDIR) \
		$(LIBDIR)/pkgconfig $(LIBDIR)/cmake/philox)
	$(Q)install -m 644 include/philox.h include/philox.hpp \
		$(DESTDIR)$(INCLUDEDIR)
	$(Q)install -m 644 include/philox/*.h $(DESTDIR)$(INCLUDEDIR)/philox
	$(Q)install -m 644 $(STATIC) $(DESTDIR)$(LIBDIR)
	$(Q)install -m 755 $(SHARED) $(DESTDIR)$(LIBDIR)
	$(Q)ln -sf libphilox.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	$(Q)ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libphilox.so
	$(Q)umask 022; $(call fill_in,$(call from_prefix,$(INCLUDEDIR)),$(call \
		from_prefix,$(LIBDIR)),philox.pc.in,$(DESTDIR)$(LIBDIR)/pkgconfig/philox.pc)
	$(Q)umask 022; for file in $(notdir $(CMAKE_FILES)); do \
		$(call fill_in,$(call from_here,$(INCLUDEDIR)),$${_philox_here}/../..,\
			install/$$file.in,$(DESTDIR)$(LIBDIR)/cmake/philox/$$file); done
	$(Q)install -m 755 $(TOOL) $(DESTDIR)$(BINDIR)
	@$(call ldconfig)

## install-strip    the same, without what only debuggers read
install-strip: install
	$(Q)$(STRIP) --strip-unneeded $(addprefix $(DESTDIR),$(BINDIR)/philox \
		$(LIBDIR)/libphilox.so.$(VERSION))
	$(Q)$(STRIP) --strip-debug $(DESTDIR)$(LIBDIR)/libphilox.a

# In a folder that the loader searches by itself it finds a new library when
# ldconfig has run. Other folders are none of its business, nor are packages.
ldconfig = [ -n '$(DESTDIR)' ] || { PATH=$$PATH:/usr/sbin:/sbin; \
	for folder in $$(ldconfig -NXv 2>/dev/null | sed -n 's|^\(/[^:]*\):.*|\1|p'); do \
		[ "$$folder" -ef '$(LIBDIR)' ] || continue; \
		if ldconfig 2>/dev/null; then echo '  LDCONF $(LIBDIR)'; \
		else echo '  the loader does not know of this yet: run ldconfig as root'; \
		fi; done; }

## uninstall        removes what was installed, and the folders that are only ours
uninstall:
	$(call say,UNINST)
	$(Q)rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	$(Q)$(foreach root,$(SHARED_FOLDERS),(cd $(DESTDIR)$(root) && rmdir -p \
		$(call folders,$(root))) 2>/dev/null;) true
	$(if $(filter philox%,$(notdir $(PREFIX))),$(Q)(cd $(DESTDIR)$(PREFIX)/.. && \
		rmdir -p $(patsubst $(dir $(PREFIX))%,%,$(filter \
		$(PREFIX)/%,$(SHARED_FOLDERS)))) 2>/dev/null || true)
	@$(call ldconfig)

# --- a source archive ---------------------------------------------------------

DIST = philox-$(VERSION)
## dist             BUILD/philox-VERSION.tar.gz: the source, as git has it last
# The same bytes for everyone who has the commit. What is left out is in
# .gitattributes.
dist:
	@[ -e .git ] || { echo 'make dist needs a clone: the files are those of git' >&2; \
		exit 1; }
	@git diff --quiet HEAD || echo '  what is not committed is left out'
	$(Q)mkdir -p $(BUILD)
	$(Q)git -c tar.umask=0022 archive --prefix=$(DIST)/ -o $(BUILD)/$(DIST).tar HEAD
	$(Q)gzip -9nf $(BUILD)/$(DIST).tar
	@echo '  DIST  $(BUILD)/$(DIST).tar.gz'

# --- care ---------------------------------------------------------------------

## format           clang-format for all files
format:
	$(Q)clang-format -i $(HEADERS) $(call below,lib graph alloc tools tests \
		examples,c h cu cuh cpp)

## clean            removes BUILD
clean:
	$(Q)rm -rf $(BUILD)

## help             this text
help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))

FORCE:
.PHONY: all ranks check test python python-jax simulated gpu sass matrix fuzz \
	fuzzers quality html install install-strip uninstall dist format clean help FORCE
