/// Saving, loading and verifying a checkpoint, against plain direct transfers of the same size.
///
///   perf_checkpoint [--dir .] [--gib 4] [--rounds 10] [--depths 2,4,8,16]
///
/// One writer's checkpoint, with the tensors and the three kinds of state of a model of some layers, is
/// written, read whole and verified. This alternates with a file of the same size that is written and read in
/// transfers of 4 MiB, at several depths. Prints a table and one JSON line per measurement; `ratio` is the
/// rate over that of the best depth. Every second round chooses that depth and the others are measured,
/// because otherwise the luckiest of several noisy depths would count. Rates are medians. The data read is
/// compared with the data written.
///
/// A file system that discards freed blocks slows the first write after a removal (1.7 instead of
/// 2.5 GB/s on ext4 with `discard` over virtio). So each round first writes one additional, untimed file, and
/// removes no file until it ends: it needs the space of the depths and of two more files.
#include <fmt/format.h>

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
#include "checkpoint/shard/shard_file.hpp"
#include "perf/options.hpp"
#include "perf/storage/plain_transfers.hpp"
#include "storage/aio_queue.hpp"
#include "storage/directory.hpp"

namespace {

namespace fs = std::filesystem;
using namespace ziggurat;
using checkpoint::PieceKind;

constexpr std::int64_t gib = std::int64_t{1} << 30;

struct Choice {
    std::string dir = ".";
    double gib = 4;
    int rounds = 10;
    std::vector<int> depths{2, 4, 8, 16};
};

Choice parse(int argc, char** argv) {
    Choice choice;
    perf::Options options{"Times saving and loading beside plain transfers."};
    options.add("--dir", choice.dir, {}, "where to write, on the disk to be measured");
    options.add("--gib", choice.gib, perf::between(0.05, 1000.0));
    options.add("--rounds", choice.rounds, perf::between(2, 100));
    options.add("--depths", choice.depths, perf::between(1, 256));
    options.read_or_exit(argc, argv);
    return choice;
}

/// Pieces of about `bytes` in total: layers of hidden width 1536 in fp32, large matrices and small
/// vectors, contiguous in one memory as the shards of a rank are.
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
                for (const PieceKind kind :
                     {PieceKind::weights, PieceKind::first_moment, PieceKind::second_moment}) {
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
    std::vector<checkpoint::PieceSource> sources() const {
        std::vector<checkpoint::PieceSource> list;
        for (std::size_t k = 0; k < pieces.size(); ++k) {
            list.push_back({pieces[k], memory.bytes().data() + offsets[k]});
        }
        return list;
    }
    std::vector<checkpoint::PieceTarget> targets(std::span<std::byte> into) const {
        std::vector<checkpoint::PieceTarget> list;
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

/// Returns the median of every second value, starting with number `first`.
double median(const std::vector<double>& all, std::size_t first) {
    std::vector<double> values;
    for (std::size_t k = first; k < all.size(); k += 2) {
        values.push_back(all[k]);
    }
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Seconds by action; for the plain transfers also by depth.
struct Times {
    std::map<std::string, std::vector<double>> ours;
    std::map<std::string, std::map<int, std::vector<double>>> plain;
};

void save(const std::string& root, const State& state) {
    checkpoint::Commit commit{root, 1};
    checkpoint::Manifest manifest;
    checkpoint::ShardSummary summary = checkpoint::write_shard(commit.folder(), 0, state.sources());
    manifest.progress = {.step = 1, .tokens = 1, .next_sample = 1};
    manifest.ranks = 1;
    manifest.files = {summary.entry};
    manifest.pieces = std::move(summary.pieces);
    commit.finish(std::move(manifest), {});
}

/// Runs all actions, starting with a different one each round: a disk may be faster for the first
/// action.
void in_turn(const std::vector<std::function<void()>>& actions, int round) {
    for (std::size_t k = 0; k < actions.size(); ++k) {
        actions[(k + static_cast<std::size_t>(round)) % actions.size()]();
    }
}

/// Runs one round of everything. Returns false if the data read differs from the data written.
bool measure(const Choice& choice, const std::string& folder, const State& state, int round, Times& times) {
    const auto plain = [&](int depth) { return fmt::format("{}/plain-{}/file", folder, depth); };
    const std::string root = folder + "/ckpt";
    const std::string path = root + "/" + checkpoint::folder_name(1);
    const storage::AlignedBuffer read{std::ssize(state.memory.bytes())};
    // Touch the pages here: a running program has its pages mapped already.
    std::ranges::fill(read.bytes(), std::byte{});
    std::vector<std::function<void()>> writes;
    std::vector<std::function<void()>> reads;
    for (const int depth : choice.depths) {
        // One directory per depth: a directory has its own location on disk.
        fs::create_directories(fs::path{plain(depth)}.parent_path());
        writes.emplace_back([&, depth] {
            times.plain["write"][depth].push_back(
                perf::plain_write_seconds(plain(depth), state.memory.bytes(), depth));
        });
        reads.emplace_back([&, depth] {
            times.plain["read"][depth].push_back(perf::plain_read_seconds(plain(depth), read.bytes(), depth));
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
    perf::plain_write_seconds(folder + "/first", state.memory.bytes(), choice.depths.front());
    in_turn(writes, round);
    in_turn(reads, round);
    fs::remove_all(folder);
    fs::create_directories(folder);
    return is_right;
}

void print(const State& state, const Times& times, bool is_right) {
    const auto bytes = std::ssize(state.memory.bytes());
    fmt::print("{:<8} {:>10} {:>12} {:>7} {:>7}\n", "what", "GB/s", "plain GB/s", "depth", "ratio");
    for (const auto& [what, seconds] : times.ours) {
        const auto& plain = times.plain.at(what == "write" ? "write" : "read");
        const auto& [depth, plain_seconds] =
            *std::ranges::min_element(plain, {}, [](const auto& each) { return median(each.second, 0); });
        const double rate = static_cast<double>(bytes) / median(seconds, 1) * 1e-9;
        const double plain_rate = static_cast<double>(bytes >> 22 << 22) / median(plain_seconds, 1) * 1e-9;
        fmt::print("{:<8} {:>10.2f} {:>12.2f} {:>7} {:>7.2f}\n", what, rate, plain_rate, depth,
                   rate / plain_rate);
        const nlohmann::json line{{"measurement", "storage"},
                                  {"kind", what},
                                  {"bytes", bytes},
                                  {"rounds", seconds.size()},
                                  {"seconds", median(seconds, 1)},
                                  {"gb_per_s", rate},
                                  {"plain_gb_per_s", plain_rate},
                                  {"plain_depth", depth},
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
