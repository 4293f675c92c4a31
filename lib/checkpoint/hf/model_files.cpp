#include "checkpoint/hf/model_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/hf/export_adapters.hpp"
#include "checkpoint/hf/model_folder.hpp"
#include "deck/files/hf_config.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint::hf {

namespace fs = std::filesystem;

namespace {

/// Returns true if a file of that name is part of a model or of adapters.
bool is_of_model(std::string_view name) {
    return name == deck::hf_config_name || name == adapter_config_name || name == index_name ||
           name.ends_with(".safetensors");
}

}  // namespace

void make_empty_folder(const std::string& folder) {
    std::error_code problem;
    fs::create_directories(folder, problem);
    if (problem) {
        throw Error{ErrorKind::resource, fmt::format("cannot create '{}' ({}). Name a writable folder.",
                                                     printable(folder), problem.message())};
    }
    for (const auto& entry : fs::directory_iterator{folder, problem}) {
        const auto name = entry.path().filename().string();
        if (is_of_model(name)) {
            throw Error{ErrorKind::deck,
                        fmt::format("'{}' already holds a model (it has '{}'). Name a new folder.",
                                    printable(folder), printable(name))};
        }
    }
}

void remove_begun_model(const std::string& folder) {
    std::error_code problem;
    std::vector<fs::path> begun;
    for (const auto& entry : fs::directory_iterator{folder, problem}) {
        auto name = entry.path().filename().string();
        constexpr std::string_view unfinished = ".tmp";
        name.resize(name.size() - (name.ends_with(unfinished) ? unfinished.size() : 0));
        if (is_of_model(name)) {
            begun.push_back(entry.path());
        }
    }
    for (const auto& path : begun) {
        fs::remove(path, problem);
    }
}

void write_text(const std::string& path, const std::string& text) {
    storage::write_small_file(path + ".tmp", text);
    storage::rename_path(path + ".tmp", path);
}

}  // namespace ziggurat::checkpoint::hf
