#include "data/pack/packing.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/contract.hpp"

namespace ziggurat::data {
namespace {

/// Sequences that are being filled, by the number of tokens that they have room for.
class OpenSequences {
  public:
    /// Returns the sequence with the smallest room for `length` tokens, and removes it; -1 if all are too
    /// full.
    std::int64_t take(std::int64_t length, std::int64_t& room) {
        const auto best = by_room_.lower_bound(length);
        if (best == by_room_.end()) {
            return -1;
        }
        room = best->first;
        auto& sequences = best->second;
        const std::int64_t sequence = sequences.back();
        sequences.pop_back();
        if (sequences.empty()) {
            by_room_.erase(best);
        }
        return sequence;
    }

    void put(std::int64_t sequence, std::int64_t room) { by_room_[room].push_back(sequence); }

  private:
    std::map<std::int64_t, std::vector<std::int64_t>> by_room_;  // none is empty
};

/// Returns the sequence of each of `samples`, which are sorted by decreasing length.
std::vector<std::int64_t> best_fit(std::span<const std::int64_t> samples,
                                   std::span<const std::int64_t> lengths,
                                   std::int64_t seq) {
    OpenSequences open;
    std::vector<std::int64_t> sequence_of(lengths.size(), -1);
    std::int64_t num_sequences = 0;
    for (const std::int64_t sample : samples) {
        const std::int64_t length = std::min(lengths[sample], seq);
        std::int64_t room = seq;
        std::int64_t sequence = open.take(length, room);
        sequence = sequence < 0 ? num_sequences++ : sequence;
        sequence_of[sample] = sequence;
        open.put(sequence, room - length);
    }
    return sequence_of;
}

}  // namespace

PackedSamples pack(std::span<const std::int64_t> lengths,
                   std::int64_t seq,
                   spec::SamplePacking packing,
                   spec::LongSamples rule) {
    ZG_EXPECTS(seq >= 1 && packing != spec::SamplePacking::wrapped);
    PackedSamples packed;
    std::vector<std::int64_t> samples;
    for (std::int64_t sample = 0; sample < std::ssize(lengths); ++sample) {
        const bool is_long = lengths[sample] > seq;
        ZG_EXPECTS(!is_long || rule != spec::LongSamples::refuse);
        if (is_long && rule == spec::LongSamples::drop) {
            ++packed.num_dropped;
        } else {
            packed.num_cut += is_long ? 1 : 0;
            samples.push_back(sample);
        }
    }
    if (packing == spec::SamplePacking::none) {
        packed.begins.resize(samples.size() + 1);
        std::iota(packed.begins.begin(), packed.begins.end(), std::int64_t{0});
        packed.samples = std::move(samples);
        return packed;
    }
    auto by_length = samples;
    std::ranges::stable_sort(by_length, std::greater{},
                             [&](std::int64_t sample) { return std::min(lengths[sample], seq); });
    const auto sequence_of = best_fit(by_length, lengths, seq);
    // Sequences get their final numbers in the order of their first samples.
    std::vector<std::int64_t> number_of(samples.size(), -1);
    std::vector<std::int64_t> sizes;
    for (const std::int64_t sample : samples) {
        auto& number = number_of[sequence_of[sample]];
        if (number < 0) {
            number = std::ssize(sizes);
            sizes.push_back(0);
        }
        ++sizes[number];
    }
    packed.begins.resize(sizes.size() + 1);
    std::partial_sum(sizes.begin(), sizes.end(), packed.begins.begin() + 1);
    packed.samples.resize(samples.size());
    auto next = packed.begins;
    for (const std::int64_t sample : samples) {
        packed.samples[next[number_of[sequence_of[sample]]]++] = sample;
    }
    return packed;
}

}  // namespace ziggurat::data
