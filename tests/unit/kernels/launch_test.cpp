/// Every kernel on a device that runs late and whose memory nobody else may touch.
#include "kernels/launch.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "base/error.hpp"
#include "device/delayed/delayed_host.hpp"
#include "kernels/adamw.hpp"
#include "kernels/attention.hpp"
#include "kernels/column_sum.hpp"
#include "kernels/columns.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/gelu.hpp"
#include "kernels/gradient_norm.hpp"
#include "kernels/initial_values.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/linear.hpp"
#include "kernels/residual.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rope.hpp"
#include "kernels/swiglu.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::TensorRef;
using test::normal_values;

constexpr int threads = 2;

/// Memory of a device that arguments lie in, and scratch whose contents nobody looks at.
class Operands {
  public:
    explicit Operands(device::Device& device)
        : stream{device.make_stream()},
          arena_{device.reserve(arena_bytes, "operands", device::Arena::Kind::own)},
          scratch_{device.reserve(scratch_bytes, "scratch", device::Arena::Kind::own)} {}

    template <class T>
    std::span<T> put(const std::vector<T>& values) {
        const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
        auto* at = arena_.data() + used_;
        device::copy(stream, at, reinterpret_cast<const std::byte*>(values.data()), bytes);
        stream.finish();
        used_ += (bytes + 63) / 64 * 64;
        EXPECT_LE(used_, arena_bytes);
        return {reinterpret_cast<T*>(at), values.size()};
    }
    template <class T>
    TensorRef<T, 1> row(const std::vector<T>& values) {
        const auto at = put(values);
        return {at.data(), {std::ssize(at)}};
    }
    /// Normal numbers, others for each tensor.
    template <class T>
    TensorRef<T, 1> row(std::int64_t width) {
        return row(normal_values<T>(width, ++seed_));
    }
    template <class T>
    TensorRef<T, 2> matrix(std::int64_t rows, std::int64_t width) {
        return {row<T>(rows * width).data, {rows, width}};
    }
    std::span<std::byte> scratch() { return {scratch_.data(), static_cast<std::size_t>(scratch_bytes)}; }
    Dropout dropout(std::int64_t sequence) {
        return {.probability = 0.3f,
                .seed = 11,
                .purpose = 5,
                .samples = put(std::vector<std::int64_t>{3, 1ll << 40}).data(),
                .sequence = sequence,
                .inputs = inputs()};
    }
    const StepInputs* inputs() {
        return put(std::vector<StepInputs>{{.step = 9, .learning_rate = 0.01f, .loss_scale = 0.25f}}).data();
    }
    /// Keeps what a kernel uses for as long as it may run.
    template <class Object>
    const Object& keep(Object object) {
        auto kept = std::make_shared<Object>(std::move(object));
        kept_.push_back(kept);
        return *kept;
    }
    /// What the arena holds now, whatever the stream has still to do.
    std::vector<std::byte> contents() const { return {arena_.host_view(), arena_.host_view() + arena_bytes}; }

    const device::Stream stream;

  private:
    static constexpr std::int64_t arena_bytes = std::int64_t{1} << 20;
    static constexpr std::int64_t scratch_bytes = std::int64_t{16} << 20;

    device::Arena arena_, scratch_;
    std::int64_t used_ = 0;
    std::uint32_t seed_ = 0;
    std::vector<std::shared_ptr<void>> kept_;
};

template <class E>
std::span<const E> flat(TensorRef<E, 1> row) {
    return {row.data, static_cast<std::size_t>(row.size())};
}
template <class E>
std::span<E> writable(TensorRef<E, 1> row) {
    return {row.data, static_cast<std::size_t>(row.size())};
}

using Call = std::function<void(Operands&)>;
/// Named as the sibling that does the work.
using Calls = std::map<std::string, Call>;

constexpr std::int64_t rows = 6, width = 40, sequence = 3, vocab = 50;

std::vector<std::int32_t> indices() {
    return {7, 0, 7, 3, 49, 1};
}

template <class T>
void add_sweeps(Calls& calls) {
    calls["adamw_update"] = [](Operands& use) {
        adamw_update<T>(use.stream, {}, 0.1f, 0.5f, use.inputs(), writable(use.row<float>(rows * width)),
                        flat(use.row<float>(rows * width)), writable(use.row<float>(rows * width)),
                        writable(use.row(std::vector<float>(rows * width, 0.5f))),
                        writable(use.row<T>(rows * width)));
    };
    calls["fill_zero"] = [](Operands& use) { fill_zero<T>(use.stream, writable(use.row<T>(width))); };
    calls["add_to"] = [](Operands& use) {
        add_to(use.stream, flat(use.row<float>(width)), writable(use.row<T>(width)));
    };
    calls["convert"] = [](Operands& use) {
        convert<T, float>(use.stream, flat(use.row<T>(width)), writable(use.row<float>(width)));
    };
    calls["copy_bytes"] = [](Operands& use) {
        const auto from = use.put(std::vector<std::byte>(70000, std::byte{5}));
        const auto to = use.put(std::vector<std::byte>(70000));
        copy_bytes(use.stream, to.data(), from.data(), 70000);
    };
    calls["sum_of_squares"] = [](Operands& use) {
        sum_of_squares(use.stream, flat(use.row<T>(1000)), use.put(std::vector<ExactSum>(1)).data());
    };
    calls["fill_normal"] = [](Operands& use) {
        fill_normal(use.stream, {1, 2, 0.5f}, {width, 3, 4}, 7, writable(use.row<float>(width)));
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
}

template <class T>
void add_activations(Calls& calls) {
    using Pointwise = void (*)(const device::Stream&, TensorRef<const T, 2>, TensorRef<T, 2>);
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
                               use.matrix<T>(rows, width), use.row<float>(width), {}, Accumulate::no,
                               use.scratch());
    };
    calls["rms_norm_forward"] = [](Operands& use) {
        rms_norm_forward<T>(use.stream, use.matrix<T>(rows, width), use.row<T>(width), 1e-5f,
                            use.matrix<T>(rows, width), use.row<float>(rows));
    };
    calls["residual_rms_norm_forward"] = [](Operands& use) {
        residual_rms_norm_forward<T>(use.stream, use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                                     use.dropout(sequence), use.row<T>(width), 1e-5f,
                                     use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                                     use.row<float>(rows));
    };
    calls["rms_norm_backward"] = [](Operands& use) {
        rms_norm_backward<T>(use.stream, use.matrix<T>(rows, width), use.matrix<T>(rows, width),
                             use.row<T>(width), use.row<float>(rows), use.matrix<T>(rows, width),
                             use.row<float>(width), Accumulate::yes, use.scratch());
    };
}

template <class T>
void add_embeddings(Calls& calls) {
    calls["embedding_forward"] = [](Operands& use) {
        embedding_forward<T>(use.stream, use.row(indices()), use.row(indices()), use.matrix<T>(vocab, width),
                             use.matrix<T>(vocab, width), use.dropout(sequence), use.matrix<T>(rows, width));
    };
    calls["embedding_backward"] = [](Operands& use) {
        embedding_backward<T>(use.stream, use.row(indices()), {}, use.matrix<T>(rows, width),
                              use.dropout(sequence), use.matrix<float>(vocab, width), Accumulate::yes, {},
                              Accumulate::no);
    };
    calls["embedding_tile_forward"] = [](Operands& use) {
        embedding_tile_forward<T>(use.stream, use.row(indices()), use.matrix<T>(5, width), 3,
                                  use.matrix<T>(rows, width));
    };
    calls["embedding_positions_forward"] = [](Operands& use) {
        embedding_positions_forward<T>(use.stream, use.row(indices()), use.matrix<T>(vocab, width),
                                       use.dropout(sequence), use.matrix<T>(rows, width));
    };
    calls["embedding_tile_backward"] = [](Operands& use) {
        embedding_tile_backward<T>(use.stream, use.row(indices()), 3, use.matrix<T>(rows, width),
                                   use.dropout(sequence), use.matrix<float>(5, width), Accumulate::no);
    };
}

template <class T>
void add_losses(Calls& calls) {
    const std::vector<std::uint8_t> mask{1, 1, 0, 1, 1, 1};
    const std::vector<LossStatistics> statistics(rows, {2.0f, 30.0f, 1.0f});
    calls["cross_entropy"] = [=](Operands& use) {
        cross_entropy<T>(use.stream, use.matrix<T>(rows, 64), vocab, use.row(indices()), use.row(mask),
                         use.inputs(), use.row<float>(rows));
    };
    calls["cross_entropy_loss_only"] = [](Operands& use) {
        cross_entropy_loss_only<T>(use.stream, use.matrix<T>(rows, 64), vocab, use.row(indices()), {},
                                   use.row<float>(rows));
    };
    calls["cross_entropy_tile"] = [=](Operands& use) {
        cross_entropy_tile<T>(use.stream, use.matrix<T>(rows, 32), 32, vocab, use.row(indices()),
                              use.row(mask), use.put(statistics));
    };
    calls["losses_of_statistics"] = [=](Operands& use) {
        losses_of_statistics(use.stream, use.put(statistics), use.row(mask), use.row<float>(rows));
    };
    calls["cross_entropy_tile_gradient"] = [=](Operands& use) {
        cross_entropy_tile_gradient<T>(use.stream, use.matrix<T>(rows, 32), 0, vocab, use.row(indices()),
                                       use.row(mask), use.put(statistics), use.inputs());
    };
}

/// Two sequences with grouped heads and documents.
template <class T>
void add_attention(Calls& calls) {
    constexpr AttentionShape shape{2, sequence, 4, 2, 8, 1};
    constexpr std::array<std::int64_t, 3> lse{2, 4, sequence};
    const std::vector<std::int32_t> starts{0, 0, 2, 0, 1, 1};
    calls["attention_forward"] = [=](Operands& use) {
        attention_forward<T>(use.stream, shape, use.matrix<T>(rows, 64), use.row(starts),
                             use.dropout(sequence), use.matrix<T>(rows, 32),
                             {use.row<float>(4 * rows).data, lse}, use.scratch());
    };
    calls["attention_backward"] = [=](Operands& use) {
        attention_backward<T>(use.stream, shape, use.matrix<T>(rows, 64), {}, {}, use.matrix<T>(rows, 32),
                              use.matrix<T>(rows, 32), {use.row<float>(4 * rows).data, lse},
                              use.matrix<T>(rows, 64), use.scratch());
    };
    calls["rope"] = [=](Operands& use) {
        rope<T>(use.stream, shape, use.row(std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}),
                {use.row<float>(sequence * 4 * 2).data, {sequence, 4, 2}}, RopeDirection::forward,
                use.matrix<T>(rows, 64));
    };
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
    add_products<T>(calls);
    return calls;
}

template <class T>
class LateKernels : public ::testing::Test {};
using ComputeTypes = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(LateKernels, ComputeTypes);

TYPED_TEST(LateKernels, RunWhenTheirStreamDoesAndHaveTheBitsOfTheHost) {
    for (const auto& [name, call] : all_calls<TypeParam>()) {
        SCOPED_TRACE(name);
        const auto host = device::make_host(threads);
        Operands on_host{*host};
        call(on_host);

        device::DelayedHost device{{.num_threads = threads}};
        Operands late{device};
        call(late);
        const auto before = late.contents();
        late.stream.finish();

        EXPECT_NE(before, late.contents()) << "done when the call returned, or nothing done";
        EXPECT_EQ(late.contents(), on_host.contents());
    }
}

/// The siblings that sources of lib/kernels launch.
std::set<std::string> launched() {
    std::set<std::string> names;
    const auto folder = std::filesystem::path{std::getenv("PROJECT_SOURCE_DIR")} / "lib/kernels";
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        if (entry.path().extension() != ".cpp") {
            continue;
        }
        std::ifstream file{entry.path()};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        constexpr std::string_view of_host = "<host::";
        for (auto at = text.find(of_host); at != text.npos; at = text.find(of_host, at + 1)) {
            const std::string_view before{text.data(), at};
            if (before.ends_with("launch") || before.ends_with("launch_copy")) {
                const auto begin = at + of_host.size();
                names.insert(text.substr(begin, text.find_first_of("<>", begin) - begin));
            }
        }
    }
    return names;
}

TEST(Launch, EveryKernelIsAmongTheLateOnes) {
    std::set<std::string> called;
    for (const auto& [name, call] : all_calls<float>()) {
        called.insert(name);
    }
    EXPECT_EQ(called, launched());
}

TEST(Launch, RefusesMemoryThatIsNotTheDevicesOrNotAllOfIt) {
    device::DelayedHost device{{}};
    const auto stream = device.make_stream();
    const auto arena = device.reserve(4096, "a short arena", device::Arena::Kind::own);
    std::vector<float> own(8);
    EXPECT_THROW(fill_zero<float>(stream, own), Error);

    auto* begin = reinterpret_cast<float*>(arena.data());
    const auto size = static_cast<std::size_t>(arena.bytes()) / sizeof(float);
    EXPECT_NO_THROW(fill_zero<float>(stream, {begin, size}));
    EXPECT_THROW(fill_zero<float>(stream, {begin, size + 1}), Error);
    EXPECT_NO_THROW(fill_zero<float>(stream, {}));
}

struct WithAnAddress {
    const float* values;
};
static_assert(!std::is_invocable_v<Reachable, WithAnAddress>, "nobody has said what to do with it");
static_assert(!std::is_invocable_v<Reachable, Dropout*>, "holds addresses itself");
static_assert(!std::is_invocable_v<Reachable, float**>);

TEST(Launch, LeavesWhatIsNotThere) {
    device::DelayedHost device{{}};
    const auto stream = device.make_stream();
    const Reachable reachable{static_cast<device::DelayedQueue&>(stream.queue())};
    EXPECT_EQ(reachable(static_cast<const StepInputs*>(nullptr)), nullptr);
    EXPECT_TRUE(reachable(std::span<float>{}).empty());
    const auto frozen = reachable(TensorRef<float, 2>{nullptr, {0, 7}});
    EXPECT_EQ(frozen.data, nullptr);
    EXPECT_EQ(frozen.extent(1), 7);
    EXPECT_EQ(reachable(Dropout{}).samples, nullptr);
}

void note_thread(const device::Stream&, std::thread::id* id) {
    *id = std::this_thread::get_id();
}

TEST(Launch, CallsTheHostsKernelsOnTheThreadOfTheStream) {
    device::HostThread thread;
    std::thread::id expected, got;
    thread.run([&] { expected = std::this_thread::get_id(); });
    launch<note_thread>(device::Stream{1, &thread}, &got);
    EXPECT_EQ(got, expected);

    launch<note_thread>(device::Stream{1}, &got);
    EXPECT_EQ(got, std::this_thread::get_id());
}

}  // namespace
}  // namespace ziggurat::kernels
