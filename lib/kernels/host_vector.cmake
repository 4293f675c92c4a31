# Chooses the quickest vector operations that -march=${ZIGGURAT_MARCH} compiles to.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-march=${ZIGGURAT_MARCH}")
string(MAKE_C_IDENTIFIER "${ZIGGURAT_MARCH}" march)
check_cxx_source_compiles("
  #include <immintrin.h>
  __m512 f(__m512 c, __m512bh a) { return _mm512_dpbf16_ps(c, a, a); }
  __m256i g(__mmask16 m, const void* p) { return _mm256_maskz_loadu_epi16(m, p); }
  int main() {}" ziggurat_has_avx512_bf16_${march})
# Processors from Sapphire Rapids on leave bfloat16 to their matrix tiles. Where a virtual machine hides those, products of
# pairs are slower than those of floats: seen 220 GFLOP/s beside 380.
check_cxx_source_compiles("
  #if defined __AVX512FP16__ && !defined __AMX_BF16__
  #error slow
  #endif
  int main() {}" ziggurat_has_quick_pairs_${march})
check_cxx_source_compiles("
  #include <immintrin.h>
  __m512 f(__m512 c) { return _mm512_fmadd_ps(c, c, c); }
  __m256i g(__mmask16 m, const void* p) { return _mm256_maskz_loadu_epi16(m, p); }
  int main() {}" ziggurat_has_avx512_${march})
unset(CMAKE_REQUIRED_FLAGS)

if(ziggurat_has_avx512_bf16_${march} AND ziggurat_has_quick_pairs_${march})
  set(host_vector_header avx512_bf16)
  set(host_vector Avx512Bf16)
elseif(ziggurat_has_avx512_${march})
  set(host_vector_header avx512)
  set(host_vector Avx512)
else()
  set(host_vector_header portable)
  set(host_vector Portable)
endif()
configure_file(host_vector.hpp.in ${CMAKE_CURRENT_BINARY_DIR}/include/kernels/host_vector.hpp @ONLY)
message(STATUS "Tiled kernels use ${host_vector} (-march=${ZIGGURAT_MARCH})")
