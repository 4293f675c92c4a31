/// Normalization form C: characters composed as far as they can be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ziggurat::data {

/// NFC as Hugging Face's tokenizers compute it, whose tables are of an older Unicode than Python's:
/// characters that were added since stay as they are. Immutable after it is made.
///
/// Source: Unicode Standard Annex 15; `composition_data_impl.hpp` for the tables
class ComposedForm {
  public:
    ComposedForm();

    /// True if `text`, valid UTF-8, is certainly its own composed form, as almost all text is.
    bool is_composed(std::string_view text) const noexcept;

    std::string of(std::string_view text) const;

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
    /// 0: the two do not compose.
    std::uint32_t whole_of(std::uint32_t first, std::uint32_t second) const;

    std::vector<std::uint8_t> class_of_;  ///< by code
    std::vector<bool> may_change_;        ///< by code
    std::unordered_map<std::uint32_t, Parts> parts_;
    std::unordered_map<std::uint64_t, std::uint32_t> whole_;
};

}  // namespace ziggurat::data
