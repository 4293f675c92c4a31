/// Vectors of 16 floats with AVX-512.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/immintrin.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::comm::stream {

struct Avx512Floats {
    using Float = __m512;
    static constexpr std::size_t alignment = 64;

    template <class T>
    [[gnu::always_inline]] static Float load(const std::byte* from) {
        if constexpr (std::is_same_v<T, float>) {
            return _mm512_loadu_ps(from);
        } else {
            const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
            return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
        }
    }
    template <class T>
    [[gnu::always_inline]] static void store(std::byte* to, Float x) {
        if constexpr (std::is_same_v<T, float>) {
            _mm512_storeu_ps(to, x);
        } else {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), round(x));
        }
    }
    template <class T>
    [[gnu::always_inline]] static void stream(std::byte* to, Float x) {
        if constexpr (std::is_same_v<T, float>) {
            _mm512_stream_ps(reinterpret_cast<float*>(to), x);
        } else {
            _mm256_stream_si256(reinterpret_cast<__m256i*>(to), round(x));
        }
    }
    [[gnu::always_inline]] static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
    static void fence() { _mm_sfence(); }

    /// Copies bytes, with non-temporal stores for whole cache lines.
    static void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
        const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % 64;
        const std::size_t head = std::min(bytes, (64 - past) % 64);
        std::memcpy(to, from, head);
        std::size_t i = head;
        for (; i + 256 <= bytes; i += 256) {
            const __m512i a = _mm512_loadu_si512(from + i);
            const __m512i b = _mm512_loadu_si512(from + i + 64);
            const __m512i c = _mm512_loadu_si512(from + i + 128);
            const __m512i d = _mm512_loadu_si512(from + i + 192);
            _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), a);
            _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 64), b);
            _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 128), c);
            _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 192), d);
        }
        std::memcpy(to + i, from + i, bytes - i);
        fence();
    }

  private:
    /// Rounds to nearest even in integers, as tensor::bfloat16 does: VCVTNEPS2BF16 would flush subnormals.
    [[gnu::always_inline]] static __m256i round(Float x) {
        const __m512i bits = _mm512_castps_si512(x);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
        const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
        const __m512i chosen = _mm512_mask_or_epi32(rounded, is_nan, bits, _mm512_set1_epi32(0x400000));
        return _mm512_cvtepi32_epi16(_mm512_srli_epi32(chosen, 16));
    }
};

}  // namespace ziggurat::comm::stream
