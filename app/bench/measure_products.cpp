#include "app/bench/measure_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "app/bench/timed_rounds.hpp"
#include "base/text/units.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::app {
namespace {

using kernels::LinearProduct;

constexpr std::array all_products{LinearProduct::forward, LinearProduct::backward_input,
                                  LinearProduct::backward_weight};

/// Weight of a layer.
struct Weight {
    std::int64_t in, out;
};

/// Layers to measure: every number of rows (tokens) with every weight.
struct ProductGrid {
    std::span<const std::int64_t> rows;
    std::span<const Weight> weights;
    /// Bytes of operands that calls use in turn.
    std::int64_t pool_bytes;
};

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

// Weights: square ones of attention, MLPs of 8/3 and 4 times the width in both directions, and a head.
constexpr std::int64_t host_rows[] = {32, 128, 512, 2048};
constexpr Weight host_weights[] = {{64, 64},   {192, 192},  {192, 512},  {512, 192}, {768, 256},
                                   {768, 768}, {768, 2048}, {2048, 768}, {768, 3072}};
constexpr std::int64_t gpu_rows[] = {256, 1024, 4096, 16384};
constexpr Weight gpu_weights[] = {{256, 256},   {768, 768},   {768, 3072},  {3072, 768},
                                  {2048, 2048}, {2048, 5632}, {5632, 2048}, {4096, 16384}};
constexpr std::int64_t brief_rows[] = {32, 256};
constexpr Weight brief_weights[] = {{64, 64}, {192, 512}, {512, 192}};

ProductGrid grid_for(bool has_gpu, bool is_brief) {
    if (is_brief) {
        return {brief_rows, brief_weights, 4 * mebibyte};
    }
    return has_gpu ? ProductGrid{gpu_rows, gpu_weights, 256 * mebibyte}
                   : ProductGrid{host_rows, host_weights, 32 * mebibyte};
}

RoundLimits limits_for(bool is_brief) {
    return is_brief ? RoundLimits{.round_s = 2e-4, .total_s = 2e-3}
                    : RoundLimits{.round_s = 1e-3, .total_s = 0.015};
}

/// Returns how often the grid is measured.
///
/// The best time of a product counts: other processes slow down some measurements.
int passes_for(bool is_brief) {
    return is_brief ? 1 : 3;
}

/// Measures every product one time and keeps the shortest seconds so far in `timed`.
template <class T>
void measure(BenchRanks& ranks, bool is_brief, std::vector<TimedProduct>& timed) {
    const auto grid = grid_for(ranks.has_gpu(), is_brief);
    std::vector<double> seconds;
    for (const auto rows : grid.rows) {
        for (const auto& [in, out] : grid.weights) {
            kernels::SampleLinear<T> layer{*ranks.devices().device, {rows, in, out, false}, grid.pool_bytes};
            for (const auto kind : all_products) {
                if (timed.size() == seconds.size()) {
                    timed.push_back({kind, rows, in, out, std::numeric_limits<double>::infinity()});
                }
                seconds.push_back(
                    usual_seconds([&] { layer.start(kind); }, [&] { layer.finish(); }, limits_for(is_brief)));
            }
            ranks.advance();
        }
    }
    seconds = ranks.slowest(std::move(seconds));
    for (std::size_t i = 0; i < timed.size(); ++i) {
        timed[i].seconds = std::min(timed[i].seconds, seconds[i]);
    }
}

const char* type_name(spec::DType type) {
    return type == spec::DType::bf16 ? "bf16" : "fp32";
}

std::vector<plan::ProductSample> samples_of(const std::vector<TimedProduct>& timed,
                                            std::optional<LinearProduct> kind = std::nullopt) {
    std::vector<plan::ProductSample> samples;
    for (const auto& product : timed) {
        if (!kind || product.kind == *kind) {
            samples.push_back(product.sample());
        }
    }
    return samples;
}

const spec::ProductRate& rate_of(LinearProduct kind, const spec::ProductRates& rates) {
    switch (kind) {
        case LinearProduct::forward:
            return rates.forward;
        case LinearProduct::backward_input:
            return rates.of_backward_input();
        case LinearProduct::backward_weight:
            return rates.of_backward_weight();
    }
    return rates.forward;
}

}  // namespace

plan::ProductSample TimedProduct::sample() const {
    const auto m = static_cast<double>(rows), i = static_cast<double>(in), o = static_cast<double>(out);
    switch (kind) {
        case LinearProduct::forward:
            return {{m, o, i}, seconds};
        case LinearProduct::backward_input:
            return {{m, i, o}, seconds};
        case LinearProduct::backward_weight:
            return {{o, i, m}, seconds};
    }
    return {};
}

std::vector<TimedProduct> measure_products(BenchRanks& ranks, spec::DType type, bool is_brief) {
    const auto grid = grid_for(ranks.has_gpu(), is_brief);
    const bool is_bf16 = type == spec::DType::bf16;
    ranks.begin(fmt::format("measures products in {}", is_bf16 ? "bf16" : "fp32"), "layers",
                passes_for(is_brief) * std::ssize(grid.rows) * std::ssize(grid.weights));
    std::vector<TimedProduct> timed;
    for (int pass = 0; pass < passes_for(is_brief); ++pass) {
        is_bf16 ? measure<tensor::bfloat16>(ranks, is_brief, timed) : measure<float>(ranks, is_brief, timed);
    }
    ranks.end();
    return timed;
}

spec::ProductRates fit_linear_products(const std::vector<TimedProduct>& timed,
                                       const plan::ProductMemory& memory,
                                       bool has_gpu) {
    if (has_gpu) {
        return {.forward = plan::fit_products(samples_of(timed), memory)};
    }
    const auto fit = [&](LinearProduct kind) { return plan::fit_products(samples_of(timed, kind), memory); };
    return {.forward = fit(LinearProduct::forward),
            .backward_input = fit(LinearProduct::backward_input),
            .backward_weight = fit(LinearProduct::backward_weight)};
}

std::string rates_lines(spec::DType type,
                        const std::vector<TimedProduct>& timed,
                        const spec::ProductRates& fitted,
                        const plan::ProductMemory& memory) {
    std::string text;
    const auto line = [&](const char* of, const spec::ProductRate& rate,
                          const std::vector<plan::ProductSample>& samples) {
        text += fmt::format(
            "{} products{}: {}FLOP/s, half of it at m {}, n {}, k {}; {:.1f} us a call; {} products, error "
            "{:.0f} %\n",
            type_name(type), of, format_count(rate.flops), rate.half_m, rate.half_n, rate.half_k,
            rate.call * 1e6, samples.size(), 100 * plan::fit_error(samples, rate, memory));
    };
    if (fitted.backward_input.flops <= 0) {
        line("", fitted.forward, samples_of(timed));
        return text;
    }
    line(" (forward)", fitted.forward, samples_of(timed, LinearProduct::forward));
    line(" (gradients of inputs)", fitted.backward_input, samples_of(timed, LinearProduct::backward_input));
    line(" (gradients of weights)", fitted.backward_weight,
         samples_of(timed, LinearProduct::backward_weight));
    return text;
}

std::string products_table(spec::DType type,
                           const std::vector<TimedProduct>& timed,
                           const spec::ProductRates& fitted,
                           const plan::ProductMemory& memory) {
    auto text = fmt::format("{} products{:>16} {:>22} {:>11} {:>11} {:>8} {:>13}\n", type_name(type), "",
                            "m x n x k", "measured us", "fitted us", "error", "measured");
    for (const auto& product : timed) {
        const auto sample = product.sample();
        const auto& [m, n, k] = sample.extents;
        const double seconds = plan::product_seconds(sample.extents, rate_of(product.kind, fitted), memory);
        text += fmt::format("  {:<27} {:>22} {:>11.1f} {:>11.1f} {:>+7.0f}% {:>13}\n",
                            to_string(product.kind), fmt::format("{} x {} x {}", m, n, k),
                            sample.seconds * 1e6, seconds * 1e6, 100 * (seconds / sample.seconds - 1),
                            format_count(sample.extents.flops() / sample.seconds) + "FLOP/s");
    }
    return text;
}

}  // namespace ziggurat::app
