#include "deck/files/token_file.hpp"

#include <glob.h>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

constexpr std::int64_t llmc_header_bytes = 1024;
constexpr std::int32_t llmc_magic_of_16_bits = 20240520;
constexpr std::int32_t llmc_magic_of_32_bits = 20240801;
constexpr std::array<char, 9> megatron_magic = {'M', 'M', 'I', 'D', 'I', 'D', 'X', '\0', '\0'};
constexpr std::int64_t megatron_header_bytes = 34;

TokenFileFacts trouble(std::string why) {
    return {.trouble = std::move(why)};
}

TokenFileFacts missing(std::string why) {
    return {.trouble = std::move(why), .is_missing = true};
}

/// Why `path` cannot be read as a file, if so; its size otherwise.
TokenFileFacts size_of(const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) {
        return missing("there is no such file");
    }
    if (error || status.type() != fs::file_type::regular) {
        return trouble(error ? error.message() : "it is not a file");
    }
    const auto size = static_cast<std::int64_t>(fs::file_size(path, error));
    if (error || !std::ifstream{path, std::ios::binary}) {
        return trouble(error ? error.message() : "it is not readable");
    }
    return size == 0 ? trouble("it is empty") : TokenFileFacts{.tokens = size};
}

/// The first bytes of a file; zeros beyond its end.
template <std::size_t N>
std::array<char, N> first_bytes(const std::string& path) {
    std::array<char, N> bytes{};
    std::ifstream{path, std::ios::binary}.read(bytes.data(), N);
    return bytes;
}

template <class T, std::size_t N>
T number_at(const std::array<char, N>& bytes, std::size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

TokenFileFacts inspect_llmc(const std::string& path) {
    const TokenFileFacts file = size_of(path);
    if (file.trouble) {
        return file;
    }
    const auto header = first_bytes<12>(path);
    const auto magic = number_at<std::int32_t>(header, 0);
    if (file.tokens < llmc_header_bytes ||
        (magic != llmc_magic_of_16_bits && magic != llmc_magic_of_32_bits)) {
        return trouble(
            fmt::format("it does not begin with {} or {}", llmc_magic_of_16_bits, llmc_magic_of_32_bits));
    }
    // An int32 in the format; files of up to 2^32 tokens that overflowed it are read, as trainings do.
    const std::int64_t tokens = number_at<std::uint32_t>(header, 8);
    const std::int64_t expected = llmc_header_bytes + tokens * (magic == llmc_magic_of_16_bits ? 2 : 4);
    if (file.tokens != expected) {
        return trouble(fmt::format("its header says {} tokens in {} bytes, it has {} bytes", tokens, expected,
                                   file.tokens));
    }
    return {.tokens = tokens};
}

/// Bytes of a token by the dtype code of an index; 0 for a code that is no integer type.
std::int64_t megatron_token_bytes(unsigned code) {
    constexpr std::array<std::int64_t, 9> bytes = {0, 1, 1, 2, 4, 8, 0, 0, 2};
    return code < bytes.size() ? bytes[code] : 0;
}

TokenFileFacts inspect_megatron(const std::string& prefix) {
    const TokenFileFacts index = size_of(prefix + ".idx");
    const bool has_suffix = prefix.ends_with(".bin") || prefix.ends_with(".idx");
    if (index.is_missing && has_suffix) {
        return {.trouble = "the path stands for two files, and has the suffix of neither",
                .advice = fmt::format("Write '{}'.", prefix.substr(0, prefix.size() - 4))};
    }
    const TokenFileFacts file = size_of(prefix + ".bin");
    if (index.trouble || file.trouble) {
        const TokenFileFacts& bad = index.trouble ? index : file;
        const auto name = fmt::format("'{}.{}'", prefix, index.trouble ? "idx" : "bin");
        return {.trouble = bad.is_missing ? name + " is not here" : name + ": " + *bad.trouble,
                .is_missing = bad.is_missing};
    }
    const auto header = first_bytes<megatron_header_bytes>(prefix + ".idx");
    if (std::memcmp(header.data(), megatron_magic.data(), megatron_magic.size()) != 0) {
        return trouble("its .idx does not begin with MMIDIDX");
    }
    const auto version = number_at<std::uint64_t>(header, 9);
    const std::int64_t token_bytes = megatron_token_bytes(static_cast<unsigned char>(header[17]));
    if (version != 1 || token_bytes == 0) {
        return trouble(fmt::format("its .idx has version {} and dtype code {}", version,
                                   static_cast<unsigned>(static_cast<unsigned char>(header[17]))));
    }
    const auto sequences = number_at<std::uint64_t>(header, 18);
    const auto documents = number_at<std::uint64_t>(header, 26);
    const auto most = static_cast<std::uint64_t>(index.tokens);
    const std::uint64_t expected = megatron_header_bytes + 12 * sequences + 8 * documents;
    if (sequences > most || documents > most || (most != expected && most != expected + sequences)) {
        return trouble(fmt::format("its .idx has {} bytes for {} sequences and {} document marks", most,
                                   sequences, documents));
    }
    return {.tokens = file.tokens / token_bytes};
}

/// The files that `path` means: itself, or those that match it as a pattern.
std::vector<std::string> matches(const std::string& path) {
    std::error_code error;
    if (fs::exists(path, error) || path.find_first_of("*?[") == std::string::npos) {
        return {path};
    }
    glob_t found{};
    const int code = glob(path.c_str(), 0, nullptr, &found);
    std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + (code == 0 ? found.gl_pathc : 0));
    globfree(&found);
    return paths;
}

}  // namespace

TokenFileFacts inspect(const spec::Source& source) {
    if (source.format == spec::TokenFormat::megatron) {
        return inspect_megatron(source.path);
    }
    // Folders are not searched: a pattern over them could walk a whole disk.
    const std::size_t folder_end = source.path.rfind('/');
    if (folder_end != std::string::npos && source.path.find_first_of("*?[") < folder_end &&
        size_of(source.path).trouble) {
        return trouble("patterns stand for file names, not for folders");
    }
    const auto paths = matches(source.path);
    if (paths.empty()) {
        return missing("no file matches this pattern");
    }
    TokenFileFacts all;
    for (const std::string& path : paths) {
        const TokenFileFacts file =
            source.format == spec::TokenFormat::llmc ? inspect_llmc(path) : size_of(path);
        if (file.trouble) {
            return paths.size() == 1 ? file : trouble(fmt::format("{}: {}", path, *file.trouble));
        }
        all.tokens += file.tokens;
    }
    return all;
}

}  // namespace ziggurat::deck
