#include "doctor/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::doctor {
namespace {

using Json = nlohmann::ordered_json;

std::ptrdiff_t count(const Diagnoses& all, Health health) {
    return std::ranges::count_if(all, [&](const Diagnosis& one) { return one.health == health; });
}

/// Serializes `json`. Replaces bytes that are not valid UTF-8, so the output is always valid JSON.
std::string write(const Json& json, int indent) {
    return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

void append(Diagnoses& all, const Diagnoses& more) {
    all.insert(all.end(), more.begin(), more.end());
}

Diagnosis ok_diagnosis(std::string check, std::string found, Scope scope) {
    return {.check = std::move(check), .found = std::move(found), .scope = scope};
}

Diagnosis warning(std::string check, std::string found, std::string remedy, Scope scope) {
    return {.check = std::move(check),
            .health = Health::warning,
            .found = std::move(found),
            .remedy = std::move(remedy),
            .scope = scope};
}

Diagnosis error(std::string check, std::string found, std::string remedy, Scope scope) {
    auto made = warning(std::move(check), std::move(found), std::move(remedy), scope);
    made.health = Health::error;
    return made;
}

std::string_view name_of(Health health) {
    switch (health) {
        case Health::ok:
            return "ok";
        case Health::warning:
            return "warning";
        case Health::error:
            return "error";
    }
    return "";
}

int exit_code(const Diagnoses& all) {
    return count(all, Health::error) > 0 ? static_cast<int>(ErrorKind::resource) : 0;
}

std::string as_text(const Diagnoses& all) {
    std::size_t widest = 0;
    for (const auto& one : all) {
        widest = std::max(widest, one.check.size());
    }
    std::string text;
    for (const auto& one : all) {
        const auto sentence = one.remedy.empty() ? one.found : one.found + ". " + one.remedy;
        text +=
            fmt::format("{:<7}  {:<{}}  {}\n", name_of(one.health), one.check, widest, printable(sentence));
    }
    return text;
}

std::string as_json(const Diagnoses& all) {
    Json checks = Json::array();
    for (const auto& one : all) {
        checks.push_back({{"check", one.check},
                          {"state", name_of(one.health)},
                          {"found", one.found},
                          {"remedy", one.remedy.empty() ? Json(nullptr) : Json(one.remedy)}});
    }
    const Json json{{"schema", "ziggurat.doctor/1"},
                    {"exit_code", exit_code(all)},
                    {"errors", count(all, Health::error)},
                    {"warnings", count(all, Health::warning)},
                    {"checks", checks}};
    return write(json, 2) + "\n";
}

std::string pack(const Diagnoses& all) {
    Json list = Json::array();
    for (const auto& one : all) {
        list.push_back({one.check, one.subject, static_cast<int>(one.health), one.found, one.remedy,
                        static_cast<int>(one.scope)});
    }
    return write(list, -1);
}

Diagnoses unpack(const std::string& text) {
    Diagnoses all;
    for (const auto& one : Json::parse(text)) {
        all.push_back({.check = one.at(0),
                       .subject = one.at(1),
                       .health = static_cast<Health>(one.at(2).get<int>()),
                       .found = one.at(3),
                       .remedy = one.at(4),
                       .scope = static_cast<Scope>(one.at(5).get<int>())});
    }
    return all;
}

}  // namespace ziggurat::doctor
