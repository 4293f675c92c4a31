/// Random keys of a deck that become auto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ziggurat::test {

/// A deck with keys that are auto. The rules may refuse it.
struct OpenDeck {
    std::string text;
    std::vector<std::string> keys;
};

/// Returns the paths of all keys of decks that accept auto, in the order of the schema.
std::vector<std::string> keys_with_auto();

/// Sets one to `max` keys of the deck to auto, including keys that it does not write; 0: none.
///
/// The first key is number `seed` of keys_with_auto(), modulo their number; the others are random.
///
/// \param stages  entries of parallel.pipeline.each, if the deck has no such list
/// Errors: Error{internal} if `text` is not YAML
OpenDeck with_auto_keys(const std::string& text, std::uint64_t seed, int stages, int max);

}  // namespace ziggurat::test
