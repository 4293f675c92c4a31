/// Companion files of a published model: what makes it usable and training leaves as it is.
///
/// These are the ids of special tokens and the generation settings in config.json and generation_config.json,
/// chat templates, and every file of the tokenizer. A run that begins with a published model keeps copies
/// in deck::kept_folder(), so that they travel with its weights from run to run and to the export.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deck/files/resumed_run.hpp"

namespace ziggurat::checkpoint::hf {

/// The folder of the checkpoints that `checkpoint` is one of.
std::string root_of(const std::string& checkpoint);

using deck::kept_folder;

/// True if transformers reads a file of that name beside config.json for its tokenizer, chat templates or
/// generation settings.
///
/// Source: transformers, tokenization_utils_base.py, utils/hub.py (CHAT_TEMPLATE_FILE, CHAT_TEMPLATE_DIR),
///         generation/configuration_utils.py
bool is_companion(std::string_view name);

/// Copies the companion files of one folder into another, and returns their names. A copy has its name when
/// it is whole and on the disk.
///
/// \param to  exists
/// Errors: Error{resource} if one cannot be read or the disk fails
std::vector<std::string> copy_companions(const std::string& from, const std::string& to);

/// Copies the file of a tokenizer under the name that transformers looks for.
/// Errors: those of copy_companions()
void copy_tokenizer(const std::string& file, const std::string& to);

/// Keeps config.json and the companion files of `source` for the run whose checkpoints are in `root`.
///
/// \param base  the model that the weights of the run's first step are those of, as adapters name it; empty:
///              another
/// Errors: Error{resource}
void keep_companions(const std::string& source, const std::string& base, const std::string& root);

/// The base that keep_companions() was called with; empty if nothing is kept in `root`.
std::string kept_base(const std::string& root);

/// The keys of config.json in `folder` that say how the model is used, as a JSON object; nothing if there is
/// no such file.
std::optional<std::string> usage_keys(const std::string& folder);

/// The same of a model whose documents end with a token: its id, or -1 if none does.
std::string usage_keys_of(std::int64_t document_token);

/// Type of the weights that config.json in `folder` names, as `bfloat16`; empty if it names none.
std::string published_type(const std::string& folder);

}  // namespace ziggurat::checkpoint::hf
