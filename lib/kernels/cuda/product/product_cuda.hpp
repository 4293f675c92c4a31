/// LtProduct: a matrix product of cuBLASLt, prepared once; only *_cuda.cu files include it.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "device/stream.hpp"
#include "kernels/cuda/product/product_choice_cuda.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/product_tuner.hpp"

namespace ziggurat::kernels::cuda {

/// Functions of cuBLASLt, with the library's names. The library is opened when a GPU first needs it.
struct CublasLtFunctions {
#define ZG_CUBLAS_LT_FUNCTIONS(F)           \
    F(cublasLtCreate)                       \
    F(cublasLtDestroy)                      \
    F(cublasLtGetVersion)                   \
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

/// The algorithms of one product that the library prefers, and the one in use.
struct LtAlgorithms : Choice {
    static constexpr int max_found = 8;

    std::array<cublasLtMatmulHeuristicResult_t, max_found> results{};

    std::span<const cublasLtMatmulHeuristicResult_t> found() const {
        return {results.data(), static_cast<std::size_t>(num_found)};
    }
    const cublasLtMatmulHeuristicResult_t& in_use() const { return results[chosen]; }
};

/// cuBLASLt on one GPU.
class CublasLt final : public ProductTuner {
  public:
    /// Opens the library for the calling thread's GPU.
    ///
    /// Errors: Error{resource} if it cannot be opened or started
    CublasLt();
    ~CublasLt() override;
    CublasLt(const CublasLt&) = delete;
    CublasLt& operator=(const CublasLt&) = delete;

    cublasLtHandle_t handle() const noexcept { return handle_; }
    /// True if measure() was called.
    bool is_measuring() const noexcept { return is_measuring_; }
    /// Returns the algorithms of a product; LtProduct fills them. The reference stays valid.
    LtAlgorithms& algorithms_of(const std::string& product) { return algorithms_[product]; }
    /// Returns the options of a GluProduct, which fills them. The reference stays valid.
    Choice& glu_choice_of(const std::string& product) { return glu_choices_[product]; }
    /// Returns what measure() knows of a product; -1: nothing.
    int known(const std::string& product) const;

    std::string library() const override;
    void measure(ProductChoices known) override;
    ProductChoices choices() const override;
    void choose(const ProductChoices& choices) override;

  private:
    cublasLtHandle_t handle_ = nullptr;
    std::map<std::string, LtAlgorithms> algorithms_;
    std::map<std::string, Choice> glu_choices_;
    ProductChoices known_;
    bool is_measuring_ = false;
};

/// A row-major matrix [rows, columns]: a factor or the result.
struct LtMatrix {
    cudaDataType_t type;
    std::int64_t rows, columns;
    bool is_transposed = false;   ///< the product uses its transpose
    std::int64_t row_stride = 0;  ///< elements from one row to the next; 0: there is nothing between them

    std::int64_t stride() const { return row_stride > 0 ? row_stride : columns; }
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
/// Uses cuBLASLt's first choice for the shape, or the one of ProductTuner. Two kinds of algorithms are
/// excluded: those that round partial sums to the type of the result, and those that add into it in
/// completion order. A product therefore has the same bits whenever it uses the same algorithm.
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
        /// Matrix like the result, added to the sums before an epilogue; nullptr: no sum is formed.
        const void* addend = nullptr;
    };

    /// Returns the workspace that each of the algorithms fits in.
    std::int64_t workspace_bytes() const noexcept;

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
    void find_algorithms(std::int64_t workspace_bytes);
    /// Addresses and scalars of one call.
    struct Call {
        cudaStream_t stream;
        const void *left, *right;
        const void* addend;  ///< may be the result
        float of_addend;     ///< its factor: 0 or 1
        void* result;
        void* workspace;
    };
    void start(const Call& call, const cublasLtMatmulHeuristicResult_t& algorithm) const;
    /// Times all algorithms on sample factors, which it writes, and selects the fastest.
    void select_fastest(const Call& call) const;

    std::shared_ptr<CublasLt> library_;
    LtMatrix left_, right_, result_;
    Epilogue epilogue_;
    std::string multiplying_;  ///< text for error messages
    Owned<cublasLtMatmulDesc_t> description_;
    Layout left_layout_, right_layout_, result_layout_;
    LtAlgorithms* algorithms_ = nullptr;  ///< of library_
    /// A call without and one with an addend has run in Stream::load().
    mutable std::array<bool, 2> is_loaded_{};
};

}  // namespace ziggurat::kernels::cuda
