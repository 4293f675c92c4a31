#include "checkpoint/catalogue/compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace ziggurat::checkpoint {
namespace {

/// Accumulates differences over pairs of blocks with equal positions.
class Figures {
  public:
    void add(std::span<const float> first, std::span<const float> second) {
        for (std::size_t i = 0; i < first.size(); ++i) {
            add(first[i], second[i]);
        }
    }

    void finish(TensorDifference& into) const {
        into.differing = differing_;
        into.nonfinite = nonfinite_;
        into.largest_absolute = absolute_;
        into.largest_relative = relative_;
        into.norm = std::sqrt(squares_);
        const double size = std::sqrt(squares_of_first_);
        into.relative_norm = into.norm == 0 ? 0
                             : size > 0     ? into.norm / size
                                            : std::numeric_limits<double>::infinity();
    }

  private:
    void add(float first, float second) {
        const auto a = static_cast<double>(first);
        const auto b = static_cast<double>(second);
        squares_of_first_ += std::isfinite(a) ? a * a : 0;
        if (std::bit_cast<std::uint32_t>(first) == std::bit_cast<std::uint32_t>(second)) {
            return;
        }
        ++differing_;
        if (!std::isfinite(a) || !std::isfinite(b)) {
            ++nonfinite_;
            return;
        }
        const double gap = std::abs(b - a);
        const double size = std::max(std::abs(a), std::abs(b));
        absolute_ = std::max(absolute_, gap);
        relative_ = std::max(relative_, size > 0 ? gap / size : 0);
        squares_ += gap * gap;
    }

    std::int64_t differing_ = 0;
    std::int64_t nonfinite_ = 0;
    double absolute_ = 0;
    double relative_ = 0;
    double squares_ = 0;
    double squares_of_first_ = 0;
};

void compare_numbers(CheckpointReader& first,
                     const StoredTensor& a,
                     CheckpointReader& second,
                     const StoredTensor& b,
                     TensorDifference& into) {
    Figures figures;
    std::vector<float> block_a;
    std::vector<float> block_b;
    const auto elements = a.elements();
    for (std::int64_t begin = 0; begin < elements; begin += walk_block_elements) {
        const auto end = std::min(begin + walk_block_elements, elements);
        read_run(first, a, begin, end, block_a);
        read_run(second, b, begin, end, block_b);
        figures.add(block_a, block_b);
    }
    figures.finish(into);
    into.verdict = a.type != b.type      ? TensorVerdict::other_type
                   : into.differing == 0 ? TensorVerdict::same
                                         : TensorVerdict::other_numbers;
}

/// Returns true if `a` precedes `b` in the order of stored_tensors.
bool precedes(const StoredTensor& a, const StoredTensor& b) {
    return a.kind != b.kind ? a.kind < b.kind : is_before(a.name, b.name);
}

TensorDifference of_one_side(const StoredTensor& tensor, TensorVerdict verdict) {
    TensorDifference made;
    made.kind = tensor.kind;
    made.name = tensor.name;
    made.verdict = verdict;
    made.shape = tensor.shape;
    made.elements = tensor.elements();
    return made;
}

std::int64_t bytes_of(const std::vector<StoredTensor>& tensors) {
    std::int64_t bytes = 0;
    for (const StoredTensor& tensor : tensors) {
        bytes += tensor.bytes();
    }
    return bytes;
}

void compare_decks(const Manifest& first, const Manifest& second, Comparison& into) {
    try {
        into.deck = changes(first.deck, second.deck);
    } catch (const Error&) {
        into.is_deck_readable = false;
        if (first.deck != second.deck) {
            DeckChange change;
            change.key = "deck";
            change.before = change.after = "another text";
            into.deck.push_back(std::move(change));
        }
    }
}

}  // namespace

bool Comparison::are_tensors_same() const {
    return std::ranges::all_of(
        tensors, [](const TensorDifference& tensor) { return tensor.verdict == TensorVerdict::same; });
}

Comparison compare(CheckpointReader& first,
                   CheckpointReader& second,
                   const std::function<void(std::int64_t, std::int64_t)>& progress) {
    const auto of_first = stored_tensors(first.manifest());
    const auto of_second = stored_tensors(second.manifest());
    const auto all = bytes_of(of_first) + bytes_of(of_second);
    Comparison made;
    std::int64_t done = 0;
    auto a = of_first.begin();
    auto b = of_second.begin();
    while (a != of_first.end() || b != of_second.end()) {
        const bool is_first_alone = b == of_second.end() || (a != of_first.end() && precedes(*a, *b));
        const bool is_second_alone = !is_first_alone && (a == of_first.end() || precedes(*b, *a));
        if (is_first_alone || is_second_alone) {
            const auto& tensor = is_first_alone ? *a++ : *b++;
            made.tensors.push_back(of_one_side(
                tensor, is_first_alone ? TensorVerdict::only_in_first : TensorVerdict::only_in_second));
            done += tensor.bytes();
        } else {
            auto both = of_one_side(*a, TensorVerdict::other_shape);
            if (a->shape == b->shape) {
                compare_numbers(first, *a, second, *b, both);
            } else {
                both.other_shape = b->shape;
            }
            made.tensors.push_back(std::move(both));
            done += a++->bytes() + b++->bytes();
        }
        if (progress) {
            progress(done, all);
        }
    }
    const auto& before = first.manifest().progress;
    const auto& after = second.manifest().progress;
    made.is_same_progress = before.step == after.step && before.tokens == after.tokens &&
                            before.next_sample == after.next_sample && before.skipped == after.skipped &&
                            before.skipped_in_a_row == after.skipped_in_a_row &&
                            before.recent == after.recent;
    compare_decks(first.manifest(), second.manifest(), made);
    return made;
}

}  // namespace ziggurat::checkpoint
