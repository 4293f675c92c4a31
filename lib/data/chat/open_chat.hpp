/// Opening of sources of conversations.
#pragma once

#include <memory>
#include <string>

#include "data/chat/chat_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Opens a source of the format chat: sample files.
///
/// \param key  deck key of its path; messages begin with it
/// Errors: Error{deck} if a file is missing or not a sample file, or was made with another tokenizer or
///         another loss_on than the deck has
std::shared_ptr<const ChatSource> open_chat(const spec::Data& data,
                                            const spec::Source& source,
                                            const std::string& key);

}  // namespace ziggurat::data
