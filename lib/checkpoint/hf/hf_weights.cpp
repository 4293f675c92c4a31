#include "checkpoint/hf/hf_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/hf/file_types.hpp"
#include "layout/families/family_descriptor.hpp"
#include "layout/staging/staging_sizes.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using layout::import_window_bytes;

[[noreturn]] void unsupported(const std::string& path, const std::string& what) {
    throw Error{ErrorKind::deck,
                fmt::format("cannot read the model in '{}' ({}). Convert it, or use another.",
                            printable(path), what)};
}

/// Returns names that an index may contain although no file has them.
std::set<std::string> optional_names(const spec::Model& model) {
    const auto& published = layout::family_of(model).published;
    const std::string_view prefix = published.prefix;
    std::set<std::string> names;
    for (auto& name : buffer_names(model)) {
        names.insert(std::move(name));
    }
    if (model.tie_embeddings) {  // one of the two; expect_one_embedding() checks it
        names.insert(published.head);
        names.insert(published.tensors.front().name);
    }
    auto all = names;
    for (const auto& name : names) {
        if (name.starts_with(prefix)) {
            all.insert(name.substr(prefix.size()));
        }
        if (published.wrapper.model_type != nullptr) {
            all.insert(published.wrapper.prefix + name);
        }
    }
    return all;
}

}  // namespace

HfWeights::HfWeights(const std::string& folder, const spec::Model& model)
    : published_{layout::family_of(model).published},
      prefix_{published_.prefix},
      folder_{folder, optional_names(model)},
      layouts_{hf_layouts(model)} {
    const auto& family = layout::family_of(model);
    const auto any_starts_with = [&](std::string_view prefix) {
        return std::ranges::any_of(folder_.tensors(),
                                   [&](const auto& each) { return each.first.starts_with(prefix); });
    };
    const auto& wrapper = published_.wrapper;
    is_wrapped_ = wrapper.model_type != nullptr && any_starts_with(wrapper.prefix);
    has_prefix_ = is_wrapped_ || any_starts_with(prefix_);
    std::set<std::string> known = optional_names(model);
    for (std::size_t k = 0; k < layouts_.size(); ++k) {
        const auto& layout = layouts_[k];
        const auto& at = locate(layout, model);
        expect_known(at, layout);
        known.insert(at.tensor.name);
        for (std::size_t p = 0; p < layout.parts.size(); ++p) {
            places_.emplace(layout.parts[p].tensor, Place{k, p, at});
        }
    }
    for (const auto& [name, at] : folder_.tensors()) {
        if (!known.contains(name) && !is_left_out(name)) {
            unsupported(folder, fmt::format("it has a tensor '{}', which {} does not have here",
                                            printable(name), family.name));
        }
    }
    if (model.tie_embeddings) {
        expect_one_embedding(layouts_.front(), model);
    }
}

bool HfWeights::is_left_out(const std::string& name) const {
    return is_wrapped_ && std::ranges::any_of(published_.wrapper.others,
                                              [&](const char* prefix) { return name.starts_with(prefix); });
}

const LocatedTensor* HfWeights::find(const std::string& name) const {
    const bool is_shortened = !has_prefix_ && name.starts_with(prefix_);
    const auto stored = is_wrapped_    ? published_.wrapper.prefix + name
                        : is_shortened ? name.substr(prefix_.size())
                                       : name;
    const auto found = folder_.tensors().find(stored);
    return found == folder_.tensors().end() ? nullptr : &found->second;
}

const LocatedTensor& HfWeights::locate(const HfLayout& layout, const spec::Model& model) const {
    if (const auto* const at = find(layout.name)) {
        return *at;
    }
    const auto& published = layout::family_of(model).published;
    const auto* const head = find(published.head);
    if (model.tie_embeddings && layout.name == published.tensors.front().name && head != nullptr) {
        return *head;
    }
    std::string reason = fmt::format("it has no '{}'", layout.name);
    for (const auto& file : folder_.files()) {
        const auto stored = file.stored_names().find(layout.name);
        if (stored != file.stored_names().end()) {
            reason += fmt::format(
                "; the header of '{}' says that '{}' stands for it, which contradicts "
                "tie_word_embeddings = {} of config.json",
                printable(file.path()), printable(stored->second), model.tie_embeddings);
        }
    }
    throw Error{ErrorKind::checkpoint,
                fmt::format("the model in '{}' lacks a tensor ({}). Fetch or export it again.",
                            printable(path()), reason)};
}

void HfWeights::expect_known(const LocatedTensor& at, const HfLayout& layout) const {
    if (at.tensor.shape != layout.shape) {
        throw Error{
            ErrorKind::checkpoint,
            fmt::format(
                "the model in '{}' has another shape than its config.json says ('{}' is [{}] in '{}', "
                "and [{}] by the configuration). Fetch or export it again.",
                printable(path()), at.tensor.name, fmt::join(at.tensor.shape, ", "),
                printable(folder_.files()[at.file].path()), fmt::join(layout.shape, ", "))};
    }
    if (!is_read(at.tensor.type)) {
        unsupported(path(), fmt::format("'{}' is of type {}; {} are read", at.tensor.name,
                                        printable(at.tensor.type), types_that_are_read()));
    }
}

void HfWeights::expect_one_embedding(const HfLayout& embedding, const spec::Model& model) {
    const auto* const head = find(layout::family_of(model).published.head);
    const auto* const table = find(embedding.name);
    if (head == nullptr || table == nullptr) {
        return;
    }
    expect_known(*head, embedding);
    const std::int64_t elements = table->tensor.elements();
    std::vector<float> ours(
        std::min(elements, import_window_bytes / static_cast<std::int64_t>(sizeof(float))));
    std::vector<float> others(ours.size());
    for (std::int64_t first = 0; first < elements; first += std::ssize(ours)) {
        const std::size_t count = std::min(std::ssize(ours), elements - first);
        read_values(*table, first, std::span{ours}.first(count));
        read_values(*head, first, std::span{others}.first(count));
        if (std::memcmp(ours.data(), others.data(), count * sizeof(float)) != 0) {
            throw Error{ErrorKind::checkpoint,
                        fmt::format("the model in '{}' has a head of its own ('{}' in '{}' has other values "
                                    "than '{}'), but its config.json ties the two (tie_word_embeddings). Set "
                                    "tie_word_embeddings to false there to use this head, or remove '{}' "
                                    "from the file to use the embedding.",
                                    printable(path()), head->tensor.name,
                                    printable(folder_.files()[head->file].path()), table->tensor.name,
                                    head->tensor.name)};
        }
    }
}

void HfWeights::read_values(const LocatedTensor& at, std::int64_t first, std::span<float> values) {
    const std::int64_t width = bytes_of(at.tensor.type);
    stored_.resize(values.size() * width);
    folder_.files()[at.file].read(at.tensor, first * width, stored_);
    convert_stored(at.tensor.type, stored_.data(), reinterpret_cast<std::byte*>(values.data()),
                   spec::DType::f32, std::ssize(values));
}

std::vector<Piece> HfWeights::pieces() const {
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

void HfWeights::read(std::span<const PieceTarget> targets) {
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
            std::max<std::int64_t>(1, import_window_bytes / std::max<std::int64_t>(1, row_bytes));
        for (std::int64_t row = 0; row < rows; row += rows_at_once) {
            Box box = piece.box;
            box.begin.front() += row;
            box.extent.front() = std::min(rows_at_once, rows - row);
            read_box(place, target, box, row * row_bytes);
            done += box.extent.front() * row_bytes;
            if (on_progress_) {
                on_progress_(done, all);
            }
        }
    }
}

void HfWeights::read_box(const Place& place,
                         const PieceTarget& target,
                         const Box& box,
                         std::int64_t offset_bytes) {
    const auto& layout = layouts_[place.layout];
    const auto& tensor = place.at.tensor;
    const auto& file = folder_.files()[place.at.file];
    const auto type = target.piece.type;
    const std::size_t width = spec::element_bytes(type);
    const auto stored_width = bytes_of(tensor.type);
    const auto bytes = static_cast<std::size_t>(box.elements()) * width;
    if (target.bytes == nullptr) {
        staged_.resize(std::max(staged_.size(), bytes));
    }
    std::byte* const to = target.bytes == nullptr ? staged_.data() : target.bytes + offset_bytes;
    for_each_run(layout, layout.parts[place.part], box, [&](const HfRun& run) {
        const std::size_t elements = run.elements;
        const auto stored_bytes = elements * stored_width;
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
