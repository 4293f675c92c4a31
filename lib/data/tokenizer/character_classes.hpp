/// Classes of characters that known patterns tell apart: letters, numbers, white space, all others.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tokenizer/characters.hpp"

namespace ziggurat::data {

enum class CharacterClass : std::uint8_t { other, letter, number, space };

/// `\p{L}`, `\p{N}` and `\s` of every code, in 1 MiB, of the tables that compiled patterns have too.
class CharacterClasses {
  public:
    CharacterClasses();

    /// \param code  at most `most_code`
    CharacterClass operator[](std::uint32_t code) const noexcept { return classes_[code]; }

  private:
    std::vector<CharacterClass> classes_;
};

}  // namespace ziggurat::data
