#include "app/output/atomic_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/file_handle.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::app {
namespace {

std::string unfinished(const std::string& path) {
    return path + ".tmp";
}

[[noreturn]] void refuse(const std::string& path, const std::string& reason, const char* remedy) {
    throw Error{ErrorKind::resource, "cannot write '" + printable(path) + "' (" + reason + "). " + remedy};
}

}  // namespace

void make_folder_of(const std::string& path) {
    std::error_code ignored;
    if (const auto folder = std::filesystem::path{path}.parent_path(); !folder.empty()) {
        std::filesystem::create_directories(folder, ignored);
    }
}

void expect_writable(const std::string& path, const char* remedy) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none)) {
        refuse(path, "a folder", remedy);
    }
    make_folder_of(path);
    open_for_writing(unfinished(path), OpenMode::replace, remedy);
    ::unlink(unfinished(path).c_str());
}

void write_file_atomically(const std::string& path, std::string_view text, const char* remedy) {
    make_folder_of(path);
    const auto file = open_for_writing(unfinished(path), OpenMode::replace, remedy);
    std::error_code problem{write_all(file.get(), text), std::generic_category()};
    if (!problem) {
        std::filesystem::rename(unfinished(path), path, problem);
    }
    if (problem) {
        ::unlink(unfinished(path).c_str());
        refuse(path, problem.message(), remedy);
    }
}

}  // namespace ziggurat::app
