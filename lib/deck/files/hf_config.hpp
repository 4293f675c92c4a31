/// config.json of a model in the Hugging Face format, translated to deck keys.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::deck {

inline constexpr const char* hf_config_name = "config.json";

/// Value that config.json gives a deck key.
struct HfValue {
    std::string deck_key;  ///< `model.hidden`
    std::string text;      ///< in deck syntax
    std::string key;       ///< key in config.json: `n_embd`, `rope_scaling.factor`
    int line = 0;          ///< line of that key; 0: it is absent, and the value is the format's default
    int column = 0;
};

/// An unsupported or invalid setting in config.json.
struct HfConfigError {
    std::string problem;
    std::string reason;
    std::string advice;
    int line = 0;  ///< 0: of the whole file
    int column = 0;
};

struct HfConfig {
    std::string file;         ///< DIR/config.json
    std::string text;         ///< content of the file
    bool is_missing = false;  ///< true if the file does not exist
    std::vector<HfValue> values;
    std::vector<HfConfigError> reasons;
};

/// Reads config.json in `folder`. Invalid content never causes an exception.
HfConfig read_published_config(const std::string& folder);

/// Reads the text of config.json. `file` is its path for messages.
HfConfig read_config_text(std::string file, std::string text);

}  // namespace ziggurat::deck
