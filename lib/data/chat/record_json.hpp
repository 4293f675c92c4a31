/// JSON of records of conversations.
#pragma once

#include <string>
#include <string_view>

#include "data/chat/template_process.hpp"

namespace ziggurat::data {

/// Parses the JSON of a record, or of a text in it.
///
/// \param what    name of the text in messages
/// \param remedy  sentence for text that is not JSON
/// Errors: Error{deck} also for numbers that the parser would round, and for deep nesting
ChatJson parse_record_json(std::string_view text, const std::string& what, const std::string& remedy);

/// Throws the Error{deck} of a bad record.
[[noreturn]] void refuse_record(const std::string& problem, const std::string& remedy);

}  // namespace ziggurat::data
