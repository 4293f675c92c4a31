#include "checkpoint/hf/companion_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/hf/json_file_impl.hpp"
#include "checkpoint/hf/model_files.hpp"
#include "deck/files/hf_config.hpp"
#include "deck/files/resumed_run.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t max_copied_bytes = std::int64_t{256} << 20;
constexpr const char* origin_name = "origin.json";
constexpr const char* base_key = "base_model_name_or_path";
constexpr const char* templates_folder = "additional_chat_templates";

constexpr std::array companion_names{"generation_config.json",
                                     "special_tokens_map.json",
                                     "added_tokens.json",
                                     "merges.txt",
                                     "normalizer.json",
                                     "spiece.model",
                                     "spm.model",
                                     "sentencepiece.bpe.model",
                                     "tekken.json"};
/// tokenizer.json, tokenizer.model.v3, tokenizer_config.json; tokenization_x.py; vocab.json, vocab.txt.
constexpr std::array companion_beginnings{"tokenizer", "tokenization_", "vocab", "chat_template"};

bool copy_whole_file(const fs::path& from, const fs::path& to) {
    const auto content = storage::read_small_file(from.string(), max_copied_bytes);
    if (content) {
        write_text(to.string(), *content);
    }
    return content.has_value();
}

/// Returns the names of regular files in a folder, sorted; includes links to files.
std::vector<std::string> file_names(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator{folder, problem}) {
        if (std::error_code ignored; entry.is_regular_file(ignored)) {
            names.push_back(entry.path().filename().string());
        }
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace

std::string root_of(const std::string& checkpoint) {
    const auto path = fs::absolute(checkpoint).lexically_normal();
    const auto folder = path.has_filename() ? path : path.parent_path();
    return folder.parent_path().string();
}

bool is_companion(std::string_view name) {
    const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
    return std::ranges::find(companion_names, name) != companion_names.end() ||
           std::ranges::any_of(companion_beginnings, begins) || name.ends_with(".tiktoken");
}

std::vector<std::string> copy_companions(const std::string& from, const std::string& to) {
    std::vector<std::string> copied;
    for (const auto& name : file_names(from)) {
        if (is_companion(name) && copy_whole_file(fs::path{from} / name, fs::path{to} / name)) {
            copied.push_back(name);
        }
    }
    const auto templates = file_names(fs::path{from} / templates_folder);
    if (!templates.empty()) {
        std::error_code ignored;  // the first error is reported
        fs::create_directories(fs::path{to} / templates_folder, ignored);
    }
    for (const auto& name : templates) {
        const auto place = fs::path{templates_folder} / name;
        if (copy_whole_file(fs::path{from} / place, fs::path{to} / place)) {
            copied.push_back(place.string());
        }
    }
    storage::flush_directory(to);
    return copied;
}

void copy_tokenizer(const std::string& file, const std::string& to) {
    copy_whole_file(file, to);
}

void keep_companions(const std::string& source, const std::string& base, const std::string& root) {
    const auto folder = deck::kept_folder(root);
    std::error_code problem;
    if (fs::is_symlink(fs::symlink_status(root, problem)) && fs::exists(folder, problem)) {
        throw Error{
            ErrorKind::resource,
            fmt::format("'{}' belongs to another run, because '{}' is a symbolic link. Remove the link",
                        printable(folder), printable(root))};
    }
    fs::remove_all(folder, problem);
    fs::create_directories(folder, problem);
    if (problem) {
        throw Error{ErrorKind::resource,
                    fmt::format("cannot create '{}' ({}). Free disk space, or make the folder writable.",
                                printable(folder), problem.message())};
    }
    copy_whole_file(fs::path{source} / deck::hf_config_name, fs::path{folder} / deck::hf_config_name);
    copy_companions(source, folder);
    write_text(folder + "/" + origin_name,
               Json{{base_key, base.empty() ? Json(nullptr) : Json(base)}}.dump() + "\n");
}

std::string kept_base(const std::string& root) {
    const auto origin = read_object(fs::path{deck::kept_folder(root)} / origin_name);
    const auto found = origin ? origin->find(base_key) : Json::const_iterator{};
    return origin && found != origin->end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace ziggurat::checkpoint::hf
