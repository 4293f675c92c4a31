#include "doctor/launch_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <regex>
#include <sstream>

#include "base/text/printable.hpp"

namespace ziggurat::doctor {
namespace {

constexpr const char* launcher = "launcher";

std::string first_line(const std::string& text) {
    return printable(text.substr(0, text.find('\n')));
}

/// Returns true if a launcher of release `a` can start ranks linked with `b`.
bool fit(const Release& a, const Release& b) {
    return a.name == b.name && a.major == b.major && a.minor == b.minor;
}

}  // namespace

std::string Release::text() const {
    return fmt::format("{} {}.{}.{}", name, major, minor, patch);
}

Release read_release(const std::string& output) {
    struct Pattern {
        const char* name;
        const char* pattern;
    };
    constexpr const char* number = R"([^0-9]{0,24}(\d+)\.(\d+)(?:\.(\d+))?)";
    for (const auto& [name, pattern] :
         {Pattern{"Open MPI", R"(\bOpen ?MPI\b|\bOpenRTE\b|\bPRRTE\b)"},
          Pattern{"Intel MPI", R"(\bIntel\(R\) MPI Library\b)"}, Pattern{"MVAPICH", R"(\bMVAPICH2?\b)"},
          Pattern{"MPICH", R"(\bMPICH\b|\bHYDRA build details\b)"}}) {
        std::smatch found;
        if (std::regex_search(output, found, std::regex{fmt::format("(?:{}){}", pattern, number)})) {
            const auto part = [&](std::size_t i) { return found[i].matched ? std::stoi(found[i].str()) : 0; };
            return {name, part(1), part(2), part(3)};
        }
    }
    return {};
}

Diagnosis diagnose_launcher(const std::string& path, const std::string& output, const Release& linked) {
    const auto put_first = linked.is_known()
                               ? fmt::format("Put the folder of {}'s mpirun first in PATH.", linked.text())
                               : std::string{"Put the folder of the program's MPI first in PATH."};
    if (path.empty()) {
        return warning(launcher, "no mpirun on the PATH: only one rank can be started",
                       put_first + " Inside Slurm, use srun --mpi=pmix, which needs no mpirun.");
    }
    const auto release = read_release(output);
    if (!release.is_known() || !linked.is_known()) {
        return warning(launcher,
                       fmt::format("{} does not report its version ('{}'); the program runs with {}", path,
                                   first_line(output), linked.is_known() ? linked.text() : "another MPI"),
                       put_first);
    }
    if (!fit(release, linked)) {
        return error(launcher,
                     fmt::format("{} is {}, the program runs with {}: its ranks cannot connect", path,
                                 release.text(), linked.text()),
                     put_first);
    }
    return ok_diagnosis(launcher,
                        fmt::format("{} is {}{}", path, release.text(),
                                    release == linked ? "" : "; the program runs with " + linked.text()));
}

Diagnoses diagnose_root(bool is_root, bool may_run, bool may_run_confirmed, const Release& linked) {
    if (!is_root || linked.name != "Open MPI" || (may_run && may_run_confirmed)) {
        return {};
    }
    return {
        error("root",
              fmt::format("running as root, which {} rejects: OMPI_ALLOW_RUN_AS_ROOT{} not set",
                          linked.text(), may_run ? "_CONFIRM is" : " and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM are"),
              "Run 'export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1', or launch as another "
              "user.")};
}

Diagnosis diagnose_trial(const std::string& output, const std::vector<std::string>& settings) {
    constexpr const char* trial = "two ranks";
    if (output.find("\"checks\"") != std::string::npos) {
        return ok_diagnosis(trial, "mpirun started two ranks, and they exchanged messages");
    }
    std::istringstream lines{output};
    std::string for_display;
    for (std::string line; std::getline(lines, line);) {
        const bool is_telling = line.find_first_not_of(" -*=") != std::string::npos;
        for_display = for_display.empty() && is_telling ? line : for_display;
    }
    const auto remedy =
        settings.empty()
            ? std::string{"Run 'mpirun -n 2 ziggurat doctor --mpi' to see the full output."}
            : fmt::format("Run it without {}, or see the full output: mpirun -n 2 ziggurat doctor --mpi.",
                          fmt::join(settings, " and "));
    return error(trial,
                 output.empty() ? "two ranks started by mpirun did not finish within a minute"
                                : fmt::format("two ranks started by mpirun failed: '{}'", for_display),
                 remedy);
}

Diagnoses list_settings(const std::vector<std::string>& settings) {
    return settings.empty()
               ? Diagnoses{}
               : Diagnoses{ok_diagnosis("MPI settings", fmt::format("{}", fmt::join(settings, ", ")))};
}

Diagnosis diagnose_mpi(const Release& built, const Release& linked, const std::string& output) {
    constexpr const char* check = "MPI";
    if (!linked.is_known() || !built.is_known()) {
        return ok_diagnosis(check, first_line(output), Scope::node);
    }
    if (!fit(built, linked)) {
        return error(
            check, fmt::format("the program was built with {} and runs with {}", built.text(), linked.text()),
            "Load the module that it was built with, or rebuild the program.");
    }
    return ok_diagnosis(check, fmt::format("{}, built with {}", linked.text(), built.text()), Scope::node);
}

Diagnosis diagnose_clocks(const std::vector<double>& ahead_seconds, const std::vector<std::string>& hosts) {
    constexpr const char* check = "clocks";
    constexpr double max_seconds = 1;
    std::size_t worst = 0;
    std::size_t off = 0;
    for (std::size_t rank = 0; rank < ahead_seconds.size(); ++rank) {
        const double apart = std::abs(ahead_seconds[rank]);
        off += apart > max_seconds ? 1 : 0;
        worst = apart > std::abs(ahead_seconds[worst]) ? rank : worst;
    }
    const double max = ahead_seconds.empty() ? 0 : ahead_seconds[worst];
    if (off == 0) {
        return ok_diagnosis(check,
                            fmt::format("clocks of {} rank{} agree within 1 s", ahead_seconds.size(),
                                        ahead_seconds.size() == 1 ? "" : "s"),
                            Scope::job);
    }
    return warning(
        check,
        fmt::format("{} of {} ranks differ in time from rank 0 on {}: rank {} on {} is {:.1f} s {}", off,
                    ahead_seconds.size(), hosts[0], worst, hosts[worst], std::abs(max),
                    max > 0 ? "ahead" : "behind"),
        "Synchronize the clocks of the nodes with NTP (chronyc tracking): job end times and file ages "
        "depend on them.",
        Scope::job);
}

Diagnosis diagnose_builds(const std::vector<std::string>& builds, const std::vector<std::string>& hosts) {
    constexpr const char* check = "build";
    std::string others;
    int num_others = 0;
    for (std::size_t rank = 1; rank < builds.size(); ++rank) {
        if (builds[rank] != builds[0] && ++num_others <= 3) {
            others += fmt::format("{}rank {} on {} has {}", others.empty() ? "" : ", ", rank, hosts[rank],
                                  builds[rank]);
        }
    }
    if (num_others == 0) {
        return ok_diagnosis(
            check, builds[0] + (builds.size() > 1 ? fmt::format(", on all {} ranks", builds.size()) : ""),
            Scope::job);
    }
    return error(check,
                 fmt::format("rank 0 on {} has {}; {}{}", hosts[0], builds[0], others,
                             num_others > 3 ? fmt::format(" and {} more differ", num_others - 3) : ""),
                 "Start one build on all nodes: install it in a folder that all of them see.", Scope::job);
}

Diagnosis diagnose_sharing(int num_ranks, int num_nodes, const std::string& obstacle) {
    constexpr const char* check = "ranks";
    const auto found = fmt::format("{} rank{} on {} node{}", num_ranks, num_ranks == 1 ? "" : "s", num_nodes,
                                   num_nodes == 1 ? "" : "s");
    if (num_ranks == 1) {
        return ok_diagnosis(check, found, Scope::job);
    }
    if (obstacle.empty()) {
        return ok_diagnosis(
            check,
            found + ", each rank received a message from its neighbour" +
                (num_ranks > num_nodes ? ", and ranks of one node read each other's memory" : ""),
            Scope::job);
    }
    return warning(check,
                   fmt::format("{}; ranks of one node cannot read each other's memory ({})", found, obstacle),
                   "Allow ranks of a node to trace each other (kernel.yama.ptrace_scope=0, docker "
                   "--cap-add=SYS_PTRACE), or accept slower collectives.",
                   Scope::job);
}

}  // namespace ziggurat::doctor
