/// Checks that every implementation of attention must pass.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/kernels/attention_case.hpp"

namespace ziggurat::test {

template <class T>
std::string described(const AttentionCase<T>& c) {
    return "batch " + std::to_string(c.shape.batch) + ", seq " + std::to_string(c.shape.seq) + ", heads " +
           std::to_string(c.shape.heads) + ", kv heads " + std::to_string(c.shape.kv_heads) + ", head dim " +
           std::to_string(c.shape.head_dim) + ", documents of " + std::to_string(c.document) + ", window " +
           std::to_string(c.window) + ", dropout " + std::to_string(c.probability) + ", scale " +
           std::to_string(c.shape.scale) + ", cap " + std::to_string(c.shape.score_cap);
}

template <class T>
void expect_reference(const Attention<T>& attention, AttentionCase<T>& c) {
    SCOPED_TRACE(described(c));
    const auto errors = c.errors(c.run(attention, 2));
    const double sharp = c.spread > 1 ? 4 : 1;  // large scores lose more of their low bits
    EXPECT_LT(errors.out, sharp * attention_bound<T>);
    if (c.shape.seq > 1 && c.document != 1 &&
        c.window != 1) {  // a single key has weight 1: its gradient is zero
        EXPECT_LT(errors.d_q, sharp * attention_bound<T>);
        EXPECT_LT(errors.d_k, sharp * attention_bound<T>);
    }
    EXPECT_LT(errors.d_v, sharp * attention_bound<T>);
    EXPECT_LT(errors.lse, c.lse_unit() == 1 ? 1e-5 : 1e-6);
}

template <class T>
void expect_reference(const Attention<T>& attention) {
    for (auto& c : attention_cases<T>()) {
        expect_reference(attention, c);
    }
}

template <class T>
void expect_same_bits_for_any_threads(const Attention<T>& attention, AttentionCase<T> c) {
    c.fill();

    const auto one = c.run(attention, 1);
    const auto two = c.run(attention, 2);

    EXPECT_TRUE(same_bits(one.out, two.out));
    EXPECT_TRUE(same_bits(one.lse, two.lse));
    EXPECT_TRUE(same_bits(one.d_qkv, two.d_qkv));
}

}  // namespace ziggurat::test
