#include "data/content_key.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "data/mapped_file.hpp"

namespace ziggurat::data {

ContentKey& ContentKey::add(std::string_view name, std::string_view text) {
    // Lengths keep parts apart that have the same text when they are joined.
    text_ += fmt::format("{}:{}={}:", name.size(), name, text.size());
    text_ += text;
    text_ += '\n';
    return *this;
}

ContentKey& ContentKey::add(std::string_view name, double value) {
    return add(name, std::string_view{fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value))});
}

std::uint64_t ContentKey::hash() const {
    return std::max<std::uint64_t>(XXH3_64bits(text_.data(), text_.size()), 1);
}

std::uint64_t whole_file_hash(const std::string& path) {
    std::error_code unreadable;
    if (!std::filesystem::is_regular_file(path, unreadable) ||
        std::filesystem::file_size(path, unreadable) == 0) {
        return 0;
    }
    try {
        const MappedFile file{path, "file"};
        return XXH3_64bits(file.content().data(), file.content().size());
    } catch (const Error&) {
        return 0;
    }
}

}  // namespace ziggurat::data
