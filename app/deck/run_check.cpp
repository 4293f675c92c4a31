#include "app/deck/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "app/deck/check_json.hpp"
#include "app/output/goodput_text.hpp"
#include "app/output/time_text.hpp"
#include "app/start/run_folder.hpp"
#include "app/start/token_sources.hpp"
#include "app/start/tokenizers.hpp"
#include "base/control_group.hpp"
#include "base/error.hpp"
#include "base/path_exists.hpp"
#include "base/text/message.hpp"
#include "base/text/units.hpp"
#include "deck/load.hpp"
#include "deck/machine/job_deadline.hpp"
#include "deck/machine/machine.hpp"
#include "deck/messages/peer_names.hpp"
#include "deck/reference/reference.hpp"
#include "plan/checkpoint_size.hpp"
#include "plan/run_goodput.hpp"
#include "plan/search/longest_sequence.hpp"
#include "plan/time_to_train.hpp"
#include "storage/directory_probe.hpp"

namespace ziggurat::app {
namespace {

constexpr int deck_is_wrong = static_cast<int>(ErrorKind::deck);
constexpr int does_not_fit = static_cast<int>(ErrorKind::resource);

void print(std::FILE* stream, const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stream);
}

int explain(const std::string& key) {
    std::string meant;
    const auto text = deck::explain(key, meant);
    if (text) {
        print(stdout, *text);
        return 0;
    }
    const auto* whole = deck::find_peer_name(key);
    const auto* peer = whole != nullptr ? whole : deck::find_peer_name(key.substr(key.rfind('.') + 1));
    const auto values = deck::find_peer_values(key);
    const auto advice = peer != nullptr ? describe(*peer)
                        : !values.empty()
                            ? fmt::format("It is a value. The setting is {}.", fmt::join(values, " or "))
                        : !meant.empty() ? fmt::format("Did you mean '{}'?", meant)
                                         : std::string{"decks/REFERENCE.md lists all keys."};
    print(stderr,
          message(Severity::error, fmt::format("unknown key {}. {}\n", deck::in_quotes(key), advice)));
    return deck_is_wrong;
}

void expect_run_folder(deck::LoadedDeck& loaded) {
    const std::string& folder = loaded.run.run.dir;
    if (const auto reason = not_writable_reason(folder); !reason.empty()) {
        loaded.found.add_resource_error({"run.dir", 0, 0},
                                        fmt::format("{} cannot be written", deck::in_quotes(folder)), reason,
                                        "Set run.dir to a folder that you can write to.");
    }
}

void warn_of_lacking_room(deck::LoadedDeck& loaded) {
    const auto& run = loaded.run;
    const auto system = storage::file_system_of(first_that_is_there(run.run.dir));
    const auto size = run.checkpoint.every ? plan::checkpoint_size(run) : plan::CheckpointSize{};
    const bool lacks_one = system.free_bytes < size.bytes;
    const bool lacks_all =
        system.free_bytes < size.bytes_at_most && !path_exists(std::filesystem::path{run.run.dir} / "ckpt");
    if (!system.has_size || !(lacks_one || lacks_all)) {
        return;
    }
    loaded.found.warning(
        {"run.dir", 0, 0},
        fmt::format("the disk of {} has {} free, and {} {}", deck::in_quotes(run.run.dir),
                    format_bytes(system.free_bytes),
                    lacks_one ? "one checkpoint takes" : "checkpoints come to",
                    format_bytes(lacks_one ? size.bytes : size.bytes_at_most)),
        lacks_one ? std::string{"no checkpoint of this run can be completed"}
                  : fmt::format("checkpoint.keep keeps {} of them, and one more exists while it is written",
                                size.kept),
        fmt::format("Free space on that disk, {}or set run.dir to a folder on another disk.",
                    lacks_one ? "" : "keep fewer, "));
}

/// Warns if other processes use memory that the run needs.
///
/// The plan itself counts all memory that the machine
/// or the control group grants.
void warn_of_memory_in_use(deck::LoadedDeck& loaded, const plan::Footprint& footprint) {
    const auto of_tiers = std::max(footprint.memory_needed, footprint.needed[spec::Tier::host]);
    const auto needed =
        of_tiers + deck::process_bytes(loaded.run.parallel.ranks_per_node, loaded.machine.host_bytes);
    const auto left = available_memory_bytes();
    if (footprint.fits() && needed > left) {
        loaded.found.warning({"memory", 0, 0},
                             fmt::format("the run needs up to {} of this node's memory, but {} are available",
                                         format_bytes(needed), format_bytes(left)),
                             "other processes use the rest",
                             "Stop them before the run starts, or lower tiers.host.budget and "
                             "tiers.device.budget.");
    }
}

/// Prints the errors of a deck or a machine file and returns the exit code.
int refuse(const CheckOptions& options, const deck::Diagnostics& found) {
    if (options.json) {
        print(stdout, check_as_json({.deck = options.deck, .exit_code = found.exit_code(), .found = found}));
    } else {
        print(stderr, found.print());
    }
    return found.exit_code();
}

/// Start of a training as `train` would report it.
struct Start {
    std::string line;  ///< state that the run begins with; empty: initial values, or not requested
    int exit_code = 0;
};

/// Returns the start of the run; adds its warnings, notes and errors to `loaded.found`.
Start preview_start(const CheckParts& parts, deck::LoadedDeck& loaded) {
    if (!parts.start) {
        return {};
    }
    Start start;
    try {
        auto ahead = parts.start(loaded);
        for (auto& warning : ahead.report.warnings) {
            loaded.found.add_message(Severity::warning, std::move(warning));
        }
        for (auto& note : ahead.report.notes) {
            loaded.found.add_message(Severity::note, std::move(note));
        }
        start.line = std::move(ahead.line);
    } catch (const Error& error) {
        loaded.found.add_message(Severity::error, error.what(), error.kind());
        start.exit_code = error.exit_code();
    }
    loaded.found.hide(loaded.secrets);
    return start;
}

/// Results for a deck without errors.
struct Answers {
    Start start;
    Epochs epochs;
    PackedSources packed;
    SourceTargets targets;
    std::optional<plan::MemoryReport> memory = {};
    std::optional<AttentionForecast> attention = {};
    std::vector<plan::CommunicatorBlocks> communicators = {};  ///< with the limits of the environment
    std::optional<double> step_seconds = {};
    std::optional<plan::RunGoodput> goodput = {};
    std::optional<plan::LongestSequence> longest = {};

    int exit_code(const deck::Diagnostics& found) const {
        const bool fits = !memory || memory->fits;
        return !fits ? does_not_fit : start.exit_code != 0 ? start.exit_code : found.exit_code();
    }
};

/// Plans the run. NCCL kernels that do not fit on a GPU are an error of the machine.
void plan_run(const CheckOptions& options,
              const CheckParts& parts,
              const deck::LoadOptions& load,
              deck::LoadedDeck& loaded,
              Answers& answers) {
    answers.attention = forecast_attention(loaded.run, loaded.machine,
                                           options.machine.empty() ? parts.cudnn : AttentionFacts{});
    if (!parts.memory) {
        return;
    }
    answers.memory = parts.memory(loaded, load);
    if (options.machine.empty()) {
        warn_of_memory_in_use(loaded, answers.memory->footprint);
    }
    answers.communicators = limited_by_environment(answers.memory->communicators);
    if (auto problem = plan::thread_blocks_problem(answers.communicators, loaded.machine); !problem.empty()) {
        loaded.found.add_message(Severity::error, std::move(problem), ErrorKind::resource);
    }
}

/// Returns a line about the longest sequences; empty if they were not asked for.
std::string longest_text(const std::optional<plan::LongestSequence>& longest) {
    if (!longest) {
        return "";
    }
    if (longest->tokens == 0) {
        return "sequence  no length that is a multiple of 128 fits this layout\n";
    }
    return fmt::format("sequence  up to {} tokens fit this layout{}\n", format_grouped(longest->tokens),
                       longest->is_bound_by_positions ? ", all positions of the model"
                       : longest->is_bound_by_tokens  ? ", the maximum of a micro-batch"
                                                      : "");
}

/// Plans time and goodput; warns of an expensive checkpoint.every.
void plan_time(deck::LoadedDeck& loaded, Answers& answers) {
    answers.step_seconds = plan::planned_step_seconds(loaded.run, loaded.machine);
    answers.goodput = plan::run_goodput(loaded.run, loaded.machine, answers.step_seconds);
    warn_of_checkpoint_interval(answers.goodput, loaded.run, loaded.found);
}

int answer_as_json(const CheckOptions& options, const deck::LoadedDeck& loaded, const Answers& answers) {
    const auto exit_code = answers.exit_code(loaded.found);
    print(stdout, check_as_json({.deck = options.deck,
                                 .exit_code = exit_code,
                                 .found = loaded.found,
                                 .loaded = &loaded,
                                 .start = answers.start.line,
                                 .memory = answers.memory,
                                 .attention = answers.attention,
                                 .communicators = answers.communicators,
                                 .step_seconds = answers.step_seconds,
                                 .goodput = answers.goodput,
                                 .longest = answers.longest,
                                 .epochs = answers.epochs,
                                 .packed = answers.packed,
                                 .targets = answers.targets}));
    return exit_code;
}

int answer(const CheckOptions& options, const deck::LoadedDeck& loaded, const Answers& answers) {
    if (loaded.found.errors() + loaded.found.warnings() + loaded.found.notes() > 0) {
        print(stderr, loaded.found.print());
    }
    const auto on_gpus =
        attention_line(answers.attention) + communicators_line(answers.communicators, loaded.machine);
    if (options.print) {
        print(stdout, loaded.effective);
        print(stderr, on_gpus);
    } else {
        print(stdout, summary(loaded.run, answers.epochs) +
                          packing_lines(answers.packed, loaded.run.data.seq) + target_lines(answers.targets) +
                          on_gpus);
        print(stdout, loaded.depths.empty() ? "" : fmt::format("ahead     {}\n", loaded.depths));
        print(stdout, answers.start.line.empty() ? "" : fmt::format("start     {}\n", answers.start.line));
        print(stdout, time_text(loaded.run, loaded.machine, answers.step_seconds, loaded.has_kept_peak) +
                          goodput_text(answers.goodput, loaded.run, loaded.machine));
        print(stdout, longest_text(answers.longest));
    }
    if (answers.memory) {
        print(options.print ? stderr : stdout, answers.memory->table + answers.memory->infinity);
    }
    return answers.exit_code(loaded.found);
}

}  // namespace

int run_check(const CheckOptions& options, const CheckParts& parts) {
    if (!options.explain.empty()) {
        return explain(options.explain);
    }
    SourceSizes sizes;
    deck::LoadOptions load{.has_nccl = parts.has_nccl || !options.machine.empty(),
                           .needs_data = options.machine.empty(),
                           .read_tokenizer = read_tokenizer_once(),
                           .read_source = [&sizes](const auto& run, const auto& source,
                                                   const auto& key) { return sizes.read(run, source, key); },
                           .has_token = has_token,
                           .find_train_validation_overlap = find_train_validation_overlap,
                           .choose_layout = parts.choose_layout,
                           .choose_homes = parts.choose_homes,
                           .choose_depths = parts.choose_depths,
                           .choose_leases = parts.choose_leases,
                           .choose_accumulation = parts.choose_accumulation,
                           .choose_tensor_overlap = parts.choose_tensor_overlap};
    if (options.machine.empty()) {  // the run would start on this machine, now
        load.job_end = deck::find_own_job_end;
    } else {
        deck::Diagnostics found;
        load.machine = deck::load_called_machine(options.machine, found);
        if (!load.machine) {
            return refuse(options, found);
        }
    }
    if (parts.size_job) {
        load = parts.size_job(std::move(load));
    }
    deck::LoadedDeck loaded = deck::load(options.deck, options.overrides, load);
    if (!loaded.ok()) {
        return refuse(options, loaded.found);
    }
    Answers answers;
    if (options.machine.empty()) {
        expect_run_folder(loaded);
        warn_of_lacking_room(loaded);
        use_kept_peak(loaded, parts.kept_peak);
        answers.start = preview_start(parts, loaded);
    }
    answers.epochs = sizes.epochs(loaded.run);
    answers.packed = sizes.packed();
    answers.targets = sizes.targets();
    plan_run(options, parts, load, loaded, answers);
    plan_time(loaded, answers);
    if (options.longest && parts.memory) {
        answers.longest = plan::longest_sequence(loaded.run, loaded.machine);
    }
    return options.json ? answer_as_json(options, loaded, answers) : answer(options, loaded, answers);
}

}  // namespace ziggurat::app
