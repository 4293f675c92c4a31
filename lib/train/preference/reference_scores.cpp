#include "train/preference/reference_scores.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>

namespace ziggurat::train {
namespace {

/// First bytes of the file, little-endian.
struct Header {
    char magic[8] = {'Z', 'G', 'R', 'E', 'F', 'L', 'O', 'G'};
    std::uint64_t key = 0;
    std::int64_t num_pairs = 0;
    std::uint64_t hash = 0;  ///< XXH3-64 of the scores
};
static_assert(sizeof(Header) == 32);

std::uint64_t hash_of(std::string_view bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

std::string ReferenceScores::to_file(std::uint64_t key) const {
    std::string scores(scores_.size() * sizeof(kernels::AnswerSums), '\0');
    std::memcpy(scores.data(), scores_.data(), scores.size());
    Header header;
    header.key = key;
    header.num_pairs = std::ssize(scores_);
    header.hash = hash_of(scores);
    std::string file(sizeof header, '\0');
    std::memcpy(file.data(), &header, sizeof header);
    file += scores;
    return file;
}

std::string ReferenceScores::take_file(std::string_view content, std::uint64_t key) {
    Header header;
    const Header expected;
    if (content.size() < sizeof header) {
        return "it is shorter than its header";
    }
    std::memcpy(&header, content.data(), sizeof header);
    const auto scores = content.substr(sizeof header);
    if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0) {
        return "its first bytes are not ZGREFLOG";
    }
    if (header.hash != hash_of(scores)) {
        return "it is damaged: its hash differs";
    }
    if (header.key != key || header.num_pairs != std::ssize(scores_) ||
        scores.size() != scores_.size() * sizeof(kernels::AnswerSums)) {
        return "it was made for other data, another reference or another precision";
    }
    std::memcpy(scores_.data(), scores.data(), scores.size());
    return {};
}

std::uint64_t reference_key(const spec::RunSpec& spec, std::span<const data::FileFingerprint> files) {
    const auto& objective = spec.train.objective;
    auto text = fmt::format(
        "{} {} {} | {} {} {} | {} {} {}", static_cast<int>(objective.reference), objective.reference_path,
        objective.is_reference_published, spec.model.init_path, spec.model.is_init_published, spec.run.seed,
        spec.data.seq, static_cast<int>(spec.data.long_samples), static_cast<int>(spec.precision.compute));
    for (const auto& file : files) {
        text += fmt::format(" | {} {} {:016x}", file.bytes, file.hashed_bytes, file.hash);
    }
    return hash_of(text);
}

}  // namespace ziggurat::train
