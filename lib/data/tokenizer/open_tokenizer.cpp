#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {

namespace fs = std::filesystem;

bool is_sentencepiece(const std::string& path) {
    std::error_code problem;
    return fs::is_directory(path, problem) ? !fs::exists(fs::path{path} / "tokenizer.json", problem) &&
                                                 fs::exists(fs::path{path} / "tokenizer.model", problem)
                                           : path.ends_with(".model");
}

std::unique_ptr<const TextTokenizer> open_tokenizer(const std::string& path) {
    return is_sentencepiece(path) ? open_sentencepiece_tokenizer(path) : open_hf_tokenizer(path);
}

std::unique_ptr<const TextTokenizer> open_tokenizer(const spec::Tokenizer& tokenizer) {
    if (!tokenizer.has_file()) {
        return tokenizer.kind == spec::TokenizerKind::bytes ? make_byte_tokenizer() : nullptr;
    }
    auto opened = tokenizer.kind == spec::TokenizerKind::hf ? open_hf_tokenizer(tokenizer.path)
                                                            : open_sentencepiece_tokenizer(tokenizer.path);
    if (const auto hash = hash_text(*opened); !tokenizer.hash.empty() && tokenizer.hash != hash) {
        throw Error{
            ErrorKind::deck,
            fmt::format("'{}' is not the tokenizer of the run (its hash is {}, not {}), so its ids stand for "
                        "other text. Name the file that the run started with.",
                        printable(tokenizer.path), hash, printable(tokenizer.hash))};
    }
    return opened;
}

std::optional<std::int32_t> added_begin_token(const TextTokenizer& tokenizer, spec::AddBos add_bos) {
    switch (add_bos) {
        case spec::AddBos::no:
            return std::nullopt;
        case spec::AddBos::as_tokenizer_says:
            return tokenizer.adds_begin_token() ? tokenizer.begin_token() : std::nullopt;
        case spec::AddBos::yes:
            break;
    }
    if (!tokenizer.begin_token()) {
        throw Error{ErrorKind::deck,
                    "no begin-of-text token can be added (the tokenizer has no bos_token). Use "
                    "data.add_bos: false."};
    }
    return tokenizer.begin_token();
}

void encode_whole_text(const TextTokenizer& tokenizer,
                       spec::AddBos add_bos,
                       std::string_view text,
                       std::vector<std::int32_t>& ids) {
    if (const auto begin = added_begin_token(tokenizer, add_bos)) {
        ids.push_back(*begin);
    }
    tokenizer.encode(text, ids);
}

std::string hash_text(std::uint64_t hash) {
    return fmt::format("xxh3:{:016x}", hash);
}

std::string hash_text(const TextTokenizer& tokenizer) {
    return hash_text(tokenizer.hash());
}

std::string decoded_after(const TextTokenizer& tokenizer,
                          std::span<const std::int32_t> before,
                          std::span<const std::int32_t> ids) {
    std::vector<std::int32_t> all{before.begin(), before.end()};
    std::string known;
    tokenizer.decode(all, known);
    all.insert(all.end(), ids.begin(), ids.end());
    std::string text;
    tokenizer.decode(all, text);
    return text.starts_with(known) ? text.substr(known.size()) : text;
}

}  // namespace ziggurat::data
