/// State of reading config.json of a published model: lookups, found values and errors.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "deck/files/hf_config.hpp"
#include "deck/files/json_keys.hpp"

namespace ziggurat::deck {

/// Returns a value of config.json, shortened for messages.
std::string shown(const nlohmann::json& value);

/// One document and the HfConfig that it fills.
class ConfigReading {
  public:
    using Json = nlohmann::json;

    // Parentheses: with braces the document would become the element of a list.
    ConfigReading(HfConfig& config, Json document)
        : config_{config}, document_(std::move(document)), keys_{json_keys(config.text)} {}

    const Json& document() const noexcept { return document_; }
    /// Reads on in the map `name` of the document.
    void enter(const std::string& name);

    /// Returns the value of `key`; nullptr if `map` is not a map or does not have the key.
    static const Json* find(const Json& map, const std::string& key);

    /// Like find(), but returns nullptr also if the value is null.
    static const Json* find_value(const Json& map, const std::string& key);

    /// Records the value that `key` of config.json, or its absence, gives a deck key.
    ///
    /// \param key  path in the document: `rope_scaling.factor`
    void record(const std::string& deck_key, std::string text, const std::string& key);

    /// Adds an error about `key`, a path in the document.
    void report_finding(const std::string& key, std::string problem, std::string reason, std::string advice);

    /// Returns a number or a boolean in deck syntax; nullopt, after an error, for other values.
    std::optional<std::string> text_of(const std::string& key, const Json& value);

    /// Returns a list of numbers in deck syntax; nullopt, after an error, for other values.
    std::optional<std::string> list_text_of(const std::string& key, const Json& value);

  private:
    TextLocation location_of(const std::string& key) const;

    HfConfig& config_;
    Json document_;
    std::string prefix_;  ///< path of the document in the file, with a dot at the end
    std::map<std::string, TextLocation> keys_;
};

}  // namespace ziggurat::deck
