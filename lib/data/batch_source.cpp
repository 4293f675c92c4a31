#include "data/batch_source.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::data {
namespace {

template <class T>
std::span<T> row_of(std::vector<T>& matrix, std::int64_t row, std::int64_t width) {
    return std::span{matrix}.subspan(row * width, width);
}

}  // namespace

Batch::Batch(std::int64_t num_sequences, std::int64_t length)
    : batch{num_sequences},
      seq{length},
      tokens(num_sequences * length),
      targets(tokens.size()),
      mask(tokens.size()),
      document_starts(tokens.size()),
      positions(tokens.size()),
      samples(num_sequences, -1) {
    ZG_EXPECTS(num_sequences >= 1 && length >= 1);
    const auto max_pairs = static_cast<std::size_t>(num_sequences * (length / spec::min_pair_tokens));
    pairs.reserve(max_pairs);
    pair_numbers.reserve(max_pairs);
}

BatchSource::BatchSource(std::vector<Named> sources,
                         std::unique_ptr<const SampleOrder> order,
                         DocumentRule documents,
                         std::int64_t vocab)
    : sources_{std::move(sources)}, order_{std::move(order)}, documents_{documents}, vocab_{vocab} {
    ZG_EXPECTS(order_ != nullptr && vocab >= 1);
    for (const auto& source : sources_) {
        const auto layout = source.tokens->num_pairs() > 0 ? source.tokens->sequences() : std::nullopt;
        const std::size_t room = layout ? layout->seq / spec::min_pair_tokens : 0;
        found_pairs_.resize(std::max(found_pairs_.size(), room));
    }
}

void BatchSource::fill(Batch& batch, std::int64_t first_sample) const {
    ZG_EXPECTS(first_sample >= 0);
    batch.num_targets = 0;
    batch.pairs.clear();
    batch.pair_numbers.clear();
    for (std::int64_t row = 0; row < batch.batch; ++row) {
        fill_row(batch, row, first_sample + row);
        const auto mask = row_of(batch.mask, row, batch.seq);
        batch.num_targets += std::accumulate(mask.begin(), mask.end(), std::int64_t{0});
    }
}

void BatchSource::fill_row(Batch& batch, std::int64_t row, std::int64_t sample) const {
    const auto tokens = row_of(batch.tokens, row, batch.seq);
    const auto targets = row_of(batch.targets, row, batch.seq);
    const auto mask = row_of(batch.mask, row, batch.seq);
    const auto starts = row_of(batch.document_starts, row, batch.seq);
    const auto positions = row_of(batch.positions, row, batch.seq);
    std::fill(starts.begin(), starts.end(), 0);
    std::iota(positions.begin(), positions.end(), 0);
    if (sample >= num_samples()) {
        std::fill(tokens.begin(), tokens.end(), 0);
        std::fill(targets.begin(), targets.end(), 0);
        std::fill(mask.begin(), mask.end(), std::uint8_t{0});
        batch.samples[row] = -1;
        return;
    }
    batch.samples[row] = sample;
    const Window window = order_->window(sample);
    const auto& [source, key, name, first_pair] = sources_[window.source];
    const std::size_t count = batch.seq - window.missing;
    source->read(window.first_token, tokens.first(count));
    std::copy(tokens.begin() + 1, tokens.begin() + static_cast<std::ptrdiff_t>(count), targets.begin());
    source->read(window.first_token + std::ssize(tokens.first(count)), targets.subspan(count - 1, 1));
    std::ranges::fill(tokens.subspan(count), 0);
    std::ranges::fill(targets.subspan(count), 0);
    const auto is_unknown = [this](std::int32_t id) { return id < 0 || id >= vocab_; };
    if (std::any_of(tokens.begin(), tokens.end(), is_unknown) || is_unknown(targets[count - 1])) {
        check_vocabulary(*source, window.first_token,
                         window.first_token + static_cast<std::int64_t>(count) + 1, vocab_, key);
    }
    std::fill(mask.begin(), mask.end(), std::uint8_t{1});
    if (documents_.is_reset) {
        cut_at_documents(batch, row, window);
    }
    if (source->has_loss_mask()) {
        mask_uncounted(batch, row, window);
    }
    std::ranges::fill(mask.subspan(count), std::uint8_t{0});
    if (source->num_pairs() > 0) {
        append_pairs(batch, row, window);
    }
}

void BatchSource::append_pairs(Batch& batch, std::int64_t row, const Window& window) const {
    const auto& source = sources_[window.source];
    const std::int64_t length = batch.seq - window.missing;
    // Only sources of programs that have pairs without a layout of sequences need more room here.
    found_pairs_.resize(std::max<std::size_t>(found_pairs_.size(), length / spec::min_pair_tokens));
    const auto found = source.tokens->find_pairs(window.first_token, length, found_pairs_);
    for (const auto& pair : std::span{found_pairs_}.first(found)) {
        const auto row_of_token = [&](std::int64_t token) {
            return static_cast<std::int32_t>(row * batch.seq + token - window.first_token);
        };
        batch.pairs.push_back(
            {row_of_token(pair.chosen), row_of_token(pair.rejected), row_of_token(pair.end)});
        batch.pair_numbers.push_back(source.first_pair + pair.number);
    }
}

bool BatchSource::has_masked_targets() const {
    return documents_.is_reset ||
           std::ranges::any_of(sources_, [](const Named& source) { return source.tokens->has_loss_mask(); });
}

void BatchSource::mask_uncounted(Batch& batch, std::int64_t row, const Window& window) const {
    const auto mask = row_of(batch.mask, row, batch.seq).first(batch.seq - window.missing);
    std::array<std::uint8_t, 256> counts;
    for (std::size_t done = 0; done < mask.size(); done += counts.size()) {
        const auto part = mask.subspan(done, std::min(counts.size(), mask.size() - done));
        const auto counted = std::span{counts}.first(part.size());
        sources_[window.source].tokens->mark_counted(window.first_token + 1 + static_cast<std::int64_t>(done),
                                                     counted);
        std::ranges::transform(part, counted, part.begin(), std::multiplies{});
    }
}

void BatchSource::cut_at_documents(Batch& batch, std::int64_t row, const Window& window) const {
    const auto targets = row_of(batch.targets, row, batch.seq);
    const auto mask = row_of(batch.mask, row, batch.seq);
    const auto starts = row_of(batch.document_starts, row, batch.seq);
    const auto positions = row_of(batch.positions, row, batch.seq);
    const auto& source = *sources_[window.source].tokens;
    const bool has_index = source.has_document_index();
    if (has_index) {
        // At first, the mask marks targets that begin a document. The loop below inverts it.
        source.mark_document_starts(window.first_token + 1, mask.first(batch.seq - window.missing));
    }
    std::int32_t start = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const auto here = static_cast<std::int32_t>(i);
        starts[i] = start;
        positions[i] = here - start;
        const bool target_begins = has_index ? mask[i] != 0 : targets[i] == documents_.start_token;
        mask[i] = has_index && target_begins ? 0 : 1;
        start = target_begins ? here + 1 : start;
    }
}

}  // namespace ziggurat::data
