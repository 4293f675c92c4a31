/// Benchmark of the collectives within one node, against the MPI library's own calls and a copy.
///
///   mpirun -n 2 --bind-to none perf_collectives [--sizes 4096,...] [--types f32,bf16]
///     [--kinds reduce_scatter,all_reduce,all_gather] [--rounds 15] [--sample-ms 5] [--huge-pages]
///
/// Ziggurat's collectives, MPI's and two private copies run alternately on the same sizes. Ziggurat gathers
/// in place, as a training that updates shards of its parameters does. MPI gathers once from a separate
/// vector, as its call is mostly used, and once in place (`in place`: the ratio to that). Prints a table
/// and one JSON line per measurement, medians. `share_of_copy` is the byte rate of Ziggurat over that of
/// the faster copy of the same size on all ranks at once; each byte read or written by any rank counts once
/// per access. MPI and the copies use memory from the allocator, or huge pages, which make both faster.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "comm/fold.hpp"
#include "comm/make_collectives.hpp"
#include "comm/node/node_memory.hpp"
#include "comm/session/session.hpp"
#include "device/arena.hpp"
#include "perf/comm/plain_calls.hpp"
#include "perf/comm/turns.hpp"
#include "perf/options.hpp"
#include "tensor/bfloat16.hpp"
#include "tests/support/even_blocks.hpp"

namespace {

using namespace ziggurat;
using comm::CollectiveKind;

struct Choice {
    std::vector<std::int64_t> sizes{4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20};
    std::vector<std::string> types{"f32", "bf16"};
    std::vector<std::string> kinds{"reduce_scatter", "all_reduce", "all_gather"};
    int rounds = 15;
    double sample_ms = 5;
    bool huge_pages = false;
};

Choice parse(int argc, char** argv) {
    Choice choice;
    perf::Options options{"Times collectives of one node beside MPI's own calls."};
    options.add("--sizes", choice.sizes, {}, "bytes of the whole vector, multiples of 64");
    options.add("--types", choice.types, perf::one_of({"f32", "bf16"}));
    options.add("--kinds", choice.kinds, perf::one_of({"reduce_scatter", "all_reduce", "all_gather"}));
    options.add("--rounds", choice.rounds, perf::between(3, 1000));
    options.add("--sample-ms", choice.sample_ms, perf::between(0.001, 60000));
    options.add_flag("--huge-pages", choice.huge_pages, "ask the system for huge pages for private memory");
    options.read_or_exit(argc, argv);
    return choice;
}

CollectiveKind kind_named(const std::string& name) {
    return name == "reduce_scatter" ? CollectiveKind::reduce_scatter
           : name == "all_reduce"   ? CollectiveKind::all_reduce
                                    : CollectiveKind::all_gather;
}

/// Returns the value of element `i` of `rank`: values differ between ranks, and their sums need
/// rounding.
float value_of(std::int64_t i, int rank) {
    return static_cast<float>((i * 7 + rank * 13) % 1000 - 500) * 0.01f;
}

void fill(std::byte* vector, std::int64_t bytes, spec::DType type, int rank) {
    for (std::int64_t i = 0; i < bytes / spec::element_bytes(type); ++i) {
        const float value = value_of(i, rank);
        if (type == spec::DType::f32) {
            reinterpret_cast<float*>(vector)[i] = value;
        } else {
            reinterpret_cast<tensor::bfloat16*>(vector)[i] = tensor::bfloat16(value);
        }
    }
}

/// An input and an output vector of one rank.
struct Vectors {
    std::byte* input;
    std::byte* output;
};

/// Returns two separate vectors within `memory`.
template <class Memory>
Vectors carve(const Memory& memory) {
    return {memory.data(), memory.data() + memory.bytes() / 2};
}

/// One combination of kind, type and size.
struct Contest {
    CollectiveKind kind;
    spec::DType type;
    std::int64_t bytes;
    std::vector<comm::Block> blocks;

    /// Minimum number of bytes that the call must read and write, over all ranks.
    double bytes_touched(int ranks) const {
        const double s = double(bytes);
        switch (kind) {
            case CollectiveKind::reduce_scatter:
                return s * (ranks + 1);
            case CollectiveKind::all_reduce:
                return 2 * s * ranks;
            default:
                return 2 * s * (ranks - 1);
        }
    }
};

void prepare(const Contest& contest, const Vectors& at, int rank) {
    fill(at.input, contest.bytes, contest.type, rank);
    std::memset(at.output, 0, static_cast<std::size_t>(contest.bytes));
    if (contest.kind == CollectiveKind::all_gather) {
        const auto& mine = contest.blocks[static_cast<std::size_t>(rank)];
        std::memcpy(at.output + mine.offset_bytes, at.input + mine.offset_bytes,
                    static_cast<std::size_t>(mine.bytes));
    }
}

comm::CollectiveCall call_of(const Contest& contest, const Vectors& at, int rank) {
    comm::CollectiveCall call{.kind = contest.kind,
                              .type = contest.type,
                              .input = at.input,
                              .output = at.output,
                              .blocks = contest.blocks,
                              .label = "benchmark"};
    if (contest.kind == CollectiveKind::all_gather) {
        call.input = at.output;
        call.input_offset_bytes = contest.blocks[static_cast<std::size_t>(rank)].offset_bytes;
    }
    return call;
}

/// Returns true if Ziggurat's result on this rank equals the definition bit for bit.
bool is_right(const Contest& contest, const Vectors& at, int rank, int ranks) {
    const auto bytes = static_cast<std::size_t>(contest.bytes);
    std::vector<std::vector<std::byte>> inputs;
    std::vector<const std::byte*> pointers;
    for (int member = 0; member < ranks; ++member) {
        fill(inputs.emplace_back(bytes).data(), contest.bytes, contest.type, member);
        pointers.push_back(inputs.back().data());
    }
    const auto& mine = contest.blocks[static_cast<std::size_t>(rank)];
    if (contest.kind == CollectiveKind::all_gather) {
        for (std::size_t member = 0; member < inputs.size(); ++member) {
            const auto& block = contest.blocks[member];
            if (std::memcmp(at.output + block.offset_bytes, pointers[member] + block.offset_bytes,
                            static_cast<std::size_t>(block.bytes)) != 0) {
                return false;
            }
        }
        return true;
    }
    std::vector<std::byte> sum(bytes);
    comm::fold(pointers, sum.data(), contest.bytes / spec::element_bytes(contest.type), contest.type, 0);
    return contest.kind == CollectiveKind::all_reduce
               ? std::memcmp(at.output, sum.data(), bytes) == 0
               : std::memcmp(at.output, sum.data() + mine.offset_bytes,
                             static_cast<std::size_t>(mine.bytes)) == 0;
}

nlohmann::json measure(const Contest& contest,
                       const comm::Context& world,
                       comm::NodeMemory& node,
                       comm::Collectives& ours,
                       const Vectors& shared,
                       const Vectors& own,
                       const perf::RetryLimits& patience) {
    prepare(contest, shared, world.rank());
    prepare(contest, own, world.rank());
    const int call = ours.prepare(call_of(contest, shared, world.rank()));
    const perf::PlainMpi mpi{world.group(), contest.kind, contest.type, contest.blocks};

    const auto run_ours = [&] {
        ours.start(call);
        comm::wait(ours, call, world.waits(), &node);
    };
    run_ours();
    int right = is_right(contest, shared, world.rank(), world.size()) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, world.group().native());
    const bool is_gather = contest.kind == CollectiveKind::all_gather;
    const auto timings = perf::time_in_turn(
        world.group(),
        {run_ours, [&] { mpi.run(own.input, own.output); },
         [&] { perf::copy_private(own.input, own.output, contest.bytes, perf::Stores::ordinary); },
         [&] { perf::copy_private(own.input, own.output, contest.bytes, perf::Stores::non_temporal); },
         [&] { is_gather ? mpi.gather_in_place(own.output) : mpi.run(own.input, own.output); }},
        patience);

    const double copy = std::min(timings[2].median, timings[3].median);
    const double copy_rate = 2.0 * double(contest.bytes) * world.size() / copy;
    const double rate = contest.bytes_touched(world.size()) / timings[0].median;
    return {{"measurement", "collectives"},
            {"kind", name_of(contest.kind)},
            {"type", contest.type == spec::DType::f32 ? "f32" : "bf16"},
            {"ranks", world.size()},
            {"cores", std::thread::hardware_concurrency()},
            {"bytes", contest.bytes},
            {"is_right", right == 1},
            {"seconds", timings[0].median},
            {"least_seconds", timings[0].min},
            {"most_seconds", timings[0].max},
            {"mpi_seconds", timings[1].median},
            {"ratio", timings[1].median / timings[0].median},
            {"ratio_to_in_place", timings[4].median / timings[0].median},
            {"touched_GB_per_s", rate * 1e-9},
            {"copy_GB_per_s", copy_rate * 1e-9},
            {"share_of_copy", rate / copy_rate}};
}

void print_row(const nlohmann::json& line) {
    fmt::print(
        "{:<15} {:<5} {:>5} {:>10} {:>12.2f} {:>12.2f} {:>7.2f} {:>8.2f} {:>9.1f} {:>9.1f} {:>7.2f}{}\n",
        line["kind"].get<std::string>(), line["type"].get<std::string>(), line["ranks"].get<int>(),
        line["bytes"].get<std::int64_t>(), line["seconds"].get<double>() * 1e6,
        line["mpi_seconds"].get<double>() * 1e6, line["ratio"].get<double>(),
        line["ratio_to_in_place"].get<double>(), line["touched_GB_per_s"].get<double>(),
        line["copy_GB_per_s"].get<double>(), line["share_of_copy"].get<double>(),
        line["is_right"].get<bool>() ? "" : "  WRONG RESULT");
    std::fflush(stdout);
}

int measure_all(const Choice& choice, const comm::Context& world) {
    const auto max = *std::ranges::max_element(choice.sizes);
    const device::Arena shared{2 * max, "vectors of the collectives", device::Arena::Kind::shared};
    const perf::PrivateMemory own{2 * max, choice.huge_pages};
    comm::NodeMemory node{world, {}};
    node.share(shared);
    if (!node.is_shared()) {
        throw Error{ErrorKind::resource,
                    "nothing to measure (memory is not shared: " + node.not_shared_reason() + ")."};
    }
    const auto ours = comm::make_collectives(world.group(), node, "the benchmark's group");
    const perf::RetryLimits patience{.rounds = choice.rounds, .sample_seconds = choice.sample_ms * 1e-3};

    std::vector<nlohmann::json> lines;
    if (world.rank() == 0) {
        fmt::print("{:<15} {:<5} {:>5} {:>10} {:>12} {:>12} {:>7} {:>8} {:>9} {:>9} {:>7}\n", "kind", "type",
                   "ranks", "bytes", "ours us", "MPI us", "ratio", "in place", "GB/s", "copy GB/s", "share");
    }
    for (const auto& kind : choice.kinds) {
        for (const auto& type : choice.types) {
            for (const auto size : choice.sizes) {
                Contest contest{.kind = kind_named(kind),
                                .type = type == "f32" ? spec::DType::f32 : spec::DType::bf16,
                                .bytes = size / 64 * 64,
                                .blocks = {}};
                const int element_bytes = spec::element_bytes(contest.type);
                contest.blocks = test::even_blocks(contest.bytes / element_bytes, element_bytes, world.size(),
                                                   64 / element_bytes);
                lines.push_back(measure(contest, world, node, *ours, carve(shared), carve(own), patience));
                if (world.rank() == 0) {
                    print_row(lines.back());
                }
            }
        }
    }
    bool all_right = true;
    for (const auto& line : lines) {
        all_right = all_right && line["is_right"].get<bool>();
        if (world.rank() == 0) {
            fmt::print("{}\n", line.dump());
        }
    }
    return all_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const auto choice = parse(argc, argv);
    const comm::Session session{&argc, &argv};
    return measure_all(choice, session.world());
}
