/// Judgements of libraries: what the program was compiled with, and what it runs with.
#pragma once

#include <string>

#include "doctor/diagnosis.hpp"

namespace ziggurat::doctor {

/// A library's headers and the library that was found when the program started.
struct LibraryFacts {
    std::string name = {};
    std::string headers = {};  ///< `1.10.8`
    std::string running = {};
};

/// Libraries of one minor version have one interface.
Diagnosis judge_library(const LibraryFacts& facts);

/// \param is_built_for  GPUs compute
/// \param count         GPUs that can be used
/// \param why_none      why there is none
/// \param is_there      the system names GPUs
Diagnosis judge_devices(bool is_built_for, int count, const std::string& why_none, bool is_there);

}  // namespace ziggurat::doctor
