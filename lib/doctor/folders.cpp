#include "doctor/folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/units.hpp"

namespace ziggurat::doctor {
namespace {

/// Space for a run's log, metrics and one small checkpoint.
constexpr std::int64_t min_bytes = std::int64_t{256} << 20;

/// First words of a remedy. The caller appends the new location.
const char* move_it_to(FolderUse use) {
    switch (use) {
        case FolderUse::run:
            return "Set run.dir to";
        case FolderUse::nvme:
            return "Set tiers.nvme.paths to";
        case FolderUse::given:
            return "Use";
    }
    return "";
}

Diagnosis of(const FolderFacts& facts, Diagnosis made) {
    made.subject = facts.path;
    return made;
}

std::string room(const FolderFacts& facts) {
    return facts.has_size ? format_bytes(facts.free_bytes) + " free" : std::string{"no limit of its own"};
}

}  // namespace

Diagnosis diagnose_folder(const FolderFacts& facts) {
    constexpr const char* check = "folder";
    const std::string move_it = move_it_to(facts.use);
    if (!facts.problem.empty()) {
        const auto where =
            facts.stands_in.empty() ? "" : fmt::format(", to be made in '{}',", facts.stands_in);
        return of(facts,
                  error(check, fmt::format("'{}'{} cannot be written ({})", facts.path, where, facts.problem),
                        move_it + " a folder where you may write, on a disk with room."));
    }
    const auto found =
        fmt::format("'{}': {}, {}{}", facts.path, facts.file_system, room(facts),
                    facts.stands_in.empty() ? "" : "; it is made in '" + facts.stands_in + "'");
    const auto needed = facts.needed_bytes > 0 ? facts.needed_bytes : min_bytes;
    if (facts.has_size && facts.free_bytes < needed) {
        return of(facts,
                  warning(check, fmt::format("{}, where {} may be needed", found, format_bytes(needed)),
                          "Free some space there. " + move_it + " another disk if that is not enough."));
    }
    if (facts.is_memory) {
        return of(facts, warning(check, found + ": it is memory, not a disk",
                                 move_it + " a disk: files here use memory, and a reboot deletes them."));
    }
    if (facts.is_network && facts.use == FolderUse::nvme) {
        return of(facts, warning(check, found + ": it is reached over a network",
                                 "Set tiers.nvme.paths to disks of the node itself."));
    }
    return of(facts, ok_diagnosis(check, found + (facts.is_network ? ", over a network" : "")));
}

Diagnosis diagnose_direct(const FolderFacts& facts) {
    constexpr const char* check = "direct I/O";
    if (!facts.damage.empty()) {
        return of(facts, error(check, fmt::format("'{}': {}", facts.path, facts.damage),
                               "Do not use this disk: it returns data that differs from the data written."));
    }
    if (facts.not_direct_reason.empty()) {
        return of(facts, ok_diagnosis(check, fmt::format("'{}': a block was written and read with O_DIRECT",
                                                         facts.path)));
    }
    return of(facts, warning(check,
                             fmt::format("'{}': {}, so all I/O goes through the page cache", facts.path,
                                         facts.not_direct_reason),
                             facts.use == FolderUse::run
                                 ? std::string{"Set run.dir to a file system with O_DIRECT (ext4, xfs, "
                                               "Lustre) if saving is too slow."}
                                 : std::string{move_it_to(facts.use)} +
                                       " a file system with O_DIRECT (ext4, xfs)."));
}

Diagnosis diagnose_shared_folder(const SharedFolderFacts& facts) {
    constexpr const char* check = "shared folder";
    constexpr std::size_t max_named = 3;
    Diagnosis made;
    if (facts.unseen.empty()) {
        made = ok_diagnosis(check, fmt::format("'{}': one on all {} nodes", facts.path, facts.num_nodes),
                            Scope::job);
    } else {
        std::string named;
        for (std::size_t i = 0; i < std::min(max_named, facts.unseen.size()); ++i) {
            const auto& [host, reason] = facts.unseen[i];
            named += fmt::format("{}{}: {}", i == 0 ? "" : ", ", host, reason);
        }
        made = error(check,
                     fmt::format("'{}' is not the same folder on {} of {} nodes ({}{})", facts.path,
                                 facts.unseen.size(), facts.num_nodes, named,
                                 facts.unseen.size() > max_named ? " ..." : ""),
                     "Set run.dir to a folder on storage that all nodes share and may write to.", Scope::job);
    }
    made.subject = facts.path;
    return made;
}

Diagnosis diagnose_locks(const LockFacts& facts) {
    constexpr const char* check = "HDF5 locks";
    const auto with_path = [&](Diagnosis made) {
        made.subject = facts.path;
        return made;
    };
    const auto& set = facts.setting;
    const bool is_off = set == "FALSE" || set == "0";
    const bool is_on = set == "TRUE" || set == "1";
    const bool is_lenient = set == "BEST_EFFORT";
    const auto output =
        set.empty() ? std::string{"HDF5_USE_FILE_LOCKING is not set"} : "HDF5_USE_FILE_LOCKING is " + set;
    if (!set.empty() && !is_off && !is_on && !is_lenient) {
        return with_path(warning(check, output + ", a value that HDF5 silently ignores",
                                 "Set it to TRUE, FALSE or BEST_EFFORT, or unset it.", Scope::rank));
    }
    if (facts.problem.empty()) {
        return with_path(
            ok_diagnosis(check, fmt::format("'{}': files can be locked; {}", facts.path, output)));
    }
    const auto found =
        fmt::format("'{}': files cannot be locked ({}); {}", facts.path, facts.problem, output);
    if (is_off || (is_lenient && facts.has_no_locks)) {
        return with_path(ok_diagnosis(check, found));
    }
    const char* remedy =
        "Run 'export HDF5_USE_FILE_LOCKING=FALSE' before the launch and before h5dump or h5py.";
    const bool is_program_refused = is_on || (set.empty() && !facts.asks_for_none);
    return with_path(
        is_program_refused
            ? error(check, found + ", so that HDF5 refuses checkpoints here", remedy)
            : warning(check, found + ", so that h5dump and h5py refuse checkpoints here", remedy));
}

}  // namespace ziggurat::doctor
