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
#include "data/mapped_file.hpp"
#include "data/tokenize/ordered_pool.hpp"

namespace ziggurat::data {
namespace {

/// Maximum number of batches per thread that are read ahead.
constexpr std::size_t batches_per_thread = 4;

struct EncodedRecords {
    std::vector<EncodedSample> samples;
    std::vector<BadLine> bad_records;
    std::optional<SpanMethod> method;  ///< empty: no conversation
    std::int64_t file_bytes = 0;
};

/// Encodes batches of records on one thread.
class RecordEncoder {
  public:
    RecordEncoder(std::unique_ptr<ChatEncoder> encoder, bool skips_bad_records)
        : encoder_{std::move(encoder)}, skips_bad_records_{skips_bad_records} {}

    EncodedRecords operator()(const RecordBatch& batch) {
        EncodedRecords encoded;
        encoded.file_bytes = batch.file_bytes;
        for (const auto& record : batch.records) {
            try {
                encoded.samples.push_back(encoder_->encode(record.json));
            } catch (const UnusableTemplate&) {
                throw;
            } catch (const Error& problem) {
                if (problem.kind() != ErrorKind::deck || !skips_bad_records_) {
                    throw Error{problem.kind(), fmt::format("'{}', line {}: {}", printable(batch.path),
                                                            record.line, problem.what())};
                }
                encoded.bad_records.push_back({batch.path, record.line, problem.what()});
            }
        }
        encoded.method = encoder_->span_method();
        return encoded;
    }

  private:
    std::unique_ptr<ChatEncoder> encoder_;
    bool skips_bad_records_;
};

using EncodingPool = OrderedPool<RecordBatch, EncodedRecords>;

std::int64_t total_bytes(const std::vector<std::string>& paths) {
    std::int64_t bytes = 0;
    for (const auto& path : paths) {
        bytes += stamp_of(path).value_or(FileStamp{}).bytes;
    }
    return bytes;
}

std::vector<RecordEncoder> encoders_of(const ChatJob& job,
                                       const TextTokenizer& tokenizer,
                                       const OptionalTemplate& found) {
    std::vector<RecordEncoder> encoders;
    encoders.reserve(static_cast<std::size_t>(job.threads));
    for (int i = 0; i < job.threads; ++i) {
        encoders.emplace_back(std::make_unique<ChatEncoder>(tokenizer, found.chat ? &*found.chat : nullptr,
                                                            found.reason, job.engine, job.loss_on),
                              job.skips_bad_records);
    }
    return encoders;
}

}  // namespace

SampleFileHeader write_sample_file(const ChatJob& job,
                                   const TextTokenizer& tokenizer,
                                   const ChatReports& reports) {
    ZG_EXPECTS(job.threads > 0);
    const auto found = find_optional_template(job.tokenizer, job.chat_template);
    RecordReader reader{job.inputs};
    EncodingPool pool{encoders_of(job, tokenizer, found)};
    SampleFileWriter writer{job.output};
    const auto all_bytes = total_bytes(job.inputs);
    std::int64_t num_samples = 0;
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
        const auto encoded = pool.next_result();
        if (encoded.method && !method) {
            method = encoded.method;
            if (reports.has_method) {
                reports.has_method(*method);
            }
        }
        for (const auto& bad : encoded.bad_records) {
            if (reports.skipped) {
                reports.skipped(bad);
            }
        }
        for (const auto& sample : encoded.samples) {
            writer.add(sample.ids, sample.counts);
        }
        num_samples += std::ssize(encoded.samples);
        if (reports.progress) {
            reports.progress(encoded.file_bytes, std::max(encoded.file_bytes, all_bytes));
        }
    }
    if (num_samples == 0) {
        throw Error{ErrorKind::deck, fmt::format("'{}' has no valid record. Name a file of records.",
                                                 printable(job.inputs.empty() ? "" : job.inputs.front()))};
    }
    SampleFileHeader made_from;
    made_from.loss_on = static_cast<std::int32_t>(job.loss_on);
    made_from.tokenizer_hash = tokenizer.hash();
    made_from.template_hash = method ? found.chat->hash() : 0;
    made_from.records_hash = reader.hash();
    return writer.complete(made_from);
}

}  // namespace ziggurat::data
