/// Normalizer: changes a text before it is cut into pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/composed_form.hpp"
#include "data/tokenizer/pattern.hpp"

namespace ziggurat::data {

/// A text in its normalized form.
struct NormalizedText {
    std::string_view text;
    bool keeps_beginning = true;  ///< no character was removed from its beginning

    bool operator==(const NormalizedText&) const = default;
};

/// One step of normalizing.
class NormalizingStep {
  public:
    virtual ~NormalizingStep() = default;

    /// False if `text`, valid UTF-8, stays as it is.
    virtual bool changes(std::string_view text) const = 0;
    virtual std::string changed(std::string_view text) const = 0;
    virtual bool removes_beginning() const { return false; }
};

/// Normalization form C.
std::unique_ptr<const NormalizingStep> make_composition();

/// Writes `content` in the place of each match.
std::unique_ptr<const NormalizingStep> make_replacement(std::unique_ptr<const Pattern> pattern,
                                                        std::string content);

/// Puts `content` before each text that is not empty.
std::unique_ptr<const NormalizingStep> make_prefix(std::string content);

/// Removes white space from the ends.
std::unique_ptr<const NormalizingStep> make_strip(bool at_left, bool at_right);

/// Steps in a row, as Normalizer of Hugging Face's tokenizers; without any, a text stays as it is.
class TextNormalizer {
  public:
    void add(std::unique_ptr<const NormalizingStep> step) { steps_.push_back(std::move(step)); }

    /// \param buffer  the result points into it where it is not `text` itself
    NormalizedText normalize(std::string_view text, std::string& buffer) const;

  private:
    std::vector<std::unique_ptr<const NormalizingStep>> steps_;
};

}  // namespace ziggurat::data
