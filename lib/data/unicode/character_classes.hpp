/// Character classes of the known patterns: letters, numbers, white space, all others.
#pragma once

#include <cstdint>
#include <vector>

#include "data/unicode/characters.hpp"

namespace ziggurat::data {

enum class CharacterClass : std::uint8_t { other, letter, number, space };

/// `\p{L}`, `\p{N}` and `\s` of every code, in 1 MiB, from the tables that compiled patterns use.
class CharacterClasses {
  public:
    CharacterClasses();

    /// \param code  at most `max_code`
    CharacterClass operator[](std::uint32_t code) const noexcept { return classes_[code]; }

  private:
    std::vector<CharacterClass> classes_;
};

}  // namespace ziggurat::data
