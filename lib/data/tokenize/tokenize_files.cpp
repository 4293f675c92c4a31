#include "data/tokenize/tokenize_files.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/tokenize/document_reader.hpp"
#include "data/tokenize/encode_pool.hpp"
#include "data/tokenize/journal.hpp"
#include "data/tokenize/output_names_impl.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::data {
namespace {

/// Maximum number of batches that are lost if a job is killed, in addition to those in progress.
// so that a batch with a long document does not block the others
constexpr std::size_t batches_per_thread = 4;

/// Version of the code that divides texts into documents and encodes them.
///
/// Raise it when the same texts give other tokens: a job of the earlier version then does not resume.
constexpr int encoding_version = 1;

/// Returns all inputs that determine the output bytes.
std::string description(const TokenizeJob& job,
                        const TextTokenizer& tokenizer,
                        const std::vector<TextInput>& inputs) {
    nlohmann::ordered_json text;
    text["version of the journal"] = 3;
    text["version of the encoder"] = encoding_version;
    text["tokenizer"] = fmt::format("{:016x}", tokenizer.hash());
    text["configuration of the tokenizer"] = fmt::format("{:016x}", job.configuration);
    text["vocabulary"] = tokenizer.vocab_size();
    text["document_token"] = tokenizer.document_token().value_or(-1);
    text["begin_token"] = job.begin_token.value_or(-1);
    text["format"] = spec::word_of(job.format);
    text["field"] = job.lines.field;
    text["inputs"] = nlohmann::ordered_json::array();
    for (const auto& input : inputs) {
        text["inputs"].push_back({{"path", input.path},
                                  {"bytes", input.stamp.bytes},
                                  {"has lines", input.has_lines},
                                  {"hash", fmt::format("{:016x}", input.hash)}});
    }
    // File names are not always UTF-8.
    return text.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void expect_new(const TokenizeJob& job) {
    for (const auto& path : token_paths(job.name, job.format)) {
        if (::access(path.c_str(), F_OK) == 0) {
            throw Error{ErrorKind::deck, fmt::format("'{}' exists already. Remove it, or set another --out.",
                                                     printable(path))};
        }
    }
}

/// Removes the files of a job that has written no documents.
void remove_unfinished(const TokenizeJob& job) {
    ::unlink((job.name + lengths_ending).c_str());
    for (const auto& path : token_paths(job.name, job.format)) {
        ::unlink((path + unfinished_ending).c_str());
    }
}

/// Returns the hash of the texts of all batches, chained.
std::uint64_t chained(std::uint64_t before, std::uint64_t batch) {
    const std::array<std::uint64_t, 2> both{before, batch};
    return XXH3_64bits(both.data(), sizeof both);
}

/// Reads up to the record and checks that all texts before it have the recorded hash.
void expect_same_beginning(DocumentReader& reader,
                           const JournalRecord& record,
                           const TokenizeJournal& journal,
                           const StopCheck& stop) {
    std::uint64_t hash = 0;
    while (reader.position() < record.next) {
        check(stop);
        const auto batch = reader.next(record.next);
        if (!batch) {
            break;
        }
        hash = chained(hash, hash_of(*batch));
    }
    if (reader.position() != record.next || hash != record.hash) {
        journal.refuse_inputs();
    }
}

/// One job from its last record on.
class Tokenization {
  public:
    Tokenization(const TokenizeJob& job,
                 const TextTokenizer& tokenizer,
                 const std::vector<TextInput>& inputs,
                 TokenizeJournal& journal)
        : job_{job},
          inputs_{inputs},
          journal_{journal},
          record_{journal.last().value_or(JournalRecord{})},
          reader_{inputs, is_to_be_read_again() ? InputPosition{} : record_.next},
          layout_{layout_for(job.format, tokenizer.vocab_size())},
          pool_{document_encoders(tokenizer, job.begin_token, layout_, job.lines, job.threads)} {
        if (is_to_be_read_again()) {
            expect_same_beginning(reader_, record_, journal_, job_.stop);
        }
        if (journal_.has_other_inputs()) {
            journal_.accept_inputs();
        }
    }

    JournalRecord run(const TokenizeProgress& progress) {
        output_.emplace(job_.name, layout_, record_.written, record_.output_hash, job_.stop);
        try {
            write_documents(progress);
            expect_unchanged(inputs_);
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::deck) {
                write_record();  // so that only the batch of a repaired line is repeated
            }
            throw;
        } catch (const Stopped&) {
            if (record_.next != InputPosition{}) {
                write_record();
            }
            throw;
        }
        record_.has_all = true;
        write_record();
        return record_;
    }
    const std::vector<BadLine>& bad_lines() const noexcept { return bad_lines_; }

  private:
    /// Returns true if earlier input must be read again. A pipe is always read from its beginning.
    bool is_to_be_read_again() const {
        const bool has_pipe =
            std::ranges::any_of(inputs_, [](const auto& input) { return input.pipe != nullptr; });
        return record_.next != InputPosition{} && (journal_.has_other_inputs() || has_pipe);
    }

    void write_record() {
        output_->flush();
        record_.written = output_->written();
        record_.output_hash = output_->hash();
        journal_.append(record_);
        recorded_ns_ = monotonic_ns();
    }

    void fill_pool() {
        const auto max_batches = batches_per_thread * static_cast<std::size_t>(job_.threads);
        while (has_more_ && pool_.in_flight() < max_batches) {
            auto batch = reader_.next();
            has_more_ = batch.has_value();
            if (batch) {
                pool_.submit(std::move(*batch));
            }
        }
    }

    void write_documents(const TokenizeProgress& progress) {
        std::int64_t all_bytes = 0;
        for (const auto& input : inputs_) {
            all_bytes += input.stamp.bytes;
        }
        recorded_ns_ = monotonic_ns();
        for (fill_pool(); pool_.in_flight() > 0; fill_pool()) {
            auto encoded = pool_.next_result(job_.stop);
            output_->append(encoded.packed, encoded.lengths, encoded.unknown);
            record_.next = encoded.next;
            record_.text_bytes += encoded.text_bytes;
            record_.skipped_lines += encoded.skipped_lines;
            record_.hash = chained(record_.hash, encoded.hash);
            const auto room = EncodedBatch::max_named - bad_lines_.size();
            encoded.bad_lines.resize(std::min(room, encoded.bad_lines.size()));
            std::ranges::move(encoded.bad_lines, std::back_inserter(bad_lines_));
            progress(encoded.input_bytes, std::max(encoded.input_bytes, all_bytes));
            if (seconds_between(recorded_ns_, monotonic_ns()) > job_.seconds_between_records) {
                write_record();
            }
        }
    }

    const TokenizeJob& job_;
    const std::vector<TextInput>& inputs_;
    TokenizeJournal& journal_;
    JournalRecord record_;
    DocumentReader reader_;
    TokenLayout layout_;
    EncodePool pool_;
    std::optional<TokenOutput> output_;
    std::vector<BadLine> bad_lines_;
    std::int64_t recorded_ns_ = 0;
    bool has_more_ = true;
};

}  // namespace

TokenizeResult tokenize_files(const TokenizeJob& job,
                              const TextTokenizer& tokenizer,
                              const TokenizeProgress& progress) {
    const auto inputs = text_inputs(job.inputs, job.kind, job.stop);
    const auto layout = layout_for(job.format, tokenizer.vocab_size());
    const auto journal_path = job.name + ".journal";
    if (::access(journal_path.c_str(), F_OK) != 0) {
        expect_new(job);
    }
    TokenizeJournal journal{journal_path, description(job, tokenizer, inputs)};
    const auto earlier = journal.last().value_or(JournalRecord{});
    auto record = earlier;
    std::vector<BadLine> bad_lines;
    if (!earlier.has_all) {
        expect_new(job);
        try {
            Tokenization tokenization{job, tokenizer, inputs, journal};
            record = tokenization.run(progress);
            bad_lines = tokenization.bad_lines();
        } catch (...) {
            if (!journal.has_records()) {
                remove_unfinished(job);
                journal.remove();
            }
            throw;
        }
    } else if (journal.has_other_inputs()) {
        journal.refuse_inputs();
    } else if (const auto kept = record.output_hash == 0
                                     ? std::nullopt
                                     : hash_of_written(job.name, layout, record.written, job.stop)) {
        expect_written(*kept, record.output_hash, job.name);
    }
    complete_token_files(job.name, layout, record.written);
    journal.remove();
    return {record.written,     layout.type,          record.text_bytes,
            earlier.text_bytes, record.skipped_lines, std::move(bad_lines)};
}

}  // namespace ziggurat::data
