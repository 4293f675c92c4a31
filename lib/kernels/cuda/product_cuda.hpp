/// LtProduct: a matrix product of cuBLASLt, prepared once; only *_cuda.cu files include it.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"

namespace ziggurat::kernels::cuda {

/// What products call, by the library's own names. It is opened when a GPU needs it.
struct CublasLtFunctions {
#define ZG_CUBLAS_LT_FUNCTIONS(F)           \
    F(cublasLtCreate)                       \
    F(cublasLtDestroy)                      \
    F(cublasLtGetStatusName)                \
    F(cublasLtMatmul)                       \
    F(cublasLtMatmulAlgoGetHeuristic)       \
    F(cublasLtMatmulDescCreate)             \
    F(cublasLtMatmulDescDestroy)            \
    F(cublasLtMatmulDescSetAttribute)       \
    F(cublasLtMatmulPreferenceCreate)       \
    F(cublasLtMatmulPreferenceDestroy)      \
    F(cublasLtMatmulPreferenceSetAttribute) \
    F(cublasLtMatrixLayoutCreate)           \
    F(cublasLtMatrixLayoutDestroy)
#define ZG_DECLARE(name) decltype(&::name) name = nullptr;
    ZG_CUBLAS_LT_FUNCTIONS(ZG_DECLARE)
#undef ZG_DECLARE
};

/// The library on one GPU.
class CublasLt {
  public:
    /// Of the calling thread's GPU.
    ///
    /// Errors: Error{resource} when it cannot be opened or started
    CublasLt();
    ~CublasLt();
    CublasLt(const CublasLt&) = delete;
    CublasLt& operator=(const CublasLt&) = delete;

    cublasLtHandle_t handle() const noexcept { return handle_; }

  private:
    cublasLtHandle_t handle_ = nullptr;
};

/// A row-major matrix [rows, columns] as a factor or as the result.
struct LtMatrix {
    cudaDataType_t type;
    std::int64_t rows, columns;
    bool is_transposed = false;  ///< the product takes its transpose
};

/// What a product does with its sums before it stores them.
enum class Epilogue {
    none,
    bias,           ///< adds a bias for each column
    gelu_bias,      ///< adds a bias, stores the sum in `aux`, and GELU of it in the result
    gelu_gradient,  ///< multiplies by the gradient of GELU at `aux`
};

/// result = left right, or result += left right, with an epilogue; sums in float.
///
/// cuBLASLt's first choice for the shape is taken, once. Choices that round partial sums to the type of the
/// result, or add them into it in the order in which they come, are excluded, so a product has the same bits
/// each time.
///
/// Source: cuBLAS 13.0, 2.1.4 "Results reproducibility": the same bits at every run on GPUs of the same
/// architecture and number of multiprocessors; and cublasLtReductionScheme_t
class LtProduct {
  public:
    /// \param epilogue         its bias and `aux` are of the type of the result
    /// \param workspace_bytes  that it may ask for
    /// Errors: Error{internal} when the library has no such product
    LtProduct(std::shared_ptr<CublasLt> library,
              const LtMatrix& left,
              const LtMatrix& right,
              const LtMatrix& result,
              Epilogue epilogue,
              std::int64_t workspace_bytes);

    /// What run() reads and writes besides the factors and the result.
    struct Extras {
        const void* bias = nullptr;  ///< of the epilogues with a bias
        const void* aux = nullptr;   ///< of those with GELU: as large as the result
    };

    std::int64_t workspace_bytes() const noexcept { return static_cast<std::int64_t>(choice_.workspaceSize); }

    /// \param workspace  aligned to layout::CudaWorkspaces::alignment
    /// Errors: Error{internal} when an address is less aligned than alignment_of_rows(), and what the launch
    /// ends
    ///         with
    void run(const device::Stream& stream,
             const void* left,
             const void* right,
             const Extras& extras,
             void* result,
             Accumulate accumulate,
             void* workspace) const;

  private:
    template <class Object>
    using Owned = std::unique_ptr<std::remove_pointer_t<Object>, cublasStatus_t (*)(Object)>;
    using Layout = Owned<cublasLtMatrixLayout_t>;

    static Layout layout_of(const LtMatrix& matrix);
    bool has_bias() const { return epilogue_ == Epilogue::bias || epilogue_ == Epilogue::gelu_bias; }
    bool has_aux() const { return epilogue_ == Epilogue::gelu_bias || epilogue_ == Epilogue::gelu_gradient; }
    void describe();
    void choose(std::int64_t workspace_bytes);

    std::shared_ptr<CublasLt> library_;
    LtMatrix left_, right_, result_;
    Epilogue epilogue_;
    std::string multiplying_;  ///< in words, for errors
    Owned<cublasLtMatmulDesc_t> description_;
    Layout left_layout_, right_layout_, result_layout_;
    cublasLtMatmulHeuristicResult_t choice_{};
    mutable bool is_loaded_ = false;  ///< a call in Stream::load() has run
};

}  // namespace ziggurat::kernels::cuda
