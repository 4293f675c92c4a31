#include "kernels/cuda/product/product_cuda.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/shared_library.hpp"
#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/linear.hpp"
#include "layout/cuda_workspaces.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {
namespace {

/// Alignment of a bias for any columns: parameter vectors and tiles begin at multiples of 16 elements.
constexpr std::uint32_t bias_alignment = 16;
constexpr std::int64_t aux_alignment = 16;

cublasLtEpilogue_t name_of(Epilogue epilogue) {
    switch (epilogue) {
        case Epilogue::none:
            return CUBLASLT_EPILOGUE_DEFAULT;
        case Epilogue::bias:
            return CUBLASLT_EPILOGUE_BIAS;
        case Epilogue::gelu_bias:
            return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
        case Epilogue::gelu_gradient:
            return CUBLASLT_EPILOGUE_DGELU;
    }
    throw Error{ErrorKind::internal, "no Epilogue"};
}

CublasLtFunctions open_cublas_lt() {
    CublasLtFunctions opened;
#ifdef __CUDACC__
    const SharedLibrary library{
        "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR),
        "Install the libraries of the CUDA toolkit, name their folder in LD_LIBRARY_PATH, or "
        "set tiers.device.kind: host."};
#define ZG_FIND(name) library.find(#name, opened.name);
#else  // emulated GPUs link their own implementation
#define ZG_FIND(name) opened.name = &::name;
#endif
    ZG_CUBLAS_LT_FUNCTIONS(ZG_FIND)
#undef ZG_FIND
    return opened;
}

/// Returns the functions of the library, which the first call opens.
///
/// Errors: Error{resource} without the library
const CublasLtFunctions& cublas_lt() {
    static const CublasLtFunctions opened = open_cublas_lt();
    return opened;
}

/// \param doing  the attempted action, used after "cannot"
void check(cublasStatus_t status, const char* doing) {
    if (status == CUBLAS_STATUS_SUCCESS) {
        return;
    }
    if (status == CUBLAS_STATUS_EXECUTION_FAILED) {
        // Throws the error of CUDA if there is one, because it is more precise.
        device::cuda::check(cudaGetLastError(), doing);
    }
    const bool is_lack = status == CUBLAS_STATUS_NOT_INITIALIZED || status == CUBLAS_STATUS_ALLOC_FAILED ||
                         status == CUBLAS_STATUS_ARCH_MISMATCH;
    throw Error{is_lack ? ErrorKind::resource : ErrorKind::internal,
                std::string{"cannot "} + doing + " (" + cublas_lt().cublasLtGetStatusName(status) + ")."};
}

std::string text_of(const LtMatrix& matrix) {
    return "[" + std::to_string(matrix.rows) + ", " + std::to_string(matrix.columns) + "]" +
           (matrix.is_transposed ? " transposed" : "");
}

std::int64_t alignment_of(const LtMatrix& matrix) {
    return alignment_of_rows(matrix.stride(), matrix.type == CUDA_R_16BF ? 2 : 4);
}

const char* text_of(cudaDataType_t type) {
    return type == CUDA_R_16BF ? "bfloat16" : "float";
}

const char* text_of(Epilogue epilogue) {
    switch (epilogue) {
        case Epilogue::none:
            return "";
        case Epilogue::bias:
            return ", with bias";
        case Epilogue::gelu_bias:
            return ", with bias and GELU";
        case Epilogue::gelu_gradient:
            return ", with the gradient of GELU";
    }
    throw Error{ErrorKind::internal, "no Epilogue"};
}

bool is_aligned(const void* address, std::int64_t alignment) {
    return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(alignment) == 0;
}

}  // namespace

CublasLt::CublasLt() {
    check(cublas_lt().cublasLtCreate(&handle_), "start cuBLASLt");
}

CublasLt::~CublasLt() {
    cublas_lt().cublasLtDestroy(handle_);
}

std::string CublasLt::library() const {
    int gpu = 0;
    cudaDeviceProp properties{};
    device::cuda::check(cudaGetDevice(&gpu), "find the current GPU");
    device::cuda::check(cudaGetDeviceProperties(&properties, gpu), "read the properties of a GPU");
    return "cuBLASLt " + std::to_string(cublas_lt().cublasLtGetVersion()) + ", " + properties.name;
}

void CublasLt::measure(ProductChoices known) {
    is_measuring_ = true;
    known_ = std::move(known);
}

int CublasLt::known(const std::string& product) const {
    const auto found = known_.find(product);
    return found == known_.end() ? -1 : found->second;
}

ProductChoices CublasLt::choices() const {
    ProductChoices made;
    const auto add = [&](const std::string& product, const Choice& choice) {
        if (choice.is_measured) {
            made[product] = choice.chosen;
        }
    };
    for (const auto& [product, algorithms] : algorithms_) {
        add(product, algorithms);
    }
    for (const auto& [product, choice] : glu_choices_) {
        add(product, choice);
    }
    return made;
}

void CublasLt::choose(const ProductChoices& choices) {
    known_ = choices;
    for (auto& [product, algorithms] : algorithms_) {
        algorithms.use_known(known(product));
    }
    for (auto& [product, choice] : glu_choices_) {
        choice.use_known(known(product));
    }
}

/// Describes a row-major matrix.
///
/// The library uses column-major matrices and therefore sees its transpose.
LtProduct::Layout LtProduct::layout_of(const LtMatrix& matrix) {
    cublasLtMatrixLayout_t made = nullptr;
    check(
        cublas_lt().cublasLtMatrixLayoutCreate(&made, matrix.type, static_cast<std::uint64_t>(matrix.columns),
                                               static_cast<std::uint64_t>(matrix.rows), matrix.stride()),
        "describe a matrix");
    return {made, cublas_lt().cublasLtMatrixLayoutDestroy};
}

LtProduct::LtProduct(std::shared_ptr<CublasLt> library,
                     const LtMatrix& left,
                     const LtMatrix& right,
                     const LtMatrix& result,
                     Epilogue epilogue,
                     std::int64_t workspace_bytes)
    : library_{std::move(library)},
      left_{left},
      right_{right},
      result_{result},
      epilogue_{epilogue},
      multiplying_{"multiply " + text_of(left) + " by " + text_of(right)},
      description_{nullptr, cublas_lt().cublasLtMatmulDescDestroy},
      left_layout_{layout_of(left)},
      right_layout_{layout_of(right)},
      result_layout_{layout_of(result)} {
    describe();
    find_algorithms(workspace_bytes);
}

void LtProduct::describe() {
    cublasLtMatmulDesc_t made = nullptr;
    check(cublas_lt().cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a product");
    description_.reset(made);
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
        check(cublas_lt().cublasLtMatmulDescSetAttribute(made, attribute, &value, sizeof value),
              "describe a product");
    };
    const auto operation = [](const LtMatrix& matrix) {
        return static_cast<std::int32_t>(matrix.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    };
    // The transpose of the result is the product of the transposed right factor and the transposed left
    // factor.
    set(CUBLASLT_MATMUL_DESC_TRANSA, operation(right_));
    set(CUBLASLT_MATMUL_DESC_TRANSB, operation(left_));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(name_of(epilogue_)));
    // The library does not read these addresses. It derives the presence and the alignment of operands from
    // them.
    if (has_bias()) {
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(std::uintptr_t{bias_alignment}));
    }
    if (has_aux()) {
        set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
            reinterpret_cast<const void*>(std::uintptr_t{aux_alignment}));
        set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, result_.columns);
    }
}

void LtProduct::find_algorithms(std::int64_t workspace_bytes) {
    const auto key = text_of(left_) + " " + text_of(right_) + ", " + text_of(left_.type) + " to " +
                     text_of(result_.type) +
                     (result_.row_stride > 0 ? " in rows of " + std::to_string(result_.row_stride) : "") +
                     text_of(epilogue_);
    algorithms_ = &library_->algorithms_of(key);
    if (algorithms_->num_found > 0) {
        return;
    }
    cublasLtMatmulPreference_t made = nullptr;
    check(cublas_lt().cublasLtMatmulPreferenceCreate(&made), "set the preference of a product");
    const Owned<cublasLtMatmulPreference_t> preference{made, cublas_lt().cublasLtMatmulPreferenceDestroy};
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
        check(cublas_lt().cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof value),
              "set the preference of a product");
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_bytes));
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(alignment_of(right_)));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(alignment_of(left_)));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(alignment_of(result_)));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(alignment_of(result_)));

    const auto doing = "choose how to " + multiplying_;
    const int wanted = library_->is_measuring() ? LtAlgorithms::max_found : 1;
    auto& results = algorithms_->results;
    int found = 0;
    check(cublas_lt().cublasLtMatmulAlgoGetHeuristic(
              library_->handle(), description_.get(), right_layout_.get(), left_layout_.get(),
              result_layout_.get(), result_layout_.get(), made, wanted, results.data(), &found),
          doing.c_str());
    check(found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : results.front().state, doing.c_str());
    const auto is_usable = [](const auto& result) { return result.state == CUBLAS_STATUS_SUCCESS; };
    algorithms_->num_found = static_cast<int>(
        std::find_if_not(results.begin(), results.begin() + found, is_usable) - results.begin());
    algorithms_->use_known(library_->known(key));
}

std::int64_t LtProduct::workspace_bytes() const noexcept {
    std::size_t most = 0;
    for (const auto& algorithm : algorithms_->found()) {
        most = std::max(most, algorithm.workspaceSize);
    }
    return static_cast<std::int64_t>(most);
}

void LtProduct::start(const Call& call, const cublasLtMatmulHeuristicResult_t& algorithm) const {
    const float one = 1;
    check(cublas_lt().cublasLtMatmul(library_->handle(), description_.get(), &one, call.right,
                                     right_layout_.get(), call.left, left_layout_.get(), &call.of_addend,
                                     call.addend, result_layout_.get(), call.result, result_layout_.get(),
                                     &algorithm.algo, call.workspace, algorithm.workspaceSize, call.stream),
          multiplying_.c_str());
}

void LtProduct::select_fastest(const Call& call) const {
    // In Stream::load() no memory holds data yet.
    fill_sample(call.stream, left_.type, left_.rows * left_.columns, const_cast<void*>(call.left));
    fill_sample(call.stream, right_.type, right_.rows * right_.columns, const_cast<void*>(call.right));
    algorithms_->use_fastest(call.stream, [&](int i) { start(call, algorithms_->results[i]); });
}

void LtProduct::run(const device::Stream& stream,
                    const void* left,
                    const void* right,
                    const Extras& extras,
                    void* result,
                    Accumulate accumulate,
                    void* workspace) const {
    ZG_EXPECTS(is_aligned(left, alignment_of(left_)) && is_aligned(right, alignment_of(right_)));
    ZG_EXPECTS(is_aligned(result, alignment_of(result_)));
    ZG_EXPECTS((extras.bias != nullptr) == has_bias() && is_aligned(extras.bias, bias_alignment));
    ZG_EXPECTS((extras.aux != nullptr) == has_aux() && is_aligned(extras.aux, aux_alignment));
    ZG_EXPECTS(is_aligned(extras.addend, alignment_of(result_)));
    ZG_EXPECTS(extras.addend == nullptr || accumulate == Accumulate::no);
    const bool has_addend = extras.addend != nullptr;
    if (device::cuda::is_loading() && std::exchange(is_loaded_[has_addend ? 1 : 0], true)) {
        return;
    }
    const auto point = [&](cublasLtMatmulDescAttributes_t attribute, const void* address) {
        check(cublas_lt().cublasLtMatmulDescSetAttribute(description_.get(), attribute, &address,
                                                         sizeof address),
              "set an operand of a product");
    };
    if (has_bias()) {
        point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, extras.bias);
    }
    if (has_aux()) {
        point(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, extras.aux);
    }
    const Call call{.stream = device::cuda::handle_of(stream),
                    .left = left,
                    .right = right,
                    .addend = has_addend ? extras.addend : result,
                    .of_addend = has_addend || accumulate == Accumulate::yes ? 1.0F : 0.0F,
                    .result = result,
                    .workspace = workspace};
    if (device::cuda::is_loading() && algorithms_->must_measure()) {
        select_fastest(call);
    }
    start(call, algorithms_->in_use());
}

}  // namespace ziggurat::kernels::cuda
