/// Loop over the sources of a deck; only rules_*.cpp includes it.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

inline constexpr std::array source_lists = {"data.train", "data.validation"};

/// Calls `visit(path, source)` for each source without bad keys; a path is `data.train[0]`.
template <class Visitor>
void for_each_source(const Resolution& at, Visitor visit) {
    for (const char* list : source_lists) {
        const auto& sources =
            list == std::string_view{source_lists[0]} ? at.run.data.train : at.run.data.validation;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const std::string path = fmt::format("{}[{}]", list, i);
            if (!at.values.is_bad(path + ".format") && !at.values.is_bad(path + ".path") &&
                !at.values.is_bad(path + ".dtype")) {
                visit(path, sources[i]);
            }
        }
    }
}

}  // namespace ziggurat::deck
