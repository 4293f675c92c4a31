#include "train/resume/freeze_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "train/save/load_state.hpp"

namespace ziggurat::train {
namespace {

constexpr std::size_t max_named = 3;

/// `'a', 'b', 'c' and 4 more`.
std::string listed(const std::vector<std::string>& names) {
    std::string text;
    const auto named = std::min(names.size(), max_named);
    for (std::size_t i = 0; i < named; ++i) {
        text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
    }
    return names.size() == named ? text : fmt::format("{} and {} more", text, names.size() - named);
}

}  // namespace

std::string unfrozen_note(const layout::FamilyTable& table, const checkpoint::Manifest& manifest) {
    const auto found = tensors_without_moments(table, manifest);
    if (found.empty()) {
        return "";
    }
    const bool is_one = found.size() == 1;
    return fmt::format("{} {} frozen in the checkpoint: {} moments begin at zero",
                       listed({found.begin(), found.end()}), is_one ? "was" : "were",
                       is_one ? "its" : "their");
}

std::string rounded_note(const spec::RunSpec& spec,
                         const layout::FamilyTable& table,
                         std::span<const checkpoint::Piece> stored) {
    std::map<std::string, spec::DType> types;
    for (const auto& piece : stored) {
        types.emplace(piece.tensor, piece.type);
    }
    std::vector<std::string> rounded;
    for (const auto& unit : table.units) {
        for (const auto& parameter : unit.parameters) {
            const auto at = types.find(parameter.name);
            const bool is_wider = at != types.end() && spec::element_bytes(at->second) >
                                                           spec::element_bytes(spec.precision.compute);
            if (!parameter.is_trained && is_wider) {
                rounded.push_back(parameter.name);
            }
        }
    }
    if (rounded.empty()) {
        return "";
    }
    return fmt::format(
        "frozen tensors are kept in bf16 (precision.compute): {} {} rounded to it, also in checkpoints and "
        "exports of this run. precision.compute=fp32 keeps them as they are.",
        listed(rounded), rounded.size() == 1 ? "is" : "are");
}

}  // namespace ziggurat::train
