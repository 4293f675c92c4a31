/// cuDNN as an optional library of this process; only *_cuda files include it.
#pragma once

#include <string>

#include "kernels/attention.hpp"

namespace ziggurat::kernels::cuda {

/// Description of a GPU that does not have to be present.
struct DescribedGpu {
    std::string properties;  ///< JSON, as cuDNN writes it (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)
    int capability;          ///< compute capability, 90 for 9.0
};

/// Returns name and version of this process's library and, if it cannot be used, the reason.
///
/// The first call opens the library, which is not linked.
const AttentionLibrary& cudnn_library();

}  // namespace ziggurat::kernels::cuda
