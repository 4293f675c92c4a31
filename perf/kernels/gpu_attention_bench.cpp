/// Attention on the first GPU: time and TFLOP/s of both passes, timed by the GPU.
///
///   gpu_attention_bench            one JSON line per shape and mask
///   gpu_attention_bench --small    the same on short sequences: a functional test, not a measurement
///
/// `documents` are given as starts: no starts, all 0 (so that Ziggurat's own kernels compute whole
/// sequences), or documents of unequal length. The FLOP count is based on the pairs of query and key that
/// attend to each other:
/// 4 FLOP per channel in forward, 10 in backward.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "device/copy.hpp"
#include "device/cuda.hpp"
#include "device/event.hpp"
#include "kernels/attention.hpp"
#include "layout/cuda_workspaces.hpp"
#include "tensor/bfloat16.hpp"

namespace {

using namespace ziggurat;
using tensor::bfloat16;

enum class Documents { none, one, several };

const char* name_of(Documents documents) {
    return documents == Documents::none ? "none" : documents == Documents::one ? "one" : "several";
}

const char* name_of(kernels::AttentionKernel kernel) {
    switch (kernel) {
        case kernels::AttentionKernel::host:
            return "host";
        case kernels::AttentionKernel::cuda_cores:
            return "cuda_cores";
        case kernels::AttentionKernel::tensor_cores:
            return "tensor_cores";
        case kernels::AttentionKernel::cudnn:
            return "cudnn";
    }
    return "?";
}

class Bench {
  public:
    explicit Bench(bool is_small)
        : device_{device::cuda::make_device(0, nullptr)},
          stream_{device_->make_stream()},
          begin_{stream_},
          end_{stream_},
          repetitions_{is_small ? 1 : 10} {}

    void measure(const kernels::AttentionShape& shape, Documents documents) {
        const auto rows = shape.batch * shape.seq;
        const auto qkv_size = rows * (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
        const auto out_size = rows * shape.heads * shape.head_dim;
        const layout::AttentionSizes sizes{shape.batch,    shape.seq,      shape.heads,
                                           shape.kv_heads, shape.head_dim, shape.any_order};
        const layout::CudaWorkspaces workspaces{layout::AttentionUse{.is_bfloat16 = true}};
        const auto scratch =
            std::max(workspaces.attention_forward(sizes), workspaces.attention_backward(sizes));
        const auto arena =
            device_->reserve(4 * (qkv_size + out_size) + rows * shape.heads * 4 + rows * 4 + scratch + 4096,
                             "operands", device::Arena::Kind::own);
        std::int64_t used = 0;
        const auto take = [&](std::int64_t bytes) {
            auto* const at = arena.data() + used;
            used += (bytes + 255) / 256 * 256;
            return at;
        };
        using Matrix = kernels::TensorAddress<bfloat16, 2>;
        auto* const qkv_memory = take(2 * qkv_size);
        auto* const d_out_memory = take(2 * out_size);
        auto* const starts_memory = take(4 * rows);
        const auto qkv = Matrix::at(qkv_memory, {rows, qkv_size / rows});
        const auto d_qkv = Matrix::at(take(2 * qkv_size), {rows, qkv_size / rows});
        const auto out = Matrix::at(take(2 * out_size), {rows, out_size / rows});
        const auto d_out = Matrix::at(d_out_memory, {rows, out_size / rows});
        const auto lse = kernels::TensorAddress<float, 3>::at(take(4 * rows * shape.heads),
                                                              {shape.batch, shape.heads, shape.seq});
        auto starts = kernels::VectorAddress<std::int32_t>::at(starts_memory, {rows});
        const auto workspace = kernels::VectorAddress<std::byte>::at(take(scratch), {scratch});
        draw(qkv_memory, qkv_size);
        draw(d_out_memory, out_size);
        const double pairs = put_starts(starts_memory, shape, documents);
        if (documents == Documents::none) {
            starts = {};
        }
        const auto forward = [&] {
            kernels::attention_forward<bfloat16>(stream_, shape, qkv, starts, {}, out, lse, workspace);
        };
        const auto backward = [&] {
            kernels::attention_backward<bfloat16>(stream_, shape, qkv, starts, {}, out, d_out, lse, d_qkv,
                                                  workspace);
        };
        const auto kernel = kernels::prepare_attention<bfloat16>(
            stream_, shape, {.is_bfloat16 = true, .has_documents = documents != Documents::none});
        const double forward_s = seconds_of(forward);
        const double backward_s = seconds_of(backward);
        const double flop = pairs * double(shape.heads * shape.head_dim);
        std::printf(
            "{\"name\": \"attention\", \"shape\": [%lld, %lld, %lld, %lld, %lld], \"backward\": \"%s\", "
            "\"documents\": \"%s\", "
            "\"kernel\": "
            "\"%s\", \"forward_ms\": %.3f, \"forward_TFLOPs\": %.1f, \"backward_ms\": %.3f, "
            "\"backward_TFLOPs\": "
            "%.1f}\n",
            static_cast<long long>(shape.batch), static_cast<long long>(shape.seq),
            static_cast<long long>(shape.heads), static_cast<long long>(shape.kv_heads),
            static_cast<long long>(shape.head_dim), shape.any_order ? "fast" : "deterministic",
            name_of(documents), name_of(kernel), forward_s * 1e3, 4e-12 * flop / forward_s, backward_s * 1e3,
            10e-12 * flop / backward_s);
        std::fflush(stdout);
    }

  private:
    void put(std::byte* to, const void* from, std::int64_t bytes) {
        const device::Arena here{bytes, "values to be copied"};
        const auto pinned = device_->pin(here);
        std::memcpy(here.data(), from, static_cast<std::size_t>(bytes));
        device::copy(stream_, to, here.data(), bytes);
        stream_.finish();
    }

    void draw(std::byte* to, std::int64_t count) {
        std::minstd_rand generator{1};
        std::normal_distribution<float> normal;
        std::vector<bfloat16> values(static_cast<std::size_t>(std::min<std::int64_t>(count, 1 << 18)));
        std::ranges::generate(values, [&] { return bfloat16{normal(generator)}; });
        std::vector<bfloat16> all(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i] = values[i % values.size()];
        }
        put(to, all.data(), count * 2);
    }

    /// Writes the starts of documents and returns the number of attending pairs of query and key.
    double put_starts(std::byte* to, const kernels::AttentionShape& shape, Documents documents) {
        std::minstd_rand generator{7};
        std::vector<std::int32_t> starts;
        double pairs = 0;
        for (std::int64_t b = 0; b < shape.batch; ++b) {
            std::int64_t start = 0;
            std::int64_t end = 0;
            for (std::int64_t i = 0; i < shape.seq; ++i) {
                if (documents == Documents::several && i == end) {
                    start = i;
                    end = i + std::uniform_int_distribution<std::int64_t>{100, shape.seq / 2}(generator);
                }
                starts.push_back(static_cast<std::int32_t>(start));
                pairs += double(i - start + 1);
            }
        }
        put(to, starts.data(), std::ssize(starts) * 4);
        return pairs;
    }

    template <class Call>
    double seconds_of(const Call& call) {
        call();
        stream_.finish();
        double best = 1e9;
        for (int round = 0; round < 3; ++round) {
            begin_.record(stream_);
            for (int i = 0; i < repetitions_; ++i) {
                call();
            }
            end_.record(stream_);
            stream_.finish();
            best = std::min(best, seconds_between(begin_.time_ns(), end_.time_ns()) / repetitions_);
        }
        return best;
    }

    std::shared_ptr<device::Device> device_;
    device::Stream stream_;
    device::Event begin_, end_;
    int repetitions_;
};

}  // namespace

int main(int argc, char** argv) {
    if constexpr (device::has_cuda) {
        const bool is_small = argc > 1 && std::string{argv[1]} == "--small";
        Bench bench{is_small};
        const std::vector<kernels::AttentionShape> shapes =
            is_small ? std::vector<kernels::AttentionShape>{{1, 256, 2, 1, 64}, {1, 256, 2, 2, 128}}
                     : std::vector<kernels::AttentionShape>{{2, 4096, 32, 8, 128},
                                                            {1, 8192, 32, 8, 128},
                                                            {32, 1024, 12, 12, 64},
                                                            {8, 1024, 25, 25, 64}};
        for (const auto& shape : shapes) {
            for (const auto documents : {Documents::none, Documents::one, Documents::several}) {
                bench.measure(shape, documents);
            }
            auto fast = shape;
            fast.any_order = true;
            bench.measure(fast, Documents::none);
        }
        return 0;
    }
    std::puts("gpu_attention_bench: this build has no GPUs (ZIGGURAT_CUDA)");
    return 2;
}
