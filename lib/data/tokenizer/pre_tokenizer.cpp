#include "data/tokenizer/pre_tokenizer.hpp"

#include <algorithm>
#include <utility>

namespace ziggurat::data {
namespace {

/// A part of a piece, and a flag for delimiters.
struct SplitPart {
    MatchRange range;
    bool is_match = false;
};

class Split final : public CuttingStep {
  public:
    Split(std::unique_ptr<const Pattern> pattern, SplitBehavior behavior, bool is_inverted)
        : pattern_{std::move(pattern)}, behavior_{behavior}, is_inverted_{is_inverted} {}

    void cut(TextPiece whole, PieceSink& sink) const override {
        const auto piece = whole.text;
        const auto give = [&](MatchRange range) {
            if (!range.is_empty()) {
                sink.take({piece.substr(range.begin, range.end - range.begin),
                           whole.begins_text && range.begin == 0, whole.origins_from(range.begin)});
            }
        };
        switch (behavior_) {
            case SplitBehavior::isolated:
                each_part(piece, [&](SplitPart part) { give(part.range); });
                return;
            case SplitBehavior::removed:
                each_part(piece, [&](SplitPart part) {
                    if (!part.is_match) {
                        give(part.range);
                    }
                });
                return;
            case SplitBehavior::merged_with_previous:
            case SplitBehavior::merged_with_next:
            case SplitBehavior::contiguous:
                for (const auto range : merged_parts(piece)) {
                    give(range);
                }
                return;
        }
    }

  private:
    template <class Take>
    void each_part(std::string_view piece, const Take& take) const {
        MatchIterator matches{*pattern_, piece};
        std::size_t done = 0;
        for (MatchRange match; matches.next(match); done = match.end) {
            if (done != match.begin) {
                take(SplitPart{{done, match.begin}, is_inverted_});
            }
            take(SplitPart{match, !is_inverted_});
        }
        if (done != piece.size()) {
            take(SplitPart{{done, piece.size()}, is_inverted_});
        }
    }

    // Merges parts as NormalizedString::split() of Hugging Face's tokenizers does.
    std::vector<MatchRange> merged_parts(std::string_view piece) const {
        std::vector<SplitPart> parts;
        each_part(piece, [&](SplitPart part) { parts.push_back(part); });
        const bool is_from_end = behavior_ == SplitBehavior::merged_with_next;
        if (is_from_end) {
            std::ranges::reverse(parts);
        }
        std::vector<MatchRange> merged;
        bool was_match = false;
        for (const auto& part : parts) {
            const bool joins = behavior_ == SplitBehavior::contiguous ? part.is_match == was_match
                                                                      : part.is_match && !was_match;
            was_match = part.is_match;
            if (!joins || merged.empty()) {
                merged.push_back(part.range);
            } else if (is_from_end) {
                merged.back().begin = part.range.begin;
            } else {
                merged.back().end = part.range.end;
            }
        }
        if (is_from_end) {
            std::ranges::reverse(merged);
        }
        return merged;
    }

    std::unique_ptr<const Pattern> pattern_;
    SplitBehavior behavior_;
    bool is_inverted_;
};

class PrefixSpace final : public CuttingStep {
  public:
    void cut(TextPiece piece, PieceSink& sink) const override {
        if (piece.text.starts_with(' ')) {
            sink.take(piece);
            return;
        }
        std::string with_space = " ";
        with_space += piece.text;
        std::vector<std::uint32_t> origins;
        if (piece.origins != nullptr) {
            origins.push_back(*piece.origins);
            origins.insert(origins.end(), piece.origins, piece.origins_from(piece.text.size() + 1));
        }
        sink.take({with_space, piece.begins_text, piece.origins == nullptr ? nullptr : origins.data()});
    }
};

class Metaspace final : public CuttingStep {
  public:
    Metaspace(std::string mark, MarkedPieces marked, bool cuts)
        : mark_{std::move(mark)}, marked_{marked}, cuts_{cuts} {}

    void cut(TextPiece piece, PieceSink& sink) const override {
        const bool may_lack_mark =
            marked_ == MarkedPieces::all || (marked_ == MarkedPieces::first_of_text && piece.begins_text);
        std::string marks;
        marks.reserve(piece.text.size() + piece.text.size() / 2 + mark_.size());
        if (may_lack_mark && !piece.text.starts_with(' ') && !piece.text.starts_with(mark_)) {
            marks += mark_;
        }
        std::vector<std::uint32_t> origins;
        if (piece.origins != nullptr) {
            origins.assign(marks.size(), *piece.origins);
        }
        for (std::size_t i = 0; i < piece.text.size(); ++i) {
            if (piece.text[i] == ' ') {
                marks += mark_;
            } else {
                marks += piece.text[i];
            }
            if (piece.origins != nullptr) {
                origins.resize(marks.size(), piece.origins[i]);
            }
        }
        if (piece.origins != nullptr) {
            origins.push_back(piece.origins[piece.text.size()]);
        }
        const std::string_view text = marks;
        std::size_t begin = 0;
        while (begin < text.size()) {
            const auto next = cuts_ ? text.find(mark_, begin + 1) : std::string_view::npos;
            const auto end = std::min(next, text.size());
            sink.take({text.substr(begin, end - begin), piece.begins_text && begin == 0,
                       piece.origins == nullptr ? nullptr : origins.data() + begin});
            begin = end;
        }
    }

  private:
    std::string mark_;
    MarkedPieces marked_;
    bool cuts_;
};

}  // namespace

std::unique_ptr<const CuttingStep> make_split(std::unique_ptr<const Pattern> pattern,
                                              SplitBehavior behavior,
                                              bool is_inverted) {
    return std::make_unique<Split>(std::move(pattern), behavior, is_inverted);
}

std::unique_ptr<const CuttingStep> make_prefix_space() {
    return std::make_unique<PrefixSpace>();
}

std::unique_ptr<const CuttingStep> make_metaspace(std::string mark, MarkedPieces marked, bool cuts) {
    return std::make_unique<Metaspace>(std::move(mark), marked, cuts);
}

void PreTokenizer::cut_from(std::size_t step, TextPiece piece, PieceSink& sink) const {
    if (step == steps_.size()) {
        if (!piece.text.empty()) {
            sink.take(piece);
        }
        return;
    }
    if (step + 1 == steps_.size()) {
        steps_[step]->cut(piece, sink);
        return;
    }
    class Next final : public PieceSink {
      public:
        Next(const PreTokenizer& cutter, std::size_t next_step, PieceSink& last)
            : cutter_{cutter}, step_{next_step}, sink_{last} {}
        void take(TextPiece smaller) override { cutter_.cut_from(step_, smaller, sink_); }

      private:
        const PreTokenizer& cutter_;
        std::size_t step_;
        PieceSink& sink_;
    };
    Next next{*this, step + 1, sink};
    steps_[step]->cut(piece, next);
}

}  // namespace ziggurat::data
