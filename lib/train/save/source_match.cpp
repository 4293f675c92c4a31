#include "train/save/source_match.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ziggurat::train {
namespace {

using Present = SourceMatch::Present;

/// Pairs unpaired sources for which `are_identical` is true; those with the same index first.
template <class AreIdentical>
void pair(std::span<const KnownSource> before,
          std::span<const KnownSource> now,
          std::vector<Present>& pairs,
          std::vector<bool>& is_taken,
          bool is_same,
          const AreIdentical& are_identical) {
    const auto take = [&](std::size_t n, std::size_t b) {
        if (pairs[n].before == SourceMatch::none && !is_taken[b] && are_identical(before[b], now[n])) {
            pairs[n] = {static_cast<int>(b), is_same};
            is_taken[b] = true;
        }
    };
    for (std::size_t n = 0; n < std::min(now.size(), before.size()); ++n) {
        take(n, n);
    }
    for (std::size_t n = 0; n < now.size(); ++n) {
        for (std::size_t b = 0; b < before.size(); ++b) {
            take(n, b);
        }
    }
}

}  // namespace

std::int64_t KnownSource::bytes() const {
    std::int64_t bytes = 0;
    for (const auto& file : files) {
        bytes += file.bytes;
    }
    return bytes;
}

bool KnownSource::is_same_as(const KnownSource& other) const {
    const bool is_known = tokens >= 0 && other.tokens >= 0;
    return (!is_known || tokens == other.tokens) &&
           std::ranges::equal(files, other.files,
                              [](const data::FileFingerprint& mine, const data::FileFingerprint& others) {
                                  return mine.is_of_same_bytes(others);
                              });
}

std::vector<KnownSource> training_sources(std::span<const data::FileFingerprint> files,
                                          const data::DataOrderState& order) {
    std::vector<KnownSource> sources;
    const auto add = [&] { sources.push_back({.key = fmt::format("data.train[{}].path", sources.size())}); };
    for (const auto& source : order.sources) {
        add();
        // Sequences of packed sources depend on the deck, so their files alone identify them.
        sources.back().tokens = source.is_packed ? -1 : source.tokens;
    }
    for (const auto& file : files) {
        if (!file.key.starts_with("data.train[")) {
            continue;
        }
        const auto at = std::ranges::find(sources, file.key, &KnownSource::key);
        if (at != sources.end()) {
            at->files.push_back(file);
        } else if (!order.is_known()) {
            add();
            sources.back().key = file.key;
            sources.back().files.push_back(file);
        }
    }
    return sources;
}

bool SourceMatch::has_replaced() const {
    return std::ranges::any_of(sources, [](const Present& s) { return s.before != none && !s.is_same; });
}

bool SourceMatch::has_moved() const {
    int last = none;
    for (const auto& source : sources) {
        if (source.before != none && source.before < last) {
            return true;
        }
        last = std::max(last, source.before);
    }
    return false;
}

bool SourceMatch::has_new() const {
    return std::ranges::any_of(sources, [](const Present& s) { return s.before == none; });
}

SourceMatch match_sources(std::span<const KnownSource> before, std::span<const KnownSource> now) {
    SourceMatch match;
    match.sources.resize(now.size());
    std::vector<bool> is_taken(before.size(), false);
    pair(before, now, match.sources, is_taken, true,
         [](const KnownSource& b, const KnownSource& n) { return n.is_same_as(b); });
    pair(before, now, match.sources, is_taken, false,
         [](const KnownSource& b, const KnownSource& n) { return n.key == b.key && n.name() == b.name(); });
    pair(before, now, match.sources, is_taken, false,
         [](const KnownSource&, const KnownSource&) { return true; });
    for (std::size_t b = 0; b < before.size(); ++b) {
        if (!is_taken[b]) {
            match.gone.push_back(static_cast<int>(b));
        }
    }
    return match;
}

}  // namespace ziggurat::train
