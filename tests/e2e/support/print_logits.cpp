// Writes the logits of a deck's initial model, on any ranks and layout, for a test to compare.
//
//   mpirun -n N print_logits DECK TOKENS OUT [KEY=VALUE...]
//   print_logits --each FOLDERS DECK TOKENS
//
// TOKENS holds data.seq numbers of 32 bits; OUT gets data.seq rows of model.vocab floats. With --each, the
// deck starts once with the model of each folder listed in FOLDERS, one per line. The folder gets the file
// logits.f32, or refusal.txt with the text of the error.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/catalogue/catalogue.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "comm/session/session.hpp"
#include "comm/watch/liveness.hpp"
#include "deck/load.hpp"
#include "tests/support/device/test_processors.hpp"
#include "train/save/load_state.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat {
namespace {

spec::RunSpec load(const std::string& path, const std::vector<std::string>& overrides, int ranks) {
    auto loaded = deck::load(path, overrides,
                             {.ranks = ranks, .ranks_per_node = ranks, .threads = 1, .needs_data = false});
    if (!loaded.ok()) {
        throw Error{ErrorKind::deck, loaded.found.print()};
    }
    return loaded.run;
}

void load_weights(const spec::RunSpec& run, train::Assembly& assembly) {
    const auto world = assembly.world();
    if (run.model.is_init_published) {
        train::load_published_weights(world, assembly.state(), run.model);
    } else {
        std::vector<std::string> notes;
        checkpoint::CheckpointReader reader{checkpoint::choose(run.model.init_path, notes)};
        train::load_weights(world, assembly.state(), reader);
    }
}

/// Fills every sequence of the micro-batch with `tokens`.
void fill(const train::BatchSlot& slot, const std::vector<std::int32_t>& tokens) {
    const auto seq = tokens.size();
    for (std::size_t i = 0; i < slot.tokens.size(); ++i) {
        slot.tokens[i] = tokens[i % seq];
        slot.targets[i] = tokens[i % seq];
        slot.positions[i] = static_cast<std::int32_t>(i % seq);
        slot.document_starts[i] = 0;
        slot.mask[i] = 1;
    }
    for (std::size_t i = 0; i < slot.samples.size(); ++i) {
        slot.samples[i] = static_cast<std::int64_t>(i);
    }
}

void print_logits(const std::string& deck,
                  const std::string& tokens_path,
                  const std::string& out_path,
                  const std::vector<std::string>& overrides,
                  const comm::Context& world) {
    const auto run = load(deck, overrides, world.size());
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(run.data.seq));
    std::ifstream{tokens_path, std::ios::binary}.read(reinterpret_cast<char*>(tokens.data()),
                                                      static_cast<std::streamsize>(4 * tokens.size()));
    train::Assembly assembly{run, train::build_programs(run, world.rank()), world,
                             test::processors_for_tests(1), train::StateInit::zero};
    load_weights(run, assembly);
    std::ofstream out;
    if (world.rank() == 0) {
        out.open(out_path, std::ios::binary);
    }
    for (std::int64_t row = 0; row < run.data.seq; ++row) {
        fill(assembly.evaluate_slot(), tokens);
        assembly.watch_logits(row);
        assembly.evaluator().run_step();
        const auto logits = assembly.watched_logits();
        out.write(reinterpret_cast<const char*>(logits.data()),
                  static_cast<std::streamsize>(4 * logits.size()));
    }
}

void print_each(const std::string& folders,
                const std::string& deck,
                const std::string& tokens,
                const comm::Context& world) {
    std::ifstream list{folders};
    for (std::string folder; std::getline(list, folder);) {
        try {
            print_logits(deck, tokens, folder + "/logits.f32", {"model.init.path=" + folder}, world);
        } catch (const Error& error) {
            std::ofstream{folder + "/refusal.txt"} << error.what();
        }
    }
}

}  // namespace
}  // namespace ziggurat

int main(int argc, char** argv) {
    using namespace ziggurat;
    if (argc < 4) {
        std::fputs("print_logits: a deck, a file of tokens and one for the logits are needed\n", stderr);
        return 2;
    }
    const comm::Session session{&argc, &argv};
    const auto& world = session.world();
    try {
        const test::TestKernels kernels{1, static_cast<std::uint64_t>(world.rank())};
        if (argc == 5 && std::string{argv[1]} == "--each") {
            print_each(argv[2], argv[3], argv[4], world);
        } else {
            print_logits(argv[1], argv[2], argv[3], {argv + 4, argv + argc}, world);
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "print_logits: %s\n", error.what());
        if (world.size() > 1) {
            world.liveness()->fail(1, error.what());
        }
        return 1;
    }
}
