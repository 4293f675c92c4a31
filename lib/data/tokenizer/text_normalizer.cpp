#include "data/tokenizer/text_normalizer.hpp"

#include <numeric>
#include <utility>

#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

class Composition final : public NormalizingStep {
  public:
    bool changes(std::string_view text) const override { return !form_.is_composed(text); }
    std::string changed(std::string_view text) const override { return form_.of(text); }
    std::vector<std::uint32_t> origins(std::string_view text) const override {
        return form_.origins_of(text);
    }

  private:
    ComposedForm form_;
};

class Replacement final : public NormalizingStep {
  public:
    Replacement(std::unique_ptr<const Pattern> pattern, std::string content)
        : pattern_{std::move(pattern)}, content_{std::move(content)} {}

    bool changes(std::string_view text) const override {
        MatchRange match;
        return pattern_->search(text, 0, match);
    }
    std::string changed(std::string_view text) const override {
        std::string made;
        made.reserve(text.size() + text.size() / 2);
        MatchIterator matches{*pattern_, text};
        std::size_t done = 0;
        for (MatchRange match; matches.next(match); done = match.end) {
            made += text.substr(done, match.begin - done);
            made += content_;
        }
        return made += text.substr(done);
    }
    std::vector<std::uint32_t> origins(std::string_view text) const override {
        std::vector<std::uint32_t> made;
        const auto keep_until = [&](std::size_t begin, std::size_t end) {
            for (auto at = begin; at < end; ++at) {
                made.push_back(static_cast<std::uint32_t>(at));
            }
        };
        MatchIterator matches{*pattern_, text};
        std::size_t done = 0;
        for (MatchRange match; matches.next(match); done = match.end) {
            keep_until(done, match.begin);
            made.resize(made.size() + content_.size(), static_cast<std::uint32_t>(match.begin));
        }
        keep_until(done, text.size() + 1);
        return made;
    }

  private:
    std::unique_ptr<const Pattern> pattern_;
    std::string content_;
};

class Prefix final : public NormalizingStep {
  public:
    explicit Prefix(std::string content) : content_{std::move(content)} {}

    bool changes(std::string_view text) const override { return !text.empty(); }
    std::string changed(std::string_view text) const override { return content_ + std::string{text}; }
    std::vector<std::uint32_t> origins(std::string_view text) const override {
        std::vector<std::uint32_t> made(content_.size() + text.size() + 1, 0U);
        std::iota(made.begin() + std::ssize(content_), made.end(), 0U);
        return made;
    }

  private:
    std::string content_;
};

class Strip final : public NormalizingStep {
  public:
    Strip(bool at_left, bool at_right) : at_left_{at_left}, at_right_{at_right} {}

    bool changes(std::string_view text) const override { return stripped(text).size() != text.size(); }
    std::string changed(std::string_view text) const override { return std::string{stripped(text)}; }
    bool removes_beginning() const override { return at_left_; }
    std::vector<std::uint32_t> origins(std::string_view text) const override {
        const auto kept = stripped(text);
        std::vector<std::uint32_t> made(kept.size() + 1);
        std::iota(made.begin(), made.end(), static_cast<std::uint32_t>(kept.data() - text.data()));
        made.back() = static_cast<std::uint32_t>(text.size());
        return made;
    }

  private:
    std::string_view stripped(std::string_view text) const {
        while (at_left_ && !text.empty() && is_white_space(character_at(text, 0).code)) {
            text.remove_prefix(character_at(text, 0).bytes);
        }
        while (at_right_ && !text.empty()) {
            const auto last = character_before(text, text.size());
            if (!is_white_space(character_at(text, last).code)) {
                break;
            }
            text = text.substr(0, last);
        }
        return text;
    }

    bool at_left_;
    bool at_right_;
};

}  // namespace

std::unique_ptr<const NormalizingStep> make_composition() {
    return std::make_unique<Composition>();
}

std::unique_ptr<const NormalizingStep> make_replacement(std::unique_ptr<const Pattern> pattern,
                                                        std::string content) {
    return std::make_unique<Replacement>(std::move(pattern), std::move(content));
}

std::unique_ptr<const NormalizingStep> make_prefix(std::string content) {
    return std::make_unique<Prefix>(std::move(content));
}

std::unique_ptr<const NormalizingStep> make_strip(bool at_left, bool at_right) {
    return std::make_unique<Strip>(at_left, at_right);
}

NormalizedText TextNormalizer::normalize(std::string_view text, std::string& buffer) const {
    return normalize(text, buffer, nullptr);
}

NormalizedText TextNormalizer::normalize(std::string_view text,
                                         std::string& buffer,
                                         std::vector<std::uint32_t>& origins) const {
    return normalize(text, buffer, &origins);
}

NormalizedText TextNormalizer::normalize(std::string_view text,
                                         std::string& buffer,
                                         std::vector<std::uint32_t>* origins) const {
    NormalizedText made{text};
    for (const auto& step : steps_) {
        if (step->changes(made.text)) {
            const bool has_removed =
                step->removes_beginning() && is_white_space(character_at(made.text, 0).code);
            made.keeps_beginning = made.keeps_beginning && !has_removed;
            if (origins != nullptr) {
                auto changed = step->origins(made.text);
                for (auto& origin : changed) {
                    origin = (*origins)[origin];
                }
                *origins = std::move(changed);
            }
            buffer = step->changed(made.text);
            made.text = buffer;
        }
    }
    return made;
}

}  // namespace ziggurat::data
