#include "app/model/job_deck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "app/deck/epochs.hpp"
#include "app/model/usual_values.hpp"
#include "app/start/token_sources.hpp"
#include "app/start/tokenizers.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "deck/load.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::app {
namespace {

constexpr const char* comment_on_tokens =
    "Tokens that `ziggurat tokenize` has written with the tokenizer of the model.";
constexpr std::int64_t longest_sequence = 2048;  // the default cutoff_len of LLaMA-Factory
/// Number of steps below which a batch is halved, down to `batch` sequences.
struct FewestSteps {
    std::int64_t batch, steps;
};
constexpr std::array<FewestSteps, 2> fewest_steps = {{{8, 100}, {2, 10}}};
constexpr std::int64_t steps_without_data = 1000;
constexpr std::int64_t longest_warmup_steps = 2000;
constexpr double warmup_share = 0.03;
constexpr std::int64_t validations = 10;

/// Source of data.train, as the deck describes it.
struct JobSource {
    std::string format, path;
};

/// Values of the deck that depend on the size of the data.
struct JobSize {
    double held_out = 0;
    std::int64_t batch = 1, steps = 1;
    std::optional<double> sequences = {};  ///< in an epoch; nullopt: no data is given
};

[[noreturn]] void reject(const std::string& data, const std::string& reason, const std::string& remedy) {
    throw Error{
        ErrorKind::deck,
        fmt::format("--data: cannot use '{}' with --for {}", printable(data), reason) + ". " + remedy};
}

JobSource source_of(const UsualValues& usual, const std::string& folder, const std::string& data) {
    if (data.empty()) {
        return usual.takes_records ? JobSource{"chat", folder + "/train.jsonl"}
                                   : JobSource{"llmc", folder + "/train.bin"};
    }
    const bool is_megatron = data.ends_with(".idx");
    const bool has_tokens = is_megatron || data.ends_with(".bin");
    if (has_tokens && !usual.takes_tokens) {
        reject(data, fmt::format("{} (it is a file of tokens without conversations)", usual.job),
               "Name the file of records, such as chats.jsonl.");
    }
    if (!has_tokens && !usual.takes_records) {
        reject(data, fmt::format("{} (it is neither a .bin nor an .idx file of tokens)", usual.job),
               "Run 'ziggurat tokenize' on it, and name the file that this writes.");
    }
    return {is_megatron  ? "megatron"
            : has_tokens ? "llmc"
                         : "chat",
            is_megatron ? data.substr(0, data.size() - 4) : data};
}

std::int64_t usual_batch(const UsualValues& usual, std::int64_t seq) {
    return usual.batch > 0 ? usual.batch : std::max(fewest_steps[0].batch, usual.batch_tokens / seq);
}

/// Returns the usual batch, halved for small data.
///
/// \param sequences  of all epochs
std::int64_t choose_batch(std::int64_t batch, double sequences) {
    for (const auto& fewest : fewest_steps) {
        while (batch / 2 >= fewest.batch && sequences < static_cast<double>(fewest.steps * batch)) {
            batch /= 2;
        }
    }
    return batch;
}

std::string warmup_of(const UsualValues& usual, std::int64_t steps) {
    if (*usual.warmup.value != '\0') {
        return usual.warmup.value;
    }
    const bool is_long = warmup_share * static_cast<double>(steps) >= longest_warmup_steps;
    return is_long ? fmt::format("{} steps", longest_warmup_steps)
                   : fmt::format("{:.0f}%", 100 * warmup_share);
}

/// Returns `1 epoch` or `1,200 sequences`.
std::string counted(std::int64_t count, const char* noun) {
    return fmt::format("{} {}{}", format_grouped(count), noun, count == 1 ? "" : "s");
}

/// Returns `3 epochs of 570 sequences`; without data `3 epochs`.
std::string length_text(const UsualValues& usual, const JobSize& size) {
    const auto epochs = counted(usual.epochs, "epoch");
    return size.sequences ? epochs + " of " + counted(std::llround(*size.sequences), "sequence") : epochs;
}

std::string epochs_comment(const UsualValues& usual, const JobSize& size) {
    return fmt::format("{}{} ({}){}.", size.sequences ? "" : "Set it so that `ziggurat check` reports ",
                       length_text(usual, size), usual.epochs_reason,
                       size.sequences ? ", in whole batches" : "");
}

/// Returns the deck without the comment at its beginning.
std::string text_of(const ImportedParts& parts,
                    const UsualValues& usual,
                    const JobSource& source,
                    const JobSize& size,
                    const std::string& init) {
    const auto seq = std::min(parts.max_seq, longest_sequence);
    auto text = fmt::format(
        "deck_version: 1\n"
        "run: {{name: {}}}\n"
        "model: {}\n"
        "data:\n"
        "  tokenizer: {}\n"
        "  # model.max_seq, up to {} (the default of LLaMA-Factory). Longer samples are cut, with a\n"
        "  # warning.\n"
        "  seq: {}\n"
        "  # {}\n"
        "  train: [{{format: {}, path: {}}}]\n",
        parts.name, parts.model(init), parts.tokenizer, longest_sequence, seq,
        source.format == "chat" ? usual.records : comment_on_tokens, source.format,
        deck::write_text(source.path));
    text += size.held_out > 0 ? fmt::format(
                                    "  # Kept for validation: a rising validation loss shows overfitting.\n"
                                    "  held_out: {:g}%\n",
                                    100 * size.held_out)
                              : "  # No sequence is kept for validation, because the data has too few.\n"
                                "  held_out: 0%\n";
    text += fmt::format(
        "train:\n"
        "  # {}\n"
        "  steps: {}\n"
        "  # Sequences: {}.\n"
        "  global_batch: {}\n"
        "  # Results do not depend on it. A larger one is faster if it fits.\n"
        "  micro_batch: 1\n"
        "{}",
        epochs_comment(usual, size), size.steps, usual.batch_reason, size.batch, usual.train_keys);
    text += fmt::format(
        "optimizer:\n"
        "  # {}\n"
        "  lr: {}\n"
        "  # {}\n"
        "  {}\n"
        "  # The default of transformers, and the norm of GPT-3.\n"
        "  clip_norm: 1.0\n"
        "schedule:\n"
        "  kind: cosine\n"
        "  # {}\n"
        "  warmup: {}\n"
        "  # {}\n"
        "  final_fraction: {}\n",
        usual.lr.reason, usual.lr.value, usual.adam.reason, usual.adam.value, usual.warmup.reason,
        warmup_of(usual, size.steps), usual.end.reason, usual.end.value);
    if (size.held_out > 0) {
        text += fmt::format("validate: {{every: {} steps}}\n",
                            std::max<std::int64_t>(1, size.steps / validations));
    }
    return text;
}

/// Returns true if a validation has targets.
bool has_validation(const deck::SourceFacts& facts, const spec::RunSpec& run) {
    if (facts.packed) {
        return facts.packed->held_out > 0 && (!facts.targets || facts.targets->held_out > 0);
    }
    return std::floor(run.data.held_out * static_cast<double>(facts.tokens)) >
           static_cast<double>(run.data.seq);
}

/// Loads a deck that reads its data, and stores the facts of the data.
class DataReader {
  public:
    explicit DataReader(const StopCheck& stop) {
        options_.ranks = 1;
        options_.threads = 1;
        options_.read_tokenizer = read_tokenizer;
        read_sources(options_, stop);
        options_.read_source = [this, read = options_.read_source](const auto& run, const auto& source,
                                                                   const auto& key) {
            if (!facts_ || run.data.held_out != held_out_) {
                facts_ = read(run, source, key);
                held_out_ = run.data.held_out;
                sizes_.set(key, *facts_);
                has_validation_ = has_validation(*facts_, run);
            }
            return *facts_;
        };
    }

    DataReader(const DataReader&) = delete;
    DataReader& operator=(const DataReader&) = delete;

    deck::LoadedDeck load(const std::string& text) {
        return deck::load_text(text, "the deck of the import", {}, options_);
    }

    /// Returns true if the data was read, and too little of it is held out.
    bool lacks_validation() const { return facts_ && !has_validation_; }

    /// Returns the sequences of an epoch, for a deck of one step with one sequence.
    double sequences(const spec::RunSpec& run) const {
        const auto epochs = sizes_.epochs(run);
        return epochs.front() ? 1 / *epochs.front() : 1;
    }

  private:
    deck::LoadOptions options_;
    SourceSizes sizes_;
    std::optional<deck::SourceFacts> facts_;
    double held_out_ = 0;
    bool has_validation_ = false;
};

void expect_ok(const deck::LoadedDeck& loaded) {
    if (loaded.ok()) {
        return;
    }
    std::string errors;
    for (const auto& problem : loaded.found.sorted()) {
        errors += problem.severity == Severity::error ? "\n" + problem.sentence() : "";
    }
    throw Error{ErrorKind::deck, "the data cannot be used for this job:" + errors};
}

}  // namespace

WrittenDeck job_deck(const ImportedParts& parts,
                     const std::string& job,
                     const std::string& data,
                     const StopCheck& stop) {
    const auto& usual = usual_values_of(job);
    const auto source = source_of(usual, parts.folder, data);
    const auto batch = usual_batch(usual, std::min(parts.max_seq, longest_sequence));
    JobSize size{.held_out = usual.held_out, .batch = batch, .steps = steps_without_data};
    const auto written = [&] {
        return text_of(parts, usual, source, size,
                       "{from: checkpoint, path: " + deck::write_text(parts.folder) + "}");
    };
    if (data.empty()) {
        return {.text = written(),
                .summary = fmt::format("{}: {} steps of {} sequences, learning rate {}; set data.train and "
                                       "train.steps",
                                       job, size.steps, size.batch, usual.lr.value)};
    }
    DataReader reader{stop};
    const auto load = [&] { return reader.load(text_of(parts, usual, source, size, "random")); };
    size.batch = size.steps = 1;
    auto loaded = load();
    if (reader.lacks_validation()) {
        size.held_out = 0;
        loaded = load();
    }
    expect_ok(loaded);
    size.sequences = reader.sequences(loaded.run);
    const double all = static_cast<double>(usual.epochs) * *size.sequences;
    size.batch = choose_batch(batch, all);
    size.steps = std::max<std::int64_t>(1, std::llround(std::ceil(all / static_cast<double>(size.batch))));
    loaded = load();
    expect_ok(loaded);
    WrittenDeck made{.text = written(),
                     .summary = fmt::format("{}: {} of {} sequences, {:.3g} epochs, learning rate {}", job,
                                            counted(size.steps, "step"), size.batch,
                                            static_cast<double>(size.steps * size.batch) / *size.sequences,
                                            usual.lr.value)};
    for (const auto& problem : loaded.found.sorted()) {
        if (problem.severity == Severity::warning) {
            made.warnings.push_back(problem.sentence());
        }
    }
    return made;
}

}  // namespace ziggurat::app
