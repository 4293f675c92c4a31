#include "data/samples/sample_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::data {
namespace {

constexpr std::int64_t header_bytes = sizeof(SampleFileHeader);
constexpr std::int64_t seal_bytes = sizeof(SampleSeal);
constexpr std::int64_t token_bytes = sizeof(std::uint32_t);
constexpr std::int64_t begin_bytes = sizeof(std::int64_t);

/// Returns true if the sizes in the header are those of a file of `bytes` bytes, without its seal.
bool has_size_of(const SampleFileHeader& header, std::int64_t bytes) {
    const std::int64_t rest = bytes - header_bytes - begin_bytes;
    return header.num_samples >= 1 && header.num_tokens >= 1 && header.num_samples <= rest / begin_bytes &&
           header.num_tokens <= rest / token_bytes &&
           header.num_samples * begin_bytes + header.num_tokens * token_bytes == rest;
}

bool is_known(std::int32_t version) {
    return version == SampleFileHeader::conversations_version || version == SampleFileHeader::pairs_version;
}

}  // namespace

bool is_sample_file(std::span<const std::byte> content) {
    const auto& magic = SampleFileHeader::magic_bytes;
    return content.size() >= magic.size() && std::memcmp(content.data(), magic.data(), magic.size()) == 0;
}

void SampleBodyHash::Deleter::operator()(XXH3_state_s* state) const noexcept {
    XXH3_freeState(state);
}

SampleBodyHash::SampleBodyHash() : state_{XXH3_createState()} {
    XXH3_64bits_reset(state_.get());
}

void SampleBodyHash::add(std::string_view bytes) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

SampleSeal SampleBodyHash::seal(const SampleFileHeader& header, std::uint64_t key) const {
    std::array<std::byte, sizeof header + sizeof key> ends;
    std::memcpy(ends.data(), &header, sizeof header);
    std::memcpy(ends.data() + sizeof header, &key, sizeof key);
    return {key, XXH3_64bits_withSeed(ends.data(), ends.size(), XXH3_64bits_digest(state_.get()))};
}

SampleFile::SampleFile(MappedFile file, const std::string& key) : file_{std::move(file)} {
    if (!is_sample_file(file_.content())) {
        reject(key, "its first bytes are not ZGSAMPLE");
    }
    if (file_.bytes() < header_bytes) {
        reject(key, fmt::format("{} bytes, shorter than the header", file_.bytes()));
    }
    header_ = file_.load<SampleFileHeader>(0);
    expect_header(key);
    expect_begins(key);
}

void SampleFile::reject(const std::string& key, const std::string& reason) const {
    throw Error{ErrorKind::deck,
                fmt::format("{}: '{}' is not a valid sample file ({}). Make it again with 'ziggurat tokenize "
                            "RECORDS --chat --tokenizer PATH --out NAME'.",
                            key, printable(file_.path()), reason)};
}

void SampleFile::expect_header(const std::string& key) const {
    if (!is_known(header_.version)) {
        reject(key, fmt::format("version {}, this program reads {} and {}", header_.version,
                                SampleFileHeader::conversations_version, SampleFileHeader::pairs_version));
    }
    if (!has_size_of(header_, file_.bytes()) && !has_size_of(header_, file_.bytes() - seal_bytes)) {
        reject(key,
               fmt::format("its header counts {} samples and {} tokens, which does not match its {} bytes",
                           header_.num_samples, header_.num_tokens, file_.bytes()));
    }
    if (header_.has_pairs() && num_samples() % 2 != 0) {
        reject(key,
               fmt::format("its header counts {} samples, but pairs have an even number", num_samples()));
    }
    if (std::string_view{spec::word_of(static_cast<spec::LossOn>(header_.loss_on))}.empty()) {
        reject(key,
               fmt::format("byte 12, the tokens that count in the loss: {}, this program reads 0, 1 and 2",
                           header_.loss_on));
    }
    if (header_.num_counted < 0 || header_.num_counted > header_.num_tokens) {
        reject(key, fmt::format("byte 32, the number of tokens whose flag is set: {} of {} tokens",
                                header_.num_counted, header_.num_tokens));
    }
}

void SampleFile::expect_begins(const std::string& key) const {
    std::int64_t before = 0;
    for (std::int64_t sample = 0; sample <= num_samples(); ++sample) {
        const std::int64_t begin = begin_of(sample);
        // Both numbers are in [0, num_tokens()] before they are subtracted.
        const bool is_inside = begin >= 0 && begin <= num_tokens();
        const bool is_valid = is_inside && (sample == 0 ? begin == 0 : begin - before >= 2) &&
                              (sample == num_samples()) == (begin == num_tokens());
        if (!is_valid) {
            reject(key, fmt::format("sample {} begins at token {}", sample, begin));
        }
        before = begin;
    }
}

std::optional<SampleSeal> SampleFile::seal() const {
    if (has_size_of(header_, file_.bytes())) {
        return std::nullopt;
    }
    return file_.load<SampleSeal>(file_.bytes() - seal_bytes);
}

SampleSeal SampleFile::computed_seal(std::uint64_t key, const StopCheck& stop) const {
    constexpr std::size_t bytes_between_checks = std::size_t{16} << 20;
    const auto body =
        file_.content().subspan(header_bytes, num_tokens() * token_bytes + (num_samples() + 1) * begin_bytes);
    SampleBodyHash hash;
    for (std::size_t at = 0; at < body.size(); at += bytes_between_checks) {
        check(stop);
        const auto part = body.subspan(at, std::min(bytes_between_checks, body.size() - at));
        hash.add({reinterpret_cast<const char*>(part.data()), part.size()});
    }
    return hash.seal(header_, key);
}

std::int64_t SampleFile::begin_of(std::int64_t sample) const {
    ZG_EXPECTS(sample >= 0 && sample <= num_samples());
    return file_.load<std::int64_t>(header_bytes + num_tokens() * token_bytes + sample * begin_bytes);
}

void SampleFile::read(std::int64_t begin, std::span<std::int32_t> ids, std::span<std::uint8_t> counts) const {
    ZG_EXPECTS(begin >= 0 && begin + std::ssize(ids) <= num_tokens() && counts.size() == ids.size());
    const std::byte* from = file_.content().data() + header_bytes + begin * token_bytes;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        std::uint32_t token = 0;
        std::memcpy(&token, from + i * token_bytes, sizeof token);
        ids[i] = static_cast<std::int32_t>(token & ~counts_bit);
        counts[i] = static_cast<std::uint8_t>(token >> 31);
    }
}

std::span<const std::uint32_t> SampleFile::stored(std::int64_t begin, std::int64_t end) const {
    ZG_EXPECTS(begin >= 0 && begin <= end && end <= num_tokens());
    static_assert(header_bytes % alignof(std::uint32_t) == 0, "a mapping begins at a page");
    return {reinterpret_cast<const std::uint32_t*>(file_.content().data() + header_bytes) + begin,
            static_cast<std::size_t>(end - begin)};
}

std::int64_t SampleFile::count_flags(std::int64_t begin, std::int64_t end) const {
    std::int64_t count = 0;
    for (const std::uint32_t token : stored(begin, end)) {
        count += token >> 31;
    }
    return count;
}

bool SampleFile::has_flags(std::int64_t begin, std::int64_t end) const {
    const auto tokens = stored(begin, end);
    return std::any_of(tokens.rbegin(), tokens.rend(),
                       [](std::uint32_t token) { return (token & counts_bit) != 0; });
}

}  // namespace ziggurat::data
