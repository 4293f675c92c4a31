#include "doctor/versions.hpp"

#include <fmt/format.h>

namespace ziggurat::doctor {
namespace {

/// Returns `1.10` for `1.10.8`.
std::string minor_of(const std::string& version) {
    const auto first = version.find('.');
    return first == std::string::npos ? version : version.substr(0, version.find('.', first + 1));
}

}  // namespace

Diagnosis diagnose_library(const LibraryFacts& facts) {
    if (minor_of(facts.headers) != minor_of(facts.running)) {
        return error(
            facts.name,
            fmt::format("the program was built with {} and runs with {}", facts.headers, facts.running),
            "Load the module that it was built with, or rebuild the program.");
    }
    return ok_diagnosis(facts.name, fmt::format("{}, built with {}", facts.running, facts.headers));
}

Diagnosis diagnose_devices(bool is_built_for,
                           int count,
                           const std::string& unavailable_reason,
                           bool is_present) {
    constexpr const char* check = "devices";
    if (count > 0) {
        return ok_diagnosis(check, fmt::format("{} GPU{} can be used", count, count == 1 ? "" : "s"));
    }
    if (is_built_for && is_present) {
        return error(check,
                     fmt::format("this machine has GPUs, but none can be used ({})", unavailable_reason),
                     "Load the driver, and check CUDA_VISIBLE_DEVICES and the output of nvidia-smi.");
    }
    if (is_present) {
        return warning(check,
                       fmt::format("GPUs were found, but the program ignores them ({})", unavailable_reason),
                       "Build the preset 'cuda' to compute on them.");
    }
    return ok_diagnosis(
        check, is_built_for ? fmt::format("no GPU ({}); computes on the host's cores", unavailable_reason)
                            : "computes on the host's cores");
}

}  // namespace ziggurat::doctor
