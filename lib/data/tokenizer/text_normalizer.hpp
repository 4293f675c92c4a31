/// Normalizer: changes a text before it is split into pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/pattern.hpp"
#include "data/unicode/composed_form.hpp"

namespace ziggurat::data {

/// A text in its normalized form.
struct NormalizedText {
    std::string_view text;
    bool keeps_beginning = true;  ///< no character was removed from its beginning

    bool operator==(const NormalizedText&) const = default;
};

/// One normalization step.
class NormalizingStep {
  public:
    virtual ~NormalizingStep() = default;

    /// False if the step does not change `text`, which is valid UTF-8.
    virtual bool changes(std::string_view text) const = 0;
    virtual std::string changed(std::string_view text) const = 0;
    virtual bool removes_beginning() const { return false; }

    /// Returns the offset in `text` of the origin of each byte of changed(text), then text.size().
    virtual std::vector<std::uint32_t> origins(std::string_view text) const = 0;
};

/// Creates normalization form C.
std::unique_ptr<const NormalizingStep> make_composition();

/// Creates a step that replaces each match by `content`.
std::unique_ptr<const NormalizingStep> make_replacement(std::unique_ptr<const Pattern> pattern,
                                                        std::string content);

/// Creates a step that adds `content` before each text that is not empty.
std::unique_ptr<const NormalizingStep> make_prefix(std::string content);

/// Creates a step that removes white space from the ends.
std::unique_ptr<const NormalizingStep> make_strip(bool at_left, bool at_right);

/// Sequence of steps, as Normalizer of Hugging Face's tokenizers.
///
/// Without steps, a text does not change.
class TextNormalizer {
  public:
    void add(std::unique_ptr<const NormalizingStep> step) { steps_.push_back(std::move(step)); }

    /// \param buffer  holds the result if it is not `text` itself
    NormalizedText normalize(std::string_view text, std::string& buffer) const;

    /// Does the same, and converts offsets.
    ///
    /// \param origins  before the call, an offset for each byte of `text` and its end; after it, for each byte
    ///                 of the result and its end
    NormalizedText normalize(std::string_view text,
                             std::string& buffer,
                             std::vector<std::uint32_t>& origins) const;

  private:
    NormalizedText normalize(std::string_view text,
                             std::string& buffer,
                             std::vector<std::uint32_t>* origins) const;

    std::vector<std::unique_ptr<const NormalizingStep>> steps_;
};

}  // namespace ziggurat::data
