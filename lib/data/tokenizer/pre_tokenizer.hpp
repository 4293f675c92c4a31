/// Pre-tokenizer: cuts a text into the pieces within which tokens are merged.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/pattern.hpp"

namespace ziggurat::data {

/// A piece, and whether it begins where its text does.
struct TextPiece {
    std::string_view text;
    bool begins_text = false;
};

/// Takes the pieces of a text, one after the other; none is empty.
class PieceSink {
  public:
    virtual void take(TextPiece piece) = 0;

  protected:
    ~PieceSink() = default;
};

/// One step of cutting: of each piece, smaller ones.
class CuttingStep {
  public:
    virtual ~CuttingStep() = default;
    virtual void cut(TextPiece piece, PieceSink& sink) const = 0;
};

/// Fate of a match, in Hugging Face's words.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Cuts at the matches of a pattern.
///
/// \param is_inverted  what matches is what is kept together, the rest is the delimiter
std::unique_ptr<const CuttingStep> make_split(std::unique_ptr<const Pattern> pattern,
                                              SplitBehavior behavior,
                                              bool is_inverted);

/// Puts a space before a piece that begins with none.
std::unique_ptr<const CuttingStep> make_prefix_space();

/// Pieces that Metaspace puts its mark before.
enum class MarkedPieces { all, first_of_text, none };

/// Metaspace: writes spaces as a mark, and puts one before pieces that begin with none.
///
/// \param mark   one character, such as U+2581
/// \param cuts   before each mark; else a piece stays whole
std::unique_ptr<const CuttingStep> make_metaspace(std::string mark, MarkedPieces marked, bool cuts);

/// Steps in a row; without any, a text is one piece.
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
