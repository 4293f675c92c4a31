#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/deck/job_size.hpp"
#include "app/deck/planning_progress.hpp"
#include "app/deck/remedy_search.hpp"
#include "app/output/atomic_file.hpp"
#include "app/output/output_style.hpp"
#include "app/runs/plotted_runs.hpp"
#include "app/start/tokenizers.hpp"
#include "app/sweep/launched_run.hpp"
#include "app/sweep/sweep_grid.hpp"
#include "app/sweep/sweep_options.hpp"
#include "app/sweep/sweep_record.hpp"
#include "app/sweep/sweep_table.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "comm/built_with.hpp"
#include "deck/files/shipped_files.hpp"
#include "deck/load.hpp"
#include "deck/slurm/batch_script.hpp"
#include "plan/report/memory_report.hpp"
#include "plot/svg/svg.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

/// Shell command of a run.
struct Launch {
    std::string command;
    SweepRun run;
};

deck::LoadOptions load_options(Progress& progress) {
    deck::LoadOptions load{
        .has_nccl = comm::has_nccl, .needs_data = true, .read_tokenizer = read_tokenizer_once()};
    read_and_choose_as_train(load, progress);
    return load;
}

void tell(Severity severity, const std::string& text) {
    std::fputs((message(severity, text) + "\n").c_str(), stderr);
}

/// Loads the deck of each run and plans its memory. Returns the number of ranks of each run.
///
/// Prints the problems of the first run that has any; then sets `exit_code`.
std::vector<int> check_runs(const Sweep& sweep, const SweepGrid& grid, std::string& folder, int& exit_code) {
    Progress progress{show_progress()};
    std::vector<int> ranks;
    for (const auto& run : grid.runs) {
        const PlannedJob job{{sweep.deck, grid.overrides_of(run)}, sweep.ranks, {}, {}};
        const auto options = sized(job, load_options(progress));
        const auto loaded = deck::load(job.deck, job.overrides, options);
        if (!loaded.ok()) {
            tell(Severity::note, "of the run " + run.name);
            std::fputs(loaded.found.print().c_str(), stderr);
            exit_code = loaded.found.exit_code();
            return {};
        }
        const PlanningProgress watched{progress};
        const auto memory = plan::memory_report(loaded.run, loaded.machine, {}, watched.watch(), "",
                                                remedy_search(job, options, loaded));
        if (!memory.fits) {
            tell(Severity::note, "of the run " + run.name);
            std::fputs(memory.table.c_str(), stderr);
            exit_code = static_cast<int>(ErrorKind::resource);
            return {};
        }
        ranks.push_back(loaded.run.parallel.ranks);
        folder = folder.empty() ? loaded.run.run.dir + "-sweep" : folder;
    }
    return ranks;
}

std::string command_of(const Sweep& sweep, const SweepGrid& grid, const SweepRun& run, int ranks) {
    std::string command = sweep.launch;
    if (command.empty() && ranks > 1) {
        command = fmt::format("mpirun -n {}", ranks);
    }
    command = "exec " + command;
    auto words = words_of_run(sweep, grid, run);
    words.insert(words.begin(), {deck::this_program(), "train", sweep.deck});
    for (const auto& word : words) {
        command += " " + deck::shell_word(word);
    }
    return command;
}

/// Prints the table, and writes the drawing and the CSV file.
void report_runs(const Sweep& sweep, const SweepGrid& grid) {
    const auto runs = read_swept_runs(grid, sweep.folder);
    std::fputs(sweep_table(grid, runs).c_str(), stdout);
    const auto remedy = "Make room, or correct the permissions of the folder.";
    write_file_atomically((fs::path{sweep.folder} / "sweep.csv").string(), sweep_csv(grid, runs), remedy);
    std::vector<plot::History> histories;
    for (const auto& run : runs) {
        if (run.history) {
            histories.push_back(*run.history);
        }
    }
    if (histories.empty()) {
        return;
    }
    auto style = figure_style({}, histories);
    style.max_points = plot::points_across_svg;
    write_drawing((fs::path{sweep.folder} / "sweep.svg").string(),
                  plot::svg(plot::make_figure(histories, style), plot::ColorScheme::as_the_viewer_asks),
                  histories, remedy);
}

/// Trains the runs one after the other. Returns the exit code of the sweep.
int train_runs(const Sweep& sweep, const std::vector<Launch>& launches) {
    int exit_code = 0;
    for (std::size_t i = 0; i < launches.size(); ++i) {
        std::fputs(
            fmt::format("\nsweep: run {} of {}, {}\n", i + 1, launches.size(), launches[i].run.name).c_str(),
            stdout);
        const auto end = run_and_pass_signals(launches[i].command);
        exit_code = exit_code == 0 ? end.exit_code : exit_code;
        if (end.exit_code != 0) {
            std::fputs(
                fmt::format("sweep: run {} ended with {}\n", launches[i].run.name, end.exit_code).c_str(),
                stdout);
        }
        if (end.signal != 0 && i + 1 < launches.size()) {
            tell(Severity::note,
                 fmt::format(
                     "the sweep stops on request after {} of {} runs. 'ziggurat sweep {}' continues it.",
                     i + 1, launches.size(), printable(sweep.folder)));
            return exit_code_run_again;
        }
    }
    return exit_code;
}

/// Goes to the folder in which the sweep was started, because its deck has paths relative to it.
void enter(const std::string& folder) {
    std::error_code failed;
    fs::current_path(folder, failed);
    if (failed) {
        throw Error{ErrorKind::resource,
                    fmt::format("cannot enter '{}', in which the sweep was started ({}). Start the "
                                "sweep with its deck and values again.",
                                printable(folder), failed.message())};
    }
}

}  // namespace

int sweep(const SweepOptions& options) {
    const bool continues = is_sweep_folder(options.deck);
    if (continues && !options.overrides.empty()) {
        throw Error{
            ErrorKind::deck,
            "a sweep continues with its own values. Leave out others, or name its deck and all values."};
    }
    if (options.table && !continues) {
        throw Error{ErrorKind::deck,
                    fmt::format("'{}' is not the folder of a sweep, which --table reads. Name the "
                                "folder that has its sweep.json.",
                                printable(options.deck))};
    }
    auto sweep =
        continues ? read_sweep(options.deck) : begin_sweep(options.deck, options.overrides, options.folder);
    if (continues) {
        enter(sweep.started_in);
    }
    sweep.ranks = options.ranks ? options.ranks : sweep.ranks;
    sweep.launch = options.launch.empty() ? sweep.launch : options.launch;
    const auto grid = sweep_grid(sweep.words);
    if (options.table) {
        std::fputs(sweep_table(grid, read_swept_runs(grid, sweep.folder)).c_str(), stdout);
        return 0;
    }
    int exit_code = 0;
    const auto ranks = check_runs(sweep, grid, sweep.folder, exit_code);
    if (exit_code != 0) {
        return exit_code;
    }
    sweep.folder = fs::absolute(sweep.folder).lexically_normal().string();
    write_sweep(sweep);
    std::vector<Launch> launches;
    for (std::size_t i = 0; i < grid.runs.size(); ++i) {
        launches.push_back({command_of(sweep, grid, grid.runs[i], ranks[i]), grid.runs[i]});
    }
    exit_code = train_runs(sweep, launches);
    std::fputs("\n", stdout);
    report_runs(sweep, grid);
    return exit_code;
}

}  // namespace ziggurat::app
