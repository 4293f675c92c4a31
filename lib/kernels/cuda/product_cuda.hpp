/// LtProduct: a matrix product of cuBLASLt, prepared once; only *_cuda.cu files include it.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"

namespace ziggurat::kernels::cuda {

/// Functions of cuBLASLt, with the library's names. The library is opened when a GPU first needs it.
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

/// cuBLASLt on one GPU.
class CublasLt {
  public:
    /// Opens the library for the calling thread's GPU.
    ///
    /// Errors: Error{resource} if it cannot be opened or started
    CublasLt();
    ~CublasLt();
    CublasLt(const CublasLt&) = delete;
    CublasLt& operator=(const CublasLt&) = delete;

    cublasLtHandle_t handle() const noexcept { return handle_; }

  private:
    cublasLtHandle_t handle_ = nullptr;
};

/// A row-major matrix [rows, columns]: a factor or the result.
struct LtMatrix {
    cudaDataType_t type;
    std::int64_t rows, columns;
    bool is_transposed = false;  ///< the product uses its transpose
};

/// Operation that a product applies to its sums before it stores them.
enum class Epilogue {
    none,
    bias,           ///< adds a bias for each column
    gelu_bias,      ///< adds a bias, stores the sum in `aux`, and stores its GELU in the result
    gelu_gradient,  ///< multiplies by the gradient of GELU at `aux`
};

/// A product result = left right, or result += left right, with an epilogue; sums in float.
///
/// Uses cuBLASLt's first choice for the shape, determined once. Two kinds of algorithms are excluded: those
/// that round partial sums to the type of the result, and those that add into it in completion order. A
/// product therefore always has the same bits.
///
/// Source: cuBLAS 13.0, 2.1.4 "Results reproducibility": the same bits at every run on GPUs of the same
/// architecture and number of multiprocessors; and cublasLtReductionScheme_t
class LtProduct {
  public:
    /// \param epilogue         its bias and `aux` have the type of the result
    /// \param workspace_bytes  maximum workspace
    /// Errors: Error{internal} if the library has no such product
    LtProduct(std::shared_ptr<CublasLt> library,
              const LtMatrix& left,
              const LtMatrix& right,
              const LtMatrix& result,
              Epilogue epilogue,
              std::int64_t workspace_bytes);

    /// Operands of run() other than the factors and the result.
    struct Extras {
        const void* bias = nullptr;  ///< for epilogues with a bias
        const void* aux = nullptr;   ///< for epilogues with GELU: as large as the result
    };

    std::int64_t workspace_bytes() const noexcept { return static_cast<std::int64_t>(choice_.workspaceSize); }

    /// \param workspace  aligned to layout::CudaWorkspaces::alignment
    /// Errors: Error{internal} if an address is less aligned than alignment_of_rows(), or if the launch fails
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
    std::string multiplying_;  ///< text for error messages
    Owned<cublasLtMatmulDesc_t> description_;
    Layout left_layout_, right_layout_, result_layout_;
    cublasLtMatmulHeuristicResult_t choice_{};
    mutable bool is_loaded_ = false;  ///< a call has run in Stream::load()
};

}  // namespace ziggurat::kernels::cuda
