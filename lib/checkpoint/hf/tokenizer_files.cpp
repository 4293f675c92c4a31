#include "checkpoint/hf/tokenizer_files.hpp"

#include <array>
#include <cstdint>
#include <filesystem>

#include "checkpoint/hf/model_files.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

namespace fs = std::filesystem;

/// What else transformers' tokenizers save and load, and how the model is to be sampled, which names their
/// tokens.
constexpr std::array beside{
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt",
    "generation_config.json"};
constexpr std::int64_t most_bytes = std::int64_t{1} << 30;

}  // namespace

std::vector<std::string> copy_tokenizer_files(const spec::Tokenizer& tokenizer, const std::string& folder) {
    const std::string name = tokenizer.kind == spec::TokenizerKind::hf ? "tokenizer.json" : "tokenizer.model";
    std::error_code error;
    const fs::path path{tokenizer.path};
    const auto file = fs::is_directory(path, error) ? path / name : path;
    std::vector<std::string> copied;
    const auto copy = [&](const fs::path& from, const std::string& to) {
        if (const auto content = storage::read_small_file(from.string(), most_bytes)) {
            write_text((fs::path{folder} / to).string(), *content);
            copied.push_back(to);
        }
    };
    copy(file, name);
    if (file.filename() == name) {  // else what lies there need not be of this tokenizer
        for (const char* other : beside) {
            copy(file.parent_path() / other, other);
        }
    }
    storage::flush_directory(folder);
    return copied;
}

}  // namespace ziggurat::checkpoint::hf
