#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"

namespace ziggurat::data {
namespace {

/// The expression of the step Digits.
constexpr const char* number_expression = R"(\p{N})";

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
        step.refuse(fmt::format("has a pattern that Oniguruma rejects: {}", for_display(problem.what())));
    }
}

}  // namespace

std::unique_ptr<const Pattern> read_pattern(const JsonObject& step) {
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
        pattern.unsupported("is an empty text");
    }
    return make_literal_pattern(text);
}

namespace {

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
    step.unsupported(fmt::format("has behavior '{}'", for_display(name)));
}

void add_byte_level(const JsonObject& step, PreTokenizer& made) {
    step.has_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    if (step.boolean("add_prefix_space")) {
        made.add(make_prefix_space());
    }
    if (step.boolean("use_regex", true)) {
        made.add(make_split(known_pattern(words_expression), SplitBehavior::isolated, false));
    }
}

MarkedPieces marked_pieces_of(const JsonObject& step) {
    const bool is_old = step.has("add_prefix_space") && !step.boolean("add_prefix_space");
    const auto scheme = step.has("prepend_scheme") ? step.text("prepend_scheme")
                        : is_old                   ? "never"
                                                   : "always";
    if (is_old && scheme != "never") {
        step.refuse(fmt::format("has add_prefix_space = false and prepend_scheme '{}'", for_display(scheme)));
    }
    if (scheme == "always") {
        return MarkedPieces::all;
    }
    if (scheme == "first") {
        return MarkedPieces::first_of_text;
    }
    if (scheme != "never") {
        step.unsupported(fmt::format("has prepend_scheme '{}'", for_display(scheme)));
    }
    return MarkedPieces::none;
}

void add_metaspace(const JsonObject& step, PreTokenizer& made) {
    step.has_only({"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
    made.add(make_metaspace(step.text("replacement"), marked_pieces_of(step), step.boolean("split", true)));
}

void add_step(const JsonObject& step, bool is_last, PreTokenizer& made) {
    const auto type = step.type();
    if (type == "ByteLevel") {
        if (!is_last) {
            step.unsupported("is a ByteLevel before other steps");
        }
        add_byte_level(step, made);
    } else if (type == "Split") {
        step.has_only({"type", "pattern", "behavior", "invert"});
        made.add(make_split(read_pattern(step), behavior_of(step), step.boolean("invert")));
    } else if (type == "Digits") {
        step.has_only({"type", "individual_digits"});
        made.add(make_split(
            compile_pattern(number_expression),
            step.boolean("individual_digits") ? SplitBehavior::isolated : SplitBehavior::contiguous, false));
    } else if (type == "Metaspace") {
        add_metaspace(step, made);
    } else {
        step.unsupported(fmt::format("is a {}", for_display(type)));
    }
}

}  // namespace

bool has_byte_level(const JsonObject& file) {
    const auto steps = steps_of(file, "pre_tokenizer", "pretokenizers");
    return !steps.empty() && steps.back().type() == "ByteLevel";
}

PreTokenizer read_pre_tokenizer(const JsonObject& file) {
    const auto steps = steps_of(file, "pre_tokenizer", "pretokenizers");
    PreTokenizer made;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        add_step(steps[i], i + 1 == steps.size(), made);
    }
    return made;
}

}  // namespace ziggurat::data
