#include "data/token_file_header.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/file_probe.hpp"
#include "data/file_sequence.hpp"
#include "data/llmc_source.hpp"
#include "data/megatron_source.hpp"
#include "data/raw_source.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {
namespace {

constexpr std::int64_t max_shown = 16;

bool is_file(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

/// Returns true if the file name indicates tokens.
bool is_called_so(const std::string& path) {
    return path.ends_with(".bin") || path.ends_with(".idx");
}

/// Returns the error that training would report for it; empty if it can be trained on.
std::string problem_of(const spec::Source& source) {
    const std::string key = "it";
    try {
        open_source(source, key);
        return "";
    } catch (const Error& error) {
        const std::string what = error.what();
        return what.substr(what.starts_with(key + ": ") ? key.size() + 2 : 0);
    }
}

/// Reads the first tokens, or fewer if the file is shorter.
void add_tokens(TokenFileHeader& head, MappedFile file, TokenType type) {
    head.token_bytes = bytes_of(type);
    head.type = name_of(type);
    head.stored_tokens = std::max<std::int64_t>(0, (file.bytes() - head.header_bytes) / head.token_bytes);
    if (head.stored_tokens == 0) {
        return;
    }
    head.first.resize(std::min(max_shown, head.stored_tokens));
    FileSequence tokens;
    tokens.append({std::move(file), head.header_bytes, head.stored_tokens, type});
    tokens.read(0, head.first);
}

TokenFileHeader megatron_head(const std::string& prefix) {
    MappedFile index{prefix + ".idx", prefix + ".idx"};
    MappedFile tokens{prefix + ".bin", prefix + ".bin"};
    TokenFileHeader head{.format = spec::TokenFormat::megatron,
                         .paths = {index.path(), tokens.path()},
                         .bytes = {index.bytes(), tokens.bytes()}};
    head.problem = problem_of({.format = head.format, .path = prefix});
    if (!is_megatron_index(index)) {
        return head;
    }
    head.magic = "MMIDIDX";
    head.version = index.load<std::uint64_t>(9);
    head.sequences = index.load<std::uint64_t>(18);
    const auto entries = index.load<std::uint64_t>(26);
    head.documents = entries > 0 ? entries - 1 : 0;
    if (const auto type = megatron_type(index.load<std::uint8_t>(17))) {
        add_tokens(head, std::move(tokens), *type);
    }
    return head;
}

std::optional<TokenFileHeader> llmc_head(MappedFile& file) {
    const auto magic = file.bytes() >= 4 ? file.load<std::int32_t>(0) : 0;
    const auto type = llmc_type(magic);
    if (!type) {
        return std::nullopt;
    }
    TokenFileHeader head{.format = spec::TokenFormat::llmc,
                         .paths = {file.path()},
                         .bytes = {file.bytes()},
                         .magic = std::to_string(magic),
                         .header_bytes = llmc_header_bytes};
    head.problem = problem_of({.format = head.format, .path = file.path()});
    if (file.bytes() >= 12) {
        head.version = file.load<std::uint32_t>(4);
        head.tokens = file.load<std::uint32_t>(8);
    }
    add_tokens(head, std::move(file), *type);
    return head;
}

/// Returns the head of a file without a header that looks like tokens of `type`.
TokenFileHeader raw_head(MappedFile file, spec::RawType type) {
    TokenFileHeader head{.format = spec::TokenFormat::raw, .paths = {file.path()}, .bytes = {file.bytes()}};
    head.problem = problem_of({.format = head.format, .path = file.path(), .raw_type = type});
    add_tokens(head, std::move(file), token_type(type));
    return head;
}

}  // namespace

std::string megatron_pair_of(const std::string& path) {
    for (const std::string_view ending : {".idx", ".bin"}) {
        if (path.ends_with(ending)) {
            const auto prefix = path.substr(0, path.size() - ending.size());
            return is_file(prefix + ".idx") ? prefix : "";
        }
    }
    return is_file(path + ".idx") && !is_file(path) ? path : "";
}

bool is_token_path(const std::string& path) {
    struct stat status {};
    const bool is_folder = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    return !is_folder && (is_file(path) || !megatron_pair_of(path).empty() || is_called_so(path));
}

TokenFileHeader read_token_file_header(const std::string& path) {
    if (const auto prefix = megatron_pair_of(path); !prefix.empty()) {
        return megatron_head(prefix);
    }
    MappedFile file{path, path};
    if (auto head = llmc_head(file)) {
        return *std::move(head);
    }
    const auto probed = probe_content(file.content());
    if (probed.numbers) {
        return raw_head(std::move(file), *probed.numbers);
    }
    if (probed.is_certain) {
        throw Error{ErrorKind::deck, "'" + printable(path) + "' is not a token file (it is " + probed.what +
                                         "). " + probed.remedy};
    }
    if (is_called_so(path)) {
        throw Error{ErrorKind::deck, "'" + printable(path) + "' is not a token file (" + kind_of_llmc(file) +
                                         ", and no .idx is next to it). decks/DATA.md has the formats."};
    }
    TokenFileHeader head{.format = spec::TokenFormat::text, .paths = {file.path()}, .bytes = {file.bytes()}};
    add_tokens(head, std::move(file), TokenType::uint8);
    return head;
}

}  // namespace ziggurat::data
