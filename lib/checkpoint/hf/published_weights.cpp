#include "checkpoint/hf/published_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "checkpoint/hf/file_types.hpp"
#include "layout/family_descriptor.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

/// Of a box that is read at a time, as the target has it.
constexpr std::int64_t window_bytes = std::int64_t{8} << 20;

[[noreturn]] void not_built(const std::string& path, const std::string& what) {
    throw Error{ErrorKind::deck,
                fmt::format("cannot read the model in '{}' ({}). Convert it, or use another.",
                            printable(path), what)};
}

/// The tensor called `name`, with or without the prefix of the family's files.
const LocatedTensor* find(const ModelFolder& folder, const std::string& name, const std::string& prefix) {
    const auto& tensors = folder.tensors();
    auto found = tensors.find(name);
    if (found == tensors.end() && name.starts_with(prefix)) {
        found = tensors.find(name.substr(prefix.size()));
    }
    return found == tensors.end() ? nullptr : &found->second;
}

}  // namespace

PublishedWeights::PublishedWeights(const std::string& folder, const spec::Model& model)
    : folder_{folder}, layouts_{published_layouts(model)} {
    const auto& family = layout::family_of(model);
    const std::string prefix = family.published.prefix;
    std::set<std::string> known;
    for (const auto& name : names_left_out(model)) {
        known.insert(name);
        known.insert(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
    }
    for (std::size_t k = 0; k < layouts_.size(); ++k) {
        const auto& layout = layouts_[k];
        const auto* const at = find(folder_, layout.name, prefix);
        if (at == nullptr) {
            throw Error{
                ErrorKind::checkpoint,
                fmt::format("the model in '{}' lacks a tensor (it has no '{}'). Fetch or export it again.",
                            printable(folder), layout.name)};
        }
        if (at->tensor.shape != layout.shape) {
            throw Error{
                ErrorKind::checkpoint,
                fmt::format(
                    "the model in '{}' has another shape than its config.json says ('{}' is [{}] in '{}', "
                    "and [{}] by the configuration). Fetch or export it again.",
                    printable(folder), layout.name, fmt::join(at->tensor.shape, ", "),
                    printable(folder_.files()[at->file].path()), fmt::join(layout.shape, ", "))};
        }
        if (!is_read(at->tensor.type)) {
            not_built(folder, fmt::format("'{}' is of type {}; {} are read", layout.name,
                                          printable(at->tensor.type), types_that_are_read()));
        }
        known.insert(at->tensor.name);
        for (std::size_t p = 0; p < layout.parts.size(); ++p) {
            places_.emplace(layout.parts[p].tensor, Place{k, p, *at});
        }
    }
    for (const auto& [name, at] : folder_.tensors()) {
        if (!known.contains(name)) {
            not_built(folder, fmt::format("it has a tensor '{}', which {} does not have here",
                                          printable(name), family.name));
        }
    }
}

std::vector<Piece> PublishedWeights::pieces() const {
    std::vector<Piece> pieces;
    for (const auto& layout : layouts_) {
        for (const auto& part : layout.parts) {
            const auto& tensor = places_.at(part.tensor).at.tensor;
            pieces.push_back(
                {PieceKind::weights, part.tensor, part.shape,
                 tensor.type == name_of(spec::DType::bf16) ? spec::DType::bf16 : spec::DType::f32,
                 whole(part.shape)});
        }
    }
    return pieces;
}

void PublishedWeights::read(std::span<const PieceTarget> targets) {
    std::int64_t all = 0;
    for (const auto& target : targets) {
        all += target.piece.bytes();
    }
    std::int64_t done = 0;
    for (const auto& target : targets) {
        const auto& piece = target.piece;
        ZG_EXPECTS(piece.kind == PieceKind::weights);
        const auto& place = places_.at(piece.tensor);
        const std::int64_t rows = piece.box.extent.front();
        const std::int64_t row_bytes = rows == 0 ? 0 : piece.bytes() / rows;
        const std::int64_t rows_at_once =
            std::max<std::int64_t>(1, window_bytes / std::max<std::int64_t>(1, row_bytes));
        for (std::int64_t row = 0; row < rows; row += rows_at_once) {
            Box box = piece.box;
            box.begin.front() += row;
            box.extent.front() = std::min(rows_at_once, rows - row);
            read_box(place, target, box, row * row_bytes);
            done += box.extent.front() * row_bytes;
            if (told_) {
                told_(done, all);
            }
        }
    }
}

void PublishedWeights::read_box(const Place& place,
                                const PieceTarget& target,
                                const Box& box,
                                std::int64_t offset_bytes) {
    const auto& layout = layouts_[place.layout];
    const auto& tensor = place.at.tensor;
    const auto& file = folder_.files()[place.at.file];
    const auto type = target.piece.type;
    const auto width = static_cast<std::size_t>(spec::element_bytes(type));
    const auto stored_width = bytes_of(tensor.type);
    const auto bytes = static_cast<std::size_t>(box.elements()) * width;
    if (target.bytes == nullptr) {
        staged_.resize(std::max(staged_.size(), bytes));
    }
    std::byte* const to = target.bytes == nullptr ? staged_.data() : target.bytes + offset_bytes;
    for_each_run(layout, layout.parts[place.part], box, [&](const PublishedRun& run) {
        const auto elements = static_cast<std::size_t>(run.elements);
        const auto stored_bytes = elements * static_cast<std::size_t>(stored_width);
        stored_.resize(std::max(stored_.size(), stored_bytes));
        file.read(tensor, run.offset * stored_width, std::span{stored_}.first(stored_bytes));
        bytes_read_ += static_cast<std::int64_t>(stored_bytes);
        std::byte* first = to + static_cast<std::size_t>(run.offset_in_box) * width;
        if (run.step_in_box == 1) {
            convert_stored(tensor.type, stored_.data(), first, type, run.elements);
            return;
        }
        converted_.resize(std::max(converted_.size(), elements * width));
        convert_stored(tensor.type, stored_.data(), converted_.data(), type, run.elements);
        for (std::size_t k = 0; k < elements; ++k) {
            std::memcpy(first, converted_.data() + k * width, width);
            first += static_cast<std::size_t>(run.step_in_box) * width;
        }
    });
    if (target.bytes == nullptr) {
        target.write(offset_bytes, std::span{staged_}.first(bytes));
    }
}

}  // namespace ziggurat::checkpoint::hf
