#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "device/cuda.hpp"
#include "device/discovery.hpp"

namespace ziggurat::device {
namespace {

/// True for /dev/nvidia0, but not for /dev/nvidiactl, which exists without a GPU.
bool names_a_gpu(const std::filesystem::path& path) {
    const auto name = path.filename().string();
    constexpr std::string_view begin = "nvidia";
    return name.size() > begin.size() && name.starts_with(begin) &&
           std::all_of(name.begin() + begin.size(), name.end(),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_hardware_there() {
    std::error_code unreadable;
    std::filesystem::directory_iterator entry{"/dev", unreadable};
    return !unreadable &&
           std::any_of(begin(entry), end(entry), [](const auto& file) { return names_a_gpu(file.path()); });
}

}  // namespace

Discovery discover() {
    Discovery found;
    if constexpr (has_cuda) {
        found = cuda::discover();
    } else {
        found.unavailable_reason = "this build has no GPU support";
    }
    found.is_hardware_there = is_hardware_there();
    return found;
}

}  // namespace ziggurat::device
