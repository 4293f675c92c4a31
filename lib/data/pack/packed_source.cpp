#include "data/pack/packed_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"

namespace ziggurat::data {

PackedSource::PackedSource(std::shared_ptr<const ChatSource> samples,
                           const spec::Data& data,
                           double held_out,
                           const std::string& key)
    : source_{std::move(samples)}, seq_{data.seq}, samples_per_item_{source_->has_pairs() ? 2 : 1} {
    if (data.long_samples == spec::LongSamples::refuse) {
        expect_no_long_item(key);
    }
    const std::int64_t all = num_items();
    const std::int64_t trained =
        all - static_cast<std::int64_t>(std::floor(static_cast<double>(all) * held_out));
    trained_ = pack_items(0, trained, data, key);
    held_out_ = pack_items(trained, all, data, key);
    layout_ = {.seq = seq_,
               .num_trained = trained_.num_sequences(),
               .num_held_out = held_out_.num_sequences(),
               .num_samples = std::ssize(trained_.samples) + std::ssize(held_out_.samples),
               .num_cut = trained_.num_cut + held_out_.num_cut,
               .num_dropped = trained_.num_dropped + held_out_.num_dropped,
               .num_without_target = trained_.num_without_target + held_out_.num_without_target,
               .num_without_flag = trained_.num_without_flag + held_out_.num_without_flag,
               .num_held_out_samples = std::ssize(held_out_.samples),
               .num_held_out_without_target = held_out_.num_without_target};
    if (layout_.num_trained == 0) {
        throw Error{
            ErrorKind::deck,
            fmt::format(
                "{}: no {} is left ({} of {} are longer than data.seq = {} and dropped). "
                "Increase data.seq{}.",
                key, samples_per_item_ == 2 ? "pair of answers" : "sample", layout_.num_dropped, all, seq_,
                data.long_samples == spec::LongSamples::drop ? ", or set data.long_samples: cut" : "")};
    }
    for (const auto* packed : {&trained_, &held_out_}) {
        for (const std::int64_t item : packed->samples) {
            layout_.num_filled += item_length_of(item);
        }
    }
}

PackedSamples PackedSource::pack_items(std::int64_t begin,
                                       std::int64_t end,
                                       const spec::Data& data,
                                       const std::string& key) const {
    std::vector<std::int64_t> items;
    std::vector<std::int64_t> lengths;
    std::int64_t num_without_target = 0;
    std::int64_t num_cut_without_target = 0;
    std::int64_t num_without_flag = 0;
    for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t length = whole_length_of(item);
        const bool is_left_out = length > seq_ && data.long_samples == spec::LongSamples::drop;
        if (samples_per_item_ == 2 && !is_left_out && !has_targets(item, key)) {
            ++num_without_target;
            continue;
        }
        if (samples_per_item_ == 1 && !is_left_out && !has_target(item)) {
            ++(source_->has_counted(item, length) ? num_cut_without_target : num_without_flag);
        }
        items.push_back(item);
        lengths.push_back(length);
    }
    auto packed = pack(lengths, seq_, data.packing, data.long_samples);
    for (auto& item : packed.samples) {
        item = items[item];
    }
    packed.num_dropped += num_without_target;
    packed.num_without_target = num_cut_without_target;
    packed.num_without_flag = num_without_flag;
    return packed;
}

void PackedSource::expect_no_long_item(const std::string& key) const {
    for (std::int64_t item = 0; item < num_items(); ++item) {
        const std::int64_t length = whole_length_of(item);
        if (length > seq_) {
            throw Error{ErrorKind::deck,
                        fmt::format("{}: a {} has {} tokens, more than data.seq = {} ({}). Increase "
                                    "data.seq, or set data.long_samples to cut or drop.",
                                    key, samples_per_item_ == 2 ? "pair of answers" : "sample", length, seq_,
                                    source_->location_of(source_->begin_of(item * samples_per_item_)))};
        }
    }
}

std::int64_t PackedSource::whole_length_of(std::int64_t item) const {
    const std::int64_t first = item * samples_per_item_;
    return source_->begin_of(first + samples_per_item_) - source_->begin_of(first);
}

std::int64_t PackedSource::length_of(std::int64_t sample) const {
    const std::int64_t whole = source_->length_of(sample);
    if (samples_per_item_ == 1) {
        return std::min(seq_, whole);
    }
    const std::int64_t other = source_->length_of(sample % 2 == 0 ? sample + 1 : sample - 1);
    const std::int64_t half = seq_ / 2;
    const bool fits = whole + other <= seq_ || whole <= half;
    return fits ? whole : other <= half ? seq_ - other : half;
}

std::int64_t PackedSource::item_length_of(std::int64_t item) const {
    const std::int64_t first = item * samples_per_item_;
    return samples_per_item_ == 1 ? length_of(first) : length_of(first) + length_of(first + 1);
}

bool PackedSource::has_targets(std::int64_t pair, const std::string& key) const {
    for (const std::int64_t sample : {2 * pair, 2 * pair + 1}) {
        if (has_target(sample)) {
            continue;
        }
        if (length_of(sample) == source_->length_of(sample)) {
            throw Error{ErrorKind::deck,
                        fmt::format("{}: no token of an answer counts in the loss ({}). Make the file again "
                                    "with 'ziggurat tokenize RECORDS --chat'.",
                                    key, source_->location_of(source_->begin_of(sample)))};
        }
        return false;
    }
    return true;
}

std::span<const std::int64_t> PackedSource::items_of(std::int64_t sequence) const {
    return sequence < layout_.num_trained ? trained_.samples_of(sequence)
                                          : held_out_.samples_of(sequence - layout_.num_trained);
}

PackedSource::Counted PackedSource::count_counted(const StopCheck& stop) const {
    const auto count = [&](const PackedSamples& packed) {
        std::int64_t counted = 0;
        for (const std::int64_t item : packed.samples) {
            check(stop);
            const std::int64_t first = item * samples_per_item_;
            for (std::int64_t sample = first; sample < first + samples_per_item_; ++sample) {
                counted += source_->num_counted(sample, length_of(sample));
            }
        }
        return counted;
    };
    return {count(trained_), count(held_out_)};
}

template <class Visitor>
void PackedSource::for_each_part(std::int64_t begin, std::int64_t length, const Visitor& visit) const {
    ZG_EXPECTS(begin >= 0 && begin + length <= num_tokens());
    const std::int64_t end = begin + length;
    // Visits the intersection of the range with a document [first, first + size) of the stream.
    const auto visit_document = [&](std::int64_t first, std::int64_t size, std::int64_t from) {
        const std::int64_t at = std::max(first, begin);
        const std::int64_t count = std::min(first + size, end) - at;
        if (count > 0) {
            visit(from < 0 ? -1 : from + at - first, at - begin, count, at == first);
        }
    };
    for (std::int64_t sequence = begin / seq_; sequence * seq_ < end; ++sequence) {
        std::int64_t first = sequence * seq_;
        const std::int64_t next_sequence = first + seq_;
        if (sequence < num_sequences()) {
            for (const std::int64_t item : items_of(sequence)) {
                const std::int64_t sample = item * samples_per_item_;
                for (std::int64_t s = sample; s < sample + samples_per_item_; ++s) {
                    visit_document(first, length_of(s), source_->begin_of(s));
                    first += length_of(s);
                }
            }
        }
        visit_document(first, next_sequence - first, -1);
    }
}

void PackedSource::read(std::int64_t begin, std::span<std::int32_t> out) const {
    for_each_part(begin, std::ssize(out),
                  [&](std::int64_t from, std::int64_t at, std::int64_t length, bool /*begins*/) {
                      const auto part = out.subspan(at, length);
                      if (from < 0) {
                          std::ranges::fill(part, 0);
                      } else {
                          source_->read(from, part);
                      }
                  });
}

void PackedSource::mark_document_starts(std::int64_t begin, std::span<std::uint8_t> starts) const {
    std::ranges::fill(starts, std::uint8_t{0});
    for_each_part(begin, std::ssize(starts),
                  [&](std::int64_t /*from*/, std::int64_t at, std::int64_t /*length*/, bool begins) {
                      starts[at] = begins ? 1 : 0;
                  });
}

void PackedSource::mark_counted(std::int64_t begin, std::span<std::uint8_t> counts) const {
    for_each_part(begin, std::ssize(counts),
                  [&](std::int64_t from, std::int64_t at, std::int64_t length, bool /*begins*/) {
                      const auto part = counts.subspan(at, length);
                      if (from < 0) {
                          std::ranges::fill(part, std::uint8_t{0});
                      } else {
                          source_->mark_counted(from, part);
                      }
                  });
}

std::size_t PackedSource::find_pairs(std::int64_t begin,
                                     std::int64_t length,
                                     std::span<AnswerPair> pairs) const {
    ZG_EXPECTS(begin >= 0 && begin + length <= num_tokens());
    if (samples_per_item_ == 1) {
        return 0;
    }
    std::size_t found = 0;
    const std::int64_t end = begin + length;
    for (std::int64_t sequence = begin / seq_; sequence < num_sequences() && sequence * seq_ < end;
         ++sequence) {
        std::int64_t first = sequence * seq_;
        for (const std::int64_t pair : items_of(sequence)) {
            const std::int64_t rejected = first + length_of(2 * pair);
            const std::int64_t pair_end = rejected + length_of(2 * pair + 1);
            if (first >= begin && pair_end <= end) {
                ZG_EXPECTS(found < pairs.size());
                pairs[found++] = {pair, first, rejected, pair_end};
            }
            first = pair_end;
        }
    }
    return found;
}

std::string PackedSource::location_of(std::int64_t token) const {
    std::string location = "padding";
    for_each_part(token, 1, [&](std::int64_t from, std::int64_t, std::int64_t, bool) {
        location = from < 0 ? location : source_->location_of(from);
    });
    return location;
}

}  // namespace ziggurat::data
