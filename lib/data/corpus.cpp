#include "data/corpus.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "data/encoded_text.hpp"
#include "data/pack/open_arranged.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {
namespace {

std::string key_of(const char* list, std::size_t index) {
    std::string key = "data.";
    key += list;
    key += "[" + std::to_string(index) + "].path";
    return key;
}

void expect_a_window(const SourcePart& part,
                     std::int64_t seq,
                     const std::string& key,
                     const char* use,
                     Rest rest = Rest::left_out) {
    if (part.num_windows(seq, rest) > 0) {
        return;
    }
    if (rest == Rest::included) {
        throw Error{ErrorKind::deck, key + ": " + std::to_string(part.end - part.begin) + " tokens for " +
                                         use +
                                         " are too few (the minimum is a token and its target). Name "
                                         "longer files."};
    }
    std::string message = key;
    message += ": " + std::to_string(part.end - part.begin) + " tokens for ";
    message += use;
    message += " are too few (a sequence of data.seq = " + std::to_string(seq) + " needs " +
               std::to_string(seq + 1) + "). Name longer files, shorten data.seq or change data.held_out.";
    throw Error{ErrorKind::deck, message};
}

struct DividedSource {
    SourcePart trained, held_out;
};

/// Divides the tokens of a source into the trained part and the part that is held out.
DividedSource divided(const TokenSource& tokens, int source, double held_out) {
    const std::int64_t all = tokens.num_tokens();
    if (const auto sequences = tokens.sequences()) {
        const std::int64_t middle = sequences->num_trained * sequences->seq;
        const bool has_held_out = sequences->num_held_out > 0;
        return {{.source = source, .begin = 0, .end = middle + 1, .is_packed = true},
                {.source = source, .begin = has_held_out ? middle : all, .end = all, .is_packed = true}};
    }
    const auto kept = static_cast<std::int64_t>(std::floor(static_cast<double>(all) * held_out));
    return {{.source = source, .begin = 0, .end = all - kept},
            {.source = source, .begin = all - kept, .end = all}};
}

void expect_documents(const TokenSource& tokens, const DocumentRule& rule, const std::string& key) {
    if (rule.is_reset && rule.start_token < 0 && !tokens.has_document_index()) {
        throw Error{ErrorKind::deck,
                    key +
                        ": documents cannot be separated (data.reset_at_document is on, and the "
                        "source has no document index). Set data.document_token."};
    }
}

}  // namespace

Corpus::Corpus(const spec::Data& data,
               std::int64_t vocab,
               std::uint64_t seed,
               const OpenSource& open_tokens,
               Rest rest,
               const StopCheck& stop,
               const std::string& run_folder)
    : data_{data}, vocab_{vocab}, seed_{seed}, rest_{rest} {
    // Answers attend to their own tokens only.
    ZG_EXPECTS(!data.has_pairs || data.reset_at_document);
    std::unique_ptr<const TextTokenizer> tokenizer;
    const auto open = [&](const spec::Source& source, const std::string& key, double held_out) {
        if (source.format == spec::TokenFormat::text && data.tokenizer.has_file()) {
            tokenizer = tokenizer ? std::move(tokenizer) : open_tokenizer(data.tokenizer);
            sources_.push_back(
                {std::make_unique<EncodedText>(source.path, *tokenizer, data.add_bos, key, stop), key,
                 source.name});
        } else if (source.format == spec::TokenFormat::chat) {
            const SampleFileOptions options{.other_folder = run_folder, .of_job = {.stop = stop}};
            sources_.push_back({open_arranged(data, source, key, held_out, options), key, source.name});
        } else {
            sources_.push_back({open_tokens(source, key), key, source.name});
        }
        auto& opened = sources_.back();
        expect_kind(*opened.tokens, data, source, key);
        expect_documents(*opened.tokens, documents(), key);
        opened.first_pair = num_pairs() - opened.tokens->num_pairs();
        return static_cast<int>(sources_.size()) - 1;
    };
    for (std::size_t i = 0; i < data.train.size(); ++i) {
        const auto key = key_of("train", i);
        const int source = open(data.train[i], key, data.held_out);
        const auto parts = divided(*sources_.back().tokens, source, data.held_out);
        training_.push_back(parts.trained);
        training_.back().weight = data.train[i].weight;
        expect_a_window(training_.back(), data.seq, key, "training");
        if (parts.held_out.end > parts.held_out.begin) {
            validation_.push_back(parts.held_out);
            expect_a_window(validation_.back(), data.seq, key, "validation (data.held_out)", rest);
        }
    }
    const auto first_held_out = validation_.size();
    for (std::size_t i = 0; i < data.validation.size(); ++i) {
        const auto key = key_of("validation", i);
        const int source = open(data.validation[i], key, 0);
        validation_.push_back({source, 0, sources_.back().tokens->num_tokens(), 1});
        expect_a_window(validation_.back(), data.seq, key, "validation", rest);
    }
    std::rotate(validation_.begin(), validation_.begin() + static_cast<std::ptrdiff_t>(first_held_out),
                validation_.end());
}

void Corpus::check_tokens(std::int64_t limit, const StopCheck& stop) const {
    for (const auto& [tokens, key, name, first_pair] : sources_) {
        check_vocabulary(*tokens, 0, std::min(limit, tokens->num_tokens()), vocab_, key, stop);
    }
}

std::vector<NamedFile> Corpus::files() const {
    std::vector<NamedFile> files;
    for (const auto& [tokens, key, name, first_pair] : sources_) {
        for (const SourceFile& file : tokens->files()) {
            files.push_back({key, file});
        }
    }
    return files;
}

std::int64_t Corpus::num_pairs() const {
    return std::transform_reduce(sources_.begin(), sources_.end(), std::int64_t{0}, std::plus{},
                                 [](const auto& source) { return source.tokens->num_pairs(); });
}

std::int64_t Corpus::num_tokens(const std::vector<SourcePart>& parts) {
    std::int64_t tokens = 0;
    for (const auto& part : parts) {
        tokens += part.end - part.begin;
    }
    return tokens;
}

DataOrderState Corpus::order(std::int64_t global_batch) const {
    DataOrderState order{.seq = data_.seq, .seed = seed_, .is_shuffled = data_.shuffle};
    for (const auto& part : training_) {
        order.sources.push_back({.weight = part.weight,
                                 .tokens = sources_[order.sources.size()].tokens->num_tokens(),
                                 .trained = part.end,
                                 .is_packed = part.is_packed,
                                 .stream = static_cast<std::uint32_t>(order.sources.size())});
        for (const auto& [step, weight] : data_.train[order.sources.size() - 1].weight_changes) {
            if (step < std::numeric_limits<std::int64_t>::max() / 4 / global_batch) {  // else never reached
                order.sources.back().changes.push_back({step * global_batch, weight});
            }
        }
    }
    return order;
}

BatchSource Corpus::training(const DataOrderState& order) const {
    return {sources_, std::make_unique<TrainingOrder>(order), documents(), vocab_};
}

BatchSource Corpus::validation(std::int64_t max_samples) const {
    return {sources_, std::make_unique<SequentialOrder>(validation_, data_.seq, max_samples, rest_),
            documents(), vocab_};
}

}  // namespace ziggurat::data
