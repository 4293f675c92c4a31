/// Objects of the cuBLASLt handles.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>

struct cublasLtContext {};

struct cublasLtMatrixLayoutOpaque {
    cudaDataType type;
    std::uint64_t rows, columns;
    std::int64_t ld;

    bool operator==(const cublasLtMatrixLayoutOpaque&) const = default;
    std::size_t element_bytes() const { return type == CUDA_R_16BF ? 2 : 4; }
    std::size_t bytes() const {
        return ((columns - 1) * static_cast<std::size_t>(ld) + rows) * element_bytes();
    }
};

struct cublasLtMatmulDescOpaque {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    std::int32_t turns_a = CUBLAS_OP_N, turns_b = CUBLAS_OP_N;
    std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void* bias = nullptr;
    std::int32_t bias_type = -1;  ///< type of the result
    void* aux = nullptr;
    std::int64_t aux_ld = 0;

    bool has_bias() const {
        return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    }
    bool has_aux() const {
        return epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS || epilogue == CUBLASLT_EPILOGUE_DGELU;
    }
};

struct cublasLtMatmulPreferenceOpaque {
    std::uint64_t workspace_bytes = 0;
    std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
    std::uint32_t alignment[4] = {256, 256, 256, 256};
};
