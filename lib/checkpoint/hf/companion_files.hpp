/// Companion files of a published model: files that it needs for use and that training does not change.
///
/// These are the ids of special tokens and the generation settings in config.json and generation_config.json,
/// chat templates, and every file of the tokenizer. A run that begins with a published model keeps copies in
/// deck::kept_folder(). From there they are copied to runs that start from its weights, and to the export.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "deck/files/resumed_run.hpp"

namespace ziggurat::checkpoint::hf {

/// Returns the folder of checkpoints that contains `checkpoint`.
std::string root_of(const std::string& checkpoint);

using deck::kept_folder;

/// Returns true if transformers reads a file of that name next to config.json for its tokenizer, chat
/// templates or generation settings.
///
/// Source: transformers, tokenization_utils_base.py, utils/hub.py (CHAT_TEMPLATE_FILE, CHAT_TEMPLATE_DIR),
///         generation/configuration_utils.py
bool is_companion(std::string_view name);

/// Copies the companion files of one folder into another, and returns their names.
///
/// A copy gets its final name after it is complete and flushed to the disk.
///
/// \param to  an existing folder
/// Errors: Error{resource} if one cannot be read or the disk fails
std::vector<std::string> copy_companions(const std::string& from, const std::string& to);

/// Copies a tokenizer file to the name that transformers expects.
/// Errors: those of copy_companions()
void copy_tokenizer(const std::string& file, const std::string& to);

/// Keeps config.json and the companion files of `source` for the run whose checkpoints are in `root`.
///
/// \param base  the base model for adapters: the one whose weights the run starts with; empty: another
/// Errors: Error{resource}
void keep_companions(const std::string& source, const std::string& base, const std::string& root);

/// Returns the base that keep_companions() was called with; empty if `root` has no kept files.
std::string kept_base(const std::string& root);

}  // namespace ziggurat::checkpoint::hf
