/// Opening of sources of conversations.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/chat/chat_files.hpp"
#include "data/samples/chat_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Samples that are about to be made from records.
struct SamplesToMake {
    const std::string& records;
    const std::string& path;  ///< of the samples
    bool is_kept = true;      ///< false: only this process uses them
    bool has_others = false;  ///< samples of records of this name exist, and have another key
    std::string reason =
        {};  ///< why an existing file is not used, or why the path is another one; may be empty
};

/// Options and reports of sample_files(). Any of them may be empty.
struct SampleFileOptions {
    /// Storage of samples that are made from records; false: in no folder, and only for this process.
    bool keeps = true;
    /// Folder for samples if that of their records cannot be written; empty: then that is an error.
    std::string other_folder = {};
    /// Use of check_samples() for each file.
    bool checks_all = false;
    std::function<void(const SamplesToMake&)> begins = {};
    ChatReports of_job = {};
};

/// Returns the sample files of a source of the format chat, in order.
///
/// A sample file is itself. Records of conversations (JSON lines) become `RECORDS.KEY.samples` next to them,
/// where KEY depends on their bytes, the tokenizer and its configuration, the template, loss_on, and the
/// version of the code that encodes them. An existing file of this name is used, without Python, if its hash
/// is that of its content; else it is made again. Processes of one machine that open the same records make
/// the file once.
///
/// \param key  deck key of its path; messages begin with it
/// Errors: Error{deck} if a file is missing, or records need a tokenizer; those of find_chat_template() and
///         write_sample_file(); Error{resource} if the file cannot be written
std::vector<SampleFile> sample_files(const spec::Data& data,
                                     const spec::Source& source,
                                     const std::string& key,
                                     const SampleFileOptions& options = {});

/// Returns those of sample_files() that exist and are valid. Empty if the source has moved.
///
/// \param other_folder  as in SampleFileOptions
std::vector<SampleFile> existing_sample_files(const spec::Data& data,
                                              const spec::Source& source,
                                              const std::string& other_folder = {});

/// Opens a source of the format chat.
///
/// Errors: those of sample_files(); Error{deck} if a sample file was made with another tokenizer, template or
///         loss_on than the deck has
std::shared_ptr<const ChatSource> open_chat(const spec::Data& data,
                                            const spec::Source& source,
                                            const std::string& key,
                                            const SampleFileOptions& options = {});

}  // namespace ziggurat::data
