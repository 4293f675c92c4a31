#include <cublasLt.h>

#include <array>
#include <bit>

#include "tests/unit/emulated_cuda/gpu_fixture.hpp"

namespace ziggurat::test {
namespace {

/// d[3, 2] = op(a) op(b) with inner size 2, column by column. Its operands are 1, 2, 3, ...
class EmulatedCublasLt : public EmulatedGpu {
  protected:
    using Values = std::array<float, 6>;

    EmulatedCublasLt() {
        EXPECT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
        EXPECT_EQ(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
        EXPECT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
        prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
        prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{65536});
        for (std::size_t i = 0; i < 16; ++i) {
            pinned[i] = std::bit_cast<int>(static_cast<float>(i + 1));
        }
        for (auto* matrix : {&a, &b, &d, &bias}) {
            *matrix = reinterpret_cast<float*>(reserve(16));
            copy(*matrix, pinned.data(), pinned.bytes());
        }
        workspace = reserve(16384);
    }
    ~EmulatedCublasLt() override {
        for (auto* layout : {in_a, in_b, in_d}) {
            cublasLtMatrixLayoutDestroy(layout);
        }
        cublasLtMatmulPreferenceDestroy(preference);
        cublasLtMatmulDescDestroy(desc);
        cublasLtDestroy(handle);
    }

    template <class T>
    void prefer(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
        EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
                  CUBLAS_STATUS_SUCCESS);
    }
    template <class T>
    void describe(cublasLtMatmulDescAttributes_t attribute, T value) {
        EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value),
                  CUBLAS_STATUS_SUCCESS);
    }
    static void lay(cublasLtMatrixLayout_t& layout,
                    std::uint64_t rows,
                    std::uint64_t columns,
                    int ld,
                    cudaDataType type = CUDA_R_32F) {
        cublasLtMatrixLayoutDestroy(layout);
        EXPECT_EQ(cublasLtMatrixLayoutCreate(&layout, type, rows, columns, ld), CUBLAS_STATUS_SUCCESS);
    }
    cublasStatus_t ask() {
        int found = 0;
        return cublasLtMatmulAlgoGetHeuristic(handle, desc, in_a, in_b, in_d, in_d, preference, 1, &result,
                                              &found);
    }
    cublasStatus_t multiply(const float* from, float beta, std::size_t bytes) {
        const float alpha = 1;
        return cublasLtMatmul(handle, desc, &alpha, from, in_a, b, in_b, &beta, d, in_d, d, in_d,
                              &result.algo, workspace, bytes, stream);
    }
    void copy(void* to, const void* from, std::size_t bytes) {
        EXPECT_EQ(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    }
    /// Returns d after the product; it was 1, 2, 3, ... before.
    Values product(float beta) {
        copy(d, pinned.data(), pinned.bytes());
        EXPECT_EQ(ask(), CUBLAS_STATUS_SUCCESS);
        EXPECT_EQ(multiply(a, beta, 65536), CUBLAS_STATUS_SUCCESS);
        PinnedInts bits{6};
        copy(bits.data(), d, bits.bytes());
        Values values{};
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = std::bit_cast<float>(bits[i]);
        }
        return values;
    }
    void lay_plainly() {
        lay(in_a, 3, 2, 3);
        lay(in_b, 2, 2, 2);
        lay(in_d, 3, 2, 3);
    }

    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatrixLayout_t in_a = nullptr, in_b = nullptr, in_d = nullptr;
    cublasLtMatmulHeuristicResult_t result{};
    float *a = nullptr, *b = nullptr, *d = nullptr, *bias = nullptr;
    void* workspace = nullptr;
    PinnedInts pinned{16};
};

TEST_F(EmulatedCublasLt, MultipliesAsFactorsLie) {
    lay_plainly();
    EXPECT_EQ(product(0), (Values{9, 12, 15, 19, 26, 33}));
}

TEST_F(EmulatedCublasLt, TurnsFactorsAndHeedsLeadingDimensions) {
    lay_plainly();
    describe(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_T});
    lay(in_a, 2, 3, 3);
    EXPECT_EQ(product(0), (Values{5, 14, 23, 11, 32, 53}));
    describe(CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t{CUBLAS_OP_T});
    EXPECT_EQ(product(0), (Values{7, 19, 31, 10, 28, 46}));
}

TEST_F(EmulatedCublasLt, AddsToWhatIsThereAndABiasToEachRow) {
    lay_plainly();
    EXPECT_EQ(product(1), (Values{10, 14, 18, 23, 31, 39}));
    describe(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_BIAS});
    describe(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias));
    EXPECT_EQ(product(0), (Values{10, 14, 18, 20, 28, 36}));
}

TEST_F(EmulatedCublasLt, RefusesWhatDoesNotFit) {
    lay_plainly();
    ASSERT_EQ(ask(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(multiply(a, 0, result.workspaceSize - 1), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(multiply(a + 1, 0, 65536), CUBLAS_STATUS_INVALID_VALUE) << "less aligned than was promised";
    std::array<float, 16> of_the_host{};
    EXPECT_EQ(multiply(of_the_host.data(), 0, 65536), CUBLAS_STATUS_INVALID_VALUE);
    lay(in_a, 3, 2, 4);
    EXPECT_EQ(multiply(a, 0, 65536), CUBLAS_STATUS_INVALID_VALUE) << "the algorithm is another layout's";
    lay(in_a, 3, 2, 2);
    EXPECT_EQ(ask(), CUBLAS_STATUS_INVALID_VALUE) << "columns overlap";
    lay(in_a, 3, 3, 3);
    EXPECT_EQ(ask(), CUBLAS_STATUS_INVALID_VALUE) << "factors do not meet";
    lay(in_a, 3, 2, 3, CUDA_R_16BF);
    EXPECT_EQ(ask(), CUBLAS_STATUS_NOT_SUPPORTED) << "factors of two types";
    lay_plainly();
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_MASK});
    EXPECT_EQ(ask(), CUBLAS_STATUS_NOT_SUPPORTED) << "sums that may change from run to run";
}

TEST_F(EmulatedCublasLt, RefusesABiasThatIsMissing) {
    lay_plainly();
    describe(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_BIAS});
    ASSERT_EQ(ask(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(multiply(a, 0, 65536), CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace ziggurat::test
