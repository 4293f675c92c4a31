/// Classes of characters as Oniguruma's tables have them: letters, numbers, white space, all others.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tokenizer/characters.hpp"

namespace ziggurat::data {

enum class CharacterClass : std::uint8_t { other, letter, number, space };

/// `\p{L}`, `\p{N}` and `\s` of every code, in 1 MiB; made of the engine's own tables, so that both agree
/// whatever version of Unicode these are of.
class CharacterClasses {
  public:
    /// Errors: Error{internal} when the engine has no such table
    CharacterClasses();

    /// \param code  at most `most_code`
    CharacterClass operator[](std::uint32_t code) const noexcept { return classes_[code]; }

  private:
    std::vector<CharacterClass> classes_;
};

}  // namespace ziggurat::data
