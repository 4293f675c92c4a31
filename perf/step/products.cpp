#include "perf/step/products.hpp"

#include <algorithm>
#include <chrono>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>

#include "layout/families/family.hpp"

namespace ziggurat::perf {
namespace {

using dnnl::memory;

/// Adds `count` times the three products of y[m, out] = x[m, in] w[out, in]^T.
void add_linear(std::vector<Product>& list,
                const std::string& name,
                std::int64_t m,
                std::int64_t in,
                std::int64_t out,
                double count) {
    list.push_back({name + " forward", m, out, in, 1, count, false, true, false});
    list.push_back({name + " backward_input", m, in, out, 1, count, false, false, false});
    list.push_back({name + " backward_weight", out, in, m, 1, count, true, false, true});
}

memory::desc matrix(
    std::int64_t batch, std::int64_t rows, std::int64_t columns, memory::data_type type, bool is_transposed) {
    const auto row = is_transposed ? std::int64_t{1} : columns;
    const auto column = is_transposed ? rows : std::int64_t{1};
    if (batch == 1) {
        return {{rows, columns}, type, memory::dims{row, column}};
    }
    return {{batch, rows, columns}, type, memory::dims{rows * columns, row, column}};
}

void fill(memory& values) {
    std::mt19937 random{1};
    const auto bytes = values.get_desc().get_size();
    if (values.get_desc().data_type() == memory::data_type::f32) {
        auto* data = static_cast<float*>(values.get_data_handle());
        std::generate(data, data + bytes / 4, [&] { return float(random() % 2001) / 1000.0f - 1.0f; });
    } else {
        auto* data = static_cast<std::uint16_t*>(values.get_data_handle());  // bf16 between 0.5 and 1
        std::generate(data, data + bytes / 2, [&] { return std::uint16_t(0x3f00 + random() % 128); });
    }
}

}  // namespace

std::vector<Product> products_of(const spec::RunSpec& spec) {
    const auto table = layout::family_table(spec.model, {});
    const auto tokens = spec.train.micro_batch * spec.data.seq;
    const double micro_batches = double(spec.train.micro_batches);
    const double layers = double(spec.model.layers);
    std::vector<Product> list;
    for (const auto& phase : table.units.at(1).phases) {
        if (phase.kind == layout::PhaseKind::linear) {
            add_linear(list, phase.name, tokens, phase.in, phase.out, layers * micro_batches);
        }
    }
    const auto seq = spec.data.seq;
    const auto heads = spec.train.micro_batch * spec.model.heads;
    const auto dim = spec.model.head_dim;
    const double half = 0.5 * layers * micro_batches;
    list.push_back(
        {"attention scores (1 forward, 1 backward)", seq, seq, dim, heads, 2 * half, false, true, false});
    list.push_back(
        {"attention output (1 forward, 3 backward)", seq, dim, seq, heads, 4 * half, false, false, false});
    add_linear(list, "logits", tokens, spec.model.hidden, spec.model.vocab_padded, micro_batches);
    return list;
}

double seconds_of(const Product& product, spec::DType type) {
    const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    const auto in = type == spec::DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
    const auto out = product.result_is_f32 ? memory::data_type::f32 : in;
    const auto a = matrix(product.batch, product.m, product.k, in, product.a_is_transposed);
    const auto b = matrix(product.batch, product.k, product.n, in, product.b_is_transposed);
    const auto c = matrix(product.batch, product.m, product.n, out, false);
    const dnnl::matmul matmul{{{a, b, c}, engine}};
    memory a_memory{a, engine}, b_memory{b, engine}, c_memory{c, engine};
    fill(a_memory);
    fill(b_memory);

    double best = 1e9;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const auto begin = std::chrono::steady_clock::now();
        matmul.execute(stream,
                       {{DNNL_ARG_SRC, a_memory}, {DNNL_ARG_WEIGHTS, b_memory}, {DNNL_ARG_DST, c_memory}});
        stream.wait();
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        best = repeat == 0 ? best : std::min(best, seconds);
    }
    return best;
}

}  // namespace ziggurat::perf
