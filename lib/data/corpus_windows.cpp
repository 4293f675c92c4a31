/// Windows of a corpus as lists.
#include <algorithm>
#include <set>
#include <utility>

#include "data/corpus.hpp"
#include "data/order/listed_order.hpp"

namespace ziggurat::data {

std::vector<Window> Corpus::windows(const DataOrderState& order,
                                    std::int64_t first,
                                    std::int64_t last,
                                    std::int64_t max_validation_samples) const {
    std::set<std::pair<int, std::int64_t>> begins;
    const auto add = [&](const Window& window) { begins.emplace(window.source, window.first_token); };
    std::size_t all = 0;  // windows of the training sources
    for (const auto& part : training_) {
        all += static_cast<std::size_t>(part.num_windows(data_.seq));
    }
    const TrainingOrder trained{order};
    for (std::int64_t sample = first; sample < last && begins.size() < all; ++sample) {
        add(trained.window(sample));
    }
    if (!validation_.empty()) {
        const SequentialOrder validated{validation_, data_.seq, max_validation_samples, rest_};
        for (std::int64_t sample = 0; sample < validated.num_samples(); ++sample) {
            add(validated.window(sample));
        }
    }
    std::vector<Window> windows;
    for (const auto& [source, token] : begins) {
        windows.push_back({.source = source, .first_token = token});
    }
    return windows;
}

BatchSource Corpus::of_windows(std::vector<Window> windows) const {
    return {sources_, std::make_unique<ListedOrder>(std::move(windows)), documents(), vocab_};
}

std::vector<std::int64_t> Corpus::pairs_of(const Window& window) const {
    const auto& source = sources_.at(window.source);
    std::vector<AnswerPair> pairs(data_.seq / spec::min_pair_tokens);
    pairs.resize(source.tokens->find_pairs(window.first_token, data_.seq, pairs));
    std::vector<std::int64_t> numbers(pairs.size());
    std::ranges::transform(pairs, numbers.begin(),
                           [&](const AnswerPair& pair) { return source.first_pair + pair.number; });
    return numbers;
}

}  // namespace ziggurat::data
