#include "data/megatron_source.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/file_kind.hpp"

namespace ziggurat::data {
namespace {

// Sequence lengths, then byte offsets, then documents.
constexpr std::int64_t arrays_at = megatron_header_bytes;

std::string prefix_of(std::string path) {
    for (const std::string_view ending : {".bin", ".idx"}) {
        if (path.ends_with(ending)) {
            path.resize(path.size() - ending.size());
            break;
        }
    }
    return path;
}

[[noreturn]] void refuse(const std::string& key, const std::string& path, const std::string& reason) {
    std::string message = key;
    message +=
        ": '" + path + "' is not a valid Megatron index (" + reason +
        "). Name the prefix of a .bin/.idx pair written by Megatron's preprocess_data.py, or set another "
        "format.";
    throw Error{ErrorKind::deck, message};
}

/// Rejects a file that is recognised as another kind.
void expect_unrecognised(const std::string& key, const MappedFile& file) {
    const std::string_view content{reinterpret_cast<const char*>(file.content().data()),
                                   file.content().size()};
    if (const auto found = recognise_file(content)) {
        std::string message = key;
        message +=
            ": '" + file.path() + "' is not a Megatron file (it is " + found->what + "). " + found->remedy;
        throw Error{ErrorKind::deck, message};
    }
}

}  // namespace

bool is_megatron_index(const MappedFile& file) {
    return file.bytes() >= megatron_header_bytes &&
           std::memcmp(file.content().data(), megatron_magic.data(), megatron_magic.size()) == 0;
}

std::optional<TokenType> megatron_type(int code) {
    switch (code) {
        case 1:
            return TokenType::uint8;
        case 2:
            return TokenType::int8;
        case 3:
            return TokenType::int16;
        case 4:
            return TokenType::int32;
        case 5:
            return TokenType::int64;
        case 8:
            return TokenType::uint16;
        default:
            return std::nullopt;
    }
}

MegatronSource::MegatronSource(const std::string& path, const std::string& key)
    : index_{prefix_of(path) + ".idx", key} {
    check_index(key);
    MappedFile bin{prefix_of(path) + ".bin", key};
    const std::int64_t itemsize = bytes_of(type_);
    std::int64_t end_bytes = 0;
    for (std::int64_t s = 0; s < num_sequences_; ++s) {
        const std::int64_t length = index_.load<std::int32_t>(arrays_at + 4 * s);
        const auto begin_bytes = index_.load<std::int64_t>(arrays_at + 4 * num_sequences_ + 8 * s);
        if (length < 0 || begin_bytes != end_bytes) {
            refuse(key, index_.path(),
                   "sequence " + std::to_string(s) + " of " + std::to_string(length) +
                       " tokens begins at byte " + std::to_string(begin_bytes) +
                       " of the .bin, but the one before it ends at byte " + std::to_string(end_bytes));
        }
        end_bytes += length * itemsize;
    }
    if (end_bytes != bin.bytes()) {
        expect_unrecognised(key, bin);
        refuse(key, index_.path(),
               "its sequences end at byte " + std::to_string(end_bytes) + ", but '" + bin.path() + "' has " +
                   std::to_string(bin.bytes()) + " bytes");
    }
    sequence_.append({std::move(bin), 0, end_bytes / itemsize, type_});
}

void MegatronSource::check_index(const std::string& key) {
    const auto& path = index_.path();
    if (!is_megatron_index(index_)) {
        expect_unrecognised(key, index_);
    }
    if (index_.bytes() < arrays_at) {
        refuse(key, path, std::to_string(index_.bytes()) + " bytes, shorter than its header of 34 bytes");
    }
    if (!is_megatron_index(index_)) {
        refuse(key, path, "it does not begin with 'MMIDIDX'");
    }
    if (const auto version = index_.load<std::uint64_t>(9); version != megatron_version) {
        refuse(key, path, "version " + std::to_string(version) + ", not 1");
    }
    const int code = index_.load<std::uint8_t>(17);
    const auto type = megatron_type(code);
    if (!type) {
        refuse(key, path, "its token type code is " + std::to_string(code) + ", not 1 to 5 or 8 (integers)");
    }
    type_ = *type;
    const auto sequences = index_.load<std::uint64_t>(18);
    const auto entries = index_.load<std::uint64_t>(26);
    const auto bytes = static_cast<std::uint64_t>(index_.bytes());
    const bool fits = sequences <= bytes / 12 && entries <= bytes / 8;
    const std::uint64_t expected = fits ? 34 + 12 * sequences + 8 * entries : 0;
    // Multimodal data sets append one byte per sequence.
    if (!fits || (bytes != expected && bytes != expected + sequences)) {
        refuse(key, path,
               "its header counts " + std::to_string(sequences) + " sequences and " +
                   std::to_string(entries) + " document entries, which does not fit its " +
                   std::to_string(bytes) + " bytes");
    }
    num_sequences_ = static_cast<std::int64_t>(sequences);
    num_document_entries_ = static_cast<std::int64_t>(entries);
    const std::int64_t documents_at = arrays_at + 12 * num_sequences_;
    std::int64_t before = 0;
    for (std::int64_t d = 0; d < num_document_entries_; ++d) {
        const auto first = index_.load<std::int64_t>(documents_at + 8 * d);
        if (first < before || first > num_sequences_ || (d == 0 && first != 0)) {
            refuse(key, path,
                   "document " + std::to_string(d) + " begins at sequence " + std::to_string(first) + " of " +
                       std::to_string(num_sequences_) + ", out of order");
        }
        before = first;
    }
    if (num_document_entries_ == 0 || before != num_sequences_) {
        refuse(key, path, "its documents do not end with its last sequence");
    }
}

std::vector<SourceFile> MegatronSource::files() const {
    std::vector<SourceFile> files = FileSource::files();
    files.push_back({&index_, true});
    return files;
}

std::int64_t MegatronSource::document_begin(std::int64_t document) const {
    ZG_EXPECTS(document >= 0 && document < num_document_entries_);
    const auto sequence = index_.load<std::int64_t>(arrays_at + 12 * num_sequences_ + 8 * document);
    return sequence == num_sequences_
               ? num_tokens()
               : index_.load<std::int64_t>(arrays_at + 4 * num_sequences_ + 8 * sequence) / bytes_of(type_);
}

void MegatronSource::mark_document_starts(std::int64_t begin, std::span<std::uint8_t> starts) const {
    std::fill(starts.begin(), starts.end(), std::uint8_t{0});
    std::int64_t low = 0;
    std::int64_t high = num_documents();
    while (low < high) {  // finds the first document that begins at `begin` or later
        const std::int64_t middle = low + (high - low) / 2;
        if (document_begin(middle) < begin) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < num_documents(); ++low) {
        const std::int64_t at = document_begin(low) - begin;
        if (at >= std::ssize(starts)) {
            return;
        }
        starts[at] = 1;
    }
}

}  // namespace ziggurat::data
