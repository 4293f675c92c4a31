/// Multiple-choice tasks: a context, and endings of which one is right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ziggurat::data {

struct ChoiceTask {
    std::int64_t line = 0;  ///< of its file, from 1
    std::string context;
    std::vector<std::string> endings;   ///< two or more, none of them empty
    std::optional<std::int64_t> label;  ///< the right one, an index of `endings`; nothing: it is not told
};

/// The tasks of a file or pipe of JSON lines, also packed by gzip or zstd, with the fields of HellaSwag;
/// lines that are blank are passed over.
///
/// | field | of a line | else |
/// | --- | --- | --- |
/// | context | `ctx` | `ctx_a`, a space, `ctx_b`; `context` |
/// | endings | `endings` | `choices` |
/// | label | `label`: a whole number (`1.0` is one), or a text with one; missing, null or an empty text: not
/// told | `answer` |
///
/// \param key  what named the file; complaints of its being missing or unreadable begin with it
/// Source: Zellers et al., "HellaSwag", https://github.com/rowanz/hellaswag (data/README.md)
/// Errors: Error{deck} with file, line and what is missing on it
std::vector<ChoiceTask> read_choice_tasks(const std::string& path, const std::string& key);

}  // namespace ziggurat::data
