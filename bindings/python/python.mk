# bindings/python/python.mk - the packages for PyTorch and for JAX, below
# $(BUILD)/python
#
# PYTHON has torch, against whose stable ABI the operators are compiled; or jax,
# with the headers of XLA's foreign function interface. The package is then
# importable with PYTHONPATH=$(BUILD)/python, and pip makes a wheel of PyTorch's
# (backend.py).

PYTHON ?= python3
PACKAGE := $(BUILD)/python/philox
# package FILES: where they are in the package
package = $(patsubst bindings/python/%,$(BUILD)/python/%,$(wildcard \
	$(1:%=bindings/python/philox/%)))

ifneq ($(filter python python-jax,$(MAKECMDGOALS)),)
$(PACKAGE)/libphilox.so.0.1: $(SHARED)
	$(call say,STRIP)
	@mkdir -p $(@D)
	$(Q)strip --strip-unneeded -o $@ $<
$(call package,*.py */*.py py.typed): $(BUILD)/python/%: bindings/python/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
endif

ifneq ($(filter python,$(MAKECMDGOALS)),)
TORCH := $(shell $(PYTHON) -c 'import importlib.util as u; \
	print(u.find_spec("torch").submodule_search_locations[0])' 2>&1)
ifeq ($(shell grep -s TORCH_BOX $(TORCH)/include/torch/csrc/stable/library.h),)
$(error make python needs a PYTHON whose torch has headers of the stable ABI, \
	2.12 or newer: $(PYTHON) has none ($(lastword $(TORCH))))
endif

# The oldest PyTorch that can load it. To compile it takes a newer one.
TORCH_TARGET := 0x0209000000000000
OPERATORS := $(call objects,$(wildcard bindings/python/operators/*.cpp) \
	$(if $(WITH_CUDA),$(wildcard bindings/python/operators/*.cu)))

$(BUILD)/stamp.torch: FORCE
	$(call stamp,$(TORCH))
$(OPERATORS): $(BUILD)/stamp.torch
-include $(OPERATORS:.o=.d)
$(OPERATORS): private TOOLKIT := -isystem $(TORCH)/include -O3 \
	-DTORCH_TARGET_VERSION=$(TORCH_TARGET)

# Symbols of CUDA's static runtime stay in here: PyTorch has its own
$(PACKAGE)/torch/operators.so: $(OPERATORS) $(PACKAGE)/libphilox.so.0.1
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CXX) -shared -Wl,--exclude-libs,ALL -Wl,-z,defs -s -o $@ \
		$(OPERATORS) $(PACKAGE)/libphilox.so.0.1 \
		-Wl,-rpath,'$$ORIGIN/..' -L$(TORCH)/lib -ltorch_cpu -lc10 \
		$(if $(WITH_CUDA),$(CUDA_LIBS)) -ldl -lpthread

python: $(filter-out %/jax.py,$(call package,*.py */*.py py.typed)) \
	$(PACKAGE)/torch/operators.so
endif

ifneq ($(filter python-jax,$(MAKECMDGOALS)),)
JAX := $(shell $(PYTHON) -c 'import jax; print(jax.ffi.include_dir())' 2>&1 | \
	tail -n 1)
ifeq ($(wildcard $(lastword $(JAX))/xla/ffi/api/ffi.h),)
$(error make python-jax needs a PYTHON whose jax has headers of XLA's foreign \
	function interface: $(PYTHON) has none ($(JAX)))
endif

NUMBERS := $(call objects,$(wildcard bindings/python/jax/*.cpp))

$(BUILD)/stamp.jax: FORCE
	$(call stamp,$(JAX))
$(NUMBERS): $(BUILD)/stamp.jax
$(NUMBERS): private TOOLKIT := -isystem $(JAX)
$(PACKAGE)/jax_numbers.so: $(NUMBERS) $(PACKAGE)/libphilox.so.0.1
	$(call say,LINK)
	$(Q)$(CXX) -shared -Wl,-z,defs -s -o $@ $(NUMBERS) \
		$(PACKAGE)/libphilox.so.0.1 -Wl,-rpath,'$$ORIGIN'

python-jax: $(call package,*.py py.typed) $(PACKAGE)/jax_numbers.so
endif
