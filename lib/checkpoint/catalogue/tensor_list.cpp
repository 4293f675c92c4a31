#include "checkpoint/catalogue/tensor_list.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace ziggurat::checkpoint {
namespace {

constexpr std::size_t max_first = 8;

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Removes and returns the digits, or the other characters, at the beginning of `text`.
std::string_view take_word(std::string_view& text) {
    const bool is_number = is_digit(text.front());
    const auto end = std::ranges::find_if(text, [&](char c) { return is_digit(c) != is_number; });
    const std::size_t size = end - text.begin();
    const auto word = text.substr(0, size);
    text.remove_prefix(size);
    return word;
}

/// Removes leading zeros, so that longer numbers are larger.
std::string_view without_zeros(std::string_view number) {
    return number.substr(std::min(number.find_first_not_of('0'), number.size()));
}

}  // namespace

std::int64_t StoredTensor::elements() const noexcept {
    std::int64_t count = 1;
    for (const auto extent : shape) {
        count *= extent;
    }
    return count;
}

bool is_before(std::string_view a, std::string_view b) noexcept {
    while (!a.empty() && !b.empty()) {
        const bool are_numbers = is_digit(a.front()) && is_digit(b.front());
        const auto word_a = take_word(a);
        const auto word_b = take_word(b);
        if (word_a == word_b) {
            continue;
        }
        const auto number_a = without_zeros(word_a);
        const auto number_b = without_zeros(word_b);
        if (are_numbers && number_a != number_b) {
            return std::pair{number_a.size(), number_a} < std::pair{number_b.size(), number_b};
        }
        return word_a < word_b;
    }
    return a.size() < b.size();
}

std::vector<StoredTensor> stored_tensors(const Manifest& manifest) {
    std::map<std::pair<PieceKind, std::string>, StoredTensor> found;
    for (const StoredPiece& stored : manifest.pieces) {
        const Piece& piece = stored.piece;
        auto& tensor = found[{piece.kind, piece.tensor}];
        if (tensor.pieces++ == 0) {
            tensor.kind = piece.kind;
            tensor.name = piece.tensor;
            tensor.shape = piece.shape;
            tensor.type = piece.type;
        }
    }
    std::vector<StoredTensor> tensors;
    for (auto& [key, tensor] : found) {
        tensors.push_back(std::move(tensor));
    }
    std::ranges::stable_sort(tensors, [](const StoredTensor& a, const StoredTensor& b) {
        return a.kind != b.kind ? a.kind < b.kind : is_before(a.name, b.name);
    });
    return tensors;
}

void read_run(CheckpointReader& reader,
              const StoredTensor& tensor,
              std::int64_t first,
              std::int64_t last,
              std::vector<float>& into) {
    into.resize(last - first);
    std::vector<PieceTarget> targets;
    auto* bytes = reinterpret_cast<std::byte*>(into.data());
    for (Box& box : boxes_of_run(whole(tensor.shape), first, last)) {
        const auto size = box.elements() * static_cast<std::int64_t>(sizeof(float));
        targets.push_back(
            {{tensor.kind, tensor.name, tensor.shape, spec::DType::f32, std::move(box)}, bytes});
        bytes += size;
    }
    reader.read(targets);
}

void walk(CheckpointReader& reader,
          const StoredTensor& tensor,
          const std::function<void(std::span<const float>)>& visit) {
    const auto elements = tensor.elements();
    std::vector<float> block;
    for (std::int64_t first = 0; first < elements; first += walk_block_elements) {
        read_run(reader, tensor, first, std::min(first + walk_block_elements, elements), block);
        visit(block);
    }
}

Statistics statistics(CheckpointReader& reader, const StoredTensor& tensor) {
    Statistics made;
    double sum = 0;
    double squares = 0;
    made.min = std::numeric_limits<double>::infinity();
    made.max = -made.min;
    walk(reader, tensor, [&](std::span<const float> block) {
        const auto wanted = std::min(max_first - std::min(max_first, made.first.size()), block.size());
        made.first.insert(made.first.end(), block.begin(),
                          block.begin() + static_cast<std::ptrdiff_t>(wanted));
        for (const float number : block) {
            ++made.elements;
            const auto value = static_cast<double>(number);
            if (!std::isfinite(value)) {
                ++made.nonfinite;
                continue;
            }
            made.zeros += value == 0 ? 1 : 0;
            made.min = std::min(made.min, value);
            made.max = std::max(made.max, value);
            sum += value;
            squares += value * value;
        }
    });
    const auto finite = made.elements - made.nonfinite;
    if (finite == 0) {
        made.min = made.max = made.mean = std::numeric_limits<double>::quiet_NaN();
        return made;
    }
    made.mean = sum / static_cast<double>(finite);
    made.norm = std::sqrt(squares);
    return made;
}

}  // namespace ziggurat::checkpoint
