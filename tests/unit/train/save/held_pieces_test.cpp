#include "train/save/held_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "layout/tensors.hpp"
#include "schedule/build_program.hpp"
#include "schedule/passes/save_ring_pass.hpp"
#include "schedule/passes/saved_runs.hpp"
#include "spec/tensor_pattern.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/simulated_ranks.hpp"

namespace ziggurat::train {
namespace {

using checkpoint::PieceKind;
using schedule::StateKind;

/// One rank's view of a run.
struct Rank {
    schedule::ModelLayout model;
    schedule::Program program;

    Rank(const spec::RunSpec& run, int rank)
        : model{run, rank}, program{schedule::build_program(run, model, schedule::Variant::train)} {}
};

/// Returns the row-major index in the whole tensor, without padding rows, of element `local` of a
/// rank's slice.
///
/// Returns -1 for padding. Computed one dim at a time, unlike the boxes.
std::int64_t global_number(const layout::Parameter& parameter,
                           int tensor,
                           int tensor_rank,
                           std::int64_t local) {
    std::vector<std::int64_t> index(parameter.extents.size());
    const auto slices =
        parameter.max_slices > 0 ? std::min<std::int64_t>(parameter.max_slices, tensor) : tensor;
    for (std::size_t d = index.size(); d-- > 0;) {
        const bool is_cut = static_cast<int>(d) == parameter.tensor_dim;
        const auto extent = is_cut ? parameter.extents[d] / slices : parameter.extents[d];
        index[d] = local % extent + (is_cut ? tensor_rank * slices / tensor * extent : 0);
        local /= extent;
    }
    if (parameter.valid_rows >= 0 && index[0] >= parameter.valid_rows) {
        return -1;
    }
    std::int64_t number = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
        number = number * parameter.extents[d] + index[d];
    }
    return number;
}

/// Calls `visit(number in the tensor, bytes from the start of the buffer)` for all elements of a piece.
template <class Visitor>
void for_each_element(const PieceView& held, std::int64_t width, const Visitor& visit) {
    const auto& box = held.piece.box;
    auto index = box.begin;
    for (std::int64_t i = 0; i < box.elements(); ++i) {
        std::int64_t number = 0;
        for (std::size_t d = 0; d < index.size(); ++d) {
            number = number * held.piece.shape[d] + index[d];
        }
        visit(number, held.offset_bytes + i * width);
        for (std::size_t d = index.size(); d-- > 0;) {
            if (++index[d] < box.begin[d] + box.extent[d]) {
                break;
            }
            index[d] = box.begin[d];
        }
    }
}

const layout::Parameter& parameter_of(const Rank& rank, const PieceView& held) {
    const auto unit = rank.program.buffers[static_cast<std::size_t>(held.buffer)].unit;
    const auto& parameters = rank.model.table.units[static_cast<std::size_t>(unit)].parameters;
    return *std::ranges::find(parameters, held.piece.tensor, &layout::Parameter::name);
}

/// Checks the location of each element of a piece against the unit's flat layout.
void expect_places(const Rank& rank, const PieceView& held) {
    const auto& buffer = rank.program.buffers[static_cast<std::size_t>(held.buffer)];
    const auto& parameter = parameter_of(rank, held);
    const auto index = static_cast<int>(
        &parameter - rank.model.table.units[static_cast<std::size_t>(buffer.unit)].parameters.data());
    const auto range = rank.model.flats[static_cast<std::size_t>(buffer.unit)].parameter(index);
    for_each_element(held, element_bytes(buffer), [&](std::int64_t number, std::int64_t offset) {
        const auto local = buffer.first_element + offset / element_bytes(buffer) - range.begin;
        ASSERT_TRUE(0 <= local && local < range.size()) << held.piece.tensor;
        ASSERT_EQ(number, global_number(parameter, rank.model.tensor(), rank.model.tensor_rank, local))
            << held.piece.tensor;
        ASSERT_LE(offset + element_bytes(buffer), buffer.bytes);
    });
}

using Times = std::map<std::tuple<PieceKind, std::string>, std::vector<int>>;

Times count_saved(const spec::RunSpec& run, const std::vector<Rank>& ranks) {
    Times times;
    for (const auto& tensor : layout::tensors(run.model)) {
        const auto elements = static_cast<std::size_t>(tensor.elements);
        times[{PieceKind::weights, tensor.name}].resize(elements);
        if (spec::is_trained(run.train, tensor.name)) {
            times[{PieceKind::first_moment, tensor.name}].resize(elements);
            times[{PieceKind::second_moment, tensor.name}].resize(elements);
            if (run.train.average.is_on()) {
                times[{PieceKind::average, tensor.name}].resize(elements);
            }
            if (run.overlap.delayed_update) {
                times[{PieceKind::delayed_weights, tensor.name}].resize(elements);
            }
        }
    }
    for (const auto& rank : ranks) {
        for (const auto& held : held_pieces(rank.model, rank.program, PieceExtent::finest)) {
            if (!held.is_saved) {
                continue;
            }
            auto& of_tensor = times.at({held.piece.kind, held.piece.tensor});
            for_each_element(held, 1, [&](std::int64_t number, std::int64_t) {
                ++of_tensor.at(static_cast<std::size_t>(number));
            });
        }
    }
    return times;
}

std::vector<Rank> all_ranks(const spec::RunSpec& run) {
    std::vector<Rank> ranks;
    for (int rank = 0; rank < run.parallel.ranks; ++rank) {
        ranks.emplace_back(run, rank);
    }
    return ranks;
}

TEST(HeldPieces, OfAllRanksCoverEveryElementOfEveryKindOnce) {
    const auto seeds = test::count_from_environment("ZIGGURAT_SPECS", 150);
    for (std::int64_t seed = 0; seed < seeds; ++seed) {
        const auto run = test::random_spec(static_cast<std::uint64_t>(seed));
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + test::described(run));

        const auto times = count_saved(run, all_ranks(run));

        for (const auto& [key, of_tensor] : times) {
            ASSERT_TRUE(std::ranges::all_of(of_tensor, [](int count) { return count == 1; }))
                << std::get<1>(key) << " of " << checkpoint::to_string(std::get<0>(key));
        }
    }
}

TEST(HeldPieces, LieWhereTheFlatLayoutPutsThem) {
    for (std::uint64_t seed = 1000; seed < 1040; ++seed) {
        const auto run = test::random_spec(seed);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + test::described(run));
        for (const auto& rank : all_ranks(run)) {
            for (const auto extent : {PieceExtent::held, PieceExtent::finest}) {
                for (const auto& held : held_pieces(rank.model, rank.program, extent)) {
                    ASSERT_NO_FATAL_FAILURE(expect_places(rank, held));
                }
            }
        }
    }
}

TEST(HeldPieces, AreTheSameOfRanksThatHoldTheSameShard) {
    spec::RunSpec run =
        test::random_spec(1, {.context = false, .tiers = false, .frozen = false, .tiles = false});
    run.parallel.tensor = run.parallel.stages = run.parallel.chunks_per_stage = 1;
    run.parallel.stage_layers.clear();
    run.parallel.ranks = run.parallel.data = 4;
    run.parallel.sequence = false;
    run.sharding.parameters = run.sharding.gradients = run.sharding.secondary = 1;
    run.sharding.parameters = 1;
    run.sharding.gradients = run.sharding.optimizer = 2;
    run.sharding.secondary = 0;
    run.train.global_batch = 4 * run.train.micro_batch * run.train.micro_batches;
    const auto ranks = all_ranks(run);

    const auto pieces = [&](int rank, PieceKind kind, PieceExtent extent) {
        std::vector<checkpoint::Piece> found;
        const auto& of = ranks[static_cast<std::size_t>(rank)];
        for (const auto& held : held_pieces(of.model, of.program, extent)) {
            if (held.piece.kind == kind) {
                found.push_back(held.piece);
            }
        }
        return found;
    };

    EXPECT_EQ(pieces(0, PieceKind::first_moment, PieceExtent::held),
              pieces(2, PieceKind::first_moment, PieceExtent::held));
    EXPECT_NE(pieces(0, PieceKind::first_moment, PieceExtent::held),
              pieces(1, PieceKind::first_moment, PieceExtent::held));
    EXPECT_NE(pieces(0, PieceKind::first_moment, PieceExtent::finest),
              pieces(2, PieceKind::first_moment, PieceExtent::finest));
}

TEST(SavedRuns, FillTheSnapshotExactlyWhereTrainingChangesThem) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto run = test::random_spec(seed);
        run.checkpoint.every = spec::Interval{.steps = 1};
        for (const bool is_async : {true, false}) {
            run.checkpoint.is_async = is_async;
            const Rank rank{run, run.parallel.ranks - 1};
            ASSERT_EQ(rank.program.trainer_buffers.snapshot >= 0, is_async);
            if (!is_async) {
                continue;
            }
            const auto& snapshot = rank.program.buffer(rank.program.trainer_buffers.snapshot);
            std::int64_t bytes = 0;
            for (const auto& saved : schedule::saved_runs(rank.model, rank.program)) {
                const auto& buffer = rank.program.buffers[static_cast<std::size_t>(saved.buffer)];
                EXPECT_FALSE(saved.is_copied && buffer.state == StateKind::frozen);
                bytes += saved.is_copied ? saved.run.bytes : 0;
            }
            EXPECT_EQ(snapshot.bytes, bytes);
            EXPECT_EQ(snapshot.tier, spec::Tier::host);
        }
    }
}

TEST(PassingRuns, HoldAllThatIsSavedFromNvmeOnceAndInOrder) {
    int tried = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto run = test::random_spec(seed);
        run.checkpoint = {};
        run.checkpoint.every = spec::Interval{.steps = 1};
        run.checkpoint.is_async = true;
        run.tiers.nvme_paths = {"/nvme"};
        run.tiers.optimizer = seed % 2 == 0 ? spec::Home{0, 0, 1} : spec::Home{0.25, 0.35, 0.4};
        const Rank rank{run, run.parallel.ranks - 1};
        const auto& buffers = rank.program.buffers;
        std::map<int, std::int64_t> passed;  // by buffer at home: begin of the next bytes
        std::map<int, std::int64_t> of_update;
        for (const auto& saved : schedule::saved_runs(rank.model, rank.program)) {
            passed.emplace(saved.buffer, saved.run.offset);
        }
        for (const auto& passing : schedule::streamed_ranges(rank.model, rank.program)) {
            EXPECT_EQ(passed.at(passing.home), passing.at_home.offset) << "seed " << seed;
            passed[passing.home] += passing.at_home.bytes;
            of_update[passing.op] += passing.at_home.bytes;
        }
        const int ring = rank.program.trainer_buffers.save_ring;
        ASSERT_EQ(ring >= 0, !of_update.empty());
        for (const auto& [op, bytes] : of_update) {
            EXPECT_LE(bytes * schedule::save_ring_slots, rank.program.buffer(ring).bytes);
        }
        for (const auto& saved : schedule::saved_runs(rank.model, rank.program)) {
            const auto& home = buffers[static_cast<std::size_t>(saved.buffer)];
            const bool passes = home.tier == spec::Tier::nvme && home.state != schedule::StateKind::frozen;
            EXPECT_EQ(passed.at(saved.buffer) - saved.run.offset, passes ? saved.run.bytes : 0)
                << home.name << ", seed " << seed;
            tried += passes ? 1 : 0;
        }
    }
    EXPECT_GT(tried, 100);
}

}  // namespace
}  // namespace ziggurat::train
