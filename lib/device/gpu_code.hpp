/// Code for GPUs that a build has: which GPUs run it.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::device {

/// True if a GPU runs code that was compiled for `architectures`.
///
/// Machine code runs on GPUs of the same major and the same or a higher minor version; the driver compiles
/// intermediate code (PTX) for all later ones.
///
/// \param architectures  as CMAKE_CUDA_ARCHITECTURES, joined by commas: "80-real,90-virtual"; without a
/// suffix both \param capability     90 for compute capability 9.0
bool runs_on(std::string_view architectures, int capability);

/// For people: "8.0 to 8.9, 9.0 and later".
std::string describe_architectures(std::string_view architectures);

}  // namespace ziggurat::device
