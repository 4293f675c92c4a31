#include "plan/process/process_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/pages.hpp"
#include "base/text/units.hpp"
#include "layout/staging/staging_sizes.hpp"

namespace ziggurat::plan {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr std::array all_phases{RunPhase::start, RunPhase::step, RunPhase::save, RunPhase::resume};

// Measured on the host (perf/results/2026-11-29-resident.md).
constexpr std::int64_t library_bytes = 9 * mebibyte;
constexpr std::int64_t code_bytes = 38 * mebibyte;
constexpr std::int64_t segment_bytes = 1 * mebibyte;
constexpr std::int64_t bytes_of_op = 1850;  // with its share of buffers, and what it is bound to
constexpr std::int64_t bytes_of_saved_piece = 1500;
/// HDF5's structures of a piece in a shard file, and the limit of its cache.
constexpr std::int64_t shard_layout_bytes_of_piece = 14'000;
constexpr std::int64_t max_shard_layout_bytes = 32 * mebibyte;
/// Sizes of a piece in the manifest that rank 0 composes, and in the one that each rank reads.
constexpr std::int64_t written_piece_bytes = 4000;
constexpr std::int64_t read_piece_bytes = 900;
/// Limit of the pieces of a manifest: those of the largest file COMPLETE that is read.
constexpr std::int64_t max_pieces = (512 * mebibyte) / 150;

/// Size of the pages of large arenas.
constexpr std::int64_t large_page_bytes = 2 * mebibyte;
/// Window of copies between the host and the memory of a device.
constexpr std::int64_t device_copy_bytes = 2 * mebibyte;
/// Windows of stored, converted and staged values of a published model.
constexpr std::int64_t import_windows = 3;

constexpr PhaseBytes in_all(std::int64_t bytes) {
    return {bytes, bytes, bytes, bytes};
}

constexpr PhaseBytes while_running(std::int64_t bytes) {
    return {0, bytes, bytes, 0};
}

constexpr PhaseBytes only(RunPhase phase, std::int64_t bytes) {
    PhaseBytes made{};
    made[phase] = bytes;
    return made;
}

/// Returns the bytes between the ends of arenas and the ends of their last pages.
///
/// Device arenas of GPUs are not in the host's memory.
std::int64_t page_ends(const spec::RunSpec& spec, const ProcessFacts& facts) {
    std::int64_t bytes = 0;
    for (std::size_t a = 0; a < facts.arena_bytes.size(); ++a) {
        const auto tier = schedule::tier_of_arena(a);
        const bool is_on_host = tier == spec::Tier::host ||
                                (tier == spec::Tier::device && spec.tiers.device == spec::DeviceKind::host);
        const auto end = facts.arena_bytes[a] % large_page_bytes;
        bytes += is_on_host && end > 0 ? large_page_bytes - end : 0;
    }
    return bytes;
}

class Rows {
  public:
    explicit Rows(ProcessMemory& memory) : memory_{memory} {}

    void measured(ProcessPart part, std::string detail, const PhaseBytes& bytes) {
        add({part, std::move(detail), true, bytes});
    }
    void computed(ProcessPart part, std::string detail, const PhaseBytes& bytes) {
        add({part, std::move(detail), false, bytes});
    }

  private:
    void add(ProcessRow row) {
        if (std::ranges::all_of(row.bytes, [](std::int64_t bytes) { return bytes == 0; })) {
            return;
        }
        for (const auto phase : all_phases) {
            memory_.total[phase] += row.bytes[phase];
        }
        memory_.rows.push_back(std::move(row));
    }

    ProcessMemory& memory_;
};

/// Returns the window for state on NVMe.
std::int64_t nvme_window(const spec::RunSpec& spec, std::int64_t nvme_bytes) {
    return std::min(std::max(layout::nvme_window_bytes, spec.tiers.nvme_block_bytes),
                    round_up_to_page(nvme_bytes));
}

void add_parts_of_process(Rows& rows, const spec::RunSpec& spec, const ProcessFacts& facts) {
    const bool is_cuda = spec.tiers.device == spec::DeviceKind::cuda;
    rows.measured(ProcessPart::libraries,
                  is_cuda ? "MPI, HDF5, C++; CUDA not counted" : "MPI, HDF5, oneDNN, C++",
                  in_all(library_bytes));
    rows.measured(ProcessPart::code, "a rank's share of the node's",
                  in_all(code_bytes / std::max(spec.parallel.ranks_per_node, 1)));
    rows.measured(ProcessPart::segments, "shared by ranks, except arenas",
                  in_all(spec.parallel.ranks > 1 ? segment_bytes : 0));
    rows.measured(ProcessPart::programs, fmt::format("{} ops", format_grouped(facts.ops)),
                  in_all(facts.ops * bytes_of_op + facts.pieces * bytes_of_saved_piece));
    rows.computed(ProcessPart::page_ends, "of arenas, pages of 2 MiB", in_all(page_ends(spec, facts)));
    rows.computed(ProcessPart::messages, "sums between nodes", while_running(facts.message_bytes));
    rows.computed(ProcessPart::nvme_window, "access outside of steps",
                  in_all(nvme_window(spec, facts.arena_bytes[static_cast<std::size_t>(spec::Tier::nvme)])));
    rows.computed(ProcessPart::device_copy, "access outside of steps",
                  in_all(is_cuda ? device_copy_bytes : 0));
    rows.computed(ProcessPart::import, "windows of the published model",
                  only(RunPhase::start,
                       spec.model.is_init_published ? import_windows * layout::import_window_bytes : 0));
}

void add_parts_of_checkpoints(Rows& rows, const spec::RunSpec& spec, const ProcessFacts& facts) {
    if (!spec.checkpoint.every || facts.pieces == 0) {
        return;
    }
    rows.computed(ProcessPart::writer, "pages in flight to the shard file",
                  only(RunPhase::save, layout::writer_staging_bytes(facts.saved_bytes) + facts.kept_bytes));
    const auto of_layout = std::min(max_shard_layout_bytes, shard_layout_bytes_of_piece * facts.pieces);
    rows.measured(ProcessPart::shard_layout, fmt::format("{} pieces", format_grouped(facts.pieces)),
                  {0, 0, of_layout, of_layout});
    // A run that would have more pieces fails when it saves, so its manifest has at most this size.
    const auto all = std::min(max_pieces, facts.pieces_of_all_ranks);
    rows.measured(ProcessPart::manifest,
                  fmt::format("{} pieces{}", format_grouped(facts.pieces_of_all_ranks),
                              all < facts.pieces_of_all_ranks ? ", too many" : " of all ranks"),
                  {0, 0, facts.rank == 0 ? written_piece_bytes * all : 0, read_piece_bytes * all});
    rows.computed(
        ProcessPart::reader, "blocks in flight from shard files",
        only(RunPhase::resume, layout::reader_staging_bytes(facts.blocks, facts.largest_piece_bytes)));
    rows.computed(ProcessPart::replication, "window and messages",
                  only(RunPhase::resume, spec.parallel.ranks > 1 ? layout::replication_window_bytes : 0));
}

std::string line(const std::string& name,
                 const std::string& detail,
                 const std::array<std::string, 4>& cells) {
    auto text = fmt::format("  {:<16} {:<34} {:>9} {:>9} {:>9} {:>9}", name, detail, cells[0], cells[1],
                            cells[2], cells[3]);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
}

std::array<std::string, 4> cells(const PhaseBytes& bytes, std::int64_t more = 0) {
    const auto cell = [&](std::int64_t of) { return of + more == 0 ? "-" : format_bytes(of + more); };
    return {cell(bytes[0]), cell(bytes[1]), cell(bytes[2]), cell(bytes[3])};
}

}  // namespace

RunPhase ProcessMemory::largest_phase() const noexcept {
    return *std::ranges::max_element(all_phases, {}, [this](RunPhase phase) { return total[phase]; });
}

ProcessMemory process_memory(const spec::RunSpec& spec, const ProcessFacts& facts) {
    ProcessMemory memory;
    Rows rows{memory};
    add_parts_of_process(rows, spec, facts);
    add_parts_of_checkpoints(rows, spec, facts);
    return memory;
}

std::string process_table(const std::string& of, const ProcessMemory& memory, std::int64_t tier_bytes) {
    auto text = fmt::format("PROCESS MEMORY  {}, on its host, outside of the tiers and budgets\n", of);
    text += line("", "", {"start", "step", "save", "resume"});
    for (const auto& row : memory.rows) {
        text +=
            line(to_string(row.part), row.detail + (row.is_measured ? ", measured" : ""), cells(row.bytes));
    }
    text += "  " + std::string(16 + 35 + 4 * 10, '-') + "\n";
    text += line("total", "", cells(memory.total));
    text += line("resident", "with the tiers in host memory", cells(memory.total, tier_bytes));
    return text;
}

std::int64_t host_bytes_in_tiers(const spec::RunSpec& spec, const spec::ByTier<std::int64_t>& tiers) {
    return tiers[spec::Tier::host] +
           (spec.tiers.device == spec::DeviceKind::host ? tiers[spec::Tier::device] : 0);
}

}  // namespace ziggurat::plan
