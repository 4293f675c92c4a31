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
    : source_{std::move(samples)}, seq_{data.seq} {
    if (data.long_samples == spec::LongSamples::refuse) {
        expect_no_long_sample(key);
    }
    const std::int64_t all = source_->num_samples();
    const std::int64_t trained =
        all - static_cast<std::int64_t>(std::floor(static_cast<double>(all) * held_out));
    std::vector<std::int64_t> lengths(all);
    for (std::int64_t sample = 0; sample < all; ++sample) {
        lengths[sample] = source_->begin_of(sample + 1) - source_->begin_of(sample);
    }
    const std::span of_all{lengths};
    trained_ = pack(of_all.first(trained), seq_, data.packing, data.long_samples);
    held_out_ = pack(of_all.subspan(trained), seq_, data.packing, data.long_samples);
    for (auto& sample : held_out_.samples) {
        sample += trained;
    }
    layout_ = {.seq = seq_,
               .num_trained = trained_.num_sequences(),
               .num_held_out = held_out_.num_sequences(),
               .num_samples = std::ssize(trained_.samples) + std::ssize(held_out_.samples),
               .num_cut = trained_.num_cut + held_out_.num_cut,
               .num_dropped = trained_.num_dropped + held_out_.num_dropped};
    if (layout_.num_trained == 0) {
        throw Error{ErrorKind::deck,
                    fmt::format("{}: no sample is left ({} of {} are longer than data.seq = {} and dropped). "
                                "Increase data.seq, or set data.long_samples: cut.",
                                key, layout_.num_dropped, all, seq_)};
    }
    for (const auto* packed : {&trained_, &held_out_}) {
        for (const std::int64_t sample : packed->samples) {
            layout_.num_filled += length_of(sample);
        }
    }
}

void PackedSource::expect_no_long_sample(const std::string& key) const {
    for (std::int64_t sample = 0; sample < source_->num_samples(); ++sample) {
        const std::int64_t begin = source_->begin_of(sample);
        const std::int64_t length = source_->begin_of(sample + 1) - begin;
        if (length > seq_) {
            throw Error{ErrorKind::deck,
                        fmt::format("{}: a sample has {} tokens, more than data.seq = {} ({}). Increase "
                                    "data.seq, or set data.long_samples to cut or drop.",
                                    key, length, seq_, source_->location_of(begin))};
        }
    }
}

std::int64_t PackedSource::length_of(std::int64_t sample) const {
    return std::min(seq_, source_->begin_of(sample + 1) - source_->begin_of(sample));
}

std::span<const std::int64_t> PackedSource::samples_of(std::int64_t sequence) const {
    return sequence < layout_.num_trained ? trained_.samples_of(sequence)
                                          : held_out_.samples_of(sequence - layout_.num_trained);
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
            for (const std::int64_t sample : samples_of(sequence)) {
                visit_document(first, length_of(sample), source_->begin_of(sample));
                first += length_of(sample);
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

std::string PackedSource::location_of(std::int64_t token) const {
    std::string location = "padding";
    for_each_part(token, 1, [&](std::int64_t from, std::int64_t, std::int64_t, bool) {
        location = from < 0 ? location : source_->location_of(from);
    });
    return location;
}

}  // namespace ziggurat::data
