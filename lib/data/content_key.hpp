/// Keys of kept results: hashes of everything that a result was computed from.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace ziggurat::data {

/// Builder of a key. Parts have names, so that two lists of parts never run into each other.
///
/// A part is content, such as a hash of bytes or a value; never a path or a time, which other content can
/// have later.
class ContentKey {
  public:
    /// \param rule     name of the computation
    /// \param version  of its code; raise it when the same parts give other results
    ContentKey(std::string_view rule, int version) { add("rule", rule).add("version", version); }

    ContentKey& add(std::string_view name, std::string_view text);
    ContentKey& add(std::string_view name, const char* text) { return add(name, std::string_view{text}); }
    ContentKey& add(std::string_view name, double value);

    template <class Whole>
    requires std::integral<Whole> || std::is_enum_v<Whole> ContentKey& add(std::string_view name,
                                                                           Whole value) {
        return add(name, std::string_view{std::to_string(static_cast<std::int64_t>(value))});
    }

    /// Returns XXH3-64 of the rule and all parts, in the order in which they were added; never 0.
    std::uint64_t hash() const;

  private:
    std::string text_;
};

/// Returns XXH3-64 of all bytes of a regular file; 0 if it does not exist, cannot be read or is empty.
std::uint64_t whole_file_hash(const std::string& path);

}  // namespace ziggurat::data
