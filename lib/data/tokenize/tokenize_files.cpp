#include "data/tokenize/tokenize_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "data/tokenize/document_reader.hpp"
#include "data/tokenize/encode_pool.hpp"
#include "data/tokenize/journal.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::data {
namespace {

/// What a job that is killed loses at most, besides what is under way.
constexpr double seconds_between_records = 0.2;
constexpr std::size_t batches_per_thread = 4;  // so that a long document of one holds up no other

/// Everything that the bytes follow from.
std::string description(const TokenizeJob& job,
                        const TextTokenizer& tokenizer,
                        const std::vector<TextInput>& inputs) {
    nlohmann::ordered_json text;
    text["tokenizer"] = fmt::format("{:016x}", tokenizer.hash());
    text["vocabulary"] = tokenizer.vocab_size();
    text["document_token"] = tokenizer.document_token().value_or(-1);
    text["begin_token"] = job.begin_token.value_or(-1);
    text["format"] = spec::word_of(job.format);
    text["field"] = job.field;
    text["inputs"] = nlohmann::ordered_json::array();
    for (const auto& input : inputs) {
        text["inputs"].push_back({{"path", input.path},
                                  {"bytes", input.stamp.bytes},
                                  {"hash", fmt::format("{:016x}", input.hash)}});
    }
    // Names of files need not be UTF-8.
    return text.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void expect_new(const TokenizeJob& job) {
    for (const auto& path : token_paths(job.name, job.format)) {
        if (::access(path.c_str(), F_OK) == 0) {
            throw Error{
                ErrorKind::deck,
                fmt::format("'{}' exists already. Remove it, or name another by --out.", printable(path))};
        }
    }
}

std::int64_t bytes_before(const std::vector<TextInput>& inputs, InputPosition position) {
    std::int64_t bytes = position.offset;
    for (std::int64_t i = 0; i < position.file && i < std::ssize(inputs); ++i) {
        bytes += inputs[static_cast<std::size_t>(i)].stamp.bytes;
    }
    return bytes;
}

/// Writes all documents from the last record on.
JournalRecord write_documents(const TokenizeJob& job,
                              const TextTokenizer& tokenizer,
                              TokenLayout layout,
                              const std::vector<TextInput>& inputs,
                              TokenizeJournal& journal,
                              const TokenizeProgress& progress) {
    JournalRecord record = journal.last().value_or(JournalRecord{});
    TokenOutput output{job.name, layout, record.written};
    DocumentReader reader{inputs, record.next};
    EncodePool pool{tokenizer, job.begin_token, layout, job.field, job.threads};
    const auto all_bytes = bytes_before(inputs, {std::ssize(inputs), 0});
    auto recorded_ns = monotonic_ns();
    const auto write_record = [&] {
        output.flush();
        record.written = output.written();
        journal.append(record);
        recorded_ns = monotonic_ns();
    };
    for (bool has_more = true; has_more || pool.under_way() > 0;) {
        while (has_more && pool.under_way() < batches_per_thread * static_cast<std::size_t>(job.threads)) {
            auto batch = reader.next();
            has_more = batch.has_value();
            if (batch) {
                pool.give(std::move(*batch));
            }
        }
        if (pool.under_way() == 0) {
            break;
        }
        const auto encoded = pool.take();
        output.append(encoded.packed, encoded.lengths, encoded.unknown);
        record.next = encoded.next;
        progress(bytes_before(inputs, record.next), all_bytes);
        if (seconds_between(recorded_ns, monotonic_ns()) > seconds_between_records) {
            write_record();
        }
    }
    expect_unchanged(inputs);
    record.has_all = true;
    write_record();
    return record;
}

}  // namespace

TokenizeResult tokenize_files(const TokenizeJob& job,
                              const TextTokenizer& tokenizer,
                              const TokenizeProgress& progress) {
    const auto inputs = text_inputs(job.inputs);
    const auto layout = layout_for(job.format, tokenizer.vocab_size());
    const auto journal_path = job.name + ".journal";
    if (::access(journal_path.c_str(), F_OK) != 0) {
        expect_new(job);
    }
    TokenizeJournal journal{journal_path, description(job, tokenizer, inputs)};
    const auto earlier = journal.last().value_or(JournalRecord{});
    auto record = earlier;
    if (!earlier.has_all) {
        expect_new(job);
        record = write_documents(job, tokenizer, layout, inputs, journal, progress);
    }
    complete_token_files(job.name, layout, record.written);
    journal.remove();
    return {record.written, layout.type, bytes_before(inputs, {std::ssize(inputs), 0}),
            bytes_before(inputs, earlier.next)};
}

}  // namespace ziggurat::data
