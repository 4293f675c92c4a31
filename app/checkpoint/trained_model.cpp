#include "app/checkpoint/trained_model.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "app/start/available_cores.hpp"
#include "app/start/job_start.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "checkpoint/catalogue/tensor_list.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/hf/companion_files.hpp"
#include "comm/control.hpp"
#include "comm/throw_on_all_ranks.hpp"
#include "layout/counts.hpp"
#include "train/resume/next_checkpoint.hpp"

namespace ziggurat::app {
namespace {

/// Checks that the deck describes the model of the tensors.
///
/// Called before any memory is allocated for that model.
void expect_its_model(const spec::Model& model,
                      const checkpoint::Manifest& manifest,
                      const std::string& path) {
    std::int64_t stored = 0;
    for (const auto& tensor : checkpoint::stored_tensors(manifest)) {
        stored += tensor.kind == checkpoint::PieceKind::weights ? tensor.elements() : 0;
    }
    if (const std::int64_t described = layout::count_parameters(model).total; described != stored) {
        throw Error{
            ErrorKind::checkpoint,
            fmt::format("the deck in '{}' does not match its tensors ({} parameters in the deck, {} in the "
                        "tensors). Use another checkpoint of the run.",
                        path, described, stored)};
    }
}

/// Opens the checkpoint that rank 0 chooses, on all ranks; empty, after an error message, without one.
/// Collective: over `world`
std::optional<TrainedModel> open_chosen(checkpoint::CheckpointSelector& choice,
                                        const comm::Context& world,
                                        int& exit_code) {
    std::optional<checkpoint::CheckpointReader> reader;
    if (!is_agreed(world, exit_code, [&] { reader.emplace(choice.open()); })) {
        return std::nullopt;
    }
    const auto path = comm::broadcast(world, reader ? reader->path() : "");
    const auto text = comm::broadcast(world, reader ? to_text(reader->manifest()) : "");
    if (!reader) {
        reader.emplace(path, checkpoint::parse_manifest(text, path));
    }
    return TrainedModel{choice, std::move(*reader)};
}

}  // namespace

void print_note(const std::string& note) {
    std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
}

deck::LoadedDeck load_deck_of(const checkpoint::Manifest& manifest, const std::string& path) {
    const auto run_folder = std::filesystem::path{checkpoint::hf::root_of(path)}.parent_path().string();
    deck::LoadedDeck loaded =
        deck::load_text(manifest.deck, "the deck in " + path, {},
                        {.ranks = manifest.ranks, .threads = 1, .as_record = true, .run_folder = run_folder});
    if (!loaded.ok()) {
        throw Error{ErrorKind::checkpoint, "this version cannot read the deck of the checkpoint:\n" +
                                               loaded.found.print() + "Use the version that wrote it (" +
                                               manifest.program + ")."};
    }
    expect_its_model(loaded.run.model, manifest, path);
    return loaded;
}

bool is_agreed(const comm::Context& world, int& exit_code, const std::function<void()>& check) {
    std::array<std::int64_t, 1> code{};
    if (world.rank() == 0) {
        try {
            check();
        } catch (const Error& error) {
            std::fputs((message(Severity::error, error.what()) + "\n").c_str(), stderr);
            code[0] = error.exit_code();
        } catch (const Stopped& stopped) {
            print_note(stopped.what());
            code[0] = exit_code_run_again;
        }
    }
    comm::all_reduce_max(world, code);
    exit_code = static_cast<int>(code[0]);
    return exit_code == 0;
}

bool has_read(TrainedModel& model, const comm::Context& world, const std::function<void()>& work) {
    try {
        comm::throw_on_all_ranks(world, fmt::format("cannot read '{}'", model.path()), work);
        return true;
    } catch (const Error&) {
        if (!train::select_next(world, model.choice, model.reader)) {
            throw;
        }
        return false;
    }
}

int with_trained_model(const ModelChoice& options,
                       const comm::Context& world,
                       const std::function<std::optional<int>(TrainedModel&)>& use,
                       const StopCheck& stop) {
    const deck::LoadOptions launch = find_launch(world);
    const auto by = threads_asked() > 0 ? train::ThreadsBy::request : train::ThreadsBy::share_of_cores;
    bool is_reported = false;
    checkpoint::CheckpointSelector choice{options.folder, checkpoint::ReadCheck::hashes, print_note};
    for (;;) {
        int exit_code = 0;
        auto model = open_chosen(choice, world, exit_code);
        if (!model) {
            return exit_code;
        }
        model->stop = stop;
        model->here = {launch.ranks, launch.ranks_per_node, launch.threads};
        const bool is_held = has_read(*model, world, [&] { model->reader.hold(); });
        if (!is_held) {
            continue;
        }
        const auto& manifest = model->reader.manifest();
        if (!is_agreed(world, exit_code, [&] { load_deck_of(manifest, model->path()); })) {
            return exit_code;
        }
        if (options.average) {
            if (!is_agreed(world, exit_code, [&] { model->reader.use_averages(); })) {
                return exit_code;
            }
            model->reader.use_averages();  // on the other ranks
        }
        auto loaded = load_deck_of(manifest, model->path());
        model->run = std::move(loaded.run);
        model->machine = loaded.machine;
        if (!std::exchange(is_reported, true)) {
            report_core_notes(world, launch.threads, by);
        }
        if (const auto code = use(*model)) {
            return *code;
        }
    }
}

}  // namespace ziggurat::app
