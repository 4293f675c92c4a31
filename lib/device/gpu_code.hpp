/// Compiled GPU code of a build: which GPUs can run it.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::device {

/// True if a GPU can run code that was compiled for `architectures`.
///
/// Machine code runs on GPUs of the same major and the same or a higher minor version. The driver compiles
/// intermediate code (PTX) for all later GPUs.
///
/// \param architectures  value of CMAKE_CUDA_ARCHITECTURES, joined by commas: "80-real,90-virtual". Without a
///                       suffix, both kinds of code
/// \param capability     90 for compute capability 9.0
bool runs_on(std::string_view architectures, int capability);

/// Formats architectures for messages: "8.0 to 8.9, 9.0 and later".
std::string describe_architectures(std::string_view architectures);

}  // namespace ziggurat::device
