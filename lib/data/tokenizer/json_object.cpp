#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/json_depth.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"

namespace ziggurat::data {

void refuse_tokenizer(const std::string& path, const std::string& reason) {
    throw Error{ErrorKind::deck,
                fmt::format("cannot use '{}' ({}). Fetch the tokenizer again, or name another.",
                            printable(path), reason)};
}

void expect_tokenizer(const std::string& path, std::string_view content) {
    if (const auto found = recognise_file(content)) {
        throw Error{ErrorKind::deck, fmt::format("cannot use '{}' (it is {}). {}", printable(path),
                                                 found->what, found->remedy)};
    }
}

void tokenizer_is_not_built(const std::string& path, const std::string& what) {
    throw TokenizerNotBuilt{
        fmt::format("cannot use '{}' ({}, which is not implemented). Make token files with Hugging Face's "
                    "tokenizers instead; decks/DATA.md has the formats.",
                    printable(path), what)};
}

TokenizerJson parse_json_file(const MappedFile& file) {
    constexpr int deepest = 32;
    constexpr std::int64_t max_file_bytes = std::int64_t{64}
                                            << 20;  // bounds the memory of the parsed document
    if (file.bytes() > max_file_bytes) {
        refuse_tokenizer(file.path(),
                         fmt::format("it has {} bytes, more than {}", file.bytes(), max_file_bytes));
    }
    const std::string_view text{reinterpret_cast<const char*>(file.content().data()), file.content().size()};
    expect_tokenizer(file.path(), text);
    if (is_json_deeper(text, deepest)) {
        refuse_tokenizer(file.path(), fmt::format("its brackets are nested deeper than {}", deepest));
    }
    try {
        return TokenizerJson::parse(text);
    } catch (const TokenizerJson::exception& problem) {
        refuse_tokenizer(file.path(), fmt::format("it is not JSON: {}", for_display(problem.what())));
    } catch (const std::bad_alloc&) {
        throw Error{ErrorKind::resource, fmt::format("out of memory for '{}' ({} bytes). Free some.",
                                                     printable(file.path()), file.bytes())};
    }
}

namespace {

void collect(const JsonObject& step, const char* inner, std::vector<JsonObject>& steps) {
    if (step.type() != "Sequence") {
        steps.push_back(step);
        return;
    }
    step.has_only({"type", inner});
    for (const auto& smaller : step.list(inner)) {
        collect(smaller, inner, steps);
    }
}

}  // namespace

std::vector<JsonObject> steps_of(const JsonObject& file, const char* name, const char* inner) {
    std::vector<JsonObject> steps;
    if (file.has(name)) {
        collect(file.object(name), inner, steps);
    }
    return steps;
}

JsonObject::JsonObject(const TokenizerJson& json, std::string location, const std::string& path)
    : json_{&json}, location_{std::move(location)}, path_{path} {
    if (!json.is_object()) {
        refuse_tokenizer(path,
                         fmt::format("its {} is not an object", location_.empty() ? "content" : location_));
    }
}

void JsonObject::refuse(const std::string& reason) const {
    refuse_tokenizer(path_, fmt::format("its {} {}", location_.empty() ? "content" : location_, reason));
}

void JsonObject::unsupported(const std::string& what) const {
    tokenizer_is_not_built(path_, fmt::format("its {} {}", location_.empty() ? "content" : location_, what));
}

bool JsonObject::has(const char* key) const {
    const auto found = json_->find(key);
    return found != json_->end() && !found->is_null();
}

const TokenizerJson& JsonObject::at(const char* key) const {
    const auto found = json_->find(key);
    if (found == json_->end()) {
        refuse(fmt::format("has no {}", key));
    }
    return *found;
}

std::string JsonObject::text(const char* key) const {
    const auto& value = at(key);
    if (!value.is_string()) {
        refuse(fmt::format("has a {} that is not a text", key));
    }
    return value.get<std::string>();
}

bool JsonObject::boolean(const char* key) const {
    const auto& value = at(key);
    if (!value.is_boolean()) {
        refuse(fmt::format("has a {} that is neither true nor false", key));
    }
    return value.get<bool>();
}

bool JsonObject::boolean(const char* key, bool default_value) const {
    return has(key) ? boolean(key) : default_value;
}

JsonObject JsonObject::object(const char* key) const {
    return {at(key), location_.empty() ? key : location_ + "." + key, path_};
}

std::vector<JsonObject> JsonObject::list(const char* key) const {
    const auto& value = at(key);
    if (!value.is_array()) {
        refuse(fmt::format("has a {} that is not a list", key));
    }
    std::vector<JsonObject> objects;
    for (std::size_t i = 0; i < value.size(); ++i) {
        objects.emplace_back(
            value[i], fmt::format("{}{}{}[{}]", location_, location_.empty() ? "" : ".", key, i), path_);
    }
    return objects;
}

void JsonObject::has_only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : json_->items()) {
        if (std::ranges::find(keys, std::string_view{key}) == keys.end()) {
            unsupported(fmt::format("has {}", for_display(key)));
        }
    }
}

}  // namespace ziggurat::data
