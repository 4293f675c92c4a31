/// Guess at the content of a file by its beginning, for messages about files of another format than was said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/token_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Bytes at the beginning of a file that a guess is made from.
inline constexpr std::int64_t most_looked_at = std::int64_t{16} << 10;

struct FileLook {
    std::string what = {};                      ///< `a gzip archive`; empty: nothing that is known
    std::string remedy = {};                    ///< a sentence: how it is read
    std::optional<spec::RawType> numbers = {};  ///< it looks like bare token numbers of that type
    bool is_text = false;                       ///< it looks like text
    double share_of_text = 0;                   ///< of its first bytes: those of characters in UTF-8
    bool is_certain = false;                    ///< it begins as only such files do
};

/// Of a file with something in it.
///
/// Control characters besides those that move on are no text, so that neither numbers below 128 in two bytes
/// each nor UTF-16 count as text. Numbers are told from others by what they leave unused: ids of 32 bits are
/// small, and no vocabulary takes up all of 16 bits.
FileLook look_at(std::span<const std::byte> content);

/// Why a source that can be opened may not be of its format.
struct Doubt {
    std::string path;         ///< the file
    std::string why;          ///< the reason in a complaint
    std::string remedy;       ///< a sentence
    bool is_certain = false;  ///< it begins as only files of another kind do
};

/// Looks at the beginning of each file of a source of text or of raw numbers, which have no header to be
/// wrong; nothing where all is as it should be.
std::optional<Doubt> doubt_of(const spec::Source& source, const TokenSource& opened);

}  // namespace ziggurat::data
