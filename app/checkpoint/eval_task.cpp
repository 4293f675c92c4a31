#include "app/checkpoint/eval_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "app/checkpoint/loaded_weights.hpp"
#include "app/output/atomic_file.hpp"
#include "app/output/choice_report.hpp"
#include "app/start/tokenizers.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "comm/control.hpp"
#include "data/choice/choice_rows.hpp"
#include "data/choice/choose.hpp"
#include "train/generate/choice_waves.hpp"

namespace ziggurat::app {
namespace {

constexpr const char* remedy_of_choices = "Name a file that can be written: --choices FILE.";

/// Tasks and their tokens; filled on rank 0 only.
struct ReadTasks {
    std::vector<data::ChoiceTask> tasks;
    data::EncodedChoices encoded;
};

/// Removes the tasks without rows, and prints their number.
void remove_skipped(ReadTasks& read, const std::string& path) {
    const auto& skipped = read.encoded.skipped;
    if (skipped.empty()) {
        return;
    }
    const auto text = fmt::format(
        "{} of {} tasks {} skipped, because an ending adds no token to its context (first: '{}', line {}, "
        "ending {})",
        skipped.size(), read.tasks.size(), skipped.size() == 1 ? "is" : "are", printable(path),
        read.tasks[skipped.front()].line, read.encoded.first_skipped_ending);
    std::fputs((message(Severity::warning, text) + "\n").c_str(), stderr);
    for (auto index = skipped.rbegin(); index != skipped.rend(); ++index) {
        read.tasks.erase(read.tasks.begin() + static_cast<std::ptrdiff_t>(*index));
    }
}

ReadTasks read_tasks(const EvalOptions& options, const TrainedModel& model) {
    if (!options.choices.empty()) {
        expect_writable(options.choices, remedy_of_choices);
    }
    const auto tokenizer = open_tokenizer_of(model.run, options.tokenizer, model.path());
    ReadTasks read;
    read.tasks = data::read_choice_tasks(options.task, "--task");
    const auto& limits = model.run.model;
    const auto add_bos = add_bos_of(options.add_bos, model.run.data.add_bos);
    read.encoded = data::encode_choices(
        read.tasks, *tokenizer, {.vocab = limits.vocab, .max_read = limits.max_seq}, options.task, add_bos);
    print_tokenizer_notes(*tokenizer, add_bos);
    remove_skipped(read, options.task);
    if (const auto cut = read.encoded.cut_rows; cut > 0) {
        const auto note = fmt::format(
            "{} of {} contexts {} cut at the beginning, because the model reads at most {} tokens "
            "(model.max_seq)",
            cut, read.encoded.rows.rows.size(), cut == 1 ? "is" : "are", limits.max_seq);
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
    }
    return read;
}

/// Returns a run that computes the scores of `rows`.
spec::RunSpec run_on_rows(const TrainedModel& model,
                          const std::string& compute,
                          const data::ChoiceRows& rows) {
    auto run = evaluated_run(model, compute, model.run.train.micro_batch);
    run.data.seq = std::max(run.data.seq, rows.longest_read());
    run.cached = train::passes_of_choices(rows, run);
    return run;
}

/// Prints the report and writes --choices. Called on rank 0. Returns the exit code.
int tell(const EvalOptions& options,
         const TrainedModel& model,
         const ReadTasks& read,
         const std::vector<double>& sums,
         double seconds) {
    const auto choices = data::choose(read.tasks, read.encoded.rows.rows, sums);
    ChoiceReport report{.checkpoint = model.path(),
                        .step = model.step(),
                        .task = options.task,
                        .counts = data::count_right(read.tasks, choices),
                        .cut_rows = read.encoded.cut_rows,
                        .skipped_tasks = std::ssize(read.encoded.skipped),
                        .seconds = seconds};
    for (const auto& row : read.encoded.rows.rows) {
        report.ending_tokens += row.ending;
        report.read_tokens += row.read();
    }
    if (!options.choices.empty()) {
        write_file_atomically(options.choices, choice_lines(read.tasks, choices), remedy_of_choices);
    }
    std::fputs((options.json ? choice_json(report) : choice_table(report)).c_str(), stdout);
    return report.counts.undecided == 0 ? 0 : static_cast<int>(ErrorKind::numerics);
}

}  // namespace

std::optional<int> eval_task(const EvalOptions& options, const comm::Context& world, TrainedModel& model) {
    int exit_code = 0;
    ReadTasks read;
    const auto read_them = [&] {
        read = read_tasks(options, model);
        set_cache_home(model.run, options.kv_cache);
    };
    if (!is_agreed(world, exit_code, read_them)) {
        return exit_code;
    }
    if (world.rank() != 0) {
        set_cache_home(model.run, options.kv_cache);
    }
    auto rows = world.rank() == 0 ? read.encoded.rows : data::ChoiceRows{};
    if (world.size() > 1) {
        rows = data::ChoiceRows::of_bytes(comm::broadcast(world, world.rank() == 0 ? rows.bytes() : ""));
    }
    const auto run = run_on_rows(model, options.compute, rows);
    return with_weights(model, run, world, [&](train::Inference& inference, Progress& progress) {
        const auto begin_ns = monotonic_ns();
        const auto sums = inference.scores(rows, &progress, model.stop);
        const auto seconds = seconds_between(begin_ns, monotonic_ns());
        progress.end();
        const bool tells = world.rank() == 0;
        const std::int64_t code = tells ? tell(options, model, read, sums, seconds) : 0;
        std::array<std::int64_t, 1> code_of_all{code};
        comm::all_reduce_max(world, code_of_all);
        return static_cast<int>(code_of_all[0]);
    });
}

}  // namespace ziggurat::app
