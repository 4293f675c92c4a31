/// Unicode normalization form C: characters composed as far as possible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ziggurat::data {

/// NFC as in Hugging Face's tokenizers, whose Unicode tables are older than Python's. Immutable.
///
/// Characters that were added to Unicode later do not change.
///
/// Source: Unicode Standard Annex 15; `composition_data_impl.hpp` for the tables
class ComposedForm {
  public:
    ComposedForm();

    /// True if `text`, valid UTF-8, is certainly equal to its composed form, as almost all text is.
    bool is_composed(std::string_view text) const noexcept;

    std::string of(std::string_view text) const;

    /// Returns the offset in `text` of the origin of each byte of of(text), then text.size().
    ///
    /// Characters that compose have the offset of the first of them.
    std::vector<std::uint32_t> origins_of(std::string_view text) const;

  private:
    /// A character with its canonical combining class.
    struct Mark {
        std::uint32_t code;
        std::uint8_t combining_class;
    };
    struct Parts {
        std::uint32_t first, second;
    };

    void decompose(std::uint32_t code, std::vector<Mark>& marks) const;
    /// Returns the composed character; 0: the two do not compose.
    std::uint32_t whole_of(std::uint32_t first, std::uint32_t second) const;

    std::vector<std::uint8_t> class_of_;  ///< by code
    std::vector<bool> may_change_;        ///< by code
    std::unordered_map<std::uint32_t, Parts> parts_;
    std::unordered_map<std::uint64_t, std::uint32_t> whole_;
};

}  // namespace ziggurat::data
