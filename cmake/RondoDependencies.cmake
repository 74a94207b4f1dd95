# Finds what Rondo is built with. The runtime needs FlatBuffers, OpenBLAS,
# xxHash and threads; the compiler needs LLVM, MLIR and protobuf as well.

find_package(Threads REQUIRED)
find_program(RONDO_FLATC flatc REQUIRED)
find_path(RONDO_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
find_path(RONDO_XXHASH_INCLUDE xxhash.h REQUIRED)
find_path(RONDO_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas openblas-pthread REQUIRED)
find_library(RONDO_OPENBLAS openblas PATH_SUFFIXES openblas-pthread REQUIRED)
find_package(GTest REQUIRED)

# Tests are written for the distribution's Python (with NumPy), not for one
# that a version manager puts first on PATH.
find_program(RONDO_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(RONDO_PYTHON python3 REQUIRED)

# Flags of every target.
add_library(rondo_flags INTERFACE)
target_compile_options(rondo_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-unused-parameter;-fvisibility-inlines-hidden>
  # The same bits from every compiler: nothing is fused that is not written so.
  -ffp-contract=off)
if(RONDO_WERROR)
  target_compile_options(rondo_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++-12 in MLIR's headers and in std::string.
  target_compile_options(rondo_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-dangling-pointer>)
endif()
target_include_directories(rondo_flags INTERFACE ${CMAKE_SOURCE_DIR}/include)
# Generated headers: SYSTEM, so that their warnings are not ours.
target_include_directories(rondo_flags SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/include)

add_library(rondo_xxhash INTERFACE)
target_include_directories(rondo_xxhash SYSTEM INTERFACE ${RONDO_XXHASH_INCLUDE})
target_compile_definitions(rondo_xxhash INTERFACE XXH_INLINE_ALL)
add_library(rondo_openblas INTERFACE)
target_include_directories(rondo_openblas SYSTEM INTERFACE ${RONDO_CBLAS_INCLUDE})
target_link_libraries(rondo_openblas INTERFACE ${RONDO_OPENBLAS})

if(RONDO_RUNTIME_ONLY)
  return()
endif()

enable_language(C) # LLVM's and protobuf's packages probe with it
find_package(Protobuf REQUIRED)
# "22" alone is refused: MLIR's version file compares major.minor.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# Flags of every target that uses MLIR: the two dylibs only, never the MLIR*
# archives (some of them drag libMLIR.so in, and then each symbol exists twice).
add_library(rondo_mlir INTERFACE)
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(rondo_mlir INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${llvm_definitions}>)
target_include_directories(rondo_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_link_libraries(rondo_mlir INTERFACE rondo_flags MLIR LLVM)

# One precompiled header of MLIR for all targets. Its flags must be those of
# its users; g++'s is six times as big and slower to make than what it saves.
if(RONDO_PCH AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/RondoPch.cpp CONTENT "")
  add_library(rondo_pch OBJECT ${CMAKE_BINARY_DIR}/RondoPch.cpp)
  target_link_libraries(rondo_pch PUBLIC rondo_mlir)
  target_precompile_headers(rondo_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/RondoPch.h)
endif()
