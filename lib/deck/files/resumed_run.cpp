#include "deck/files/resumed_run.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/path_exists.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

bool has_complete_checkpoint(const fs::path& root) {
    std::error_code unreadable;
    const fs::directory_iterator entries{root, unreadable};
    return std::any_of(begin(entries), end(entries), [](const fs::directory_entry& entry) {
        return path_exists(entry.path() / "COMPLETE");
    });
}

}  // namespace

std::string resumed_root(const spec::Run& run) {
    const auto own = fs::path{run.dir} / "ckpt";
    if (run.resume == spec::Resume::never) {
        return "";
    }
    if (has_complete_checkpoint(own)) {
        return own.string();
    }
    if (run.resume != spec::Resume::path) {
        return "";
    }
    const fs::path named = run.resume_path;
    if (path_exists(named / "COMPLETE")) {
        return (named.has_filename() ? named : named.parent_path()).parent_path().string();
    }
    return has_complete_checkpoint(named / "ckpt") ? (named / "ckpt").string() : "";
}

std::string kept_folder(const std::string& root) {
    return root + "/published";
}

std::string tokenizer_or_kept(const std::string& tokenizer,
                              const std::string& base,
                              const std::string& root) {
    const auto path = fs::path{tokenizer}.lexically_normal();
    const auto model = fs::path{base + "/"}.lexically_normal().parent_path();
    const bool is_folder = (path.has_filename() ? path : path.parent_path()) == model;
    if (base.empty() || root.empty() || path_exists(path) || !(is_folder || path.parent_path() == model)) {
        return tokenizer;
    }
    const fs::path kept = kept_folder(root);
    if (!is_folder) {
        return path_exists(kept / path.filename()) ? (kept / path.filename()).string() : tokenizer;
    }
    constexpr std::array files{"tokenizer.json", "tokenizer.model"};
    const bool has_tokenizer =
        std::ranges::any_of(files, [&](const char* name) { return path_exists(kept / name); });
    return has_tokenizer ? kept.string() : tokenizer;
}

}  // namespace ziggurat::deck
