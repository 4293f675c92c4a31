#include "base/text/looked_in.hpp"

#include <filesystem>
#include <system_error>

#include "base/text/printable.hpp"

namespace ziggurat {

std::string looked_in(const std::string& path) {
    std::error_code error;
    const auto whole = std::filesystem::absolute(path, error).lexically_normal();
    const auto file = whole.has_filename() ? whole : whole.parent_path();
    return "'" + printable(file.parent_path().string()) + "'";
}

}  // namespace ziggurat
