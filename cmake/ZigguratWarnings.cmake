# Flags that every target of ours takes: ziggurat_warnings for warnings, ziggurat_options for code generation.
set(ZIGGURAT_SANITIZE "" CACHE STRING "Sanitizers, for instance address,undefined")

add_library(ziggurat_warnings INTERFACE)
# Where sources are compiled together, one's own names are no shadow of another's.
target_compile_options(ziggurat_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow> -Wconversion -Wno-sign-conversion -Wundef -Wnon-virtual-dtor>)
# g++ 12 sees overlapping and endless copies in `"text" + string` where there are none (GCC bugs 105651, 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(ziggurat_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>)
endif()
if(ZIGGURAT_WARNINGS_ARE_ERRORS)
  target_compile_options(ziggurat_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# No contraction and no -ffast-math: the same bits whatever the vector width of a loop's tail (DESIGN 8).
add_library(ziggurat_options INTERFACE)
target_compile_options(ziggurat_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-march=${ZIGGURAT_MARCH} -fno-math-errno -fno-trapping-math -ffp-contract=off>)
target_compile_definitions(ziggurat_options INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
if(ZIGGURAT_SANITIZE)
  target_compile_options(ziggurat_options INTERFACE -fsanitize=${ZIGGURAT_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=undefined)
  target_link_options(ziggurat_options INTERFACE -fsanitize=${ZIGGURAT_SANITIZE})
  if(ZIGGURAT_SANITIZE MATCHES undefined AND ZIGGURAT_SANITIZE MATCHES address)
    # Checks of each access, a third of the time to compile, which tell little beside the address sanitizer where
    # all memory is objects of the language: see ziggurat_handles_addresses.
    target_compile_options(ziggurat_options INTERFACE
      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:HANDLES_ADDRESSES>>>:-fno-sanitize=null,alignment,object-size,pointer-overflow>)
  endif()
  if(ZIGGURAT_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Thread fences, which the sanitizer does not follow: what they order here it sees in loads and stores.
    target_compile_options(ziggurat_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
endif()
