/// Vectors of 16 floats for any machine, as compiler vectors of its register width.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::tile {

/// The operations of avx512.hpp without intrinsics.
///
/// Sources that use them are compiled with contraction of a * b + c, which generates fused operations if the
/// machine has them.
struct Portable {
    using Single = Portable;
    static constexpr int register_floats =
        __BIGGEST_ALIGNMENT__ / 4;  // the compiler aligns to its widest register
    static constexpr int lanes = 16;
    static constexpr int parts = lanes / register_floats;
    static constexpr bool has_bf16_pairs = false;

    using Register [[gnu::vector_size(4 * register_floats)]] = float;
    using Integers [[gnu::vector_size(4 * register_floats)]] = std::uint32_t;
    struct Float {
        Register part[parts];
    };
    struct alignas(64) Word {
        std::uint32_t lane[lanes];
    };

    [[gnu::always_inline]] static Float zero() { return broadcast(0.0f); }
    [[gnu::always_inline]] static Float broadcast(float x) {
        return each([&](int) { return Register{} + x; });
    }
    [[gnu::always_inline]] static Float load(const float* from) {
        return each([&](int i) { return *reinterpret_cast<const Aliasing*>(from + i * register_floats); });
    }
    [[gnu::always_inline]] static void store(float* to, Float x) {
#pragma GCC unroll 4
        for (int i = 0; i < parts; ++i) {
            *reinterpret_cast<Aliasing*>(to + i * register_floats) = x.part[i];
        }
    }
    [[gnu::always_inline]] static Float add(Float a, Float b) {
        return each([&](int i) { return a.part[i] + b.part[i]; });
    }
    [[gnu::always_inline]] static Float multiply(Float a, Float b) {
        return each([&](int i) { return a.part[i] * b.part[i]; });
    }
    [[gnu::always_inline]] static Float fma(Float a, Float b, Float c) {
        return each([&](int i) { return a.part[i] * b.part[i] + c.part[i]; });
    }
    [[gnu::always_inline]] static Float max(Float a, Float b) {
        return each([&](int i) { return a.part[i] > b.part[i] ? a.part[i] : b.part[i]; });
    }
    [[gnu::always_inline]] static float sum(Float x) {
        alignas(64) float lane[lanes];
        store(lane, x);
        for (int width = lanes / 2; width > 0; width /= 2) {
            for (int i = 0; i < width; ++i) {
                lane[i] += lane[i + width];
            }
        }
        return lane[0];
    }
    [[gnu::always_inline]] static float max_of(Float x) {
        alignas(64) float lane[lanes];
        store(lane, x);
        return *std::max_element(lane, lane + lanes);
    }

    [[gnu::always_inline]] static float first_of(Float x) {
        return x.part[0][0];
    }

    [[gnu::always_inline]] static Float keep(Float x, int first, int last, Float fallback) {
        alignas(64) float lane[lanes];
        alignas(64) float other[lanes];
        store(lane, x);
        store(other, fallback);
        for (int i = 0; i < lanes; ++i) {
            lane[i] = i >= first && i < last ? lane[i] : other[i];
        }
        return load(lane);
    }

    [[gnu::always_inline]] static Float exp2(Float x) {
        return each([&](int i) {
            const Register magic = Register{} + 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
            const Register lowest = Register{} - 126.0f;
            const Register t = x.part[i] < lowest ? lowest : x.part[i];  // NaN stays
            const Register shifted = t + magic;
            const Register f = t - (shifted - magic);
            Register p = 0x1.5bb9f8p-10f * f + 0x1.3cea86p-7f;
            p = p * f + 0x1.c6b754p-5f;
            p = p * f + 0x1.ebf9bcp-3f;
            p = p * f + 0x1.62e42ap-1f;
            p = p * f + 1.0f;
            const auto scaled = reinterpret_cast<Register>(reinterpret_cast<Integers>(p) +
                                                           (reinterpret_cast<Integers>(shifted) << 23));
            return x.part[i] < lowest ? Register{} : scaled;
        });
    }

    template <class T>
    [[gnu::always_inline]] static Float load_elements(const T* from, int count) {
        alignas(64) float lane[lanes];
        if (count >= lanes) {
            for (int i = 0; i < lanes; ++i) {
                lane[i] = static_cast<float>(from[i]);
            }
        } else {
            for (int i = 0; i < lanes; ++i) {
                lane[i] = i < count ? static_cast<float>(from[i]) : 0.0f;
            }
        }
        return load(lane);
    }

    template <class T>
    [[gnu::always_inline]] static void store_elements(T* to, Float x, int count) {
        alignas(64) float lane[lanes];
        store(lane, x);
        if (count >= lanes) {
            for (int i = 0; i < lanes; ++i) {
                to[i] = T(lane[i]);
            }
        } else {
            for (int i = 0; i < count; ++i) {
                to[i] = T(lane[i]);
            }
        }
    }

    template <class T>
    [[gnu::always_inline]] static Word load_words(const T* from, int count) {
        return std::bit_cast<Word>(load_elements(from, count));
    }
    [[gnu::always_inline]] static Word zero_words() {
        return {};
    }
    [[gnu::always_inline]] static void store_words(std::uint32_t* to, Word x) {
        std::copy_n(x.lane, lanes, to);
    }

    static void transpose(Word (&rows)[16]) {
        for (int i = 0; i < lanes; ++i) {
            for (int j = 0; j < i; ++j) {
                std::swap(rows[i].lane[j], rows[j].lane[i]);
            }
        }
    }

    /// Computes multiply_tile in parts of columns.
    ///
    /// Each part has the largest number of columns for which the accumulators of R rows fit in 16 registers.
    template <int RowStep, int WordStep, int R, int V>
    [[gnu::always_inline]] static void multiply_tile(const std::uint32_t* a,
                                                     const std::uint32_t* b,
                                                     std::int64_t words,
                                                     Float (&c)[R][V]) {
        constexpr int width = V * parts % 2 == 0 ? 2 : 1;
#pragma GCC unroll 16
        for (int first = 0; first < V * parts; first += width) {
            Register sums[R][width];
#pragma GCC unroll 6
            for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
                for (int w = 0; w < width; ++w) {
                    sums[r][w] = c[r][(first + w) / parts].part[(first + w) % parts];
                }
            }
            for (std::int64_t p = 0; p < words; ++p) {
                const std::uint32_t* row = b + 64 * p + first * register_floats;
                Register right[width];
#pragma GCC unroll 2
                for (int w = 0; w < width; ++w) {
                    right[w] = *reinterpret_cast<const Aliasing*>(row + w * register_floats);
                }
#pragma GCC unroll 6
                for (int r = 0; r < R; ++r) {
                    const float left = std::bit_cast<float>(a[r * RowStep + p * WordStep]);
#pragma GCC unroll 2
                    for (int w = 0; w < width; ++w) {
                        sums[r][w] = left * right[w] + sums[r][w];
                    }
                }
            }
#pragma GCC unroll 6
            for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
                for (int w = 0; w < width; ++w) {
                    c[r][(first + w) / parts].part[(first + w) % parts] = sums[r][w];
                }
            }
        }
    }

  private:
    using Aliasing [[gnu::vector_size(4 * register_floats), gnu::may_alias]] = float;

    template <class Part>
    [[gnu::always_inline]] static Float each(const Part& part) {
        Float result;
#pragma GCC unroll 4
        for (int i = 0; i < parts; ++i) {
            result.part[i] = part(i);
        }
        return result;
    }
};

}  // namespace ziggurat::kernels::tile
