#include "device/gpu_code.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace ziggurat::device {
namespace {

struct Code {
    int capability;
    bool is_machine_code, is_intermediate;
    bool is_exact;  ///< architecture-specific features, such as 90a
};

std::vector<Code> parse(std::string_view architectures) {
    std::vector<Code> parsed;
    while (!architectures.empty()) {
        const auto one = architectures.substr(0, architectures.find(','));
        architectures.remove_prefix(std::min(architectures.size(), one.size() + 1));
        int capability = 0;
        const auto end = std::from_chars(one.data(), one.data() + one.size(), capability).ptr;
        const std::string_view rest{end, one.data() + one.size()};
        parsed.push_back({.capability = capability,
                          .is_machine_code = !rest.ends_with("-virtual"),
                          .is_intermediate = !rest.ends_with("-real"),
                          .is_exact = rest.starts_with('a')});
    }
    std::ranges::sort(parsed, {}, &Code::capability);
    return parsed;
}

std::string version_text(int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

}  // namespace

bool runs_on(std::string_view architectures, int capability) {
    return std::ranges::any_of(parse(architectures), [capability](const Code& code) {
        if (code.is_exact) {
            return code.capability == capability;
        }
        const bool is_same_major = code.capability / 10 == capability / 10;
        return code.capability <= capability &&
               (code.is_intermediate || (code.is_machine_code && is_same_major));
    });
}

std::string describe_architectures(std::string_view architectures) {
    std::string text;
    bool is_for_later_ones = false;
    for (const auto& code : parse(architectures)) {
        is_for_later_ones |= code.is_intermediate && !code.is_exact;
        if (!code.is_machine_code && !text.empty()) {
            continue;
        }
        text += (text.empty() ? "" : ", ") + version_text(code.capability);
        if (code.is_machine_code && !code.is_exact && code.capability % 10 < 9) {
            text += " to " + version_text(code.capability / 10 * 10 + 9);
        }
    }
    return text + (is_for_later_ones ? " and later" : "");
}

}  // namespace ziggurat::device
