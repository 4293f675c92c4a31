#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "base/text/looked_in.hpp"
#include "deck/files/resumed_run.hpp"
#include "deck/messages/missing_path.hpp"
#include "deck/rules/expect_checkpoint.hpp"
#include "deck/rules/rules.hpp"
#include "deck/schema/accepted_changes.hpp"
#include "deck/schema/schema.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

/// Adds a note for a plan if the model's config.json is missing.
///
/// A training has already reported an error.
void note_if_missing(const Resolution& at, const std::string& path) {
    std::error_code error;
    if (!fs::exists(path, error) && !at.options.needs_data) {
        at.found.note(at.values.location("model.init.path"), fmt::format("{} is not here", in_quotes(path)),
                      fmt::format("there is no such folder in {}; a plan does not need it, but a training "
                                  "does",
                                  looked_in(path)));
    }
}

void resume_path_is_a_checkpoint(const Resolution& at) {
    if (at.run.run.resume != spec::Resume::path) {
        return;
    }
    expect_a_checkpoint(
        at, "run.resume", "resume from", at.run.run.resume_path,
        "Name the folder of a checkpoint (RUN/ckpt/step-000001000) or of a run, or use auto, must or "
        "never.");
}

void initial_weights_are_there(const Resolution& at) {
    const bool is_published = at.values.is_keyword("model.init.from", "hf");
    const bool is_wanted = is_published || at.values.is_keyword("model.init.from", "checkpoint");
    const bool has_path = !at.values.is_keyword("model.init.path", "none");
    const char* advice = is_published
                             ? "Name the folder with config.json and safetensors files."
                             : "Name the folder of a checkpoint (RUN/ckpt/step-000001000) or of a run.";
    if (is_wanted && !has_path) {
        at.found.error(at.values.location("model.init.from"),
                       is_published ? "no model to begin with" : "no checkpoint to begin with",
                       "model.init.path = none", advice);
    } else if (!is_wanted && has_path) {
        at.found.error(at.values.location("model.init.path"), "a checkpoint that would not be read",
                       "model.init.from is random",
                       "Set model.init.from=checkpoint, or hf, or leave the path out.");
    } else if (!at.resumed_root.empty()) {
        return;  // the checkpoint contains the weights
    } else if (is_published) {
        note_if_missing(at, at.run.model.init_path);
    } else if (is_wanted) {
        expect_a_checkpoint(at, "model.init.path", "begin with", at.run.model.init_path, advice);
    }
}

/// Checks that model.init.accept_change lists only keys that may change.
void accepted_keys_may_change(const Resolution& at) {
    constexpr const char* list = "model.init.accept_change";
    for (const auto& entry : at.values.as<std::vector<std::string>>(list)) {
        const auto key = accepted_key(entry);
        if (is_acceptable(key) && deck_schema().find(key) != nullptr) {
            continue;
        }
        at.found.error(at.values.location(list),
                       fmt::format("{}: {} cannot be accepted", list, in_quotes(entry)),
                       deck_schema().find(key) == nullptr
                           ? "there is no such key"
                           : "with another value, the weights do not fit or have another meaning",
                       fmt::format("Remove it. These keys can be accepted: {}.", acceptable_keys()));
    }
}

void something_is_saved(const Resolution& at) {
    if (!at.run.checkpoint.every) {
        at.found.warning(at.values.location("checkpoint.every"), "no checkpoint is saved",
                         "checkpoint.every = none: the trained state is lost when the run ends or is stopped",
                         "Leave it out to save every 30min and at the end.");
    }
}

constexpr std::array rules = {
    Rule{resume_path_is_a_checkpoint, "run.resume"}, Rule{initial_weights_are_there, "model.init"},
    Rule{accepted_keys_may_change, "model.init"}, Rule{something_is_saved, "checkpoint.every"}};

}  // namespace

std::span<const Rule> checkpoint_rules() {
    return rules;
}

}  // namespace ziggurat::deck
