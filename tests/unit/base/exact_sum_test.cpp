#include "base/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/philox.hpp"

namespace ziggurat {
namespace {

double sum_of(std::initializer_list<double> terms) {
    ExactSum sum;
    for (const double term : terms) {
        sum.add(term);
    }
    return sum.value();
}

/// Returns terms of both signs whose magnitudes span 2^-120 .. 2^60.
std::vector<double> wild_terms(std::uint32_t count) {
    std::vector<double> terms;
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto words = Philox4x32::generate({i, 0, 0, 0}, {99, 0});
        const double sign = (words[2] & 1) != 0 ? -1 : 1;
        terms.push_back(sign * std::ldexp(double(words[0]) * 0x1p32 + words[1], int(words[3] % 117) - 120));
    }
    return terms;
}

TEST(ExactSum, IsZeroAtFirstAndKeepsOneTerm) {
    EXPECT_EQ(ExactSum{}.value(), 0.0);
    for (const double term :
         {1.0, -1.0, 0.1, 1e-20, 12345.678, -9.9e29, 0x1p-144, std::nextafter(0x1p100, 0.0)}) {
        EXPECT_EQ(sum_of({term}), term);
    }
}

TEST(ExactSum, LosesNothingToCancellation) {
    EXPECT_EQ(sum_of({1e20, 1.0, -1e20}), 1.0);
    EXPECT_EQ(sum_of({0x1p99, 0x1p-140, -0x1p99}), 0x1p-140);
    EXPECT_EQ(sum_of({-0x1p99, -0x1p-140, 0x1p99}), -0x1p-140);
    EXPECT_EQ(sum_of({3.5, -3.5}), 0.0);
}

TEST(ExactSum, RoundsTheWholeSumOnceToNearestEven) {
    EXPECT_EQ(sum_of({0x1p53, 1.0}), 0x1p53);
    EXPECT_EQ(sum_of({0x1p53, 3.0}), 0x1p53 + 4);
    EXPECT_EQ(sum_of({0x1p53, 1.0, 0x1p-144}), 0x1p53 + 2);
    EXPECT_EQ(sum_of({0x1p53, 1.0, -0x1p-144}), 0x1p53);
    EXPECT_EQ(sum_of({-0x1p53, -1.0, -0x1p-144}), -0x1p53 - 2);
    EXPECT_EQ(sum_of({0x1p99, 0x1p46, 0x1p-100}), 0x1p99 + 0x1p47);
}

TEST(ExactSum, AgreesWithIntegersOf128Bits) {
    for (std::uint32_t round = 0; round < 200; ++round) {
        ExactSum sum;
        __int128 integer = 0;
        for (std::uint32_t i = 0; i < 50; ++i) {
            const auto words = Philox4x32::generate({i, round, 0, 0}, {5, 0});
            const int shift = int(words[1] % 90);
            const auto mantissa = std::int64_t{words[0]} - 0x7fffffff;
            integer += static_cast<__int128>(mantissa) * (static_cast<__int128>(1) << shift);
            sum.add(std::ldexp(double(mantissa), shift - 60));
        }
        EXPECT_EQ(sum.value(), std::ldexp(double(integer), -60));
    }
}

TEST(ExactSum, HasTheSameBitsInAnyOrderAndGrouping) {
    auto terms = wild_terms(1000);
    ExactSum forward;
    for (const double term : terms) {
        forward.add(term);
    }
    std::reverse(terms.begin(), terms.end());
    ExactSum parts[7];
    for (std::size_t i = 0; i < terms.size(); ++i) {
        parts[i * i % 7].add(terms[i]);
    }
    ExactSum merged;
    for (const auto& part : parts) {
        merged.merge(part);
    }

    EXPECT_EQ(forward.limbs(), merged.limbs());
    EXPECT_EQ(forward.value(), merged.value());
}

TEST(ExactSum, LimbsOfManyRanksAddAsPlainIntegers) {
    const auto terms = wild_terms(600);
    ExactSum whole;
    ExactSum::Limbs reduced{};
    for (std::size_t rank = 0; rank < 6; ++rank) {
        ExactSum own;
        for (std::size_t i = rank; i < terms.size(); i += 6) {
            own.add(terms[i]);
            whole.add(terms[i]);
        }
        const auto limbs = own.limbs();
        for (std::size_t l = 0; l < limbs.size(); ++l) {
            reduced[l] += limbs[l];
        }
    }

    EXPECT_EQ(ExactSum{reduced}.limbs(), whole.limbs());
    EXPECT_EQ(ExactSum{reduced}.value(), whole.value());
}

TEST(ExactSum, LimbsLeaveRoomForTwoToThe31Ranks) {
    ExactSum sum;
    for (const double term : wild_terms(100)) {
        sum.add(std::abs(term));
    }
    const auto limbs = sum.limbs();
    for (std::size_t l = 0; l + 1 < limbs.size(); ++l) {
        EXPECT_GE(limbs[l], 0);
        EXPECT_LT(limbs[l], std::int64_t{1} << 32);
    }
}

TEST(ExactSum, CarriesThroughMoreTermsThanOneCanCount) {
    ExactSum sum;
    sum.add(1.0 / 3);
    for (int doubling = 0; doubling < 43; ++doubling) {
        sum.merge(sum);
    }
    EXPECT_EQ(sum.value(), 0x1p43 / 3);
}

TEST(ExactSum, RoundsTermsToMultiplesOfItsLastBit) {
    EXPECT_EQ(sum_of({0x1.8p-144}), 0x1p-143);
    EXPECT_EQ(sum_of({0x1p-145}), 0x1p-144);
    EXPECT_EQ(sum_of({0x0.ffp-145}), 0.0);
    EXPECT_EQ(sum_of({1e-300, std::numeric_limits<double>::denorm_min(), 0.0, -0.0}), 0.0);
}

TEST(ExactSum, RemembersTermsThatAreNotFiniteOrOutOfRange) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const double term : {infinity, -infinity, std::nan(""), 0x1p100, -0x1p100}) {
        ExactSum sum;
        sum.add(1.0);
        sum.add(term);
        EXPECT_FALSE(sum.is_finite());
        EXPECT_TRUE(std::isnan(sum.value()));

        ExactSum other;
        other.add(2.0);
        other.merge(sum);
        EXPECT_FALSE(other.is_finite());
        EXPECT_FALSE(ExactSum{other.limbs()}.is_finite());
    }
}

}  // namespace
}  // namespace ziggurat
