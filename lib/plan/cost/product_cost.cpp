#include "plan/cost/product_cost.hpp"

#include <algorithm>

#include "plan/gpu/op_operands.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Direction;
using schedule::Op;

/// Factor of counted FLOP within which an op's FLOP equal those of its main product.
constexpr double nearly = 1 - 1e-6;

double efficiency(double extent, double half) {
    return extent / (extent + half);
}

const spec::ProductRate& rate_of(Direction direction, const spec::ProductRates& rates) {
    switch (direction) {
        case Direction::backward_input:
            return rates.of_backward_input();
        case Direction::backward_weight:
            return rates.of_backward_weight();
        case Direction::none:
        case Direction::forward:
        case Direction::backward:
        case Direction::recompute:
            break;
    }
    return rates.forward;
}

bool reads_packed_weight(const Op& op) {
    return std::ranges::any_of(op.reads, [](const schedule::Operand& operand) {
        return operand.role == schedule::Role::packed_forward ||
               operand.role == schedule::Role::packed_backward;
    });
}

}  // namespace

ProductExtents product_of(const Op& op, const layout::Phase& phase) {
    const auto rows = static_cast<double>(op.row_end - op.row_begin);
    const auto in = static_cast<double>(phase.in);
    const auto out = static_cast<double>(op.column_end > 0 ? op.column_end - op.column_begin : phase.out);
    switch (op.direction) {
        case Direction::backward_input:
            return {rows, in, out};
        case Direction::backward_weight:
            return {out, in, rows};
        case Direction::none:
        case Direction::forward:
        case Direction::backward:
        case Direction::recompute:
            return {rows, out, in};
    }
    return {};
}

double product_seconds(const ProductExtents& product,
                       const spec::ProductRate& rate,
                       const ProductMemory& memory) {
    const auto& [m, n, k] = product;
    const double flops =
        rate.flops * efficiency(m, rate.half_m) * efficiency(n, rate.half_n) * efficiency(k, rate.half_k);
    const double bytes = static_cast<double>(memory.element_bytes) * (m * k + k * n + m * n);
    const double bound = memory.bandwidth > 0 ? bytes / memory.bandwidth : 0;
    return rate.call + std::max(product.flops() / flops, bound);
}

double products_seconds(const Op& op,
                        const layout::Phase& phase,
                        std::int64_t element_bytes,
                        std::int64_t lora_rank,
                        const Rates& rates) {
    const auto main = product_of(op, phase);
    auto rate = rate_of(op.direction, rates.products);
    if (reads_packed_weight(op)) {
        rate.half_m = 0;  // on hosts, few rows are slow because each product packs its weight
    }
    const ProductMemory memory{.element_bytes = element_bytes, .bandwidth = rates.memory};
    const double flops = main.flops();
    // A frozen weight has no gradient, so only its adapters are computed.
    const bool has_main = flops > 0 && op.flops >= nearly * flops;
    // Products with the head's logits in both sweeps have several times the FLOP of one product.
    const double times = has_main && phase.adapters.empty() ? op.flops / flops : 1;
    double seconds = has_main ? times * product_seconds(main, rate, memory) : 0;
    const double others = op.flops - (has_main ? times * flops : 0);
    if (others > 0 && lora_rank > 0) {
        const auto rank = static_cast<double>(lora_rank);
        const ProductExtents of_adapter = op.direction == Direction::backward_weight
                                              ? ProductExtents{rank, main.n, main.k}
                                              : ProductExtents{main.m, rank, main.k};
        seconds += others / of_adapter.flops() * product_seconds(of_adapter, rate, memory);
    } else if (others > 0) {
        seconds += others / rate.flops;
    }
    return seconds;
}

double attention_seconds(const Op& op, const Rates& rates) {
    return op.flops / (is_forward(op) ? rates.attention.forward_flops : rates.attention.backward_flops);
}

}  // namespace ziggurat::plan
