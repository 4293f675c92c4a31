/// config.json of a model in the Hugging Face format, in the words of a deck.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::deck {

inline constexpr const char* published_config_name = "config.json";

/// What config.json says of a key of a deck.
struct PublishedValue {
    std::string deck_key;  ///< `model.hidden`
    std::string text;      ///< as a deck would say it
    std::string key;  ///< of config.json: `n_embd`; empty: it has none, so that this is the format's default
    int line = 0;     ///< of that key; 0: it has none
};

/// What is in it that cannot be done here.
struct PublishedTrouble {
    std::string problem;
    std::string why;
    std::string advice;
    int line = 0;
};

struct PublishedConfig {
    std::string file;         ///< DIR/config.json
    std::string text;         ///< of the file
    bool is_missing = false;  ///< there is no such file
    std::vector<PublishedValue> values;
    std::vector<PublishedTrouble> troubles;
};

/// Reads config.json in `folder`. Nothing that it says makes it throw.
PublishedConfig read_published_config(const std::string& folder);

}  // namespace ziggurat::deck
