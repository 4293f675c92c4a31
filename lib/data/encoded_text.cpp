#include "data/encoded_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/printable.hpp"
#include "data/tokenize/document_reader.hpp"
#include "data/tokenize/encode_pool.hpp"

namespace ziggurat::data {
namespace {

/// Appends the tokens of a batch, which are packed as uint32.
void append(const EncodedBatch& batch, std::vector<std::int32_t>& tokens) {
    const auto count = batch.packed.size() / sizeof(std::uint32_t);
    const auto before = tokens.size();
    tokens.resize(before + count);
    if (count > 0) {
        std::memcpy(tokens.data() + before, batch.packed.data(), count * sizeof(std::uint32_t));
    }
}

/// True if the file has JSON lines or is compressed.
bool is_text_inside(const std::string& path, const MappedFile& file) {
    const std::string_view text{reinterpret_cast<const char*>(file.content().data()), file.content().size()};
    const auto found = recognise_file(text);
    return found ? found->kind == FileKind::gzip || found->kind == FileKind::zstd
                 : are_json_lines(path, text);
}

}  // namespace

EncodedText::EncodedText(const std::string& pattern,
                         const TextTokenizer& tokenizer,
                         spec::AddBos add_bos,
                         const std::string& key,
                         const StopCheck& stop) {
    DocumentEncoder encoder{tokenizer,
                            added_begin_token(tokenizer, add_bos),
                            {.format = spec::TokenFormat::llmc, .type = TokenType::uint32},
                            {}};
    for (const auto& path : expand_paths(pattern, key)) {
        files_.emplace_back(path, key);
        try {
            const auto kind = is_text_inside(path, files_.back()) ? InputKind::by_content : InputKind::text;
            const auto inputs = text_inputs({path}, kind, stop);
            DocumentReader reader{inputs, {}};
            while (const auto batch = reader.next()) {
                check(stop);
                append(encoder.encode(*batch), tokens_);
            }
        } catch (const Error& error) {
            throw Error{error.kind(), fmt::format("{}: {}", key, error.what())};
        }
        ends_.push_back(std::ssize(tokens_));
    }
}

void EncodedText::read(std::int64_t begin, std::span<std::int32_t> out) const {
    ZG_EXPECTS(begin >= 0 && begin + std::ssize(out) <= num_tokens());
    std::copy_n(tokens_.begin() + begin, out.size(), out.begin());
}

std::string EncodedText::location_of(std::int64_t token) const {
    const auto file = std::ranges::upper_bound(ends_, token) - ends_.begin();
    const auto first = file == 0 ? 0 : ends_[file - 1];
    return fmt::format("'{}', token {}", printable(files_[file].path()), token - first);
}

std::vector<SourceFile> EncodedText::files() const {
    std::vector<SourceFile> files;
    for (const auto& file : files_) {
        files.push_back({&file});
    }
    return files;
}

bool is_text_inside(const std::string& pattern, const std::string& key) {
    return std::ranges::any_of(expand_paths(pattern, key), [&](const std::string& path) {
        return is_text_inside(path, MappedFile{path, key});
    });
}

}  // namespace ziggurat::data
