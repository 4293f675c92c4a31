/// One call of attention, its reference in double, and their difference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/element/dropout.hpp"
#include "kernels/launch/launch.hpp"
#include "layout/cuda_workspaces.hpp"
#include "layout/host_workspaces.hpp"
#include "tests/reference/attention.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::test {

/// Implementation of attention: attention_forward and attention_backward of the library or of a test.
template <class T>
struct Attention {
    std::function<decltype(kernels::attention_forward<T>)> forward;
    std::function<decltype(kernels::attention_backward<T>)> backward;
};

template <class T>
struct AttentionResult {
    std::vector<T> out, d_qkv;
    std::vector<float> lse;
};

/// Errors relative to the reference: of out, d_q, d_k, d_v in the 2-norm; of lse the maximum.
struct AttentionErrors {
    double out, d_q, d_k, d_v, lse;
};

template <class T>
struct AttentionCase {
    kernels::AttentionShape shape;
    std::int64_t document = 0;  ///< length of the documents in a sequence; 0: one document
    float probability = 0;      ///< dropout probability
    float spread = 1;           ///< scale of q and k: large values make weights sharp
    std::int64_t window = 0;    ///< maximum number of keys of a query; 0: all before it
    bool is_ring = false;       ///< computed in rounds of a ring

    std::vector<T> qkv{}, d_out{};
    std::vector<std::int32_t> starts{};
    std::vector<std::int64_t> samples{};
    kernels::StepInputs inputs{.step = 11};

    std::int64_t rows() const { return shape.batch * shape.seq; }
    std::int64_t width() const { return (shape.heads + 2 * shape.kv_heads) * shape.head_dim; }
    std::int64_t out_width() const { return shape.heads * shape.head_dim; }

    void fill() {
        qkv = normal_values<T>(rows() * width(), 1, spread);
        d_out = normal_values<T>(rows() * out_width(), 2);
        starts.clear();
        for (std::int64_t row = 0; (document > 0 || window > 0) && row < rows(); ++row) {
            const auto position = row % shape.seq;
            const auto of_document = document > 0 ? position / document * document : 0;
            const auto of_window = window > 0 ? position - window + 1 : 0;
            starts.push_back(static_cast<std::int32_t>(std::max(of_document, of_window)));
        }
        samples.clear();
        for (std::int64_t b = 0; b < shape.batch; ++b) {
            samples.push_back(1000 + 17 * b);
        }
    }

    kernels::Dropout dropout() const {
        return {.probability = probability,
                .seed = 1234,
                .purpose = 5,
                .samples = samples,
                .sequence = shape.seq,
                .inputs = &inputs};
    }

    AttentionResult<T> run(const Attention<T>& attention, int threads) {
        // filled with NaN, so that reads before writes are detected
        const auto bytes = std::max(
            layout::HostWorkspaces{sizeof(T), threads}.attention(shape.seq, shape.head_dim),
            layout::CudaWorkspaces{layout::AttentionUse{.is_bfloat16 = sizeof(T) == 2}}.attention_backward(
                {shape.batch, shape.seq, shape.heads, shape.kv_heads, shape.head_dim, shape.any_order}));
        std::vector<std::byte> workspace(static_cast<std::size_t>(bytes), std::byte{0xff});
        AttentionResult<T> result{std::vector<T>(d_out.size()), std::vector<T>(qkv.size()),
                                  std::vector<float>(static_cast<std::size_t>(rows() * shape.heads))};
        const tensor::TensorRef<float, 3> lse{result.lse.data(), {shape.batch, shape.heads, shape.seq}};
        attention.forward(TestStream{threads}, shape, matrix(qkv, rows(), width()), row(starts), dropout(),
                          matrix(result.out, rows(), out_width()), lse, workspace);
        std::fill(workspace.begin(), workspace.end(), std::byte{0xff});
        attention.backward(TestStream{threads}, shape, matrix(qkv, rows(), width()), row(starts), dropout(),
                           matrix(result.out, rows(), out_width()), matrix(d_out, rows(), out_width()), lse,
                           matrix(result.d_qkv, rows(), width()), workspace);
        return result;
    }

    /// Returns the unit of lse for a natural logarithm: cuDNN saves that, other kernels the binary one.
    double lse_unit() const {
        const layout::AttentionUse use{.is_bfloat16 = sizeof(T) == 2,
                                       .has_documents = document > 0,
                                       .has_window = window > 0,
                                       .has_dropout = probability > 0,
                                       .has_softcap = shape.score_cap > 0,
                                       .is_ring = is_ring};
        return kernels::prepare_attention<T>(TestStream{1}, shape, use) == kernels::AttentionKernel::cudnn
                   ? 1
                   : std::numbers::log2e;
    }

    std::vector<double> columns(const std::vector<T>& from, std::int64_t batch, std::int64_t head) const {
        const auto step = static_cast<std::int64_t>(from.size()) / rows();
        std::vector<double> result;
        for (std::int64_t r = batch * shape.seq; r < (batch + 1) * shape.seq; ++r) {
            for (std::int64_t d = 0; d < shape.head_dim; ++d) {
                result.push_back(
                    double(float(from[static_cast<std::size_t>(r * step + head * shape.head_dim + d)])));
            }
        }
        return result;
    }

    reference::AttentionHead reference_head(std::int64_t batch, std::int64_t head) const {
        const auto kv_head = head / (shape.heads / shape.kv_heads);
        const kernels::DropoutMask mask{kernels::ArgumentTranslator{}(dropout())};
        const auto sample = static_cast<std::uint64_t>(samples[static_cast<std::size_t>(batch)]);
        const auto global_head = static_cast<std::uint32_t>(shape.first_head + head);
        return {static_cast<std::size_t>(shape.seq),
                static_cast<std::size_t>(shape.head_dim),
                shape.scale != 0 ? double(shape.scale) : 1 / std::sqrt(double(shape.head_dim)),
                double(shape.score_cap),
                columns(qkv, batch, head),
                columns(qkv, batch, shape.heads + kv_head),
                columns(qkv, batch, shape.heads + shape.kv_heads + kv_head),
                [this, batch](std::size_t query) {
                    const auto row_index = static_cast<std::size_t>(batch * shape.seq) + query;
                    return starts.empty() ? std::size_t{0} : static_cast<std::size_t>(starts[row_index]);
                },
                [=](std::size_t query, std::size_t key) {
                    const auto words = mask.words(static_cast<std::uint32_t>(key / 4),
                                                  static_cast<std::uint32_t>(query), sample, global_head);
                    return mask.drops() ? double(mask.factor(words[key % 4])) : 1.0;
                }};
    }

    AttentionErrors errors(const AttentionResult<T>& got) const {
        std::vector<double> difference[4], expected[4];
        double lse = 0;
        const double unit = lse_unit();
        const auto note = [&](int which, const std::vector<double>& ours, const std::vector<double>& truth) {
            for (std::size_t i = 0; i < ours.size(); ++i) {
                difference[which].push_back(ours[i] - truth[i]);
                expected[which].push_back(truth[i]);
            }
        };
        for (std::int64_t b = 0; b < shape.batch; ++b) {
            for (std::int64_t kv = 0; kv < shape.kv_heads; ++kv) {
                std::vector<double> d_k(static_cast<std::size_t>(shape.seq * shape.head_dim)),
                    d_v(d_k.size());
                const auto group = shape.heads / shape.kv_heads;
                for (auto h = kv * group; h < (kv + 1) * group; ++h) {
                    const auto head = reference_head(b, h);
                    const auto gradient = reference::attention_backward(head, columns(d_out, b, h));
                    note(0, columns(got.out, b, h), reference::attention(head));
                    note(1, columns(got.d_qkv, b, h), gradient.q);
                    for (std::size_t i = 0; i < d_k.size(); ++i) {
                        d_k[i] += gradient.k[i];
                        d_v[i] += gradient.v[i];
                    }
                    for (std::size_t q = 0; q < head.seq; ++q) {
                        const auto at = static_cast<std::size_t>((b * shape.heads + h) * shape.seq) + q;
                        const double truth = head.log_sum_exp(q) * unit;
                        const double gap = double(got.lse[at]) - truth;
                        lse = std::isnan(gap) ? gap : std::max(lse, std::abs(gap) / (1 + std::abs(truth)));
                    }
                }
                note(2, columns(got.d_qkv, b, shape.heads + kv), d_k);
                note(3, columns(got.d_qkv, b, shape.heads + shape.kv_heads + kv), d_v);
            }
        }
        const auto relative = [&](int which) {
            return std::sqrt(dot(difference[which], difference[which]) /
                             std::max(1e-12, dot(expected[which], expected[which])));
        };
        return {relative(0), relative(1), relative(2), relative(3), lse};
    }
};

/// Returns every kind of call once.
///
/// They vary lengths near the sizes of tiles and blocks, head dimensions, groups, documents, windows,
/// dropout and scales.
template <class T>
std::vector<AttentionCase<T>> attention_cases() {
    std::vector<AttentionCase<T>> cases;
    for (const std::int64_t seq : {1, 2, 5, 7, 33, 64, 65, 96, 129, 200}) {
        cases.push_back({.shape = {1, seq, 2, 2, 64}});
    }
    cases.push_back({.shape = {1, 577, 1, 1, 64}});
    cases.push_back({.shape = {1, 1000, 1, 1, 8}});
    for (const std::int64_t head_dim :
         {1, 2, 3, 8, 16, 17, 32, 33, 48, 63, 80, 96, 127, 128, 160, 192, 255, 256}) {
        cases.push_back({.shape = {2, 71, 1, 1, head_dim}});
    }
    cases.push_back({.shape = {2, 67, 6, 2, 32}});
    cases.push_back({.shape = {2, 128, 4, 2, 64}});
    cases.push_back({.shape = {1, 256, 2, 1, 128}});
    cases.push_back({.shape = {1, 131, 4, 1, 72}});
    for (const std::int64_t document : {1, 3, 40, 64, 100}) {
        cases.push_back({.shape = {2, 203, 2, 1, 32}, .document = document});
    }
    cases.push_back({.shape = {1, 700, 1, 1, 16}, .document = 333});
    for (const std::int64_t window : {1, 2, 13, 64, 65, 200, 203, 500}) {
        cases.push_back({.shape = {2, 203, 2, 1, 32}, .window = window});
    }
    // Queries of one block whose keys begin in different blocks of keys.
    cases.push_back({.shape = {1, 1100, 1, 1, 16}, .window = 50});
    cases.push_back({.shape = {1, 700, 1, 1, 128}, .window = 513});
    cases.push_back({.shape = {1, 300, 2, 1, 136}, .window = 33});
    for (const std::int64_t document : {1, 40, 100}) {
        cases.push_back({.shape = {2, 203, 2, 1, 64}, .document = document, .window = 37});
    }
    cases.push_back({.shape = {1, 150, 4, 2, 32, 3}, .document = 60, .probability = 0.2f, .window = 21});
    cases.push_back({.shape = {2, 77, 4, 2, 32, 5}, .probability = 0.3f});
    for (const std::int64_t head_dim : {64, 72, 136}) {
        cases.push_back({.shape = {1, 53, 4, 2, head_dim, 3}, .document = 30, .probability = 0.2f});
    }
    cases.push_back({.shape = {1, 601, 2, 1, 16, 2}, .document = 150, .probability = 0.1f});
    cases.push_back({.shape = {1, 150, 2, 2, 64}, .spread = 6});
    cases.push_back({.shape = {2, 128, 4, 2, 64, 0, 0, true}});
    cases.push_back({.shape = {1, 256, 4, 1, 128, 0, 0, true}});
    // Scales other than 1 / sqrt(head_dim), with and without documents and dropout.
    cases.push_back({.shape = {2, 67, 4, 2, 32, 0, 0.015625f}, .spread = 3});
    cases.push_back({.shape = {1, 128, 2, 1, 64, 0, 0.25f}});
    cases.push_back({.shape = {2, 77, 2, 2, 48, 0, 0.3f}, .document = 30});
    cases.push_back({.shape = {1, 131, 4, 2, 128, 3, 0.0078125f}, .probability = 0.2f, .spread = 4});
    for (const std::int64_t seq : {1, 31, 64, 129, 577}) {
        cases.push_back({.shape = {1, seq, 2, 1, 64, 0, 0, false, 2.0f}, .spread = 2});
    }
    cases.push_back({.shape = {2, 128, 4, 2, 256, 0, 0.0625f, false, 8.0f}, .spread = 1.5f});
    cases.push_back({.shape = {2, 203, 2, 1, 32, 0, 0, false, 1.5f}, .document = 60, .window = 37});
    cases.push_back({.shape = {1, 150, 4, 2, 40, 3, 0.3f, false, 4.0f}, .probability = 0.2f, .spread = 2});
    for (auto& c : cases) {
        c.fill();
    }
    return cases;
}

/// Bounds based on measured errors against double: 2e-7 and 4e-7 in float, 1.8e-3 and 2.4e-3 in
/// bfloat16.
template <class T>
inline constexpr double attention_bound = 2e-6;
template <>
inline constexpr double attention_bound<tensor::bfloat16> = 8e-3;

}  // namespace ziggurat::test
