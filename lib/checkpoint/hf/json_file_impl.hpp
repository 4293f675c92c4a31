/// JSON objects in files of a model's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text/json_depth.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint::hf {

/// Reads the JSON object in a file; returns nullopt if it does not exist or holds another type.
///
/// \param max_bytes  bounds the memory; larger files count as missing
inline std::optional<nlohmann::ordered_json> read_object(const std::filesystem::path& path,
                                                         std::int64_t max_bytes = std::int64_t{1} << 20) {
    constexpr int max_depth = 16;
    const auto text = storage::read_small_file(path.string(), max_bytes);
    if (!text || is_json_deeper(*text, max_depth)) {
        return std::nullopt;
    }
    auto document = nlohmann::ordered_json::parse(*text, nullptr, false);
    return document.is_object() ? std::optional{std::move(document)} : std::nullopt;
}

}  // namespace ziggurat::checkpoint::hf
