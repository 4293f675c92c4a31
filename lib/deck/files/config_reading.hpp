/// config.json of a published model while it is read: lookups, values found and complaints.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "deck/files/published_config.hpp"

namespace ziggurat::deck {

/// A value of config.json, shortened, for messages.
std::string shown(const nlohmann::json& value);

/// One document with the PublishedConfig that it fills.
class ConfigReading {
  public:
    using Json = nlohmann::json;

    // Round brackets: in others the document would become the element of a list.
    ConfigReading(PublishedConfig& config, Json document) : config_{config}, document_(std::move(document)) {}

    const Json& document() const noexcept { return document_; }

    /// The value of `key`; nullptr if `map` is no map or does not have the key.
    static const Json* find(const Json& map, const std::string& key);

    /// As find(); nullptr also if the value is null.
    static const Json* find_value(const Json& map, const std::string& key);

    /// Records what `key` of config.json says of a key of a deck; an empty `key` records a default.
    void record(const std::string& deck_key, std::string text, const std::string& key);

    /// Complains about `key`.
    void complain(const std::string& key, std::string problem, std::string why, std::string advice);

    /// A number or a boolean as a deck writes it; empty, after a complaint, for any other value.
    std::optional<std::string> text_of(const std::string& key, const Json& value);

  private:
    /// Line of the first mention of a key; 0 if there is none.
    int line_of(const std::string& key) const;

    PublishedConfig& config_;
    Json document_;
};

}  // namespace ziggurat::deck
