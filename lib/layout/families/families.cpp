#include <algorithm>
#include <array>

#include "base/contract.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::layout {

// One line for each family. Its descriptor is in family_<name>.cpp.
const FamilyDescriptor& gpt2_family();
const FamilyDescriptor& llama_family();
const FamilyDescriptor& gpt_neox_family();
const FamilyDescriptor& mistral_family();
const FamilyDescriptor& qwen2_family();
const FamilyDescriptor& qwen3_family();
const FamilyDescriptor& gemma_family();
const FamilyDescriptor& phi3_family();
const FamilyDescriptor& smollm3_family();
const FamilyDescriptor& granite_family();
const FamilyDescriptor& gemma2_family();
const FamilyDescriptor& gemma3_family();
const FamilyDescriptor& olmo2_family();

std::span<const FamilyDescriptor* const> families() {
    static const std::array all{&gpt2_family(),    &llama_family(),   &gpt_neox_family(), &mistral_family(),
                                &qwen2_family(),   &qwen3_family(),   &gemma_family(),    &phi3_family(),
                                &smollm3_family(), &granite_family(), &gemma2_family(),   &gemma3_family(),
                                &olmo2_family()};
    return all;
}

const FamilyDescriptor* find_family(std::string_view name) {
    const auto all = families();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto* family) { return family->name == name; });
    return found == all.end() ? nullptr : *found;
}

const FamilyDescriptor& family_of(const spec::Model& model) {
    const auto* family = find_family(model.family);
    ZG_EXPECTS(family != nullptr);
    return *family;
}

bool FamilyDescriptor::scales_by(spec::RopeScalingKind kind) const {
    const auto& kinds = published.scalings;
    return kind == spec::RopeScalingKind::none ||
           (has_rotary_positions() && (kinds.empty() || std::ranges::find(kinds, kind) != kinds.end()));
}

const spec::Model* find_preset(std::string_view name) {
    for (const auto* family : families()) {
        for (const auto& preset : family->presets) {
            if (preset.name == name) {
                return &preset.model;
            }
        }
    }
    return nullptr;
}

}  // namespace ziggurat::layout
