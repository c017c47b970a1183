# bindings/python/python.mk - the package for PyTorch, below $(BUILD)/python
#
# PYTHON has torch, against whose stable ABI the operators are compiled. The
# package is then importable with PYTHONPATH=$(BUILD)/python, and pip makes a
# wheel of it (backend.py).

PYTHON ?= python3
ifneq ($(filter python,$(MAKECMDGOALS)),)
TORCH := $(shell $(PYTHON) -c 'import importlib.util as u; \
	print(u.find_spec("torch").submodule_search_locations[0])' 2>&1)
ifeq ($(wildcard $(TORCH)/include/torch/csrc/stable/library.h),)
$(error make python needs a PYTHON whose torch has headers of the stable ABI, \
	2.9 or newer: $(PYTHON) has none ($(lastword $(TORCH))))
endif

PACKAGE := $(BUILD)/python/philox
PACKAGE_FILES := $(patsubst bindings/python/%,$(BUILD)/python/%,\
	$(wildcard bindings/python/philox/*.py bindings/python/philox/*/*.py \
	bindings/python/philox/py.typed))
# The oldest PyTorch that can load it
TORCH_TARGET := 0x0209000000000000
OPERATORS := $(call objects,$(wildcard bindings/python/operators/*.cpp) \
	$(if $(WITH_CUDA),$(wildcard bindings/python/operators/*.cu)))

$(BUILD)/stamp.torch: FORCE
	$(call stamp,$(TORCH))
$(OPERATORS): $(BUILD)/stamp.torch
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
$(PACKAGE)/libphilox.so.0.1: $(SHARED)
	$(call say,STRIP)
	@mkdir -p $(@D)
	$(Q)strip --strip-unneeded -o $@ $<
$(PACKAGE_FILES): $(BUILD)/python/%: bindings/python/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

python: $(PACKAGE_FILES) $(PACKAGE)/torch/operators.so
endif
