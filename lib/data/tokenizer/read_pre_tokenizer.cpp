#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"

namespace ziggurat::data {
namespace {

/// Numbers by Unicode 15, of which the reference's Digits are; Oniguruma's tables end before these.
constexpr const char* number_expression =
    R"([\p{N}\x{11F50}-\x{11F59}\x{1D2C0}-\x{1D2D3}\x{1E4F0}-\x{1E4F9}])";

std::unique_ptr<const Pattern> compiled(const JsonObject& step, const std::string& expression) {
    if (auto known = known_pattern(expression)) {
        return known;
    }
    try {
        return compile_pattern(expression);
    } catch (const Error& problem) {
        if (problem.kind() != ErrorKind::deck) {
            throw;
        }
        step.refuse(fmt::format("has a pattern that Oniguruma refuses: {}", told(problem.what())));
    }
}

/// An expression that matches `text` alone.
std::string escaped(std::string_view text) {
    constexpr std::string_view special = R"(\.+*?()|[]{}^$#&-~)";
    std::string expression;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos) {
            expression += '\\';
        }
        expression += c;
    }
    return expression;
}

std::unique_ptr<const Pattern> pattern_of(const JsonObject& step) {
    const auto pattern = step.object("pattern");
    pattern.has_only({"Regex", "String"});
    if (pattern.has("Regex") == pattern.has("String")) {
        pattern.refuse("is neither a Regex nor a String");
    }
    if (pattern.has("Regex")) {
        return compiled(step, pattern.text("Regex"));
    }
    const auto text = pattern.text("String");
    if (text.empty()) {
        pattern.not_built("is an empty text");
    }
    return compiled(step, escaped(text));
}

SplitBehavior behavior_of(const JsonObject& step) {
    constexpr std::pair<std::string_view, SplitBehavior> behaviors[] = {
        {"Removed", SplitBehavior::removed},
        {"Isolated", SplitBehavior::isolated},
        {"MergedWithPrevious", SplitBehavior::merged_with_previous},
        {"MergedWithNext", SplitBehavior::merged_with_next},
        {"Contiguous", SplitBehavior::contiguous}};
    const auto name = step.text("behavior");
    for (const auto& [known, behavior] : behaviors) {
        if (name == known) {
            return behavior;
        }
    }
    step.not_built(fmt::format("has behavior '{}'", told(name)));
}

void add_byte_level(const JsonObject& step, PreTokenizer& made) {
    step.has_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    if (step.truth("add_prefix_space")) {
        made.add(make_prefix_space());
    }
    if (step.truth("use_regex", true)) {
        made.add(make_split(known_pattern(words_expression), SplitBehavior::isolated, false));
    }
}

void add_step(const JsonObject& step, bool is_last, PreTokenizer& made) {
    const auto type = step.type();
    if (type == "ByteLevel") {
        if (!is_last) {
            step.not_built("is a ByteLevel before other steps");
        }
        add_byte_level(step, made);
    } else if (is_last) {
        step.not_built(fmt::format("ends with {} and not with ByteLevel", told(type)));
    } else if (type == "Split") {
        step.has_only({"type", "pattern", "behavior", "invert"});
        made.add(make_split(pattern_of(step), behavior_of(step), step.truth("invert")));
    } else if (type == "Digits") {
        step.has_only({"type", "individual_digits"});
        made.add(make_split(
            compile_pattern(number_expression),
            step.truth("individual_digits") ? SplitBehavior::isolated : SplitBehavior::contiguous, false));
    } else {
        step.not_built(fmt::format("is a {}", told(type)));
    }
}

/// Steps in their order, of sequences those within.
void collect(const JsonObject& step, std::vector<JsonObject>& steps) {
    if (step.type() != "Sequence") {
        steps.push_back(step);
        return;
    }
    step.has_only({"type", "pretokenizers"});
    for (const auto& inner : step.list("pretokenizers")) {
        collect(inner, steps);
    }
}

}  // namespace

PreTokenizer read_pre_tokenizer(const JsonObject& file) {
    if (!file.has("pre_tokenizer")) {
        file.not_built("has no pre_tokenizer");
    }
    std::vector<JsonObject> steps;
    collect(file.object("pre_tokenizer"), steps);
    if (steps.empty()) {
        file.not_built("has a pre_tokenizer without steps");
    }
    PreTokenizer made;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        add_step(steps[i], i + 1 == steps.size(), made);
    }
    return made;
}

}  // namespace ziggurat::data
