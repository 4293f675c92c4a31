#include "deck/files/shipped_files.hpp"

#include <filesystem>
#include <system_error>

#include "base/path_exists.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string this_program() {
    std::error_code unreadable;
    return fs::read_symlink("/proc/self/exe", unreadable).string();
}

std::string shipped_decks(const std::string& program) {
    const auto folder = fs::path{program}.parent_path();
    for (const char* from_there : {"../share/ziggurat/decks", "../../../decks"}) {  // bin, build/release/bin
        const auto decks = (folder / from_there).lexically_normal();
        if (!program.empty() && path_exists(decks / "machines")) {
            return decks.string();
        }
    }
    return "";
}

std::string file_or_shipped(const std::string& path, const std::string& program) {
    const auto name = fs::path{path}.lexically_normal();
    const bool is_of_decks = name.is_relative() && !name.empty() && *name.begin() == "decks";
    if (!is_of_decks || path_exists(name)) {
        return path;
    }
    const auto decks = shipped_decks(program);
    const auto shipped = fs::path{decks} / name.lexically_relative("decks");
    return !decks.empty() && path_exists(shipped) ? shipped.string() : path;
}

}  // namespace ziggurat::deck
