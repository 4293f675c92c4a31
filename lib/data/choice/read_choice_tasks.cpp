#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/json_depth.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "data/choice/choice_task.hpp"
#include "data/text/text_stream.hpp"

namespace ziggurat::data {
namespace {

using Json = nlohmann::json;

constexpr int deepest_line = 64;
constexpr int reported_columns = 120;
constexpr std::size_t max_line_bytes = std::size_t{16} << 20;

[[noreturn]] void refuse(const std::string& what) {
    throw Error{ErrorKind::deck, what};
}

Json parse(std::string_view line) {
    if (is_json_deeper(line, deepest_line)) {
        refuse(fmt::format("not a task (nested more than {} levels deep). Write one object on each line.",
                           deepest_line));
    }
    Json json;
    try {
        json = Json::parse(line);
    } catch (const Json::exception& problem) {
        refuse(fmt::format("not JSON ({}). Write one object on each line.",
                           shortened(printable(problem.what()), reported_columns)));
    }
    if (!json.is_object()) {
        refuse("not an object. Write one object on each line, with a context and endings.");
    }
    return json;
}

bool is_missing(const Json& value) {
    return value.is_null() || (value.is_array() && value.empty());
}

/// Returns the first of these fields that has a value; nullptr if there is no such field.
///
/// Null values and empty lists are missing, as tables with columns of one type write them.
const Json* find(const Json& object, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (const auto found = object.find(name); found != object.end() && !is_missing(*found)) {
            return &*found;
        }
    }
    return nullptr;
}

const std::string& text_of(const Json& value, const char* name) {
    if (!value.is_string()) {
        refuse(fmt::format("its {} is not a text. Write it in quotes.", name));
    }
    return value.get_ref<const std::string&>();
}

/// Returns the context of a task.
///
/// HellaSwag splits some contexts in two: complete sentences, and the beginning of another sentence.
std::string context_of(const Json& object) {
    if (const Json* whole = find(object, {"ctx"})) {
        return text_of(*whole, "ctx");
    }
    if (const Json* first = find(object, {"ctx_a"})) {
        std::string context = text_of(*first, "ctx_a");
        const Json* rest = find(object, {"ctx_b"});
        const std::string second = rest == nullptr ? "" : text_of(*rest, "ctx_b");
        return second.empty() ? context : context.empty() ? second : context + " " + second;
    }
    if (const Json* neutral = find(object, {"context"})) {
        return text_of(*neutral, "context");
    }
    refuse("no context (there is no ctx, ctx_a or context). Write the text before the endings as ctx.");
}

std::vector<std::string> endings_of(const Json& object) {
    const Json* list = find(object, {"endings", "choices"});
    if (list == nullptr || !list->is_array() || list->size() < 2) {
        refuse(fmt::format("{}. Write two texts or more to choose from, as a list called endings.",
                           list == nullptr
                               ? "no endings (there is no list endings or choices, or it is empty)"
                           : !list->is_array() ? "its endings are not a list"
                                               : "only one ending (there is no choice)"));
    }
    std::vector<std::string> endings;
    for (const auto& ending : *list) {
        if (!ending.is_string() || ending.get_ref<const std::string&>().empty()) {
            refuse(fmt::format("ending {} is {}. Write each as a text that is not empty.", endings.size(),
                               ending.is_string() ? "empty" : "not a text"));
        }
        endings.push_back(ending.get<std::string>());
    }
    return endings;
}

/// Returns an integer, or the integer in a text. `1.0` counts too: tables with missing values write it.
std::optional<std::int64_t> whole_number(const Json& value) {
    if (!value.is_string() && !value.is_number()) {
        return std::nullopt;
    }
    const auto text = value.is_string() ? value.get<std::string>() : value.dump();
    double number = -1;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    constexpr double max_label = 1e9;
    const bool is_whole = problem == std::errc{} && stop == end && number == std::floor(number);
    return is_whole && std::abs(number) <= max_label ? std::optional{static_cast<std::int64_t>(number)}
                                                     : std::nullopt;
}

std::optional<std::int64_t> label_of(const Json& object, std::size_t endings) {
    const Json* value = find(object, {"label"});
    if (value == nullptr || *value == "") {
        value = find(object, {"answer"});
    }
    if (value == nullptr || *value == "") {
        return std::nullopt;
    }
    const auto label = whole_number(*value).value_or(-1);
    if (label < 0 || label >= static_cast<std::int64_t>(endings)) {
        refuse(fmt::format(
            "label {} is not one of its endings (0 to {}). Write the index of the correct one, from 0, or "
            "omit the label.",
            shortened(printable(value->dump()), reported_columns), endings - 1));
    }
    return label;
}

ChoiceTask read_task(std::string_view line, std::int64_t number) {
    const Json object = parse(line);
    ChoiceTask task{
        .line = number, .context = context_of(object), .endings = endings_of(object), .label = {}};
    task.label = label_of(object, task.endings.size());
    return task;
}

/// Adds the task of a line, unless the line is blank.
void add_task(std::string_view line,
              std::int64_t number,
              const std::string& path,
              std::vector<ChoiceTask>& tasks) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
        return;
    }
    try {
        tasks.push_back(read_task(line, number));
    } catch (const Error& problem) {
        throw Error{problem.kind(),
                    fmt::format("'{}', line {}: {}", printable(path), number, problem.what())};
    }
}

}  // namespace

std::vector<ChoiceTask> read_choice_tasks(const std::string& path, const std::string& key) {
    std::vector<ChoiceTask> tasks;
    try {
        TextStream stream{path};
        if (const auto found = recognise_file(stream.beginning(recognised_bytes))) {
            throw Error{ErrorKind::deck, fmt::format("cannot read '{}' (it is {}). {}", printable(path),
                                                     found->what, found->remedy)};
        }
        std::string text;
        std::int64_t number = 0;
        for (bool has_more = true; has_more;) {
            has_more = stream.read(text);
            std::size_t begin = 0;
            for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
                add_task(std::string_view{text}.substr(begin, end - begin), ++number, path, tasks);
                begin = end + 1;
            }
            text.erase(0, begin);
            if (text.size() > max_line_bytes) {
                refuse(fmt::format("'{}', line {}: more than {} bytes. Write one task on each line.",
                                   printable(path), number + 1, max_line_bytes));
            }
        }
        add_task(text, ++number, path, tasks);
    } catch (const Error& problem) {
        throw Error{problem.kind(), fmt::format("{}: {}", key, problem.what())};
    }
    if (tasks.empty()) {
        throw Error{ErrorKind::deck,
                    fmt::format("{}: '{}' holds no task (all its lines are blank). Write one "
                                "object on each line, with ctx, endings and label.",
                                key, printable(path))};
    }
    return tasks;
}

}  // namespace ziggurat::data
