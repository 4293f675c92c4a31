/// Pre-tokenizer: splits a text into the pieces within which tokens are merged.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/pattern.hpp"

namespace ziggurat::data {

/// A piece, and a flag that is true if it begins at the start of its text.
struct TextPiece {
    std::string_view text;
    bool begins_text = false;
    /// Offsets in the original text, one of each byte of `text` and the end; nullptr: not tracked.
    const std::uint32_t* origins = nullptr;

    const std::uint32_t* origins_from(std::size_t at) const noexcept {
        return origins == nullptr ? nullptr : origins + at;
    }
};

/// Receives the pieces of a text in order. Pieces are not empty.
class PieceSink {
  public:
    virtual void take(TextPiece piece) = 0;

  protected:
    ~PieceSink() = default;
};

/// One splitting step: divides each piece into smaller ones.
class CuttingStep {
  public:
    virtual ~CuttingStep() = default;
    virtual void cut(TextPiece piece, PieceSink& sink) const = 0;
};

/// Treatment of a match, in Hugging Face's terms.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Creates a step that splits at the matches of a pattern.
///
/// \param is_inverted  matches are kept and the rest is the delimiter
std::unique_ptr<const CuttingStep> make_split(std::unique_ptr<const Pattern> pattern,
                                              SplitBehavior behavior,
                                              bool is_inverted);

/// Creates a step that adds a space before pieces that do not begin with one.
std::unique_ptr<const CuttingStep> make_prefix_space();

/// Pieces that get Metaspace's mark as a prefix.
enum class MarkedPieces { all, first_of_text, none };

/// Creates Metaspace: replaces spaces by a mark, and adds one before pieces that do not begin with it.
///
/// \param mark   one character, such as U+2581
/// \param cuts   splits before each mark; else a piece stays whole
std::unique_ptr<const CuttingStep> make_metaspace(std::string mark, MarkedPieces marked, bool cuts);

/// Sequence of steps. Without steps, a text is one piece.
class PreTokenizer {
  public:
    void add(std::unique_ptr<const CuttingStep> step) { steps_.push_back(std::move(step)); }

    /// \param text  valid UTF-8
    void cut(TextPiece text, PieceSink& sink) const { cut_from(0, text, sink); }

  private:
    void cut_from(std::size_t step, TextPiece piece, PieceSink& sink) const;

    std::vector<std::unique_ptr<const CuttingStep>> steps_;
};

}  // namespace ziggurat::data
