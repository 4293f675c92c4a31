/// State of reading config.json of a published model: lookups, found values and errors.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "deck/files/hf_config.hpp"

namespace ziggurat::deck {

/// Returns a value of config.json, shortened for messages.
std::string shown(const nlohmann::json& value);

/// One document and the HfConfig that it fills.
class ConfigReading {
  public:
    using Json = nlohmann::json;

    // Parentheses: with braces the document would become the element of a list.
    ConfigReading(HfConfig& config, Json document) : config_{config}, document_(std::move(document)) {}

    const Json& document() const noexcept { return document_; }
    /// Reads on in `part`, which is a map of the document.
    void replace_document(Json part) { document_ = std::move(part); }

    /// Returns the value of `key`; nullptr if `map` is not a map or does not have the key.
    static const Json* find(const Json& map, const std::string& key);

    /// Like find(), but returns nullptr also if the value is null.
    static const Json* find_value(const Json& map, const std::string& key);

    /// Records the value that `key` of config.json gives a deck key; an empty `key` records a default.
    void record(const std::string& deck_key, std::string text, const std::string& key);

    /// Adds an error about `key`.
    void report_finding(const std::string& key, std::string problem, std::string reason, std::string advice);

    /// Returns a number or a boolean in deck syntax; nullopt, after an error, for other values.
    std::optional<std::string> text_of(const std::string& key, const Json& value);

    /// Returns a list of numbers in deck syntax; nullopt, after an error, for other values.
    std::optional<std::string> list_text_of(const std::string& key, const Json& value);

  private:
    /// Returns the line of the first mention of a key; 0 if it does not occur.
    int line_of(const std::string& key) const;

    HfConfig& config_;
    Json document_;
};

}  // namespace ziggurat::deck
