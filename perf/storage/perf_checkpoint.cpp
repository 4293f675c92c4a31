/// Saving, loading and verifying a checkpoint beside plain direct transfers of as many bytes.
///
///   perf_checkpoint [--dir .] [--gib 2] [--rounds 6] [--depths 2,4,8,16]
///
/// One writer's checkpoint, with the tensors and the three kinds of state of a model of some layers, is
/// written, read whole and verified in turn with a file of the same size that is written and read in
/// transfers of 4 MiB, at several depths. Prints a table and one JSON line per measurement, medians of
/// rounds; `ratio` is the rate beside that of the best depth. What is read is compared with what was written.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/shard_file.hpp"
#include "perf/storage/plain_transfers.hpp"
#include "storage/aio_queue.hpp"
#include "storage/directory.hpp"

namespace {

namespace fs = std::filesystem;
using namespace ziggurat;
using checkpoint::Kind;

constexpr std::int64_t gib = std::int64_t{1} << 30;

struct Choice {
    std::string dir = ".";
    double gib = 2;
    int rounds = 6;
    std::vector<int> depths{2, 4, 8, 16};
};

Choice parse(int argc, char** argv) {
    Choice choice;
    CLI::App app{"Times saving and loading beside plain transfers."};
    app.add_option("--dir", choice.dir, "where to write, on the disk to be measured");
    app.add_option("--gib", choice.gib)->check(CLI::Range(0.05, 1000.0));
    app.add_option("--rounds", choice.rounds)->check(CLI::Range(1, 100));
    app.add_option("--depths", choice.depths)->delimiter(',')->check(CLI::Range(1, 256));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    return choice;
}

/// Pieces of about `bytes` in all: layers of hidden width 1536 in fp32, large matrices and small vectors,
/// side by side in one memory as a rank's shards are.
struct State {
    std::vector<checkpoint::Piece> pieces;
    std::vector<std::int64_t> offsets;
    storage::AlignedBuffer memory;

    explicit State(std::int64_t bytes) {
        std::int64_t used = 0;
        for (int layer = 0; used < bytes; ++layer) {
            for (const auto& [name, shape] :
                 std::map<std::string, std::vector<std::int64_t>>{{"attention.qkv.weight", {4608, 1536}},
                                                                  {"attention.qkv.bias", {4608}},
                                                                  {"mlp.up.weight", {6144, 1536}},
                                                                  {"mlp.down.weight", {1536, 6144}},
                                                                  {"norm.weight", {1536}}}) {
                for (const Kind kind : {Kind::weights, Kind::first_moment, Kind::second_moment}) {
                    pieces.push_back({kind, fmt::format("layers.{}.{}", layer, name), shape, spec::DType::f32,
                                      checkpoint::whole(shape)});
                    offsets.push_back(used);
                    used += pieces.back().bytes();
                }
            }
        }
        memory = storage::AlignedBuffer{used};
        std::uint64_t state = 1;
        for (std::size_t k = 0; k + 8 <= memory.bytes().size(); k += 8) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            std::memcpy(memory.bytes().data() + k, &state, 8);
        }
    }
    std::vector<checkpoint::Source> sources() const {
        std::vector<checkpoint::Source> list;
        for (std::size_t k = 0; k < pieces.size(); ++k) {
            list.push_back({pieces[k], memory.bytes().data() + offsets[k]});
        }
        return list;
    }
    std::vector<checkpoint::Target> targets(std::span<std::byte> into) const {
        std::vector<checkpoint::Target> list;
        for (std::size_t k = 0; k < pieces.size(); ++k) {
            list.push_back({pieces[k], into.data() + offsets[k]});
        }
        return list;
    }
};

double seconds_of(const std::function<void()>& action) {
    const std::int64_t begin_ns = monotonic_ns();
    action();
    return seconds_between(begin_ns, monotonic_ns());
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Seconds by what was done; of the plain transfers also by depth.
struct Times {
    std::map<std::string, std::vector<double>> ours;
    std::map<std::string, std::map<int, std::vector<double>>> plain;
};

void save(const std::string& root, const State& state) {
    checkpoint::Commit commit{root, 1};
    checkpoint::Manifest manifest;
    checkpoint::ShardSummary summary = checkpoint::write_shard(commit.folder(), 0, state.sources());
    manifest.progress.step = 1;
    manifest.ranks = 1;
    manifest.files = {summary.entry};
    manifest.pieces = std::move(summary.pieces);
    commit.finish(std::move(manifest), {});
}

/// Runs all actions, from another one on in each round: a disk may be faster for whoever comes first.
void in_turn(const std::vector<std::function<void()>>& actions, int round) {
    for (std::size_t k = 0; k < actions.size(); ++k) {
        actions[(k + static_cast<std::size_t>(round)) % actions.size()]();
    }
}

/// One round of everything; false when what was read is not what was written.
bool measure(const Choice& choice, const std::string& folder, const State& state, int round, Times& times) {
    const std::string plain = folder + "/plain";
    const std::string root = folder + "/ckpt";
    const std::string path = root + "/" + checkpoint::folder_name(1);
    const storage::AlignedBuffer read{std::ssize(state.memory.bytes())};
    std::ranges::fill(read.bytes(), std::byte{});  // touched here: pages of a running program are
    std::vector<std::function<void()>> writes;
    std::vector<std::function<void()>> reads;
    for (const int depth : choice.depths) {
        writes.emplace_back([&, depth] {
            fs::remove(plain);
            times.plain["write"][depth].push_back(
                perf::plain_write_seconds(plain, state.memory.bytes(), depth));
        });
        reads.emplace_back([&, depth] {
            times.plain["read"][depth].push_back(perf::plain_read_seconds(plain, read.bytes(), depth));
        });
    }
    writes.emplace_back([&] { times.ours["write"].push_back(seconds_of([&] { save(root, state); })); });
    bool is_right = true;
    reads.emplace_back([&] {
        times.ours["read"].push_back(
            seconds_of([&] { checkpoint::CheckpointReader{path}.read(state.targets(read.bytes())); }));
        is_right = is_right && std::ranges::equal(read.bytes(), state.memory.bytes());
    });
    reads.emplace_back([&] {
        times.ours["verify"].push_back(
            seconds_of([&] { is_right = is_right && checkpoint::CheckpointReader{path}.verify().empty(); }));
    });
    in_turn(writes, round);
    in_turn(reads, round);
    fs::remove(plain);
    fs::remove_all(root);
    return is_right;
}

void print(const State& state, const Times& times, bool is_right) {
    const auto bytes = std::ssize(state.memory.bytes());
    fmt::print("{:<8} {:>10} {:>12} {:>7} {:>7}\n", "what", "GB/s", "plain GB/s", "depth", "ratio");
    for (const auto& [what, seconds] : times.ours) {
        std::pair<double, int> best{1e30, 0};
        for (const auto& [depth, plain] : times.plain.at(what == "write" ? "write" : "read")) {
            best = std::min(best, {median(plain), depth});
        }
        const double rate = static_cast<double>(bytes) / median(seconds) * 1e-9;
        const double plain_rate = static_cast<double>(bytes >> 22 << 22) / best.first * 1e-9;
        fmt::print("{:<8} {:>10.2f} {:>12.2f} {:>7} {:>7.2f}\n", what, rate, plain_rate, best.second,
                   rate / plain_rate);
        const nlohmann::json line{{"measurement", "storage"},
                                  {"kind", what},
                                  {"bytes", bytes},
                                  {"rounds", seconds.size()},
                                  {"seconds", median(seconds)},
                                  {"gb_per_s", rate},
                                  {"plain_gb_per_s", plain_rate},
                                  {"plain_depth", best.second},
                                  {"ratio", rate / plain_rate},
                                  {"is_right", is_right}};
        fmt::print("{}\n", line.dump());
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Choice choice = parse(argc, argv);
    const std::string folder = choice.dir + "/perf-checkpoint";
    bool is_right = true;
    try {
        const State state{static_cast<std::int64_t>(choice.gib * static_cast<double>(gib))};
        fs::create_directories(folder);
        Times times;
        for (int round = 0; round < choice.rounds; ++round) {
            is_right = measure(choice, folder, state, round, times) && is_right;
        }
        print(state, times, is_right);
    } catch (const std::exception& error) {
        fmt::print(stderr, "perf_checkpoint: {}\n", error.what());
        is_right = false;
    }
    fs::remove_all(folder);
    return is_right ? 0 : 1;
}
