/// Creation of sample files from records of conversations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/chat/template_engine.hpp"
#include "data/samples/sample_file.hpp"
#include "data/tokenize/encode_pool.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

struct ChatJob {
    std::vector<std::string> inputs = {};  ///< JSON lines or arrays, also as gzip or zstd, and pipes
    std::string tokenizer = {};            ///< file of the tokenizer, or its folder; empty: it has no file
    std::string chat_template = {};        ///< choice of find_chat_template()
    spec::LossOn loss_on = spec::LossOn::assistant;
    std::string output = {};                ///< path of the sample file; an existing file is replaced
    std::optional<std::uint64_t> key = {};  ///< of samples that the program keeps for itself: they get a seal
    bool skips_bad_records = false;         ///< if false, a bad record ends the job
    int threads = 1;
    TemplateEngine engine = {};
};

/// Reports of a job, each called by the thread of the job. Any of them may be empty.
struct ChatReports {
    /// Bytes of inputs whose samples are written, and the bytes of all inputs.
    std::function<void(std::int64_t done_bytes, std::int64_t all_bytes)> progress = {};
    /// A bad record that was skipped.
    std::function<void(const BadLine& record)> skipped = {};
    /// The method by which masks of conversations are made, with the first conversation.
    std::function<void(SpanMethod method)> has_method = {};
    /// A sentence about fields of records that affect no sample; at the end, at most two.
    std::function<void(const std::string& text)> note = {};
    /// Ends the job; also called by its other threads.
    StopCheck stop = {};
};

/// Encodes records in order and writes them. Returns the header of the file.
///
/// The first valid record decides if the file has pairs of answers: either all records are preferences, or
/// none is. A record of the other kind is a bad record.
///
/// The file does not depend on the number of threads. Only conversations need a template and Python.
///
/// Errors: Error{deck} that names an input, its line and the field, or the template and its line;
///         Error{resource} if Python or its module jinja2 is missing; UnwritableFile; Stopped. Then no file
///         is left
SampleFileHeader write_sample_file(const ChatJob& job,
                                   const TextTokenizer& tokenizer,
                                   const ChatReports& reports);
/// Writes to `file` instead of `job.output`, and completes it.
SampleFileHeader write_sample_file(const ChatJob& job,
                                   TemporaryFile& file,
                                   const TextTokenizer& tokenizer,
                                   const ChatReports& reports);

}  // namespace ziggurat::data
