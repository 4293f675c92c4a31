#include "data/chat/chat_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/chat/chat_encoder.hpp"
#include "data/chat/record_reader.hpp"
#include "data/chat/unused_fields.hpp"
#include "data/mapped_file.hpp"
#include "data/samples/check_samples.hpp"
#include "data/tokenize/ordered_pool.hpp"

namespace ziggurat::data {
namespace {

/// Maximum number of batches per thread that are read ahead.
constexpr std::size_t batches_per_thread = 4;

/// Samples of a record: two of a preference, else one.
struct EncodedRecord {
    std::int64_t line = 0;
    std::vector<EncodedSample> samples = {};  ///< empty: the record is bad
    std::string problem = {};                 ///< of a bad record
    UnusedFields unused = {};

    bool is_preference() const noexcept { return samples.size() == 2; }
};

struct EncodedRecords {
    std::string path;
    std::vector<EncodedRecord> records;
    std::optional<SpanMethod> method;  ///< empty: no conversation
    std::int64_t file_bytes = 0;
};

std::string at_line(const std::string& path, std::int64_t line, const std::string& problem) {
    return fmt::format("'{}', line {}: {}", printable(path), line, problem);
}

/// Encodes batches of records on one thread.
class RecordEncoder {
  public:
    RecordEncoder(std::unique_ptr<ChatEncoder> encoder, bool skips_bad_records, StopCheck stop)
        : encoder_{std::move(encoder)}, skips_bad_records_{skips_bad_records}, stop_{std::move(stop)} {}

    EncodedRecords operator()(const RecordBatch& batch) {
        EncodedRecords encoded;
        encoded.path = batch.path;
        encoded.file_bytes = batch.file_bytes;
        for (const auto& record : batch.records) {
            check(stop_);
            try {
                auto samples = encoder_->encode(record.json);
                encoded.records.push_back({record.line, std::move(samples), {}, encoder_->unused_fields()});
            } catch (const UnusableTemplate&) {
                throw;
            } catch (const Error& problem) {
                if (problem.kind() != ErrorKind::deck) {
                    throw Error{problem.kind(), at_line(batch.path, record.line, problem.what())};
                }
                encoded.records.push_back({record.line, {}, problem.what(), {}});
                if (!skips_bad_records_) {
                    break;  // SampleOutput reports the first bad record, of either sort
                }
            }
        }
        encoded.method = encoder_->span_method();
        return encoded;
    }

  private:
    std::unique_ptr<ChatEncoder> encoder_;
    bool skips_bad_records_;
    StopCheck stop_;
};

/// Returns the tokens of a sample as a sample file has them.
std::vector<std::uint32_t> stored(const EncodedSample& sample) {
    std::vector<std::uint32_t> tokens;
    for (std::size_t i = 0; i < sample.ids.size(); ++i) {
        tokens.push_back(static_cast<std::uint32_t>(sample.ids[i]) |
                         (sample.counts[i] != 0 ? SampleFile::counts_bit : 0));
    }
    return tokens;
}

using EncodingPool = OrderedPool<RecordBatch, EncodedRecords>;

/// Writes the samples of records of one kind: that of the first valid record.
class SampleOutput {
  public:
    SampleOutput(const ChatJob& job, TemporaryFile& file, const ChatReports& reports)
        : writer_{file}, key_{job.key}, reports_{reports}, skips_bad_records_{job.skips_bad_records} {}

    void add(const EncodedRecords& encoded) {
        for (const auto& record : encoded.records) {
            const auto problem = problem_of(record);
            if (problem.empty()) {
                add_samples(record);
                continue;
            }
            if (!skips_bad_records_) {
                throw Error{ErrorKind::deck, at_line(encoded.path, record.line, problem)};
            }
            if (reports_.skipped) {
                reports_.skipped({encoded.path, record.line, problem});
            }
        }
    }

    bool is_empty() const noexcept { return !has_preferences_; }
    const UnusedFieldCounts& unused_fields() const noexcept { return unused_; }

    SampleFileHeader complete(SampleFileHeader made_from) {
        made_from.version = has_preferences_.value() ? SampleFileHeader::pairs_version
                                                     : SampleFileHeader::conversations_version;
        return writer_.complete(made_from, key_);
    }

  private:
    std::string problem_of(const EncodedRecord& record) const {
        if (record.samples.empty()) {
            return record.problem;
        }
        if (!has_preferences_ || record.is_preference() == *has_preferences_) {
            return record.is_preference() ? problem_of_pair(record) : std::string{};
        }
        return fmt::format(
            "the record is {} preference, but the records before it are {}preferences. Write "
            "both kinds to files of their own.",
            *has_preferences_ ? "no" : "a", *has_preferences_ ? "" : "no ");
    }

    /// Returns the reason why a sample file cannot have this pair; empty if it can.
    static std::string problem_of_pair(const EncodedRecord& record) {
        const auto problem =
            pair_problem(stored(record.samples.front()), stored(record.samples.back()), true);
        return problem.empty() ? problem : problem + ". Remove the record.";
    }

    void add_samples(const EncodedRecord& record) {
        has_preferences_ = record.is_preference();
        unused_.add(record.unused);
        for (const auto& sample : record.samples) {
            writer_.add(sample.ids, sample.counts);
        }
    }

    SampleFileWriter writer_;
    std::optional<std::uint64_t> key_;
    const ChatReports& reports_;
    bool skips_bad_records_;
    UnusedFieldCounts unused_;
    std::optional<bool> has_preferences_;  // empty: no valid record so far
};

std::int64_t total_bytes(const std::vector<std::string>& paths) {
    std::int64_t bytes = 0;
    for (const auto& path : paths) {
        bytes += stamp_of(path).value_or(FileStamp{}).bytes;
    }
    return bytes;
}

std::vector<RecordEncoder> encoders_of(const ChatJob& job,
                                       const TextTokenizer& tokenizer,
                                       const OptionalTemplate& found,
                                       const StopCheck& stop) {
    std::vector<RecordEncoder> encoders;
    encoders.reserve(static_cast<std::size_t>(job.threads));
    for (int i = 0; i < job.threads; ++i) {
        encoders.emplace_back(std::make_unique<ChatEncoder>(tokenizer, found.chat ? &*found.chat : nullptr,
                                                            found.reason, job.engine, job.loss_on),
                              job.skips_bad_records, stop);
    }
    return encoders;
}

}  // namespace

SampleFileHeader write_sample_file(const ChatJob& job,
                                   const TextTokenizer& tokenizer,
                                   const ChatReports& reports) {
    remove_abandoned(job.output);
    TemporaryFile file{job.output};
    return write_sample_file(job, file, tokenizer, reports);
}

SampleFileHeader write_sample_file(const ChatJob& job,
                                   TemporaryFile& file,
                                   const TextTokenizer& tokenizer,
                                   const ChatReports& reports) {
    ZG_EXPECTS(job.threads > 0);
    const auto found = find_optional_template(job.tokenizer, job.chat_template);
    RecordReader reader{job.inputs, reports.stop};
    EncodingPool pool{encoders_of(job, tokenizer, found, reports.stop)};
    SampleOutput output{job, file, reports};
    const auto all_bytes = total_bytes(job.inputs);
    std::optional<SpanMethod> method;
    bool has_more = true;
    const auto fill = [&] {
        while (has_more && pool.in_flight() < batches_per_thread * static_cast<std::size_t>(job.threads)) {
            auto batch = reader.next();
            has_more = batch.has_value();
            if (batch) {
                pool.submit(std::move(*batch));
            }
        }
    };
    for (fill(); pool.in_flight() > 0; fill()) {
        const auto encoded = pool.next_result(reports.stop);
        if (encoded.method && !method) {
            method = encoded.method;
            if (reports.has_method) {
                reports.has_method(*method);
            }
        }
        output.add(encoded);
        if (reports.progress) {
            reports.progress(encoded.file_bytes, std::max(encoded.file_bytes, all_bytes));
        }
    }
    if (output.is_empty()) {
        throw Error{ErrorKind::deck, fmt::format("'{}' has no valid record. Name a file of records.",
                                                 printable(job.inputs.empty() ? "" : job.inputs.front()))};
    }
    for (const auto& note : output.unused_fields().notes(job.inputs)) {
        if (reports.note) {
            reports.note(note);
        }
    }
    SampleFileHeader made_from;
    made_from.loss_on = static_cast<std::int32_t>(job.loss_on);
    made_from.tokenizer_hash = tokenizer.hash();
    made_from.template_hash = method ? found.chat->hash() : 0;
    made_from.records_hash = reader.hash();
    return output.complete(made_from);
}

}  // namespace ziggurat::data
