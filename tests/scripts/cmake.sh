#!/bin/sh
# The CMake package: programs of C, C++ and CUDA are linked with both libraries,
# of an installed philox that was moved and of the build tree; versions, parts
# and missing files are answered as they should be.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

number()
{
	sed -n "s/^#define PHILOX_VERSION_$1 //p" include/philox/status.h
}
major=$(number MAJOR)
minor=$(number MINOR)
patch=$(number PATCH)
version=$major.$minor.$patch
cuda=no
[ "$CUDA" = 0 ] || cuda=yes
built=$(cd "$BUILD" && pwd)/cmake
moved=$WORK/moved
# They would be found, or used, instead
unset philox_DIR philox_ROOT CMAKE_PREFIX_PATH CMAKE_GENERATOR LIBDIR PREFIX \
	BINDIR INCLUDEDIR MANDIR CFLAGS CXXFLAGS LDFLAGS

# --- a project of C and C++ ---------------------------------------------------

mkdir "$WORK/project" "$WORK/cuda" "$WORK/asks"
cat >"$WORK/project/program.c" <<'END_OF_PROGRAM'
#include <philox.h>
#include <philox/kernel.h>
#include <stdio.h>

/* The library's number is the header's, and the kernels are inside */
int main(void)
{
	struct philox_state state = {42, 0};
	struct philox_device *device;

	if (philox_device_open("host", &device) != PHILOX_OK) {
		fprintf(stderr, "%s\n", philox_error_message());
		return 1;
	}
	philox_device_close(device);
	printf("%s %d\n", philox_version(), philox_normal_at(state, 1) != 0);
	return 0;
}
END_OF_PROGRAM
cp "$WORK/project/program.c" "$WORK/project/program.cpp"
cp "$WORK/project/program.c" "$WORK/cuda/program.cu"
cat >"$WORK/project/CMakeLists.txt" <<'END_OF_LISTS'
cmake_minimum_required(VERSION 3.13)
project(program LANGUAGES C CXX)
find_package(philox ${WANTED} REQUIRED COMPONENTS philox static)
find_package(philox ${WANTED} REQUIRED)
message(STATUS "found ${philox_VERSION}, CUDA ${philox_CUDA}, in ${philox_DIR}")
foreach(library philox static)
	foreach(language c cpp)
		add_executable(${language}-${library} program.${language})
		target_link_libraries(${language}-${library} PRIVATE philox::${library})
	endforeach()
endforeach()
END_OF_LISTS

# configures PROJECT OPTION...: a build in $out. A compiler may be two words,
# which CMake takes from the environment
configures()
{
	project=$1
	shift
	cmake -S "$WORK/$project" -B "$out" "$@" >"$WORK/answer" 2>&1
	status=$?
	cat "$WORK/answer"
	return $status
}

finds()
{
	configures "$@" -DWANTED="$major.$minor" &&
		grep -F "found $version, CUDA $cuda, in $place" "$WORK/answer"
}

# needed PROGRAM: does the loader bring philox
needed()
{
	readelf -d "$out/$1" >"$WORK/dynamic"
	grep 'NEEDED.*libphilox' "$WORK/dynamic"
}

says_version()
{
	[ "$("$out/$1")" = "$version 1" ]
}

# For each language that the project has
are_linked()
{
	cmake --build "$out" -j 2 || return 1
	for language; do
		says_version "$language-philox" && needed "$language-philox" &&
			says_version "$language-static" &&
			! needed "$language-static" || return 1
	done
}

installs_and_moves()
{
	make install PREFIX=/opt/some DESTDIR="$WORK/stage" &&
		mv "$WORK/stage/opt/some" "$moved" &&
		! grep -rF -e "$WORK" -e /opt/some "$moved/lib/cmake"
}

check "make install puts no path into the package" installs_and_moves
if ! command -v cmake >"$WORK/which"; then
	skip "find_package(philox) works" "no cmake"
	finish
fi
out=$WORK/out-moved
place=$moved/lib/cmake/philox
check "an installed philox that was moved is found" \
	finds project -DCMAKE_PREFIX_PATH="$moved"
check "C and C++ are linked with both libraries, and run" are_linked c cpp
out=$WORK/out-built
place=$built
check "the build tree is found" finds project -Dphilox_DIR="$built"
check "C and C++ are linked with both, and run" are_linked c cpp

# --- CUDA ---------------------------------------------------------------------

cat >"$WORK/cuda/CMakeLists.txt" <<'END_OF_LISTS'
cmake_minimum_required(VERSION 3.18)
project(program LANGUAGES CUDA)
find_package(philox ${WANTED} REQUIRED)
message(STATUS "found ${philox_VERSION}, CUDA ${philox_CUDA}, in ${philox_DIR}")
foreach(library philox static)
	add_executable(cu-${library} program.cu)
	target_link_libraries(cu-${library} PRIVATE philox::${library})
endforeach()
END_OF_LISTS
# A kernel with numbers of its own; there may be no GPU to run it
cat >>"$WORK/cuda/program.cu" <<'END_OF_KERNEL'

__global__ void draw(struct philox_rng rng, float *to)
{
	struct philox_state state = philox_resolve(rng);

	to[threadIdx.x] = philox_normal_at(state, threadIdx.x);
}
END_OF_KERNEL
if [ "$CUDA" = 0 ]; then
	skip "a CUDA project is linked with both libraries" "no nvcc"
else
	out=$WORK/out-cuda
	place=$moved/lib/cmake/philox
	check "a CUDA project finds philox" finds cuda \
		-DCMAKE_PREFIX_PATH="$moved" -DCMAKE_CUDA_ARCHITECTURES=90 \
		-DCMAKE_CUDA_COMPILER="$CUDA_HOME/bin/nvcc"
	check "it is linked with both libraries, and runs" are_linked cu
fi

# --- questions and answers ----------------------------------------------------

cat >"$WORK/asks/CMakeLists.txt" <<'END_OF_LISTS'
cmake_minimum_required(VERSION 3.19)
project(asks LANGUAGES NONE)
foreach(question IN LISTS QUESTIONS)
	unset(philox_DIR CACHE)
	separate_arguments(words UNIX_COMMAND "${question}")
	find_package(philox ${words} QUIET)
	set(static no)
	if(TARGET philox::static)
		set(static yes)
	endif()
	message(STATUS "answer: ${question}: ${philox_FOUND} static ${static}")
	if(NOT philox_FOUND)
		message(STATUS "because: ${philox_NOT_FOUND_MESSAGE}")
	endif()
endforeach()
END_OF_LISTS
out=$WORK/out-asks
hidden=

# answered ANSWER QUESTION...: all of them in this way
answered()
{
	answer=$1
	shift
	questions=
	for question; do
		questions="$questions${questions:+;}$question"
	done
	rm -rf "$out"
	configures asks -DCMAKE_PREFIX_PATH="$moved" -DCMAKE_IGNORE_PATH="$hidden" \
		-DQUESTIONS="$questions" || return 1
	for question; do
		grep -qixF -e "-- answer: $question: $answer" "$WORK/answer" ||
			{ echo "not so: $question"; return 1; }
	done
}

refused()
{
	because=$1
	shift
	answered "$@" && grep -F -e "because: $because" "$WORK/answer"
}

next=$((minor + 1))
check "versions that programs can use are found" answered "1 static yes" \
	"$major.$minor" "$version" "$version EXACT" "$major.$minor...<$major.$next" \
	"$major.$minor...$major.$next" "$major.0...$version"
if [ "$major" = 0 ]; then
	check "while the first number is 0, others are not" answered \
		"0 static no" "0.$next" 0.0 "0.$minor.$((patch + 1))" 1.0 \
		"0.$minor.$((patch + 1)) EXACT" \
		"0.0...<0.$minor" "0.$next...1.0" "0.0...<$version"
fi
check "a part that there is not is refused by name" refused \
	"philox has no fortran" "0 static yes" "COMPONENTS fortran"
check "a part that is optional may be missing" answered "1 static yes" \
	"OPTIONAL_COMPONENTS fortran"

# without FILE COMMAND...
without()
{
	file=$1
	shift
	mv "$moved/$file" "$WORK/away" || return 1
	"$@"
	status=$?
	mv "$WORK/away" "$moved/$file"
	return $status
}

check "without libphilox.a the shared one is found" without lib/libphilox.a \
	answered "1 static no" "$major.$minor"
check "and the static one is refused by name" without lib/libphilox.a refused \
	"there is no $moved/lib/libphilox.a" "0 static no" "COMPONENTS static"
check "a missing library is named" without "lib/libphilox.so.$version" refused \
	"there is no $moved/lib/libphilox.so.$version" "0 static no" "$version"
check "missing headers are named" without include/philox.h refused \
	"there is no $moved/include/philox.h" "0 static no" "$version"

# A library that needs the toolkit's runtime, where there is no toolkit
for home in "$CUDA_HOME" /usr/local/cuda /usr/local /usr /; do
	for folder in lib64 lib targets/x86_64-linux/lib lib/x86_64-linux-gnu; do
		hidden="$hidden;${home%/}/$folder;$(realpath -m "$home/$folder")"
	done
done
if [ "$CUDA" = 0 ]; then
	skip "without the toolkit there is no static library" "no nvcc"
else
	check "without the toolkit the shared library is found" \
		answered "1 static no" "$version"
	check "without the toolkit the static one is refused by name" refused \
		"philox::static needs libcudart_static.a: set CUDAToolkit_ROOT" \
		"0 static no" "COMPONENTS static"
fi
finish
