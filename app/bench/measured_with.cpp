#include "app/bench/measured_with.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

#include "app/command_line/version.hpp"
#include "device/discovery.hpp"

namespace ziggurat::app {
namespace {

/// Returns the model of the processors as Linux names it; `unknown processors` on other systems.
std::string processor_model() {
    std::ifstream file{"/proc/cpuinfo"};
    std::string part;
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(": ");
        if (colon == std::string::npos) {
            continue;
        }
        const std::string_view key{line};
        if (key.starts_with("model name")) {
            return line.substr(colon + 2);
        }
        if (key.starts_with("CPU part")) {  // ARM has no names
            part = "CPU part " + line.substr(colon + 2);
        }
    }
    return part.empty() ? "unknown processors" : part;
}

}  // namespace

std::string measured_with() {
    auto text = fmt::format("{}; {}; {} x {}", version(), library_versions(), ::sysconf(_SC_NPROCESSORS_CONF),
                            processor_model());
    if (const auto gpus = device::discover(); gpus.count > 0) {
        text += fmt::format("; {} GPUs of compute capability {}.{} with {} multiprocessors", gpus.count,
                            gpus.capability / 10, gpus.capability % 10, gpus.multiprocessors);
    }
    return text;
}

}  // namespace ziggurat::app
