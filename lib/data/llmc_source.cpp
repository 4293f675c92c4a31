#include "data/llmc_source.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "data/file_probe.hpp"

namespace ziggurat::data {
namespace {

constexpr const char* name_others = "Name files written by llm.c's dev/data scripts, or set another format.";

[[noreturn]] void refuse(const std::string& key,
                         const MappedFile& file,
                         const std::string& reason,
                         const std::string& remedy = name_others) {
    std::string message = key;
    message += ": '" + file.path() + "' is not a token file of llm.c (" + reason + "). " + remedy;
    throw Error{ErrorKind::deck, message};
}

TokenFile open_llmc(const std::string& path, const std::string& key) {
    MappedFile file{path, key};
    const auto magic = file.bytes() >= 4 ? file.load<std::int32_t>(0) : 0;
    const auto known_type = llmc_type(magic);
    if (!known_type) {
        const auto probed = probe_content(file.content());
        refuse(key, file, kind_of_llmc(file), probed.remedy.empty() ? name_others : probed.remedy);
    }
    if (file.bytes() < llmc_header_bytes) {
        refuse(key, file, std::to_string(file.bytes()) + " bytes, shorter than the header of 1024 bytes");
    }
    const TokenType type = *known_type;
    const std::int32_t known_version =
        (magic == llmc_of_16_bits.magic ? llmc_of_16_bits : llmc_of_32_bits).version;
    const auto version = file.load<std::int32_t>(4);
    if (version != known_version) {
        refuse(key, file, "version " + std::to_string(version) + ", not " + std::to_string(known_version));
    }
    // The format's count is an int32. Read as unsigned, files of up to 2^32 tokens whose count overflowed
    // also work.
    const std::int64_t tokens = file.load<std::uint32_t>(8);
    if (file.bytes() != llmc_header_bytes + tokens * bytes_of(type)) {
        refuse(key, file,
               "its header counts " + std::to_string(tokens) + " tokens of " +
                   std::to_string(bytes_of(type)) + " bytes, which makes " +
                   std::to_string(llmc_header_bytes + tokens * bytes_of(type)) + " bytes, but it has " +
                   std::to_string(file.bytes()));
    }
    return {std::move(file), llmc_header_bytes, tokens, type};
}

}  // namespace

std::optional<TokenType> llmc_type(std::int32_t magic) {
    return magic == llmc_of_16_bits.magic   ? std::optional{TokenType::uint16}
           : magic == llmc_of_32_bits.magic ? std::optional{TokenType::uint32}
                                            : std::nullopt;
}

const char* other_llmc_kind(std::int32_t magic) {
    switch (magic) {
        case 20240522:
            return "an evaluation file of llm.c";
        case 20240326:
        case 20240803:
            return "a model file of llm.c";
        case 20240328:
            return "a tokenizer of llm.c";
        case 20240527:
            return "an optimizer state of llm.c";
        default:
            return nullptr;
    }
}

std::string kind_of_llmc(const MappedFile& file) {
    const auto magic = file.bytes() >= 4 ? file.load<std::int32_t>(0) : 0;
    if (const char* kind = other_llmc_kind(magic)) {
        return kind;
    }
    const auto probed = probe_content(file.content());
    const auto seen =
        probed.what.empty() ? "" : (probed.is_certain ? "it begins like " : "it looks like ") + probed.what;
    return file.bytes() < llmc_header_bytes
               ? fmt::format("{} bytes, shorter than the header of {} bytes{}{}", file.bytes(),
                             llmc_header_bytes, seen.empty() ? "" : "; ", seen)
               : fmt::format("its first number is {}, not {} (tokens of 16 bits) or {} (of 32 bits){}{}",
                             magic, llmc_of_16_bits.magic, llmc_of_32_bits.magic, seen.empty() ? "" : "; ",
                             seen);
}

LlmcSource::LlmcSource(const std::string& pattern, const std::string& key)
    : FileSource{pattern, key, open_llmc} {
    if (sequence_.num_tokens() == 0) {
        std::string message = key;
        message += ": '" + pattern + "' holds no tokens (all headers count 0). Name other files.";
        throw Error{ErrorKind::deck, message};
    }
}

}  // namespace ziggurat::data
