/// Rules of preference objectives, which train on pairs of answers.
#include <fmt/format.h>

#include <array>

#include "deck/rules/each_source.hpp"
#include "deck/rules/expect_checkpoint.hpp"
#include "deck/rules/rules.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::deck {
namespace {

constexpr const char* kind = "train.objective.kind";
constexpr const char* reference = "train.objective.reference";

void pairs_come_from_chat_sources(const Resolution& at) {
    if (!at.run.data.has_pairs) {
        return;
    }
    for_each_source(at, [&](const std::string& path, const spec::Source& source) {
        if (source.format != spec::TokenFormat::chat) {
            at.found.error(at.values.location(path + ".format"),
                           fmt::format("format {} with {} = {}", at.values.keyword(path + ".format"), kind,
                                       at.values.keyword(kind)),
                           "the objective needs pairs of answers",
                           "Use format: chat with preference records.");
        }
    });
}

void pairs_are_whole(const Resolution& at) {
    const auto& data = at.run.data;
    if (!data.has_pairs || !spec::has_conversations(data)) {
        return;
    }
    if (data.packing == spec::SamplePacking::wrapped) {
        at.found.error(at.values.location("data.packing"),
                       fmt::format("data.packing is wrapped with {} = {}", kind, at.values.keyword(kind)),
                       "both answers of a pair must be in one sequence",
                       "Remove it, or use data.packing: best_fit or none.");
    } else if (data.packing == spec::SamplePacking::none && !data.reset_at_document) {
        at.found.error(at.values.location("data.reset_at_document"), "pairs without data.reset_at_document",
                       "tokens of an answer would attend to the other answer", "Remove it.");
    }
    if (data.seq < spec::min_pair_tokens) {
        at.found.error(at.values.location("data.seq"), "data.seq is too short for a pair of answers",
                       fmt::format("a pair has {} tokens or more", spec::min_pair_tokens),
                       "Set data.seq to the length of the longest pair.");
    }
}

void losses_of_a_pair_repeat(const Resolution& at) {
    if (at.run.data.has_pairs && at.run.model.dropout > 0) {
        at.found.error(at.values.location("model.dropout"),
                       fmt::format("dropout with {} = {}", kind, at.values.keyword(kind)),
                       "log-probabilities of the model and of the reference would differ by chance",
                       "Set model.dropout to 0.");
    }
}

void reference_exists(const Resolution& at) {
    const auto& objective = at.run.train.objective;
    if (!objective.has_pairs()) {
        return;
    }
    if (objective.reference == spec::ReferenceKind::adapters_off && !at.run.model.lora.is_on()) {
        at.found.error(at.values.location(reference), "reference: adapters_off without adapters",
                       "train.lora is not set", "Use reference: start, or set train.lora.");
    }
    if (objective.reference == spec::ReferenceKind::path && !objective.is_reference_published) {
        expect_a_checkpoint(at, reference, "take the reference from", objective.reference_path,
                            "Name the folder of a checkpoint, a run or a Hugging Face model, or use start or "
                            "adapters_off.");
    }
}

constexpr std::array rules = {
    Rule{pairs_come_from_chat_sources, "train.objective"},
    Rule{pairs_are_whole, "train.objective data"},
    Rule{losses_of_a_pair_repeat, "train.objective model.dropout"},
    Rule{reference_exists, "train.objective"},
};

}  // namespace

std::span<const Rule> objective_rules() {
    return rules;
}

}  // namespace ziggurat::deck
