#include "deck/files/hf_layer_list.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

namespace ziggurat::deck {

using Json = ConfigReading::Json;

void read_layer_list(ConfigReading& reading, const layout::HfLayerList& list) {
    const Json* entries = ConfigReading::find_value(reading.document(), list.name);
    const Json* interval = ConfigReading::find_value(reading.document(), list.interval);
    if (entries == nullptr) {
        if (interval == nullptr) {
            reading.record(list.deck_key, list.fallback, list.interval);
        } else if (auto text = reading.text_of(list.interval, *interval)) {
            reading.record(list.deck_key, std::move(*text), list.interval);
        }
        return;
    }
    const auto is_special = [&](std::size_t i) { return (*entries)[i] == list.special; };
    std::size_t first = 0;  // layers up to the first special one, with it; 0: none is special
    bool is_even = entries->is_array();
    for (std::size_t i = 0; is_even && i < entries->size(); ++i) {
        first = first == 0 && is_special(i) ? i + 1 : first;
        is_even = is_special(i) ? (i + 1) % first == 0
                                : (*entries)[i] == list.usual && (first == 0 || (i + 1) % first != 0);
    }
    if (is_even) {
        reading.record(list.deck_key, first == 0 ? "none" : std::to_string(first), list.name);
    } else {
        reading.report_finding(
            list.name, fmt::format("{} = {} is not implemented", list.name, shown(*entries)),
            fmt::format("every n-th layer has {} here, and all others {}", list.special, list.usual),
            "Use a model that has it.");
    }
}

}  // namespace ziggurat::deck
