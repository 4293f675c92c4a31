#include "comm/node/shared_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "comm/fold.hpp"
#include "comm/node/shared_sum_impl.hpp"
#include "comm/node/stream/portable_floats.hpp"
#include "tests/mpi/collectives/numbered_vectors.hpp"

namespace ziggurat::comm {
namespace {

using tensor::bfloat16;
using namespace ziggurat::test;

/// Calls sum_shared() without the machine's vector instructions.
void sum_shared_portably(const SharedSum& sum, std::int64_t begin, std::int64_t end) {
    shared_sum::sum_with<stream::PortableFloats>(sum, begin, end);
}

constexpr std::int64_t lengths[] = {0, 1, 15, 16, 17, 63, 64, 65, 1000};

/// Vectors of all members at a given distance from a cache line, and the result of `fold`.
template <class T>
struct Case {
    Case(int members, std::int64_t elements, int shift, int sum_group) {
        for (int m = 0; m < members; ++m) {
            memory.emplace_back(static_cast<std::size_t>(elements) + 64);
            auto* begin = first_of_line(memory.back()) + (shift + m * shift) % 32;
            for (std::int64_t i = 0; i < elements; ++i) {
                begin[i] = T{ragged(m, i)};
            }
            inputs.push_back(reinterpret_cast<const std::byte*>(begin));
        }
        expected.resize(static_cast<std::size_t>(elements));
        fold(inputs, bytes(expected), elements, dtype_of<T>, sum_group);
    }

    static T* first_of_line(std::vector<T>& of) {
        const auto address = reinterpret_cast<std::uintptr_t>(of.data());
        return of.data() + (64 - address % 64) % 64 / sizeof(T);
    }

    std::vector<std::vector<T>> memory;
    std::vector<const std::byte*> inputs;
    std::vector<T> expected;
};

using Summing = void (*)(const SharedSum&, std::int64_t, std::int64_t);

template <class T>
void expect_fold(Summing sum, int members, std::int64_t elements, int shift, int sum_group, Stores stores) {
    Case<T> given{members, elements, shift, sum_group};
    std::vector<std::vector<T>> results(static_cast<std::size_t>(std::max(2, members)));
    std::vector<std::byte*> outputs;
    for (std::size_t o = 0; o < results.size(); ++o) {
        results[o].assign(static_cast<std::size_t>(elements) + 64, T{-7.0f});
        outputs.push_back(reinterpret_cast<std::byte*>(Case<T>::first_of_line(results[o]) + shift % 32));
    }
    // One output, two, and one per member, in two ranges as for two threads.
    for (const std::size_t num_outputs : {std::size_t{1}, std::size_t{2}, results.size()}) {
        const SharedSum what{.inputs = given.inputs,
                             .outputs = std::span{outputs}.first(num_outputs),
                             .type = dtype_of<T>,
                             .sum_group = sum_group,
                             .stores = stores};
        sum(what, 0, elements / 3);
        sum(what, elements / 3, elements);
        for (std::size_t o = 0; o < num_outputs; ++o) {
            const auto size = static_cast<std::size_t>(elements) * sizeof(T);
            ASSERT_EQ(0, elements == 0 ? 0 : std::memcmp(outputs[o], given.expected.data(), size))
                << members << " members, " << elements << " elements, shift " << shift << ", sum_group "
                << sum_group;
            T past;
            std::memcpy(&past, outputs[o] + size, sizeof(T));
            ASSERT_EQ(-7.0f, static_cast<float>(past)) << "wrote past the end";
            std::memset(outputs[o], 0, size);
        }
    }
}

template <class T>
void expect_fold_everywhere(Summing sum, Stores stores) {
    for (const int members : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17}) {
        for (const int sum_group : {0, 1, 2, 3, 4, 16}) {
            for (const auto elements : lengths) {
                for (const int shift : {0, 1, 5}) {
                    expect_fold<T>(sum, members, elements, shift, sum_group, stores);
                }
            }
        }
    }
}

TEST(SumShared, GivesTheBitsOfTheFoldWithOrdinaryStores) {
    expect_fold_everywhere<float>(sum_shared, Stores::ordinary);
    expect_fold_everywhere<bfloat16>(sum_shared, Stores::ordinary);
}

TEST(SumShared, GivesTheBitsOfTheFoldPastTheCaches) {
    expect_fold_everywhere<float>(sum_shared, Stores::non_temporal);
    expect_fold_everywhere<bfloat16>(sum_shared, Stores::non_temporal);
}

TEST(SumShared, GivesTheBitsOfTheFoldWithoutVectorInstructions) {
    expect_fold_everywhere<float>(sum_shared_portably, Stores::non_temporal);
    expect_fold_everywhere<bfloat16>(sum_shared_portably, Stores::ordinary);
}

TEST(SumShared, MayReplaceOneOfItsInputs) {
    for (const Stores stores : {Stores::ordinary, Stores::non_temporal}) {
        Case<float> given{3, 1000, 0, 2};
        auto* in_place = const_cast<std::byte*>(given.inputs[1]);

        sum_shared({.inputs = given.inputs, .outputs = {&in_place, 1}, .sum_group = 2, .stores = stores}, 0,
                   1000);

        EXPECT_EQ(0, std::memcmp(in_place, given.expected.data(), 4000));
    }
}

TEST(SumShared, RoundsBfloat16ToEvenAndKeepsSubnormalsAndNan) {
    const float tiny = std::numeric_limits<float>::denorm_min() * 65536.0f * 3.0f;
    const float values[] = {
        1.0f, 1.0f + 0x1p-8f, 1.0f + 0x1.8p-7f, tiny, -tiny, 3.0e38f, std::numeric_limits<float>::infinity()};
    std::vector<bfloat16> a(32, bfloat16{0.0f});
    std::vector<bfloat16> b(32, bfloat16{0x1p-9f});
    for (std::size_t i = 0; i < std::size(values); ++i) {
        a[i] = bfloat16{values[i]};
    }
    a[7] = bfloat16{std::numeric_limits<float>::quiet_NaN()};
    b[5] = bfloat16{3.0e38f};
    b[6] = bfloat16{-std::numeric_limits<float>::infinity()};
    const std::byte* inputs[] = {bytes(a), bytes(b)};
    std::vector<bfloat16> expected(32);
    fold(inputs, bytes(expected), 32, spec::DType::bf16, 0);
    for (const Summing sum : {sum_shared, sum_shared_portably}) {
        std::vector<bfloat16> result(32);
        auto* output = bytes(result);

        sum({.inputs = inputs, .outputs = {&output, 1}, .type = spec::DType::bf16}, 0, 32);

        for (std::size_t i = 0; i < result.size(); ++i) {
            const bool is_nan = expected[i] != expected[i] ||
                                static_cast<float>(expected[i]) != static_cast<float>(expected[i]);
            EXPECT_TRUE(is_nan ? static_cast<float>(result[i]) != static_cast<float>(result[i])
                               : result[i] == expected[i])
                << "element " << i;
        }
    }
}

TEST(CopyShared, CopiesAnyBytesToAnyPlace) {
    std::vector<std::byte> from(3000);
    for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = static_cast<std::byte>(i * 7 % 251);
    }
    for (const Stores stores : {Stores::ordinary, Stores::non_temporal}) {
        for (const std::int64_t size : {0, 1, 63, 64, 255, 256, 257, 1027, 2500}) {
            for (const std::int64_t shift : {0, 1, 2, 33}) {
                std::vector<std::byte> to(3000, std::byte{0xee});

                copy_shared(to.data() + shift, from.data() + 3, size, stores);

                for (std::int64_t i = 0; i < std::ssize(to); ++i) {
                    const bool is_inside = i >= shift && i < shift + size;
                    ASSERT_EQ(is_inside ? from[static_cast<std::size_t>(i - shift + 3)] : std::byte{0xee},
                              to[static_cast<std::size_t>(i)]);
                }
            }
        }
    }
}

TEST(LastLevelCache, IsOfAPlausibleSize) {
    EXPECT_GE(last_level_cache_bytes(), 256 * 1024);
}

}  // namespace
}  // namespace ziggurat::comm
