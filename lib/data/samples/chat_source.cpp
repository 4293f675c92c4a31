#include "data/samples/chat_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::data {
namespace {

/// Number of tokens that are read at once if only their ids or only their flags are needed.
constexpr std::int64_t read_at_once = 256;

/// Returns the sample of a file that has the token.
std::int64_t sample_of(const SampleFile& file, std::int64_t token) {
    std::int64_t low = 0;
    std::int64_t high = file.num_samples();
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (file.begin_of(middle) <= token ? low : high) = middle;
    }
    return low;
}

/// Calls `visit(position)` for the first tokens of samples in [begin, begin + length) of a file.
template <class Visitor>
void for_each_begin(const SampleFile& file, std::int64_t begin, std::int64_t length, const Visitor& visit) {
    std::int64_t sample = sample_of(file, begin);
    sample += file.begin_of(sample) < begin ? 1 : 0;
    for (; sample < file.num_samples() && file.begin_of(sample) < begin + length; ++sample) {
        visit(file.begin_of(sample) - begin);
    }
}

std::vector<SampleFile> opened(const std::vector<std::string>& paths, const std::string& key) {
    std::vector<SampleFile> files;
    for (const auto& path : paths) {
        files.emplace_back(path, key);
    }
    return files;
}

}  // namespace

ChatSource::ChatSource(const std::vector<std::string>& paths, const std::string& key)
    : ChatSource{opened(paths, key), key} {}

ChatSource::ChatSource(std::vector<SampleFile> files, const std::string& key) {
    ZG_EXPECTS(!files.empty());
    for (auto& file : files) {
        const auto path = file.file().path();
        const std::int64_t begin = files_.empty() ? 0 : files_.back().end;
        const std::int64_t samples_begin = files_.empty() ? 0 : files_.back().samples_end;
        const std::int64_t end = begin + file.num_tokens();
        const std::int64_t samples_end = samples_begin + file.num_samples();
        files_.push_back({std::move(file), begin, end, samples_begin, samples_end});
        if (files_.back().file.header().tokenizer_hash != files_.front().file.header().tokenizer_hash) {
            throw Error{
                ErrorKind::deck,
                fmt::format(
                    "{}: '{}' and '{}' hold token ids of different tokenizers (by the hashes in their "
                    "headers). Make both with the same tokenizer: 'ziggurat tokenize RECORDS --chat'.",
                    key, printable(files_.front().file.file().path()), printable(path))};
        }
        if (files_.back().file.header().has_pairs() != has_pairs()) {
            const auto kind = [](bool pairs) { return pairs ? "pairs of answers" : "conversations"; };
            throw Error{ErrorKind::deck,
                        fmt::format("{}: '{}' holds {}, and '{}' holds {}. Name files of one kind.", key,
                                    printable(files_.front().file.file().path()), kind(has_pairs()),
                                    printable(path), kind(!has_pairs()))};
        }
    }
}

template <class Visitor>
void ChatSource::for_each_part(std::int64_t begin, std::int64_t length, const Visitor& visit) const {
    ZG_EXPECTS(begin >= 0 && begin + length <= num_tokens());
    auto part = std::ranges::upper_bound(files_, begin, {}, &Part::end);
    for (std::int64_t done = 0; done < length; ++part) {
        const std::int64_t count = std::min(length - done, part->end - (begin + done));
        visit(*part, begin + done - part->begin, done, count);
        done += count;
    }
}

void ChatSource::read(std::int64_t begin, std::span<std::int32_t> out) const {
    std::array<std::uint8_t, read_at_once> unused;
    for_each_part(begin, std::ssize(out),
                  [&](const Part& part, std::int64_t from, std::int64_t at, std::int64_t length) {
                      for (std::int64_t done = 0; done < length; done += read_at_once) {
                          const auto count = std::min(read_at_once, length - done);
                          part.file.read(from + done, out.subspan(at + done, count),
                                         std::span{unused}.first(count));
                      }
                  });
}

void ChatSource::mark_document_starts(std::int64_t begin, std::span<std::uint8_t> starts) const {
    std::ranges::fill(starts, std::uint8_t{0});
    for_each_part(begin, std::ssize(starts),
                  [&](const Part& part, std::int64_t from, std::int64_t at, std::int64_t length) {
                      for_each_begin(part.file, from, length,
                                     [&](std::int64_t position) { starts[at + position] = 1; });
                  });
}

void ChatSource::mark_counted(std::int64_t begin, std::span<std::uint8_t> counts) const {
    std::array<std::int32_t, read_at_once> unused;
    for_each_part(begin, std::ssize(counts),
                  [&](const Part& part, std::int64_t from, std::int64_t at, std::int64_t length) {
                      for (std::int64_t done = 0; done < length; done += read_at_once) {
                          const auto count = std::min(read_at_once, length - done);
                          part.file.read(from + done, std::span{unused}.first(count),
                                         counts.subspan(at + done, count));
                      }
                      for_each_begin(part.file, from, length,
                                     [&](std::int64_t position) { counts[at + position] = 0; });
                  });
}

std::int64_t ChatSource::begin_of(std::int64_t sample) const {
    ZG_EXPECTS(sample >= 0 && sample <= num_samples());
    if (sample == num_samples()) {
        return num_tokens();
    }
    const auto part = std::ranges::upper_bound(files_, sample, {}, &Part::samples_end);
    return part->begin + part->file.begin_of(sample - part->samples_begin);
}

bool ChatSource::has_counted(std::int64_t sample, std::int64_t length) const {
    ZG_EXPECTS(sample >= 0 && sample < num_samples());
    const auto part = std::ranges::upper_bound(files_, sample, {}, &Part::samples_end);
    const auto begin = part->file.begin_of(sample - part->samples_begin);
    return length > 1 && part->file.has_flags(begin + 1, begin + length);
}

std::int64_t ChatSource::num_counted(std::int64_t sample, std::int64_t length) const {
    ZG_EXPECTS(sample >= 0 && sample < num_samples());
    const auto part = std::ranges::upper_bound(files_, sample, {}, &Part::samples_end);
    const auto begin = part->file.begin_of(sample - part->samples_begin);
    return length > 1 ? part->file.count_flags(begin + 1, begin + length) : 0;
}

double ChatSource::counted_share() const {
    double counted = 0;
    for (const auto& part : files_) {
        counted += static_cast<double>(part.file.header().num_counted);
    }
    return counted / static_cast<double>(num_tokens());
}

std::string ChatSource::location_of(std::int64_t token) const {
    ZG_EXPECTS(token >= 0 && token < num_tokens());
    const auto part = std::ranges::upper_bound(files_, token, {}, &Part::end);
    const auto sample = sample_of(part->file, token - part->begin);
    return fmt::format("token {} of sample {} of '{}'", token - part->begin - part->file.begin_of(sample),
                       sample, printable(part->file.file().path()));
}

std::vector<SourceFile> ChatSource::files() const {
    std::vector<SourceFile> files;
    for (const auto& part : files_) {
        const bool has_seal = part.file.seal().has_value();
        files.push_back({.file = &part.file.file(),
                         .seal_bytes = has_seal ? static_cast<std::int64_t>(sizeof(SampleSeal)) : 0});
    }
    return files;
}

}  // namespace ziggurat::data
