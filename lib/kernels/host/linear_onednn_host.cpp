#include <algorithm>
#include <string>

#include "kernels/host/onednn_host.hpp"
#include "kernels/launch/cpu_features.hpp"
#include "kernels/linear_products.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

using namespace onednn;

/// Returns the packed format of `right` [k, n].
///
/// Queried for one thread and a fixed number of rows, because oneDNN chooses the width of its blocks by both.
/// All objects with the same in and out must use the same format of a packed weight.
memory::desc packed_format(const dnnl::engine& engine,
                           std::int64_t k,
                           std::int64_t n,
                           memory::data_type type,
                           memory::data_type result_type) {
    constexpr std::int64_t rows = 512;
    const ScopedThreads one{1};
    const memory::desc any{{k, n}, type, memory::format_tag::any};
    return Product{engine,  row_major(rows, k, type),        any,
                   nullptr, row_major(rows, n, result_type), Accumulate::no}
        .right();
}

/// Products of dw for one number of rows. bf16 packs x, which makes it faster; float does not.
struct WeightGradient {
    Packer pack_x;
    Product store, add;
};

template <class T>
class OnednnProducts final : public HostProducts<T> {
  public:
    OnednnProducts(const LinearShape& shape, int num_threads)
        : shape_{shape}, num_threads_{num_threads}, run_{rows_per_sum(shape.rows)} {
        constexpr auto type = data_type<T>;
        const auto rows = shape.rows, in = shape.in, out = shape.out;
        const auto forward_format = packed_format(engine_, in, out, type, type);
        const auto backward_format = packed_format(engine_, out, in, type, type);

        const ScopedThreads threads{num_threads};
        pack_forward_ = Packer{engine_, transposed(in, out, type), forward_format};
        pack_backward_ = Packer{engine_, row_major(out, in, type), backward_format};
        if (rows == 0) {
            return;
        }
        const auto bias = row_major(1, out, type);
        forward_ = Product{engine_,
                           row_major(rows, in, type),
                           forward_format,
                           shape.has_bias ? &bias : nullptr,
                           row_major(rows, out, type),
                           Accumulate::no};
        backward_input_ = Product{engine_, row_major(rows, out, type), backward_format,
                                  nullptr, row_major(rows, in, type),  Accumulate::no};
        if (shape.is_tile) {
            const auto sum = [&](Accumulate accumulate) {
                return Product{engine_,
                               row_major(rows, out, type),
                               backward_format,
                               nullptr,
                               row_major(rows, in, data_type<float>),
                               accumulate};
            };
            input_store_ = sum(Accumulate::no);
            input_add_ = sum(Accumulate::yes);
        }
        weight_run_ = make_weight_gradient(run_);
        if (rows % run_ != 0) {
            weight_rest_ = make_weight_gradient(rows % run_);
        }
    }

    std::int64_t packed_bytes(Packing packing) const noexcept override {
        return (packing == Packing::forward ? pack_forward_ : pack_backward_).packed_bytes();
    }

    std::int64_t scratch_bytes() const noexcept override {
        return std::max({forward_.scratchpad_bytes(), backward_input_.scratchpad_bytes(),
                         input_store_.scratchpad_bytes(), input_add_.scratchpad_bytes()});
    }

    std::int64_t weight_scratch_bytes() const noexcept override {
        const auto bytes = [](const WeightGradient& w) {
            return (w.pack_x ? w.pack_x.packed_bytes() : 0) +
                   std::max(w.store.scratchpad_bytes(), w.add.scratchpad_bytes());
        };
        return std::max(bytes(weight_run_), bytes(weight_rest_));
    }

    void pack(Packing packing, const T* w, std::byte* packed) const override {
        const ScopedThreads threads{num_threads_};
        (packing == Packing::forward ? pack_forward_ : pack_backward_).run(stream_, w, packed);
    }

    void forward(
        const T* x, const std::byte* packed, const T* bias, T* y, std::byte* scratch) const override {
        const ScopedThreads threads{num_threads_};
        forward_.run(stream_, x, packed, bias, y, scratch);
    }

    void backward_input(const T* dy, const std::byte* packed, T* dx, std::byte* scratch) const override {
        const ScopedThreads threads{num_threads_};
        backward_input_.run(stream_, dy, packed, nullptr, dx, scratch);
    }

    void backward_input_sum(const T* dy,
                            const std::byte* packed,
                            float* dx,
                            Accumulate accumulate,
                            std::byte* scratch) const override {
        const ScopedThreads threads{num_threads_};
        (accumulate == Accumulate::yes ? input_add_ : input_store_)
            .run(stream_, dy, packed, nullptr, dx, scratch);
    }

    void backward_weight(
        const T* x, const T* dy, float* dw, Accumulate accumulate, std::byte* scratch) const override {
        const ScopedThreads threads{num_threads_};
        for (std::int64_t row = 0; row < shape_.rows; row += run_) {
            const auto& gradient = row + run_ <= shape_.rows ? weight_run_ : weight_rest_;
            const auto& product = row == 0 && accumulate == Accumulate::no ? gradient.store : gradient.add;
            const void* right = x + row * shape_.in;
            std::byte* scratchpad = scratch;
            if (gradient.pack_x) {
                gradient.pack_x.run(stream_, right, scratch);
                right = scratch;
                scratchpad += gradient.pack_x.packed_bytes();
            }
            product.run(stream_, dy + row * shape_.out, right, nullptr, dw, scratchpad);
        }
    }

  private:
    WeightGradient make_weight_gradient(std::int64_t rows) const {
        constexpr auto type = data_type<T>;
        constexpr auto wide = data_type<float>;
        const auto plain = row_major(rows, shape_.in, type);
        const auto right = sizeof(T) == 2 ? packed_format(engine_, rows, shape_.in, type, wide) : plain;
        const ScopedThreads threads{num_threads_};
        const auto product = [&](Accumulate accumulate) {
            return Product{engine_, transposed(shape_.out, rows, type),     right,
                           nullptr, row_major(shape_.out, shape_.in, wide), accumulate};
        };
        return {sizeof(T) == 2 ? Packer{engine_, plain, right} : Packer{}, product(Accumulate::no),
                product(Accumulate::yes)};
    }

    LinearShape shape_;
    int num_threads_;
    std::int64_t run_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    Packer pack_forward_, pack_backward_;
    Product forward_, backward_input_, input_store_, input_add_;
    WeightGradient weight_run_, weight_rest_;
};

/// Returns oneDNN's name of its products of T on this machine; empty if it has no fast product.
template <class T>
const std::string& implementation() {
    static const std::string name = [] {
        const auto matrix = row_major(64, 64, data_type<T>);
        try {
            const dnnl::matmul::primitive_desc description{{matrix, matrix, matrix},
                                                           {dnnl::engine::kind::cpu, 0}};
            return std::string{description.impl_info_str()};
        } catch (const dnnl::error&) {
            return std::string{};
        }
    }();
    return name;
}

}  // namespace

template <class T>
bool has_onednn_products() {
    return implementation<T>().starts_with("brg");
}

template <class T>
bool are_tiles_quicker() {
    const bool has_matrix_tiles = implementation<T>().find("amx") != std::string::npos;
    const bool hides_matrix_tiles = !has_matrix_tiles && processor_has("avx512fp16");
    return sizeof(T) == 2 && !has_matrix_tiles &&
           (has_tiles_of_pairs() || (hides_matrix_tiles && has_wide_tiles()));
}

template bool has_onednn_products<float>();
template bool has_onednn_products<tensor::bfloat16>();
template bool are_tiles_quicker<float>();
template bool are_tiles_quicker<tensor::bfloat16>();

template <class T>
std::unique_ptr<HostProducts<T>> make_onednn_products(const LinearShape& shape, int num_threads) {
    return std::make_unique<OnednnProducts<T>>(shape, num_threads);
}

template std::unique_ptr<HostProducts<float>> make_onednn_products<float>(const LinearShape&, int);
template std::unique_ptr<HostProducts<tensor::bfloat16>> make_onednn_products<tensor::bfloat16>(
    const LinearShape&, int);

}  // namespace ziggurat::kernels::host
