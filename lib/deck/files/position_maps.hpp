/// The maps of config.json that describe rotary positions, and lookups in them.
#pragma once

#include <string>
#include <vector>

#include "deck/files/config_reading.hpp"

namespace ziggurat::deck {

/// A map in the file, or the file itself, which has an empty name.
struct PositionScope {
    std::string name;
    const ConfigReading::Json* map = nullptr;  ///< nullptr: absent, null or empty

    std::string path(const std::string& key) const { return name.empty() ? key : name + "." + key; }
};

/// A value and its location in the file.
struct Mention {
    std::string key;
    std::string path;
    const ConfigReading::Json* value = nullptr;  ///< nullptr: the file does not have it

    /// Returns true if the file has a value other than null.
    bool is_given() const { return value != nullptr && !value->is_null(); }
};

/// Returns the value of `key` in `scope`.
Mention mention(const PositionScope& scope, const std::string& key);

/// Returns the first of `mentions` that occurs in the file; nullptr if none does.
const Mention* first_of(const std::vector<Mention>& mentions);

/// The map that transformers 5 uses, the map that it ignores, and the keys outside of both.
class PositionMaps {
  public:
    using Json = ConfigReading::Json;

    /// Opens the maps. Errors: added to `reading`, if one is not a map or describes some layers only
    ///
    /// \param has_windows  a map may have one for layers of full attention and one for layers with a window
    PositionMaps(ConfigReading& reading, bool has_windows);

    /// Returns false if the maps cannot be read.
    bool are_valid() const noexcept { return !is_broken_; }

    const PositionScope& top() const noexcept { return top_; }
    const PositionScope& used() const noexcept { return used_; }
    const PositionScope& other() const noexcept { return other_; }
    /// The map of layers with a window; without a map, if all layers share one.
    const PositionScope& windows() const noexcept { return windows_; }

    /// Adds an error about an unsupported value.
    void refuse(const std::string& key, std::string problem, std::string reason);

    /// Adds an error about a mention whose value differs from `value`, which is used.
    void contradict(const Mention& mention, const std::string& used, const Json& value);

    /// Reports each of `mentions` whose value differs from `value`, which is used.
    void expect_same(const std::vector<Mention>& mentions, const std::string& used, const Json& value);

  private:
    PositionScope open(const char* name);

    ConfigReading& reading_;
    bool has_windows_;
    PositionScope top_;
    PositionScope used_;
    PositionScope other_;
    PositionScope windows_;
    bool is_broken_ = false;
};

}  // namespace ziggurat::deck
