#include "deck/files/hf_positions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "deck/files/hf_scaling.hpp"
#include "deck/files/position_maps.hpp"

namespace ziggurat::deck {
namespace {

using Json = ConfigReading::Json;

constexpr const char* share_name = "partial_rotary_factor";

void take(ConfigReading& reading, PositionMaps& maps, const layout::HfKey& key) {
    const std::string inside = key.in_rope_parameters;
    const std::vector<Mention> read{mention(maps.used(), inside), mention(maps.top(), key.name)};
    std::vector<Mention> all = read;
    all.push_back(mention(maps.other(), inside));
    // Some versions write these names in the other place, where they are not read.
    if (inside != key.name) {
        all.insert(all.end(), {mention(maps.top(), inside), mention(maps.used(), key.name),
                               mention(maps.other(), key.name)});
    }
    if (const Mention* used = first_of(read); used != nullptr) {
        if (auto text = reading.text_of(used->path, *used->value)) {
            reading.record(key.deck_key, std::move(*text), used->path);
            maps.expect_same(all, used->path, *used->value);
        }
        return;
    }
    reading.record(key.deck_key, key.fallback, key.name);
    maps.expect_same(all, fmt::format("{}, which is not given and so", key.name), Json::parse(key.fallback));
}

/// Takes the theta of layers with a window, whose positions are not scaled.
///
/// Source: Gemma3TextConfig of transformers 4 (rope_local_base_freq) and 5 (a map for these layers)
void take_window_theta(ConfigReading& reading, PositionMaps& maps, const layout::HfKey& key) {
    const auto& scope = maps.windows();
    for (const char* name : {"rope_type", "type"}) {
        const auto type = mention(scope, name);
        if (type.is_given() && *type.value != "default") {
            maps.refuse(type.path, fmt::format("{} = {} is not implemented", type.path, shown(*type.value)),
                        "positions of layers with a window are not scaled here");
        }
    }
    const std::vector<Mention> read{mention(scope, "rope_theta"), mention(maps.top(), key.name)};
    const Mention* used = first_of(read);
    if (used == nullptr) {
        reading.record(key.deck_key, key.fallback, key.name);
    } else if (auto text = reading.text_of(used->path, *used->value)) {
        reading.record(key.deck_key, std::move(*text), used->path);
        maps.expect_same(read, used->path, *used->value);
    }
}

/// Checks the share of channels for families without such a key: they rotate all channels of a head.
void expect_whole_channels(PositionMaps& maps, const layout::FamilyDescriptor& family) {
    const bool has_key = std::ranges::any_of(family.published.keys, [](const auto& key) {
        return key.in_rope_parameters != nullptr && key.in_rope_parameters == std::string_view{share_name};
    });
    for (const PositionScope* scope : {&maps.top(), &maps.used(), &maps.other()}) {
        const auto share = mention(*scope, share_name);
        if (!has_key && share.is_given() && *share.value != 1) {
            maps.refuse(share.path,
                        fmt::format("{} = {} is not implemented", share.path, shown(*share.value)),
                        fmt::format("{} rotates all channels of a head here", family.name));
        }
    }
}

}  // namespace

void read_positions(ConfigReading& reading, const layout::FamilyDescriptor& family) {
    PositionMaps maps{reading, family.window_rope_theta > 0};
    if (!maps.are_valid()) {
        return;
    }
    for (const auto& key : family.published.keys) {
        if (key.in_rope_parameters != nullptr) {
            take(reading, maps, key);
        } else if (key.deck_key == std::string_view{window_theta_key}) {
            take_window_theta(reading, maps, key);
        }
    }
    expect_whole_channels(maps, family);
    read_scaling(reading, maps, family);
}

}  // namespace ziggurat::deck
