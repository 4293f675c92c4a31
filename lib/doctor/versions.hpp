/// Checks of libraries: the versions that the program was compiled with and runs with.
#pragma once

#include <string>

#include "doctor/diagnosis.hpp"

namespace ziggurat::doctor {

/// Version of a library's headers, and of the library that was loaded at start.
struct LibraryFacts {
    std::string name = {};
    std::string headers = {};  ///< `1.10.8`
    std::string running = {};
};

/// Checks that headers and library have the same minor version, and thus the same interface.
Diagnosis diagnose_library(const LibraryFacts& facts);

/// Checks that the program can use the GPUs of this machine.
///
/// \param is_built_for  true if the program was built for GPUs
/// \param count         number of GPUs that can be used
/// \param unavailable_reason      reason why `count` is 0
/// \param is_present      true if the system lists GPUs
Diagnosis diagnose_devices(bool is_built_for,
                           int count,
                           const std::string& unavailable_reason,
                           bool is_present);

}  // namespace ziggurat::doctor
