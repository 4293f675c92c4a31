/// Trains a model on generated tokens, through the libraries of find_package(ziggurat).
///
///   mpirun -n 2 own_tokens deck.yaml [key=value...]
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "comm/node_topology.hpp"
#include "data/token_source.hpp"
#include "deck/load.hpp"
#include "kernels/launch/runtime.hpp"
#include "train/on_ranks.hpp"
#include "train/trainer.hpp"

using namespace ziggurat;

/// Squares modulo a prime: 0 1 4 9 ... Two consecutive tokens determine the next one.
class Squares final : public data::TokenSource {
  public:
    explicit Squares(std::int64_t tokens) : tokens_{tokens} {}
    std::int64_t num_tokens() const override { return tokens_; }
    void read(std::int64_t begin, std::span<std::int32_t> out) const override {
        for (std::int32_t& token : out) {
            const std::int64_t number = begin++ % prime;
            token = static_cast<std::int32_t>(number * number % prime);
        }
    }
    std::string location_of(std::int64_t token) const override { return "square " + std::to_string(token); }

  private:
    static constexpr std::int64_t prime = 251;  // less than model.vocab
    std::int64_t tokens_;
};

/// Called for each source of the deck with the format own. The program defines the meaning of its path.
std::unique_ptr<data::TokenSource> open_squares(const spec::Source& source, const std::string& /*key*/) {
    return std::make_unique<Squares>(std::stoll(source.path));
}

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fputs("usage: own_tokens DECK [key=value...]\n", stderr);
        return 2;
    }
    train::StopSignals signals;  // before MPI
    return train::on_ranks([&](const comm::Context& world) {
        const auto loaded = deck::load(argv[1], {argv + 2, argv + argc},
                                       {.ranks = world.size(),
                                        .ranks_per_node = comm::find_nodes(world.group(), 0).ranks_on_node,
                                        .brings_tokens = true});
        if (!loaded.ok()) {
            std::fputs(world.rank() == 0 ? loaded.found.print().c_str() : "", stderr);
            return loaded.found.exit_code();
        }
        const int threads = loaded.run.parallel.threads;
        const kernels::Runtime runtime{threads};
        train::Console console{world.rank() == 0 ? STDOUT_FILENO : train::Console::quiet};
        return train::train(loaded.run,
                            {.version = "own_tokens",
                             .effective_deck = loaded.effective,
                             .secrets = loaded.secrets,
                             .open_source = open_squares},
                            world, device::RankDevices::of_host(threads), signals, console);
    });
}
