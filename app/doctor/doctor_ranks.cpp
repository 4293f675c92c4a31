#include "app/doctor/doctor_ranks.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/command_line/version.hpp"
#include "app/doctor/doctor_folders.hpp"
#include "app/doctor/doctor_local.hpp"
#include "app/doctor/doctor_shared.hpp"
#include "app/start/available_cores.hpp"
#include "app/start/job_start.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"
#include "comm/session/link_self_test.hpp"
#include "comm/watch/liveness.hpp"
#include "data/fingerprint.hpp"
#include "data/mapped_file.hpp"
#include "doctor/launch_checks.hpp"
#include "doctor/merge.hpp"
#include "train/step/rank_threads.hpp"

namespace ziggurat::app {
namespace {

using Json = nlohmann::ordered_json;

/// Timeout of a message from a neighbour, in seconds; it includes the start of late ranks.
constexpr double message_timeout_seconds = 20;
constexpr double timeout_seconds = 60;

std::string write(const Json& json) {
    return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::vector<SharedDeck> share(const comm::Context& world, const std::vector<SharedDeck>& mine) {
    Json lists = Json::array();
    for (const auto& deck : mine) {
        lists.push_back({deck.name, deck.effective});
    }
    std::vector<SharedDeck> all;
    for (const auto& deck : Json::parse(comm::broadcast(world, write(lists)))) {
        all.push_back({deck.at(0), deck.at(1)});
    }
    return all;
}

/// Returns version and hash of the program file, which differ between builds of the same commit.
std::string build_of_this() {
    const data::MappedFile program{"/proc/self/exe", "the program"};
    return fmt::format("{} {:08x}", version(),
                       data::sampled_hash(program.content(), data::bytes_to_hash(1)) & 0xffffffffU);
}

std::vector<doctor::RankCores> gather_cores(const comm::Context& world, int node) {
    const auto cpus = train::usable_cores();
    const Json mine{node,
                    comm::machine_name(),
                    cpus,
                    cores_of(cpus),
                    cores_of_job(),
                    threads_asked(),
                    train::control_group_core_limit()};
    std::vector<doctor::RankCores> all;
    for (const auto& text : comm::gather(world, write(mine))) {
        const auto values = Json::parse(text);
        all.push_back({values.at(0), values.at(1), values.at(2), values.at(3), values.at(4), values.at(5),
                       values.at(6)});
    }
    return all;
}

/// Gathers the diagnoses of all ranks, in rank order, on rank 0.
std::vector<doctor::RankDiagnoses> gather_reports(const comm::Context& world,
                                                  int node,
                                                  const doctor::Diagnoses& mine) {
    const auto texts = comm::gather(world, write(Json{node, comm::machine_name(), doctor::pack(mine)}));
    std::vector<doctor::RankDiagnoses> reports;
    for (const auto& text : texts) {
        const auto values = Json::parse(text);
        reports.push_back(
            {.host = values.at(1), .node = values.at(0), .found = doctor::unpack(values.at(2))});
    }
    return reports;
}

/// Checks the connections between ranks, their cores, clocks and builds. Result valid on rank 0.
doctor::Diagnoses examine_job(const comm::Context& world, const comm::NodeTopology& nodes) {
    comm::exchange_with_neighbours(world, message_timeout_seconds);
    const auto obstacle = comm::unshared_memory_reason(world);
    const auto ahead = comm::seconds_ahead(world);
    const auto cores = gather_cores(world, nodes.node);
    const auto builds = comm::gather(world, build_of_this());
    if (world.rank() != 0) {
        return {};
    }
    std::vector<std::string> hosts;
    hosts.reserve(cores.size());
    for (const auto& rank : cores) {
        hosts.push_back(rank.host);
    }
    doctor::Diagnoses found{doctor::diagnose_sharing(world.size(), nodes.num_nodes, obstacle)};
    doctor::append(found, doctor::diagnose_cores(cores));
    doctor::append(found, {doctor::diagnose_clocks(ahead, hosts), doctor::diagnose_builds(builds, hosts)});
    return found;
}

int agree(const comm::Context& world, int exit_code) {
    std::array<std::int64_t, 1> code{exit_code};
    comm::all_reduce_max(world, code);
    return static_cast<int>(code[0]);
}

}  // namespace

int doctor_on_ranks(const DoctorOptions& options, const comm::Context& world) {
    world.liveness()->set_hang_timeout(timeout_seconds);
    const auto nodes = comm::find_nodes(world.group(), 0);
    const auto launch = find_launch(world);
    DoctorTargets subjects;
    std::vector<SharedDeck> decks;
    const int refused =
        world.rank() == 0 ? find_subjects(options.paths, options.overrides, launch, subjects, decks) : 0;
    if (const int code = agree(world, refused); code != 0) {
        return code;
    }
    decks = share(world, decks);
    const auto of_shared = examine_shared_folders(subjects.folders, nodes, world);
    const JobSize job{world.size(), nodes.ranks_on_node};
    auto mine = examine_process(job);
    if (nodes.rank_in_node == 0) {
        if (world.rank() != 0) {
            subjects = find_subjects_of(options.paths, decks, launch);
        }
        doctor::append(mine, examine_node(job));
        doctor::append(mine, subjects.of_decks);
        doctor::append(mine, examine_folders(subjects.folders));
    }
    auto all = examine_job(world, nodes);
    const auto reports = gather_reports(world, nodes.node, mine);
    int exit_code = 0;
    if (world.rank() == 0) {
        doctor::append(all, doctor::merge(reports));
        doctor::append(all, of_shared);
        std::fputs((options.json ? doctor::as_json(all) : doctor::as_text(all)).c_str(), stdout);
        exit_code = doctor::exit_code(all);
    }
    return agree(world, exit_code);
}

}  // namespace ziggurat::app
