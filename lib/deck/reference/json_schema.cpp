#include <cmath>
#include <nlohmann/json.hpp>

#include "deck/reference/reference.hpp"

namespace ziggurat::deck {
namespace {

using Json = nlohmann::ordered_json;

/// Returns a schema for texts with variables `${`, which may occur anywhere.
Json variable() {
    return {{"type", "string"}, {"pattern", "\\$\\{"}};
}

Json one_of_types(std::initializer_list<const char*> types) {
    Json list = Json::array();
    for (const char* type : types) {
        list.push_back(type);
    }
    return {{"type", std::move(list)}};
}

Json bounded(const Row& row, const char* type) {
    Json schema = {{"type", type}};
    if (std::isfinite(row.min)) {
        schema["minimum"] = row.min;
    }
    if (std::isfinite(row.max)) {
        schema["maximum"] = row.max;
    }
    return schema;
}

Json map_of(const std::string& path);

/// Returns the schema of a value by its type alone.
///
/// Texts with units are not restricted by a pattern, because the program's own checks are more precise.
Json by_type(const Row& row) {
    switch (row.type) {
        case Type::map:
            return map_of(row.path);
        case Type::list:
            return {{"type", "array"}, {"items", map_of(std::string{row.path} + "[]")}};
        case Type::variables:
            return {{"type", "object"},
                    {"additionalProperties", one_of_types({"string", "number", "boolean"})}};
        case Type::boolean:
            return {{"type", "boolean"}};
        case Type::integer:
            return bounded(row, "integer");
        case Type::real:
        case Type::alias:
            return bounded(row, "number");
        case Type::real_by_step: {
            Json number = bounded(row, "number");
            Json of_list = number;
            of_list["minimum"] = 0;
            return {{"anyOf",
                     {std::move(number),
                      {{"type", "array"},
                       {"minItems", 1},
                       {"items",
                        {{"type", "array"},
                         {"items", Json::array({one_of_types({"integer", "string"}), std::move(of_list)})},
                         {"minItems", 2},
                         {"maxItems", 2}}}}}}};
        }
        case Type::texts:
            return {{"type", "array"}, {"items", {{"type", "string"}}}};
        case Type::reals: {
            Json list{{"type", "array"}, {"items", bounded(row, "number")}};
            if (row.items > 0) {
                list["minItems"] = row.items;
                list["maxItems"] = row.items;
            }
            return list;
        }
        case Type::integers:
            return {{"anyOf",
                     {bounded(row, "integer"), {{"type", "array"}, {"items", bounded(row, "integer")}}}}};
        case Type::keyword_list: {
            Json keywords = Json::array();
            for (const auto keyword : split_words(row.keywords)) {
                keywords.push_back(keyword);
            }
            return {{"type", "array"}, {"items", {{"enum", std::move(keywords)}}}};
        }
        case Type::interval:
            return one_of_types({"string", "array"});
        case Type::home:
            return one_of_types({"string", "object"});
        case Type::text:
        case Type::path:
        case Type::keyword:
        case Type::size:
        case Type::size_or_share:
        case Type::share:
        case Type::rate:
        case Type::duration:
        case Type::training_length:
            break;
    }
    return {{"type", "string"}};
}

Json value_of_row(const Row& row) {
    Json choices = Json::array();
    if (row.type != Type::keyword) {
        choices.push_back(by_type(row));
    }
    const auto keywords = split_words(row.keywords);
    if (!keywords.empty() && row.type != Type::keyword_list) {
        Json list = Json::array();
        for (const auto keyword : keywords) {
            list.push_back(keyword);
        }
        choices.push_back({{"enum", std::move(list)}});
    }
    if (row.type == Type::map && *row.shorthand != '\0') {
        choices.push_back(value_of_row(*deck_schema().find(std::string{row.path} + "." + row.shorthand)));
    }
    if (row.type == Type::integer && *row.noun != '\0') {
        choices.push_back({{"type", "string"}, {"pattern", "^[0-9]"}});  // 20k steps
    }
    choices.push_back(variable());
    choices.push_back({{"type", "null"}});
    Json schema = {{"description", row.doc}};
    schema["anyOf"] = std::move(choices);
    if (row.fallback != nullptr) {
        schema["default"] = row.fallback;
    }
    return schema;
}

Json map_of(const std::string& path) {
    Json properties = Json::object();
    for (const Row* row : deck_schema().children(path)) {
        properties[std::string{leaf_of(row->path)}] = value_of_row(*row);
    }
    return {{"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
}

}  // namespace

std::string json_schema() {
    Json schema = {
        {"$schema", "http://json-schema.org/draft-07/schema#"},
        {"title", "A Ziggurat deck"},
        {"$comment",
         "Generated from the tables in lib/deck/schema by the target deck_reference; do not edit."}};
    schema.update(map_of(""));
    schema["required"] = {"deck_version"};
    return schema.dump(1) + "\n";
}

}  // namespace ziggurat::deck
