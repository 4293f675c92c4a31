#include "data/encoded_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"

namespace ziggurat::data {

EncodedText::EncodedText(const std::string& pattern,
                         const TextTokenizer& tokenizer,
                         spec::AddBos add_bos,
                         const std::string& key) {
    const auto begin_token = added_begin_token(tokenizer, add_bos);
    const auto encoder = tokenizer.make_encoder();
    for (const auto& path : expand_paths(pattern, key)) {
        const MappedFile& file = files_.emplace_back(path, key);
        if (const auto document_token = tokenizer.document_token()) {
            tokens_.push_back(*document_token);
        }
        if (begin_token) {
            tokens_.push_back(*begin_token);
        }
        try {
            encoder->encode({reinterpret_cast<const char*>(file.content().data()), file.content().size()},
                            tokens_);
        } catch (const Error& error) {
            throw Error{error.kind(), fmt::format("{}: '{}': {}", key, printable(path), error.what())};
        }
        ends_.push_back(std::ssize(tokens_));
    }
}

void EncodedText::read(std::int64_t begin, std::span<std::int32_t> out) const {
    ZG_EXPECTS(begin >= 0 && begin + std::ssize(out) <= num_tokens());
    std::copy_n(tokens_.begin() + begin, out.size(), out.begin());
}

std::string EncodedText::place_of(std::int64_t token) const {
    const auto file = std::ranges::upper_bound(ends_, token) - ends_.begin();
    const auto first = file == 0 ? 0 : ends_[static_cast<std::size_t>(file) - 1];
    return fmt::format("'{}', token {}", printable(files_[static_cast<std::size_t>(file)].path()),
                       token - first);
}

std::vector<SourceFile> EncodedText::files() const {
    std::vector<SourceFile> files;
    for (const auto& file : files_) {
        files.push_back({&file});
    }
    return files;
}

}  // namespace ziggurat::data
