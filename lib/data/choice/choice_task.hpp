/// Multiple-choice tasks: a context, and endings of which one is correct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ziggurat::data {

struct ChoiceTask {
    std::int64_t line = 0;  ///< in its file, from 1
    std::string context;
    std::vector<std::string> endings;   ///< two or more, all of them not empty
    std::optional<std::int64_t> label;  ///< index in `endings` of the correct ending; empty: unknown
};

/// Reads the tasks of a file or pipe of JSON lines with the fields of HellaSwag.
///
/// The file may be compressed by gzip or zstd. Blank lines are skipped.
///
/// | value | field | alternative |
/// | --- | --- | --- |
/// | context | `ctx` | `ctx_a`, a space, `ctx_b`; `context` |
/// | endings | `endings` | `choices` |
/// | label | `label`: an integer (also `1.0`), or a text with one; missing, null or empty text: unknown |
/// `answer` |
///
/// Null values and empty lists are missing fields.
///
/// \param key  option or deck key that named the file; messages begin with it
/// Source: Zellers et al., "HellaSwag", https://github.com/rowanz/hellaswag (data/README.md)
/// Errors: Error{deck} with file, line and the problem
std::vector<ChoiceTask> read_choice_tasks(const std::string& path, const std::string& key);

}  // namespace ziggurat::data
