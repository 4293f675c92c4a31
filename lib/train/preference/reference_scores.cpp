#include "train/preference/reference_scores.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>

namespace ziggurat::train {
namespace {

/// First bytes of the file, little-endian.
struct Header {
    char magic[8] = {'Z', 'G', 'R', 'E', 'F', 'S', 'C', '2'};
    ReferenceKey key;
    std::int64_t num_pairs = 0;
    std::uint64_t hash = 0;  ///< XXH3-64 of the header with 0 here, seeded with that of the scores
};
static_assert(sizeof(Header) == 48);

/// First bytes of files whose key names the reference by its path.
constexpr std::string_view magic_of_paths{"ZGREFLOG", 8};

std::uint64_t hash_of(Header header, std::string_view scores) {
    header.hash = 0;
    return XXH3_64bits_withSeed(&header, sizeof header, XXH3_64bits(scores.data(), scores.size()));
}

/// Returns the reason if the content is not a whole file of this version; sets `header` otherwise.
std::string read_header(std::string_view content, Header& header) {
    const Header expected;
    if (content.starts_with(magic_of_paths)) {
        return "an earlier version of the program wrote it, and identified the reference by its path";
    }
    if (content.size() < sizeof header) {
        return "it is shorter than its header";
    }
    Header read;
    std::memcpy(&read, content.data(), sizeof read);
    if (std::memcmp(read.magic, expected.magic, sizeof read.magic) != 0) {
        return "its first bytes are not ZGREFSC2";
    }
    if (read.hash != hash_of(read, content.substr(sizeof read))) {
        return "it is damaged: its hash differs";
    }
    header = read;
    return {};
}

}  // namespace

std::string ReferenceScores::to_file(const ReferenceKey& key) const {
    std::string scores(scores_.size() * sizeof(kernels::AnswerSums), '\0');
    std::memcpy(scores.data(), scores_.data(), scores.size());
    Header header;
    header.key = key;
    header.num_pairs = std::ssize(scores_);
    header.hash = hash_of(header, scores);
    std::string file(sizeof header, '\0');
    std::memcpy(file.data(), &header, sizeof header);
    file += scores;
    return file;
}

std::string ReferenceScores::take_file(std::string_view content, const ReferenceKey& key) {
    Header header;
    if (const auto reason = read_header(content, header); !reason.empty()) {
        return reason;
    }
    const auto scores = content.substr(sizeof header);
    if (header.key.inputs != key.inputs || header.num_pairs != std::ssize(scores_) ||
        scores.size() != scores_.size() * sizeof(kernels::AnswerSums)) {
        return "it was made from other pairs, with other settings of the model, the sequences or the "
               "precision, or by another version of the computation";
    }
    if (header.key.weights != key.weights) {
        return fmt::format(
            "it belongs to other weights of the reference (their hash is {:016x}, now {:016x})",
            header.key.weights, key.weights);
    }
    std::memcpy(scores_.data(), scores.data(), scores.size());
    return {};
}

ReferenceKey key_of_file(std::string_view content) {
    Header header;
    return read_header(content, header).empty() ? header.key : ReferenceKey{};
}

}  // namespace ziggurat::train
