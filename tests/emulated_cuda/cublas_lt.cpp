/// Matrix products of cuBLASLt as plain loops, with the refusals of the library.
///
/// Also refuses calls for which the library would choose a slow or nondeterministic algorithm: calls
/// without an algorithm, with other layouts than the algorithm was requested for, or at addresses with less
/// alignment than promised.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/cublas_lt_objects.hpp"
#include "tests/emulated_cuda/enqueue.hpp"
#include "tests/emulated_cuda/loading.hpp"
#include "tests/emulated_cuda/memory.hpp"

namespace {

constexpr std::size_t workspace_alignment = 256;
constexpr std::size_t wanted_workspace = 4096;
/// Algorithm i begins its sums with the inner index i of num_algorithms equal parts.
constexpr int num_algorithms = 3;

using Layout = cublasLtMatrixLayoutOpaque;
using Desc = cublasLtMatmulDescOpaque;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    return (hash ^ value) * 0x9E3779B97F4A7C15U + (hash >> 29U);
}

/// Returns a hash of the parameters that an algorithm was requested for.
std::uint64_t hash_of(const Desc& desc, const Layout* const (&layouts)[4]) {
    auto hash = mixed(mixed(1, desc.compute), desc.epilogue);
    hash = mixed(hash, (desc.turns_a ? 2U : 0U) + (desc.turns_b ? 1U : 0U));
    for (const auto* layout : layouts) {
        hash = mixed(mixed(hash, layout->type), layout->rows);
        hash = mixed(mixed(hash, layout->columns), static_cast<std::uint64_t>(layout->ld));
    }
    return hash;
}

cublasStatus_t check(const Desc& desc, const Layout* const (&layouts)[4]) {
    for (const auto* layout : layouts) {
        if (layout == nullptr || layout->rows == 0 || layout->columns == 0 ||
            layout->ld < static_cast<std::int64_t>(layout->rows)) {
            return CUBLAS_STATUS_INVALID_VALUE;
        }
    }
    const auto& [a, b, c, d] = layouts;
    const auto k = desc.turns_a != CUBLAS_OP_N ? a->rows : a->columns;
    const auto m = desc.turns_a != CUBLAS_OP_N ? a->columns : a->rows;
    const auto n = desc.turns_b != CUBLAS_OP_N ? b->rows : b->columns;
    if (k != (desc.turns_b != CUBLAS_OP_N ? b->columns : b->rows) || d->rows != m || d->columns != n ||
        !(*c == *d)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const bool is_known =
        desc.scale == CUDA_R_32F && a->type == b->type && (a->type == CUDA_R_16BF || d->type == CUDA_R_32F);
    const bool has_bias_type = desc.bias_type == -1 || desc.bias_type == d->type;
    const bool is_epilogue = desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
                             desc.epilogue == CUBLASLT_EPILOGUE_BIAS ||
                             (desc.has_aux() && d->type == CUDA_R_16BF && desc.aux_ld % 8 == 0 &&
                              desc.aux_ld >= static_cast<std::int64_t>(d->rows));
    return is_known && has_bias_type && is_epilogue ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

float read(const void* from, cudaDataType type, std::size_t at) {
    if (type == CUDA_R_32F) {
        return static_cast<const float*>(from)[at];
    }
    return std::bit_cast<float>(std::uint32_t{static_cast<const std::uint16_t*>(from)[at]} << 16U);
}

void write(void* to, cudaDataType type, std::size_t at, float value) {
    if (type == CUDA_R_32F) {
        static_cast<float*>(to)[at] = value;
        return;
    }
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto rounded = std::isnan(value) ? 0x7FFF0000U : bits + 0x7FFFU + (bits >> 16U & 1U);
    static_cast<std::uint16_t*>(to)[at] = static_cast<std::uint16_t>(rounded >> 16U);
}

// In its tanh form, as in the library.
constexpr float root_of_two_over_pi = 0.7978845608F;
constexpr float cubic = 0.044715F;

float gelu(float x) {
    return 0.5F * x * (1 + std::tanh(root_of_two_over_pi * (x + cubic * x * x * x)));
}

float gelu_gradient(float x) {
    const float t = std::tanh(root_of_two_over_pi * (x + cubic * x * x * x));
    return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * root_of_two_over_pi * (1 + 3 * cubic * x * x);
}

/// One product, with copies of everything that the caller may change in the meantime.
struct Product {
    Desc desc;
    Layout a_layout, b_layout, d_layout;
    const void *a, *b, *c;
    void* d;
    float alpha, beta;
    std::size_t algorithm;

    /// Copies element (i, k) of the first factor to [k * rows + i], the order in which the inner loop reads
    /// it.
    void read_first_factor(std::size_t depth, std::vector<float>& read_in) const {
        const auto rows = d_layout.rows, ld = static_cast<std::size_t>(a_layout.ld);
        read_in.resize(depth * rows);
        for (std::size_t k = 0; k < depth; ++k) {
            for (std::size_t i = 0; i < rows; ++i) {
                const auto at = desc.turns_a != CUBLAS_OP_N ? k + i * ld : i + k * ld;
                read_in[k * rows + i] = read(a, a_layout.type, at);
            }
        }
    }

    /// Computes each sum in the order of the inner index, which begins with the part of the algorithm.
    void run() const {
        const auto rows = d_layout.rows, ldb = static_cast<std::size_t>(b_layout.ld);
        const auto depth = desc.turns_a != CUBLAS_OP_N ? a_layout.rows : a_layout.columns;
        const auto begin = depth * algorithm / num_algorithms;
        static thread_local std::vector<float> first, sums;
        read_first_factor(depth, first);
        sums.resize(rows);
        for (std::size_t j = 0; j < d_layout.columns; ++j) {
            std::ranges::fill(sums, 0.0F);
            for (std::size_t step = 0; step < depth; ++step) {
                const std::size_t k = (step + begin) % depth;
                const float factor =
                    read(b, b_layout.type, desc.turns_b != CUBLAS_OP_N ? j + k * ldb : k + j * ldb);
                const float* column = &first[k * rows];
                for (std::size_t i = 0; i < rows; ++i) {
                    sums[i] += column[i] * factor;
                }
            }
            for (std::size_t i = 0; i < rows; ++i) {
                finish(i + j * static_cast<std::size_t>(d_layout.ld),
                       i + j * static_cast<std::size_t>(desc.aux_ld), i, alpha * sums[i]);
            }
        }
    }

    void finish(std::size_t at, std::size_t aux_at, std::size_t row, float value) const {
        if (beta != 0) {
            value += beta * read(c, d_layout.type, at);
        }
        if (desc.has_bias()) {
            value += read(desc.bias, d_layout.type, row);
        }
        if (desc.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) {
            write(desc.aux, d_layout.type, aux_at, value);
            value = gelu(value);
        } else if (desc.epilogue == CUBLASLT_EPILOGUE_DGELU) {
            value *= gelu_gradient(read(desc.aux, d_layout.type, aux_at));
        }
        write(d, d_layout.type, at, value);
    }
};

bool is_readable(const void* address, std::size_t bytes, std::size_t alignment) {
    if (address == nullptr || reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
        return false;
    }
    const auto owned = emulated_cuda::owner_of(address, bytes);
    return owned.owner != emulated_cuda::Owner::host && owned.is_all;
}

}  // namespace

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference,
                                              int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* returned) {
    if (handle == nullptr) {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (desc == nullptr || preference == nullptr || requested <= 0 || results == nullptr ||
        returned == nullptr) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    *returned = 0;
    if (const auto status = check(*desc, {a, b, c, d}); status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    const bool changes = (preference->reductions & CUBLASLT_REDUCTION_SCHEME_INPLACE) != 0;
    if (changes) {
        return CUBLAS_STATUS_NOT_SUPPORTED;  // nondeterministic sums are not allowed in Ziggurat
    }
    const auto workspace = preference->workspace_bytes >= wanted_workspace ? wanted_workspace : 0;
    *returned = std::min(requested, num_algorithms);
    for (int i = 0; i < *returned; ++i) {
        results[i] = {.algo = {{hash_of(*desc, {a, b, c, d}), workspace, preference->alignment[0],
                                preference->alignment[1], preference->alignment[2], preference->alignment[3],
                                static_cast<std::uint64_t>(i)}},
                      .workspaceSize = workspace,
                      .state = CUBLAS_STATUS_SUCCESS,
                      .wavesCount = 1,
                      .reserved = {}};
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle,
                              cublasLtMatmulDesc_t desc,
                              const void* alpha,
                              const void* a,
                              cublasLtMatrixLayout_t a_layout,
                              const void* b,
                              cublasLtMatrixLayout_t b_layout,
                              const void* beta,
                              const void* c,
                              cublasLtMatrixLayout_t c_layout,
                              void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algo,
                              void* workspace,
                              std::size_t workspace_bytes,
                              cudaStream_t stream) {
    if (handle == nullptr) {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (desc == nullptr || alpha == nullptr || beta == nullptr || algo == nullptr) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const Layout* const layouts[4] = {a_layout, b_layout, c_layout, d_layout};
    if (const auto status = check(*desc, layouts); status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    if (hash_of(*desc, layouts) != algo->data[0] || workspace_bytes < algo->data[1] ||
        (algo->data[1] > 0 && !is_readable(workspace, workspace_bytes, workspace_alignment))) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const void* const matrices[4] = {a, b, c, d};
    for (int i = 0; i < 4; ++i) {
        if (!is_readable(matrices[i], layouts[i]->bytes(), algo->data[2 + i])) {
            return CUBLAS_STATUS_INVALID_VALUE;
        }
    }
    const auto bias_bytes = d_layout->element_bytes() * d_layout->rows;
    const auto aux_bytes =
        d_layout->element_bytes() *
        ((d_layout->columns - 1) * static_cast<std::size_t>(desc->aux_ld) + d_layout->rows);
    if (desc->has_aux() && !is_readable(desc->aux, aux_bytes, 16)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (desc->has_bias() && !is_readable(desc->bias, bias_bytes, d_layout->element_bytes())) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    emulated_cuda::count_launch(reinterpret_cast<const void*>(&cublasLtMatmul));
    const Product product{*desc,
                          *a_layout,
                          *b_layout,
                          *d_layout,
                          a,
                          b,
                          c,
                          d,
                          *static_cast<const float*>(alpha),
                          *static_cast<const float*>(beta),
                          algo->data[6]};
    const auto loaded = emulated_cuda::load(reinterpret_cast<const void*>(algo->data[0] | 1U),
                                            [](const void*) { return std::string{"a product's kernel"}; });
    if (loaded.error != cudaSuccess) {
        emulated_cuda::report_error(loaded);
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    const auto given = emulated_cuda::enqueue(stream, [product] { product.run(); });
    return given == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
