#include "kernels/cuda/product_cuda.hpp"

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
    return alignment_of_rows(matrix.columns, matrix.type == CUDA_R_16BF ? 2 : 4);
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

/// Time that one measurement of an algorithm should take at least.
constexpr float min_milliseconds = 0.5F;
/// A faster algorithm replaces the library's first one if its time is below this fraction.
constexpr float min_gain = 0.99F;

/// An event of the current GPU that measures time.
struct Event {
    cudaEvent_t event = nullptr;

    Event() { device::cuda::check(cudaEventCreateWithFlags(&event, cudaEventDefault), "create an event"); }
    ~Event() { cudaEventDestroy(event); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
};

/// Fills a factor with multiples of 1/128 in [-1, 1) that have no pattern.
///
/// A GPU multiplies equal numbers faster than training data.
template <class T>
__global__ void __launch_bounds__(256) fill_sample(std::int64_t count, T* to) {
    const auto i = thread_of_grid();
    if (i < count) {
        const auto mixed = (static_cast<std::uint32_t>(i) + 1) * 2654435761U;
        tensor::store(to[i], static_cast<float>((mixed ^ mixed >> 15U) & 255U) / 128 - 1);
    }
}

template <class T>
void fill_sample_of(cudaStream_t stream, void* factor, std::int64_t count) {
    const auto grid = a_thread_each(count);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
    config.blockDim = dim3(static_cast<unsigned>(grid.threads));
    config.stream = stream;
    device::cuda::check(cudaLaunchKernelEx(&config, fill_sample<T>, count, static_cast<T*>(factor)),
                        "fill the factors of a product that is timed");
}

/// Fills a factor. In Stream::load() no memory holds data yet.
void fill(cudaStream_t stream, const LtMatrix& factor, const void* address) {
    void* const to = const_cast<void*>(address);
    if (factor.type == CUDA_R_16BF) {
        fill_sample_of<tensor::bfloat16>(stream, to, factor.rows * factor.columns);
    } else {
        fill_sample_of<float>(stream, to, factor.rows * factor.columns);
    }
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

void CublasLt::use_known(const std::string& product) {
    const auto known = known_.find(product);
    auto& algorithms = algorithms_.at(product);
    if (known != known_.end() && known->second >= 0 && known->second < algorithms.num_found) {
        algorithms.chosen = known->second;
        algorithms.is_measured = true;
    }
}

ProductChoices CublasLt::choices() const {
    ProductChoices made;
    for (const auto& [product, algorithms] : algorithms_) {
        if (algorithms.is_measured) {
            made[product] = algorithms.chosen;
        }
    }
    return made;
}

void CublasLt::choose(const ProductChoices& choices) {
    known_ = choices;
    for (const auto& [product, algorithms] : algorithms_) {
        use_known(product);
    }
}

/// Describes a row-major matrix.
///
/// The library uses column-major matrices and therefore sees its transpose.
LtProduct::Layout LtProduct::layout_of(const LtMatrix& matrix) {
    cublasLtMatrixLayout_t made = nullptr;
    check(
        cublas_lt().cublasLtMatrixLayoutCreate(&made, matrix.type, static_cast<std::uint64_t>(matrix.columns),
                                               static_cast<std::uint64_t>(matrix.rows), matrix.columns),
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
                     text_of(result_.type) + text_of(epilogue_);
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
    library_->use_known(key);
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
    fill(call.stream, left_, call.left);
    fill(call.stream, right_, call.right);
    const Event begin, end;
    const auto milliseconds = [&](const cublasLtMatmulHeuristicResult_t& algorithm, int calls) {
        device::cuda::check(cudaEventRecord(begin.event, call.stream), "time a product");
        for (int i = 0; i < calls; ++i) {
            start(call, algorithm);
        }
        device::cuda::check(cudaEventRecord(end.event, call.stream), "time a product");
        device::cuda::check(cudaEventSynchronize(end.event), "time a product");
        float elapsed = 0;
        device::cuda::check(cudaEventElapsedTime(&elapsed, begin.event, end.event), "time a product");
        return elapsed / static_cast<float>(calls);
    };
    const auto found = algorithms_->found();
    for (const auto& algorithm : found) {
        milliseconds(algorithm, 1);  // loads its kernels
    }
    const float one_call = milliseconds(found.front(), 1);
    const int calls = std::clamp(static_cast<int>(min_milliseconds / std::max(one_call, 0.001F)), 1, 50);
    std::array<float, LtAlgorithms::max_found> best;
    best.fill(std::numeric_limits<float>::max());
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < found.size(); ++i) {
            best[i] = std::min(best[i], milliseconds(found[i], calls));
        }
    }
    const auto fastest = std::ranges::min_element(best);
    algorithms_->chosen = *fastest < min_gain * best.front() ? static_cast<int>(fastest - best.begin()) : 0;
    algorithms_->is_measured = true;
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
    if (device::cuda::is_loading() && algorithms_->num_found > 1 && !algorithms_->is_measured) {
        select_fastest(call);
    }
    start(call, algorithms_->in_use());
}

}  // namespace ziggurat::kernels::cuda
