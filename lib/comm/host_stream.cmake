# Chooses how sums between ranks of a node read and write memory, from what -march=${ZIGGURAT_MARCH} compiles to.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-march=${ZIGGURAT_MARCH}")
string(MAKE_C_IDENTIFIER "${ZIGGURAT_MARCH}" march)
check_cxx_source_compiles("
  #include <immintrin.h>
  void f(void* to, __m512 x) { _mm512_stream_ps((float*)to, x); }
  __m256i g(__m512i x) { return _mm512_cvtepi32_epi16(x); }
  int main() {}" ziggurat_has_avx512_stores_${march})
unset(CMAKE_REQUIRED_FLAGS)

if(ziggurat_has_avx512_stores_${march})
  set(host_stream_header avx512_floats)
  set(host_stream Avx512Floats)
else()
  set(host_stream_header portable_floats)
  set(host_stream PortableFloats)
endif()
configure_file(host_stream.hpp.in ${CMAKE_CURRENT_BINARY_DIR}/include/comm/host_stream.hpp @ONLY)
message(STATUS "Sums between ranks of a node use ${host_stream_header} stores (-march=${ZIGGURAT_MARCH})")
