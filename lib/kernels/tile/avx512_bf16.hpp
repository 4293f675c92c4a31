/// Vectors of 16 floats in AVX-512 with products of bfloat16 pairs.
#pragma once

#include <cstring>

#include "kernels/tile/avx512.hpp"

namespace ziggurat::kernels::tile {

/// Packed operands of bfloat16 are words of two elements, adjacent along the summed index.
///
/// Floats are packed as in Avx512.
///
/// Numerics: the instructions flush bfloat16 subnormals to zero
struct Avx512Bf16 : Avx512 {
    static constexpr bool has_bf16_pairs = true;

    using Avx512::store_elements;
    [[gnu::always_inline]] static void store_elements(tensor::bfloat16* to, Float x, int count) {
        const auto mask = static_cast<__mmask16>(count >= 16 ? 0xffffu : (1u << count) - 1u);
        _mm256_mask_storeu_epi16(to, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
    }

    /// Loads words: word i holds elements 2 i and 2 i + 1 of the first `count`, at most 32.
    [[gnu::always_inline]] static Word load_pairs(const tensor::bfloat16* from, int count) {
        const auto mask = static_cast<__mmask32>(count >= 32 ? ~0u : count <= 0 ? 0u : (1u << count) - 1u);
        return _mm512_maskz_loadu_epi16(mask, from);
    }

    /// Writes elements 2 i and 2 i + 1 of word i, the first `count`, at most 32.
    [[gnu::always_inline]] static void store_pairs(tensor::bfloat16* to, Word x, int count) {
        const auto mask = static_cast<__mmask32>(count >= 32 ? ~0u : count <= 0 ? 0u : (1u << count) - 1u);
        _mm512_mask_storeu_epi16(to, mask, x);
    }

    /// Loads words: word i holds element i of `low` and element i of `high` (zero if missing).
    ///
    /// Only the first `count` words are loaded, at most 16.
    [[gnu::always_inline]] static Word interleave(const tensor::bfloat16* low,
                                                  const tensor::bfloat16* high,
                                                  int count,
                                                  bool has_high) {
        const auto mask = static_cast<__mmask16>(count >= 16 ? 0xffffu : (1u << count) - 1u);
        const auto high_mask = static_cast<__mmask16>(has_high ? mask : 0);
        const __m256i lower = _mm256_maskz_loadu_epi16(mask, low);
        const __m256i upper = _mm256_maskz_loadu_epi16(high_mask, high);
        const Word both = _mm512_inserti64x4(_mm512_castsi256_si512(lower), upper, 1);
        return _mm512_permutexvar_epi16(alternating(), both);
    }

    /// Returns words: word i holds low[i] and high[i], rounded.
    [[gnu::always_inline]] static Word interleave(Float low, Float high) {
        return _mm512_permutexvar_epi16(alternating(), pairs(low, high));
    }

    /// Returns the 32 values of `first`, then `second`, rounded, in order.
    [[gnu::always_inline]] static Word pairs(Float first, Float second) {
        return reinterpret_cast<Word>(_mm512_cvtne2ps_pbh(second, first));
    }

    /// Computes multiply_tile on words of pairs.
    template <int RowStep, int WordStep, int R, int V>
    [[gnu::always_inline]] static void multiply_pairs_tile(const std::uint32_t* a,
                                                           const std::uint32_t* b,
                                                           std::int64_t words,
                                                           Float (&c)[R][V]) {
        multiply_words([a](int r, std::int64_t p) { return a[r * RowStep + p * WordStep]; }, b, words, c);
    }

    /// Does the same with an unpacked left factor in memory: rows `step` elements apart.
    template <int R, int V>
    [[gnu::always_inline]] static void multiply_pairs_of_rows(const tensor::bfloat16* rows,
                                                              std::int64_t step,
                                                              const std::uint32_t* b,
                                                              std::int64_t words,
                                                              Float (&c)[R][V]) {
        const auto word = [rows, step](int r, std::int64_t p) {
            std::uint32_t pair;
            std::memcpy(&pair, rows + r * step + 2 * p, sizeof pair);
            return pair;
        };
        multiply_words(word, b, words, c);
    }

  private:
    /// Computes c[r][16 v ..] += sum over p < words of left(r, p) * b[64 p + 16 v ..].
    template <int R, int V, class Left>
    [[gnu::always_inline]] static void multiply_words(const Left& left,
                                                      const std::uint32_t* b,
                                                      std::int64_t words,
                                                      Float (&c)[R][V]) {
        for (std::int64_t p = 0; p < words; ++p) {
            __m512bh right[V];
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) {
                right[v] = reinterpret_cast<__m512bh>(_mm512_load_si512(b + 64 * p + 16 * v));
            }
#pragma GCC unroll 6
            for (int r = 0; r < R; ++r) {
                const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(left(r, p))));
#pragma GCC unroll 4
                for (int v = 0; v < V; ++v) {
                    c[r][v] = _mm512_dpbf16_ps(c[r][v], pair, right[v]);
                }
            }
        }
    }

    /// Returns 0, 16, 1, 17, ...: the permutation that interleaves the halves of a register.
    [[gnu::always_inline]] static Word alternating() {
        return _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    }
};

}  // namespace ziggurat::kernels::tile
