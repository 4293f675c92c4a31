/// CudnnGlu of builds without cuDNN: no shape has a kernel.
#include "base/contract.hpp"
#include "kernels/cuda/cudnn/glu_cudnn_cuda.hpp"

namespace ziggurat::kernels::cuda {

const AttentionLibrary& cudnn_library() {
    static const AttentionLibrary none{.unusable_reason = "this build has no cuDNN"};
    return none;
}

struct CudnnGlu::Gpu {};

CudnnGlu::CudnnGlu() = default;
CudnnGlu::~CudnnGlu() = default;

int CudnnGlu::prepare(const GluProductShape&, int, std::int64_t) {
    return 0;
}

std::string CudnnGlu::refusal(const GluProductShape&) const {
    return cudnn_library().unusable_reason;
}

std::int64_t CudnnGlu::workspace_bytes(const GluProductShape&) const {
    return 0;
}

void CudnnGlu::run(const device::Stream&, const GluProductShape&, int, const GluOperands&, void*) {
    ZG_EXPECTS(!"cuDNN has a kernel");
}

}  // namespace ziggurat::kernels::cuda
