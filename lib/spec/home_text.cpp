#include "spec/home_text.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace ziggurat::spec {
namespace {

/// Formats a share in percent, without trailing zeros.
std::string percent(double share) {
    const auto millionths = std::llround(share * 1e6);
    auto text = std::to_string(millionths / 10'000);
    if (const auto rest = millionths % 10'000; rest > 0) {
        auto digits = std::to_string(10'000 + rest).substr(1);
        digits.erase(digits.find_last_not_of('0') + 1);
        text += "." + digits;
    }
    return text + "%";
}

}  // namespace

std::optional<Tier> find_tier(std::string_view name) {
    for (std::size_t t = 0; t < tier_names.size(); ++t) {
        if (tier_names[t] == name) {
            return static_cast<Tier>(t);
        }
    }
    return std::nullopt;
}

std::string write_home(const Home& home) {
    const std::array<std::pair<const char*, double>, 3> all{
        {{"device", home.device}, {"host", home.host}, {"nvme", home.nvme}}};
    std::string text;
    const char* last = nullptr;
    for (const auto& [name, share] : all) {
        if (std::llround(share * 1e6) == 0) {
            continue;
        }
        if (last != nullptr) {
            text += (text.empty() ? "" : ", ") + std::string{last} + ": " +
                    percent(last == all[0].first ? home.device : home.host);
        }
        last = name;
    }
    if (last == nullptr) {
        return "device";
    }
    return text.empty() ? last : "{" + text + ", " + last + ": rest}";
}

}  // namespace ziggurat::spec
