#include "data/tokenize/encode_pool.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/tokenize/json_line_field.hpp"

namespace ziggurat::data {
namespace {

/// Returns the number, from 1, of a line of `run` in its file.
std::int64_t number_of(const DocumentRun& run, std::string_view line) {
    return 1 + run.lines_before + std::ranges::count(run.text_before, '\n') +
           std::count(run.text.data(), line.data(), '\n');
}

UnknownText unknown_text(std::span<const std::int32_t> ids, std::optional<std::int32_t> unknown_token) {
    UnknownText unknown;
    bool was_unknown = false;
    for (const auto id : ids) {
        const bool is_unknown = id == unknown_token;
        unknown.tokens += is_unknown ? 1 : 0;
        unknown.runs += is_unknown && !was_unknown ? 1 : 0;
        was_unknown = is_unknown;
    }
    return unknown;
}

bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

std::uint64_t hash_of(const DocumentBatch& batch) {
    std::uint64_t hash = 0;
    for (const auto& run : batch.runs) {
        const std::array<std::uint64_t, 3> parts{hash, XXH3_64bits(run.text.data(), run.text.size()),
                                                 run.input->has_lines ? 1U : 0U};
        hash = XXH3_64bits(parts.data(), sizeof parts);
    }
    return hash;
}

DocumentEncoder::DocumentEncoder(const TextTokenizer& tokenizer,
                                 std::optional<std::int32_t> begin_token,
                                 TokenLayout layout,
                                 LineReading lines)
    : encoder_{tokenizer.make_encoder()},
      document_token_{tokenizer.document_token()},
      begin_token_{begin_token},
      unknown_token_{tokenizer.unknown_token()},
      layout_{layout},
      lines_{std::move(lines)} {}

EncodedBatch DocumentEncoder::encode(const DocumentBatch& batch) {
    EncodedBatch encoded;
    encoded.next = batch.next;
    encoded.input_bytes = batch.input_bytes;
    encoded.hash = hash_of(batch);
    for (const auto& run : batch.runs) {
        encoded.text_bytes += std::ssize(run.text);
        if (run.input->has_lines) {
            encode_lines(run, encoded);
            continue;
        }
        try {
            encode_document(run.text, encoded);
        } catch (const Error& problem) {
            throw Error{problem.kind(), fmt::format("'{}': {}", printable(run.input->path), problem.what())};
        }
    }
    return encoded;
}

void DocumentEncoder::encode_lines(const DocumentRun& run, EncodedBatch& encoded) {
    for (std::size_t begin = 0; begin < run.text.size();) {
        const auto end = std::min(run.text.find('\n', begin), run.text.size());
        const auto line = run.text.substr(begin, end - begin);
        begin = end + 1;
        if (is_blank(line)) {
            continue;
        }
        try {
            if (std::ssize(line) > DocumentReader::max_line_bytes) {
                throw Error{ErrorKind::deck,
                            fmt::format("a line of more than {} bytes. Split it into smaller ones.",
                                        DocumentReader::max_line_bytes)};
            }
            encode_document(json_line_field(line, lines_.field), encoded);
        } catch (const Error& problem) {
            if (problem.kind() != ErrorKind::deck || !lines_.skips_bad_lines) {
                throw Error{problem.kind(), fmt::format("'{}', line {}: {}", printable(run.input->path),
                                                        number_of(run, line), problem.what())};
            }
            ++encoded.skipped_lines;
            if (encoded.bad_lines.size() < EncodedBatch::max_named) {
                encoded.bad_lines.push_back({run.input->path, number_of(run, line), problem.what()});
            }
        }
    }
}

void DocumentEncoder::encode_document(std::string_view text, EncodedBatch& encoded) {
    ids_.clear();
    const bool begins_with_token = layout_.format == spec::TokenFormat::llmc;
    if (document_token_ && begins_with_token) {
        ids_.push_back(*document_token_);
    }
    if (begin_token_) {
        ids_.push_back(*begin_token_);
    }
    encoder_->encode(text, ids_);
    encoded.unknown += unknown_text(ids_, unknown_token_);
    if (document_token_ && !begins_with_token) {
        ids_.push_back(*document_token_);
    }
    if (ids_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        throw Error{ErrorKind::deck,
                    fmt::format("a document of {} tokens, more than 2147483647. Split it into smaller ones.",
                                ids_.size())};
    }
    pack(ids_, layout_.type, encoded.packed);
    encoded.lengths.push_back(static_cast<std::int32_t>(ids_.size()));
}

std::vector<DocumentEncoder> document_encoders(const TextTokenizer& tokenizer,
                                               std::optional<std::int32_t> begin_token,
                                               TokenLayout layout,
                                               const LineReading& lines,
                                               int threads) {
    std::vector<DocumentEncoder> encoders;
    encoders.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) {
        encoders.emplace_back(tokenizer, begin_token, layout, lines);
    }
    return encoders;
}

}  // namespace ziggurat::data
