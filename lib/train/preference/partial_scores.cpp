#include "train/preference/partial_scores.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "storage/directory.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::train {
namespace {

constexpr double seconds_between_flushes = 5;

/// First bytes of the file, little-endian.
struct PartialHeader {
    char magic[8] = {'Z', 'G', 'R', 'E', 'F', 'P', 'R', 'T'};
    std::uint64_t key = 0;
    std::int64_t num_pairs = 0;
    std::uint64_t hash = 0;  ///< XXH3-64 of the bytes before
};
static_assert(sizeof(PartialHeader) == 32);

struct ScoredPair {
    std::int64_t pair = 0;
    kernels::AnswerSums score;
};
static_assert(sizeof(ScoredPair) == 24);

std::uint64_t xxh3_of(std::string_view bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

template <class Value>
void append(std::string& bytes, const Value& value) {
    const auto begin = bytes.size();
    bytes.resize(begin + sizeof value);
    std::memcpy(bytes.data() + begin, &value, sizeof value);
}

/// Removes a value from the beginning of `bytes`. Returns false if it is not complete.
template <class Value>
bool take(std::string_view& bytes, Value& value) {
    if (bytes.size() < sizeof value) {
        return false;
    }
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
    return true;
}

/// Removes a record from the beginning of `bytes`. Returns false if it is incomplete or damaged.
bool take_record(std::string_view& bytes, ReferenceScores& scores) {
    const auto record = bytes;
    const auto num_pairs = scores.all().size();
    std::int64_t count = 0;
    if (!take(bytes, count) || count < 0 ||
        static_cast<std::size_t>(count) > bytes.size() / sizeof(ScoredPair)) {
        return false;
    }
    const auto entries = bytes.substr(0, count * sizeof(ScoredPair));
    bytes.remove_prefix(entries.size());
    std::uint64_t hash = 0;
    if (!take(bytes, hash) || hash != xxh3_of(record.substr(0, sizeof count + entries.size()))) {
        return false;
    }
    auto left = entries;
    for (ScoredPair entry; take(left, entry);) {
        if (entry.pair < 0 || static_cast<std::size_t>(entry.pair) >= num_pairs) {
            return false;
        }
    }
    left = entries;
    for (ScoredPair entry; take(left, entry);) {
        scores.set(entry.pair, entry.score);
    }
    return true;
}

}  // namespace

std::string partial_scores_header(std::uint64_t key, std::int64_t num_pairs) {
    PartialHeader header;
    header.key = key;
    header.num_pairs = num_pairs;
    std::string bytes;
    append(bytes, header);
    header.hash = xxh3_of(std::string_view{bytes}.substr(0, offsetof(PartialHeader, hash)));
    bytes.clear();
    append(bytes, header);
    return bytes;
}

std::string partial_scores_record(std::span<const std::int64_t> pairs, const ReferenceScores& scores) {
    std::string bytes;
    append(bytes, std::int64_t{std::ssize(pairs)});
    for (const auto pair : pairs) {
        append(bytes, ScoredPair{pair, scores.all()[pair]});
    }
    append(bytes, xxh3_of(bytes));
    return bytes;
}

std::int64_t take_partial_scores(std::string_view content, std::uint64_t key, ReferenceScores& scores) {
    const auto header = partial_scores_header(key, std::ssize(scores.all()));
    if (!content.starts_with(header)) {
        return 0;
    }
    auto left = content.substr(header.size());
    auto valid = header.size();
    while (!left.empty() && take_record(left, scores)) {
        valid = content.size() - left.size();
    }
    return static_cast<std::int64_t>(valid);
}

PartialScores::PartialScores(std::string path,
                             std::int64_t valid_bytes,
                             std::uint64_t key,
                             std::int64_t num_pairs)
    : path_{std::move(path)}, file_{open_for_writing(path_, OpenMode::append)}, flushed_ns_{monotonic_ns()} {
    if (::ftruncate(file_.get(), valid_bytes) != 0) {
        storage::throw_io_error("truncate", path_, errno);
    }
    if (valid_bytes == 0) {
        write(partial_scores_header(key, num_pairs));
    }
}

void PartialScores::add(std::span<const std::int64_t> pairs, const ReferenceScores& scores) {
    if (pairs.empty()) {
        return;
    }
    write(partial_scores_record(pairs, scores));
    if (seconds_between(flushed_ns_, monotonic_ns()) > seconds_between_flushes) {
        flush();
    }
}

void PartialScores::flush() {
    storage::flush_file(file_.get(), path_);
    flushed_ns_ = monotonic_ns();
}

void PartialScores::write(std::string_view bytes) {
    if (const int failure = write_all(file_.get(), bytes); failure != 0) {
        storage::throw_io_error("write", path_, failure);
    }
}

}  // namespace ziggurat::train
