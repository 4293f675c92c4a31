#include "app/start/run_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace ziggurat::app {

std::string not_writable_reason(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code problem;
    fs::path folder = fs::absolute(path, problem).lexically_normal();
    fs::file_status status;
    while ((status = fs::status(folder, problem)).type() == fs::file_type::not_found &&
           problem != std::errc::not_a_directory && folder.has_relative_path()) {
        folder = folder.parent_path();
    }
    if (status.type() == fs::file_type::none || problem == std::errc::not_a_directory) {
        return problem.message();
    }
    if (!fs::is_directory(status)) {
        return "'" + folder.string() + "' is not a folder";
    }
    return ::access(folder.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

std::string first_that_is_there(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code problem;
    fs::path folder = fs::absolute(path, problem).lexically_normal();
    while (fs::status(folder, problem).type() == fs::file_type::not_found && folder.has_relative_path()) {
        folder = folder.parent_path();
    }
    return folder.string();
}

}  // namespace ziggurat::app
