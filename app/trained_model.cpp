#include "app/trained_model.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "app/launch.hpp"
#include "base/error.hpp"
#include "base/message.hpp"
#include "checkpoint/catalogue.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/tensor_list.hpp"
#include "comm/control.hpp"
#include "layout/counts.hpp"

namespace ziggurat::app {
namespace {

/// Before anything is built by the deck, which may ask for more than there is.
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
            fmt::format("the deck in '{}' describes another model than its tensors are of ({} parameters and "
                        "{}). Use another checkpoint of the run.",
                        path, described, stored)};
    }
}

}  // namespace

deck::LoadedDeck load_deck_of(const checkpoint::Manifest& manifest, const std::string& path) {
    deck::LoadedDeck loaded = deck::load_text(manifest.deck, "the deck in " + path, {},
                                              {.ranks = manifest.ranks, .threads = 1, .as_record = true});
    if (!loaded.ok()) {
        throw Error{ErrorKind::checkpoint, "the deck of the checkpoint is none of this version:\n" +
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
        }
    }
    comm::all_reduce_max(world, code);
    exit_code = static_cast<int>(code[0]);
    return exit_code == 0;
}

std::optional<TrainedModel> find_trained_model(const std::string& folder,
                                               const comm::Context& world,
                                               int& exit_code) {
    TrainedModel model;
    const deck::LoadOptions launch = find_launch(world);
    model.here = {launch.ranks, launch.ranks_per_node, launch.threads};
    std::string text;
    const bool is_found = is_agreed(world, exit_code, [&] {
        std::vector<std::string> notes;
        model.path = checkpoint::choose_verified(folder, notes);
        for (const std::string& note : notes) {
            std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
        }
        text = to_text(checkpoint::CheckpointReader{model.path}.manifest());
    });
    if (!is_found) {
        return std::nullopt;
    }
    model.path = comm::broadcast(world, model.path);
    model.manifest = checkpoint::parse_manifest(comm::broadcast(world, text), model.path);
    const bool is_read = is_agreed(world, exit_code, [&] { load_deck_of(model.manifest, model.path); });
    if (!is_read) {
        return std::nullopt;
    }
    auto loaded = load_deck_of(model.manifest, model.path);
    model.run = std::move(loaded.run);
    model.machine = loaded.machine;
    return model;
}

}  // namespace ziggurat::app
