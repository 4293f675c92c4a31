#include "doctor/versions.hpp"

#include <fmt/format.h>

namespace ziggurat::doctor {
namespace {

/// `1.10` of `1.10.8`
std::string minor_of(const std::string& version) {
    const auto first = version.find('.');
    return first == std::string::npos ? version : version.substr(0, version.find('.', first + 1));
}

}  // namespace

Diagnosis judge_library(const LibraryFacts& facts) {
    if (minor_of(facts.headers) != minor_of(facts.running)) {
        return error(
            facts.name,
            fmt::format("the program was built with {} and runs with {}", facts.headers, facts.running),
            "Load the module that it was built with, or build it anew.");
    }
    return well(facts.name, fmt::format("{}, built with {}", facts.running, facts.headers));
}

Diagnosis judge_devices(bool is_built_for, int count, const std::string& why_none, bool is_there) {
    constexpr const char* check = "devices";
    if (count > 0) {
        return well(check, fmt::format("{} GPU{} can be used", count, count == 1 ? "" : "s"));
    }
    if (is_built_for && is_there) {
        return error(check, fmt::format("there are GPUs, and none can be used ({})", why_none),
                     "Load the driver, and look at CUDA_VISIBLE_DEVICES and nvidia-smi.");
    }
    if (is_there) {
        return warning(check, fmt::format("there are GPUs, which this program leaves alone ({})", why_none),
                       "Build the preset 'cuda' to compute on them.");
    }
    return well(check, is_built_for ? fmt::format("no GPU ({}); the host's cores compute", why_none)
                                    : "the host's cores compute");
}

}  // namespace ziggurat::doctor
