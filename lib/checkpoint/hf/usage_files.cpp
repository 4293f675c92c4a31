#include "checkpoint/hf/usage_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "checkpoint/hf/json_file_impl.hpp"
#include "checkpoint/hf/model_files.hpp"
#include "deck/files/hf_config.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t max_tokenizer_bytes = std::int64_t{64} << 20;
constexpr std::array special_tokens{"bos_token_id", "eos_token_id", "pad_token_id"};
constexpr const char* generation_name = "generation_config.json";
constexpr const char* tokenizer_name = "tokenizer.json";
constexpr const char* tokenizer_config_name = "tokenizer_config.json";
constexpr const char* token_map_name = "special_tokens_map.json";
constexpr const char* ends_key = "eos_token_id";

/// Keys of config.json for special tokens, and for generation, which older files have there.
/// Source: transformers 4.46, configuration_utils.py (_get_global_generation_defaults, __init__)
constexpr std::array usage_names{"bos_token_id",
                                 "eos_token_id",
                                 "pad_token_id",
                                 "sep_token_id",
                                 "decoder_start_token_id",
                                 "tokenizer_class",
                                 "prefix",
                                 "task_specific_params",
                                 "max_length",
                                 "min_length",
                                 "use_cache",
                                 "do_sample",
                                 "early_stopping",
                                 "num_beams",
                                 "num_beam_groups",
                                 "diversity_penalty",
                                 "temperature",
                                 "top_k",
                                 "top_p",
                                 "typical_p",
                                 "repetition_penalty",
                                 "length_penalty",
                                 "no_repeat_ngram_size",
                                 "encoder_no_repeat_ngram_size",
                                 "bad_words_ids",
                                 "num_return_sequences",
                                 "output_scores",
                                 "return_dict_in_generate",
                                 "forced_bos_token_id",
                                 "forced_eos_token_id",
                                 "remove_invalid_values",
                                 "exponential_decay_length_penalty",
                                 "suppress_tokens",
                                 "begin_suppress_tokens"};

/// Usage keys that are not settings of generation.
constexpr std::array other_names{"sep_token_id", "tokenizer_class", "prefix", "task_specific_params"};

void write_object(const fs::path& path, const Json& object) {
    write_text(path.string(), object.dump(2) + "\n");
}

/// Returns the settings of generation, as transformers takes them from config.json.
Json generation_settings(const std::string& usage) {
    Json settings = Json::object();
    const auto keys = Json::parse(usage);
    for (const auto& [name, value] : keys.items()) {
        if (std::ranges::find(other_names, std::string_view{name}) == other_names.end() && !value.is_null()) {
            settings[name] = value;
        }
    }
    return settings;
}

/// Returns the text of a token in a tokenizer's file, which is a text or an object with it.
std::string text_of(const Json& file, const char* name) {
    const auto found = file.find(name);
    if (found == file.end()) {
        return "";
    }
    const auto& value = found->is_object() && found->contains("content") ? (*found)["content"] : *found;
    return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace

std::optional<std::string> usage_keys(const std::string& folder) {
    const auto config = read_object(fs::path{folder} / deck::hf_config_name);
    if (!config) {
        return std::nullopt;
    }
    Json kept = Json::object();
    for (const char* name : usage_names) {
        if (const auto found = config->find(name); found != config->end()) {
            kept[name] = *found;
        }
    }
    return kept.dump();
}

/// Source: transformers, configuration_utils.py: `torch_dtype`, called `dtype` from version 5 on
std::string hf_type(const std::string& folder) {
    const auto config = read_object(fs::path{folder} / deck::hf_config_name);
    for (const char* name : {"torch_dtype", "dtype"}) {
        if (const auto found = config ? config->find(name) : Json::const_iterator{};
            config && found != config->end() && found->is_string()) {
            const auto type = found->get<std::string>();
            return type.substr(type.rfind('.') + 1);
        }
    }
    return "";
}

std::string usage_keys_of(std::int64_t document_token) {
    const Json id = document_token < 0 ? Json(nullptr) : Json(document_token);
    return with_all_special_tokens(Json{{"bos_token_id", id}, {"eos_token_id", id}}.dump());
}

std::string with_all_special_tokens(const std::string& usage) {
    auto keys = Json::parse(usage);
    for (const char* name : special_tokens) {
        if (!keys.contains(name)) {
            keys[name] = nullptr;
        }
    }
    return keys.dump();
}

void write_tokenizer_config(const std::string& folder,
                            const std::optional<TokenText>& end,
                            const std::optional<TokenText>& begin) {
    const auto path = fs::path{folder} / tokenizer_config_name;
    if (!fs::exists(fs::path{folder} / tokenizer_name) || fs::exists(path)) {
        return;
    }
    Json config{{"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
    for (const auto& [name, token] : {std::pair{"bos_token", &begin}, std::pair{"eos_token", &end}}) {
        if (*token) {
            config[name] = (*token)->text;
        }
    }
    write_object(path, config);
}

AddedEnds add_answer_ends(const std::string& folder,
                          const std::string& usage,
                          const std::vector<TokenText>& ends,
                          bool keeps_eos_token) {
    const auto path = fs::path{folder} / generation_name;
    auto generation = read_object(path).value_or(generation_settings(usage));
    const auto before = generation.contains(ends_key) ? generation[ends_key] : Json(nullptr);
    auto ids = before.is_array() ? before : before.is_null() ? Json::array() : Json::array({before});
    AddedEnds added;
    Json all = Json::array();
    for (const auto& end : ends) {
        if (std::ranges::find(ids, Json(end.id)) == ids.end()) {
            added.ends.push_back(end);
            all.push_back(end.id);
        }
    }
    if (added.ends.empty()) {
        return added;
    }
    all.insert(all.end(), ids.begin(), ids.end());
    generation[ends_key] = all.size() == 1 ? all.front() : all;
    write_object(path, generation);
    if (keeps_eos_token) {
        return added;
    }
    const auto& text = added.ends.front().text;
    for (const auto& [name, may_lack_it] :
         {std::pair{tokenizer_config_name, true}, std::pair{token_map_name, false}}) {
        auto file = read_object(fs::path{folder} / name, max_tokenizer_bytes);
        if (!file || !(may_lack_it || file->contains("eos_token"))) {
            continue;
        }
        if (const auto old = text_of(*file, "eos_token"); old != text) {
            added.eos_token = text;
            added.eos_token_before = old;
            (*file)["eos_token"] = text;
            write_object(fs::path{folder} / name, *file);
        }
    }
    return added;
}

}  // namespace ziggurat::checkpoint::hf
