/// Every kernel on a device with delayed streams, whose memory the host must not access.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "device/cuda.hpp"
#include "device/emulated/emulated_device.hpp"
#include "kernels/adamw.hpp"
#include "kernels/attention.hpp"
#include "kernels/cache/cached_attention.hpp"
#include "kernels/column_sum.hpp"
#include "kernels/columns.hpp"
#include "kernels/context/head_exchange.hpp"
#include "kernels/context/ring_attention.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/gelu.hpp"
#include "kernels/glu/swiglu.hpp"
#include "kernels/gradient_norm.hpp"
#include "kernels/initial_values.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm/head_norm.hpp"
#include "kernels/norm/layer_norm.hpp"
#include "kernels/norm/rms_norm.hpp"
#include "kernels/norm/split_norm.hpp"
#include "kernels/norm/whole_norm.hpp"
#include "kernels/preference.hpp"
#include "kernels/residual.hpp"
#include "kernels/rope.hpp"
#include "layout/cache/kv_cache.hpp"
#include "tests/unit/kernels/late_operands.hpp"

namespace ziggurat::kernels {
namespace {

using Operands = test::LateOperands;

constexpr int threads = 2;

using Call = std::function<void(Operands&)>;
/// Calls by the name of the backend that does the work.
using Calls = std::map<std::string, Call>;

constexpr std::int64_t rows = 6, width = 40, sequence = 3, vocab = 50;

std::vector<std::int32_t> indices() {
    return {7, 0, 7, 3, 49, 1};
}

/// Two ranks that share the key head.
const ContextHeads shared{.ranks = 2, .heads = 4, .kv_heads = 1, .head_dim = 5};

template <class T>
void add_sweeps(Calls& calls) {
    calls["average_weights"] = [](Operands& use) {
        average_weights(use.stream, use.inputs(), use.row<float>(rows * width), use.row<float>(rows * width));
    };
    calls["adamw_update"] = [](Operands& use) {
        adamw_update<T, float>(use.stream, {}, 0.1f, 0.5f, use.inputs(), use.row<float>(rows * width),
                               use.row<float>(rows * width), use.row<float>(rows * width),
                               use.put(std::vector<float>(rows * width, 0.5f)), use.row<T>(rows * width));
    };
    calls["adamw_update_with_norms"] = [](Operands& use) {
        const auto inputs =
            use.put(std::vector<StepInputs>{{.learning_rate = 0.01f, .sums_norms = 1}}).only();
        adamw_update_with_norms<T, float>(use.stream, {}, 0.1f, 0.5f, inputs, use.row<float>(rows * width),
                                          use.row<float>(rows * width), use.row<float>(rows * width),
                                          use.put(std::vector<float>(rows * width, 0.5f)),
                                          use.row<T>(rows * width), use.put(std::vector<ExactSum>(1)).only(),
                                          use.put(std::vector<ExactSum>(1)).only());
    };
    calls["fill_zero"] = [](Operands& use) { fill_zero<T>(use.stream, use.row<T>(width)); };
    calls["add_to"] = [](Operands& use) { add_to<T>(use.stream, use.row<float>(width), use.row<T>(width)); };
    calls["scale"] = [](Operands& use) { scale<T>(use.stream, 0.375f, use.row<T>(width)); };
    calls["convert"] = [](Operands& use) {
        convert<T, float>(use.stream, use.row<T>(width), use.row<float>(width));
    };
    calls["copy_bytes"] = [](Operands& use) {
        const auto from = use.put(std::vector<std::byte>(70000, std::byte{5}));
        const auto to = use.put(std::vector<std::byte>(70000));
        copy_bytes(use.stream, to, from);
    };
    calls["sum_of_squares"] = [](Operands& use) {
        sum_of_squares<T>(use.stream, use.row<T>(1000), use.put(std::vector<ExactSum>(1)).only());
    };
    calls["fill_normal"] = [](Operands& use) {
        fill_normal(use.stream, {1, 2, 0.5f}, {width, 3, 4}, 7, use.row<float>(width));
    };
    calls["column_sum"] = [](Operands& use) {
        column_sum<T>(use.stream, use.matrix<T>(rows, width), use.row<float>(width), Accumulate::yes,
                      use.scratch());
    };
    calls["take_columns"] = [](Operands& use) {
        take_columns<T>(use.stream, use.matrix<T>(rows, width), 5, use.matrix<T>(rows, 7));
    };
    calls["put_columns"] = [](Operands& use) {
        put_columns<T>(use.stream, use.matrix<T>(rows, 7), 5, use.matrix<T>(rows, width));
    };
    calls["split_heads"] = [](Operands& use) {
        split_heads<T>(use.stream, shared, use.matrix<T>(rows, shared.width()),
                       use.matrix<T>(shared.ranks * rows, shared.part_width()));
    };
    calls["join_heads"] = [](Operands& use) {
        join_heads<T>(use.stream, shared, use.matrix<T>(shared.ranks * rows, shared.part_width()),
                      use.matrix<T>(rows, shared.width()));
    };
    calls["exchange_blocks"] = [](Operands& use) {
        exchange_blocks<T>(use.stream, 3, 2, use.matrix<T>(rows, width), use.matrix<T>(rows, width));
    };
    calls["add_columns"] = [](Operands& use) {
        add_columns<T>(use.stream, use.matrix<T>(rows, 7), 5, use.matrix<T>(rows, width));
    };
}

template <class T>
void add_activations(Calls& calls) {
    using Pointwise = void (*)(const device::Stream&, TensorAddress<const T, 2>, TensorAddress<T, 2>);
    const std::map<std::string, Pointwise> of_one = {{"gelu_forward", gelu_forward<T>},
                                                     {"gelu_backward", gelu_backward<T>},
                                                     {"gelu_erf_forward", gelu_erf_forward<T>},
                                                     {"gelu_erf_backward", gelu_erf_backward<T>}};
    for (const auto& [name, kernel] : of_one) {
        calls[name] = [kernel = kernel](Operands& use) {
            kernel(use.stream, use.matrix<T>(rows, width), use.matrix<T>(rows, width));
        };
    }
    calls["swiglu_forward"] = [](Operands& use) {
        swiglu_forward<T>(use.stream, use.matrix<T>(rows, 2 * width), use.matrix<T>(rows, width));
    };
    calls["swiglu_backward"] = [](Operands& use) {
        swiglu_backward<T>(use.stream, use.matrix<T>(rows, 2 * width), use.matrix<T>(rows, width),
                           use.matrix<T>(rows, 2 * width));
    };
    calls["geglu_forward"] = [](Operands& use) {
        geglu_forward<T>(use.stream, use.matrix<T>(rows, 2 * width), use.matrix<T>(rows, width));
    };
    calls["geglu_backward"] = [](Operands& use) {
        geglu_backward<T>(use.stream, use.matrix<T>(rows, 2 * width), use.matrix<T>(rows, width),
                          use.matrix<T>(rows, 2 * width));
    };
    calls["residual_forward"] = [](Operands& use) {
        residual_forward<T>(use.stream, use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                            use.dropout(sequence), use.matrix<T>(rows, width));
    };
    calls["dropout_backward"] = [](Operands& use) {
        dropout_backward<T>(use.stream, use.matrix<T>(rows, width), use.dropout(sequence),
                            use.matrix<T>(rows, width));
    };
}

template <class T>
void add_norms(Calls& calls) {
    calls["layer_norm_forward"] = [](Operands& use) {
        layer_norm_forward<T>(use.stream, use.matrix<T>(rows, width), use.row<T>(width), use.row<T>(width),
                              1e-5f, use.matrix<T>(rows, width), use.row<float>(rows), use.row<float>(rows));
    };
    calls["residual_layer_norm_forward"] = [](Operands& use) {
        residual_layer_norm_forward<T>(use.stream, use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                                       use.dropout(sequence), use.row<T>(width), use.row<T>(width), 1e-5f,
                                       use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                                       use.row<float>(rows), use.row<float>(rows));
    };
    calls["layer_norm_backward"] = [](Operands& use) {
        layer_norm_backward<T>(use.stream, use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                               use.row<T>(width), use.row<float>(rows), use.row<float>(rows),
                               use.matrix<T>(rows, width), Accumulate::yes, use.row<float>(width), {},
                               Accumulate::no, use.scratch());
    };
    static constexpr QkvHeads heads{3, 1, 8};
    static_assert(heads.width() == width);
    calls["head_norm_forward"] = [](Operands& use) {
        head_norm_forward<T>(use.stream, heads, use.matrix<T>(rows, width), use.row<T>(16), 1.0f, 1e-5f,
                             use.matrix<T>(rows, width));
    };
    calls["head_norm_backward"] = [](Operands& use) {
        head_norm_backward<T>(use.stream, heads, use.matrix<T>(rows, width), use.row<T>(16), 1.0f, 1e-5f,
                              use.matrix<T>(rows, width), use.row<float>(16), Accumulate::yes, use.scratch());
    };
    calls["square_sums"] = [](Operands& use) {
        square_sums<T>(use.stream, heads, use.matrix<T>(rows, width), use.matrix<float>(rows, 2));
    };
    calls["square_sums_backward"] = [](Operands& use) {
        square_sums_backward<T>(use.stream, heads, use.matrix<T>(rows, width), use.matrix<float>(rows, 2),
                                use.matrix<T>(rows, width));
    };
    calls["whole_norm_forward"] = [](Operands& use) {
        whole_norm_forward<T>(use.stream, heads, 2, use.matrix<T>(rows, width), use.matrix<float>(rows, 2),
                              use.row<T>(32), 1e-5f, use.matrix<T>(rows, width));
    };
    calls["whole_norm_backward"] = [](Operands& use) {
        whole_norm_backward<T>(use.stream, heads, 2, use.matrix<T>(rows, width), use.matrix<float>(rows, 2),
                               use.row<T>(32), 1e-5f, use.matrix<T>(rows, width), use.matrix<float>(rows, 2),
                               use.row<float>(32), Accumulate::yes, use.scratch());
    };
    static constexpr SplitNorm split{3 * width, 1.0f, 1e-5f};
    calls["row_sums"] = [](Operands& use) {
        row_sums<T>(use.stream, use.matrix<T>(rows, width), use.matrix<float>(rows, 2));
    };
    calls["row_sums_backward"] = [](Operands& use) {
        row_sums_backward<T>(use.stream, use.matrix<T>(rows, width), use.matrix<float>(rows, 2),
                             use.matrix<T>(rows, width));
    };
    calls["split_norm_forward"] = [](Operands& use) {
        split_norm_forward<T>(use.stream, split, use.matrix<T>(rows, width), use.matrix<float>(rows, 2),
                              use.row<T>(width), use.row<T>(width), use.matrix<T>(rows, width));
    };
    calls["split_norm_backward"] = [](Operands& use) {
        split_norm_backward<T>(use.stream, split, use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                               use.matrix<float>(rows, 2), use.row<T>(width), use.matrix<T>(rows, width),
                               Accumulate::yes, use.matrix<float>(rows, 2), use.row<float>(width),
                               use.row<float>(width), Accumulate::yes, use.scratch());
    };
    calls["rms_norm_forward"] = [](Operands& use) {
        rms_norm_forward<T>(use.stream, use.matrix<T>(rows, width), use.row<T>(width), 1.0f, 1e-5f,
                            use.matrix<T>(rows, width), use.row<float>(rows));
    };
    calls["residual_rms_norm_forward"] = [](Operands& use) {
        residual_rms_norm_forward<T>(use.stream, use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                                     use.dropout(sequence), use.row<T>(width), 1.0f, 1e-5f,
                                     use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                                     use.row<float>(rows));
    };
    calls["rms_norm_backward"] = [](Operands& use) {
        rms_norm_backward<T>(use.stream, use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                             use.row<T>(width), 1.0f, use.row<float>(rows), use.matrix<T>(rows, width),
                             Accumulate::yes, use.row<float>(width), Accumulate::yes, use.scratch());
    };
}

template <class T>
void add_embeddings(Calls& calls) {
    calls["embedding_forward"] = [](Operands& use) {
        embedding_forward<T>(use.stream, use.put(indices()), use.put(indices()), use.matrix<T>(5, width), 3,
                             vocab, use.matrix<T>(vocab, width), use.dropout(sequence),
                             use.matrix<T>(rows, width));
    };
    calls["embedding_backward"] = [](Operands& use) {
        embedding_backward<T>(use.stream, use.put(indices()), {}, use.matrix<T>(rows, width),
                              use.dropout(sequence), use.matrix<float>(5, width), 3, vocab, Accumulate::yes,
                              {}, Accumulate::no);
    };
    calls["embedding_tile_forward"] = [](Operands& use) {
        embedding_tile_forward<T>(use.stream, use.put(indices()), use.matrix<T>(5, width), 3,
                                  use.matrix<T>(rows, width));
    };
    calls["embedding_positions_forward"] = [](Operands& use) {
        embedding_positions_forward<T>(use.stream, use.put(indices()), use.matrix<T>(vocab, width),
                                       use.dropout(sequence), use.matrix<T>(rows, width));
    };
    calls["embedding_tile_backward"] = [](Operands& use) {
        embedding_tile_backward<T>(use.stream, use.put(indices()), 3, use.matrix<T>(rows, width),
                                   use.dropout(sequence), use.matrix<float>(5, width), Accumulate::no);
    };
}

template <class T>
void add_losses(Calls& calls) {
    const std::vector<std::uint8_t> mask{1, 1, 0, 1, 1, 1};
    const std::vector<LossStatistics> statistics(rows, {2.0f, 30.0f, 1.0f});
    calls["cross_entropy"] = [=](Operands& use) {
        cross_entropy<T>(use.stream, use.matrix<T>(rows, 64), vocab, use.put(indices()), use.put(mask),
                         use.inputs(), use.row<float>(rows));
    };
    calls["cross_entropy_loss_only"] = [](Operands& use) {
        cross_entropy_loss_only<T>(use.stream, use.matrix<T>(rows, 64), vocab, use.put(indices()), {},
                                   use.row<float>(rows));
    };
    calls["cross_entropy_tile"] = [=](Operands& use) {
        cross_entropy_tile<T>(use.stream, use.matrix<T>(rows, 32), 32, vocab, use.put(indices()),
                              use.put(mask), Accumulate::yes, use.put(statistics));
    };
    calls["merge_statistics"] = [=](Operands& use) {
        merge_statistics(use.stream, use.put(statistics), use.put(std::vector<LossStatistics>(rows)));
    };
    calls["losses_of_statistics"] = [=](Operands& use) {
        losses_of_statistics(use.stream, use.put(statistics), use.put(mask), use.row<float>(rows));
    };
    calls["cross_entropy_tile_gradient"] = [=](Operands& use) {
        cross_entropy_tile_gradient<T>(use.stream, use.matrix<T>(rows, 32), 0, vocab, use.put(indices()),
                                       use.put(mask), use.put(std::vector<float>(rows, -0.5f)),
                                       use.put(statistics), use.inputs());
    };
    calls["preference_weights"] = [=](Operands& use) {
        preference_weights(use.stream, use.row<float>(2 * rows), {2, 1, rows, 2, rows},
                           use.put(std::vector<AnswerRows>{{0, 2, 10, 2, 3}, {-1, -1, -1, 0, 0}}),
                           use.put(std::vector<AnswerSums>{{-1.5, -0.5}, {0, 0}}), {.beta = 0.5f},
                           use.row<float>(rows), use.put(std::vector<PairResult>(2)));
    };
}

/// Adds calls for two sequences with grouped heads and documents.
template <class T>
void add_attention(Calls& calls) {
    constexpr AttentionShape shape{2, sequence, 4, 2, 8, 1};
    constexpr std::array<std::int64_t, 3> lse{2, 4, sequence};
    const std::vector<std::int32_t> starts{0, 0, 2, 0, 1, 1};
    calls["attention_forward"] = [=](Operands& use) {
        attention_forward<T>(use.stream, shape, use.matrix<T>(rows, 64), use.put(starts),
                             use.dropout(sequence), use.matrix<T>(rows, 32),
                             use.row<float>(4 * rows).template reshaped<3>(lse), use.scratch());
    };
    calls["attention_backward"] = [=](Operands& use) {
        attention_backward<T>(use.stream, shape, use.matrix<T>(rows, 64), {}, {}, use.matrix<T>(rows, 32),
                              use.matrix<T>(rows, 32), use.row<float>(4 * rows).template reshaped<3>(lse),
                              use.matrix<T>(rows, 64), use.scratch());
    };
    calls["cached_attention"] = [=](Operands& use) {
        constexpr std::int64_t page = layout::cache_page_positions;
        cached_attention<T>(use.stream, {1, rows, 4, 2, 8}, 2, use.matrix<T>(rows, 64),
                            use.put(std::vector<std::int32_t>{0, 1, 2, 0, 1, 0}),
                            use.put(std::vector<std::int32_t>{1, 1, 1, 0, 0, -1}),
                            use.put(std::vector<std::int32_t>{1, 0}).template reshaped<2>({2, 1}),
                            use.row<T>(2 * 4 * page * 8).template reshaped<4>({2, 4, page, 8}),
                            use.matrix<T>(rows, 32), use.scratch());
    };
    calls["rope"] = [=](Operands& use) {
        rope<T>(use.stream, shape, use.put(std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}),
                use.row<float>(sequence * 4 * 2).template reshaped<3>({sequence, 4, 2}),
                RopeDirection::forward, use.matrix<T>(rows, 64));
    };
}

/// Adds calls of a ring of one rank, with two blocks of two positions.
template <class T>
void add_ring_attention(Calls& calls) {
    constexpr AttentionShape shape{2, 4, 4, 2, 8, 1};
    constexpr std::int64_t ring_rows = 8, qkv = 64, out = 32, kv = 32;
    constexpr std::array<std::int64_t, 3> lse{2, 4, 4};
    const auto round = layout::RingPlan{1, 1, shape.seq, 0}.round(0, 0);
    calls["pack_ring_keys"] = [=](Operands& use) {
        pack_ring_keys<T>(use.stream, shape, use.matrix<T>(ring_rows, qkv), use.matrix<T>(ring_rows, kv));
    };
    calls["ring_attention_forward"] = [=](Operands& use) {
        ring_attention_forward<T>(use.stream, shape, round, use.matrix<T>(ring_rows, qkv),
                                  use.matrix<T>(ring_rows, kv), {}, use.dropout(shape.seq),
                                  use.matrix<float>(ring_rows, out),
                                  use.row<float>(4 * ring_rows).template reshaped<3>(lse),
                                  use.matrix<T>(ring_rows, out), use.scratch());
    };
    calls["ring_attention_backward"] = [=](Operands& use) {
        ring_attention_backward<T>(
            use.stream, shape, round, use.matrix<T>(ring_rows, qkv), use.matrix<T>(ring_rows, kv), {}, {},
            use.matrix<T>(ring_rows, out), use.matrix<T>(ring_rows, out),
            use.row<float>(4 * ring_rows).template reshaped<3>(lse), Accumulate::no,
            use.matrix<float>(ring_rows, out), use.matrix<float>(ring_rows, kv), use.scratch());
    };
    calls["join_ring_gradients"] = [=](Operands& use) {
        join_ring_gradients<T>(use.stream, shape, use.matrix<float>(ring_rows, out),
                               use.matrix<float>(ring_rows, kv), use.matrix<T>(ring_rows, qkv));
    };
}

/// Kernels that refuse to run on GPUs.
const std::set<std::string>& of_the_host_alone() {
    static const std::set<std::string> names{"fill_normal", "pack_weight"};
    return names;
}

template <class T>
void add_products(Calls& calls) {
    constexpr std::int64_t out = 24;
    const auto made = [](Operands& use, bool has_bias) -> const Linear<T>& {
        return use.keep(Linear<T>{use.stream, {rows, width, out, has_bias, true}});
    };
    calls["pack_weight"] = [=](Operands& use) {
        const auto& layer = made(use, false);
        const auto bytes = static_cast<std::size_t>(layer.packed_bytes(Packing::forward));
        layer.pack(use.stream, Packing::forward, use.matrix<T>(out, width),
                   use.put(std::vector<std::byte>(bytes)));
    };
    calls["linear_forward"] = [=](Operands& use) {
        made(use, true).forward(use.stream, use.matrix<T>(rows, width), use.matrix<T>(out, width),
                                use.row<T>(out), use.matrix<T>(rows, out), use.scratch());
    };
    calls["linear_backward_input"] = [=](Operands& use) {
        made(use, false)
            .backward_input(use.stream, use.matrix<T>(rows, out), use.matrix<T>(out, width),
                            use.matrix<T>(rows, width), use.scratch());
    };
    calls["linear_backward_input_sum"] = [=](Operands& use) {
        made(use, false)
            .backward_input_sum(use.stream, use.matrix<T>(rows, out), use.matrix<T>(out, width),
                                use.matrix<float>(rows, width), Accumulate::yes, use.scratch());
    };
    calls["linear_backward_weight"] = [=](Operands& use) {
        made(use, false)
            .backward_weight(use.stream, use.matrix<T>(rows, width), use.matrix<T>(rows, out),
                             use.matrix<float>(out, width), Accumulate::yes, use.scratch());
    };
}

template <class T>
Calls all_calls() {
    Calls calls;
    add_sweeps<T>(calls);
    add_activations<T>(calls);
    add_norms<T>(calls);
    add_embeddings<T>(calls);
    add_losses<T>(calls);
    add_attention<T>(calls);
    add_ring_attention<T>(calls);
    add_products<T>(calls);
    return calls;
}

template <class T>
class KernelOnALateDevice : public ::testing::Test {};
using ComputeTypes = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(KernelOnALateDevice, ComputeTypes);

TYPED_TEST(KernelOnALateDevice, RunsWhenItsStreamDoesAndHasTheBitsOfTheHost) {
    for (const auto& [name, call] : all_calls<TypeParam>()) {
        SCOPED_TRACE(name);
        const auto host = device::make_host(threads);
        Operands on_host{*host};
        call(on_host);

        device::EmulatedDevice device{{.num_threads = threads}};
        Operands late{device};
        call(late);
        const auto before = late.contents();
        late.stream.finish();

        EXPECT_NE(before, late.contents()) << "done when the call returned, or nothing done";
        EXPECT_EQ(late.contents(), on_host.contents());
    }
}

/// Kernels with the host's bits on every processor: those without sums of floats, and those with exact
/// sums.
const std::set<std::string>& same_everywhere() {
    static const std::set<std::string> names{"add_columns",
                                             "add_to",
                                             "adamw_update",
                                             "adamw_update_with_norms",
                                             "average_weights",
                                             "convert",
                                             "copy_bytes",
                                             "dropout_backward",
                                             "embedding_backward",
                                             "embedding_forward",
                                             "embedding_positions_forward",
                                             "embedding_tile_backward",
                                             "embedding_tile_forward",
                                             "exchange_blocks",
                                             "fill_zero",
                                             "join_heads",
                                             "join_ring_gradients",
                                             "pack_ring_keys",
                                             "put_columns",
                                             "residual_forward",
                                             "rope",
                                             "scale",
                                             "split_heads",
                                             "sum_of_squares",
                                             "take_columns"};
    return names;
}

TYPED_TEST(KernelOnALateDevice, RunsOnAGpuInItsMemory) {
    if constexpr (device::has_cuda) {
        if (!test::tests_on_cuda()) {
            GTEST_SKIP() << "ZIGGURAT_TEST_DEVICE is not cuda";
        }
        for (const auto& [name, call] : all_calls<TypeParam>()) {
            SCOPED_TRACE(name);
            const auto gpu = device::cuda::make_device(0, nullptr);
            Operands late{*gpu};
            if (of_the_host_alone().contains(name)) {
                EXPECT_THROW(call(late), Error) << "of the host alone";
                continue;
            }
            call(late);
            const auto result = late.final_contents();
            if (same_everywhere().contains(name)) {
                const auto host = device::make_host(threads);
                Operands on_host{*host};
                call(on_host);
                EXPECT_EQ(result, on_host.contents());
            }
        }
    } else {
        GTEST_SKIP() << "built without CUDA";
    }
}

/// Returns the kernels that sources of lib/kernels launch.
std::set<std::string> launched() {
    std::set<std::string> names;
    const auto folder = std::filesystem::path{std::getenv("PROJECT_SOURCE_DIR")} / "lib/kernels";
    for (const auto& entry : std::filesystem::recursive_directory_iterator{folder}) {
        const auto backend = entry.path().parent_path().filename();
        if (entry.path().extension() != ".cpp" || backend == "host" || backend == "cuda") {
            continue;
        }
        std::ifstream file{entry.path()};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        for (const std::string_view call : {" launch<", " launch_copy<", " launch_on_host<"}) {
            for (auto at = text.find(call); at != text.npos; at = text.find(call, at + 1)) {
                const auto begin = at + call.size();
                names.insert(text.substr(begin, text.find_first_of("<>", begin) - begin));
            }
        }
    }
    return names;
}

TEST(LateKernels, AreAllThatThereAre) {
    std::set<std::string> called;
    for (const auto& [name, call] : all_calls<float>()) {
        called.insert(name);
    }
    EXPECT_EQ(called, launched());
}

}  // namespace
}  // namespace ziggurat::kernels
