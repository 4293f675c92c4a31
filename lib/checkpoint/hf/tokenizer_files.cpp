#include "checkpoint/hf/tokenizer_files.hpp"

#include <array>
#include <cstdint>
#include <filesystem>

#include "storage/directory.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

namespace fs = std::filesystem;

/// What transformers' tokenizers save and load, and how the model is to be sampled, which names their tokens.
constexpr std::array names{
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "merges.txt",     "tokenizer.model",       "generation_config.json"};
constexpr std::int64_t most_bytes = std::int64_t{1} << 30;

}  // namespace

std::vector<std::string> copy_tokenizer_files(const std::string& from, const std::string& folder) {
    std::error_code error;
    const auto source = fs::is_directory(from, error) ? fs::path{from} : fs::path{from}.parent_path();
    std::vector<std::string> copied;
    for (const char* name : names) {
        const auto content = storage::read_small_file((source / name).string(), most_bytes);
        if (!content) {
            continue;
        }
        const auto path = fs::path{folder} / name;
        const auto beside = path.string() + ".tmp";
        storage::write_small_file(beside, *content);
        storage::rename_path(beside, path.string());
        copied.emplace_back(name);
    }
    storage::flush_directory(folder);
    return copied;
}

}  // namespace ziggurat::checkpoint::hf
