#include "data/raw_source.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "data/llmc_source.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::data {
namespace {

bool has_llmc_header(const MappedFile& file) {
    return file.bytes() >= llmc_header_bytes && llmc_type(file.load<std::int32_t>(0));
}

TokenFile open_raw(const std::string& path, const std::string& key, spec::RawType type) {
    const auto stored = token_type(type);
    const auto token_bytes = bytes_of(stored);
    MappedFile file{path, key};
    if (file.bytes() % token_bytes != 0) {
        throw Error{ErrorKind::deck,
                    fmt::format("{}: '{}' is not a file of {} tokens ({} bytes are not a multiple of {}). "
                                "Copy it again if it was truncated, or set another dtype or format.",
                                key, path, spec::word_of(type), file.bytes(), token_bytes)};
    }
    if (has_llmc_header(file)) {
        throw Error{
            ErrorKind::deck,
            fmt::format("{}: '{}' is not a file of bare tokens (it begins with a header of llm.c, which "
                        "would be read as tokens). Use format: llmc.",
                        key, path)};
    }
    const auto tokens = file.bytes() / token_bytes;
    return {std::move(file), 0, tokens, stored};
}

}  // namespace

TokenType token_type(spec::RawType type) noexcept {
    switch (type) {
        case spec::RawType::uint16:
            return TokenType::uint16;
        case spec::RawType::uint32:
            return TokenType::uint32;
    }
    return TokenType::uint16;
}

RawSource::RawSource(const std::string& pattern, spec::RawType type, const std::string& key)
    : FileSource{pattern, key, [type](const std::string& path, const std::string& file_key) {
                     return open_raw(path, file_key, type);
                 }} {}

}  // namespace ziggurat::data
