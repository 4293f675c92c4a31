/// Guess of a file's format from its beginning, for messages about files with an unexpected format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/token_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Number of bytes at the beginning of a file on which the guess is based.
inline constexpr std::int64_t max_looked_at = std::int64_t{16} << 10;

struct FileProbe {
    std::string what = {};                      ///< `a gzip archive`; empty: unknown
    std::string remedy = {};                    ///< a sentence that describes how to read it
    std::optional<spec::RawType> numbers = {};  ///< it looks like bare token numbers of that type
    bool is_text = false;                       ///< it looks like text
    double share_of_text = 0;                   ///< share of its first bytes that belong to UTF-8 characters
    bool is_certain = false;                    ///< its beginning is unique to this format
    bool is_wide_text = false;                  ///< it begins like UTF-16 or UTF-32, as token numbers may
};

/// Guesses the format of a file that is not empty.
///
/// Control characters other than white space do not count as text. Numbers below 128 in two bytes each, and
/// UTF-16, therefore do not count as text. Token numbers are distinguished from other numbers by unused
/// values: 32-bit ids are small, and no vocabulary uses all of 16 bits.
FileProbe probe_content(std::span<const std::byte> content);

/// Reason why a source that can be opened may have another format.
struct FormatWarning {
    std::string path;         ///< the file
    std::string reason;       ///< the reason, for the message
    std::string remedy;       ///< a sentence
    bool is_certain = false;  ///< the beginning is unique to files of another kind
};

/// Checks the beginning of each file of a text or raw source, which have no header.
///
/// Token numbers may begin like text in UTF-16 or UTF-32. A raw source is not suspected of such text if all
/// its first numbers may be ids of its type.
///
/// Empty if all files look as expected.
std::optional<FormatWarning> check_format(const spec::Source& source, const TokenSource& opened);

}  // namespace ziggurat::data
