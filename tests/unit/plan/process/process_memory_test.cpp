#include "plan/process/process_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "layout/staging/staging_sizes.hpp"
#include "plan/checkpoint_size.hpp"
#include "plan/plan_run.hpp"
#include "plan/rank_programs.hpp"
#include "plan/report/memory_report.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/plan/deep_spec.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

PhaseBytes bytes_of(const ProcessMemory& memory, ProcessPart part) {
    const auto found = std::ranges::find(memory.rows, part, &ProcessRow::part);
    return found == memory.rows.end() ? PhaseBytes{} : found->bytes;
}

/// Returns the memory of a rank with these facts.
PhaseBytes row(const spec::RunSpec& spec, const ProcessFacts& facts, ProcessPart part) {
    return bytes_of(process_memory(spec, facts), part);
}

spec::RunSpec saved_spec(int ranks = 1) {
    auto spec = test::small_spec("llama", ranks);
    spec.checkpoint.every = spec::Interval{.steps = 2};
    return spec;
}

constexpr ProcessFacts facts{.ops = 1000,
                             .pieces = 20,
                             .blocks = 30,
                             .kept_bytes = 3 * mib,
                             .saved_bytes = 100 * mib,
                             .largest_piece_bytes = 6 * mib,
                             .pieces_of_all_ranks = 160};

TEST(ProcessMemory, HasTheBuffersOfAWriterWhileItSaves) {
    const auto bytes = row(saved_spec(), facts, ProcessPart::writer);
    EXPECT_EQ(bytes, (PhaseBytes{0, 0, layout::writer_staging_bytes(100 * mib) + 3 * mib, 0}));

    auto spec = saved_spec();
    spec.checkpoint.every = {};
    EXPECT_EQ(row(spec, facts, ProcessPart::writer), PhaseBytes{}) << "the run never saves";
}

TEST(ProcessMemory, HasTheBuffersOfAReaderWhileItResumes) {
    EXPECT_EQ(row(saved_spec(), facts, ProcessPart::reader),
              (PhaseBytes{0, 0, 0, layout::reader_staging_bytes(30, 6 * mib)}));
    EXPECT_EQ(row(saved_spec(), facts, ProcessPart::replication), PhaseBytes{}) << "one rank";
    EXPECT_EQ(row(saved_spec(2), facts, ProcessPart::replication),
              (PhaseBytes{0, 0, 0, layout::replication_window_bytes}));
}

TEST(ProcessMemory, HasTheListOfAllPiecesOnTheRankThatCommits) {
    const auto on_first = row(saved_spec(8), facts, ProcessPart::manifest);
    auto of_other = facts;
    of_other.rank = 3;
    const auto on_other = row(saved_spec(8), of_other, ProcessPart::manifest);

    EXPECT_GT(on_first[RunPhase::save], 0);
    EXPECT_EQ(on_other[RunPhase::save], 0);
    EXPECT_EQ(on_first[RunPhase::resume], on_other[RunPhase::resume]) << "all ranks read the whole list";
    EXPECT_GT(on_other[RunPhase::resume], 0);
    EXPECT_EQ(on_first[RunPhase::step], 0);
}

/// COMPLETE has a largest size, so its list has one too.
TEST(ProcessMemory, SaysIfAManifestCannotListAllPieces) {
    auto many = facts;
    many.pieces_of_all_ranks = std::int64_t{1} << 40;
    auto more = many;
    more.pieces_of_all_ranks *= 2;
    EXPECT_EQ(row(saved_spec(), many, ProcessPart::manifest), row(saved_spec(), more, ProcessPart::manifest));
    EXPECT_NE(process_table("rank 0", process_memory(saved_spec(), many), 0).find("pieces, too many"),
              std::string::npos);
}

TEST(ProcessMemory, GrowsWithThePrograms) {
    auto larger = facts;
    larger.ops *= 2;
    larger.pieces *= 2;
    const auto one = row(saved_spec(), facts, ProcessPart::programs);
    const auto two = row(saved_spec(), larger, ProcessPart::programs);
    EXPECT_EQ(two[RunPhase::step], 2 * one[RunPhase::step]);
}

TEST(ProcessMemory, HasTheEndsOfTheLastPagesOfArenasInHostMemory) {
    auto spec = saved_spec();
    auto with_arenas = facts;
    with_arenas.arena_bytes = {3 * mib, 2 * mib, 5 * mib, mib / 2, 0};  // the third one is NVMe's
    EXPECT_EQ(row(spec, with_arenas, ProcessPart::page_ends)[RunPhase::step], mib + mib + mib / 2);
    EXPECT_EQ(row(spec, with_arenas, ProcessPart::nvme_window)[RunPhase::step], 4 * mib);
    spec.tiers.device = spec::DeviceKind::cuda;
    EXPECT_EQ(row(spec, with_arenas, ProcessPart::page_ends), PhaseBytes{})
        << "the host's arenas are whole pages";
    EXPECT_EQ(row(spec, with_arenas, ProcessPart::device_copy)[RunPhase::save], 2 * mib);
}

TEST(ProcessMemory, HasTheWindowsOfAPublishedModelAtTheStart) {
    auto spec = saved_spec();
    EXPECT_EQ(row(spec, facts, ProcessPart::import), PhaseBytes{});
    spec.model.is_init_published = true;
    EXPECT_EQ(row(spec, facts, ProcessPart::import), (PhaseBytes{3 * layout::import_window_bytes, 0, 0, 0}));
}

TEST(ProcessMemory, SharesCodeAmongTheRanksOfANode) {
    const auto one = row(saved_spec(1), facts, ProcessPart::code)[RunPhase::step];
    EXPECT_EQ(row(saved_spec(2), facts, ProcessPart::code)[RunPhase::step], one / 2);
    EXPECT_EQ(row(saved_spec(1), facts, ProcessPart::segments), PhaseBytes{});
    EXPECT_GT(row(saved_spec(2), facts, ProcessPart::segments)[RunPhase::start], 0);
}

TEST(ProcessMemory, IsTheLargestPhaseAndNotTheSumOfAll) {
    const auto memory = process_memory(saved_spec(2), facts);
    PhaseBytes sum{};
    for (const auto& of : memory.rows) {
        for (std::size_t phase = 0; phase < sum.size(); ++phase) {
            EXPECT_GE(of.bytes[phase], 0) << to_string(of.part);
            sum[phase] += of.bytes[phase];
        }
    }
    EXPECT_EQ(memory.total, sum);
    EXPECT_EQ(memory.peak(), std::ranges::max(sum));
    EXPECT_LT(memory.peak(), sum[0] + sum[1]);
}

/// Sums between nodes arrive in memory that no tier has.
TEST(ProcessMemory, HasStagingForSumsBetweenNodes) {
    auto spec = saved_spec(4);
    const auto messages = [&] {
        return bytes_of(build_whole(spec, 1).process, ProcessPart::messages)[RunPhase::step];
    };
    EXPECT_EQ(messages(), 0);
    spec.parallel.ranks_per_node = 2;
    EXPECT_EQ(messages(), layout::MessageStaging::bytes(4));
}

TEST(ProcessMemory, CountsWhatARankSaves) {
    const auto spec = saved_spec(2);
    std::int64_t bytes = 0, pieces = 0, of_all_ranks = 0;
    for (int rank = 0; rank < 2; ++rank) {
        const schedule::ModelLayout model{spec, rank};
        const auto program = schedule::build_placed(spec, model, schedule::Variant::train);
        ProcessFacts mine;
        mine.add_training(spec, model, program);
        EXPECT_GT(mine.pieces, 0);
        EXPECT_EQ(mine.blocks, mine.pieces) << "all are small";
        EXPECT_EQ(mine.kept_bytes, mine.saved_bytes) << "all are small";
        pieces += mine.pieces;
        of_all_ranks = mine.pieces_of_all_ranks;
        EXPECT_LE(mine.largest_piece_bytes, mine.saved_bytes);
        bytes += mine.saved_bytes;
    }
    EXPECT_EQ(bytes, checkpoint_size(spec).bytes);
    EXPECT_GE(of_all_ranks, pieces);
    EXPECT_LE(of_all_ranks, 2 * pieces);
}

TEST(ProcessMemory, OfALargeRunIsThatOfItsWholePrograms) {
    const auto spec = deep(400);
    const auto whole = build_whole(spec, 0).process;
    const auto planned = plan_run(spec);
    ASSERT_NE(planned.accuracy_note, "");
    const auto& process = planned.stages.front().process;
    for (const auto phase : {RunPhase::start, RunPhase::step, RunPhase::save, RunPhase::resume}) {
        EXPECT_NEAR(static_cast<double>(process.total[phase]) / static_cast<double>(whole.total[phase]), 1,
                    0.03)
            << to_string(phase);
    }
}

TEST(ProcessMemory, IsATableWithAColumnForEachPhase) {
    const auto report = memory_report(saved_spec(2));
    for (const auto* const name :
         {"start", "step", "save", "resume", "libraries", "code", "programs", "writer", "shard layout",
          "manifest", "reader", "replication", "resident"}) {
        EXPECT_NE(report.process.find(name), std::string::npos) << name << "\n" << report.process;
    }
    EXPECT_EQ(report.footprint.processes,
              build_whole(saved_spec(2), 0).process.peak() + build_whole(saved_spec(2), 1).process.peak());
}

}  // namespace
}  // namespace ziggurat::plan
