#include "train/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/philox.hpp"
#include "comm/control.hpp"
#include "train/data_loader.hpp"
#include "train/draw_token.hpp"
#include "train/step/loss_sum.hpp"

namespace ziggurat::train {
namespace {

/// Philox stream identifier: separates the random numbers of sampling from all others of the same seed.
constexpr std::uint32_t sampling_purpose = 0x53414d50;

/// Returns the text after the prompt up to the first of `ends`; nullopt if it contains none of them.
std::optional<std::string> find_end(const data::TextTokenizer& tokenizer,
                                    std::span<const std::int32_t> text,
                                    std::size_t prompt,
                                    const std::vector<std::string>& ends) {
    if (ends.empty()) {
        return std::nullopt;
    }
    auto after = data::decoded_after(tokenizer, text.first(prompt), text.subspan(prompt));
    auto first = std::string::npos;
    for (const auto& end : ends) {
        first = std::min(first, after.find(end));
    }
    if (first == std::string::npos) {
        return std::nullopt;
    }
    after.resize(first);
    return after;
}

}  // namespace

Evaluation::Evaluation(const spec::RunSpec& spec,
                       data::BatchSource validation,
                       const comm::Context& world,
                       const schedule::ModelLayout& model,
                       Assembly& assembly)
    : spec_{spec},
      validation_{std::move(validation)},
      world_{world},
      model_{model},
      assembly_{assembly},
      batch_{spec.train.micro_batch, spec.data.seq},
      weights_(spec.model.vocab) {}

std::int64_t Evaluation::target_bytes(const data::TextTokenizer& tokenizer) const {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < batch_.targets.size(); ++i) {
        // A model may have more rows than its tokenizer has tokens.
        const bool counts = batch_.mask[i] != 0 && batch_.targets[i] < tokenizer.vocab_size();
        bytes += counts ? tokenizer.bytes_of(batch_.targets[i]) : 0;
    }
    return bytes;
}

std::optional<ValidationLoss> Evaluation::validate(const Stops& stops,
                                                   Progress* progress,
                                                   const data::TextTokenizer* tokenizer) {
    assembly_.train_executor().finish();  // parameters may still be in transfer to other ranks
    const auto rows = spec_.train.micro_batch;
    const auto rows_of_all = rows * spec_.parallel.data;
    std::vector<SourceSums> sums(validation_.num_sources());
    std::int64_t bytes = 0;  // text bytes of the targets
    if (progress != nullptr) {
        progress->begin("evaluates", "batches", (validation_.num_samples() + rows_of_all - 1) / rows_of_all);
    }
    for (std::int64_t first = 0; first < validation_.num_samples(); first += rows_of_all) {
        if (stops && stops()) {
            assembly_.evaluator().finish();
            return std::nullopt;
        }
        validation_.fill(batch_, first + model_.data_rank * rows);
        copy_into(batch_, assembly_.evaluate_slot());
        assembly_.evaluator().run_step();
        if (model_.counts_losses()) {
            add_rows(sums);
            bytes += tokenizer != nullptr ? target_bytes(*tokenizer) : 0;
        }
        if (progress != nullptr) {
            progress->advance(1);
        }
    }
    assembly_.evaluator().finish();
    return loss_of(sums, bytes);
}

void Evaluation::add_rows(std::vector<SourceSums>& sums) const {
    const std::size_t seq = batch_.seq;
    const std::span losses = assembly_.evaluate_slot().losses;
    const std::span mask{batch_.mask};
    for (std::size_t row = 0; row < batch_.samples.size(); ++row) {
        if (batch_.samples[row] >= 0) {  // otherwise the row is after the last sample and fully masked
            auto& of_source = sums.at(validation_.source_of(batch_.samples[row]));
            add_losses(losses.subspan(row * seq, seq), of_source.losses);
            for (const auto is_target : mask.subspan(row * seq, seq)) {
                of_source.targets += is_target;
            }
        }
    }
}

ValidationLoss Evaluation::loss_of(const std::vector<SourceSums>& sums, std::int64_t bytes) const {
    constexpr std::size_t words_of_source = ExactSum::num_limbs + 1;
    std::vector<std::int64_t> words;
    for (const auto& source : sums) {
        const auto limbs = source.losses.limbs();
        words.insert(words.end(), limbs.begin(), limbs.end());
        words.push_back(source.targets);
    }
    words.push_back(bytes);
    comm::all_reduce_sum(world_, words);

    ValidationLoss loss{.bytes = words.back()};
    ExactSum all;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto* of_source = &words[i * words_of_source];
        ExactSum::Limbs limbs{};
        std::copy_n(of_source, limbs.size(), limbs.begin());
        const ExactSum sum{limbs};
        const auto targets = of_source[limbs.size()];
        all.merge(sum);
        loss.tokens += targets;
        if (targets > 0) {
            loss.by_source.push_back({.name = validation_.name_of(i),
                                      .sum = sum.is_finite() ? sum.value() : std::nan(""),
                                      .tokens = targets});
        }
    }
    if (loss.by_source.size() < 2) {
        loss.by_source.clear();
    }
    if (loss.tokens > 0) {
        loss.mean = all.is_finite() ? all.value() / static_cast<double>(loss.tokens) : std::nan("");
    }
    return loss;
}

std::int32_t Evaluation::draw(const Drawing& drawing,
                              std::int64_t tokens,
                              std::int64_t step,
                              std::int64_t position) {
    auto logits = assembly_.watched_logits();
    logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(tokens)));
    const auto words = Philox4x32::generate(
        {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(step),
         static_cast<std::uint32_t>(step >> 32), sampling_purpose},
        {static_cast<std::uint32_t>(spec_.run.seed), static_cast<std::uint32_t>(spec_.run.seed >> 32)});
    return draw_token(logits, drawing, static_cast<double>(uniform(words[0])), weights_);
}

std::optional<std::string> Evaluation::generate(const data::TextTokenizer& tokenizer,
                                                const spec::Sample& sample,
                                                std::int64_t step,
                                                const TextLimits& limits,
                                                const Stops& stops) {
    assembly_.train_executor().finish();
    const Drawing drawing{sample.temperature, limits.top_k, limits.top_p};
    const auto& slot = assembly_.evaluate_slot();
    const auto seq = spec_.data.seq;
    std::vector<std::int32_t> text;
    data::encode_whole_text(tokenizer, spec_.data.add_bos, sample.prompt, text);
    if (text.empty() && tokenizer.document_token()) {
        text.push_back(*tokenizer.document_token());
    } else if (text.empty()) {
        tokenizer.encode("\n", text);
    }
    const auto prompt = text.size();
    std::ranges::fill(slot.tokens, 0);
    std::ranges::fill(slot.targets, 0);
    std::ranges::fill(slot.mask, std::uint8_t{0});
    std::ranges::fill(slot.document_starts, 0);
    std::ranges::fill(slot.samples, -1);
    for (std::size_t i = 0; i < slot.positions.size(); ++i) {
        slot.positions[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % seq);
    }
    for (std::int64_t position = 0; position < sample.tokens; ++position) {
        if (stops && stops()) {
            assembly_.evaluator().finish();
            assembly_.watch_logits(-1);
            return std::nullopt;
        }
        const auto window = std::min<std::int64_t>(seq, std::ssize(text));
        std::copy(text.end() - window, text.end(), slot.tokens.begin());
        assembly_.watch_logits(window - 1);
        assembly_.evaluator().run_step();
        text.push_back(draw(drawing, tokenizer.vocab_size(), step, position));
        if (const auto end = find_end(tokenizer, text, prompt, limits.ends)) {
            assembly_.evaluator().finish();
            assembly_.watch_logits(-1);
            return *end;
        }
    }
    assembly_.evaluator().finish();
    assembly_.watch_logits(-1);
    const std::span all{text};
    return data::decoded_after(tokenizer, all.first(prompt), all.subspan(prompt));
}

}  // namespace ziggurat::train
