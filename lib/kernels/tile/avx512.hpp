/// Vectors of 16 floats in AVX-512.
#pragma once

#include <cstdint>

#include "base/immintrin.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::tile {

/// Vector operations of the tiled kernels; portable.hpp has the same interface for any machine.
///
/// A word is 32 bits of a packed operand. Here it is one float for every type in memory.
struct Avx512 {
    using Single = Avx512;  ///< the operations in which every word is one float
    using Float = __m512;
    using Word = __m512i;
    static constexpr int lanes = 16, register_floats = 16;
    static constexpr bool has_bf16_pairs = false;

    [[gnu::always_inline]] static Float zero() { return _mm512_setzero_ps(); }
    [[gnu::always_inline]] static Float broadcast(float x) { return _mm512_set1_ps(x); }
    [[gnu::always_inline]] static Float load(const float* from) { return _mm512_load_ps(from); }
    [[gnu::always_inline]] static void store(float* to, Float x) { _mm512_store_ps(to, x); }
    [[gnu::always_inline]] static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
    [[gnu::always_inline]] static Float multiply(Float a, Float b) { return _mm512_mul_ps(a, b); }
    [[gnu::always_inline]] static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
    [[gnu::always_inline]] static Float max(Float a, Float b) { return _mm512_max_ps(a, b); }
    [[gnu::always_inline]] static float sum(Float x) { return _mm512_reduce_add_ps(x); }
    [[gnu::always_inline]] static float max_of(Float x) { return _mm512_reduce_max_ps(x); }
    [[gnu::always_inline]] static float first_of(Float x) { return _mm512_cvtss_f32(x); }

    /// Returns x in lanes [first, last), `fallback` in the rest; bounds may be outside [0, 16].
    [[gnu::always_inline]] static Float keep(Float x, int first, int last, Float fallback) {
        return _mm512_mask_mov_ps(fallback, static_cast<__mmask16>(lanes_below(last) & ~lanes_below(first)),
                                  x);
    }

    /// Returns 2^x for x < 128 with relative error 1.9e-7, exactly 1 at 0 and 0 for large negative x.
    [[gnu::always_inline]] static Float exp2(Float x) {
        const Float n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        const Float f = _mm512_sub_ps(x, n);
        Float p = fma(broadcast(0x1.5bb9f8p-10f), f, broadcast(0x1.3cea86p-7f));
        p = fma(p, f, broadcast(0x1.c6b754p-5f));
        p = fma(p, f, broadcast(0x1.ebf9bcp-3f));
        p = fma(p, f, broadcast(0x1.62e42ap-1f));
        return _mm512_scalef_ps(fma(p, f, broadcast(1.0f)), n);
    }

    /// Loads the first `count` elements, at most 16, as floats.
    ///
    /// The rest are zeros. Does not read beyond them.
    [[gnu::always_inline]] static Float load_elements(const float* from, int count) {
        return _mm512_maskz_loadu_ps(lanes_below(count), from);
    }
    [[gnu::always_inline]] static Float load_elements(const tensor::bfloat16* from, int count) {
        const __m256i halves = _mm256_maskz_loadu_epi16(lanes_below(count), from);
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
    }

    /// Rounds to the element type and writes the first `count` lanes.
    [[gnu::always_inline]] static void store_elements(float* to, Float x, int count) {
        _mm512_mask_storeu_ps(to, lanes_below(count), x);
    }
    [[gnu::always_inline]] static void store_elements(tensor::bfloat16* to, Float x, int count) {
        _mm256_mask_storeu_epi16(to, lanes_below(count), rounded(x));
    }

    [[gnu::always_inline]] static Word load_words(const float* from, int count) {
        return _mm512_castps_si512(load_elements(from, count));
    }
    [[gnu::always_inline]] static Word load_words(const tensor::bfloat16* from, int count) {
        return _mm512_castps_si512(load_elements(from, count));
    }
    [[gnu::always_inline]] static Word zero_words() { return _mm512_setzero_si512(); }
    [[gnu::always_inline]] static void store_words(std::uint32_t* to, Word x) { _mm512_store_si512(to, x); }

    /// Transposes: rows[i][j] becomes rows[j][i].
    [[gnu::always_inline]] static void transpose(Word (&rows)[16]) {
        Word t[16];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
            t[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            rows[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            rows[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            rows[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            rows[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            t[i] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
            t[i + 4] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd);
            t[i + 8] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
            t[i + 12] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xdd);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            rows[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
            rows[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
            rows[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
            rows[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
        }
    }

    /// Computes c[r][16 v ..] += sum over p < words of a[r RowStep + p WordStep] * b[64 p + 16 v ..].
    template <int RowStep, int WordStep, int R, int V>
    [[gnu::always_inline]] static void multiply_tile(const std::uint32_t* a,
                                                     const std::uint32_t* b,
                                                     std::int64_t words,
                                                     Float (&c)[R][V]) {
        for (std::int64_t p = 0; p < words; ++p) {
            Float right[V];
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) {
                right[v] = _mm512_castsi512_ps(_mm512_load_si512(b + 64 * p + 16 * v));
            }
#pragma GCC unroll 6
            for (int r = 0; r < R; ++r) {
                const Float left =
                    _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(a[r * RowStep + p * WordStep])));
#pragma GCC unroll 4
                for (int v = 0; v < V; ++v) {
                    c[r][v] = _mm512_fmadd_ps(left, right[v], c[r][v]);
                }
            }
        }
    }

  private:
    [[gnu::always_inline]] static __mmask16 lanes_below(int count) {
        return static_cast<__mmask16>(count >= 16 ? 0xffffu : count <= 0 ? 0u : (1u << count) - 1u);
    }

    /// Rounds to nearest even, as tensor::bfloat16 does, but does not preserve NaN payloads.
    [[gnu::always_inline]] static __m256i rounded(Float x) {
        const Word bits = _mm512_castps_si512(x);
        const Word odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        const Word up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
        const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
        const Word shifted = _mm512_srli_epi32(up, 16);
        return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(shifted, nan, _mm512_set1_epi32(0x7fc0)));
    }
};

}  // namespace ziggurat::kernels::tile
