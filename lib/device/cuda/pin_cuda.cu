#include "device/cuda/pin_cuda.hpp"

#include <cuda_runtime.h>

#include <string>

#include "base/error.hpp"

namespace ziggurat::device::cuda {

void pin(std::byte* begin, std::int64_t bytes) {
    const auto result = cudaHostRegister(begin, static_cast<std::size_t>(bytes), cudaHostRegisterPortable);
    if (result != cudaSuccess) {
        static_cast<void>(cudaGetLastError());  // which nothing behind it is to blame for
        throw Error{ErrorKind::resource, "cannot pin " + std::to_string(bytes) +
                                             " bytes of the host's memory (" + cudaGetErrorName(result) +
                                             ": " + cudaGetErrorString(result) +
                                             "). The system may limit what is locked: see ulimit -l, and "
                                             "what the job or its container is granted."};
    }
}

}  // namespace ziggurat::device::cuda
