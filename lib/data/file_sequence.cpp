#include "data/file_sequence.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::data {
namespace {

template <class Stored>
void widen(const std::byte* from, std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        Stored id;
        std::memcpy(&id, from + i * sizeof(Stored), sizeof(Stored));
        out[i] = std::in_range<std::int32_t>(id) ? static_cast<std::int32_t>(id) : -1;
    }
}

void widen(TokenType type, const std::byte* from, std::span<std::int32_t> out) {
    switch (type) {
        case TokenType::uint8:
            return widen<std::uint8_t>(from, out);
        case TokenType::int8:
            return widen<signed char>(from, out);
        case TokenType::int16:
            return widen<std::int16_t>(from, out);
        case TokenType::uint16:
            return widen<std::uint16_t>(from, out);
        case TokenType::int32:
            return widen<std::int32_t>(from, out);
        case TokenType::uint32:
            return widen<std::uint32_t>(from, out);
        case TokenType::int64:
            return widen<std::int64_t>(from, out);
    }
}

}  // namespace

std::int64_t bytes_of(TokenType type) noexcept {
    switch (type) {
        case TokenType::uint8:
        case TokenType::int8:
            return 1;
        case TokenType::int16:
        case TokenType::uint16:
            return 2;
        case TokenType::int32:
        case TokenType::uint32:
            return 4;
        case TokenType::int64:
            return 8;
    }
    return 0;
}

const char* name_of(TokenType type) noexcept {
    switch (type) {
        case TokenType::uint8:
            return "uint8";
        case TokenType::int8:
            return "int8";
        case TokenType::int16:
            return "int16";
        case TokenType::uint16:
            return "uint16";
        case TokenType::int32:
            return "int32";
        case TokenType::uint32:
            return "uint32";
        case TokenType::int64:
            return "int64";
    }
    return "";
}

void FileSequence::append(TokenFile file) {
    ZG_EXPECTS(file.num_tokens >= 0 &&
               file.offset_bytes + file.num_tokens * bytes_of(file.type) <= file.file.bytes());
    ends_.push_back(num_tokens() + file.num_tokens);
    files_.push_back(std::move(file));
}

std::size_t FileSequence::file_of(std::int64_t token) const {
    return std::upper_bound(ends_.begin(), ends_.end(), token) - ends_.begin();
}

void FileSequence::read(std::int64_t begin, std::span<std::int32_t> out) const {
    ZG_EXPECTS(begin >= 0 && begin + std::ssize(out) <= num_tokens());
    for (std::size_t f = file_of(begin); !out.empty(); ++f) {
        const TokenFile& file = files_[f];
        const auto count =
            static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(out), ends_[f] - begin));
        const std::int64_t offset = file.offset_bytes + (begin - begin_of(f)) * bytes_of(file.type);
        widen(file.type, file.file.content().data() + offset, out.first(count));
        out = out.subspan(count);
        begin += static_cast<std::int64_t>(count);
    }
}

std::string FileSequence::location_of(std::int64_t token) const {
    ZG_EXPECTS(token >= 0 && token < num_tokens());
    const auto f = file_of(token);
    return "position " + std::to_string(token - begin_of(f)) + " of '" + files_[f].file.path() + "'";
}

std::vector<SourceFile> FileSequence::files() const {
    std::vector<SourceFile> files;
    for (const TokenFile& file : files_) {
        files.push_back({&file.file, false});
    }
    return files;
}

}  // namespace ziggurat::data
