/// Opening of sources of conversations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/chat/chat_files.hpp"
#include "data/chat/chat_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Reports of sample_files(). Any of them may be empty.
struct SampleFileReports {
    /// A sample file is about to be made from records.
    ///
    /// \param has_others  samples of records of this name exist, and have another key
    std::function<void(const std::string& records, const std::string& samples, bool has_others)> begins = {};
    ChatReports of_job = {};
};

/// Returns the sample files of a source of the format chat, in order.
///
/// A sample file is itself. Records of conversations (JSON lines) become `RECORDS.HASH.samples` next to them,
/// where HASH depends on their bytes, the tokenizer and its configuration, the template, loss_on, and the
/// version of the code that encodes them. An existing file of this name is used, without Python. Processes of
/// one machine that open the same records make the file once.
///
/// \param key  deck key of its path; messages begin with it
/// Errors: Error{deck} if a file is missing, or records need a tokenizer; those of find_chat_template() and
///         write_sample_file(); Error{resource} if the file cannot be written
std::vector<std::string> sample_files(const spec::Data& data,
                                      const spec::Source& source,
                                      const std::string& key,
                                      const SampleFileReports& reports = {});

/// Returns those of sample_files() that exist, and makes none. Empty if the source has moved.
std::vector<std::string> existing_sample_files(const spec::Data& data, const spec::Source& source);

/// Opens a source of the format chat.
///
/// Errors: those of sample_files(); Error{deck} if a sample file was made with another tokenizer, template or
///         loss_on than the deck has
std::shared_ptr<const ChatSource> open_chat(const spec::Data& data,
                                            const spec::Source& source,
                                            const std::string& key,
                                            const SampleFileReports& reports = {});

}  // namespace ziggurat::data
